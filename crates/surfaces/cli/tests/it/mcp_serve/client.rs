//! A client that says exactly what a test wants it to say.

use crate::support::{PATIENCE, World, read_until, signal};
use rustix::process::Signal;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, ChildStdin, Stdio};
use std::sync::mpsc::{Receiver, channel};

pub struct Client {
    pub child: Child,
    input: Option<ChildStdin>,
    messages: Receiver<Value>,
    /// Arrived while something else was waited for.
    early: Vec<Value>,
    last_id: u64,
    /// Of every request, for the revision without a handshake.
    meta: Option<Value>,
}

impl Client {
    pub fn start(world: &World, args: &[&str]) -> Self {
        Client::with(world, args, &[])
    }

    pub fn with(world: &World, args: &[&str], variables: &[(&str, &str)]) -> Self {
        let args: Vec<&str> = ["mcp", "serve"].iter().chain(args).copied().collect();
        let mut command = world.command(&args);
        command.envs(variables.iter().copied()).stdin(Stdio::piped()).stderr(Stdio::inherit());
        let mut child = command.spawn().unwrap();
        let (input, output) = (child.stdin.take(), BufReader::new(child.stdout.take().unwrap()));
        let (send, messages) = channel();
        std::thread::spawn(move || {
            for line in output.lines().map_while(Result::ok) {
                let message = serde_json::from_str(&line).unwrap_or_else(|e| panic!("{e}: {line}"));
                if send.send(message).is_err() {
                    return;
                }
            }
        });
        Client { child, input, messages, early: Vec::new(), last_id: 0, meta: None }
    }

    /// Of the revision 2026-07-28.
    pub fn stateless(world: &World, args: &[&str], capabilities: Value) -> Self {
        let mut client = Client::start(world, args);
        client.meta = Some(json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": capabilities,
        }));
        client
    }

    /// The handshake of the revision 2025-11-25.
    pub fn hello(&mut self, capabilities: Value) {
        let client = json!({"name": "test", "version": "1"});
        let hello = json!({"protocolVersion": "2025-11-25", "capabilities": capabilities, "clientInfo": client});
        let answer = self.request("initialize", hello);
        assert_eq!(answer["result"]["protocolVersion"], "2025-11-25", "{answer}");
        self.notify("notifications/initialized", json!({}));
    }

    pub fn raw(&mut self, bytes: &[u8]) {
        self.input.as_mut().unwrap().write_all(bytes).unwrap();
    }

    pub fn send(&mut self, message: &Value) {
        self.raw(format!("{message}\n").as_bytes());
    }

    pub fn notify(&mut self, method: &str, params: Value) {
        self.send(&json!({"jsonrpc": "2.0", "method": method, "params": params}));
    }

    /// Gives the id of the request.
    pub fn post(&mut self, method: &str, mut params: Value, more: Value) -> u64 {
        self.last_id += 1;
        let mut meta = self.meta.clone().unwrap_or_else(|| json!({}));
        meta.as_object_mut().unwrap().extend(more.as_object().cloned().unwrap());
        params["_meta"] = meta;
        let id = self.last_id;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        id
    }

    pub fn request(&mut self, method: &str, params: Value) -> Value {
        let id = self.post(method, params, json!({}));
        self.answer(id)
    }

    pub fn begin(&mut self, tool: &str, arguments: Value, meta: Value) -> u64 {
        self.post("tools/call", json!({"name": tool, "arguments": arguments}), meta)
    }

    pub fn call(&mut self, tool: &str, arguments: Value) -> Value {
        let id = self.begin(tool, arguments, json!({}));
        self.answer(id)
    }

    pub fn answer(&mut self, id: u64) -> Value {
        self.next_where(|message| message["id"] == id && message.get("method").is_none())
    }

    pub fn next_where(&mut self, wanted: impl Fn(&Value) -> bool) -> Value {
        if let Some(at) = self.early.iter().position(&wanted) {
            return self.early.remove(at);
        }
        loop {
            let message = self.messages.recv_timeout(PATIENCE).expect("an answer");
            if wanted(&message) {
                return message;
            }
            self.early.push(message);
        }
    }

    pub fn tools(&mut self) -> Vec<String> {
        let listed = self.request("tools/list", json!({}));
        let tools = listed["result"]["tools"].as_array().unwrap_or_else(|| panic!("{listed}"));
        tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
    }

    /// Closes the pipe, and gives the exit code.
    pub fn end(&mut self) -> Option<i32> {
        self.input = None;
        self.wait()
    }

    pub fn wait(&mut self) -> Option<i32> {
        let mut code = None;
        crate::support::until("the server has ended", || {
            code = self.child.try_wait().unwrap();
            code.is_some()
        });
        code.and_then(|status| status.code())
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The text of a result.
pub fn text(answer: &Value) -> String {
    let content = answer["result"]["content"].as_array().unwrap_or_else(|| panic!("{answer}"));
    content.iter().filter_map(|part| part["text"].as_str()).collect::<Vec<_>>().join("\n")
}

/// A server on a port.
pub struct Http {
    child: Child,
    address: String,
    pub token: Option<String>,
}

impl Http {
    pub fn start(world: &World, args: &[&str]) -> Self {
        let args: Vec<&str> = ["mcp", "serve", "--http", "0"].iter().chain(args).copied().collect();
        let mut child = world.command(&args).stderr(Stdio::inherit()).spawn().unwrap();
        let url = read_until(&mut child, "http://");
        let address = url.trim().trim_start_matches("http://").trim_end_matches("/mcp").to_owned();
        let gives_token = args.contains(&"--token-file");
        let line = (!gives_token).then(|| read_until(&mut child, "Authorization"));
        let token = line.map(|line| line.trim().rsplit(' ').next().unwrap().to_owned());
        Http { child, address, token }
    }

    pub fn url(&self) -> String {
        format!("http://{}/mcp", self.address)
    }

    /// The answer to a handshake, as it comes over the wire.
    pub fn hello(&self, token: Option<&str>) -> String {
        let client = json!({"name": "test", "version": "1"});
        let params =
            json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client});
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params})
            .to_string();
        let token =
            token.map(|token| format!("Authorization: Bearer {token}\r\n")).unwrap_or_default();
        let head = format!(
            "POST /mcp HTTP/1.1\r\nHost: {}\r\nConnection: close\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\n{token}Content-Length: {}\r\n\r\n",
            self.address,
            body.len()
        );
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.write_all((head + &body).as_bytes()).unwrap();
        let mut answer = String::new();
        let _ = stream.read_to_string(&mut answer);
        answer
    }

    pub fn end(mut self) -> Option<i32> {
        signal(&self.child, Signal::TERM);
        self.child.wait().unwrap().code()
    }
}

impl Drop for Http {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
