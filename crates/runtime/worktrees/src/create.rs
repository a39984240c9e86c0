//! Creating a tree: a record first, then the branch, then the files. Whatever fails is rolled back; what a killed process
//! leaves behind is recognized by its record.

use crate::error::WorktreeError;
use crate::files;
use crate::git::Git;
use crate::include;
use crate::names::alternates;
use crate::object_id::ObjectId;
use crate::owner::{Owner, OwnerKind, ProcessMark};
use crate::registry::{Stage, TreeRecord, VERSION};
use crate::repository::{LOOK, StartPoint, TreeWarning, count_changes};
use crate::worktrees::{BRANCH_PREFIX, Registration, TreeCommands, Worktree, Worktrees};
use std::fs::File;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// What a tree is made for.
pub struct NewTree<'a> {
    /// Any text; the tree's name is made of it.
    pub name: &'a str,
    pub owner: Owner,
    /// The content of `.worktreeinclude`, if the caller trusts it; see [`crate::read_include_file`].
    pub include: Option<&'a str>,
    pub commands: Option<&'a dyn TreeCommands>,
    pub now_ms: u64,
}

impl Worktrees {
    /// Creates a tree on a branch of its own, at the commit that is checked out here. Changes that are not committed
    /// stay where they are and are not part of it.
    ///
    /// # Errors
    /// A typed refusal before anything was created, or a failure after which nothing is left.
    pub async fn create(&self, new: NewTree<'_>) -> Result<Worktree, WorktreeError> {
        let start = self.repository.start_point(&self.git).await?;
        self.create_from(new, start).await
    }

    /// What a person should know before trees are made here, such as changes that will not be in them.
    ///
    /// # Errors
    /// A typed refusal, as creating a tree would give it.
    pub async fn preflight(&self) -> Result<Vec<TreeWarning>, WorktreeError> {
        Ok(self.repository.start_point(&self.git).await?.warnings)
    }

    /// Creates a tree as [`Worktrees::create`] does, but at another commit.
    ///
    /// # Errors
    /// As for [`Worktrees::create`].
    pub async fn create_at(
        &self,
        new: NewTree<'_>,
        commit: ObjectId,
    ) -> Result<Worktree, WorktreeError> {
        let start = self.repository.start_point(&self.git).await?;
        self.create_from(new, StartPoint { commit, ..start }).await
    }

    async fn create_from(
        &self,
        new: NewTree<'_>,
        start: StartPoint,
    ) -> Result<Worktree, WorktreeError> {
        let git = self.safe_git().await?;
        let (record, lock) = self.reserve(&new, &start).await?;
        let warnings = start.warnings;
        let mut tree = Worktree { record, _lock: lock, warnings, included: Vec::new() };
        match self.fill(&git, &mut tree, &new).await {
            Ok(()) => Ok(tree),
            Err(error) => {
                // The first failure is the one to report; what stays is found by its record.
                let _ = self.roll_back(tree).await;
                Err(error)
            }
        }
    }

    /// Chooses a name that is free as a directory, as a branch and as a record, and makes the branch. Others may make
    /// branches at the same time, so the branch is created only if it does not exist.
    async fn reserve(
        &self,
        new: &NewTree<'_>,
        start: &StartPoint,
    ) -> Result<(TreeRecord, File), WorktreeError> {
        if self.tip(BRANCH_PREFIX.trim_end_matches('/')).await?.is_some() {
            return Err(WorktreeError::PrefixTaken);
        }
        let lock = self.registry.lock().await?;
        let known = self.registrations().await?;
        let port_base = self.registry.free_ports(&lock)?;
        for name in alternates(new.name) {
            if !self.is_free(&name, &known).await? {
                continue;
            }
            let record = self.first_record(name, port_base, new, start);
            let Some(file) = self.registry.take(&lock, &record.name, None)? else { continue };
            if let Err(error) = self.registry.write(&record) {
                self.registry.forget(&lock, &record.name)?;
                return Err(error);
            }
            match self.move_ref(&record.reference(), Some(&start.commit), None).await {
                Ok(()) => return Ok((record, file)),
                Err(WorktreeError::RefMoved { .. }) => self.registry.forget(&lock, &record.name)?,
                Err(error) => {
                    self.registry.forget(&lock, &record.name)?;
                    return Err(error);
                }
            }
        }
        Err(WorktreeError::NoFreeName { name: new.name.to_owned() })
    }

