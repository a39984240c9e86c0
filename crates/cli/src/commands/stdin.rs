//! Text that is piped in.

use crate::exit::Wrong;
use std::io::{IsTerminal, Read};

/// More than this is not a prompt.
const MOST: u64 = 10 * 1024 * 1024;

/// The prompt: the argument, what was piped in, or both with a blank line between.
pub fn prompt(argument: Option<&str>) -> Result<String, Wrong> {
    let piped = if std::io::stdin().is_terminal() { String::new() } else { piped()? };
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
