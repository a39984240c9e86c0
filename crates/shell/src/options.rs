//! Reads the words of one command against its entry in the table.

use crate::proof::{ReadKind, ReadPath};
use crate::table::{Count, Operands, Program, Takes, Value};
use ostler_core::permission::script::Word;

/// Every file the command names, or why it is not known to only read.
pub(crate) fn check(program: &Program, words: &[Word]) -> Result<Vec<ReadPath>, String> {
    match program.operands {
        Operands::Words => {
            return words.iter().filter_map(|word| free_word(word).transpose()).collect();
        }
        Operands::Format => return format(words),
        _ => {}
    }
    let mut parsed = Parsed { program, options: Vec::new(), operands: Vec::new(), after_dashes: 0 };
    parsed.words(words)?;
    parsed.judge()
}

/// A word that no option can be made of: only what it says about files matters.
fn free_word(word: &Word) -> Result<Option<ReadPath>, String> {
    match word {
        Word::Literal(_) => Ok(None),
        Word::Glob(pattern) => glob(pattern).map(Some),
        Word::Dynamic { why, source, .. } => Err(format!("{source} is {}", why.name())),
    }
}

struct Parsed<'a> {
    program: &'a Program,
    /// As `-x` or `--name`.
    options: Vec<String>,
    operands: Vec<&'a Word>,
    /// How many operands stand before `--`.
    after_dashes: usize,
}

impl<'a> Parsed<'a> {
    fn words(&mut self, words: &'a [Word]) -> Result<(), String> {
        let mut words = words.iter().enumerate();
        let mut ended = false;
        while let Some((index, word)) = words.next() {
            match word {
                Word::Dynamic { why, source, .. } => {
                    return Err(format!("{source} is {}", why.name()));
                }
                Word::Glob(pattern)
                    if ended || self.program.any_option || cannot_be_option(pattern) =>
                {
                    self.operands.push(word);
                }
                Word::Glob(pattern) => self.glob_option(pattern)?,
                Word::Literal(text) if ended || text == "-" || !text.starts_with('-') => {
                    self.operands.push(word)
                }
                Word::Literal(text) if text == "--" => {
                    ended = true;
                    self.after_dashes = self.operands.len();
                }
                Word::Literal(text) => {
                    let needs_value = match text.strip_prefix("--") {
                        Some(long) => self.long(long)?,
                        None => self.short(text, index == 0)?,
                    };
                    if let Some(value) = needs_value {
                        separate_value(text, value, words.next().map(|(_, word)| word))?;
                    }
                }
            }
        }
        if !ended {
            self.after_dashes = self.operands.len();
        }
        Ok(())
    }

    /// The kind of value it takes from the next word.
    fn long(&mut self, text: &str) -> Result<Option<Value>, String> {
        let (name, given) = match text.split_once('=') {
            Some((name, given)) => (name, Some(given)),
            None => (text, None),
        };
        let refused = || format!("--{text} is not known to only read");
        self.options.push(format!("--{name}"));
        if self.program.long.contains(&name) {
            return if given.is_none() { Ok(None) } else { Err(refused()) };
        }
        let (_, takes, value) = self
            .program
            .long_values
            .iter()
            .find(|(known, ..)| *known == name)
            .ok_or_else(refused)?;
        match (given, takes) {
            (Some(given), _) if value.fits(given) => Ok(None),
            (None, Takes::Maybe) => Ok(None),
            (None, Takes::Always) => Ok(Some(*value)),
            (Some(_), _) | (None, Takes::Glued) => Err(refused()),
        }
    }

    fn short(&mut self, text: &str, first: bool) -> Result<Option<Value>, String> {
        let refused = || format!("{text} is not known to only read");
        let letters = text.strip_prefix('-').unwrap_or(text);
        let counted = match self.program.count {
            Count::No => false,
            Count::First => first,
            Count::Anywhere => true,
        };
        if counted && Value::Number.fits(letters) {
            return Ok(None);
        }
        for (at, letter) in letters.char_indices() {
            self.options.push(format!("-{letter}"));
            if self.program.short.contains(letter) {
                continue;
            }
            let (_, takes, value) = self
                .program
                .short_values
                .iter()
                .find(|(known, ..)| *known == letter)
                .ok_or_else(refused)?;
            let glued = letters.get(at + letter.len_utf8()..).unwrap_or_default();
            return match (glued, takes) {
                ("", Takes::Maybe) => Ok(None),
                ("", Takes::Always) => Ok(Some(*value)),
                ("", Takes::Glued) => Err(refused()),
                _ if value.fits(glued) => Ok(None),
                _ => Err(refused()),
            };
        }
        Ok(None)
    }

