//! `ostler undo`: back through the last changing calls. What would be taken back is listed first, and asked about where a
//! person may have changed some of it.

use super::undo_list;
use crate::args::undo::{Common, UndoArgs};
use crate::exit::{Code, warn};
use crate::output::visible_text::visible;
use anyhow::{Result, bail};
use ostler::{
    ChangingCall, Fate, Input, InputReceipt, Review, Session, Undo, UndoChoice, Undoes, Undoing,
    Undone,
};
use ostler_profile::Environment;
use ostler_sdk::escaped;
use serde_json::{Value, json};
use std::io::{BufRead, IsTerminal, Write};
use std::path::Path;

/// So many paths are listed on a terminal; of the rest the number.
const SHOWN: usize = 200;
/// Characters of a command in the output.
const WIDE: usize = 80;

pub fn run(environment: &Environment, args: &UndoArgs) -> Result<Code> {
    let choice = choice(environment, &args.common)?;
    if args.list {
        return undo_list::run(&choice, args.common.json);
    }
    undo(&choice, args, |choice, review| match args.redo {
        true => Ok(ostler::redo(choice, review)?),
        false => Ok(ostler::undo(choice, args.steps as usize, review)?),
    })
}

/// The same for a session that is open here.
pub fn run_in(session: &Session, environment: &Environment, args: &UndoArgs) -> Result<Code> {
    let choice = choice(environment, &args.common)?;
    if args.list {
        return undo_list::run(&choice, args.common.json);
    }
    let what = if args.redo { Undoes::LastUndo } else { Undoes::Calls(args.steps as usize) };
    undo(&choice, args, |choice, review| {
        let send = |dry_run, shown| {
            let keep = choice.keep.clone();
            match session.send(Input::Undo(Undo { what, dry_run, keep, shown }))? {
                InputReceipt::Undone(undone) => Ok(*undone),
                other => bail!("unexpected receipt: {other:?}"),
            }
        };
        let plan = send(true, None)?;
        // A yes is for what was shown.
        match !choice.dry_run && review(&plan) {
            true => send(false, Some(plan.outcomes)),
            false => Ok(plan),
        }
    })
}

