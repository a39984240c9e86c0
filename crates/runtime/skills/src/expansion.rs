//! A skill's text with its arguments in place, and the commands whose output belongs into it.
//!
//! One pass over the text: what was put in is not read again. `\$` stands for a dollar sign.

use crate::arguments::words;
use crate::skill::Skill;
use std::path::Path;

/// Commands of one skill; further ones stay as they are written.
const MOST_COMMANDS: usize = 16;
/// Bytes of one.
const MOST_COMMAND: usize = 4 * 1024;

/// What a skill is used with.
#[derive(Clone, Copy, Debug)]
pub struct Situation<'a> {
    pub arguments: &'a str,
    pub session: &'a str,
    pub project: &'a Path,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SkillPiece {
    Text(String),
    /// A command; its output takes its place.
    Command(String),
    /// A file that the text names; its content follows the text.
    File(String),
    /// A command that must not be run with these arguments, as it is written.
    Unfit(String),
}

/// The text in pieces, in order.
pub fn expand(skill: &Skill, situation: Situation<'_>) -> Vec<SkillPiece> {
    let filling = Filling { skill, situation, words: words(situation.arguments) };
    let mut pieces = Vec::new();
    let mut used = false;
    for part in parts(&skill.body) {
        match part {
            ExpansionPart::Text(text) => {
                for part in named_files(skill, text) {
                    let (text, put) = filling.fill(part.text);
                    used |= put;
                    let file = part.is_file.then(|| file_name(&text)).flatten();
                    pieces.extend(file.map(|file| SkillPiece::File(file.to_owned())));
                    pieces.push(SkillPiece::Text(text));
                }
            }
            ExpansionPart::Command(command) => {
                let (text, put) = filling.fill(command);
                used |= put;
                pieces.push(match put && !is_plain(situation.arguments) {
                    true => SkillPiece::Unfit(command.to_owned()),
                    false => SkillPiece::Command(text),
                });
            }
        }
    }
    if !used && !situation.arguments.trim().is_empty() {
        pieces.push(SkillPiece::Text(format!("\n\nArguments: {}", situation.arguments.trim())));
    }
    pieces
}

/// A part of a text: a word that begins with `@`, or what stands between such words.
struct TextPart<'a> {
    text: &'a str,
    is_file: bool,
}

/// Skills say things like `@decorator`; only commands name files.
fn named_files<'a>(skill: &Skill, text: &'a str) -> Vec<TextPart<'a>> {
    let mut parts = Vec::new();
    let (mut done, mut from) = (0, 0);
    while skill.is_command
        && let Some(at) = text.get(from..).and_then(|rest| rest.find('@')).map(|at| from + at)
    {
        let before = text.get(..at).unwrap_or_default();
        let word = text.get(at..).unwrap_or_default();
        let word = word.split(char::is_whitespace).next().unwrap_or_default();
        from = at + word.len().max(1);
        if before.is_empty() || before.ends_with(char::is_whitespace) {
            parts.push(TextPart { text: text.get(done..at).unwrap_or_default(), is_file: false });
            parts.push(TextPart { text: word, is_file: true });
            done = from;
        }
    }
    parts.push(TextPart { text: text.get(done..).unwrap_or_default(), is_file: false });
    parts
}

/// The path behind the `@`, without what ends a sentence. What has neither a slash nor a dot is no path.
fn file_name(word: &str) -> Option<&str> {
    let ends = |c: char| ".,;:!?)\"'`".contains(c);
    let path = word.strip_prefix('@')?.trim_end_matches(ends);
    (path.contains(['/', '.']) && path.len() <= MOST_COMMAND).then_some(path)
}

/// The files that a command names, as written.
pub(crate) fn files(skill: &Skill) -> Vec<&str> {
    let texts = parts(&skill.body).into_iter().filter_map(|part| match part {
        ExpansionPart::Text(text) => Some(text),
        ExpansionPart::Command(_) => None,
    });
    let words = texts.flat_map(|text| named_files(skill, text)).filter(|part| part.is_file);
    words.filter_map(|part| file_name(part.text)).collect()
}

/// The commands of a text, as written.
pub(crate) fn commands(body: &str) -> Vec<&str> {
    let command = |part| match part {
        ExpansionPart::Command(command) => Some(command),
        ExpansionPart::Text(_) => None,
    };
    parts(body).into_iter().filter_map(command).collect()
}

#[derive(Debug, PartialEq)]
enum ExpansionPart<'a> {
    Text(&'a str),
    Command(&'a str),
}

/// A command is `` !`…` `` on one line, at its beginning or after a blank.
fn parts(body: &str) -> Vec<ExpansionPart<'_>> {
    let mut parts = Vec::new();
    let (mut done, mut from, mut count) = (0, 0, 0);
    while let Some(at) = body.get(from..).and_then(|rest| rest.find("!`")).map(|at| from + at) {
        from = at + 2;
        let before = body.get(..at).unwrap_or_default();
        let inner = body.get(from..).unwrap_or_default();
        let line = inner.split('\n').next().unwrap_or_default();
        let alone = before.is_empty() || before.ends_with(char::is_whitespace);
        let Some(end) = line.find('`').filter(|_| alone && count < MOST_COMMANDS) else { continue };
        let command = line.get(..end).unwrap_or_default();
        if command.trim().is_empty() || command.len() > MOST_COMMAND {
            continue;
        }
        parts.push(ExpansionPart::Text(body.get(done..at).unwrap_or_default()));
        parts.push(ExpansionPart::Command(command));
        count += 1;
        done = from + end + 1;
        from = done;
    }
    parts.push(ExpansionPart::Text(body.get(done..).unwrap_or_default()));
    parts
}

