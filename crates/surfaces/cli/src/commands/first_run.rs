//! The first session at a terminal: how much may run without a question.

use super::lines::{Lines, is_prompt};
use super::trust;
use crate::exit::warn;
use crate::output::write;
use anyhow::Result;
use ostler::Mode;
use ostler::config;
use ostler_profile::Profile;

const QUESTION: &str = "\
No permission mode is set yet. What may run without asking?
  [c]onfirm   calls that only read run; Ostler asks about everything else (the default)
  [e]dits     file edits in this directory run, too
  [a]uto      everything runs, except what your rules deny or ask about, and protected names
Your answer is saved in settings.json; change it there or with --permission-mode. [c/e/a]: ";

const AGAIN: &str = "Please answer c, e or a: ";

/// What only the person can say before the session begins.
pub async fn prepared(profile: Profile, lines: &mut Lines) -> Result<Profile> {
    let profile = ask(profile, lines).await?;
    trust::ask(profile, lines).await
}

/// Asked once, of a person. A prompt instead of an answer chooses nothing and is not lost; the question comes again next
/// time.
async fn ask(mut profile: Profile, lines: &mut Lines) -> Result<Profile> {
    let chosen = profile.flags.mode.is_some() || profile.loaded.mode.is_some();
    if !lines.are_typed() || chosen || !config::is_first_run(&profile.places) {
        return Ok(profile);
    }
    let mut question = QUESTION;
    let mode = loop {
        let Some(answer) = lines.answer(question).await? else {
            write("\n")?;
            return Ok(profile);
        };
        match answer.trim().to_ascii_lowercase().as_str() {
            "" | "c" | "confirm" => break Mode::Default,
            "e" | "edits" => break Mode::AcceptEdits,
            "a" | "auto" => break Mode::BypassPermissions,
            _ if is_prompt(&answer, &["confirm", "edits", "auto"]) => {
                let taken_as = match answer.trim().starts_with('/') {
                    true => "Taken as a command",
                    false => "Sent as a prompt",
                };
                write(&format!(
                    "{taken_as}; this session asks about everything that changes something, and the next one asks this again.\n"
                ))?;
                lines.put_back(answer);
                return Ok(profile);
            }
            _ => question = AGAIN,
        }
    };
    match config::choose_mode(&profile.places, mode) {
        Ok(()) => {}
        Err(error) => warn(&format!("{error}; it applies to this session only")),
    }
    profile.loaded.mode = Some(mode);
    Ok(profile)
}
