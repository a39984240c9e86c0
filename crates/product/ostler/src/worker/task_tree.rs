//! The worktree of one attempt at a task.

use super::events::{TaskRef, WorkBranch, WorkerEvent};
use super::merge_task::is_merge_task;
use super::task_run::{RecordedWork, Workshop};
use crate::error::Error;
use crate::project_worktrees::live_overlaps;
use crate::session_tree::SessionTree;
use crate::system::now_ms;
use ostler_board::Task;
use ostler_worktrees::{
    Author, BRANCH_PREFIX, NewTree, ObjectId, Owner, OwnerKind, Start, TreeEntry, TreeState,
    TreeWarning, Worktree, Worktrees,
};
use std::path::{Path, PathBuf};

/// Files in conflict that are named.
pub(super) const MOST_FILES: usize = 10;

/// What came of making a tree.
pub(super) enum TreeStart {
    Ready(Box<TaskTree>),
    /// What the task depends on cannot be put together. The task is not to blame, but it cannot be begun.
    Conflict(String),
}

pub(super) struct TaskTree {
    tree: Worktree,
    /// Branches of attempts before this one, newest first.
    pub(super) earlier: Vec<String>,
    /// Files in which the conflicts of a merge are marked, for this task to resolve.
    pub(super) conflicts: Vec<PathBuf>,
}

/// What a task needs of another one.
struct NeededWork {
    /// Of its branches: task and attempt.
    name: String,
    recorded: RecordedWork,
}

impl NeededWork {
    fn of(task: &Task) -> Self {
        let recorded = RecordedWork::of(task.result.as_deref());
        NeededWork { name: format!("{}-{}", task.id, task.attempt), recorded }
    }
}

/// Of branches of other machines, those that are called so.
fn of_name(name: &str, remote: &[String]) -> Vec<String> {
    let whole = format!("/{BRANCH_PREFIX}{name}");
    let is_it = |branch: &&String| {
        let rest = branch.split_once(&whole).map(|(_, rest)| rest);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
    };
    remote.iter().filter(is_it).cloned().collect()
}

/// The commit to begin with; none: what is checked out.
struct StartCommit {
    commit: Option<ObjectId>,
    conflicts: Vec<PathBuf>,
}

impl TaskTree {
    /// The name says which attempt it is, so no two machines choose the same.
    pub(super) async fn make(
        shop: &Workshop,
        about: &TaskRef,
        task: &Task,
    ) -> Result<TreeStart, Error> {
        let owner = owner(about);
        let mut earlier = earlier(&shop.trees, about, &owner).await?;
        let needed: Vec<NeededWork> =
            shop.desk.show_all(&task.depends_on).await?.iter().map(NeededWork::of).collect();
        let own = format!("{}-", about.task);
        let fetched = match &shop.options.push {
            Some(remote) => {
                let mut prefixes = vec![own.clone()];
                prefixes.extend(needed.iter().map(|work| work.name.clone()));
                Some(shop.trees.fetch(remote, &prefixes).await?)
            }
            None => None,
        };
        let base = fetched.as_ref().and_then(|fetched| fetched.base.clone());
        let mut remote = fetched.map(|fetched| fetched.branches).unwrap_or_default();
        let is_own = |branch: &mut String| branch.contains(&format!("/{BRANCH_PREFIX}{own}"));
        for branch in remote.extract_if(.., is_own) {
            let is_known = |known: &String| branch.ends_with(known.as_str());
            if !earlier.iter().any(is_known) {
                earlier.push(branch);
            }
        }
        let start = match start(shop, base, &needed, remote, is_merge_task(&task.id)).await? {
            Ok(start) => start,
            Err(conflict) => return Ok(TreeStart::Conflict(conflict)),
        };
        let name = format!("{}-{} {}", about.task, about.attempt, about.title);
        let runner = shop.runner();
        let new = NewTree {
            name: &name,
            owner,
            include: shop.options.session.worktrees.include.as_deref(),
            commands: Some(&runner),
            now_ms: now_ms(),
        };
        let tree = match start.commit {
            Some(commit) => shop.trees.create_at(new, commit).await?,
            None => shop.trees.create(new).await?,
        };
        Ok(TreeStart::Ready(Box::new(TaskTree { tree, earlier, conflicts: start.conflicts })))
    }

