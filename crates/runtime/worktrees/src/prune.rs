//! Which trees may go, and making them go. Work that exists nowhere else is never removed here.

use crate::error::WorktreeError;
use crate::list::{TreeEntry, TreeState};
use crate::object_id::ObjectId;
use crate::registry::TreeRecord;
use crate::remove::locked;
use crate::repository::TreeWarning;
use crate::worktrees::{BRANCH_PREFIX, TreeCommands, Worktree, Worktrees};
use serde::Serialize;
use std::fmt;

/// Why a tree stays.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "because", rename_all = "snake_case")]
pub enum KeepReason {
    InUse,
    Locked {
        reason: String,
    },
    Unmerged {
        commits: u64,
    },
    Uncommitted {
        files: u64,
    },
    Ignored {
        names: u64,
    },
    /// There is no record of it, so we do not know who made it.
    NoRecord,
    Replaced,
    /// It cannot be said what is in it.
    Unclear {
        why: String,
    },
}

impl fmt::Display for KeepReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            KeepReason::InUse => f.write_str("in use"),
            KeepReason::Locked { reason } if reason.is_empty() => {
                f.write_str("locked by git worktree lock")
            }
            KeepReason::Locked { reason } => write!(f, "locked by git worktree lock: {reason}"),
            KeepReason::Unmerged { commits: 1 } => f.write_str("1 commit is not merged"),
            KeepReason::Unmerged { commits } => write!(f, "{commits} commits are not merged"),
            KeepReason::Uncommitted { files: 1 } => f.write_str("1 changed file is not committed"),
            KeepReason::Uncommitted { files } => {
                write!(f, "{files} changed files are not committed")
            }
            KeepReason::Ignored { names: 1 } => {
                f.write_str("1 ignored file or directory is in it (--ignored removes it)")
            }
            KeepReason::Ignored { names } => {
                write!(f, "{names} ignored files or directories are in it (--ignored removes them)")
            }
            KeepReason::NoRecord => f.write_str("Ostler has no record of it"),
            KeepReason::Replaced => f.write_str("another directory is in its place"),
            KeepReason::Unclear { why } => write!(f, "cannot tell what is in it: {why}"),
        }
    }
}

#[derive(Debug, Clone, Copy, Default)]
pub struct PruneOptions {
    /// Trees that contain ignored files, such as build output, may go, too.
    pub ignored: bool,
    /// Only say what would be done.
    pub dry_run: bool,
}

#[derive(Debug, Clone, Default, Serialize)]
pub struct PruneReport {
    pub removed: Vec<String>,
    pub kept: Vec<KeptTree>,
    pub warnings: Vec<TreeWarning>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct KeptTree {
    pub name: String,
    #[serde(flatten)]
    pub reason: KeepReason,
}

/// What was given up on purpose, and how to get it back as long as git keeps the objects.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Discarded {
    pub name: String,
    /// Where the branch was.
    pub tip: Option<ObjectId>,
    /// The files that were not committed, as a commit.
    pub content: Option<ObjectId>,
    pub warnings: Vec<TreeWarning>,
}

/// What has to be true of a tree that is removed.
#[derive(Clone, Copy)]
enum RemovalTerms {
    /// A person has decided it.
    Decided,
    /// Nothing is only there.
    Merged(PruneOptions),
    /// It is as it was made.
    Unchanged(PruneOptions),
}

