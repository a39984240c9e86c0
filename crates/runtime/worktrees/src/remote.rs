//! The only calls of git that use the network: fetching a base, the branches of earlier attempts and branches to merge, and
//! pushing one of our own branches. Never forced, and nothing but `ostler/*` is ever pushed.
//!
//! How a remote is reached, the settings of the clone and of the user say: they name programs for that. Settings in
//! `config.worktree` do not count here either, because commands of other sessions may be able to write them.

use crate::error::WorktreeError;
use crate::git::{Git, GitCall};
use crate::object_id::ObjectId;
use crate::worktrees::{BRANCH_PREFIX, Worktree, Worktrees};

/// What was found on a remote.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fetched {
    /// The newest commit of the branch that is checked out here; none: the remote does not have it.
    pub base: Option<ObjectId>,
    /// Branches below `ostler/` whose names begin as asked for, as `remote/ostler/…`.
    pub branches: Vec<String>,
}

impl Worktrees {
    /// # Errors
    /// If git has no remote of this name, or the name cannot be part of a ref.
    pub async fn check_remote(&self, remote: &str) -> Result<(), WorktreeError> {
        let call = self.in_clone(&self.git, "list the remotes");
        let all = call.args(["remote"]).text().await?;
        match all.lines().any(|name| name == remote) && is_plain(remote) {
            true => Ok(()),
            false => Err(WorktreeError::NoRemote { name: remote.to_owned() }),
        }
    }

    /// A call that reads the settings of the clone, without those of a checkout.
    pub(crate) fn in_clone<'a>(&self, git: &'a Git, doing: &'static str) -> GitCall<'a> {
        git.on_tree(&self.repository.git_dir, &self.repository.top, doing)
    }

    /// Fetches the current branch and the branches of ours that begin with one of these.
    ///
    /// # Errors
    /// If the remote is unknown or cannot be reached.
    pub async fn fetch(&self, remote: &str, prefixes: &[String]) -> Result<Fetched, WorktreeError> {
        self.check_remote(remote).await?;
        let branch = self.current_branch().await?;
        let network = self.git.with_network();
        let listing = self.in_clone(&network, "look at the remote");
        let base_ref = format!("refs/heads/{branch}");
        let ours = prefixes.iter().map(|prefix| format!("refs/heads/{BRANCH_PREFIX}{prefix}*"));
        let listing = listing.args(["ls-remote", "--refs", "--", remote, &base_ref]).args(ours);
        let listed = listing.text().await?;
        let refs: Vec<&str> = listed.lines().filter_map(|line| line.split('\t').nth(1)).collect();
        if refs.is_empty() {
            return Ok(Fetched { base: None, branches: Vec::new() });
        }
        let kept =
            |name: &str| format!("refs/ostler/remotes/{remote}/{}", &name["refs/heads/".len()..]);
        let known: Vec<&str> =
            refs.into_iter().filter(|name| name.starts_with("refs/heads/")).collect();
        let specs = known.iter().map(|name| format!("+{name}:{}", kept(name)));
        let fetch = self.in_clone(&network, "fetch from the remote");
        let fetch = fetch.args(["fetch", "--quiet", "--no-tags", "--no-write-fetch-head"]);
        let fetch = fetch.args(["--no-recurse-submodules", "--refmap=", "--", remote]);
        fetch.args(specs).success().await?;
        let base = match known.contains(&base_ref.as_str()) {
            true => ObjectId::resolve(&self.git, &self.repository.top, &kept(&base_ref)).await?,
            false => None,
        };
        let mine = known.iter().filter(|name| **name != base_ref);
        Ok(Fetched { base, branches: mine.map(|name| kept(name)).collect() })
    }

    /// Pushes the branch of a tree.
    ///
    /// # Errors
    /// If the remote has something else under this name, is unknown or cannot be reached.
    pub async fn push(&self, tree: &Worktree, remote: &str) -> Result<(), WorktreeError> {
        self.check_remote(remote).await?;
        let reference = tree.record().reference();
        if !reference.starts_with(&format!("refs/heads/{BRANCH_PREFIX}")) {
            return Err(WorktreeError::RefMoved { reference });
        }
        let network = self.git.with_network();
        let call = self.in_clone(&network, "push the branch");
        let call = call.args(["push", "--quiet", "--no-verify", "--no-follow-tags", "--no-signed"]);
        let call = call.args(["--recurse-submodules=no", "--no-force", "--", remote]);
        call.arg(format!("{reference}:{reference}")).success().await.map(drop)
    }
}

/// Git accepts more in its settings than in the name of a ref.
fn is_plain(remote: &str) -> bool {
    let is_legal = |c: char| !c.is_control() && !c.is_whitespace() && !"*:?[\\^~{".contains(c);
    !remote.starts_with(['-', '.', '/']) && !remote.contains("..") && remote.chars().all(is_legal)
}
