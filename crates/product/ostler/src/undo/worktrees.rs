//! Worktrees of one repository share its directory. What lies there and belongs to another worktree than the session's
//! is left alone: somebody may have worked there while a command ran here.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

/// Of the files that lead from one place to another, which are short.
const MOST_BYTES: u64 = 4096;
const MOST_WORKTREES: usize = 1_000;

/// What belongs to other worktrees than the one that a directory is part of.
#[derive(Debug, Default)]
pub(super) struct OtherWorktrees {
    /// The directory that all of them share, and the one in it that is the directory's own.
    shared: Option<(PathBuf, PathBuf)>,
    /// What is checked out elsewhere: refs and their logs.
    refs: HashSet<PathBuf>,
}

impl OtherWorktrees {
    /// Nothing, unless the directory is part of a linked worktree.
    pub(super) fn of(cwd: &Path) -> Self {
        Self::find(cwd).unwrap_or_default()
    }

    fn find(cwd: &Path) -> Option<Self> {
        let link = cwd.ancestors().map(|folder| folder.join(".git")).find(|git| git.exists())?;
        let own = read(&link)?.strip_prefix("gitdir:")?.trim().to_owned();
        let own = link.parent()?.join(own).canonicalize().ok()?;
        let shared = own.join(read(&own.join("commondir"))?.trim()).canonicalize().ok()?;
        let folders = shared.join("worktrees").read_dir().into_iter().flatten().flatten();
        let others = folders.map(|entry| entry.path()).filter(|path| *path != own);
        let heads = others.take(MOST_WORKTREES).chain([shared.clone()]);
        let mut refs = HashSet::new();
        for text in heads.filter_map(|folder| read(&folder.join("HEAD"))) {
            if let Some(name) = text.strip_prefix("ref:").map(str::trim) {
                refs.extend([shared.join(name), shared.join("logs").join(name)]);
            }
        }
        Some(OtherWorktrees { shared: Some((shared, own)), refs })
    }

    pub(super) fn have(&self, path: &Path) -> bool {
        let Some((shared, own)) = &self.shared else { return false };
        let Ok(below) = path.strip_prefix(shared) else { return false };
        if path.starts_with(own) {
            return false;
        }
        let mut names = below.iter().filter_map(|name| name.to_str());
        match (names.next(), names.next()) {
            (Some("worktrees"), Some(_)) => true,
            (Some("logs"), Some("HEAD")) => true,
            (Some("refs"), Some("bisect" | "worktree" | "rewritten")) => true,
            (Some("index" | "sequencer" | "rebase-merge" | "rebase-apply"), _) => true,
            // HEAD, MERGE_HEAD, COMMIT_EDITMSG and so on.
            (Some(name), None) if name.bytes().all(|b| b.is_ascii_uppercase() || b == b'_') => true,
            _ => self.refs.contains(path),
        }
    }
}

fn read(path: &Path) -> Option<String> {
    let is_short = path.metadata().is_ok_and(|meta| meta.is_file() && meta.len() <= MOST_BYTES);
    is_short.then(|| std::fs::read_to_string(path).ok()).flatten()
}
