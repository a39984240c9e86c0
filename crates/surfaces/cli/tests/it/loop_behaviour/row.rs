//! One scenario: what the server says, what Claude Code did, and a run of ours that is looked at.

use crate::support::{Ran, World, finish};
use ostler_model_server::{Recorded, Script};
use serde_json::Value;
use std::fmt;
use std::process::Command;

const GO: [&str; 6] =
    ["-p", "go", "--output-format", "stream-json", "--permission-mode", "bypassPermissions"];

pub type Act = fn(&World, Command) -> Ran;
pub type Look = fn(&World, &Ran) -> String;

pub struct Row {
    pub name: &'static str,
    pub says: &'static str,
    pub claude: Claude,
    pub why: &'static str,
    script: Script,
    args: Vec<&'static str>,
    env: Vec<(&'static str, &'static str)>,
    files: Vec<(&'static str, Vec<u8>)>,
    act: Act,
    look: Look,
}

/// What Claude Code was seen to do, as far as it can be compared.
pub struct Claude {
    pub requests: Requests,
    /// What else was seen, in the words that the look at our run uses.
    pub more: &'static str,
    pub code: i32,
}

#[derive(Clone, Copy)]
pub enum Requests {
    Count(usize),
    /// The driver had to end it.
    Endless,
    /// Not written down.
    Unsaid,
}

impl From<usize> for Requests {
    fn from(count: usize) -> Self {
        Requests::Count(count)
    }
}

/// What our run did.
pub struct Seen {
    requests: usize,
    ways: String,
    calls: String,
    more: String,
    ending: String,
    code: Option<i32>,
}

impl Claude {
    pub fn is_like(&self, seen: &Seen) -> bool {
        let requests = match self.requests {
            Requests::Count(count) => count == seen.requests,
            Requests::Endless => false,
            Requests::Unsaid => true,
        };
        requests && self.more == seen.more && Some(self.code) == seen.code
    }
}

impl fmt::Display for Claude {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let requests = match self.requests {
            Requests::Count(count) => counted(count, "request"),
            Requests::Endless => "endless requests".to_owned(),
            Requests::Unsaid => String::new(),
        };
        let code = match self.requests {
            Requests::Endless => String::new(),
            _ => format!("exit {}", self.code),
        };
        f.write_str(&joined(&[&requests, self.more, &code]))
    }
}

impl fmt::Display for Seen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let requests = match self.ways.is_empty() {
            true => counted(self.requests, "request"),
            false => format!("{}: {}", counted(self.requests, "request"), self.ways),
        };
        let code = self.code.map_or("killed".to_owned(), |code| format!("exit {code}"));
        // Not said twice.
        let ending = if self.more.ends_with(&self.ending) { "" } else { &self.ending };
        f.write_str(&joined(&[&requests, &self.calls, &self.more, ending, &code]))
    }
}

fn joined(parts: &[&str]) -> String {
    parts.iter().filter(|part| !part.is_empty()).copied().collect::<Vec<_>>().join("; ")
}

fn counted(count: usize, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}

impl Row {
    pub fn new(name: &'static str, says: &'static str, script: Script) -> Self {
        let claude = Claude { requests: Requests::Unsaid, more: "", code: 0 };
        let (act, look): (Act, Look) =
            (|_, mut command| finish(command.spawn().unwrap()), |_, _| String::new());
        let (args, env, files) = (Vec::new(), Vec::new(), Vec::new());
        Row { name, says, claude, why: "", script, args, env, files, act, look }
    }

    /// What Claude Code did.
    pub fn claude(mut self, requests: impl Into<Requests>, more: &'static str, code: i32) -> Self {
        self.claude = Claude { requests: requests.into(), more, code };
        self
    }

    /// Why we differ, on purpose.
    pub fn because(mut self, why: &'static str) -> Self {
        self.why = why;
        self
    }

