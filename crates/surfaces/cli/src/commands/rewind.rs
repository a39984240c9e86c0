//! `ostler rewind`: the turns of a session; files, conversation or both as they were before one of them.

use super::sessions::age;
use super::undo::{Reviewed, as_json, choice, code, reviewed, tell, tell_way_back};
use crate::args::undo::RewindArgs;
use crate::exit::Code;
use crate::output::visible_text::visible;
use anyhow::{Result, bail};
use ostler::{
    Input, InputReceipt, Review, Rewind, Rewinding, Session, SessionId, TurnLine, UndoChoice,
    Undone,
};
use ostler_profile::Environment;
use ostler_sdk::escaped;
use serde_json::json;
use std::io::Write;

/// Characters of a prompt in the list.
const WIDE: usize = 60;

impl Reviewed for (SessionId, Option<Undone>) {
    fn files(&self) -> Option<&Undone> {
        self.1.as_ref()
    }
}

pub fn run(environment: &Environment, args: &RewindArgs) -> Result<Code> {
    let choice = choice(environment, &args.common)?;
    let Some(turn) = args.to else { return list(&choice, args.common.json) };
    let what = rewinding(args);
    let act =
        |choice: &UndoChoice, review: Review<'_>| Ok(ostler::rewind(choice, turn, what, review)?);
    rewind(&choice, args, turn, act)
}

/// The same for a session that is open here.
pub fn run_in(session: &Session, environment: &Environment, args: &RewindArgs) -> Result<Code> {
    let choice = choice(environment, &args.common)?;
    let Some(turn) = args.to else { return list(&choice, args.common.json) };
    rewind(&choice, args, turn, |choice, review| {
        let send = |dry_run, shown| {
            let (what, keep) = (rewinding(args), choice.keep.clone());
            match session.send(Input::Rewind(Rewind { turn, what, dry_run, keep, shown }))? {
                InputReceipt::Rewound(undone) => Ok(undone.map(|undone| *undone)),
                other => bail!("unexpected receipt: {other:?}"),
            }
        };
        let plan = send(true, None)?;
        let agreed = !choice.dry_run && plan.as_ref().is_none_or(review);
        let shown = plan.as_ref().map(|plan| plan.outcomes.clone());
        let undone = if agreed { send(false, shown)? } else { plan };
        Ok((session.id().clone(), undone))
    })
}

fn rewinding(args: &RewindArgs) -> Rewinding {
    Rewinding { files: !args.conversation, conversation: !args.files }
}

fn rewind(
    choice: &UndoChoice,
    args: &RewindArgs,
    turn: u32,
    act: impl Fn(&UndoChoice, Review<'_>) -> Result<(SessionId, Option<Undone>)>,
) -> Result<Code> {
    let what = rewinding(args);
    let rewound = reviewed(choice, &args.common, true, act)?;
    let Some((session, undone)) = rewound else { return Ok(Code::Failed) };
    let mut out = std::io::stdout().lock();
    let dry_run = args.common.dry_run;
    if args.common.json {
        let files = undone.as_ref().map(|undone| as_json(undone, dry_run));
        let conversation = what.conversation && !dry_run;
        let line = json!({
            "session": session.as_str(), "turn": turn, "dry_run": dry_run,
            "conversation": conversation, "files": files,
        });
        writeln!(out, "{}", escaped(&line.to_string()))?;
        return Ok(undone.as_ref().map_or(Code::Done, code));
    }
    match &undone {
        Some(undone) if undone.done => {
            tell(&mut out, undone, "Undone")?;
            if !undone.calls.is_empty() {
                tell_way_back(&mut out, undone, &args.common, false)?;
            }
        }
        None if what.files => writeln!(out, "No files were changed since.")?,
        _ => {}
    }
    if what.conversation {
        let verb = if dry_run { "would continue" } else { "continues" };
        match args.common.in_session {
            true => writeln!(out, "The conversation {verb} from before turn {turn}.")?,
            false => writeln!(
                out,
                "The conversation {verb} from before turn {turn}: ostler --resume {session}"
            )?,
        }
    }
    Ok(undone.as_ref().map_or(Code::Done, code))
}

fn list(choice: &UndoChoice, json: bool) -> Result<Code> {
    let (session, lines) = ostler::turns(choice)?;
    let mut out = std::io::stdout().lock();
    if lines.is_empty() && !json {
        writeln!(out, "Session {session} has no turns yet.")?;
    }
    let now = ostler::now_ms();
    for line in lines {
        if json {
            let TurnLine { turn, at, prompt, calls, files, conversation } = line;
            let line = json!({
                "session": session.as_str(), "turn": turn, "at_ms": at, "prompt": prompt,
                "calls": calls, "files": files, "conversation": conversation,
            });
            writeln!(out, "{}", escaped(&line.to_string()))?;
            continue;
        }
        let files = line.files.map_or("? files".to_owned(), |files| counted(files, "file"));
        let prompt: String = visible(&line.prompt).chars().take(WIDE).collect();
        let only = if line.conversation { "" } else { "  (summarized since: only --files)" };
        writeln!(
            out,
            "{:>4}  {:>8}  {:>9}  {files:>9}  {prompt}{only}",
            line.turn,
            age(now.saturating_sub(line.at)),
            counted(line.calls, "change")
        )?;
    }
    Ok(Code::Done)
}

pub fn counted(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}
