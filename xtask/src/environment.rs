//! Only the program and its profile read the environment, the home directory and the working directory. Everybody else
//! is handed what they need, so that one process can serve several sessions and a test can set everything.

use crate::Report;
use crate::code_text::code_only;
use crate::files::Source;

const WORDS: &[&str] = &[
    "env::var",
    "env::var_os",
    "env::vars",
    "env::vars_os",
    "env::args",
    "env::args_os",
    "env::{",
    "env::*",
    "env::current_dir",
    "env::set_current_dir",
    "env::temp_dir",
    "var_os",
    "vars_os",
    "args_os",
    "home_dir",
    "set_current_dir",
];

/// Who may read what, and why. No words: everything.
const MAY: &[(&str, &[&str], &str)] = &[
    ("crates/surfaces/cli/", &[], "the program"),
    ("crates/product/profile/", &[], "turns the environment into settings for the program"),
    (
        "crates/product/ostler/src/init.rs",
        &["args_os"],
        "a supervisor knows itself by its arguments",
    ),
    ("crates/dev/fuzz/", &[], "a program of its own"),
    ("crates/dev/chaos/", &[], "a program of its own"),
    ("xtask/", &[], "a program of its own"),
];

pub fn check(sources: &[Source], report: &mut Report) {
    for source in sources.iter().filter(|source| !source.is_test()) {
        report.errors.extend(reads(source));
    }
}

fn reads(source: &Source) -> Vec<String> {
    let place = MAY.iter().find(|(place, ..)| source.path.starts_with(place));
    let own: String = source.own().flat_map(|(_, line)| [line, "\n"]).collect();
    let mut found = Vec::new();
    for (at, line) in code_only(&own).lines().enumerate() {
        let is_allowed = match place {
            Some((_, [], _)) => true,
            Some((_, words, _)) => words.iter().any(|word| line.contains(word)),
            None => false,
        };
        if !is_allowed && let Some(word) = WORDS.iter().find(|word| reads_word(line, word)) {
            let why = "only cli and profile read the environment";
            found.push(format!("{}:{}: {word}: {why}", source.path, at + 1));
        }
    }
    found
}

/// The word itself, not a longer one that ends or begins with it.
fn reads_word(line: &str, word: &str) -> bool {
    let is_name = |letter: char| letter.is_alphanumeric() || letter == '_';
    line.match_indices(word).any(|(at, _)| {
        let before = line.get(..at).and_then(|text| text.chars().next_back());
        let after = line.get(at + word.len()..).and_then(|text| text.chars().next());
        let is_whole = !after.is_some_and(is_name) || word.ends_with(['{', '*']);
        is_whole && !before.is_some_and(|letter| is_name(letter) || letter == '.')
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_reads_the_environment_is_found() {
        for (path, text, expected) in [
            ("crates/runtime/tools/src/a.rs", "let a = std::env::var(\"A\");\n", 1),
            ("crates/runtime/tools/src/a.rs", "use std::env::{self, var_os};\n", 1),
            ("crates/runtime/tools/src/a.rs", "let a = var_os(NAME);\n", 1),
            ("crates/runtime/tools/src/a.rs", "let a = dirs::home_dir();\n", 1),
            ("crates/product/ostler/src/init.rs", "let a = std::env::args_os();\n", 0),
            ("crates/product/ostler/src/init.rs", "let a = std::env::var(\"A\");\n", 1),
            ("crates/product/ostler/src/a.rs", "let a = std::env::args_os();\n", 1),
            ("crates/product/profile/src/a.rs", "let a = std::env::var(\"A\");\n", 0),
            ("crates/surfaces/cli/src/a.rs", "let a = std::env::vars_os();\n", 0),
            ("crates/surfaces/sdk/src/a.rs", "let a = std::env::vars_os();\n", 1),
            ("crates/runtime/tools/src/a.rs", "// std::env::var\nlet a = setup.home_dir();\n", 0),
            ("crates/runtime/tools/src/a.rs", "let a = std::env::consts::OS;\n", 0),
            ("crates/runtime/tools/src/a.rs", "let a = env!(\"CARGO_PKG_VERSION\");\n", 0),
            ("crates/runtime/tools/tests/it/a.rs", "let a = std::env::var(\"A\");\n", 0),
        ] {
            let mut report = Report::default();
            check(&[Source { path: path.into(), text: text.into() }], &mut report);
            assert_eq!(report.errors.len(), expected, "{path} {text}");
        }
    }
}
