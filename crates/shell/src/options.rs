//! Reads the words of one command against its entry in the table.

use crate::proof::{ReadKind, ReadPath};
use crate::table::{Count, Operands, Program, Takes, Value};
use ostler_core::permission::script::Word;

/// Every file the command names, or why it is not known to only read.
pub(crate) fn check(program: &Program, words: &[Word]) -> Result<Vec<ReadPath>, String> {
    if program.operands == Operands::Words {
        return words.iter().filter_map(|word| free_word(word).transpose()).collect();
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
        Word::Dynamic { why, source } => Err(format!("{source} is {}", why.name())),
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
                Word::Dynamic { why, source } => return Err(format!("{source} is {}", why.name())),
                Word::Glob(pattern) if ended || self.program.any_option || cannot_be_option(pattern) => {
                    self.operands.push(word);
                }
                Word::Glob(pattern) => self.glob_option(pattern)?,
                Word::Literal(text) if ended || text == "-" || !text.starts_with('-') => self.operands.push(word),
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
        let (_, takes, value) =
            self.program.long_values.iter().find(|(known, ..)| *known == name).ok_or_else(refused)?;
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
            let (_, takes, value) =
                self.program.short_values.iter().find(|(known, ..)| *known == letter).ok_or_else(refused)?;
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
        let (name, value) = pattern.strip_prefix("--").and_then(|long| long.split_once('=')).ok_or_else(refused)?;
        let takes_any = |(known, _, kind): &(&str, Takes, Value)| *known == name && *kind == Value::Any;
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
            Operands::Words => Ok(Vec::new()),
            Operands::Fit(value) => {
                for operand in &self.operands {
                    let text = literal(operand)?;
                    if !value.fits(text) {
                        return Err(format!("{text} is not an operand it is known to only read with"));
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
            Operands::Format => self.format(),
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
                Word::Literal(text) if self.program.most_plain && text.starts_with(['+', '-']) => {
                    return Err(format!("{text} can be more than a file"));
                }
                Word::Literal(text) => reads.push(readable(text, kind)?),
                // A pattern can become any number of operands.
                Word::Glob(_) if self.program.most != usize::MAX => return Err("its operands are not counted".into()),
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

    fn format(&self) -> Result<Vec<ReadPath>, String> {
        let Some((format, arguments)) = self.operands.split_first() else {
            return Err("it has no format".into());
        };
        let format = literal(format)?;
        if !Value::PrintfFormat.fits(format) {
            return Err(format!("the format {format} may do more than print"));
        }
        for argument in arguments {
            literal(argument)?;
        }
        Ok(Vec::new())
    }
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

fn literal(word: &Word) -> Result<&str, String> {
    word.literal().ok_or_else(|| "a pattern stands where it must be clear what is meant".into())
}

/// Every match starts with the letters before the first `*`, `?` or `[`.
fn cannot_be_option(pattern: &str) -> bool {
    let first = pattern.strip_prefix('\\').unwrap_or(pattern).chars().next();
    let quoted = pattern.starts_with('\\');
    first.is_some_and(|c| c != '-' && (quoted || !matches!(c, '*' | '?' | '[')))
}

fn glob(pattern: &str) -> Result<ReadPath, String> {
    let wild = pattern.find(['*', '?', '[']).unwrap_or(0);
    let after = pattern.get(wild..).unwrap_or_default();
    if after.split('/').any(|part| matches!(part, "." | "..") || part.contains("..")) {
        return Err(format!("{pattern} leaves the folder it names"));
    }
    let before = pattern.get(..wild).unwrap_or_default();
    // `/de*/zero` could be a device.
    if before.starts_with('/') && before.matches('/').count() < 2 {
        return Err(format!("{pattern} starts at the root"));
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
    let root = path.starts_with('/') && components(path).is_empty();
    if root && kind == ReadKind::Tree {
        return Err("it would walk the whole file system".into());
    }
    Ok(ReadPath { path: path.into(), kind })
}

fn is_special(path: &str) -> bool {
    if path == "/dev/null" {
        return false;
    }
    let parts = components(path);
    let above = parts.iter().take_while(|part| **part == "..").count();
    let top = if path.starts_with('/') || above > 0 { parts.get(above) } else { None };
    top.is_some_and(|top| matches!(*top, "dev" | "proc" | "sys"))
}

/// Without `.` and doubled slashes; `..` takes a name away, as far as there is one.
fn components(path: &str) -> Vec<&str> {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." if parts.last().is_some_and(|last| *last != "..") => {
                parts.pop();
            }
            ".." if path.starts_with('/') => {}
            _ => parts.push(part),
        }
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn special_files() {
        for path in [
            "/dev/zero", "/dev/tcp/1.2.3.4/80", "//dev//zero", "/./dev/zero", "/a/../dev/zero", "../../dev/zero",
            "/proc/self/environ", "/sys/x", "a/../../proc/1/mem", "/../proc/x", "/dev/null/../zero",
        ] {
            assert!(is_special(path), "{path}");
        }
        for path in ["/dev/null", "dev/zero", "src/proc", "/etc/passwd", "../x", "a", ".", "proc"] {
            assert!(!is_special(path), "{path}");
        }
    }

    #[test]
    fn patterns() {
        for pattern in ["src/*.rs", "*.rs", "./*", "a?", "/ws/src/*", "../x/*"] {
            assert!(glob(pattern).is_ok(), "{pattern}");
        }
        for pattern in ["/*", "/de*/zero", "src/*/../../x", "*/..", "/dev/*", "../../dev/z*", "/proc/*/environ"] {
            assert!(glob(pattern).is_err(), "{pattern}");
        }
        for (pattern, expected) in
            [("a*", true), ("./*", true), ("*a", false), ("?", false), ("[a]", false), ("-*", false), ("\\-*", false), ("\\*?", true)]
        {
            assert_eq!(cannot_be_option(pattern), expected, "{pattern}");
        }
    }
}