    pub fn args(mut self, args: &[&'static str]) -> Self {
        self.args.extend(args);
        self
    }

    pub fn env(mut self, name: &'static str, value: &'static str) -> Self {
        self.env.push((name, value));
        self
    }

    pub fn file(mut self, name: &'static str, bytes: impl Into<Vec<u8>>) -> Self {
        self.files.push((name, bytes.into()));
        self
    }

    /// How the program is run, if not just to its end.
    pub fn acting(mut self, act: Act) -> Self {
        self.act = act;
        self
    }

    /// What else is worth a look.
    pub fn look(mut self, look: Look) -> Self {
        self.look = look;
        self
    }

    pub fn play(&self) -> Seen {
        let world = World::new(self.script.clone());
        for (name, bytes) in &self.files {
            std::fs::write(world.project().join(name), bytes).unwrap();
        }
        let args: Vec<&str> = GO.iter().chain(&self.args).copied().collect();
        let mut command = world.command(&args);
        command.envs(self.env.iter().copied());
        let ran = (self.act)(&world, command);
        assert_eq!(world.server.rejected(), Vec::<String>::new(), "{}: {ran:?}", self.name);
        ran.assert_drops_are_true();
        assert!(!ran.stderr.contains("internal error"), "{}: {}", self.name, ran.stderr);
        Seen {
            requests: world.server.requests().len(),
            ways: ways(&ran),
            calls: calls(&world),
            more: (self.look)(&world, &ran),
            ending: ran.frames().last().map(|_| ran.terminal()).unwrap_or_default(),
            code: ran.code,
        }
    }
}

/// Ways round and repeats in order; what happens several times in a row stands once.
fn ways(ran: &Ran) -> String {
    let mut all: Vec<(String, usize)> = Vec::new();
    for frame in ran.frames() {
        let name = match frame["subtype"].as_str() {
            Some("transition") => frame["reason"].as_str().unwrap_or_default(),
            Some("api_retry") => "retried",
            _ => continue,
        };
        match all.last_mut() {
            Some((last, count)) if last == name => *count += 1,
            _ => all.push((name.to_owned(), 1)),
        }
    }
    let times = |(name, count): (String, usize)| {
        if count == 1 { name } else { format!("{name} ×{count}") }
    };
    all.into_iter().map(times).collect::<Vec<_>>().join(", ")
}

/// Calls of answers that were kept, by how they ended.
fn calls(world: &World) -> String {
    let facts = world.entries();
    let failed = |fact: &&Value| fact["result"]["is_error"] == true;
    let finished: Vec<&Value> =
        facts.iter().filter(|fact| fact["fact"] == "call_finished").collect();
    let bad = finished.iter().copied().filter(|fact| failed(fact)).count();
    let part = |count: usize, how: &str| match count {
        0 => String::new(),
        _ => format!("{} {how}", counted(count, "call")),
    };
    joined(&[&part(finished.len() - bad, "ok"), &part(bad, "failed")]).replace("; ", ", ")
}

/// The messages of a request, in short. The environment before the first prompt are left out.
pub fn shape(request: &Recorded) -> String {
    let message = |message: &Value| {
        let who = if message["role"] == "assistant" { "a" } else { "u" };
        let blocks = message["content"].as_array().into_iter().flatten().filter_map(block);
        format!("{who}:[{}]", blocks.collect::<Vec<_>>().join(","))
    };
    format!("`{}`", request.messages().iter().map(message).collect::<Vec<_>>().join(" "))
}

fn block(block: &Value) -> Option<String> {
    let text = block["text"].as_str().unwrap_or_default();
    let name = match block["type"].as_str().unwrap_or_default() {
        "text" if text.starts_with("<environment>") || text.starts_with("<skills>") => return None,
        "text" if text.starts_with("<summary>") => "summary",
        "text" if text.starts_with('[') || text.starts_with("Your answer") => "note",
        "text" if ["go", "again"].contains(&text) => text,
        "text" => "T",
        "thinking" => "K",
        "tool_use" => "U",
        "tool_result" if block["is_error"] == true => "ERR",
        "tool_result" => "res",
        other => other,
    };
    Some(name.to_owned())
}

/// The last request, in short.
pub fn last_shape(world: &World) -> String {
    world.server.requests().last().map(|request| shape(request)).unwrap_or_default()
}

/// The output limits asked for, in order.
pub fn limits_asked(world: &World) -> String {
    let requests = world.server.requests();
    let limits: Vec<String> =
        requests.iter().map(|request| request.json()["max_tokens"].to_string()).collect();
    match limits.windows(2).all(|pair| pair[0] == pair[1]) {
        true => "max_tokens unchanged".to_owned(),
        false => format!("max_tokens {}", limits.join(", ")),
    }
}
