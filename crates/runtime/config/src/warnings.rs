//! Warnings about one file: the first few, and how many more there are.

use crate::error::one_line;
use std::path::Path;

/// Warnings that are shown of one file.
const MOST: usize = 10;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Warnings {
    first: Vec<String>,
    more: usize,
}

impl Warnings {
    pub(crate) fn push(&mut self, file: &Path, line: impl Into<Option<usize>>, what: &str) {
        if self.first.len() == MOST {
            self.more += 1;
            return;
        }
        let place = match line.into() {
            Some(line) => format!("{}:{line}", file.display()),
            None => file.display().to_string(),
        };
        self.first.push(one_line(&format!("{place}: {what}")));
    }

    /// One line each; `file` is the one they are about.
    pub fn lines(&self, file: &Path) -> Vec<String> {
        let mut lines = self.first.clone();
        if self.more > 0 {
            lines.push(one_line(&format!("{}: and {} more warnings", file.display(), self.more)));
        }
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_full_of_mistakes_is_told_of_in_a_few_lines() {
        let file = Path::new("f.json");
        let mut warnings = Warnings::default();
        assert_eq!(warnings.lines(file), [] as [&str; 0]);
        (1..=MOST).for_each(|line| warnings.push(file, line, "odd"));
        assert_eq!(warnings.lines(file).len(), MOST);
        assert_eq!(warnings.lines(file).last().unwrap(), "f.json:10: odd");
        (0..500).for_each(|_| warnings.push(file, None, "odd\n"));
        assert_eq!(warnings.lines(file).len(), MOST + 1);
        assert_eq!(warnings.lines(file).last().unwrap(), "f.json: and 500 more warnings");
    }
}
