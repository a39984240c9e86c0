//! `ostler agents --definitions`: the kinds of agents that can be started here.

use crate::exit::Code;
use crate::output::visible_text::visible;
use anyhow::Result;
use ostler::AgentKind;
use ostler::config::{AgentFile, AgentFileState};
use ostler_profile::{Environment, Flags, Profile};
use ostler_sdk::escaped;
use serde_json::{Value, json};
use std::io::Write;

pub fn run(environment: &Environment, as_json: bool) -> Result<Code> {
    let profile = Profile::load(environment, Flags::default())?;
    let files = &profile.loaded.agent_files;
    let mut out = std::io::stdout().lock();
    if as_json {
        let rows: Vec<Value> =
            shipped(files).map(shipped_json).chain(files.iter().map(row)).collect();
        writeln!(out, "{}", escaped(&json!({ "definitions": rows }).to_string()))?;
        return Ok(Code::Done);
    }
    for kind in shipped(files) {
        writeln!(out, "{}  built in  {}", kind.name(), kind.purpose())?;
    }
    for file in files {
        writeln!(out, "{}", line(file))?;
    }
    Ok(Code::Done)
}

/// Those that no definition replaces.
fn shipped(files: &[AgentFile]) -> impl Iterator<Item = AgentKind> {
    let used = |kind: &AgentKind| {
        let is_same = |file: &AgentFile| file.name == kind.name();
        files.iter().any(|file| file.state == AgentFileState::Used && is_same(file))
    };
    AgentKind::ALL.into_iter().filter(move |kind| !used(kind))
}

fn shipped_json(kind: AgentKind) -> Value {
    json!({"name": kind.name(), "description": kind.purpose(), "path": null, "state": "built_in"})
}

fn row(file: &AgentFile) -> Value {
    serde_json::to_value(file).unwrap_or_default()
}

fn line(file: &AgentFile) -> String {
    let state = match &file.state {
        AgentFileState::Used => "used",
        AgentFileState::Hidden => "replaced by another file of this name",
        AgentFileState::Untrusted => "not trusted: run `ostler permissions trust`",
        // The reason names the file.
        AgentFileState::Unusable { why } => {
            return format!("{}  {}", visible(&file.name), visible(why));
        }
    };
    let path = file.path.display().to_string();
    let description: Vec<&str> = file.description.split_whitespace().collect();
    let (name, description) = (visible(&file.name), visible(&description.join(" ")));
    format!("{name}  {state}  {}: {description}", visible(&path))
}
