//! The front matter of a skill: YAML between two lines of `---`, read within limits, or line by line if it is invalid.

use serde_json::Value;
use serde_saphyr::Spanned;
use serde_saphyr::options::MergeKeyPolicy;
use std::collections::BTreeMap;

/// Bytes of it.
const MOST: usize = 16 * 1024;

/// A text in its two parts. Lines are counted from 1.
#[derive(Debug, PartialEq)]
pub(crate) struct SkillParts<'a> {
    /// None: there is no front matter.
    pub(crate) front: Option<&'a str>,
    pub(crate) body: &'a str,
}

/// The content of a front matter, by key. Keys have `-` where a file has `_`.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct SkillFrontMatter {
    values: BTreeMap<String, (usize, Value)>,
    /// It is no YAML, so only plain lines of it were read.
    pub(crate) broken: bool,
}

/// Line, and what is wrong there.
pub(crate) type FrontMatterError = (usize, String);

/// # Errors
/// If a front matter begins and does not end.
pub(crate) fn split(text: &str) -> Result<SkillParts<'_>, FrontMatterError> {
    let is_mark = |line: &str| line.trim_end() == "---";
    let mut lines = text.split_inclusive('\n');
    let Some(first) = lines.next().filter(|line| is_mark(line)) else {
        return Ok(SkillParts { front: None, body: text });
    };
    let mut at = first.len();
    for line in lines {
        if is_mark(line) {
            let front = text.get(first.len()..at);
            let body = text.get(at + line.len()..).unwrap_or_default();
            return Ok(SkillParts { front, body });
        }
        at += line.len();
    }
    Err((1, "the front matter has no end; write a line --- below it".into()))
}

/// # Errors
/// If it is too long to be looked at.
pub(crate) fn read(
    text: &str,
    problems: &mut Vec<FrontMatterError>,
) -> Result<SkillFrontMatter, FrontMatterError> {
    if text.len() > MOST {
        return Err((1, format!("the front matter is longer than {MOST} bytes; shorten it")));
    }
    let text = &with_quoted_stars(text);
    let wrong = match yaml(text) {
        Ok(values) => return Ok(SkillFrontMatter { values, broken: false }),
        Err(wrong) => wrong,
    };
    if let Ok(values) = yaml(&quoted(text)) {
        // Hints are written `[a] [b]` everywhere, and their meaning is clear.
        let hint = values.get("argument-hint").is_some_and(|(line, _)| *line == wrong.0);
        problems.extend((!hint).then_some(wrong));
        return Ok(SkillFrontMatter { values, broken: false });
    }
    problems.push(wrong);
    Ok(SkillFrontMatter { values: plain_lines(text), broken: true })
}

/// For a file that ships: each of its lines is a key and a short text, which needs no parser for YAML.
pub(crate) fn shipped(text: &str) -> SkillFrontMatter {
    SkillFrontMatter { values: plain_lines(text), broken: false }
}

/// `allowed-tools: *` is written as Claude Code understands it; to YAML a bare star is no value.
fn with_quoted_stars(text: &str) -> String {
    let mut in_list = false;
    let mut out = String::with_capacity(text.len() + 8);
    for line in text.lines() {
        let value =
            ["allowed-tools:", "allowed_tools:"].iter().find_map(|key| line.strip_prefix(key));
        let item = line.trim_start().strip_prefix("- ").filter(|_| in_list);
        in_list = match value {
            Some(value) => value.trim().is_empty(),
            None => in_list && item.is_some(),
        };
        match value.or(item).filter(|value| value.trim() == "*") {
            Some(_) => out.push_str(&line.replace('*', "'*'")),
            None => out.push_str(line),
        }
        out.push('\n');
    }
    out
}

/// Keys whose value is a sentence.
const SENTENCES: [&str; 6] =
    ["name", "description", "when_to_use", "when-to-use", "argument-hint", "argument_hint"];

/// The same with unquoted one-line sentences in quotes.
fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 64);
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        let goes_on = lines.peek().is_some_and(|next| next.starts_with([' ', '\t']));
        let sentence = line.split_once(':').filter(|(key, rest)| {
            let plain = !rest.trim_start().starts_with(['"', '\'', '|', '>', '&', '*', '!']);
            SENTENCES.contains(key) && plain && !rest.trim().is_empty() && !goes_on
        });
        match sentence {
            Some((key, rest)) => {
                out.push_str(&format!("{key}: '{}'", rest.trim().replace('\'', "''")))
            }
            None => out.push_str(line),
        }
        out.push('\n');
    }
    out
}

type Values = BTreeMap<String, (usize, Value)>;

/// How much YAML the front matter of a file may be, with so many bytes of text in it.
pub fn yaml_budget(most_bytes: usize) -> Option<serde_saphyr::Budget> {
    serde_saphyr::budget! {
        max_depth: 16,
        max_nodes: 2_000,
        max_events: 8_000,
        max_aliases: 16,
        max_anchors: 16,
        max_documents: 1,
        max_merge_keys: 0,
        max_total_scalar_bytes: most_bytes,
    }
}

