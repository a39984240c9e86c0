//! Reads the words of one command against its entry in the table.

use crate::table::{Count, Operands, Program, Takes, Value};
use ostler_policy::TouchKind;
use ostler_policy::script::{Word, WordPart};

/// A file as a command names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Named {
    pub(crate) path: String,
    pub(crate) kind: TouchKind,
}

/// Why a command is not known to do only what its entry says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Miss {
    pub(crate) why: String,
    /// The word that is not known. None: it is not about one, or what it says is not known.
    pub(crate) word: Option<usize>,
}

impl Miss {
    pub(crate) fn at(word: usize, why: impl Into<String>) -> Self {
        Miss { why: why.into(), word: Some(word) }
    }
}

impl From<String> for Miss {
    fn from(why: String) -> Self {
        Miss { why, word: None }
    }
}

impl From<&str> for Miss {
    fn from(why: &str) -> Self {
        Miss::from(why.to_owned())
    }
}

/// Stands before a path that begins in the home directory. No word of a shell can hold it.
pub(crate) const HOME: char = '\0';

/// Every file the command names, or why it is not known to be read-only. `words` are those behind the program.
pub(crate) fn check(program: &Program, words: &[Word]) -> Result<Vec<Named>, Miss> {
    match program.operands {
        Operands::Words => {
            return words.iter().filter_map(|word| free_word(word).transpose()).collect();
        }
        Operands::Format => return format(words),
        _ => {}
    }
    Parsed::read(program, words)?.judge()
}

/// A word that no option can be made of: only what it says about files matters.
fn free_word(word: &Word) -> Result<Option<Named>, Miss> {
    match word {
        Word::Literal(_) => Ok(None),
        Word::Glob(pattern) => Ok(glob(pattern).map(Some)?),
        Word::Dynamic { source, parts, .. } => {
            match parts.iter().any(|part| matches!(part, WordPart::Glob(_) | WordPart::Other(_))) {
                true => Err(format!("{source} is not known").into()),
                false => Ok(None),
            }
        }
    }
}