    /// `--include=*.rs`: whatever it matches starts with the same letters, so it stays this option.
    fn glob_option(&mut self, pattern: &str) -> Result<(), String> {
        let refused = || format!("{pattern} could become another option");
        let (name, value) =
            pattern.strip_prefix("--").and_then(|long| long.split_once('=')).ok_or_else(refused)?;
        let takes_any =
            |(known, _, kind): &(&str, Takes, Value)| *known == name && *kind == Value::Any;
        if value.is_empty() || !self.program.long_values.iter().any(takes_any) {
            return Err(refused());
        }
        self.options.push(format!("--{name}"));
        Ok(())
    }

    fn has(&self, options: &[&str]) -> bool {
        self.options.iter().any(|option| options.contains(&option.as_str()))
    }

    fn judge(&self) -> Result<Vec<ReadPath>, String> {
        if self.operands.len() > self.program.most {
            return Err("it has too many operands".into());
        }
        match self.program.operands {
            Operands::Words | Operands::Format => Ok(Vec::new()),
            Operands::Fit(value) => {
                for operand in &self.operands {
                    let text = literal(operand)?;
                    if !value.fits(text) {
                        return Err(format!(
                            "{text} is not an operand it is known to only read with"
                        ));
                    }
                }
                Ok(Vec::new())
            }
            Operands::Files(kind) => self.files(&self.operands, kind),
            Operands::PatternAndFiles { tree_if, given_by } => {
                let files = match self.operands.split_first() {
                    _ if self.has(given_by) => self.operands.as_slice(),
                    Some((pattern, files)) => {
                        literal(pattern)?;
                        files
                    }
                    None => return Err("it has no pattern".into()),
                };
                let tree = tree_if.is_empty() || self.has(tree_if);
                self.files(files, if tree { ReadKind::Tree } else { ReadKind::File })
            }
            Operands::Revisions => self.revisions(),
        }
    }

    fn files(&self, operands: &[&Word], kind: ReadKind) -> Result<Vec<ReadPath>, String> {
        if operands.is_empty() && kind == ReadKind::Tree {
            return Ok(vec![ReadPath { path: ".".into(), kind }]);
        }
        let mut reads = Vec::new();
        for operand in operands {
            match operand {
                Word::Literal(text) if text == "-" => {}
                Word::Literal(text) if self.program.signs_mean && text.starts_with(['+', '-']) => {
                    return Err(format!("{text} can be more than a file"));
                }
                Word::Literal(text) => reads.push(readable(text, kind)?),
                // A pattern can become any number of operands.
                Word::Glob(_) if self.program.most != usize::MAX => {
                    return Err("its operands are not counted".into());
                }
                Word::Glob(pattern) => reads.push(glob(pattern)?),
                Word::Dynamic { .. } => return Err("it is not known what it reads".into()),
            }
        }
        Ok(reads)
    }

    /// Revisions and paths look alike before `--`, so every one is taken for a path as well.
    fn revisions(&self) -> Result<Vec<ReadPath>, String> {
        let mut reads = vec![ReadPath { path: ".".into(), kind: ReadKind::Tree }];
        for (index, operand) in self.operands.iter().enumerate() {
            let path = index >= self.after_dashes;
            match operand {
                Word::Literal(text) if text.starts_with(':') || text == "-" || text.is_empty() => {
                    return Err(format!("{text:?} can mean more than a path"));
                }
                Word::Literal(text) => {
                    reads.push(readable(text, ReadKind::Tree)?);
                    if let (false, Some((_, inside))) = (path, text.split_once(':')) {
                        reads.push(readable(inside, ReadKind::Tree)?);
                    }
                }
                Word::Glob(pattern) if path => reads.push(glob(pattern)?),
                _ => return Err("it is not known which revision it means".into()),
            }
        }
        Ok(reads)
    }
}

/// The words of printf: it looks for options only before its format.
fn format(words: &[Word]) -> Result<Vec<ReadPath>, String> {
    let words = match words.split_first() {
        Some((Word::Literal(dashes), rest)) if dashes == "--" => rest,
        Some((Word::Literal(option), _)) if option.starts_with('-') => {
            return Err(format!("{option} is not known to only read"));
        }
        _ => words,
    };
    let (format, arguments) = words.split_first().ok_or("it has no format")?;
    let format = literal(format)?;
    if !Value::PrintfFormat.fits(format) {
        return Err(format!("the format {format} may do more than print"));
    }
    for argument in arguments {
        literal(argument)?;
    }
    Ok(Vec::new())
}

fn separate_value(option: &str, value: Value, word: Option<&Word>) -> Result<(), String> {
    let text = literal(word.ok_or_else(|| format!("{option} lacks its value"))?)?;
    // Another build of the program might take no value here, and see an option.
    let could_be_option = value == Value::Any && text.starts_with('-') && text != "-";
    if could_be_option || !value.fits(text) {
        return Err(format!("{option} {text} is not known to only read"));
    }
    Ok(())
}

