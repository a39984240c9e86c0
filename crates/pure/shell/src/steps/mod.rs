//! From a text to its steps: every simple command in every position, what is wrapped in it, and what each touches.
//!
//! Whatever cannot be worked out is a doubt of the whole text, or leaves its step unknown; nothing is guessed. All
//! limits here make an answer stricter.

mod assign;
mod builtins;
mod compound;
mod constants;
mod destinations;
mod destruction;
mod find;
mod folders;
mod forwarded_arguments;
mod general_options;
mod git;
mod hosts;
mod inner_commands;
mod integer_variables;
mod judge;
mod languages;
mod listing;
mod names;
mod numbered_words;
mod option_lists;
mod printed_scripts;
mod read_only_forms;
mod redefinitions;
mod redirect;
mod risky_options;
mod sed;
mod suspects;
mod tar;
mod test_command;
mod walk;
mod words;
mod wrap;
mod wrap_table;
mod writers;

use crate::read::{self, ShellReading};
use crate::{screen, second_parser};
pub use git::config::is_harmless_setting as is_harmless_git_setting;
use ostler_policy::Commands;
use ostler_policy::script::{Opaque, Script};

/// Longer texts are not allowed unseen.
const MAX_PLAIN_CHARS: usize = 10_000;

/// What the text would run, step by step. What only one reader understands may make an answer stricter; with its doubt
/// it allows nothing.
pub fn steps(text: &str) -> Commands {
    let screened = screen::check(text);
    let reading = match &screened {
        Err(Opaque::TooLong { .. }) => Err(Opaque::ParserFailed),
        _ => read::read(text),
    };
    let (commands, opinion) = match &reading {
        Ok(reading) => both(text, reading),
        Err(_) => (Commands { text: text.to_owned(), ..Commands::default() }, Ok(())),
    };
    match screened.and(reading.map(|_| ())).and(opinion) {
        Ok(()) => commands,
        Err(opaque) => doubtful(commands, &opaque),
    }
}

/// The steps, and the second opinion, which nobody waits for where nothing can be allowed.
fn both(text: &str, reading: &ShellReading) -> (Commands, Result<(), Opaque>) {
    if is_too_long(text) {
        return (steps_of(text, &reading.script), Ok(()));
    }
    (steps_of(text, &reading.script), second_parser::confirm(reading))
}

fn doubtful(mut commands: Commands, opaque: &Opaque) -> Commands {
    commands.doubts.insert(0, opaque.to_string());
    commands.suspects = suspects::of(&commands.text, &commands.steps);
    commands
}

fn is_too_long(text: &str) -> bool {
    text.len() > MAX_PLAIN_CHARS && text.chars().count() > MAX_PLAIN_CHARS
}

/// How the texts are read that are nested in one.
fn read(text: &str) -> Result<Script, Opaque> {
    crate::agreed(text)
}

/// The same for a text that has been read.
pub fn steps_of(text: &str, script: &Script) -> Commands {
    let mut walk = walk::StepWalk::new(text);
    walk.numbers = integer_variables::Numbers::of(script);
    walk.script(script, walk::WalkPosition::default());
    if walk.steps.is_empty() {
        walk.doubt("there is no command in it");
    }
    if is_too_long(text) {
        walk.doubt("it is too long to be allowed without asking");
    }
    walk.finish(text)
}

#[cfg(test)]
#[path = "concern_tests.rs"]
mod concern_tests;
#[cfg(test)]
#[path = "constant_tests.rs"]
mod constant_tests;
#[cfg(test)]
#[path = "folder_tests.rs"]
mod folder_tests;
#[cfg(test)]
#[path = "language_tests.rs"]
mod language_tests;
#[cfg(test)]
#[path = "listing_tests.rs"]
mod listing_tests;
#[cfg(test)]
#[path = "notation_tests.rs"]
mod notation_tests;
#[cfg(test)]
#[path = "steps_tests.rs"]
mod tests;
#[cfg(test)]
#[path = "variable_tests.rs"]
mod variable_tests;
#[cfg(test)]
#[path = "words_tests.rs"]
mod words_tests;
