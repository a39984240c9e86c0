//! The content of a tree as a commit on its own branch.
//!
//! The agent cannot write to the repository, so the harness commits. It writes objects and `refs/heads/ostler/<name>`,
//! and nothing else of the repository, apart from the tree's own index. Git is told where everything is: a `.git` that
//! an agent has put into the tree is not read, and repositories inside the tree are left out.

use crate::error::WorktreeError;
use crate::git::{Git, GitCall};
use crate::git_settings::ProgramSettings;
use crate::object_id::ObjectId;
use crate::registry::TreeRecord;
use crate::worktrees::{Worktree, Worktrees, check_place};
use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// Paths that are handed to git at once; its input is bounded.
const MOST_INPUT: usize = 4 << 20;

/// Who a commit is by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Author {
    pub name: String,
    pub email: String,
}

impl Default for Author {
    fn default() -> Self {
        Author { name: "Ostler".into(), email: "ostler@localhost".into() }
    }
}

/// What became of the content of a tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Committed {
    /// None: nothing has changed since the last commit.
    pub commit: Option<ObjectId>,
    /// Repositories and special files inside the tree, which are not part of the commit.
    pub left_out: Vec<PathBuf>,
}

/// The content of a tree as git would store it.
pub(crate) struct Content {
    pub tree: ObjectId,
    pub parent: ObjectId,
    pub parent_tree: ObjectId,
    pub left_out: Vec<PathBuf>,
    pub index: PrivateIndex,
}

/// A look at a tree.
pub(crate) struct Look {
    git_dir: PathBuf,
    parent: ObjectId,
    index: PrivateIndex,
    pub changes: ChangedPaths,
}

impl Look {
    /// A call of git on the tree, with our own index.
    pub fn on<'a>(&self, git: &'a Git, record: &TreeRecord, doing: &'static str) -> GitCall<'a> {
        let call = git.on_tree(&self.git_dir, &record.path, doing);
        call.variable("GIT_INDEX_FILE", &self.index.path)
    }

    /// The index starts as a copy of the tree's own, which knows what is unchanged and what a sparse checkout leaves out;
    /// if the branch has moved on, it is brought to the branch's commit.
    async fn fill_index(&self, git: &Git, record: &TreeRecord) -> Result<(), WorktreeError> {
        let index = &self.index.path;
        match copy_index(&self.git_dir.join("index"), fs::File::create(index)) {
            Ok(()) => {}
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                fs::remove_file(index).map_err(WorktreeError::io("remove", index))?;
            }
            Err(error) => return Err(WorktreeError::io("copy", index)(error)),
        }
        let call = self.on(git, record, "read the last commit of the worktree");
        call.args(["read-tree", "-m", self.parent.as_str()]).success().await?;
        // Files that only look changed are not; those that differ make it exit with 1.
        let call = self.on(git, record, "compare the worktree with its branch");
        call.args(["update-index", "-q", "--refresh"]).run().await.map(drop)
    }
}

/// An index of our own, for one look at a tree. Others may look at the same time.
pub(crate) struct PrivateIndex {
    pub path: PathBuf,
}

impl PrivateIndex {
    fn new(path: PathBuf) -> Self {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        PrivateIndex { path: path.with_extension(format!("{}-{number}.index", std::process::id())) }
    }
}

impl Drop for PrivateIndex {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

impl Worktrees {
    /// Commits everything in the tree that git does not ignore.
    ///
    /// # Errors
    /// If the tree was moved or replaced, or if its branch was moved by somebody else.
    pub async fn commit(
        &self,
        tree: &Worktree,
        message: &str,
        author: &Author,
    ) -> Result<Committed, WorktreeError> {
        self.commit_record(&tree.record, message, author).await
    }

    pub(crate) async fn commit_record(
        &self,
        record: &TreeRecord,
        message: &str,
        author: &Author,
    ) -> Result<Committed, WorktreeError> {
        let git = self.tree_git(record).await?;
        let content = self.content(&git, record).await?;
        if content.tree == content.parent_tree {
            return Ok(Committed { commit: None, left_out: content.left_out });
        }
        let parents = [content.parent.clone()];
        let commit = self.write_commit(&git, &content.tree, &parents, message, author).await?;
        self.move_ref(&record.reference(), Some(&commit), Some(&content.parent)).await?;
        refresh_index(record, &content.index);
        Ok(Committed { commit: Some(commit), left_out: content.left_out })
    }

