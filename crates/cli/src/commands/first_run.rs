//! The first session at a terminal: how much may run without a question.

use super::lines::Lines;
use super::repl::write;
use crate::args::RunArgs;
use crate::exit::warn;
use crate::setup::Setup;
use anyhow::Result;
use ostler::Mode;
use ostler::config;

const QUESTION: &str = "\
This is the first session here. What may run without a question?
  [c]onfirm   reading runs, everything that changes something asks (the default)
  [e]dits     changes of files in the folder run, too
  [a]uto      everything runs, except what your own rules deny or ask about, and names that need a yes
It is kept in settings.json and changed there or with --permission-mode. [c/e/a]: ";

/// Asked once, of a person; an answer that is none of these chooses nothing, and is asked for again next time.
pub async fn ask(mut setup: Setup, args: &RunArgs, lines: &mut Lines) -> Result<Setup> {
    let chosen = args.permission_mode.is_some() || setup.loaded.mode.is_some();
    if !lines.are_echoed() || chosen || !config::is_first_run(&setup.places) {
        return Ok(setup);
    }
    lines.forget();
    write(QUESTION)?;
    let answer = lines.next().await;
    if answer.is_none() {
        write("\n")?;
    }
    let mode = match answer.map(|answer| answer.trim().to_ascii_lowercase()).as_deref() {
        Some("" | "c" | "confirm") => Mode::Default,
        Some("e" | "edits") => Mode::AcceptEdits,
        Some("a" | "auto") => Mode::BypassPermissions,
        _ => return Ok(setup),
    };
    match config::choose_mode(&setup.places, mode) {
        Ok(()) => {}
        Err(error) => warn(&format!("{error}; it holds for this session only")),
    }
    setup.loaded.mode = Some(mode);
    Ok(setup)
}
