//! Text that is piped in.

use crate::exit::{Wrong, warn};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::io::{IsTerminal, Read};

/// More than this is not a prompt.
const MOST: u64 = 10 * 1024 * 1024;

/// The prompt: the argument, what was piped in, or both with a blank line between.
pub fn prompt(argument: Option<&str>) -> Result<String, Wrong> {
    let piped = match argument {
        _ if std::io::stdin().is_terminal() => String::new(),
        // A pipe that somebody forgot to close must not hold up a prompt that is there already.
        Some(_) if !is_ready() => {
            warn(
                "nothing came on standard input for 3 s; going on without it (close it with </dev/null)",
            );
            String::new()
        }
        _ => piped()?,
    };
    let parts: Vec<&str> = [argument.unwrap_or_default(), &piped]
        .into_iter()
        .filter(|part| !part.trim().is_empty())
        .collect();
    match parts.is_empty() {
        true => {
            Err(Wrong::Usage("there is no prompt. Give one: ostler -p \"…\", or pipe it in".into()))
        }
        false => Ok(parts.join("\n\n")),
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
