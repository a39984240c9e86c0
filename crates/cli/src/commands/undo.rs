//! `ostler undo`: back through the last changing calls.

use crate::args::undo::{Common, UndoArgs};
use crate::environment::Environment;
use crate::exit::Code;
use crate::output::json_text::escaped;
use crate::output::visible::visible;
use anyhow::Result;
use ostler::{ChangingCall, Fate, UndoChoice, Undoing, Undone};
use serde_json::{Value, json};
use std::io::Write;
use std::path::Path;

/// So many paths are named; of the rest the number.
const SHOWN: usize = 40;
/// Characters of a command in the output.
const WIDE: usize = 80;

pub fn run(environment: &Environment, args: &UndoArgs) -> Result<Code> {
    let choice = choice(environment, &args.common)?;
    let undone = match args.redo {
        true => ostler::redo(&choice)?,
        false => ostler::undo(&choice, args.steps as usize)?,
    };
    let verb = if args.redo { "Redone" } else { "Undone" };
    let mut out = std::io::stdout().lock();
    if args.common.json {
        writeln!(out, "{}", escaped(&as_json(&undone, args.common.dry_run).to_string()))?;
    } else {
        tell(&mut out, &undone, verb, args.common.dry_run)?;
        if !args.common.dry_run && !undone.calls.is_empty() {
            tell_way_back(&mut out, &undone, &args.common, args.redo)?;
        }
    }
    Ok(code(&undone))
}

pub fn choice(environment: &Environment, common: &Common) -> Result<UndoChoice> {
    let cwd = std::env::current_dir()?.canonicalize()?;
    let (session, dry_run) = (common.session.clone(), common.dry_run);
    Ok(UndoChoice { home: environment.home()?, cwd, session, dry_run })
}

/// Done only if nothing was kept or lost.
pub fn code(undone: &Undone) -> Code {
    if undone.is_complete() { Code::Done } else { Code::Failed }
}

pub fn as_json(undone: &Undone, dry_run: bool) -> Value {
    let path = |path: &Path| path.to_string_lossy().into_owned();
    let call = |call: &ChangingCall| json!({"id": call.id.as_str(), "tool": call.tool, "what": call.what, "turn": call.turn});
    let outcome = |outcome: &Undoing| {
        let (fate, why, beside) = match &outcome.fate {
            Fate::Restored => ("restored", None, None),
            Fate::Removed => ("removed", None, None),
            Fate::Merged => ("merged", None, None),
            Fate::Kept(why) => ("kept", Some(*why), None),
            Fate::Beside(old) => ("conflict", None, Some(path(old))),
            Fate::Lost(why) => ("lost", Some(*why), None),
        };
        json!({"path": path(&outcome.path), "fate": fate, "why": why, "beside": beside})
    };
    json!({
        "session": undone.session.as_str(),
        "dry_run": dry_run,
        "complete": undone.is_complete(),
        "calls": undone.calls.iter().map(call).collect::<Vec<_>>(),
        "not_undone": undone.not_undone.iter().map(|(of, why)| {
            let mut line = call(of);
            line["why"] = json!(why);
            line
        }).collect::<Vec<_>>(),
        "paths": undone.outcomes.iter().map(outcome).collect::<Vec<_>>(),
        "snapshot_before": undone.before,
        "snapshot_after": undone.after,
        "notices": undone.notices,
    })
}

pub fn tell(out: &mut impl Write, undone: &Undone, verb: &str, dry_run: bool) -> Result<()> {
    let verb = if dry_run { format!("Would be {}", verb.to_lowercase()) } else { verb.to_owned() };
    let shown = |call: &ChangingCall| {
        let words: Vec<&str> = call.what.split_whitespace().collect();
        let what: String = visible(&words.join(" ")).chars().take(WIDE).collect();
        format!("{} (turn {}) {what}", call.tool, call.turn)
    };
    for call in &undone.calls {
        writeln!(out, "{verb}: {}", shown(call))?;
    }
    let cwd = std::env::current_dir()?.canonicalize()?;
    let name = |path: &Path| {
        visible(&path.strip_prefix(&cwd).unwrap_or(path).display().to_string()).to_string()
    };
    // What did not go as wished stands last, where it is read.
    let smooth = |fate: &Fate| matches!(fate, Fate::Restored | Fate::Removed | Fate::Merged);
    let (fine, rest): (Vec<_>, Vec<_>) =
        undone.outcomes.iter().partition(|outcome| smooth(&outcome.fate));
    for outcome in fine.iter().take(SHOWN) {
        let word = match outcome.fate {
            Fate::Removed => "removed ",
            Fate::Merged => "merged  ",
            _ => "restored",
        };
        writeln!(out, "  {word}  {}", name(&outcome.path))?;
    }
    if fine.len() > SHOWN {
        writeln!(out, "  … and {} more", fine.len() - SHOWN)?;
    }
    if undone.outcomes.is_empty() && !undone.calls.is_empty() {
        writeln!(out, "  nothing differs from before")?;
    }
    for outcome in rest {
        let path = name(&outcome.path);
        match &outcome.fate {
            Fate::Kept(why) => writeln!(out, "  kept      {path}: {why}")?,
            Fate::Beside(old) => writeln!(
                out,
                "  kept      {path}: changed since; the old version is {}",
                name(old)
            )?,
            Fate::Lost(why) => writeln!(out, "  NOT BACK  {path}: {why}")?,
            _ => {}
        }
    }
    for (call, why) in &undone.not_undone {
        writeln!(out, "NOT UNDONE: {}: {}", shown(call), visible(why))?;
    }
    for notice in &undone.notices {
        writeln!(out, "{}", visible(notice))?;
    }
    Ok(())
}

/// The command that takes this back.
pub fn tell_way_back(
    out: &mut impl Write,
    undone: &Undone,
    common: &Common,
    redone: bool,
) -> Result<()> {
    let mut way = String::from("ostler undo");
    match undone.calls.len() {
        _ if !redone => way.push_str(" --redo"),
        0 | 1 => {}
        steps => way.push_str(&format!(" {steps}")),
    }
    if common.session.is_some() {
        way.push_str(&format!(" --session {}", undone.session.as_str()));
    }
    writeln!(out, "The state before this is snapshot {}: {way}", undone.before)?;
    Ok(())
}
