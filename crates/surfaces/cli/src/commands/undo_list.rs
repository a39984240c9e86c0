//! `ostler undo --list`: what could be undone, newest first.

use super::rewind::counted;
use super::undo::{call_json, what};
use crate::exit::Code;
use anyhow::Result;
use ostler::{UndoChoice, UndoStep};
use ostler_sdk::escaped;
use serde_json::{Value, json};
use std::io::Write;

pub fn run(choice: &UndoChoice, json: bool) -> Result<Code> {
    let sessions = ostler::undo_steps(choice)?;
    let mut out = std::io::stdout().lock();
    if json {
        let session = |found: &ostler::UndoSteps| json!({"session": found.session.as_str(), "steps": steps_json(&found.steps)});
        let list: Vec<Value> = sessions.iter().map(session).collect();
        writeln!(out, "{}", escaped(&json!({ "sessions": list }).to_string()))?;
        return Ok(Code::Done);
    }
    if sessions.is_empty() {
        writeln!(out, "There is nothing to undo.")?;
    }
    for found in &sessions {
        if choice.session.is_none() {
            writeln!(out, "session {}", found.session)?;
        }
        for (number, step) in (1..).zip(&found.steps) {
            line(&mut out, number, step)?;
        }
    }
    Ok(Code::Done)
}

fn line(out: &mut impl Write, number: usize, step: &UndoStep) -> Result<()> {
    let files = step.files.map_or("? files".to_owned(), |files| counted(files, "file"));
    for (at, call) in step.calls.iter().enumerate() {
        match at {
            0 => writeln!(out, "{number:>4}  {files:>9}  {}", what(call))?,
            _ => writeln!(out, "{:>4}  {:>9}  {}", "", "", what(call))?,
        }
    }
    Ok(())
}

fn steps_json(steps: &[UndoStep]) -> Vec<Value> {
    let calls = |step: &UndoStep| step.calls.iter().map(call_json).collect::<Vec<_>>();
    let steps = (1..).zip(steps);
    steps
        .map(|(number, step): (usize, _)| json!({"step": number, "files": step.files, "calls": calls(step)}))
        .collect()
}
