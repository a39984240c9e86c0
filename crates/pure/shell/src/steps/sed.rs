//! sed: its options, and its little language as far as it only edits a stream.

use super::inner_commands::caution;
use super::judge::{StepVerdict, touch};
use super::writers;
use crate::options::{self, Miss, Named};
use ostler_policy::script::Word;
use ostler_policy::{Act, Concern, Effect, TouchKind};

pub(super) fn judge(words: &[Word]) -> StepVerdict {
    match SedCall::read(words).and_then(|call| call.files().map(|files| (call, files))) {
        // A protected name is seen even where the rest of the line is not understood.
        Err(miss) if words.iter().any(may_edit) => {
            StepVerdict { touches: writers::guessed(words), ..StepVerdict::miss("sed", miss, 1) }
        }
        Err(miss) => StepVerdict::miss("sed", miss, 1),
        Ok((call, files)) => match call.in_place {
            None => StepVerdict::reads(files.into_iter().map(touch(Act::Read)).collect()),
            Some(at) => StepVerdict {
                effect: Effect::Writes,
                touches: files.into_iter().map(touch(Act::Write)).collect(),
                cautions: vec![caution(at + 1, "sed -i changes files").about(Concern::Writes)],
                ..StepVerdict::default()
            },
        },
    }
}

/// `-i`, `-ni.bak`, `--in-place` or a beginning of it.
fn may_edit(word: &Word) -> bool {
    let text = word.literal().unwrap_or_default();
    match text.strip_prefix("--") {
        Some(long) => long.starts_with("in") || long.starts_with('i'),
        None => text.starts_with('-') && text.contains('i'),
    }
}

#[derive(Default)]
struct SedCall<'a> {
    scripts: Vec<&'a str>,
    in_place: Option<usize>,
    operands: Vec<(usize, &'a Word)>,
}

impl<'a> SedCall<'a> {
    fn read(words: &'a [Word]) -> Result<Self, Miss> {
        let mut call = SedCall::default();
        let mut at = 0;
        let mut ended = false;
        while let Some(word) = words.get(at) {
            match word {
                Word::Literal(text) if text == "--" && !ended => ended = true,
                Word::Literal(text) if text.starts_with('-') && text != "-" && !ended => {
                    if call.option(text, at)? {
                        at += 1;
                        let script = words.get(at).ok_or("-e lacks its script")?;
                        call.scripts.push(options::literal(script)?);
                    }
                }
                Word::Glob(pattern) if !ended && !options::cannot_be_option(pattern) => {
                    return Err(Miss::at(at, format!("{pattern} can match an option")));
                }
                Word::Dynamic { .. } => {
                    options::literal(word)?;
                }
                _ => call.operands.push((at, word)),
            }
            at += 1;
        }
        if call.scripts.is_empty() {
            if call.operands.is_empty() {
                return Err("it has no script".into());
            }
            let (_, script) = call.operands.remove(0);
            call.scripts.push(options::literal(script)?);
        }
        only_edits(&call.scripts.join("\n"))?;
        Ok(call)
    }

    /// True if the next word is a script.
    fn option(&mut self, text: &'a str, at: usize) -> Result<bool, Miss> {
        let refused = || Miss::at(at, format!("{text} is not known to be read-only"));
        let plain =
            |suffix: &str| suffix.chars().all(|c| c.is_ascii_alphanumeric() || ".-_~".contains(c));
        if let Some(long) = text.strip_prefix("--") {
            match long.split_once('=').unwrap_or((long, "")) {
                (
                    "quiet" | "silent" | "regexp-extended" | "separate" | "null-data"
                    | "unbuffered",
                    "",
                ) => {}
                ("in-place", suffix) if plain(suffix) => self.in_place = Some(at),
                ("expression", script) if long.contains('=') => self.scripts.push(script),
                ("expression", _) => return Ok(true),
                _ => return Err(refused()),
            }
            return Ok(false);
        }
        for (place, letter) in text.char_indices().skip(1) {
            let glued = text.get(place + letter.len_utf8()..).unwrap_or_default();
            match letter {
                'n' | 'E' | 'r' | 's' | 'z' | 'u' => {}
                'i' if plain(glued) => {
                    self.in_place = Some(at);
                    return Ok(false);
                }
                'e' if glued.is_empty() => return Ok(true),
                'e' => {
                    self.scripts.push(glued);
                    return Ok(false);
                }
                _ => return Err(refused()),
            }
        }
        Ok(false)
    }