fn yaml(text: &str) -> Result<Values, FrontMatterError> {
    let options = serde_saphyr::options! {
        strict_booleans: true,
        merge_keys: MergeKeyPolicy::Error,
        budget: yaml_budget(2 * MOST),
    };
    type Raw = Option<BTreeMap<String, Spanned<Value>>>;
    let raw: Raw = ostler_yaml::read(text, options)
        .map_err(|error| (file_line(error.line), said(&error.what)))?;
    let entry = |(key, value): (String, Spanned<Value>)| {
        let line = file_line(value.referenced.line());
        (key.replace('_', "-"), (line, value.value))
    };
    Ok(raw.unwrap_or_default().into_iter().map(entry).collect())
}

/// The line of `---` comes before it.
fn file_line(line: impl TryInto<usize>) -> usize {
    line.try_into().unwrap_or(0).max(1) + 1
}

fn said(what: &str) -> String {
    let what: String = what.chars().filter(|c| !c.is_control()).take(200).collect();
    match what.strip_prefix("duplicate mapping key: ") {
        Some(key) => format!("\"{key}\" is there twice; keep one"),
        None if what.contains("mapping values are not allowed") => {
            "a value that contains \": \" must be quoted".into()
        }
        None => format!("invalid YAML: {what}"),
    }
}

/// `key: rest of the line`, as many people write it. The first value of a key wins.
fn plain_lines(text: &str) -> Values {
    let mut values = Values::new();
    for (at, line) in text.lines().enumerate() {
        let Some((key, rest)) = line.split_once(':') else { continue };
        let legal = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
        if key.is_empty() || !key.chars().all(legal) {
            continue;
        }
        let value = match unquoted(rest.trim()) {
            "true" => Value::Bool(true),
            "false" => Value::Bool(false),
            text => Value::String(text.to_owned()),
        };
        values.entry(key.replace('_', "-")).or_insert((file_line(at + 1), value));
    }
    values
}

fn unquoted(text: &str) -> &str {
    let inner = |mark: char| text.strip_prefix(mark).and_then(|text| text.strip_suffix(mark));
    inner('"').or(inner('\'')).unwrap_or(text)
}

impl SkillFrontMatter {
    pub(crate) fn line(&self, key: &str) -> usize {
        self.values.get(key).map_or(1, |(line, _)| *line)
    }

    pub(crate) fn has(&self, key: &str) -> bool {
        self.values.contains_key(key)
    }

    /// A text, or what reads as one.
    pub(crate) fn text(&self, key: &str, problems: &mut Vec<FrontMatterError>) -> Option<String> {
        let (line, value) = self.values.get(key)?;
        match value {
            Value::Null => None,
            Value::String(text) => Some(text.trim().to_owned()).filter(|text| !text.is_empty()),
            Value::Number(_) | Value::Bool(_) => Some(value.to_string()),
            // [x] without quotes is a list of one, and meant as a hint.
            Value::Array(items) if key == "argument-hint" => {
                let item = |item: &Value| item.as_str().map_or(item.to_string(), str::to_owned);
                Some(format!("[{}]", items.iter().map(item).collect::<Vec<_>>().join(", ")))
            }
            _ => {
                problems.push((*line, format!("{key} must be a string; write it in quotes")));
                None
            }
        }
    }

    /// A boolean; `otherwise` also for any other value.
    pub(crate) fn yes(
        &self,
        key: &str,
        otherwise: bool,
        problems: &mut Vec<FrontMatterError>,
    ) -> bool {
        match self.values.get(key) {
            None | Some((_, Value::Null)) => otherwise,
            Some((_, Value::Bool(yes))) => *yes,
            Some((line, _)) => {
                problems.push((*line, format!("{key} must be true or false")));
                otherwise
            }
        }
    }

    /// A list of texts, or one text that `split` makes a list of.
    pub(crate) fn list(
        &self,
        key: &str,
        split: impl Fn(&str) -> Vec<String>,
        problems: &mut Vec<FrontMatterError>,
    ) -> Vec<String> {
        let Some((line, value)) = self.values.get(key) else { return Vec::new() };
        let texts = |items: &[Value]| {
            items.iter().map(|item| item.as_str().map(str::to_owned)).collect::<Option<Vec<_>>>()
        };
        let list = match value {
            Value::Null => Some(Vec::new()),
            Value::String(text) => Some(split(text)),
            Value::Array(items) => texts(items),
            _ => None,
        };
        list.unwrap_or_else(|| {
            problems.push((*line, format!("{key} must be a list of strings")));
            Vec::new()
        })
    }
}

#[cfg(test)]
#[path = "front_matter_tests.rs"]
mod tests;