    async fn is_free(&self, name: &str, known: &[Registration]) -> Result<bool, WorktreeError> {
        let path = self.registry.tree_path(name);
        let is_taken = files::exists(&path)
            || known.iter().any(|found| found.path == path)
            || self.registry.read(name).map_or(true, |record| record.is_some());
        Ok(!is_taken && self.tip(&format!("{BRANCH_PREFIX}{name}")).await?.is_none())
    }

    fn first_record(
        &self,
        name: String,
        port_base: u16,
        new: &NewTree<'_>,
        start: &StartPoint,
    ) -> TreeRecord {
        TreeRecord {
            version: VERSION,
            branch: format!("{BRANCH_PREFIX}{name}"),
            path: self.registry.tree_path(&name),
            name,
            common_dir: self.repository.common_dir.clone(),
            git_dir: None,
            directory: None,
            base: start.commit.clone(),
            base_branch: start.branch.clone(),
            port_base,
            created_ms: new.now_ms,
            stage: Stage::Creating,
            owner: new.owner.clone(),
            process: Some(ProcessMark::own()),
            is_unfinished: new.owner.kind == OwnerKind::Worker,
            included: Vec::new(),
            delete_branch_at: None,
        }
    }

    async fn fill(
        &self,
        git: &Git,
        tree: &mut Worktree,
        new: &NewTree<'_>,
    ) -> Result<(), WorktreeError> {
        let record = &mut tree.record;
        let call = git.at(&self.repository.top, "create the worktree").slow();
        let reason = record.lock_reason();
        let call = call.args(["worktree", "add", "--quiet", "--no-checkout", "--lock"]);
        let call = call.args(["--reason", &reason]).arg(&record.path);
        call.arg(&record.branch).success().await?;
        let git_dir = self.git_dir_of(&record.path)?;
        record.git_dir = Some(git_dir.clone());
        let meta =
            record.path.symlink_metadata().map_err(WorktreeError::io("find", &record.path))?;
        record.directory = Some((meta.dev(), meta.ino()));
        // Settings may depend on the branch and on the directory, so those that count here are read here.
        let git = &self.tree_git(record).await?;
        let call = git.on_tree(&git_dir, &record.path, "create the worktree");
        let checked_out = call.args(["reset", "--hard", "--quiet"]).success().await;
        if checked_out.is_err() {
            // On a full disk, the record of the removal needs the room.
            let _ = files::remove_directory(&record.path);
        }
        let output = checked_out?;
        // Git goes on without a filter that fails, unless that is required.
        if output.stderr.contains("external filter") && output.stderr.contains("failed") {
            return Err(output.failure());
        }
        let (changed, _) = count_changes(git.on_tree(&git_dir, &record.path, LOOK), "no").await?;
        if changed > 0 {
            let why = format!("{changed} files were not checked out as they are stored");
            return Err(WorktreeError::Git { doing: "create the worktree", why });
        }
        self.registry.write(record)?;
        if let Some(text) = new.include {
            let copied = include::copy(self, git, (&record.name, &record.path), text).await?;
            record.included =
                copied.paths.iter().map(|path| path.to_string_lossy().into()).collect();
            self.registry.write(record)?;
            tree.included = copied.paths;
            tree.warnings.extend(copied.warnings);
        }
        if let Some(commands) = new.commands {
            let failed = |why| WorktreeError::SetupFailed { name: tree.record.name.clone(), why };
            commands.set_up(tree).await.map_err(failed)?;
        }
        tree.record.stage = Stage::Ready;
        self.registry.write(&tree.record)
    }

    /// As git has written it into the new tree, to which nobody else can write.
    fn git_dir_of(&self, tree: &Path) -> Result<PathBuf, WorktreeError> {
        let doing = "look up the worktree";
        let text = files::read_text(&tree.join(".git"), 4 << 10)?.unwrap_or_default();
        let named = text.strip_prefix("gitdir: ").map(|path| path.trim_end_matches('\n'));
        let git_dir = named.map(PathBuf::from).filter(|path| {
            path.parent() == Some(self.repository.common_dir.join("worktrees").as_path())
        });
        let why =
            || format!("{} names no directory of the repository", tree.join(".git").display());
        git_dir.ok_or_else(|| WorktreeError::Git { doing, why: why() })
    }

    async fn roll_back(&self, tree: Worktree) -> Result<(), WorktreeError> {
        let tip: ObjectId = tree.record.base.clone();
        let mut record = tree.record.clone();
        self.remove_tree(&mut record, Some(tip)).await
    }
}
