//! The front matter of a rule: for which paths it holds.

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use serde::Deserialize;

/// Patterns that one rule may have.
const MOST: usize = 50;

#[derive(Deserialize)]
struct Front {
    #[serde(default)]
    paths: Option<Paths>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Paths {
    One(String),
    Many(Vec<String>),
}

pub(crate) struct Rule<'a> {
    /// None: it always holds.
    pub(crate) paths: Option<GlobSet>,
    pub(crate) text: &'a str,
    pub(crate) wrong: Option<String>,
}

/// A rule whose patterns cannot be used holds always: it is better said than forgotten.
pub(crate) fn rule(whole: &str) -> Rule<'_> {
    let always = |text, wrong| Rule { paths: None, text, wrong };
    let Some(rest) = whole.strip_prefix("---\n").or_else(|| whole.strip_prefix("---\r\n")) else {
        return always(whole, None);
    };
    let Some((front, text)) = split(rest) else {
        return always(whole, Some("its front matter does not end".to_owned()));
    };
    let paths = match serde_saphyr::from_str::<Front>(front) {
        Ok(front) => front.paths,
        Err(_) => return always(text, Some("its front matter is no valid YAML".to_owned())),
    };
    let patterns: Vec<String> = match paths {
        None => return always(text, None),
        Some(Paths::One(line)) => line.split(',').map(|one| one.trim().to_owned()).collect(),
        Some(Paths::Many(all)) => all,
    };
    match set(&patterns) {
        Ok(paths) => Rule { paths: Some(paths), text, wrong: None },
        Err(wrong) => always(text, Some(wrong)),
    }
}

fn split(rest: &str) -> Option<(&str, &str)> {
    let mut at = 0;
    for line in rest.split_inclusive('\n') {
        if line.trim_end() == "---" {
            return Some((rest.get(..at)?, rest.get(at + line.len()..)?));
        }
        at += line.len();
    }
    None
}

fn set(patterns: &[String]) -> Result<GlobSet, String> {
    let mut set = GlobSetBuilder::new();
    for pattern in patterns.iter().take(MOST) {
        let glob =
            GlobBuilder::new(pattern.trim_start_matches("./")).literal_separator(true).build();
        set.add(glob.map_err(|error| format!("the pattern {pattern} is not valid: {error}"))?);
    }
    set.build().map_err(|error| error.to_string())
}
