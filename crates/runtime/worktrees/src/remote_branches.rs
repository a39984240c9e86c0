//! Branches that workers on other hosts have pushed, for the merge queue.
//!
//! Whoever can push to the remote chooses their names and what they are at, at any time. So a branch is only ever used at
//! the commit at which it was listed, its name has to be one that we give, and it is fetched to a ref of its own.

use crate::error::WorktreeError;
use crate::object_id::ObjectId;
use crate::worktrees::{BRANCH_PREFIX, Worktrees};
use serde::Serialize;
use std::collections::HashSet;

/// Where the branches are while they are merged.
const INCOMING: &str = "refs/ostler/incoming";
/// Branches that are fetched at once.
pub const MOST_FETCHED: usize = 1_000;
/// Longer than any name that we give.
const LONGEST_NAME: usize = 60;
/// Bytes of one file that git writes.
const MOST_PACK: u64 = 8 << 30;
/// How often the remote may change while it is fetched from.
const MOST_TRIES: u32 = 3;

/// A branch of ours on a remote, as it was listed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RemoteBranch {
    /// Without `ostler/`.
    pub name: String,
    pub commit: ObjectId,
}

impl RemoteBranch {
    /// Without `refs/heads/`.
    pub fn branch(&self) -> String {
        format!("{BRANCH_PREFIX}{}", self.name)
    }
}

/// The branches `ostler/*` of a remote.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RemoteBranches {
    pub branches: Vec<RemoteBranch>,
    /// Names that none of our branches has, as the remote gives them.
    pub strange: Vec<String>,
}

impl Worktrees {
    /// # Errors
    /// If the remote is unknown or cannot be reached.
    pub async fn remote_branches(&self, remote: &str) -> Result<RemoteBranches, WorktreeError> {
        self.check_remote(remote).await?;
        let network = self.git.with_network();
        let call = self.in_clone(&network, "look at the remote");
        let call = call.args(["ls-remote", "--refs", "--", remote]);
        let listed = call.arg(format!("refs/heads/{BRANCH_PREFIX}*")).text().await?;
        let (mut found, mut names) = (RemoteBranches::default(), HashSet::new());
        for (commit, reference) in listed.lines().filter_map(|line| line.split_once('\t')) {
            // The pattern also fits the end of longer names.
            let ours =
                reference.strip_prefix("refs/heads/").and_then(|it| it.strip_prefix(BRANCH_PREFIX));
            let Some(name) = ours else { continue };
            // A server that lists a name twice means no good.
            let is_ours = is_name(name) && names.insert(name);
            match ObjectId::parse(commit).filter(|_| is_ours) {
                Some(commit) => found.branches.push(RemoteBranch { name: name.to_owned(), commit }),
                None => found.strange.push(format!("{BRANCH_PREFIX}{name}")),
            }
        }
        Ok(found)
    }

    /// Fetches branches as they were listed, and gives those that are here now, at that commit. The others have changed on
    /// the remote in the meantime.
    ///
    /// # Errors
    /// If the remote cannot be reached or keeps changing, or if these are more than [`MOST_FETCHED`].
    pub async fn fetch_branches(
        &self,
        remote: &str,
        listed: &[RemoteBranch],
    ) -> Result<Vec<RemoteBranch>, WorktreeError> {
        let doing = "fetch the branches";
        if listed.len() > MOST_FETCHED {
            let why = format!("these are more than {MOST_FETCHED}");
            return Err(WorktreeError::Git { doing, why });
        }
        self.check_remote(remote).await?;
        let mut wanted = listed.to_vec();
        let mut tries = 0;
        while !wanted.is_empty() {
            match self.try_fetch(remote, &wanted).await {
                Ok(()) => break,
                Err(error) => {
                    tries += 1;
                    let now = self.remote_branches(remote).await?.branches;
                    let before = wanted.len();
                    wanted.retain(|branch| now.contains(branch));
                    if wanted.len() == before || tries == MOST_TRIES {
                        return Err(error);
                    }
                }
            }
        }
        let mut fetched = Vec::new();
        for branch in wanted {
            let name = reference(remote, &branch.name);
            let at = ObjectId::resolve(&self.git, &self.repository.top, &name).await?;
            if at.as_ref() == Some(&branch.commit) {
                fetched.push(branch);
            }
        }
        Ok(fetched)
    }

    async fn try_fetch(&self, remote: &str, wanted: &[RemoteBranch]) -> Result<(), WorktreeError> {
        let network = self.git.with_network();
        let fetch = self.in_clone(&network, "fetch the branches").writing_at_most(MOST_PACK);
        let fetch = fetch.args(["fetch", "--quiet", "--no-tags", "--no-write-fetch-head"]);
        let fetch =
            fetch.args(["--no-recurse-submodules", "--no-prune", "--refmap=", "--", remote]);
        let spec = |branch: &RemoteBranch| {
            format!("+refs/heads/{}:{}", branch.branch(), reference(remote, &branch.name))
        };
        fetch.args(wanted.iter().map(spec)).success().await.map(drop)
    }

    /// Removes the refs of fetched branches, those of interrupted merges included. What was merged is part of the target.
    ///
    /// # Errors
    /// If git fails.
    pub async fn forget_fetched(&self, remote: &str) -> Result<(), WorktreeError> {
        let doing = "remove the refs of fetched branches";
        let call = self.git.at(&self.repository.top, doing);
        let call = call.args(["for-each-ref", "--format=delete %(refname)"]);
        let refs = call.arg(format!("{INCOMING}/{remote}/")).success().await?.stdout;
        if refs.is_empty() {
            return Ok(());
        }
        let call = self.git.at(&self.repository.top, doing).input(refs);
        call.args(["update-ref", "--stdin"]).success().await.map(drop)
    }

    /// Whether a branch has this commit already. A commit that is not here is in none.
    ///
    /// # Errors
    /// If git fails.
    pub async fn is_merged(&self, commit: &ObjectId, branch: &str) -> Result<bool, WorktreeError> {
        let Some(tip) = self.tip(branch).await? else { return Ok(false) };
        let call = self.git.at(&self.repository.top, "compare two commits");
        let call = call.args(["merge-base", "--is-ancestor", commit.as_str(), tip.as_str()]);
        Ok(call.run().await?.code == 0)
    }
}

fn reference(remote: &str, name: &str) -> String {
    format!("{INCOMING}/{remote}/{name}")
}

/// As `names.rs` makes them.
fn is_name(name: &str) -> bool {
    let is_legal = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    (1..=LONGEST_NAME).contains(&name.len()) && !name.starts_with('-') && name.bytes().all(is_legal)
}

#[cfg(test)]
mod tests {
    use super::is_name;

    #[test]
    fn only_names_that_we_give_are_used() {
        for name in ["3f2a81c09e4d-1-port-the-parser", "merge-0123456789ab-2", "x", "1-1"] {
            assert!(is_name(name), "{name}");
        }
        let long = "x".repeat(61);
        for name in [
            "",
            "-x",
            "a/b",
            "a b",
            "X-1",
            "ü",
            "a:b",
            "a*",
            "a\u{1b}[2J",
            "a.lock",
            "a_b",
            long.as_str(),
        ] {
            assert!(!is_name(name), "{name}");
        }
    }
}