    /// The content as a commit that no ref names: for a look at what would be merged. The branch stays where it is.
    pub(crate) async fn draft(&self, record: &TreeRecord) -> Result<ObjectId, WorktreeError> {
        let git = self.tree_git(record).await?;
        let content = self.content(&git, record).await?;
        if content.tree == content.parent_tree {
            return Ok(content.parent);
        }
        let parents = [content.parent];
        self.write_commit(&git, &content.tree, &parents, "Draft", &Author::default()).await
    }

    /// Git for a tree whose files others may have changed.
    pub(crate) async fn tree_git(&self, record: &TreeRecord) -> Result<Git, WorktreeError> {
        check_place(record)?;
        let git_dir = record.git_dir.as_deref().unwrap_or(&self.repository.common_dir);
        let call = self.git.on_tree(git_dir, &record.path, "read the settings of git");
        Ok(self.git.with_settings(&ProgramSettings::read(call).await?))
    }

    /// What differs from the branch. Nothing is written to the repository.
    pub(crate) async fn look(&self, git: &Git, record: &TreeRecord) -> Result<Look, WorktreeError> {
        let unregistered =
            || WorktreeError::Unregistered { name: record.name.clone(), path: record.path.clone() };
        let git_dir = record.git_dir.clone().ok_or_else(unregistered)?;
        let no_branch = || WorktreeError::NoBranch(record.branch.clone());
        let parent = self.tip(&record.branch).await?.ok_or_else(no_branch)?;
        let index = PrivateIndex::new(self.registry.index_path(&record.name));
        let mut look = Look { git_dir, parent, index, changes: ChangedPaths::default() };
        look.fill_index(git, record).await?;
        look.changes = changed_paths(&|doing| look.on(git, record, doing)).await?;
        // Whatever the agent made of `.gitignore`, they are the person's and not its work.
        let is_own =
            |path: &PathBuf| !record.included.iter().any(|own| path.to_string_lossy() == *own);
        look.changes.new.retain(is_own);
        Ok(look)
    }

    async fn content(&self, git: &Git, record: &TreeRecord) -> Result<Content, WorktreeError> {
        let look = self.look(git, record).await?;
        let on = |doing| look.on(git, record, doing);
        let doing = "read the last commit of the worktree";
        let call = on(doing).args(["rev-parse", "--verify", "--end-of-options"]);
        let parent_tree = call.arg(format!("{}^{{tree}}", look.parent)).text().await?;
        let parent_tree = ObjectId::printed(&parent_tree, doing)?;
        let kinds = Replaced::among(&record.path, &look.changes.changed);
        for batch in batches(&kinds.gone) {
            let call = on("read the files of the worktree").input(batch);
            call.args(["update-index", "--force-remove", "-z", "--stdin"]).success().await?;
        }
        let paths = [&kinds.others[..], &look.changes.new].concat();
        self.refuse_large(record, &paths)?;
        for batch in batches(&paths) {
            let call = on("read the files of the worktree").input(batch);
            call.args(["update-index", "--add", "--remove", "--replace", "-z", "--stdin"])
                .success()
                .await?;
        }
        let doing = "store the files of the worktree";
        let tree = ObjectId::printed(&on(doing).args(["write-tree"]).text().await?, doing)?;
        let Look { parent, index, changes, .. } = look;
        let left_out = [changes.repositories, kinds.special].concat();
        Ok(Content { tree, parent, parent_tree, left_out, index })
    }

    fn refuse_large(&self, record: &TreeRecord, paths: &[PathBuf]) -> Result<(), WorktreeError> {
        let size =
            |path: &PathBuf| record.path.join(path).symlink_metadata().map_or(0, |meta| meta.len());
        let (bytes, limit) = (paths.iter().map(size).sum(), self.limits.commit_bytes);
        if bytes > limit {
            return Err(WorktreeError::TooLarge { name: record.name.clone(), bytes, limit });
        }
        Ok(())
    }

