//! The project's own Rust files.

use std::fs;
use std::path::{Path, PathBuf};

pub struct Source {
    /// From the workspace's root.
    pub path: String,
    pub text: String,
}

impl Source {
    /// The directory's name below its layer.
    pub fn krate(&self) -> &str {
        let below = self.path.strip_prefix("crates/");
        below.and_then(|rest| rest.split('/').nth(1)).unwrap_or("xtask")
    }

    pub fn is_test(&self) -> bool {
        self.path.contains("/tests/")
            || self.path.contains("/examples/")
            || self.path.contains("/benches/")
            || self.path.ends_with("_tests.rs")
            || self.path.ends_with("/test_ground.rs")
            || self.path.ends_with("/test_tools.rs")
            || self.krate() == "testkit"
    }

    /// Without the tests at its end.
    pub fn own(&self) -> impl Iterator<Item = (usize, &str)> {
        let inline_tests = |line: &str| line.trim_start() == "#[cfg(test)]";
        let lines: Vec<&str> = self.text.lines().collect();
        let end = match lines.iter().rposition(|line| inline_tests(line)) {
            Some(at)
                if lines
                    .get(at + 1)
                    .is_some_and(|next| next.starts_with("mod ") && next.ends_with('{')) =>
            {
                at
            }
            _ => lines.len(),
        };
        lines.into_iter().take(end).enumerate().map(|(n, line)| (n + 1, line))
    }
}

pub fn rust_sources(root: &Path) -> Vec<Source> {
    let mut found = Vec::new();
    for folder in ["crates", "xtask"] {
        collect(&root.join(folder), &mut found);
    }
    found.sort();
    let read = |path: PathBuf| {
        let text = fs::read_to_string(&path).ok()?;
        let path = path.strip_prefix(root).ok()?.to_str()?.to_owned();
        Some(Source { path, text })
    };
    found.into_iter().filter_map(read).collect()
}

fn collect(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            collect(&path, found);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            found.push(path);
        }
    }
}
