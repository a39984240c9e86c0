//! The files that git's configuration leads to: further settings, and other hooks. What is read here only decides what is
//! protected besides, so settings that are hard to read are read as far as possible.

use crate::read_small;
use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};

/// Of a file that git reads.
const MOST_BYTES: u64 = 1 << 20;
/// Files that are read for one repository. Git itself stops at ten levels.
const MOST_FILES: usize = 50;

/// What the configuration of a repository leads to inside the roots. The person's own settings count, too.
pub(super) fn named_by(folder: &Path, roots: &[PathBuf], home: &Path) -> Vec<PathBuf> {
    let own = [home.join(".gitconfig"), home.join(".config/git/config")];
    let of_repository = ["config", "config.worktree"].map(|name| folder.join(name));
    let mut waiting: Vec<PathBuf> = of_repository.into_iter().chain(own).collect();
    let (mut seen, mut hooks, mut found) = (BTreeSet::new(), Vec::new(), Vec::new());
    let mut top = folder.parent().map(Path::to_path_buf);
    while let Some(file) = waiting.pop() {
        if !file.is_absolute() || seen.len() >= MOST_FILES || !seen.insert(file.clone()) {
            continue;
        }
        let bytes = read_small(&file, MOST_BYTES).unwrap_or_default();
        for (section, key, value) in settings(&String::from_utf8_lossy(&bytes)) {
            let path = match value.strip_prefix("~/") {
                Some(below) => home.join(below),
                None => PathBuf::from(value),
            };
            match (section.as_str(), key.as_str()) {
                ("include" | "includeif", "path") => {
                    let included = file.parent().map(|base| plain(&base.join(path)));
                    found.extend(included.clone());
                    waiting.extend(included);
                }
                ("core", "hookspath") => hooks.push(path),
                ("core", "worktree") if file.starts_with(folder) => {
                    top = Some(plain(&folder.join(path)));
                }
                _ => {}
            }
        }
    }
    // A mount makes a directory of a missing name that ends with a slash.
    let in_top = |hooks: &PathBuf| top.as_ref().map(|top| plain(&top.join(hooks)).join(""));
    found.extend(hooks.iter().filter_map(in_top));
    found.retain(|path| roots.iter().any(|root| path.starts_with(root) && path != root));
    found
}

/// The files that a repository's directory says it belongs to.
pub(super) fn worktree_of(folder: &Path) -> Option<PathBuf> {
    let bytes = read_small(&folder.join("config"), MOST_BYTES)?;
    let all = settings(&String::from_utf8_lossy(&bytes));
    let mut named = all.into_iter().filter(|(s, key, _)| s == "core" && key == "worktree");
    named.next_back().map(|(_, _, path)| plain(&folder.join(path)))
}

/// Section, key and value of every setting, in the order of the file. Subsections are left out.
fn settings(text: &str) -> Vec<(String, String, String)> {
    // A value continues in the next line after a backslash.
    let text = text.replace("\\\r\n", "").replace("\\\n", "");
    let mut section = String::new();
    let mut found = Vec::new();
    for line in text.lines() {
        let mut line = line.trim();
        if let Some(head) = line.strip_prefix('[') {
            let end = end_of_head(head);
            let name = head.split([' ', '\t', '.', '"', ']']).next().unwrap_or_default();
            section = name.to_ascii_lowercase();
            // Git takes what follows the bracket for a setting.
            line = head.get(end..).unwrap_or_default().trim_start();
        }
        if let Some((key, value)) = line.split_once('=') {
            found.push((section.clone(), key.trim().to_ascii_lowercase(), unquoted(value)));
        }
    }
    found
}

/// Behind the bracket that closes it; one in quotes does not.
fn end_of_head(head: &str) -> usize {
    let mut in_quotes = false;
    let mut escaped = false;
    for (at, c) in head.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => in_quotes = !in_quotes,
            ']' if !in_quotes => return at + 1,
            _ => {}
        }
    }
    head.len()
}

fn unquoted(value: &str) -> String {
    let (mut out, mut in_quotes) = (String::new(), false);
    let mut chars = value.trim().chars();
    while let Some(c) = chars.next() {
        match c {
            '"' => in_quotes = !in_quotes,
            '\\' => out.extend(chars.next()),
            '#' | ';' if !in_quotes => break,
            c => out.push(c),
        }
    }
    out.trim_end().to_owned()
}

/// Without `..` and `.`, by its text.
fn plain(path: &Path) -> PathBuf {
    let mut found = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                found.pop();
            }
            Component::CurDir => {}
            part => found.push(part),
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_found_wherever_git_would_find_them() {
        let dir = tempfile::tempdir().unwrap();
        let base = dir.path().canonicalize().unwrap();
        let (root, home) = (base.join("home/ws"), base.join("home"));
        let git = root.join(".git");
        std::fs::create_dir_all(git.join("modules/m")).unwrap();
        let write = |path: PathBuf, text: &str| std::fs::write(path, text).unwrap();
        write(
            git.join("config"),
            "[alias]\n\tx = !f() { echo \\\"a\\\\b\\\"; }; \\\n  f\n[include]\n\tpath = \"../team.cfg\" ; ours\n\
             [core] hooksPath = ./.husky/_\n[includeIf \"gitdir:a]b\"] path = ~/ws/of-home.cfg\n[include]\n\tpath = /etc/x\n",
        );
        write(root.join("team.cfg"), "[Include]\nPath=sub/more.cfg\npath = ../../outside.cfg\n");
        write(git.join("config.worktree"), "[include]\n\tpath = wt.cfg\n");
        write(
            home.join(".gitconfig"),
            "[core]\n\thookspath = .githooks\n[include]\n\tpath = ws/own.cfg\n",
        );
        write(git.join("modules/m/config"), "[core]\n\tworktree = ../../../m\n");
        let of = |folder: &Path| {
            let found = named_by(folder, std::slice::from_ref(&root), &home);
            let front = format!("{}/", root.display());
            let name = |path: &PathBuf| path.to_str().unwrap().replace(&front, "");
            let mut names: Vec<String> = found.iter().map(name).collect();
            names.sort();
            names
        };
        assert_eq!(
            of(&git),
            [
                ".git/wt.cfg",
                ".githooks/",
                ".husky/_/",
                "of-home.cfg",
                "own.cfg",
                "sub/more.cfg",
                "team.cfg"
            ]
        );
        assert_eq!(of(&git.join("modules/m")), ["m/.githooks/", "own.cfg"]);
        // One that includes itself has an end.
        write(root.join("team.cfg"), "[include]\npath=team.cfg\n");
        assert!(of(&git).contains(&"team.cfg".to_owned()));
    }
}
