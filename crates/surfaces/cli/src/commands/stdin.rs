//! Text that is piped in.

use crate::exit::{Wrong, warn};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::io::{IsTerminal, Read};

/// More than this is not a prompt.
const MOST: u64 = 10 * 1024 * 1024;

/// What was typed and what was piped in, kept apart: only the one is the person's word.
pub struct Given {
    pub typed: String,
    pub piped: String,
}

impl Given {
    /// Both, with a blank line between.
    pub fn text(&self) -> String {
        let parts = [self.typed.as_str(), self.piped.as_str()];
        parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n\n")
    }
}

/// The prompt: the argument, what was piped in, or both. None: there is neither, and none is needed.
pub fn prompt(argument: Option<&str>, is_needed: bool) -> Result<Option<Given>, Wrong> {
    let piped = match argument {
        _ if std::io::stdin().is_terminal() => String::new(),
        // A pipe that somebody forgot to close must not hold up what can be done without it.
        _ if (argument.is_some() || !is_needed) && !is_ready() => {
            warn(
                "nothing arrived on standard input for 3 s; continuing without it (close it with </dev/null)",
            );
            String::new()
        }
        _ => piped()?,
    };
    let said = |text: &str| if text.trim().is_empty() { String::new() } else { text.to_owned() };
    let given = Given { typed: said(argument.unwrap_or_default()), piped: said(&piped) };
    match given.text().is_empty() {
        true if is_needed => {
            Err(Wrong::Usage("there is no prompt. Give one: ostler -p \"…\", or pipe it in".into()))
        }
        true => Ok(None),
        false => Ok(Some(given)),
    }
}

/// Something can be read, or the end is there. Files and closed pipes are ready at once.
fn is_ready() -> bool {
    let stdin = std::io::stdin();
    let mut waiting = [PollFd::new(&stdin, PollFlags::IN)];
    let patience = Timespec { tv_sec: 3, tv_nsec: 0 };
    // If it cannot be waited for, reading will say why.
    poll(&mut waiting, Some(&patience)).map_or(true, |ready| ready > 0)
}

fn piped() -> Result<String, Wrong> {
    let mut bytes = Vec::new();
    std::io::stdin()
        .lock()
        .take(MOST + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| Wrong::Usage(format!("standard input cannot be read: {error}")))?;
    if bytes.len() as u64 > MOST {
        return Err(Wrong::Usage(
            "standard input is longer than 10 MB. Put it in a file and name the file".into(),
        ));
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
