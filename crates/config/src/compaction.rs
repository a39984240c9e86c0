//! What settings say about summaries, under Claude Code's names: `autoCompactEnabled`, `autoCompactWindow`.

use crate::located::Located;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Compaction {
    pub auto: Option<bool>,
    /// Tokens; a model with a smaller window keeps its own.
    pub window: Option<u64>,
}

impl Compaction {
    /// What the later file says counts.
    pub(crate) fn replace(&mut self, later: &Compaction) {
        self.auto = later.auto.or(self.auto);
        self.window = later.window.or(self.window);
    }

    pub(crate) fn is_key(key: &str) -> bool {
        matches!(key, "autoCompactEnabled" | "autoCompactWindow")
    }

    /// The value of one of the keys. What is not understood changes nothing, and is said.
    pub(crate) fn read(&mut self, key: &str, value: Located<'_>) -> Result<(), String> {
        let said = value.scalar();
        let understood = match (key, said.as_deref()) {
            (_, None) => value.is_null(),
            ("autoCompactEnabled", Some(on @ ("true" | "false"))) => {
                self.auto = Some(on == "true");
                true
            }
            ("autoCompactEnabled", Some(_)) => false,
            (_, Some("auto")) => true,
            (_, Some(_)) => {
                self.window = value.number(key).ok().filter(|tokens| *tokens > 0);
                self.window.is_some()
            }
        };
        let wanted = match key {
            "autoCompactEnabled" => "true or false",
            _ => "a number of tokens or \"auto\"",
        };
        if understood { Ok(()) } else { Err(format!("{key} must be {wanted}, ignored")) }
    }

    /// In words, for who is asked to trust a project.
    pub(crate) fn wants(&self) -> Vec<String> {
        let auto = self
            .auto
            .map(|on| format!("switches automatic summaries {}", if on { "on" } else { "off" }));
        let window = self.window.map(|tokens| format!("sets the window to {tokens} tokens"));
        auto.into_iter().chain(window).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::located::Document;
    use std::path::Path;

    #[test]
    fn values_are_read_and_mistakes_change_nothing() {
        let said = |auto, window| Compaction { auto, window };
        for (key, text, expected, ok) in [
            ("autoCompactEnabled", "false", said(Some(false), None), true),
            ("autoCompactEnabled", "true", said(Some(true), None), true),
            ("autoCompactEnabled", "null", said(None, None), true),
            ("autoCompactEnabled", "1", said(None, None), false),
            ("autoCompactEnabled", "[]", said(None, None), false),
            ("autoCompactWindow", "150000", said(None, Some(150_000)), true),
            ("autoCompactWindow", "\"auto\"", said(None, None), true),
            ("autoCompactWindow", "null", said(None, None), true),
            ("autoCompactWindow", "0", said(None, None), false),
            ("autoCompactWindow", "-5", said(None, None), false),
            ("autoCompactWindow", "1.5", said(None, None), false),
            ("autoCompactWindow", "\"150000\"", said(None, None), false),
            ("autoCompactWindow", "{}", said(None, None), false),
        ] {
            let mut found = Compaction::default();
            let value = Document::root(text, Path::new("f.json")).unwrap();
            let read = found.read(key, value);
            assert_eq!((found, read.is_ok()), (expected, ok), "{key}: {text}");
        }
    }
}
