//! `permissions.yaml`: text to rules. What is not understood is an error with its line, except for an allow rule, which
//! is left out with a warning.

use crate::error::{is_plain, one_line};
use crate::warnings::Warnings;
use crate::{Check, CheckKind, ConfigError};
use ostler_core::permission::{Anchors, COMMANDS, Fallback, Policy, Rule, Source, Tier, ToolName};
use serde::Deserialize;
use serde_json::Value;
use serde_saphyr::options::MergeKeyPolicy;
use serde_saphyr::{Location, Spanned};
use std::cell::RefCell;
use std::path::Path;

/// Rules in a file.
const MOST_RULES: usize = 2000;
/// Patterns in a file, and in one of a project: a stranger's expressions are costly to build.
const MOST_PATTERNS: usize = 1000;
const MOST_FROM_PROJECT: usize = 100;
/// Examples of a rule, of each sort.
const MOST_EXAMPLES: usize = 50;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawFile {
    version: Option<Spanned<u64>>,
    default: Option<Spanned<String>>,
    always_deny: Option<Vec<Spanned<RawRule>>>,
    always_allow: Option<Vec<Spanned<RawRule>>>,
    ask_user: Option<Vec<Spanned<RawRule>>>,
    deny: Option<Vec<Spanned<String>>>,
    ask: Option<Vec<Spanned<String>>>,
    allow: Option<Vec<Spanned<String>>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawRule {
    pattern: Option<Spanned<String>>,
    rule: Option<Spanned<String>>,
    reason: Option<String>,
    tool: Option<Spanned<String>>,
    examples: Option<RawExamples>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawExamples {
    r#match: Option<Vec<Spanned<String>>>,
    miss: Option<Vec<Spanned<String>>>,
}

/// The rules, and what was left out of them.
///
/// # Errors
/// On the first thing in the text that is not understood and is no allow rule, with its line.
pub fn parse(
    text: &str,
    file: &Path,
    anchors: Anchors<'_>,
    tier: Tier,
    check: &Check<'_>,
) -> Result<(Policy, Warnings), ConfigError> {
    let warnings = RefCell::default();
    let reading = YamlReading {
        file,
        named: Some(file),
        anchors,
        tier,
        check: Some(check),
        warnings: Some(&warnings),
    };
    let policy = reading.policy(raw(text, file)?)?;
    Ok((policy, warnings.into_inner()))
}

/// The same for a file that ships: all of it is understood.
pub(crate) fn read(
    text: &str,
    file: &Path,
    anchors: Anchors<'_>,
    tier: Tier,
    check: &Check<'_>,
) -> Result<Policy, ConfigError> {
    let (named, check) = (Some(file), Some(check));
    YamlReading { file, named, anchors, tier, check, warnings: None }.policy(raw(text, file)?)
}

fn raw(text: &str, file: &Path) -> Result<RawFile, ConfigError> {
    let raw = yaml(text, file)?;
    raw.ok_or_else(|| ConfigError::new(file, 1, "it is empty; write rules or delete the file"))
}

/// None: the text is empty.
pub(crate) fn yaml<T: serde::de::DeserializeOwned>(
    text: &str,
    file: &Path,
) -> Result<Option<T>, ConfigError> {
    let options = serde_saphyr::options! {
        strict_booleans: true,
        no_schema: true,
        merge_keys: MergeKeyPolicy::Error,
    };
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let read = ostler_yaml::read(text, options);
    read.map_err(|error| ConfigError::new(file, error.line, said(&error.what)))
}

/// The same from a JSON value; `file` is what errors name.
///
/// # Errors
/// On anything that is not understood, without lines.
pub fn from_json(
    value: &Value,
    file: &Path,
    anchors: Anchors<'_>,
    tier: Tier,
    check: &Check<'_>,
) -> Result<Policy, ConfigError> {
    let raw = RawFile::deserialize(value)
        .map_err(|error| ConfigError::new(file, None, said(&error.to_string())))?;
    let check = Some(check);
    YamlReading { file, named: None, anchors, tier, check, warnings: None }.policy(raw)
}

/// The parser's message, reworded for the most common errors.
fn said(what: &str) -> String {
    let plain = [
        ("expected sequence start", "expected a list; write - and an entry"),
        ("expected mapping start", "expected keys; write one such as pattern: \"…\""),
        ("expected string scalar", "expected a string; write it in quotes"),
        ("invalid u64", "expected a whole number; write 1"),
        ("multiple YAML documents", "expected one document; remove the line ---"),
    ];
    if let Some((_, ours)) = plain.iter().find(|(theirs, _)| what.starts_with(theirs)) {
        return (*ours).to_owned();
    }
    if let Some(key) = what.strip_prefix("duplicate mapping key: ") {
        return format!("\"{key}\" is there twice; keep one");
    }
    match what.strip_prefix("unknown field ").and_then(|rest| rest.split_once(", expected ")) {
        Some((key, known)) => format!("unknown key {key}; use {known}"),
        None => what.to_owned(),
    }
}

pub(crate) fn line(place: &Location) -> Option<usize> {
    usize::try_from(place.line()).ok().filter(|line| *line > 0)
}

struct YamlReading<'a> {
    /// What errors name.
    file: &'a Path,
    /// The source that rules report.
    named: Option<&'a Path>,
    anchors: Anchors<'a>,
    tier: Tier,
    check: Option<&'a Check<'a>>,
    /// Where to report an allow rule that is skipped; without it, such a rule is an error.
    warnings: Option<&'a RefCell<Warnings>>,
}

impl YamlReading<'_> {
    fn policy(&self, raw: RawFile) -> Result<Policy, ConfigError> {
        if let Some(version) = raw.version.as_ref().filter(|version| version.value != 1) {
            let what = format!("unknown version {}; write 1", version.value);
            return Err(self.wrong(&version.referenced, what));
        }
        self.patterns(&raw)?;
        let fallback = raw.default.map(|default| self.fallback(&default)).transpose()?;
        let mut policy = Policy { fallback: fallback.unwrap_or_default(), ..Policy::default() };
        policy.deny = self.list(CheckKind::Deny, raw.always_deny, raw.deny)?;
        policy.ask = self.list(CheckKind::Ask, raw.ask_user, raw.ask)?;
        policy.allow = self.list(CheckKind::Allow, raw.always_allow, raw.allow)?;
        Ok(policy)
    }

    fn patterns(&self, raw: &RawFile) -> Result<(), ConfigError> {
        let most = match self.tier {
            Tier::Project | Tier::Local => MOST_FROM_PROJECT,
            _ => MOST_PATTERNS,
        };
        let lists = [&raw.always_deny, &raw.always_allow, &raw.ask_user];
        let entries = lists.into_iter().flatten().flatten();
        match entries.filter(|entry| entry.value.pattern.is_some()).nth(most) {
            None => Ok(()),
            Some(entry) => {
                let what = format!("more than {most} patterns; join some of them with |");
                Err(self.wrong(&entry.referenced, what))
            }
        }
    }

    fn fallback(&self, default: &Spanned<String>) -> Result<Fallback, ConfigError> {
        match default.value.as_str() {
            "read" => Ok(Fallback::Read),
            "ask" => Ok(Fallback::Ask),
            "deny" => Ok(Fallback::Deny),
            other => {
                let what = format!("unknown default \"{other}\"; use read, ask or deny");
                Err(self.wrong(&default.referenced, what))
            }
        }
    }

    fn list(
        &self,
        kind: CheckKind,
        entries: Option<Vec<Spanned<RawRule>>>,
        texts: Option<Vec<Spanned<String>>>,
    ) -> Result<Vec<Rule>, ConfigError> {
        let mut rules = Vec::new();
        for entry in entries.into_iter().flatten() {
            rules.extend(self.understood(kind, self.entry(kind, entry))?);
            self.bound(&rules)?;
        }
        for text in texts.into_iter().flatten() {
            rules.extend(self.understood(kind, self.rule(&text))?);
            self.bound(&rules)?;
        }
        Ok(rules)
    }

    /// Without a rule that allows there are only more questions.
    fn understood(
        &self,
        kind: CheckKind,
        rule: Result<Rule, ConfigError>,
    ) -> Result<Option<Rule>, ConfigError> {
        match (rule, self.warnings) {
            (Err(error), Some(warnings)) if kind == CheckKind::Allow => {
                let what = format!("allow rule ignored: {}", error.what);
                warnings.borrow_mut().push(self.file, error.line, &what);
                Ok(None)
            }
            (rule, _) => rule.map(Some),
        }
    }

    fn bound(&self, rules: &[Rule]) -> Result<(), ConfigError> {
        if rules.len() <= MOST_RULES {
            return Ok(());
        }
        let line = rules.last().and_then(|rule| rule.source.line);
        let what = format!("more than {MOST_RULES} rules in one list; write fewer, wider rules");
        Err(ConfigError::new(self.file, line, what))
    }

    fn entry(&self, kind: CheckKind, entry: Spanned<RawRule>) -> Result<Rule, ConfigError> {
        let Spanned { value: raw, referenced, .. } = entry;
        let mut rule = match (raw.pattern, raw.rule, raw.tool) {
            (Some(pattern), None, tool) => self.pattern(&pattern, tool)?,
            (None, Some(rule), None) => self.rule(&rule)?,
            (None, Some(_), Some(tool)) => {
                let what = "a rule already names its tool; remove \"tool\"";
                return Err(self.wrong(&tool.referenced, what));
            }
            (Some(_), Some(rule), _) => {
                let what = "an entry cannot have both a pattern and a rule; write two entries";
                return Err(self.wrong(&rule.referenced, what));
            }
            (None, None, _) => {
                let what = "the entry has neither a pattern nor a rule; add one";
                return Err(self.wrong(&referenced, what));
            }
        };
        rule.reason =
            raw.reason.map(|reason| one_line(reason.trim())).filter(|reason| !reason.is_empty());
        self.examples(kind, &rule, raw.examples.unwrap_or_default())?;
        Ok(rule)
    }

    fn pattern(
        &self,
        pattern: &Spanned<String>,
        tool: Option<Spanned<String>>,
    ) -> Result<Rule, ConfigError> {
        self.readable(pattern)?;
        if let Some(tool) = &tool {
            let source = self.source(&tool.referenced);
            let named = Rule::parse_at(&tool.value, self.anchors, source);
            if !named.is_ok_and(|rule| rule.is_whole_tool(&tool.value)) {
                let what =
                    format!("unknown tool \"{}\"; use a name such as {COMMANDS}", tool.value);
                return Err(self.wrong(&tool.referenced, what));
            }
        }
        if let Some(tool) = &tool {
            self.spelled(&tool.value, &tool.referenced)?;
        }
        let tool = tool.map_or_else(|| COMMANDS.to_owned(), |tool| tool.value);
        Rule::regex(&tool, &pattern.value, self.source(&pattern.referenced))
            .map_err(|error| self.wrong(&pattern.referenced, error.to_string()))
    }

    fn rule(&self, text: &Spanned<String>) -> Result<Rule, ConfigError> {
        self.readable(text)?;
        let tool = text.value.split('(').next().unwrap_or_default().trim();
        self.spelled(tool, &text.referenced)?;
        Rule::parse_at(&text.value, self.anchors, self.source(&text.referenced))
            .map_err(|error| self.wrong(&text.referenced, error.to_string()))
    }

    fn spelled(&self, tool: &str, place: &Location) -> Result<(), ConfigError> {
        match ToolName::of(tool, self.anchors.tools) {
            ToolName::Mistake(meant) => {
                let what = format!("unknown tool \"{tool}\" (did you mean \"{meant}\"?)");
                Err(self.wrong(place, what))
            }
            _ => Ok(()),
        }
    }

    /// What a person sees of it is what it is.
    fn readable(&self, text: &Spanned<String>) -> Result<(), ConfigError> {
        let what = match text.value.as_str() {
            text if text.trim().is_empty() => "the pattern is empty; write one or remove the entry",
            text if !is_plain(text) => "it contains an invisible character; write it as \\x..",
            _ => return Ok(()),
        };
        Err(self.wrong(&text.referenced, what))
    }

    fn examples(&self, kind: CheckKind, rule: &Rule, raw: RawExamples) -> Result<(), ConfigError> {
        let Some(check) = self.check else { return Ok(()) };
        let sorts = [(raw.r#match, true, "does not match"), (raw.miss, false, "matches")];
        for (examples, wanted, found) in sorts {
            for (n, example) in examples.into_iter().flatten().enumerate() {
                if n >= MOST_EXAMPLES {
                    let what =
                        format!("more than {MOST_EXAMPLES} examples; keep the most important ones");
                    return Err(self.wrong(&example.referenced, what));
                }
                if check(kind, rule, &example.value) != wanted {
                    let what = format!(
                        "the rule {} {found} its example \"{}\"; fix one of them",
                        rule.text(),
                        example.value
                    );
                    return Err(self.wrong(&example.referenced, what));
                }
            }
        }
        Ok(())
    }

    fn source(&self, place: &Location) -> Source {
        Source { tier: self.tier, file: self.named.map(Path::to_owned), line: line(place) }
    }

    fn wrong(&self, place: &Location, what: impl Into<String>) -> ConfigError {
        ConfigError::new(self.file, line(place), what)
    }
}

#[cfg(test)]
#[path = "permissions_yaml_tests.rs"]
mod tests;