/// Nothing in it means anything to a shell but blanks between words.
fn is_plain(arguments: &str) -> bool {
    let plain = |c: char| c.is_alphanumeric() || " _./:=@%+,-".contains(c);
    arguments.chars().all(plain)
}

/// Fills the places of a skill without arguments: for what stands outside its text.
pub(crate) fn fill_places(text: &str, skill: &Skill, session: &str, project: &Path) -> String {
    let situation = Situation { arguments: "", session, project };
    let filling = Filling { skill, situation, words: Vec::new() };
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find("${") {
        let (before, tail) = rest.split_at(at);
        out.push_str(before);
        match tail.strip_prefix('$').and_then(|after| filling.place(after)) {
            Some((value, length)) => {
                out.push_str(&value);
                rest = tail.get(1 + length..).unwrap_or_default();
            }
            None => {
                out.push_str("${");
                rest = tail.get(2..).unwrap_or_default();
            }
        }
    }
    out + rest
}

struct Filling<'a> {
    skill: &'a Skill,
    situation: Situation<'a>,
    words: Vec<String>,
}

impl Filling<'_> {
    /// The text, and whether arguments went into it.
    fn fill(&self, text: &str) -> (String, bool) {
        let mut out = String::with_capacity(text.len());
        let (mut rest, mut used) = (text, false);
        while let Some(at) = rest.find('$') {
            let (before, tail) = rest.split_at(at);
            let after = tail.get(1..).unwrap_or_default();
            if let Some(before) = before.strip_suffix('\\') {
                out.push_str(before);
                out.push('$');
                rest = after;
                continue;
            }
            out.push_str(before);
            let argument = self.argument(after);
            used |= argument.is_some();
            match argument.or_else(|| self.place(after)) {
                Some((value, length)) => {
                    out.push_str(&value);
                    rest = after.get(length..).unwrap_or_default();
                }
                None => {
                    out.push('$');
                    rest = after;
                }
            }
        }
        out.push_str(rest);
        (out, used)
    }

    /// What an argument's placeholder stands for, and its length behind the dollar sign.
    fn argument(&self, after: &str) -> Option<(String, usize)> {
        let nth = |digits: &str| {
            let at = digits.parse::<usize>().ok();
            at.and_then(|at| self.words.get(at)).cloned().unwrap_or_default()
        };
        let digits = digits(after);
        if !digits.is_empty() {
            // A command counts like a shell, unless its text shows that it counts from 0.
            let counts_from_1 = self.skill.is_command && !self.skill.body.contains("$0");
            let at = digits.parse::<usize>().ok();
            let at = at.and_then(|at| at.checked_sub(usize::from(counts_from_1)));
            let word = at.and_then(|at| self.words.get(at)).cloned().unwrap_or_default();
            return Some((word, digits.len()));
        }
        let name: &str = name(after);
        if name == "ARGUMENTS" {
            let index = after.get(name.len()..).and_then(|rest| rest.strip_prefix('['));
            let index = index.map(|rest| (self::digits(rest), rest));
            return Some(match index {
                Some((digits, rest))
                    if !digits.is_empty()
                        && rest.get(digits.len()..).is_some_and(|rest| rest.starts_with(']')) =>
                {
                    (nth(digits), name.len() + digits.len() + 2)
                }
                _ => (self.situation.arguments.trim().to_owned(), name.len()),
            });
        }
        let at = self.skill.arguments.iter().position(|known| known == name)?;
        Some((self.words.get(at).cloned().unwrap_or_default(), name.len()))
    }

    /// `{CLAUDE_SKILL_DIR}` and its like.
    fn place(&self, after: &str) -> Option<(String, usize)> {
        let (name, _) = after.strip_prefix('{')?.split_once('}')?;
        let plain = name.strip_prefix("CLAUDE_").or(name.strip_prefix("OSTLER_"))?;
        let value = match plain {
            "SESSION_ID" => self.situation.session.to_owned(),
            "SKILL_DIR" => self.skill.folder.display().to_string(),
            "PROJECT_DIR" => self.situation.project.display().to_string(),
            _ => return None,
        };
        Some((value, name.len() + 2))
    }
}

fn digits(text: &str) -> &str {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    text.get(..end).unwrap_or_default()
}

fn name(text: &str) -> &str {
    let end = text.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(text.len());
    text.get(..end).unwrap_or_default()
}

#[cfg(test)]
#[path = "expansion_tests.rs"]
pub(crate) mod tests;
