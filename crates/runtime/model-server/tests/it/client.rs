//! A tiny raw HTTP client that reports exactly how a response ended.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use ostler_model_server::{ModelServer, Script};
use serde_json::{Value, json};

/// Long enough for any answer; reached only by a fault.
const PATIENCE: Duration = Duration::from_secs(20);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// The response ended by the rules of HTTP.
    Complete,
    /// The connection was closed inside the response.
    Closed,
    Reset,
    /// No byte came for the time the client was willing to wait.
    Silent,
}

#[derive(Debug)]
pub struct Answer {
    /// 0 if no head came.
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
    /// The HTTP chunks of the body.
    pub chunks: Vec<Vec<u8>>,
    pub end: End,
}

impl Answer {
    pub fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(found, _)| found.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str())
    }

    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).expect("a JSON body")
    }

    pub fn text(&self) -> String {
        String::from_utf8(self.body.clone()).expect("a text body")
    }

    pub fn events(&self) -> Vec<(String, Value)> {
        decode(&self.text())
    }

    pub fn names(&self) -> Vec<String> {
        self.events().into_iter().map(|(name, _)| name).collect()
    }

    /// The message of an error body, and its type.
    pub fn error(&self) -> (String, String) {
        let json = self.json();
        assert_eq!(json["type"], "error", "{json}");
        let field = |name: &str| json["error"][name].as_str().unwrap().to_owned();
        (field("type"), field("message"))
    }

    /// The text of all text deltas.
    pub fn said(&self) -> String {
        let deltas = self.events().into_iter().filter(|(name, _)| name == "content_block_delta");
        deltas.filter_map(|(_, data)| data["delta"]["text"].as_str().map(str::to_owned)).collect()
    }
}

pub struct Client {
    stream: TcpStream,
    buffer: Vec<u8>,
}

impl Client {
    pub fn to(server: &ModelServer) -> Self {
        let stream = TcpStream::connect(server.addr()).expect("the server accepts");
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.set_nodelay(true).unwrap();
        Self { stream, buffer: Vec::new() }
    }

    pub fn write(&mut self, bytes: impl AsRef<[u8]>) {
        self.stream.write_all(bytes.as_ref()).expect("the server reads");
    }

    pub fn ask(&mut self, body: &Value) -> Answer {
        self.send(body);
        self.read()
    }

    pub fn send(&mut self, body: &Value) {
        self.write(post("/v1/messages?beta=true", HEADERS, &body.to_string()));
    }

    /// Whether nothing comes for a while. Only for the absence of something there is no other sign.
    pub fn is_quiet(&mut self) -> bool {
        self.stream.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
        let quiet = self.buffer.is_empty() && self.more() == Err(End::Silent);
        self.stream.set_read_timeout(Some(PATIENCE)).unwrap();
        quiet
    }

    /// Reads one byte sequence of exactly that length from the wire.
    pub fn exactly(&mut self, count: usize) -> Vec<u8> {
        while self.buffer.len() < count {
            self.more().expect("more bytes");
        }
        self.buffer.drain(..count).collect()
    }

    /// Reads until the text has come; gives everything up to and with it.
    pub fn until(&mut self, text: &str) -> String {
        if text.is_empty() {
            return String::new();
        }
        loop {
            if let Some(at) = find(&self.buffer, text.as_bytes()) {
                return String::from_utf8(self.exactly(at + text.len())).unwrap();
            }
            self.more().expect("more bytes");
        }
    }

    pub fn read(&mut self) -> Answer {
        let mut answer =
            Answer { status: 0, headers: vec![], body: vec![], chunks: vec![], end: End::Complete };
        if let Err(end) = self.read_into(&mut answer) {
            answer.end = end;
        }
        answer
    }

    fn read_into(&mut self, answer: &mut Answer) -> Result<(), End> {
        let head = self.line_block()?;
        let mut lines = head.lines();
        let status = lines.next().and_then(|line| line.split(' ').nth(1)).expect("a status line");
        answer.status = status.parse().expect("a status");
        let header = |line: &str| {
            let (name, value) = line.split_once(':').expect("a header");
            (name.to_owned(), value.trim().to_owned())
        };
        answer.headers = lines.map(header).collect();
        if answer.header("transfer-encoding") == Some("chunked") {
            return self.read_chunks(answer);
        }
        let length = answer.header("content-length").map(|text| text.parse::<usize>().unwrap());
        let none = matches!(answer.status, 204 | 304);
        loop {
            let wanted = length.unwrap_or(if none { 0 } else { usize::MAX });
            let taken = wanted.saturating_sub(answer.body.len()).min(self.buffer.len());
            answer.body.extend(self.buffer.drain(..taken));
            if answer.body.len() == wanted {
                return Ok(());
            }
            match self.more() {
                Err(End::Closed) if length.is_none() => return Ok(()),
                other => other?,
            }
        }
    }

