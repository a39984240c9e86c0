//! Reads YAML that people write: settings, scripts, and the first lines of Markdown files.
//!
//! Invariants
//! - **A mistake has its line.**
//! - **One copy of the parser**: a parser that knows each type it reads would be compiled once per type, and was more
//!   than a megabyte of the program. This one sees every type through the same erased interface.

use serde::de::{DeserializeOwned, Error as _};
use serde_saphyr::{Error, Options};

/// What is wrong with a text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what}, in line {line}")]
pub struct YamlError {
    /// The first line is 1.
    pub line: usize,
    /// The parser's message, without the place and without advice for programmers.
    pub what: String,
}

/// # Errors
/// If the text is no YAML, exceeds the limits of the options, or does not fit the type.
pub fn read<T: DeserializeOwned>(text: &str, mut options: Options) -> Result<T, YamlError> {
    options.with_snippet = false;
    let mut found = None;
    read_with(text, options, &mut |yaml| {
        found = Some(erased_serde::deserialize(yaml)?);
        Ok(())
    })?;
    found.ok_or_else(|| YamlError { line: 1, what: "it is empty".into() })
}

type Reader<'a> =
    dyn FnMut(&mut dyn erased_serde::Deserializer<'_>) -> Result<(), erased_serde::Error> + 'a;

fn read_with(text: &str, options: Options, reader: &mut Reader<'_>) -> Result<(), YamlError> {
    let read = |yaml: serde_saphyr::Deserializer<'_, '_>| {
        let mut yaml = <dyn erased_serde::Deserializer<'_>>::erase(yaml);
        reader(&mut yaml).map_err(Error::custom)
    };
    let done = serde_saphyr::with_deserializer_from_str_with_options(text, options, read);
    done.map_err(|error| {
        let line = error.location().and_then(|place| usize::try_from(place.line()).ok());
        let message = error.without_snippet().to_string();
        let (what, inner) = innermost(&message);
        let what = what.split(", set DuplicateKeyPolicy").next().unwrap_or(what);
        // The library's advice is for those who wrote the type.
        let what = match what.contains("use Option<") {
            true => "a name or a text is missing".to_owned(),
            false => what.to_owned(),
        };
        YamlError { line: inner.or(line).unwrap_or(1).max(1), what }
    })
}

/// The message and its place. An error passes every node around it, and each adds where it begins, so the first place is
/// the one that is meant.
fn innermost(message: &str) -> (&str, Option<usize>) {
    const PLACE: &str = " at line ";
    let places = message.match_indices(PLACE).filter_map(|(at, _)| {
        let (line, rest) = message.get(at + PLACE.len()..)?.split_once(", column ")?;
        rest.starts_with(|c: char| c.is_ascii_digit()).then_some(())?;
        Some((message.get(..at)?, line.parse().ok()?))
    });
    places.map(|(what, line)| (what, Some(line))).next().unwrap_or((message, None))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::Deserialize;
    use serde_saphyr::Spanned;

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct File {
        #[serde(default)]
        entries: Vec<Spanned<Entry>>,
    }

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Entry {
        count: u64,
    }

    fn file(text: &str) -> Result<File, YamlError> {
        read(text, Options::default())
    }

    #[test]
    fn values_keep_their_lines() {
        let read = file("entries:\n- count: 1\n\n- count: 2\n").unwrap();
        let found: Vec<_> =
            read.entries.iter().map(|entry| (entry.referenced.line(), entry.value.count)).collect();
        assert_eq!(found, [(2, 1), (4, 2)]);
    }

    #[test]
    fn mistakes_have_their_own_line_however_deep_they_are() {
        for (text, line, what) in [
            ("entries:\n- count: 1\n- count: 2\n  amount: 3\n", 4, "unknown field `amount`"),
            ("entries:\n- count: 1\n- count: many\n", 3, "invalid u64"),
            ("entries: []\nother: 1\n", 2, "unknown field `other`"),
            ("entries:\n- count: 1\n  count: 2\n", 3, "duplicate mapping key: count"),
            ("entries:\n\t- count: 1\n", 2, ""),
            (": {", 1, "a name or a text is missing"),
        ] {
            let error = file(text).unwrap_err();
            assert_eq!(error.line, line, "{text:?} gives {error}");
            assert!(error.what.starts_with(what), "{text:?} gives {error}");
            assert!(!error.what.contains("DuplicateKeyPolicy"), "{error}");
        }
    }

    #[test]
    fn a_place_is_read_only_where_one_is() {
        assert_eq!(innermost("no place at line one"), ("no place at line one", None));
        assert_eq!(innermost("x at line 7, column 2 at line 1, column 1"), ("x", Some(7)));
    }
}
