//! The other side of the toy protocol: a real HTTP server that plays one reply after the other.

use serde_json::Value;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

pub struct ToyServer {
    address: std::net::SocketAddr,
    asked: Arc<Mutex<Vec<Asked>>>,
}

/// A request as it arrived: its path, its headers in small letters, and the lines of its body.
#[derive(Clone, Debug, Default)]
pub struct Asked {
    pub path: String,
    pub headers: Vec<String>,
    pub lines: Vec<Value>,
}

impl Asked {
    pub fn body(&self) -> String {
        self.lines.iter().map(|line| format!("{line}\n")).collect()
    }
}

/// A status and lines of JSON.
pub type Reply = (u16, Vec<Value>);

impl ToyServer {
    pub fn start(replies: Vec<Reply>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let asked = Arc::new(Mutex::new(Vec::new()));
        let seen = asked.clone();
        std::thread::spawn(move || {
            for (status, lines) in replies {
                let Ok((stream, _)) = listener.accept() else { return };
                // Noted before anybody can learn of the reply.
                seen.lock().unwrap().push(read(&stream));
                write(stream, status, &lines);
            }
        });
        ToyServer { address, asked }
    }

    pub fn url(&self) -> String {
        format!("http://{}/toys", self.address)
    }

    pub fn asked(&self) -> Vec<Asked> {
        self.asked.lock().unwrap().clone()
    }
}

fn read(stream: &TcpStream) -> Asked {
    let mut reader = BufReader::new(stream);
    let mut head = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        match line.trim_end() {
            "" => break,
            line => head.push(line.to_owned()),
        }
    }
    let path = head[0].split(' ').nth(1).unwrap_or_default().to_owned();
    let headers: Vec<String> = head[1..].iter().map(|line| line.to_ascii_lowercase()).collect();
    let length = headers.iter().find_map(|line| line.strip_prefix("content-length: "));
    let mut body = vec![0; length.unwrap().parse().unwrap()];
    reader.read_exact(&mut body).unwrap();
    let body = String::from_utf8(body).unwrap();
    let lines = body.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    Asked { path, headers, lines }
}

fn write(mut stream: TcpStream, status: u16, lines: &[Value]) {
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    let kind = if status == 200 { "application/x-toy-lines" } else { "application/json" };
    let head = format!(
        "HTTP/1.1 {status} Toy\r\ncontent-type: {kind}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
        text.len()
    );
    stream.write_all(head.as_bytes()).unwrap();
    stream.write_all(text.as_bytes()).unwrap();
}
