//! Waits on 127.0.0.1 for the browser to bring back the answer of an authorization server.

use crate::error::OAuthError;
use std::net::Ipv4Addr;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

/// How long a person has to log in.
pub const PATIENCE: Duration = Duration::from_secs(5 * 60);
const NOT_OURS: &str = "This is not the login Ostler is waiting for.";
const PATH: &str = "/callback";
const LONGEST_REQUEST: usize = 16 << 10;
/// A browser that opened a connection sends its request soon; some open one in advance and send nothing.
const REQUEST_TIME: Duration = Duration::from_secs(10);
const PAUSE: Duration = Duration::from_millis(100);
const MOST_CONNECTIONS: usize = 32;

#[derive(Debug)]
pub struct RedirectListener {
    socket: TcpListener,
    port: u16,
}

impl RedirectListener {
    /// On this port, or on any free one.
    ///
    /// # Errors
    /// If the port is taken.
    pub async fn bind(port: Option<u16>) -> Result<RedirectListener, OAuthError> {
        let wanted = port.unwrap_or(0);
        let failed =
            |error: std::io::Error| OAuthError::Listen { port: wanted, why: error.to_string() };
        let socket = TcpListener::bind((Ipv4Addr::LOCALHOST, wanted)).await.map_err(failed)?;
        let port = socket.local_addr().map_err(failed)?.port();
        Ok(RedirectListener { socket, port })
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    pub fn address(&self) -> String {
        format!("http://127.0.0.1:{}{PATH}", self.port)
    }

    /// The query of the first request that `accept` recognises; all others are turned away, so that no other page can
    /// end the login. Then the port is closed.
    ///
    /// # Errors
    /// If nothing comes in time.
    pub async fn wait<T>(
        self,
        patience: Duration,
        mut accept: impl FnMut(&str) -> Verdict<T>,
    ) -> Result<T, OAuthError> {
        let (sender, mut requests) = mpsc::channel::<Arrival>(1);
        let mut connections = JoinSet::new();
        let port = self.port;
        let serving = async {
            loop {
                let arrival = tokio::select! {
                    accepted = self.socket.accept(), if connections.len() < MOST_CONNECTIONS => {
                        let reading = accepted.ok().map(|(stream, _)| read_request(stream, port, sender.clone()));
                        begin(&mut connections, reading).await;
                        continue;
                    }
                    Some(_) = connections.join_next() => continue,
                    Some(arrival) = requests.recv() => arrival,
                };
                match accept(&arrival.query) {
                    Verdict::Done(value, page) => {
                        answer(arrival.stream, "200 OK", page).await;
                        return value;
                    }
                    Verdict::NotOurs => answer(arrival.stream, "400 Bad Request", NOT_OURS).await,
                }
            }
        };
        let minutes = patience.as_secs() / 60;
        tokio::time::timeout(patience, serving).await.map_err(|_| OAuthError::Late { minutes })
    }
}

async fn begin(
    connections: &mut JoinSet<()>,
    reading: Option<impl Future<Output = ()> + Send + 'static>,
) {
    match reading {
        Some(reading) => {
            connections.spawn(reading);
        }
        // No descriptors left, for example.
        None => tokio::time::sleep(PAUSE).await,
    }
}

/// What the owner of a login makes of a request.
#[derive(Debug)]
pub enum Verdict<T> {
    /// The login is over, for better or worse; this is shown in the browser.
    Done(T, &'static str),
    NotOurs,
}

struct Arrival {
    stream: TcpStream,
    query: String,
}

async fn read_request(mut stream: TcpStream, port: u16, to: mpsc::Sender<Arrival>) {
    let reading = tokio::time::timeout(REQUEST_TIME, request_head(&mut stream));
    let Ok(Some(head)) = reading.await else { return };
    match query_of(&head, port) {
        Some(query) => {
            let _ = to.send(Arrival { stream, query }).await;
        }
        None => answer(stream, "404 Not Found", "There is nothing here.").await,
    }
}

async fn request_head(stream: &mut TcpStream) -> Option<String> {
    let mut head = Vec::new();
    let mut piece = [0; 2048];
    while !head.windows(4).any(|end| end == b"\r\n\r\n") {
        let read = stream.read(&mut piece).await.ok().filter(|read| *read > 0)?;
        head.extend_from_slice(piece.get(..read)?);
        if head.len() > LONGEST_REQUEST {
            return None;
        }
    }
    String::from_utf8(head).ok()
}

/// The query of a GET of our path, addressed to this machine by its own name.
fn query_of(head: &str, port: u16) -> Option<String> {
    let mut lines = head.split("\r\n");
    let mut words = lines.next()?.split(' ');
    let (method, target) = (words.next()?, words.next()?);
    let mut hosts = lines.filter_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("host").then(|| value.trim())
    });
    let host = hosts.next()?;
    let is_here =
        [format!("127.0.0.1:{port}"), format!("localhost:{port}")].iter().any(|own| own == host);
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    (method == "GET" && path == PATH && is_here).then(|| query.to_owned())
}