    pub(super) fn branch(&self) -> &str {
        self.tree.branch()
    }

    pub(super) fn path(&self) -> &Path {
        self.tree.path()
    }

    pub(super) async fn place(&self, shop: &Workshop) -> Result<SessionTree, Error> {
        Ok(SessionTree::of(&shop.trees, &self.tree, &shop.options.session.cwd).await?)
    }

    pub(super) async fn commit(
        &self,
        shop: &Workshop,
        about: &TaskRef,
        task: &Task,
    ) -> Result<WorkBranch, Error> {
        let message = format!(
            "{}\n\nTask: {}\nAttempt: {}\nWorker: {}\n",
            task.title, about.task, about.attempt, about.worker
        );
        let committed = shop.trees.commit(&self.tree, &message, &Author::default()).await?;
        for path in &committed.left_out {
            let what = "is a repository or not a regular file, so it was not committed";
            shop.say(WorkerEvent::Notice { text: format!("{about}: {} {what}", path.display()) });
        }
        // A look ahead; the merge queue decides.
        for text in live_overlaps(&shop.trees, self.tree.name()).await.unwrap_or_default() {
            shop.say(WorkerEvent::Notice { text: format!("{about}: {text}") });
        }
        let (commit, left_out) =
            (committed.commit.map(|commit| commit.to_string()), committed.left_out);
        Ok(WorkBranch { branch: self.branch().to_owned(), commit, left_out })
    }

    /// Why the conflicts that this task began with are not resolved; none if they are.
    pub(super) fn unresolved(&self, shop: &Workshop, work: Option<&WorkBranch>) -> Option<String> {
        if self.conflicts.is_empty() {
            return None;
        }
        let marked = shop.trees.still_marked(self.tree.record(), &self.conflicts);
        if !marked.is_empty() {
            return Some(format!("conflicts are still marked in {}", named(&marked)));
        }
        let is_unchanged = work.is_none_or(|work| work.commit.is_none());
        is_unchanged.then(|| {
            format!("nothing was changed to resolve the conflict in {}", named(&self.conflicts))
        })
    }

    /// What a failing check printed last; none if it succeeds. It sees what was committed, and nothing else that the agent
    /// left in its worktree: in a checkout of its own, which is prepared like every new worktree.
    pub(super) async fn check(
        &self,
        shop: &Workshop,
        command: &str,
        work: Option<&WorkBranch>,
    ) -> Result<Option<String>, Error> {
        let settings = &shop.options.session.worktrees;
        let commit = work.and_then(|work| work.commit.as_deref());
        let include = settings.include.as_deref();
        let clean = shop.trees.check_out(self.branch(), commit, include).await?;
        let (runner, record, path) = (shop.runner(), self.tree.record(), clean.path());
        let run = async |command: &str| runner.run_at(path, record, command).await;
        let prepared = match &settings.setup {
            Some(setup) => run(setup).await,
            None => Ok(None),
        };
        let result = match prepared {
            Ok(None) => run(command).await,
            Ok(Some(report)) => Ok(Some(format!("the setup command fails: {report}"))),
            Err(error) => Err(error),
        };
        if let Some(teardown) = &settings.teardown
            && let Some(report) = run(teardown).await?
        {
            let text = format!("the teardown command failed after the check: {report}");
            shop.say(WorkerEvent::Notice { text });
        }
        clean.remove(&shop.trees).await?;
        result
    }

    pub(super) async fn push(&self, shop: &Workshop, remote: &str) -> Result<(), Error> {
        Ok(shop.trees.push(&self.tree, remote).await?)
    }

    /// Without anything new it is removed; otherwise it stays until it is merged.
    pub(super) async fn leave(self, shop: &Workshop) -> Result<Vec<TreeWarning>, Error> {
        Ok(shop.trees.leave(self.tree, Some(&shop.runner())).await?)
    }
}