    fn read_chunks(&mut self, answer: &mut Answer) -> Result<(), End> {
        loop {
            let line = self.line()?;
            let size = usize::from_str_radix(line.trim(), 16).expect("a chunk size");
            while self.buffer.len() < size + 2 {
                if let Err(end) = self.more() {
                    answer.body.append(&mut self.buffer);
                    return Err(end);
                }
            }
            let chunk: Vec<u8> = self.buffer.drain(..size).collect();
            assert_eq!(self.buffer.drain(..2).collect::<Vec<_>>(), b"\r\n");
            if size == 0 {
                return Ok(());
            }
            answer.body.extend_from_slice(&chunk);
            answer.chunks.push(chunk);
        }
    }

    fn line_block(&mut self) -> Result<String, End> {
        loop {
            if let Some(at) = find(&self.buffer, b"\r\n\r\n") {
                let block: Vec<u8> = self.buffer.drain(..at + 4).collect();
                return Ok(String::from_utf8(block).unwrap().trim_end().to_owned());
            }
            self.more()?;
        }
    }

    fn line(&mut self) -> Result<String, End> {
        loop {
            if let Some(at) = find(&self.buffer, b"\r\n") {
                let line: Vec<u8> = self.buffer.drain(..at + 2).collect();
                return Ok(String::from_utf8(line).unwrap());
            }
            self.more()?;
        }
    }

    fn more(&mut self) -> Result<(), End> {
        let mut part = [0; 16 << 10];
        match self.stream.read(&mut part) {
            Ok(0) => Err(End::Closed),
            Ok(count) => {
                self.buffer.extend_from_slice(&part[..count]);
                Ok(())
            }
            Err(error) => Err(match error.kind() {
                ErrorKind::ConnectionReset => End::Reset,
                ErrorKind::WouldBlock | ErrorKind::TimedOut => End::Silent,
                _ => panic!("reading failed: {error}"),
            }),
        }
    }
}

fn find(held: &[u8], wanted: &[u8]) -> Option<usize> {
    held.windows(wanted.len()).position(|window| window == wanted)
}

/// The headers every proper request has.
pub const HEADERS: &[(&str, &str)] = &[
    ("content-type", "application/json"),
    ("anthropic-version", "2023-06-01"),
    ("x-api-key", "sk-test"),
];

pub fn post(path: &str, headers: &[(&str, &str)], body: &str) -> String {
    let mut out = format!("POST {path} HTTP/1.1\r\nhost: localhost\r\n");
    for (name, value) in headers {
        out.push_str(&format!("{name}: {value}\r\n"));
    }
    format!("{out}content-length: {}\r\n\r\n{body}", body.len())
}

/// A small valid request for a stream.
pub fn hello() -> Value {
    asking(json!([{"role": "user", "content": "hi"}]))
}

pub fn asking(messages: Value) -> Value {
    json!({"model": "test-model", "max_tokens": 1000, "messages": messages, "stream": true})
}

pub fn plain(mut body: Value) -> Value {
    body.as_object_mut().unwrap().remove("stream");
    body
}

pub fn with(mut body: Value, key: &str, value: Value) -> Value {
    body[key] = value;
    body
}

pub fn serve(script: Script) -> ModelServer {
    ModelServer::start(script).expect("the server starts")
}

/// One question to a new server.
pub fn once(script: Script, body: &Value) -> Answer {
    Client::to(&serve(script)).ask(body)
}

/// Decodes an event stream by the published rules, whatever its line ends.
pub fn decode(text: &str) -> Vec<(String, Value)> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let lines = text.replace("\r\n", "\n").replace('\r', "\n");
    let (mut events, mut name, mut data) = (vec![], String::new(), Vec::<String>::new());
    for line in lines.split('\n') {
        if line.is_empty() {
            if !data.is_empty() {
                let joined = data.join("\n");
                let json = serde_json::from_str(&joined).unwrap_or(Value::String(joined));
                events.push((std::mem::take(&mut name), json));
            }
            data.clear();
            continue;
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "event" => name = value.to_owned(),
            "data" => data.push(value.to_owned()),
            _ => {}
        }
    }
    events
}