    /// Writes a commit object. No ref is moved.
    pub(crate) async fn write_commit(
        &self,
        git: &Git,
        tree: &ObjectId,
        parents: &[ObjectId],
        message: &str,
        author: &Author,
    ) -> Result<ObjectId, WorktreeError> {
        let doing = "write the commit";
        let mut call = git.at(&self.repository.top, doing).args(["commit-tree", tree.as_str()]);
        for parent in parents {
            call = call.args(["-p", parent.as_str()]);
        }
        for (name, value) in [
            ("GIT_AUTHOR_NAME", &author.name),
            ("GIT_AUTHOR_EMAIL", &author.email),
            ("GIT_COMMITTER_NAME", &author.name),
            ("GIT_COMMITTER_EMAIL", &author.email),
        ] {
            call = call.variable(name, value);
        }
        let text = call.args(["-F", "-"]).input(message.as_bytes().to_vec()).text().await?;
        ObjectId::printed(&text, doing)
    }
}

/// Makes `git status` in the tree agree with the new commit. If it cannot be done now (git is running there), only that
/// look is out of date: the next commit starts from the branch.
fn refresh_index(record: &TreeRecord, own: &PrivateIndex) {
    let Some(git_dir) = &record.git_dir else { return };
    let (index, lock) = (git_dir.join("index"), git_dir.join("index.lock"));
    let new = fs::OpenOptions::new().write(true).create_new(true).open(&lock);
    // It exists: git is running there.
    let Ok(new) = new else { return };
    let done = copy_index(&own.path, Ok(new)).and_then(|()| fs::rename(&lock, &index));
    if done.is_err() {
        let _ = fs::remove_file(&lock);
    }
}

/// With its time: git reads the content of files that changed at that time or later. A newer copy would hide a change that
/// was made right after the index was written and left the size as it was.
fn copy_index(from: &Path, to: std::io::Result<fs::File>) -> std::io::Result<()> {
    let mut from = fs::File::open(from)?;
    let mut to = to?;
    std::io::copy(&mut from, &mut to)?;
    to.set_modified(from.metadata()?.modified()?)
}

#[derive(Default)]
pub(crate) struct ChangedPaths {
    /// Tracked files that differ from the branch.
    pub changed: Vec<PathBuf>,
    /// Files that git neither tracks nor ignores.
    pub new: Vec<PathBuf>,
    /// Repositories inside the tree.
    pub repositories: Vec<PathBuf>,
}

async fn changed_paths<'a>(
    on: &impl Fn(&'static str) -> GitCall<'a>,
) -> Result<ChangedPaths, WorktreeError> {
    let mut found = ChangedPaths::default();
    let path = |name: &[u8]| PathBuf::from(OsString::from_vec(name.to_vec()));
    let call = on("look for changed files");
    call.args(["diff-files", "-z", "--name-only", "--no-renames", "--ignore-submodules=all"])
        .each(|name| {
            found.changed.push(path(name));
            true
        })
        .await?;
    let call = on("look for new files");
    call.args(["ls-files", "-z", "--others", "--exclude-standard"])
        .each(|name| {
            // A directory is listed only if it is a repository.
            match name.strip_suffix(b"/") {
                Some(name) => found.repositories.push(path(name)),
                None => found.new.push(path(name)),
            }
            true
        })
        .await?;
    // A file that has become a repository is both.
    let ChangedPaths { changed, repositories, .. } = &mut found;
    changed.retain(|path| !repositories.contains(path));
    Ok(found)
}

/// Tracked files in whose place there is something that git cannot read as a file.
#[derive(Default)]
struct Replaced {
    /// A directory above is a link or a file now.
    gone: Vec<PathBuf>,
    /// A pipe, a socket or a device: git cannot store it, so the file stays as it was committed.
    special: Vec<PathBuf>,
    others: Vec<PathBuf>,
}

impl Replaced {
    fn among(top: &Path, changed: &[PathBuf]) -> Self {
        let mut found = Replaced::default();
        for path in changed {
            let above = path.ancestors().skip(1).filter(|above| !above.as_os_str().is_empty());
            let is_replaced = above
                .map(|above| top.join(above).symlink_metadata())
                .any(|meta| meta.is_ok_and(|meta| !meta.is_dir()));
            let is_special = top
                .join(path)
                .symlink_metadata()
                .is_ok_and(|meta| !(meta.is_file() || meta.is_dir() || meta.is_symlink()));
            match (is_replaced, is_special) {
                (true, _) => found.gone.push(path.clone()),
                (false, true) => found.special.push(path.clone()),
                (false, false) => found.others.push(path.clone()),
            }
        }
        found
    }
}

/// Paths that end with NUL, in pieces that git takes at once.
fn batches(paths: &[PathBuf]) -> Vec<Vec<u8>> {
    let mut all: Vec<Vec<u8>> = Vec::new();
    for path in paths {
        let bytes = path.as_os_str().as_bytes();
        let has_room = all.last().is_some_and(|last| last.len() + bytes.len() < MOST_INPUT);
        if !has_room {
            all.push(Vec::new());
        }
        if let Some(last) = all.last_mut() {
            last.extend_from_slice(bytes);
            last.push(0);
        }
    }
    all
}
