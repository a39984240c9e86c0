//! The HTTP server against clients that it must not serve.

use crate::serving::Served;
use ostler_mcp_server::{HttpOptions, Token};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// Sends a request as it is written, and gives the status and the body that are answered.
async fn send(served: &Served, head: &[(&str, &str)], body: &[u8]) -> (u16, String) {
    let mut stream = TcpStream::connect(served.address).await.unwrap();
    let mut request = "POST /mcp HTTP/1.1\r\nConnection: close\r\n".to_owned();
    for (name, value) in head {
        request += &format!("{name}: {value}\r\n");
    }
    request += &format!("Content-Length: {}\r\n\r\n", body.len());
    stream.write_all(request.as_bytes()).await.unwrap();
    // A server that refuses the head does not read the rest.
    let _ = stream.write_all(body).await;
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer).await;
    let answer = String::from_utf8_lossy(&answer).into_owned();
    let status = answer.split(' ').nth(1).and_then(|status| status.parse().ok());
    (status.unwrap_or_else(|| panic!("{answer}")), answer)
}

fn hello() -> Vec<u8> {
    let client = json!({ "name": "test", "version": "1" });
    let params =
        json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client });
    json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params })
        .to_string()
        .into()
}

const KIND: [(&str, &str); 2] =
    [("Content-Type", "application/json"), ("Accept", "application/json, text/event-stream")];

async fn status(served: &Served, more: &[(&str, &str)]) -> u16 {
    let head: Vec<_> = KIND.iter().chain(more).copied().collect();
    send(served, &head, &hello()).await.0
}

#[tokio::test]
async fn only_the_token_opens_the_door() {
    let (token, text) = Token::random();
    let served = Served::start(HttpOptions { token: Some(token), ..HttpOptions::default() }).await;
    let (host, bearer) = (served.address.to_string(), format!("Bearer {text}"));
    let host = ("Host", host.as_str());
    assert_eq!(status(&served, &[host, ("Authorization", &bearer)]).await, 200);
    let other = format!("Bearer {}", Token::random().1);
    for wrong in [other.as_str(), text.as_str(), "Bearer ", "Basic dTpw"] {
        assert_eq!(status(&served, &[host, ("Authorization", wrong)]).await, 401, "{wrong}");
    }
    assert_eq!(status(&served, &[host]).await, 401);
    let twice = [host, ("Authorization", bearer.as_str()), ("Authorization", other.as_str())];
    assert_eq!(status(&served, &twice).await, 401);
}

#[tokio::test]
async fn a_request_for_another_host_or_from_another_page_is_refused() {
    let served = Served::start(HttpOptions::default()).await;
    let port = served.address.port();
    let here = format!("localhost:{port}");
    assert_eq!(status(&served, &[("Host", &here)]).await, 200);
    for host in ["evil.example", "localhost:1", &format!("evil.example:{port}")] {
        assert_eq!(status(&served, &[("Host", host)]).await, 403, "{host}");
    }
    let page = format!("http://127.0.0.1:{port}");
    assert_eq!(status(&served, &[("Host", &here), ("Origin", &page)]).await, 200);
    for origin in ["http://evil.example", "http://localhost:3000", "null", "nonsense"] {
        assert_eq!(status(&served, &[("Host", &here), ("Origin", origin)]).await, 403, "{origin}");
    }
}

#[tokio::test]
async fn names_that_were_added_are_accepted() {
    let (hosts, origins) = (vec!["tools.example".into()], vec!["https://app.example:443".into()]);
    let served = Served::start(HttpOptions { hosts, origins, ..HttpOptions::default() }).await;
    let head = [("Host", "tools.example"), ("Origin", "https://app.example")];
    assert_eq!(status(&served, &head).await, 200);
    assert_eq!(status(&served, &[("Host", "other.example")]).await, 403);
}

#[tokio::test]
async fn a_request_of_10_megabytes_is_refused_however_it_comes() {
    let served = Served::start(HttpOptions::default()).await;
    let here = served.address.to_string();
    let head: Vec<_> = KIND.iter().copied().chain([("Host", here.as_str())]).collect();
    let large = vec![b' '; 10 * 1024 * 1024];
    assert_eq!(send(&served, &head, &large).await.0, 413);
    // Without saying how much it is.
    let mut stream = TcpStream::connect(served.address).await.unwrap();
    let start = format!(
        "POST /mcp HTTP/1.1\r\nHost: {here}\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
    );
    stream.write_all(start.as_bytes()).await.unwrap();
    let mut answer = vec![0; 12];
    let (mut read, mut write) = stream.split();
    let flood = async {
        let chunk = [b"100000\r\n".to_vec(), vec![b' '; 0x10_0000], b"\r\n".to_vec()].concat();
        for _ in 0..10 {
            if write.write_all(&chunk).await.is_err() {
                break;
            }
        }
        std::future::pending::<()>().await;
    };
    tokio::select! {
        result = read.read_exact(&mut answer) => { result.unwrap(); }
        () = flood => {}
    }
    assert_eq!(String::from_utf8_lossy(&answer), "HTTP/1.1 413");
}

#[tokio::test]
async fn there_is_nothing_but_the_one_path() {
    let served = Served::start(HttpOptions::default()).await;
    let mut stream = TcpStream::connect(served.address).await.unwrap();
    let request = format!(
        "GET /etc/passwd HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n",
        served.address
    );
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 404"), "{answer}");
}

#[tokio::test]
async fn handshakes_are_limited_and_requests_that_need_none_are_not() {
    let served = Served::start(HttpOptions::default()).await;
    let here = served.address.to_string();
    for _ in 0..64 {
        assert_eq!(status(&served, &[("Host", &here)]).await, 200);
    }
    assert_eq!(status(&served, &[("Host", &here)]).await, 503);
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let discover = json!({ "jsonrpc": "2.0", "id": 1, "method": "server/discover", "params": { "_meta": meta } });
    let version = [("MCP-Protocol-Version", "2026-07-28"), ("Mcp-Method", "server/discover")];
    let head: Vec<_> =
        KIND.iter().copied().chain([("Host", here.as_str())]).chain(version).collect();
    let (status, answer) = send(&served, &head, discover.to_string().as_bytes()).await;
    assert_eq!(status, 200, "{answer}");
    let json = answer.find('{').map(|at| answer[at..].lines().next().unwrap()).unwrap();
    let said: Value = serde_json::from_str(json).unwrap();
    let versions = said["result"]["supportedVersions"].as_array().unwrap();
    assert!(versions.contains(&json!("2026-07-28")) && versions.contains(&json!("2025-11-25")));
}
