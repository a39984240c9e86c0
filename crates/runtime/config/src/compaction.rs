//! What settings say about summaries, under Claude Code's names: `autoCompactEnabled`, `autoCompactWindow`.

use crate::ConfigError;
use crate::located_json::Located;

/// Tokens.
const WINDOW: std::ops::RangeInclusive<u64> = 1..=1_000_000_000;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Compaction {
    pub auto: Option<bool>,
    /// Tokens; a model with a smaller window keeps its own.
    pub window: Option<u64>,
}

impl Compaction {
    /// The later file wins.
    pub(crate) fn replace(&mut self, later: &Compaction) {
        self.auto = later.auto.or(self.auto);
        self.window = later.window.or(self.window);
    }

    pub(crate) fn is_key(key: &str) -> bool {
        matches!(key, "autoCompactEnabled" | "autoCompactWindow")
    }

    /// The value of one of the keys. An invalid switch changes nothing, as the warning says.
    ///
    /// # Errors
    /// On a number that cannot be a window.
    pub(crate) fn read(
        &mut self,
        key: &str,
        value: Located<'_>,
    ) -> Result<Option<String>, ConfigError> {
        let said = value.scalar();
        match (key, said.as_deref()) {
            _ if value.is_null() => {}
            ("autoCompactEnabled", Some(on @ ("true" | "false"))) => self.auto = Some(on == "true"),
            ("autoCompactEnabled", _) => {
                return Ok(Some(format!("{key} must be true or false, ignored")));
            }
            (_, Some("auto")) => {}
            _ => {
                let tokens = value.number(key).ok().filter(|tokens| WINDOW.contains(tokens));
                self.window = Some(tokens.ok_or_else(|| {
                    let (least, most) = (WINDOW.start(), WINDOW.end());
                    let wanted = format!("a number of tokens from {least} to {most}, or \"auto\"");
                    value.wrong(format!("{key} must be {wanted}; {}", value.found()))
                })?);
            }
        }
        Ok(None)
    }

    /// In words, for the person who is asked to trust a project.
    pub(crate) fn wants(&self) -> Vec<String> {
        let auto = self
            .auto
            .map(|on| format!("turns automatic compaction {}", if on { "on" } else { "off" }));
        let window =
            self.window.map(|tokens| format!("sets the context window to {tokens} tokens"));
        auto.into_iter().chain(window).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::located_json::Document;
    use std::path::Path;

    fn read(key: &str, text: &str) -> (Compaction, Result<Option<String>, String>) {
        let mut found = Compaction::default();
        let value = Document::root(text, Path::new("f.json")).unwrap();
        let read = found.read(key, value).map_err(|error| error.to_string());
        (found, read)
    }

    #[test]
    fn values_are_read() {
        let said = |auto, window| Compaction { auto, window };
        for (key, text, expected, is_quiet) in [
            ("autoCompactEnabled", "false", said(Some(false), None), true),
            ("autoCompactEnabled", "true", said(Some(true), None), true),
            ("autoCompactEnabled", "null", said(None, None), true),
            ("autoCompactEnabled", "1", said(None, None), false),
            ("autoCompactEnabled", "[]", said(None, None), false),
            ("autoCompactWindow", "150000", said(None, Some(150_000)), true),
            ("autoCompactWindow", "\"auto\"", said(None, None), true),
            ("autoCompactWindow", "null", said(None, None), true),
        ] {
            let (found, warning) = read(key, text);
            assert_eq!((found, warning.unwrap().is_none()), (expected, is_quiet), "{key}: {text}");
        }
    }

    #[test]
    fn a_window_that_is_none_is_an_error() {
        for text in ["0", "-5", "1.5", "1000000001", "\"150000\"", "\"big\"", "{}", "[]"] {
            let said = read("autoCompactWindow", text).1.unwrap_err();
            let wanted = "a number of tokens from 1 to 1000000000, or \"auto\"";
            assert_eq!(said, format!("f.json:1: autoCompactWindow must be {wanted}; found {text}"));
        }
    }
}