fn undo(
    choice: &UndoChoice,
    args: &UndoArgs,
    act: impl Fn(&UndoChoice, Review<'_>) -> Result<Undone>,
) -> Result<Code> {
    let undone = reviewed(choice, &args.common, !args.redo, act)?;
    let Some(undone) = undone else { return Ok(Code::Failed) };
    let mut out = std::io::stdout().lock();
    if args.common.json {
        writeln!(out, "{}", escaped(&as_json(&undone, args.common.dry_run).to_string()))?;
    } else if undone.done {
        tell(&mut out, &undone, if args.redo { "Redone" } else { "Undone" })?;
        if undone.conversation {
            match args.common.in_session {
                true => writeln!(out, "The conversation was restored.")?,
                false => {
                    writeln!(
                        out,
                        "The conversation was restored: ostler --resume {}",
                        undone.session
                    )?;
                }
            }
        }
        if !undone.calls.is_empty() || undone.conversation {
            tell_way_back(&mut out, &undone, &args.common, args.redo)?;
        }
    }
    Ok(code(&undone))
}

pub fn choice(environment: &Environment, common: &Common) -> Result<UndoChoice> {
    Ok(UndoChoice {
        home: environment.home()?,
        cwd: std::env::current_dir()?.canonicalize()?,
        session: common.session.clone(),
        dry_run: common.dry_run,
        keep: common.keep.clone(),
        memory: environment.memory(),
    })
}

/// Done only if nothing was kept or lost, apart from what was to stay.
pub fn code(undone: &Undone) -> Code {
    if undone.is_complete() { Code::Done } else { Code::Failed }
}

/// Lists what would be done, asks where a person is there and may lose something, and does it. None if the answer was no,
/// or if it is something else by then.
pub fn reviewed<T: Reviewed>(
    choice: &UndoChoice,
    common: &Common,
    asks: bool,
    act: impl Fn(&UndoChoice, Review<'_>) -> Result<T>,
) -> Result<Option<T>> {
    if common.json {
        return act(choice, &mut |_| true).map(Some);
    }
    let person = std::io::stdin().is_terminal() && std::io::stdout().is_terminal();
    if common.dry_run || (person && asks && !common.yes) {
        let dry = UndoChoice { dry_run: true, ..choice.clone() };
        let planned = act(&dry, &mut |_| false)?;
        let Some(plan) = planned.files() else {
            // Nothing but a conversation, which comes back with a redo.
            return if common.dry_run {
                Ok(Some(planned))
            } else {
                act(choice, &mut |_| true).map(Some)
            };
        };
        list(plan, asks, if common.dry_run { usize::MAX } else { SHOWN })?;
        if common.dry_run {
            tell_notices(&mut std::io::stdout(), plan)?;
            return Ok(Some(planned));
        }
        if needs_a_yes(plan) && !agrees()? {
            writeln!(std::io::stdout(), "Nothing was changed.")?;
            return Ok(None);
        }
        // A yes is for what was shown.
        let shown = plan.outcomes.clone();
        let done = act(choice, &mut |now| now.outcomes == shown)?;
        if done.files().is_some_and(|files| !files.done) {
            warn("the files changed while you were deciding, so nothing was done; try again");
            return Ok(None);
        }
        return Ok(Some(done));
    }
    let mut listed = Ok(());
    let done = act(choice, &mut |plan| {
        listed = list(plan, asks, usize::MAX);
        listed.is_ok()
    })?;
    listed?;
    Ok(Some(done))
}

/// What an undo or a rewind came to.
pub trait Reviewed {
    /// What became of files, if any were concerned.
    fn files(&self) -> Option<&Undone>;
}

impl Reviewed for Undone {
    fn files(&self) -> Option<&Undone> {
        Some(self)
    }
}

/// More than one call, or a command: whatever changed while it ran counts as its work, also what a person did.
fn needs_a_yes(plan: &Undone) -> bool {
    plan.changes_files() && (plan.calls.len() > 1 || plan.is_of_commands())
}

fn agrees() -> Result<bool> {
    let mut out = std::io::stdout().lock();
    write!(out, "Go ahead? [y/N] ")?;
    out.flush()?;
    let mut answer = String::new();
    let read = std::io::stdin().lock().read_line(&mut answer)?;
    if read == 0 {
        writeln!(out)?;
    }
    Ok(matches!(answer.trim().to_ascii_lowercase().as_str(), "y" | "yes"))
}

pub fn call_json(call: &ChangingCall) -> Value {
    json!({
        "id": call.id.as_str(), "tool": call.tool, "what": call.what, "turn": call.turn,
        "agent": call.agent.as_ref().map(|agent| &agent.name),
    })
}

pub fn as_json(undone: &Undone, dry_run: bool) -> Value {
    let path = |path: &Path| path.to_string_lossy().into_owned();
    let call = call_json;
    let outcome = |outcome: &Undoing| {
        let (fate, why, beside) = match &outcome.fate {
            Fate::Restored => ("restored", None, None),
            Fate::Removed => ("removed", None, None),
            Fate::Merged => ("merged", None, None),
            Fate::Kept(why) => ("kept", Some(*why), None),
            Fate::Stays(why) => ("stays", Some(*why), None),
            Fate::Beside(old) => ("conflict", None, Some(path(old))),
            Fate::Lost(why) => ("lost", Some(*why), None),
        };
        json!({"path": path(&outcome.path), "fate": fate, "why": why, "beside": beside})
    };
    json!({
        "session": undone.session.as_str(),
        "dry_run": dry_run,
        "complete": undone.is_complete(),
        "conversation": undone.conversation,
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

pub fn what(call: &ChangingCall) -> String {
    let words: Vec<&str> = call.what.split_whitespace().collect();
    let what: String = visible(&words.join(" ")).chars().take(WIDE).collect();
    let agent = call.agent.as_ref().map(|agent| format!(", agent {}", visible(&agent.name)));
    format!("{} (turn {}{}) {what}", call.tool, call.turn, agent.unwrap_or_default())
}

/// What would be done, path by path; what would not go as wished stands last, where it is read.
fn list(plan: &Undone, undoes: bool, most: usize) -> Result<()> {
    let mut out = std::io::stdout().lock();
    for call in &plan.calls {
        writeln!(out, "{}: {}", if undoes { "To undo" } else { "To redo" }, what(call))?;
    }
    let name = names()?;
    let (fine, rest): (Vec<_>, Vec<_>) =
        plan.outcomes.iter().partition(|outcome| is_smooth(&outcome.fate));
    for outcome in fine.iter().take(most) {
        let word = match outcome.fate {
            Fate::Removed => "remove ",
            Fate::Merged => "merge  ",
            _ => "restore",
        };
        writeln!(out, "  {word}  {}", name(&outcome.path))?;
    }
    if fine.len() > most {
        writeln!(out, "  … and {} more; --dry-run lists all of them", fine.len() - most)?;
    }
    if plan.outcomes.is_empty() && !plan.calls.is_empty() {
        writeln!(out, "  nothing differs from before")?;
    }
    for outcome in rest {
        writeln!(out, "  {}", rough(outcome, &name))?;
    }
    if undoes && plan.is_of_commands() && plan.changes_files() {
        writeln!(
            out,
            "Whatever changed while a command ran counts as its work; if you changed some of it, --keep PATH leaves that as it is."
        )?;
    }
    Ok(out.flush()?)
}

fn is_smooth(fate: &Fate) -> bool {
    matches!(fate, Fate::Restored | Fate::Removed | Fate::Merged)
}

fn names() -> Result<impl Fn(&Path) -> String> {
    let cwd = std::env::current_dir()?.canonicalize()?;
    Ok(move |path: &Path| visible(&path.strip_prefix(&cwd).unwrap_or(path).display().to_string()))
}

/// What is not simply taken back.
fn rough(outcome: &Undoing, name: &impl Fn(&Path) -> String) -> String {
    let path = name(&outcome.path);
    match &outcome.fate {
        Fate::Kept(why) | Fate::Stays(why) => format!("keep     {path}: {why}"),
        Fate::Beside(old) => {
            format!("keep     {path}: changed since; the old version goes to {}", name(old))
        }
        Fate::Lost(why) => format!("NOT RESTORED {path}: {why}"),
        _ => path,
    }
}

/// What was done, after the list of what would be.
pub fn tell(out: &mut impl Write, undone: &Undone, verb: &str) -> Result<()> {
    for call in &undone.calls {
        writeln!(out, "{verb}: {}", what(call))?;
    }
    let count = |is: fn(&Fate) -> bool| undone.outcomes.iter().filter(|o| is(&o.fate)).count();
    let counts = [
        (count(|fate| matches!(fate, Fate::Restored)), "restored"),
        (count(|fate| matches!(fate, Fate::Removed)), "removed"),
        (count(|fate| matches!(fate, Fate::Merged)), "merged"),
        (count(|fate| matches!(fate, Fate::Kept(_) | Fate::Stays(_) | Fate::Beside(_))), "kept"),
        (count(|fate| matches!(fate, Fate::Lost(_))), "NOT RESTORED"),
    ];
    let counts = counts.iter().filter(|(count, _)| *count > 0);
    let counts: Vec<String> = counts.map(|(count, word)| format!("{count} {word}")).collect();
    if !counts.is_empty() {
        writeln!(out, "  {}", counts.join(", "))?;
    }
    let name = names()?;
    for outcome in undone.outcomes.iter().filter(|outcome| !is_smooth(&outcome.fate)) {
        writeln!(out, "  {}", rough(outcome, &name).replacen("keep    ", "kept    ", 1))?;
    }
    tell_notices(out, undone)
}

fn tell_notices(out: &mut impl Write, undone: &Undone) -> Result<()> {
    for (call, why) in &undone.not_undone {
        writeln!(out, "NOT UNDONE: {}: {}", what(call), visible(why))?;
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
    let mut way = String::from(if common.in_session { "/undo" } else { "ostler undo" });
    match undone.steps() {
        _ if !redone => way.push_str(" --redo"),
        0 | 1 => {}
        steps => way.push_str(&format!(" {steps}")),
    }
    if common.session.is_some() && !common.in_session {
        way.push_str(&format!(" --session {}", undone.session.as_str()));
    }
    writeln!(out, "The state before this is snapshot {}; to go back to it: {way}", undone.before)?;
    Ok(())
}
