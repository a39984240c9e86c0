//! New lines out of old ones: a piece of an everyday line gives way to a hostile one.

use super::LineMaker;
use super::names::{ARITHMETIC, NEUTRAL, PLAIN, SECRETS, SPECIAL, VALUES};
use super::{quote, sinks};
use crate::mutate::mutate;

/// Pieces for blind mutation.
const WORDS: &[&str] = &[
    "touch P",
    "$(touch P)",
    "`touch P`",
    "a[$(touch P)]",
    ">P",
    "> P",
    ".env",
    "~/.ssh/id_rsa",
    "-exec",
    "--output=P",
    "-o P",
    "1e touch P",
    "${s:=",
    "${q:-",
    "}",
    "$((",
    "))",
    "$s",
    "\"$s\"",
    "s=",
    "RANDOM",
    "for RANDOM in ",
    "; do :; done",
    "read ",
    "<<< ",
    "printf -v ",
    "declare -n ",
    "declare -i ",
    "IFS=",
    "PATH=",
    "CDPATH=",
    "; ",
    " && ",
    " | ",
    "\n",
    "'",
    "\"",
    "\\",
    "{",
    "}",
    "(",
    ")",
    "$",
    "#",
    "!",
    "*",
    "[[ ",
    " ]]",
    "<(",
    ">(",
    "&",
    "<<E\n",
    "\nE\n",
    "eval ",
    "bash -c ",
    "$'\\x24'",
    "\\\n",
    "${!",
    "@P}",
    "local ",
    "export ",
    "test -v ",
    "[ -v ",
    "unset ",
    "cd ",
    "ls",
    "cat ",
    "sed ",
    "\t",
    " ",
    "~",
    "..",
    "/",
    "select x in ",
    "coproc ",
    "getopts ",
    "mapfile ",
    "case x in x) ",
    ";; esac",
    "function f ",
    "f() ",
    "{1..3}",
    "{a,b}",
    "?",
    "é",
    "\r",
    "$\"",
    "$[",
    "]",
    "=",
    "+=",
    "-n",
    "--",
    "2>&1",
    "xargs ",
    "find . ",
];

impl LineMaker {
    fn old(&mut self) -> String {
        let from_kept = !self.kept.is_empty() && self.percent(60);
        let pool = if from_kept { &self.kept } else { &self.seeds };
        pool.get(self.random.below(pool.len())).cloned().unwrap_or_default()
    }

    /// Characters at random, as the other targets do.
    pub(super) fn mutated(&mut self) -> String {
        let from_kept = !self.kept.is_empty() && self.percent(60);
        let pool = if from_kept { &self.kept } else { &self.seeds };
        mutate(pool, WORDS, &mut self.random)
    }

    /// Words and statements at random.
    pub(super) fn spliced(&mut self) -> String {
        let mut words: Vec<String> = self.old().split(' ').map(str::to_owned).collect();
        for _ in 0..=self.random.below(2) {
            let at = self.random.below(words.len());
            let piece = self.piece();
            match self.random.below(7) {
                0..=2 => {
                    if let Some(word) = words.get_mut(at) {
                        *word = piece;
                    }
                }
                3 => words.insert(at, piece),
                4 => words.push(piece),
                5 => return self.beside(&words.join(" ")),
                _ => self.rename(&mut words),
            }
        }
        words.join(" ")
    }

    /// A word of a hostile kind, in some quoting.
    fn piece(&mut self) -> String {
        let list = match self.random.below(8) {
            0 => ARITHMETIC,
            1 => SECRETS,
            2 => sinks::SED,
            3 => VALUES,
            4 => NEUTRAL,
            5 => &[
                "--output=P",
                "-o",
                "P",
                "-exec",
                "-i",
                "--pre=./evil",
                ">P",
                "2>P",
                "<.env",
                "-delete",
            ],
            6 => {
                let name = self.pick(PLAIN);
                return format!("${name}");
            }
            _ => {
                let value = self.pick(ARITHMETIC);
                let source = self.expansion(value);
                return source;
            }
        };
        let value = self.pick(list);
        if self.percent(30) { value.to_owned() } else { self.quoted(value) }
    }

    fn expansion(&mut self, value: &str) -> String {
        let name = if self.percent(30) { self.pick(SPECIAL) } else { self.pick(PLAIN) };
        let operator = self.pick(&[
            ":-", "-", ":=", "=", ":+", "+", ":?", "#", "##", "%", "%%", "/", "//", "^", ",,", ":",
            "@", "[",
        ]);
        let inside = match self.random.below(4) {
            0 => format!("${{s:={}}}", quote::bare(value)),
            1 => self.quoted(value),
            2 => format!("${{{name}}}"),
            _ => "1".to_owned(),
        };
        let close = if operator == "[" { "]}" } else { "}" };
        let made = format!("${{{name}{operator}{inside}{close}");
        if self.percent(40) { format!("\"{made}\"") } else { made }
    }

    /// Another statement before or behind it.
    fn beside(&mut self, line: &str) -> String {
        let name = if self.percent(40) { self.pick(SPECIAL) } else { self.pick(PLAIN) };
        let value = if self.percent(50) { self.pick(ARITHMETIC) } else { self.pick(VALUES) };
        let source = self.source(name, value);
        let parts =
            if self.percent(75) { [source, line.to_owned()] } else { [line.to_owned(), source] };
        self.joined(&parts)
    }

    /// A variable of the line gets a special name.
    fn rename(&mut self, words: &mut [String]) {
        let special = self.pick(SPECIAL);
        let line = words.join(" ");
        let name = line.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).find(|part| {
            let assigned = line.contains(&format!("{part}="));
            !part.is_empty()
                && part.len() < 12
                && (assigned
                    || line.contains(&format!("${part}"))
                    || line.contains(&format!("for {part} ")))
        });
        let Some(name) = name.map(str::to_owned) else { return };
        for word in words.iter_mut() {
            if word.contains(&name) {
                *word = word.replace(&name, special);
            }
        }
    }
}