/// The commit at which the branch may be deleted with the tree; none if there is no branch.
///
/// # Errors
/// Why it has to stay.
fn removable(entry: &TreeEntry, options: PruneOptions) -> Result<Option<ObjectId>, KeepReason> {
    if entry.state == TreeState::InUse {
        return Err(KeepReason::InUse);
    }
    if let Some(reason) = &entry.locked {
        return Err(KeepReason::Locked { reason: reason.clone() });
    }
    let Some(record) = &entry.record else { return Err(KeepReason::NoRecord) };
    let unmerged = || match entry.unmerged {
        0 => Ok(entry.tip.clone()),
        commits => Err(KeepReason::Unmerged { commits }),
    };
    match entry.state {
        // The decision was made before.
        TreeState::HalfRemoved => Ok(record.delete_branch_at.clone()),
        TreeState::Incomplete | TreeState::DirectoryMissing => unmerged(),
        TreeState::Replaced => Err(KeepReason::Replaced),
        TreeState::Unregistered => {
            Err(KeepReason::Unclear { why: "git no longer knows the worktree".into() })
        }
        _ => {
            let unclear = || KeepReason::Unclear { why: "its files cannot be compared".into() };
            let found = entry.uncommitted.as_ref().ok_or_else(unclear)?;
            if found.has_changes() {
                return Err(KeepReason::Uncommitted {
                    files: found.changed.count + found.untracked.count,
                });
            }
            if found.ignored.count > 0 && !options.ignored {
                return Err(KeepReason::Ignored { names: found.ignored.count });
            }
            unmerged()
        }
    }
}

impl Worktrees {
    /// Removes trees that nobody works in and that contain nothing new, and finishes what killed processes began. Meant
    /// to be called at every start.
    ///
    /// # Errors
    /// If something cannot be looked at or removed.
    pub async fn prune(
        &self,
        options: PruneOptions,
        commands: Option<&dyn TreeCommands>,
    ) -> Result<PruneReport, WorktreeError> {
        let mut report = PruneReport::default();
        for entry in self.list().await? {
            let name = entry.name.clone();
            match removable(&entry, options) {
                Err(reason) => report.kept.push(KeptTree { name, reason }),
                Ok(_) if options.dry_run => report.removed.push(name),
                Ok(_) => match self
                    .remove_unowned(&entry, RemovalTerms::Merged(options), commands)
                    .await?
                {
                    Ok(warnings) => {
                        report.warnings.extend(warnings);
                        report.removed.push(name);
                    }
                    Err(reason) => report.kept.push(KeptTree { name, reason }),
                },
            }
        }
        if !options.dry_run {
            self.remove_idle_queues().await?;
            let lock = self.registry.lock().await?;
            self.registry.empty_trash(&lock)?;
        }
        Ok(report)
    }

    /// Ends the work in a tree: it is removed together with its branch if nothing was committed and no file was changed,
    /// else it stays. Ignored files do not count: whoever made them has ended.
    ///
    /// # Errors
    /// If that cannot be recorded, or it cannot be looked at or removed.
    pub async fn leave(
        &self,
        tree: Worktree,
        commands: Option<&dyn TreeCommands>,
    ) -> Result<Vec<TreeWarning>, WorktreeError> {
        let name = tree.name().to_owned();
        self.release(tree).await?;
        let mut entry = self.find(&name).await?;
        let options = PruneOptions { ignored: true, dry_run: false };
        let base = entry.record.as_ref().map(|record| &record.base);
        if entry.tip.as_ref() != base {
            return Ok(Vec::new());
        }
        // What it began with belongs to others, who have branches of their own.
        entry.unmerged = 0;
        if removable(&entry, options).is_err() {
            return Ok(Vec::new());
        }
        let terms = RemovalTerms::Unchanged(options);
        Ok(self.remove_unowned(&entry, terms, commands).await?.unwrap_or_default())
    }

