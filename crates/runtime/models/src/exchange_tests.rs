use super::*;
use std::net::SocketAddr;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

/// A server that answers one request with these bytes, then keeps the connection open. Gives what it read.
async fn server(answer: &'static str) -> (SocketAddr, tokio::task::JoinHandle<String>) {
    let socket = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = socket.local_addr().unwrap();
    let serving = tokio::spawn(async move {
        let (mut stream, _) = socket.accept().await.unwrap();
        let mut bytes = vec![0; 4096];
        let read = stream.read(&mut bytes).await.unwrap();
        stream.write_all(answer.as_bytes()).await.unwrap();
        // Until the other side has had enough.
        let _ = stream.read(&mut [0; 1]).await;
        String::from_utf8_lossy(&bytes[..read]).into_owned()
    });
    (address, serving)
}

fn url(address: SocketAddr) -> Url {
    Url::parse(&format!("http://{address}/x?key=hidden")).unwrap()
}

fn exchange(url: &Url) -> Exchange<'_> {
    Exchange {
        url,
        body: ExchangeBody::None,
        accept: "application/json",
        authorization: None,
        reach: Reach::Loopback,
        limit: Duration::from_secs(60),
        most: 100,
    }
}

#[tokio::test]
async fn every_status_is_an_answer_and_no_redirect_is_followed() {
    const MOVED: &str = "HTTP/1.1 302 x\r\nlocation: http://127.0.0.1:1/\r\nwww-authenticate: Bearer a=1\r\n\
        www-authenticate: Basic\r\ncontent-length: 2\r\n\r\nno";
    let (address, _serving) = server(MOVED).await;
    let answer = Network::default().exchange(exchange(&url(address))).await.unwrap();
    let expected = ExchangeAnswer {
        status: 302,
        www_authenticate: Some("Bearer a=1, Basic".to_owned()),
        body: b"no".to_vec(),
    };
    assert_eq!(answer, expected);
}

#[tokio::test]
async fn bodies_are_sent_as_what_they_are() {
    const FINE: &str = "HTTP/1.1 200 x\r\ncontent-length: 0\r\n\r\n";
    let document = serde_json::json!({"a": 1});
    let cases = [
        (ExchangeBody::Form("a=1&b=2"), "application/x-www-form-urlencoded", "a=1&b=2"),
        (ExchangeBody::Json(&document), "application/json", "{\"a\":1}"),
    ];
    for (body, kind, text) in cases {
        let (address, serving) = server(FINE).await;
        let url = url(address);
        let request = Exchange { body, authorization: Some("Basic abc"), ..exchange(&url) };
        Network::default().exchange(request).await.unwrap();
        let sent = serving.await.unwrap();
        assert!(sent.starts_with("POST /x?key=hidden HTTP/1.1\r\n"), "{sent}");
        assert!(sent.contains(&format!("content-type: {kind}\r\n")), "{sent}");
        assert!(sent.contains("authorization: Basic abc\r\n"), "{sent}");
        assert!(sent.ends_with(text), "{sent}");
    }
}

#[tokio::test]
async fn a_long_answer_is_not_read() {
    let body = "x".repeat(101);
    let long: &'static str =
        Box::leak(format!("HTTP/1.1 200 x\r\ncontent-length: 101\r\n\r\n{body}").into_boxed_str());
    let (address, _serving) = server(long).await;
    let error = Network::default().exchange(exchange(&url(address))).await.unwrap_err();
    assert_eq!(error.to_string(), "127.0.0.1 sends more than 100 bytes");
}

#[tokio::test]
async fn a_silent_server_is_given_up() {
    // It never finishes its answer.
    let (address, _serving) = server("HTTP/1.1 200 x\r\ncontent-length: 5\r\n\r\nab").await;
    let url = url(address);
    let request = Exchange { limit: Duration::from_millis(200), ..exchange(&url) };
    let error = Network::default().exchange(request).await.unwrap_err();
    assert!(matches!(error, ExchangeError::NoAnswer(_)), "{error:?}");
    assert!(!error.to_string().contains("hidden"), "{error}");
}

#[tokio::test]
async fn an_address_out_of_reach_is_not_connected_to() {
    let socket = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = socket.local_addr().unwrap();
    for host in ["127.0.0.1", "localhost", "[::ffff:127.0.0.1]"] {
        let url = Url::parse(&format!("http://{host}:{}/x", address.port())).unwrap();
        for reach in [Reach::Public, Reach::Private] {
            let request = Exchange { reach, ..exchange(&url) };
            let error = Network::default().exchange(request).await.unwrap_err();
            assert!(matches!(error, ExchangeError::Refused(_)), "{host}: {error:?}");
        }
    }
    let nobody = tokio::time::timeout(Duration::ZERO, socket.accept()).await;
    assert!(nobody.is_err());
}
