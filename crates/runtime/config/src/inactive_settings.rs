//! What is configured and not run yet: one line a kind, with where it was found.

use crate::error::one_line;
use std::path::{Path, PathBuf};

/// Places that a line names.
const MOST_PLACES: usize = 6;

/// Where something was found, and how many there are, if that is known.
type SettingPlace = (PathBuf, Option<usize>);

/// By kind ("MCP servers"), in the order in which they were found.
#[derive(Default)]
pub(crate) struct InactiveSettings {
    kinds: Vec<(String, Vec<SettingPlace>)>,
}

impl InactiveSettings {
    pub(crate) fn add(&mut self, kind: &str, place: &Path, count: Option<usize>) {
        let place = (place.to_owned(), count);
        match self.kinds.iter_mut().find(|(known, _)| known == kind) {
            Some((_, places)) => places.push(place),
            None => self.kinds.push((kind.to_owned(), vec![place])),
        }
    }

    pub(crate) fn lines(&self) -> Vec<String> {
        self.kinds.iter().map(|(kind, places)| line(kind, places)).collect()
    }
}

fn line(kind: &str, places: &[SettingPlace]) -> String {
    let place = |(path, count): &SettingPlace| match count {
        Some(count) => format!("{} ({count})", path.display()),
        None => path.display().to_string(),
    };
    let mut named = places.iter().take(MOST_PLACES).map(place).collect::<Vec<_>>().join(", ");
    let more = places.len().saturating_sub(MOST_PLACES);
    if more > 0 {
        named += &format!(" and {more} more");
    }
    let verb = if kind.ends_with('s') { "are" } else { "is" };
    one_line(&format!("{kind} {verb} not supported yet: {named}"))
}

#[cfg(test)]
#[path = "inactive_settings_tests.rs"]
mod tests;
