//! MCP servers on a port of this machine that answer as a test wants it, byte by byte.

use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

/// A request as it came.
pub struct Request {
    pub line: String,
    pub message: Value,
}

type Answer = Arc<dyn Fn(&Request, &mut TcpStream) + Send + Sync>;

pub struct ScriptedHttp {
    pub address: String,
    lines: Arc<Mutex<Vec<String>>>,
}

impl ScriptedHttp {
    /// `answer` writes the whole response.
    pub fn start(answer: impl Fn(&Request, &mut TcpStream) + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let lines = Arc::new(Mutex::new(Vec::new()));
        let (answer, seen): (Answer, _) = (Arc::new(answer), lines.clone());
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let (answer, seen) = (answer.clone(), seen.clone());
                std::thread::spawn(move || {
                    let _ = serve(stream, &answer, &seen);
                });
            }
        });
        ScriptedHttp { address, lines }
    }

    /// What was asked for: the method of the message, or the first line of the request.
    pub fn asked(&self) -> Vec<String> {
        self.lines.lock().unwrap().clone()
    }
}

fn serve(mut stream: TcpStream, answer: &Answer, seen: &Mutex<Vec<String>>) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut line = String::new();
    reader.read_line(&mut line)?;
    let mut length = 0;
    loop {
        let mut header = String::new();
        reader.read_line(&mut header)?;
        if header.trim().is_empty() {
            break;
        }
        if let Some(value) = header.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap_or(0);
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    let message: Value = serde_json::from_slice(&body).unwrap_or(Value::Null);
    let line = line.trim().to_owned();
    let asked = message["method"].as_str().unwrap_or(&line).to_owned();
    seen.lock().unwrap().push(asked);
    answer(&Request { line, message }, &mut stream);
    Ok(())
}

/// A whole response.
pub fn respond(stream: &mut TcpStream, status: &str, headers: &str, body: &str) {
    let length = body.len();
    let head = format!(
        "HTTP/1.1 {status}\r\nConnection: close\r\nContent-Length: {length}\r\n{headers}\r\n"
    );
    let _ = stream.write_all(head.as_bytes());
    let _ = stream.write_all(body.as_bytes());
}

const JSON: &str = "Content-Type: application/json\r\n";
/// The head of a stream of events that ends with its connection.
pub const EVENTS: &str =
    "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Type: text/event-stream\r\n\r\n";

/// What a server says that is good until a tool is called.
pub fn good(message: &Value) -> Value {
    let id = &message["id"];
    let result = match message["method"].as_str().unwrap_or_default() {
        "initialize" => json!({
            "protocolVersion": message["params"]["protocolVersion"],
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "http", "version": "1"},
        }),
        "tools/list" => json!({"tools": [{"name": "go", "inputSchema": {"type": "object"}}]}),
        "tools/call" => json!({"content": [{"type": "text", "text": "went"}]}),
        _ => {
            let error = json!({"code": -32601, "message": "Method not found"});
            return json!({"jsonrpc": "2.0", "id": id, "error": error});
        }
    };
    json!({"jsonrpc": "2.0", "id": id, "result": result})
}

/// The same as a response.
pub fn respond_well(request: &Request, stream: &mut TcpStream) {
    match &request.message {
        Value::Null => respond(stream, "405 Method Not Allowed", "", ""),
        message if message.get("id").is_none() => respond(stream, "202 Accepted", "", ""),
        message => respond(stream, "200 OK", JSON, &good(message).to_string()),
    }
}

pub fn is_call(request: &Request) -> bool {
    request.message["method"] == "tools/call"
}
