//! A pattern for file names below a directory.

use globset::{GlobBuilder, GlobMatcher};
use std::path::Path;

/// Longer ones are refused before anything is compiled.
const MAX_LENGTH: usize = 1_000;

/// `*.rs` matches at any depth, `src/*.rs` from the directory on, `**` crosses directories, `!…` turns it round.
pub struct NamePattern {
    matcher: GlobMatcher,
    only_name: bool,
    negated: bool,
}

impl NamePattern {
    pub fn new(text: &str) -> Result<Self, String> {
        if text.len() > MAX_LENGTH {
            return Err(format!(
                "the pattern is too long: {} bytes, the limit is {MAX_LENGTH}",
                text.len()
            ));
        }
        let (negated, text) = match text.strip_prefix('!') {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        let only_name = !text.contains('/');
        let text = text.trim_start_matches("./").trim_start_matches('/');
        let glob = GlobBuilder::new(text).literal_separator(true).empty_alternates(true).build();
        let matcher = glob.map_err(|error| error.to_string())?.compile_matcher();
        Ok(NamePattern { matcher, only_name, negated })
    }

    /// As a name in its own directory, never at any depth.
    pub fn anchored(mut self) -> Self {
        self.only_name = false;
        self
    }

    pub fn matches(&self, below: &Path) -> bool {
        let hit = match (self.only_name, below.file_name()) {
            (true, Some(name)) => self.matcher.is_match(name),
            _ => self.matcher.is_match(below),
        };
        hit != self.negated
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns() {
        for (pattern, path, expected) in [
            ("*.rs", "a.rs", true),
            ("*.rs", "src/deep/a.rs", true),
            ("*.rs", "a.rsx", false),
            ("src/*.rs", "src/a.rs", true),
            ("src/*.rs", "src/deep/a.rs", false),
            ("src/**/*.rs", "src/a.rs", true),
            ("src/**/*.rs", "src/deep/er/a.rs", true),
            ("**/*.rs", "a.rs", true),
            ("**", "a/b", true),
            ("./src/*", "src/a", true),
            ("*.{ts,tsx}", "x/a.tsx", true),
            ("*.{ts,}", "a.", true),
            ("a?c", "abc", true),
            ("[ab].c", "b.c", true),
            ("!*.md", "a.md", false),
            ("!*.md", "a.rs", true),
            (".*", "sub/.env", true),
        ] {
            let matched = NamePattern::new(pattern).unwrap().matches(Path::new(path));
            assert_eq!(matched, expected, "{pattern} {path}");
        }
        assert!(!NamePattern::new("*.rs").unwrap().anchored().matches(Path::new("src/a.rs")));
    }

    #[test]
    fn wrong_patterns_and_bombs() {
        assert!(NamePattern::new("[a").is_err());
        assert!(NamePattern::new("{a").is_err());
        assert!(NamePattern::new(&"*".repeat(2_000)).is_err());
        let bomb = NamePattern::new(&"{a,b}".repeat(40)).unwrap();
        assert!(bomb.matches(Path::new(&"ab".repeat(20))));
    }
}
