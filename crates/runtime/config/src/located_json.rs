//! JSON in which every value knows its line, and no key occurs twice.

use crate::ConfigError;
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use serde_json::value::RawValue;
use std::path::Path;

/// A text that is JSON.
#[derive(Clone, Copy)]
pub(crate) struct Document<'a> {
    text: &'a str,
    file: &'a Path,
}

/// A value of a document.
#[derive(Clone, Copy)]
pub(crate) struct Located<'a> {
    document: Document<'a>,
    raw: &'a str,
}

impl<'a> Document<'a> {
    /// A mark of the byte order in front is passed over.
    pub(crate) fn root(text: &'a str, file: &'a Path) -> Result<Located<'a>, ConfigError> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let document = Document { text, file };
        if text.trim().is_empty() {
            let what = "it is empty; write {} or delete the file";
            return Err(ConfigError::new(file, 1, what));
        }
        let raw: &RawValue =
            serde_json::from_str(text).map_err(|error| document.broken(&error, 0))?;
        Ok(Located { document, raw: raw.get() })
    }

    /// `before`: lines in front of the part that was read.
    fn broken(&self, error: &serde_json::Error, before: usize) -> ConfigError {
        let message = error.to_string();
        let what = message.rsplit_once(" at line ").map_or(message.as_str(), |(what, _)| what);
        let line = before + error.line().max(1);
        ConfigError::new(self.file, line, format!("this is not JSON: {what}"))
    }
}

impl<'a> Located<'a> {
    pub(crate) fn line(&self) -> usize {
        self.before() + 1
    }

    /// Ends of lines in front of it.
    fn before(&self) -> usize {
        let start = (self.raw.as_ptr().addr()).saturating_sub(self.document.text.as_ptr().addr());
        let front = self.document.text.as_bytes().get(..start).unwrap_or_default();
        front.iter().filter(|byte| **byte == b'\n').count()
    }

    pub(crate) fn wrong(&self, what: impl Into<String>) -> ConfigError {
        ConfigError::new(self.document.file, self.line(), what)
    }

    fn read<T: Deserialize<'a>>(&self) -> Result<T, ConfigError> {
        serde_json::from_str(self.raw).map_err(|error| self.document.broken(&error, self.before()))
    }

    pub(crate) fn json(&self) -> Result<Value, ConfigError> {
        self.read()
    }

    /// As it is written.
    pub(crate) fn raw(&self) -> &'a str {
        self.raw
    }

    pub(crate) fn is_object(&self) -> bool {
        self.raw.starts_with('{')
    }

    pub(crate) fn is_list(&self) -> bool {
        self.raw.starts_with('[')
    }

    /// What a person wrote, for an error about it.
    pub(crate) fn found(&self) -> String {
        let shown: String = self.raw.chars().take(40).collect();
        let more = if shown.len() < self.raw.len() { "…" } else { "" };
        format!("found {shown}{more}")
    }

    pub(crate) fn is_null(&self) -> bool {
        self.raw == "null"
    }

    /// Says something: not `null`, `false`, `{}`, `[]` or an empty text.
    pub(crate) fn is_set(&self) -> bool {
        let bare: String = self.raw.chars().filter(|c| !c.is_whitespace()).take(6).collect();
        !matches!(bare.as_str(), "null" | "false" | "{}" | "[]" | "\"\"")
    }

    /// `name` is what errors call it.
    pub(crate) fn object(&self, name: &str) -> Result<Vec<(String, Located<'a>)>, ConfigError> {
        if !self.is_object() {
            return Err(self.wrong(format!("{name} must be an object; write {{ … }}")));
        }
        let Pairs(pairs) = self.read()?;
        let mut found: Vec<(String, Located<'a>)> = Vec::with_capacity(pairs.len());
        let mut seen = std::collections::HashSet::new();
        for (key, raw) in pairs {
            let value = Located { document: self.document, raw: raw.get() };
            if !seen.insert(key.clone()) {
                return Err(value.wrong(format!("\"{key}\" is there twice; keep one")));
            }
            found.push((key, value));
        }
        Ok(found)
    }

    pub(crate) fn list(&self, name: &str) -> Result<Vec<Located<'a>>, ConfigError> {
        if !self.is_list() {
            return Err(self.wrong(format!("{name} must be a list; write [ … ]")));
        }
        let items: Vec<&RawValue> = self.read()?;
        Ok(items
            .into_iter()
            .map(|raw| Located { document: self.document, raw: raw.get() })
            .collect())
    }

    pub(crate) fn text(&self, name: &str) -> Result<String, ConfigError> {
        if !self.raw.starts_with('"') {
            return Err(self.wrong(format!("{name} must be a string; write \"…\"")));
        }
        self.read()
    }

    pub(crate) fn number(&self, name: &str) -> Result<u64, ConfigError> {
        let number = serde_json::from_str(self.raw);
        number.map_err(|_| self.wrong(format!("{name} must be a whole number")))
    }

    /// A string, a number or a boolean, as the string that an environment variable would contain.
    pub(crate) fn scalar(&self) -> Option<String> {
        match self.raw.as_bytes().first()? {
            b'"' => self.read().ok(),
            b'{' | b'[' | b'n' => None,
            _ => Some(self.raw.to_owned()),
        }
    }
}

struct Pairs<'a>(Vec<(String, &'a RawValue)>);
struct PairsVisitor;

impl<'de> Deserialize<'de> for Pairs<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(PairsVisitor)
    }
}

impl<'de> Visitor<'de> for PairsVisitor {
    type Value = Pairs<'de>;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut pairs = Vec::new();
        while let Some(pair) = map.next_entry()? {
            pairs.push(pair);
        }
        Ok(Pairs(pairs))
    }
}