/// The words of a command, taken apart as its entry says.
pub(crate) struct Parsed<'a> {
    pub(crate) program: &'a Program,
    /// As `-x` or `--name`.
    pub(crate) options: Vec<String>,
    /// With their places among the words.
    pub(crate) operands: Vec<(usize, &'a Word)>,
    /// Values of letters, glued or alone, and of names where they stand alone, with the option.
    pub(crate) values: Vec<(String, &'a str)>,
    /// How many operands stand before `--`.
    pub(crate) after_dashes: usize,
    /// There was a `--`.
    pub(crate) dashes: bool,
}

impl<'a> Parsed<'a> {
    pub(crate) fn read(program: &'a Program, words: &'a [Word]) -> Result<Self, Miss> {
        let mut parsed = Parsed {
            program,
            options: Vec::new(),
            operands: Vec::new(),
            values: Vec::new(),
            after_dashes: 0,
            dashes: false,
        };
        parsed.words(words)?;
        Ok(parsed)
    }

    fn words(&mut self, words: &'a [Word]) -> Result<(), Miss> {
        let mut words = words.iter().enumerate();
        while let Some((index, word)) = words.next() {
            match word {
                Word::Dynamic { parts, .. }
                    if !self.dashes && is_one_word(word) && self.dynamic_option(parts) => {}
                Word::Dynamic { why, source, .. } => {
                    return Err(format!("{source} is {}", why.name()).into());
                }
                Word::Glob(pattern)
                    if self.dashes || self.program.any_option || cannot_be_option(pattern) =>
                {
                    self.operands.push((index, word));
                }
                Word::Glob(pattern) => {
                    self.glob_option(pattern).map_err(|why| Miss::at(index, why))?;
                }
                Word::Literal(text) if self.dashes || text == "-" || !text.starts_with('-') => {
                    self.operands.push((index, word))
                }
                Word::Literal(text) if text == "--" => {
                    self.dashes = true;
                    self.after_dashes = self.operands.len();
                }
                Word::Literal(text) => {
                    let needs_value = match text.strip_prefix("--") {
                        Some(long) => self.long(long),
                        None => self.short(text, index == 0),
                    };
                    if let Some(value) = needs_value.map_err(|why| Miss::at(index, why))? {
                        let given = separate_value(text, value, words.next().map(|(_, w)| w))
                            .map_err(|why| Miss::at(index, why))?;
                        let option = self.options.last().cloned().unwrap_or_default();
                        self.values.push((option, given));
                    }
                }
            }
        }
        if !self.dashes {
            self.after_dashes = self.operands.len();
        }
        Ok(())
    }

    /// `--since="$(date)"`: one word, this option, and any value will do.
    fn dynamic_option(&mut self, parts: &[WordPart]) -> bool {
        let Some(WordPart::Literal(first)) = parts.first() else { return false };
        let Some((name, _)) = first.strip_prefix("--").and_then(|long| long.split_once('=')) else {
            return false;
        };
        let takes_any =
            |(known, _, kind): &(&str, Takes, Value)| *known == name && *kind == Value::Any;
        let fine = self.program.long_values.iter().any(takes_any);
        if fine {
            self.options.push(format!("--{name}"));
        }
        fine
    }

    /// The kind of value it takes from the next word.
    fn long(&mut self, text: &str) -> Result<Option<Value>, String> {
        let (name, given) = match text.split_once('=') {
            Some((name, given)) => (name, Some(given)),
            None => (text, None),
        };
        let refused = || format!("--{text} is not known to be read-only");
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

    fn short(&mut self, text: &'a str, first: bool) -> Result<Option<Value>, String> {
        let refused = || format!("{text} is not known to be read-only");
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
                _ if value.fits(glued) => {
                    self.values.push((format!("-{letter}"), glued));
                    Ok(None)
                }
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

    pub(crate) fn has(&self, options: &[&str]) -> bool {
        self.options.iter().any(|option| options.contains(&option.as_str()))
    }

    fn judge(&self) -> Result<Vec<Named>, Miss> {
        if self.operands.len() > self.program.most {
            return Err("it has too many operands".into());
        }
        match self.program.operands {
            Operands::Words | Operands::Format => Ok(Vec::new()),
            Operands::Fit(value) => {
                for (index, operand) in &self.operands {
                    let text = literal(operand)?;
                    if !value.fits(text) {
                        let why = format!("the operand {text} is not known to be read-only");
                        return Err(Miss::at(*index, why));
                    }
                }
                Ok(Vec::new())
            }
            Operands::Files(kind) => self.files(&self.operands, kind),
            Operands::PatternAndFiles { tree_if, given_by } => {
                let files = match self.operands.split_first() {
                    _ if self.has(given_by) => self.operands.as_slice(),
                    Some(((_, pattern), files)) => {
                        literal(pattern)?;
                        files
                    }
                    None => return Err("it has no pattern".into()),
                };
                let tree = tree_if.is_empty() || self.has(tree_if);
                self.files(files, if tree { TouchKind::Tree } else { TouchKind::File })
            }
            Operands::Revisions => self.revisions(),
        }
    }

    pub(crate) fn files(
        &self,
        operands: &[(usize, &Word)],
        kind: TouchKind,
    ) -> Result<Vec<Named>, Miss> {
        if operands.is_empty() && matches!(kind, TouchKind::Tree | TouchKind::Names) {
            return Ok(vec![Named { path: ".".into(), kind }]);
        }
        let mut reads = Vec::new();
        for (index, operand) in operands {
            let refused = |why: String| Miss::at(*index, why);
            match operand {
                Word::Literal(text) if text == "-" => {}
                Word::Literal(text) if self.program.signs_mean && text.starts_with(['+', '-']) => {
                    return Err(refused(format!("{text} can be more than a file")));
                }
                // Of the programs that come with a linker.
                Word::Literal(text) | Word::Glob(text)
                    if self.program.name == "strings" && text.starts_with('@') =>
                {
                    return Err(refused(format!("{text} is a file of options")));
                }
                Word::Literal(text) => reads.push(readable(text, kind).map_err(refused)?),
                // A pattern can become any number of operands.
                Word::Glob(_) if self.program.most != usize::MAX => {
                    return Err("its operands are not counted".into());
                }
                Word::Glob(pattern) => reads.push(glob(pattern).map_err(refused)?),
                Word::Dynamic { .. } => return Err("it is not known what it reads".into()),
            }
        }
        Ok(reads)
    }

    /// Revisions and paths look alike before `--`, so every one is taken for a path as well.
    fn revisions(&self) -> Result<Vec<Named>, Miss> {
        let mut reads = vec![Named { path: ".".into(), kind: TouchKind::Tree }];
        for (index, (_, operand)) in self.operands.iter().enumerate() {
            let path = index >= self.after_dashes;
            match operand {
                Word::Literal(text) if text.starts_with(':') || text == "-" || text.is_empty() => {
                    return Err(format!("{text:?} can mean more than a path").into());
                }
                Word::Literal(text) => {
                    reads.push(readable(text, TouchKind::Tree)?);
                    if let (false, Some((_, inside))) = (path, text.split_once(':')) {
                        reads.push(readable(inside, TouchKind::Tree)?);
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
fn format(words: &[Word]) -> Result<Vec<Named>, Miss> {
    let words = match words.split_first() {
        Some((Word::Literal(dashes), rest)) if dashes == "--" => rest,
        Some((Word::Literal(option), _)) if option.starts_with('-') => {
            return Err(Miss::at(0, format!("{option} is not known to be read-only")));
        }
        _ => words,
    };
    let (format, arguments) = words.split_first().ok_or("it has no format")?;
    let format = literal(format)?;
    if !Value::PrintfFormat.fits(format) {
        return Err(format!("the format {format} may do more than print").into());
    }
    for argument in arguments {
        if let Word::Glob(pattern) = argument {
            return Err(format!("{pattern} is a pattern where a plain word is needed").into());
        }
        free_word(argument)?;
    }
    Ok(Vec::new())
}

fn separate_value<'a>(
    option: &str,
    value: Value,
    word: Option<&'a Word>,
) -> Result<&'a str, String> {
    let text = literal(word.ok_or_else(|| format!("{option} has no value"))?)?;
    // Another build of the program might take no value here, and see an option.
    let could_be_option = value == Value::Any && text.starts_with('-') && text != "-";
    if could_be_option || !value.fits(text) {
        return Err(format!("{option} {text} is not known to be read-only"));
    }
    Ok(text)
}

/// The text of a word, if it is known to the letter.
pub(crate) fn literal(word: &Word) -> Result<&str, String> {
    match word {
        Word::Literal(text) => Ok(text),
        Word::Glob(pattern) => Err(format!("{pattern} is a pattern where a plain word is needed")),
        Word::Dynamic { why, source, .. } => Err(format!("{source} is {}", why.name())),
    }
}

/// It reaches the program as one word, whatever it says: nothing splits it or matches file names, and it holds no list
/// of words (`"$@"`, `"${a[@]}"`).
pub(crate) fn is_one_word(word: &Word) -> bool {
    let whole = |part: &WordPart| match part {
        WordPart::Literal(_) | WordPart::Tilde(_) => true,
        WordPart::Parameter { quoted, .. }
        | WordPart::Command { quoted, .. }
        | WordPart::Arithmetic { quoted, .. } => *quoted,
        WordPart::Glob(_) | WordPart::Process(_) | WordPart::Other(_) => false,
    };
    match word {
        Word::Literal(_) => true,
        Word::Glob(_) => false,
        Word::Dynamic { source, parts, .. } => {
            let source = source.replace("\\\n", "");
            let list = ["$@", "${@", "[@]"].iter().any(|list| source.contains(list));
            !parts.is_empty() && !list && parts.iter().all(whole)
        }
    }
}

/// Every match starts with the letters before the first `*`, `?` or `[`.
pub(crate) fn cannot_be_option(pattern: &str) -> bool {
    let first = pattern.strip_prefix('\\').unwrap_or(pattern).chars().next();
    let quoted = pattern.starts_with('\\');
    first.is_some_and(|c| c != '-' && (quoted || !matches!(c, '*' | '?' | '[')))
}

pub(crate) fn glob(pattern: &str) -> Result<Named, String> {
    let wild = pattern.find(['*', '?', '[']).unwrap_or(0);
    let (before, after) = pattern.split_at(wild);
    if after.split('/').any(|part| part.contains("..")) {
        return Err(format!("{pattern} leads out of the directory it names"));
    }
    let folder = before.rsplit_once('/').map_or("", |(folder, _)| folder);
    let names = folder.split('/').filter(|part| !matches!(*part, "" | "."));
    // `/d*/zero` and `../../d*/zero` could be devices.
    if (before.starts_with('/') && names.clone().next().is_none())
        || names.clone().any(|name| name == "..")
    {
        return Err(format!("{pattern} is not confined to a directory"));
    }
    if is_special(before) {
        return Err(format!("{pattern} may be a device"));
    }
    Ok(Named { path: written(pattern), kind: TouchKind::Glob })
}

/// Reading a device or a kernel file can have effects, and need not end.
pub(crate) fn readable(path: &str, kind: TouchKind) -> Result<Named, String> {
    if is_special(path) {
        return Err(format!("{path} is not an ordinary file"));
    }
    if is_root(path) && matches!(kind, TouchKind::Tree | TouchKind::Names) {
        return Err("it would walk the whole file system".into());
    }
    Ok(Named { path: written(path), kind })
}

/// A path as the gate reads it: a `~` of the shell's is the home directory, one that a file name begins with is not.
pub(crate) fn written(path: &str) -> String {
    match path.strip_prefix(HOME) {
        Some(home) => home.to_owned(),
        None if path.starts_with('~') => format!("./{path}"),
        None => path.to_owned(),
    }
}

pub(crate) fn is_special(path: &str) -> bool {
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

pub(crate) fn is_root(path: &str) -> bool {
    let mut depth = 0_usize;
    for part in path.split('/').filter(|part| !matches!(*part, "" | ".")) {
        depth = if part == ".." { depth.saturating_sub(1) } else { depth + 1 };
    }
    path.starts_with('/') && depth == 0
}

#[cfg(test)]
#[path = "options_tests.rs"]
mod tests;
