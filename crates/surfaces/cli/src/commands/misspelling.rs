//! A single word that is almost the name of a command is not sent to a model.

use crate::args::Args;
use crate::exit::Wrong;
use clap::CommandFactory;
use ostler_policy::edit_distance::edit_distance;

/// # Errors
/// If the prompt is one word and close to the name of a command.
pub fn check(prompt: Option<&str>) -> Result<(), Wrong> {
    let Some(word) = prompt else { return Ok(()) };
    match meant(word) {
        None => Ok(()),
        Some(name) => Err(Wrong::Usage(format!(
            "unknown command \"{word}\" (did you mean \"{name}\"?). To send it as a prompt, run ostler and type it, or \
             use -p"
        ))),
    }
}

fn meant(word: &str) -> Option<String> {
    let command = Args::command();
    let names = command.get_subcommands().map(clap::Command::get_name);
    let nearest = names.min_by_key(|name| edit_distance(word, name))?;
    // Short names have many neighbours that are words of their own.
    let most = if nearest.len() < 7 { 1 } else { 2 };
    (edit_distance(word, nearest) <= most).then(|| nearest.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_word_close_to_a_command_is_one() {
        for (word, expected) in [
            ("udno", Some("undo")),
            ("rewnd", Some("rewind")),
            ("sesions", Some("sessions")),
            ("permisions", Some("permissions")),
            ("docter", Some("doctor")),
            ("hello", None),
            ("refactor", None),
            ("undo the last change", None),
            ("fix", None),
        ] {
            assert_eq!(meant(word).as_deref(), expected, "{word}");
        }
    }
}