/// The text of a word, if it is known to the letter.
pub(crate) fn literal(word: &Word) -> Result<&str, String> {
    match word {
        Word::Literal(text) => Ok(text),
        Word::Glob(pattern) => {
            Err(format!("{pattern} is a pattern where it must be clear what is meant"))
        }
        Word::Dynamic { why, source, .. } => Err(format!("{source} is {}", why.name())),
    }
}

/// Every match starts with the letters before the first `*`, `?` or `[`.
fn cannot_be_option(pattern: &str) -> bool {
    let first = pattern.strip_prefix('\\').unwrap_or(pattern).chars().next();
    let quoted = pattern.starts_with('\\');
    first.is_some_and(|c| c != '-' && (quoted || !matches!(c, '*' | '?' | '[')))
}

fn glob(pattern: &str) -> Result<ReadPath, String> {
    let wild = pattern.find(['*', '?', '[']).unwrap_or(0);
    let (before, after) = pattern.split_at(wild);
    if after.split('/').any(|part| part.contains("..")) {
        return Err(format!("{pattern} leaves the folder it names"));
    }
    let folder = before.rsplit_once('/').map_or("", |(folder, _)| folder);
    let names = folder.split('/').filter(|part| !matches!(*part, "" | "."));
    // `/d*/zero` and `../../d*/zero` could be devices.
    if (before.starts_with('/') && names.clone().next().is_none())
        || names.clone().any(|name| name == "..")
    {
        return Err(format!("{pattern} is not held by a folder"));
    }
    if is_special(before) {
        return Err(format!("{pattern} may be a device"));
    }
    Ok(ReadPath { path: pattern.into(), kind: ReadKind::Glob })
}

/// Reading a device or a kernel file can have effects, and need not end.
pub(crate) fn readable(path: &str, kind: ReadKind) -> Result<ReadPath, String> {
    if is_special(path) {
        return Err(format!("{path} is not an ordinary file"));
    }
    if is_root(path) && kind == ReadKind::Tree {
        return Err("it would walk the whole file system".into());
    }
    Ok(ReadPath { path: path.into(), kind })
}

fn is_special(path: &str) -> bool {
    if path == "/dev/null" {
        return false;
    }
    // As if the path began above the root, so that every way to the top looks like `..`.
    let mut above = path.starts_with('/');
    for part in path.split('/').filter(|part| !matches!(*part, "" | ".")) {
        if above && matches!(part, "dev" | "proc" | "sys") {
            return true;
        }
        above = part == "..";
    }
    false
}

fn is_root(path: &str) -> bool {
    let mut depth = 0_usize;
    for part in path.split('/').filter(|part| !matches!(*part, "" | ".")) {
        depth = if part == ".." { depth.saturating_sub(1) } else { depth + 1 };
    }
    path.starts_with('/') && depth == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn special_files() {
        for path in [
            "/dev/zero",
            "/dev/tcp/1.2.3.4/80",
            "//dev//zero",
            "/./dev/zero",
            "/a/../dev/zero",
            "../../dev/zero",
            "/proc/self/environ",
            "/sys/x",
            "a/../../proc/1/mem",
            "/../proc/x",
            "/dev/null/../zero",
            "link/../dev/zero",
        ] {
            assert!(is_special(path), "{path}");
        }
        for path in ["/dev/null", "dev/zero", "src/proc", "/etc/passwd", "../x", "a", ".", "proc"] {
            assert!(!is_special(path), "{path}");
        }
    }

    #[test]
    fn the_root() {
        for path in ["/", "//", "/.", "/a/..", "/../", "/a/b/../.."] {
            assert!(is_root(path), "{path}");
        }
        for path in ["/a", ".", "..", "a", "/a/../b", ""] {
            assert!(!is_root(path), "{path}");
        }
    }

    #[test]
    fn patterns() {
        for pattern in ["src/*.rs", "*.rs", "./*", "a?", "/ws/src/*", "/ws/*"] {
            assert!(glob(pattern).is_ok(), "{pattern}");
        }
        for pattern in [
            "/*",
            "/de*/zero",
            "src/*/../../x",
            "*/..",
            "/dev/*",
            "../../dev/z*",
            "/proc/*/environ",
            "../x/*",
            "../*",
            "/./*",
            "/a/../*",
            "a/../*",
        ] {
            assert!(glob(pattern).is_err(), "{pattern}");
        }
        for (pattern, expected) in [
            ("a*", true),
            ("./*", true),
            ("*a", false),
            ("?", false),
            ("[a]", false),
            ("-*", false),
            ("\\-*", false),
            ("\\*?", true),
        ] {
            assert_eq!(cannot_be_option(pattern), expected, "{pattern}");
        }
    }
}
