//! A program that writes lines to Ostler and reads what comes back.

use ostler_model_server::{ModelServer, Script};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

/// Longer than anything here takes.
const PATIENCE: Duration = Duration::from_secs(60);

pub struct PipeProgram {
    child: Child,
    input: Option<ChildStdin>,
    frames: Receiver<Value>,
    pub server: ModelServer,
    pub folder: tempfile::TempDir,
}

impl PipeProgram {
    pub fn start(script: Script, flags: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let server = ModelServer::start(script).unwrap();
        let home = folder.path().join("home");
        let work = folder.path().join("work");
        std::fs::create_dir(&home).unwrap();
        std::fs::create_dir(&work).unwrap();
        let mut child = Command::new(env!("CARGO_BIN_EXE_ostler"))
            .args(["--output-format", "stream-json", "--verbose", "--model", "scripted"])
            .args(flags)
            .args(["--input-format", "stream-json"])
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap())
            .env("HOME", &home)
            .env("ANTHROPIC_BASE_URL", server.url())
            .env("ANTHROPIC_API_KEY", "key")
            .env("CLAUDE_CODE_SDK_READS_SESSION_STATE", "1")
            .env("OSTLER_MEMORY", "off")
            .current_dir(&work)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let (sender, frames) = channel();
        let output = BufReader::new(child.stdout.take().unwrap());
        std::thread::spawn(move || {
            for line in output.lines().map_while(Result::ok) {
                let frame = serde_json::from_str(&line).unwrap_or_else(|_| json!({"bad": line}));
                if sender.send(frame).is_err() {
                    return;
                }
            }
        });
        let input = child.stdin.take();
        PipeProgram { child, input, frames, server, folder }
    }

    pub fn write(&mut self, line: &str) {
        let input = self.input.as_mut().unwrap();
        // A program that has ended reads no more.
        let _ = writeln!(input, "{line}");
    }

    pub fn write_bytes(&mut self, line: &[u8]) {
        let input = self.input.as_mut().unwrap();
        let _ = input.write_all(line).and_then(|()| input.write_all(b"\n"));
    }

    pub fn send(&mut self, frame: &Value) {
        self.write(&frame.to_string());
    }

    pub fn say(&mut self, text: &str) {
        let message = json!({"role": "user", "content": text});
        self.send(&json!({"type": "user", "message": message, "parent_tool_use_id": null, "session_id": ""}));
    }

    pub fn request(&mut self, id: &str, request: &Value) {
        self.send(&json!({"type": "control_request", "request_id": id, "request": request}));
    }

    pub fn next(&self) -> Option<Value> {
        self.frames.recv_timeout(PATIENCE).ok()
    }

    /// Everything up to a frame of this type.
    pub fn until(&self, kind: &str) -> Vec<Value> {
        let mut all = Vec::new();
        while let Some(frame) = self.next() {
            let found = frame["type"] == kind || frame["subtype"] == kind;
            all.push(frame);
            if found {
                return all;
            }
        }
        panic!("no {kind}: {all:?}")
    }

    pub fn close_input(&mut self) {
        self.input = None;
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// The rest of the frames, the exit code, and what it wrote to standard error.
    pub fn end(mut self) -> (Vec<Value>, Option<i32>, String) {
        self.close_input();
        let rest: Vec<Value> = self.frames.iter().collect();
        let output = self.child.wait_with_output().unwrap();
        assert_eq!(self.server.rejected(), Vec::<String>::new());
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        (rest, output.status.code(), errors)
    }
}

/// A frame as `type/subtype`.
pub fn kind(frame: &Value) -> String {
    let part = |name: &str| frame[name].as_str().unwrap_or_default().to_owned();
    match part("subtype") {
        subtype if subtype.is_empty() => part("type"),
        subtype => format!("{}/{subtype}", part("type")),
    }
}