    /// Gives up a tree and its branch, merged or not. A person decides that.
    ///
    /// # Errors
    /// If somebody works in it or has locked it, or if we have no record of the directory.
    pub async fn discard(
        &self,
        name: &str,
        commands: Option<&dyn TreeCommands>,
    ) -> Result<Discarded, WorktreeError> {
        let entry = self.find(name).await?;
        let mut discarded = Discarded {
            name: entry.name.clone(),
            tip: entry.tip.clone(),
            content: None,
            warnings: Vec::new(),
        };
        let Some(record) = &entry.record else {
            self.discard_leftover(&entry).await?;
            return Ok(discarded);
        };
        if let Some(reason) = &entry.locked {
            return Err(locked(record, reason));
        }
        let in_use =
            || WorktreeError::InUse { name: entry.name.clone(), owner: record.owner.to_string() };
        if entry.state == TreeState::InUse {
            return Err(in_use());
        }
        let has_changes = entry.uncommitted.as_ref().is_some_and(|found| found.has_changes());
        if has_changes {
            discarded.content = Some(self.draft(record).await.map_err(|error| {
                let why = format!("its content cannot be stored first ({error}). Remove what is in the way, or delete the directory yourself");
                WorktreeError::Unusable { path: entry.path.clone(), why }
            })?);
        }
        let removed = self.remove_unowned(&entry, RemovalTerms::Decided, commands).await?;
        discarded.warnings = removed.map_err(|_| in_use())?;
        Ok(discarded)
    }

    async fn discard_leftover(&self, entry: &TreeEntry) -> Result<(), WorktreeError> {
        if entry.state == TreeState::DirectoryOnly {
            let why =
                "Ostler has no record of it; delete it yourself if it is not needed".to_owned();
            return Err(WorktreeError::Unusable { path: entry.path.clone(), why });
        }
        let reference = format!("refs/heads/{BRANCH_PREFIX}{}", entry.name);
        let known = self.registrations().await?;
        if let Some(used) = known.iter().find(|found| found.branch.as_deref() == Some(&*reference))
        {
            let why = format!("branch {BRANCH_PREFIX}{} is checked out there", entry.name);
            return Err(WorktreeError::Unusable { path: used.path.clone(), why });
        }
        self.move_ref(&reference, None, entry.tip.as_ref()).await
    }

    /// Becomes the owner, looks again if the tree may go, and removes it.
    async fn remove_unowned(
        &self,
        entry: &TreeEntry,
        terms: RemovalTerms,
        commands: Option<&dyn TreeCommands>,
    ) -> Result<Result<Vec<TreeWarning>, KeepReason>, WorktreeError> {
        let lock = self.registry.lock().await?;
        let Some(mut record) = self.registry.read(&entry.name)? else { return Ok(Ok(Vec::new())) };
        let taken = self.registry.take(&lock, &record.name, record.process.as_ref())?;
        let Some(_file) = taken else { return Ok(Err(KeepReason::InUse)) };
        drop(lock);
        let found = match terms {
            RemovalTerms::Decided => Ok(entry.tip.clone()),
            RemovalTerms::Merged(options) => {
                removable(&self.look_again(entry, &record).await?, options)
            }
            RemovalTerms::Unchanged(options) => {
                let mut entry = self.look_again(entry, &record).await?;
                if entry.tip.as_ref() == Some(&record.base) {
                    entry.unmerged = 0;
                }
                removable(&entry, options)
            }
        };
        let tip = match found {
            Ok(tip) => tip,
            Err(reason) => return Ok(Err(reason)),
        };
        let mut warnings = Vec::new();
        if let Some(commands) = commands.filter(|_| has_run_setup(&record)) {
            let failed = commands.tear_down(&record).await.err();
            warnings.extend(failed.map(|why| TreeWarning::TeardownFailed { why }));
        }
        self.remove_tree(&mut record, tip).await?;
        Ok(Ok(warnings))
    }

    /// Somebody may have worked in it since it was listed.
    async fn look_again(
        &self,
        entry: &TreeEntry,
        record: &TreeRecord,
    ) -> Result<TreeEntry, WorktreeError> {
        let mut entry = TreeEntry { record: Some(record.clone()), ..entry.clone() };
        entry.tip = self.tip(&record.branch).await?;
        entry.unmerged = if entry.tip.is_some() { self.unmerged(&record.branch).await? } else { 0 };
        if entry.uncommitted.is_some() {
            entry.uncommitted = self.uncommitted(record).await.ok();
        }
        Ok(entry)
    }
}

fn has_run_setup(record: &TreeRecord) -> bool {
    record.git_dir.is_some() && record.path.is_dir()
}