    fn files(&self) -> Result<Vec<Named>, Miss> {
        let mut files = Vec::new();
        for (at, word) in &self.operands {
            let refused = |why: String| Miss::at(*at, why);
            match word {
                Word::Literal(path) if path == "-" => {}
                Word::Literal(path) => {
                    files.push(options::readable(path, TouchKind::File).map_err(refused)?);
                }
                Word::Glob(pattern) => files.push(options::glob(pattern).map_err(refused)?),
                Word::Dynamic { .. } => return Err("it is not known what it reads".into()),
            }
        }
        Ok(files)
    }
}

/// No command of it writes, reads another file, or runs anything.
fn only_edits(script: &str) -> Result<(), String> {
    let mut rest = Rest { chars: script.chars().collect(), at: 0 };
    let mut depth = 0_usize;
    loop {
        rest.skip(|c| c.is_whitespace() || c == ';');
        if rest.peek().is_none() {
            break;
        }
        rest.address()?;
        if rest.peek() == Some(',') {
            rest.at += 1;
            rest.address()?;
        }
        rest.skip(|c| c == '!' || c == ' ');
        let command = rest.next().ok_or("an address without a command")?;
        match command {
            '{' => depth += 1,
            '}' => {
                depth = depth.checked_sub(1).ok_or("an extra brace")?;
                rest.ended()?;
            }
            '#' => rest.skip(|c| c != '\n'),
            '=' | 'd' | 'D' | 'g' | 'G' | 'h' | 'H' | 'n' | 'N' | 'p' | 'P' | 'x' | 'z' | 'F' => {
                rest.ended()?;
            }
            'q' | 'Q' | 'l' => {
                rest.skip(|c| c == ' ' || c.is_ascii_digit());
                rest.ended()?;
            }
            'b' | 't' | 'T' | ':' => {
                rest.skip(|c| c == ' ');
                rest.skip(|c| c.is_ascii_alphanumeric() || c == '_');
                rest.ended()?;
            }
            'a' | 'i' | 'c' => rest.line(),
            's' => {
                rest.parts(2)?;
                rest.skip(|c| matches!(c, 'g' | 'p' | 'i' | 'I' | 'm' | 'M') || c.is_ascii_digit());
                rest.ended()?;
            }
            'y' => {
                rest.parts(2)?;
                rest.ended()?;
            }
            other => return Err(format!("the command {other} of sed may write or run something")),
        }
    }
    match depth {
        0 => Ok(()),
        _ => Err("a brace is not closed".into()),
    }
}

struct Rest {
    chars: Vec<char>,
    at: usize,
}

impl Rest {
    fn peek(&self) -> Option<char> {
        self.chars.get(self.at).copied()
    }

    fn next(&mut self) -> Option<char> {
        let next = self.peek();
        self.at += 1;
        next
    }

    fn skip(&mut self, fits: impl Fn(char) -> bool) {
        while self.peek().is_some_and(&fits) {
            self.at += 1;
        }
    }

    fn address(&mut self) -> Result<(), String> {
        self.skip(|c| c == ' ');
        match self.peek() {
            Some('/') => self.parts(1)?,
            Some('\\') => {
                self.at += 1;
                self.parts(1)?;
            }
            Some(c) if c.is_ascii_digit() || matches!(c, '$' | '+' | '~') => {
                self.skip(|c| c.is_ascii_digit() || matches!(c, '$' | '+' | '~'));
                self.skip(|c| c == ' ');
                return Ok(());
            }
            _ => return Ok(()),
        }
        self.skip(|c| matches!(c, 'I' | 'M' | ' '));
        Ok(())
    }

    /// `/a/` or `/a/b/`, with any sign for the slash.
    fn parts(&mut self, count: usize) -> Result<(), String> {
        let end = self.next().ok_or("a pattern is missing")?;
        if end == '\\' || end == '\n' || end.is_alphanumeric() {
            return Err("an unusual sign around a pattern".into());
        }
        for _ in 0..count {
            loop {
                match self.next().ok_or("a pattern is not closed")? {
                    '\\' => self.at += 1,
                    '\n' if count == 1 => return Err("a pattern is not closed".into()),
                    c if c == end => break,
                    _ => {}
                }
            }
        }
        Ok(())
    }

    /// Text up to the end of the line; a backslash takes the next line with it.
    fn line(&mut self) {
        while let Some(c) = self.next() {
            match c {
                '\\' => self.at += 1,
                '\n' => return,
                _ => {}
            }
        }
    }

    /// Nothing of this command is left.
    fn ended(&mut self) -> Result<(), String> {
        self.skip(|c| c == ' ' || c == '\t');
        match self.peek() {
            None | Some(';' | '\n' | '}' | '#') => Ok(()),
            Some(c) => Err(format!("{c} after a command of sed may write or run something")),
        }
    }
}
