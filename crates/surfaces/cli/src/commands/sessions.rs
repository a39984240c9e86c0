//! `ostler sessions`: what can be resumed here.

use crate::args::SessionsArgs;
use crate::commands::import;
use crate::exit::Code;
use crate::output::visible_text::visible;
use anyhow::Result;
use ostler::{Program, SessionInfo};
use ostler_profile::Environment;
use ostler_sdk::escaped;
use std::io::Write;

pub fn run(environment: &Environment, args: &SessionsArgs) -> Result<Code> {
    let cwd = std::env::current_dir()?;
    if args.claude {
        return import::list(environment, Some(Program::ClaudeCode), false, args.json);
    }
    let sessions = ostler::list_sessions(&environment.home()?, &cwd)?;
    let mut out = std::io::stdout().lock();
    if args.json {
        for session in &sessions {
            writeln!(out, "{}", escaped(&as_json(session).to_string()))?;
        }
    } else if sessions.is_empty() {
        writeln!(out, "No sessions in this directory yet.")?;
    } else {
        for line in table(&sessions) {
            writeln!(out, "{line}")?;
        }
    }
    Ok(Code::Done)
}

pub fn table(sessions: &[SessionInfo]) -> Vec<String> {
    let now = ostler::now_ms();
    let line = |session: &SessionInfo| {
        let words: Vec<&str> = session.title.split_whitespace().collect();
        let title: String = visible(&words.join(" ")).chars().take(60).collect();
        let age = age(now.saturating_sub(session.modified.0));
        format!("{}  {age:>8}  {:>4} messages  {title}", session.id, session.messages)
    };
    sessions.iter().map(line).collect()
}

fn as_json(session: &SessionInfo) -> serde_json::Value {
    serde_json::json!({
        "id": session.id.as_str(), "title": session.title, "messages": session.messages,
        "created_ms": session.created.0, "modified_ms": session.modified.0,
    })
}

pub fn age(millis: u64) -> String {
    match millis / 1000 {
        s @ 0..60 => format!("{s} s"),
        s @ 60..3600 => format!("{} min", s / 60),
        s @ 3600..86_400 => format!("{} h", s / 3600),
        s => format!("{} days", s / 86_400),
    }
}