/// What the task depends on is part of the commit, merged or not. `remote`: branches of other machines, of which the recorded
/// commit counts. If what it depends
/// on conflicts and the task is there to `resolve` that, it begins with the conflicts marked.
async fn start(
    shop: &Workshop,
    base: Option<ObjectId>,
    needed: &[NeededWork],
    remote: Vec<String>,
    resolve: bool,
) -> Result<Result<StartCommit, String>, Error> {
    let at = |commit| Ok(Ok(StartCommit { commit, conflicts: Vec::new() }));
    let mut branches = Vec::new();
    for NeededWork { name, recorded } in needed {
        let local = shop.trees.branches_named(name).await?;
        if !local.is_empty() {
            branches.extend(local);
            continue;
        }
        let remote = of_name(name, &remote);
        match recorded {
            // Whoever can push can choose any name for a branch, or move one. Without any, the work was merged or discarded.
            _ if remote.is_empty() => {}
            RecordedWork::Nothing => {}
            RecordedWork::Unknown => branches.extend(remote),
            RecordedWork::Commit(commit) if shop.trees.has_commit(commit).await? => {
                branches.push(commit.to_string());
            }
            RecordedWork::Commit(commit) => {
                return Ok(Err(format!(
                    "it was not begun, because the remote does not have the commit {commit}, which is the work of \
                     {name}. Push it, or discard its branches there, and retry the task"
                )));
            }
        }
    }
    if branches.is_empty() {
        return at(base);
    }
    let author = Author::default();
    let (branch, files) = match shop.trees.start_with(base.clone(), &branches, &author).await? {
        Start::At(commit) => return at(Some(commit)),
        Start::Conflict { branch, files } => (branch, files),
    };
    if let (true, [only]) = (resolve, &branches[..])
        && let Some((commit, conflicts)) = shop.trees.start_in_conflict(base, only, &author).await?
    {
        return Ok(Ok(StartCommit { commit: Some(commit), conflicts }));
    }
    Ok(Err(format!(
        "it was not begun, because what it depends on cannot be put together: {branch} conflicts in {}. Merge the \
         branches ({}), and retry the task",
        named(&files),
        branches.join(", ")
    )))
}

pub(super) fn named(files: &[PathBuf]) -> String {
    let files: Vec<String> = files.iter().take(MOST_FILES).map(|file| plain(file)).collect();
    files.join(", ")
}

/// On one line, whatever the name of the file is.
fn plain(file: &Path) -> String {
    file.display().to_string().escape_debug().to_string()
}

fn owner(about: &TaskRef) -> Owner {
    let (kind, id, task) = (OwnerKind::Worker, about.worker.clone(), about.task.to_string());
    Owner { kind, id, task: Some(task) }
}

/// What a killed worker had not committed is committed, so that the branch has all of it.
async fn earlier(trees: &Worktrees, about: &TaskRef, owner: &Owner) -> Result<Vec<String>, Error> {
    let is_earlier = |entry: &TreeEntry| {
        let of = entry.record.as_ref().and_then(|record| record.owner.task.as_deref());
        of == Some(about.task.as_str())
    };
    let mut found: Vec<TreeEntry> = trees.list().await?;
    found.retain(is_earlier);
    found.sort_by_key(|entry| entry.record.as_ref().map(|record| record.created_ms));
    let mut branches = Vec::new();
    for entry in found.iter().rev() {
        let has_changes = entry.uncommitted.as_ref().is_some_and(|left| left.has_changes());
        let is_saved = has_changes && entry.state == TreeState::Idle && {
            let message =
                format!("Work of an attempt that was cut short\n\nTask: {}\n", about.task);
            save(trees, &entry.name, owner, &message).await.is_ok()
        };
        if is_saved || entry.unmerged > 0 {
            branches.push(format!("{BRANCH_PREFIX}{}", entry.name));
        }
    }
    Ok(branches)
}

async fn save(trees: &Worktrees, name: &str, owner: &Owner, message: &str) -> Result<(), Error> {
    let tree = trees.adopt(name, owner.clone()).await?;
    let committed = trees.commit(&tree, message, &Author::default()).await;
    trees.release(tree).await?;
    committed?;
    Ok(())
}