async fn answer(mut stream: TcpStream, status: &str, text: &str) {
    let page = format!("<!doctype html><meta charset=utf-8><title>Ostler</title><p>{text}</p>\n");
    let head = format!(
        "HTTP/1.1 {status}\r\ncontent-type: text/html; charset=utf-8\r\ncontent-length: {}\r\n\
         cache-control: no-store\r\nreferrer-policy: no-referrer\r\n\
         content-security-policy: default-src 'none'\r\nconnection: close\r\n\r\n",
        page.len()
    );
    let writing = async {
        stream.write_all(head.as_bytes()).await?;
        stream.write_all(page.as_bytes()).await?;
        stream.shutdown().await
    };
    let _ = tokio::time::timeout(REQUEST_TIME, writing).await;
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sends a request and gives the first line of the answer and its body.
    async fn ask(port: u16, head: &str) -> (String, String) {
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).await.unwrap();
        stream.write_all(head.replace('\n', "\r\n").as_bytes()).await.unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).await.unwrap();
        let (first, rest) = text.split_once("\r\n").unwrap();
        (first.to_owned(), rest.to_owned())
    }

    fn accept(query: &str) -> Verdict<String> {
        match query.strip_prefix("good=") {
            Some(value) => Verdict::Done(value.to_owned(), "You can close this tab."),
            None => Verdict::NotOurs,
        }
    }

    #[tokio::test]
    async fn only_the_right_request_ends_the_wait() {
        let listener = RedirectListener::bind(None).await.unwrap();
        let port = listener.port();
        assert_eq!(listener.address(), format!("http://127.0.0.1:{port}/callback"));
        let waiting = tokio::spawn(listener.wait(PATIENCE, accept));
        let host = format!("Host: 127.0.0.1:{port}\n\n");
        // A connection that a browser opened in advance, and one that was closed at once.
        let _silent = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).await.unwrap();
        drop(TcpStream::connect((Ipv4Addr::LOCALHOST, port)).await.unwrap());
        let strangers = [
            ("GET /favicon.ico HTTP/1.1\n", host.as_str(), "404"),
            ("GET /callback/?good=1 HTTP/1.1\n", &host, "404"),
            ("POST /callback?good=1 HTTP/1.1\n", &host, "404"),
            ("GET /callback?good=1 HTTP/1.1\n", "Host: evil.example\n\n", "404"),
            ("GET /callback?good=1 HTTP/1.1\n", "\n", "404"),
            ("GET /callback?bad=1 HTTP/1.1\n", &host, "400"),
            ("GET /callback HTTP/1.1\n", &host, "400"),
        ];
        for (line, rest, status) in strangers {
            let (first, _) = ask(port, &format!("{line}{rest}")).await;
            assert!(first.contains(status), "{line}{rest}: {first}");
        }
        let (first, page) = ask(port, &format!("GET /callback?good=yes HTTP/1.1\n{host}")).await;
        assert!(
            first.contains("200") && page.contains("You can close this tab."),
            "{first} {page}"
        );
        assert_eq!(waiting.await.unwrap().unwrap(), "yes");
        assert!(TcpStream::connect((Ipv4Addr::LOCALHOST, port)).await.is_err());
    }

    #[tokio::test]
    async fn an_endless_request_is_cut_off() {
        let listener = RedirectListener::bind(None).await.unwrap();
        let port = listener.port();
        let waiting = tokio::spawn(listener.wait(PATIENCE, accept));
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).await.unwrap();
        let flood = vec![b'x'; LONGEST_REQUEST + 4096];
        let _ = stream.write_all(&flood).await;
        let mut rest = Vec::new();
        // Closed or reset; in no case answered.
        let _ = stream.read_to_end(&mut rest).await;
        assert!(rest.is_empty());
        waiting.abort();
    }

    #[tokio::test(start_paused = true)]
    async fn nobody_waits_for_ever() {
        let listener = RedirectListener::bind(None).await.unwrap();
        let late = listener.wait(PATIENCE, accept).await;
        assert_eq!(late, Err(OAuthError::Late { minutes: 5 }));
    }

    #[tokio::test]
    async fn a_taken_port_is_named() {
        let listener = RedirectListener::bind(None).await.unwrap();
        let second = RedirectListener::bind(Some(listener.port())).await.unwrap_err();
        assert!(second.to_string().contains(&listener.port().to_string()), "{second}");
    }
}
