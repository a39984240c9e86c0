//! From a text to its steps: every simple command in every position, what is wrapped in it, and what each touches.
//!
//! Whatever cannot be worked out is a doubt of the whole text, or leaves its step unknown; nothing is guessed. All
//! limits here make an answer stricter.

mod assign;
mod builtins;
mod careful;
mod compound;
mod constants;
mod file_tests;
mod find;
mod git;
mod handed;
mod hosts;
mod inner;
mod judge;
mod landing;
mod languages;
mod redirect;
mod ruin;
mod sed;
mod shadow;
mod suspects;
mod table_again;
mod table_more;
mod table_more_git;
mod table_refs;
mod tape;
mod walk;
mod words;
mod wrap;
mod wrap_table;
mod writers;

use crate::parse::MAX_PLAIN_CHARS;
use ostler_core::permission::Commands;
use ostler_core::permission::script::{Opaque, Script};

/// What the text would run, step by step.
pub fn steps(text: &str) -> Commands {
    match read(text) {
        Ok(script) => steps_of(text, &script),
        Err(opaque) => doubtful(text, &opaque),
    }
}

/// What only one reader understands may make an answer stricter; with its doubt it allows nothing.
fn doubtful(text: &str, opaque: &Opaque) -> Commands {
    let alone = match opaque {
        Opaque::TooLong { .. } | Opaque::TooDeep => None,
        _ => crate::read::read(text).ok(),
    };
    let mut commands = alone.map_or_else(
        || Commands { text: text.to_owned(), ..Commands::default() },
        |reading| steps_of(text, &reading.script),
    );
    commands.doubts.insert(0, opaque.to_string());
    commands.suspects = suspects::of(text, &commands.steps);
    commands
}

/// How texts are read here, the whole and the ones nested in it.
fn read(text: &str) -> Result<Script, Opaque> {
    crate::agreed(text)
}

/// The same for a text that has been read.
pub fn steps_of(text: &str, script: &Script) -> Commands {
    let mut walk = walk::Walk::new(text);
    walk.script(script, walk::At::default());
    if walk.steps.is_empty() {
        walk.doubt("there is no command in it");
    }
    if text.len() > MAX_PLAIN_CHARS && text.chars().count() > MAX_PLAIN_CHARS {
        walk.doubt("it is longer than can be allowed unseen");
    }
    walk.finish(text)
}

#[cfg(test)]
#[path = "constant_tests.rs"]
mod constant_tests;
#[cfg(test)]
#[path = "hand.rs"]
mod hand;
#[cfg(test)]
#[path = "language_tests.rs"]
mod language_tests;
#[cfg(test)]
#[path = "steps_tests.rs"]
mod tests;
#[cfg(test)]
#[path = "words_tests.rs"]
mod words_tests;
