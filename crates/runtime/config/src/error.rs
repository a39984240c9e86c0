//! What is wrong with a file, and where.

use std::path::{Path, PathBuf};

/// Displays as `FILE:LINE: what, what to do`, in one line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", self.shown())]
pub struct ConfigError {
    pub file: PathBuf,
    pub line: Option<usize>,
    pub what: String,
}

/// Characters of a message.
const MOST: usize = 600;

impl ConfigError {
    pub fn new(file: &Path, line: impl Into<Option<usize>>, what: impl Into<String>) -> Self {
        ConfigError { file: file.to_owned(), line: line.into(), what: what.into() }
    }

    fn shown(&self) -> String {
        let place = match self.line {
            Some(line) => format!("{}:{line}", self.file.display()),
            None => self.file.display().to_string(),
        };
        format!("{}: {}", one_line(&place), one_line(&self.what))
    }
}

/// Nothing in it moves the cursor or begins a line.
pub(crate) fn one_line(text: &str) -> String {
    let mut shown: String = text
        .chars()
        .map(|c| if c.is_control() || is_invisible(c) { ' ' } else { c })
        .take(MOST)
        .collect();
    if text.chars().nth(MOST).is_some() {
        shown.push('…');
    }
    shown
}

/// What is seen of it is all of it.
pub(crate) fn is_plain(text: &str) -> bool {
    !text.chars().any(|c| c.is_control() || is_invisible(c))
}

/// Characters that turn the direction of text or have no width.
fn is_invisible(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_is_one_bounded_line_that_obeys_nobody() {
        let file = Path::new("a\nb.yaml");
        assert_eq!(
            ConfigError::new(file, 3, "x\u{1b}[2J\r\ny\u{202e}").to_string(),
            "a b.yaml:3: x [2J  y "
        );
        assert_eq!(ConfigError::new(Path::new("f"), None, "x").to_string(), "f: x");
        let long = ConfigError::new(Path::new("f"), 1, "é".repeat(5000)).to_string();
        assert_eq!(long.chars().count(), "f:1: ".len() + MOST + 1);
    }
}
