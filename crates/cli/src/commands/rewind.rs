//! `ostler rewind`: files, conversation or both as they were before a turn.

use super::undo::{as_json, choice, code, tell, tell_way_back};
use crate::args::undo::RewindArgs;
use crate::environment::Environment;
use crate::exit::Code;
use crate::output::json_text::escaped;
use anyhow::Result;
use ostler::Rewinding;
use serde_json::json;
use std::io::Write;

pub fn run(environment: &Environment, args: &RewindArgs) -> Result<Code> {
    let choice = choice(environment, &args.common)?;
    let what = Rewinding { files: !args.conversation, conversation: !args.files };
    let (session, undone) = ostler::rewind(&choice, args.to, what)?;
    let mut out = std::io::stdout().lock();
    let dry_run = args.common.dry_run;
    if args.common.json {
        let files = undone.as_ref().map(|undone| as_json(undone, dry_run));
        let conversation = what.conversation && !dry_run;
        let line = json!({
            "session": session.as_str(), "turn": args.to, "dry_run": dry_run,
            "conversation": conversation, "files": files,
        });
        writeln!(out, "{}", escaped(&line.to_string()))?;
        return Ok(undone.as_ref().map_or(Code::Done, code));
    }
    match &undone {
        Some(undone) => {
            tell(&mut out, undone, "Undone", dry_run)?;
            if !dry_run && !undone.calls.is_empty() {
                tell_way_back(&mut out, undone, &args.common, false)?;
            }
        }
        None if what.files => writeln!(out, "No files were changed since.")?,
        None => {}
    }
    if what.conversation {
        let verb = if dry_run { "would go on" } else { "goes on" };
        writeln!(
            out,
            "The conversation {verb} as before turn {}: ostler --resume {session}",
            args.to
        )?;
    }
    Ok(undone.as_ref().map_or(Code::Done, code))
}
