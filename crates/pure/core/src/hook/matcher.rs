//! Which tools, sources or reasons a hook is for.

use regex::{Regex, RegexBuilder};
use std::sync::Arc;

/// Compared by the text it was written as.
#[derive(Clone, Debug)]
pub struct HookMatcher {
    text: String,
    form: MatcherForm,
}

#[derive(Clone, Debug)]
enum MatcherForm {
    All,
    Names(Vec<String>),
    /// Found anywhere in it.
    Pattern(Arc<Regex>),
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the matcher \"{text}\" is not a regular expression ({why}); separate names with |")]
pub struct MatcherError {
    pub text: String,
    pub why: String,
}

/// Bytes of a matcher, and of what it compiles to.
const MOST: usize = 10_000;
const MOST_COMPILED: usize = 1 << 20;

impl HookMatcher {
    pub fn all() -> Self {
        HookMatcher { text: String::new(), form: MatcherForm::All }
    }

    /// Empty and `*` match everything; only letters, digits, `_`, `-`, blanks, `,` and `|` are a list of names;
    /// anything else is an unanchored regular expression, matched in linear time.
    ///
    /// # Errors
    /// If it is not a regular expression, or one that looks around or back.
    pub fn parse(text: &str) -> Result<Self, MatcherError> {
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | ' ' | ',' | '|');
        let form = if text.trim().is_empty() || text == "*" {
            MatcherForm::All
        } else if text.chars().all(plain) {
            let names = text.split([',', '|']).map(str::trim).filter(|name| !name.is_empty());
            MatcherForm::Names(names.map(str::to_owned).collect())
        } else {
            MatcherForm::Pattern(Arc::new(pattern(text)?))
        };
        Ok(HookMatcher { text: text.to_owned(), form })
    }

    /// `None`: the event has nothing that could be compared, so every hook on it is meant.
    pub fn matches(&self, value: Option<&str>) -> bool {
        match (&self.form, value) {
            (MatcherForm::All, _) | (_, None) => true,
            (MatcherForm::Names(names), Some(value)) => names.iter().any(|name| name == value),
            (MatcherForm::Pattern(pattern), Some(value)) => pattern.is_match(value),
        }
    }

    /// As it was written.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Something it matches, if that is plain to see.
    pub fn example(&self) -> Option<&str> {
        match &self.form {
            MatcherForm::Names(names) => names.first().map(String::as_str),
            MatcherForm::All | MatcherForm::Pattern(_) => None,
        }
    }
}

impl PartialEq for HookMatcher {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for HookMatcher {}

fn pattern(text: &str) -> Result<Regex, MatcherError> {
    let wrong = |why: String| MatcherError { text: text.chars().take(100).collect(), why };
    if text.len() > MOST {
        return Err(wrong("it is too long".into()));
    }
    RegexBuilder::new(text).size_limit(MOST_COMPILED).build().map_err(|error| {
        let said = error.to_string();
        wrong(said.lines().last().unwrap_or_default().trim().trim_start_matches("error: ").into())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_matcher_is_everything_a_list_or_a_pattern() {
        for (text, value, expected) in [
            ("", "Bash", true),
            ("  ", "Bash", true),
            ("*", "Bash", true),
            ("Bash", "Bash", true),
            ("Bash", "BashOutput", false),
            ("Bash", "bash", false),
            ("Edit|Write", "Write", true),
            ("Edit, Write", "Edit", true),
            ("Edit| |Write", "Edit", true),
            ("Edit|Write", "MultiEdit", false),
            ("mcp__a-b_c", "mcp__a-b_c", true),
            // A pattern is found anywhere.
            ("mcp__.*", "mcp__memory__get", true),
            ("mcp__.*", "x_mcp__memory", true),
            ("^Edit$", "MultiEdit", false),
            ("Edi.", "MultiEdit", true),
            ("Notebook.*|Edit", "Edit", true),
            ("|", "Bash", false),
            (".*", "Bash", true),
        ] {
            assert_eq!(
                HookMatcher::parse(text).unwrap().matches(Some(value)),
                expected,
                "{text:?} {value}"
            );
        }
        assert!(HookMatcher::parse("Nothing").unwrap().matches(None));
        assert_eq!(HookMatcher::parse("A|B").unwrap().example(), Some("A"));
    }

    #[test]
    fn what_cannot_be_matched_in_linear_time_is_refused() {
        for text in ["(", "a(?=b)", "(a)\\1", "[", "x{99999999}"] {
            let error = HookMatcher::parse(text).unwrap_err().to_string();
            assert!(error.contains(text) && !error.contains('\n'), "{error}");
        }
        assert!(HookMatcher::parse(&"(a)".repeat(MOST)).is_err());
    }
}
