//! A repository with a home of its own.

use ostler_exec::{Executor, SupervisorProgram};
use ostler_worktrees::{
    Author, Git, GitLimits, NewTree, Owner, OwnerKind, TreeLimits, Worktree, WorktreeError,
    WorktreeSetup, Worktrees,
};
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;
use tempfile::TempDir;

pub const HELPER: &str = env!("CARGO_BIN_EXE_ostler-worktrees-test");
pub const PATH: &str = "/usr/local/bin:/usr/bin:/bin";

pub struct World {
    _folder: Option<TempDir>,
    pub base: PathBuf,
    pub home: PathBuf,
    /// The main checkout, with one commit on `main`.
    pub repo: PathBuf,
    pub state: PathBuf,
    pub limits: TreeLimits,
    pub git_limits: GitLimits,
    /// Searched before the real programs.
    pub bin: PathBuf,
}

impl World {
    pub fn new() -> World {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path().canonicalize().unwrap();
        World { _folder: Some(folder), ..World::at(&base, "repo") }
    }

    /// In a directory that somebody else removes.
    pub fn at(base: &Path, repo: &str) -> World {
        let world = World::empty(base, repo);
        world.git(&["init", "-q", "-b", "main", "."]);
        world.write("file", "one\ntwo\nthree\n");
        world.write(".gitignore", "target/\n.env*\n*.log\n");
        world.git(&["add", "."]);
        world.git(&["commit", "-qm", "first"]);
        world
    }

    /// Without a repository.
    pub fn empty(base: &Path, repo: &str) -> World {
        let path = |name: &str| {
            let path = base.join(name);
            fs::create_dir_all(&path).unwrap();
            path
        };
        let world = World {
            _folder: None,
            base: base.to_path_buf(),
            home: path("home"),
            repo: path(repo),
            state: base.join("state"),
            limits: TreeLimits::default(),
            git_limits: GitLimits { patience: Duration::ZERO, ..GitLimits::default() },
            bin: path("bin"),
        };
        fs::write(
            world.home.join(".gitconfig"),
            "[user]\n\tname = user\n\temail = user@example.org\n",
        )
        .unwrap();
        world
    }

    pub fn fresh() -> World {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path().canonicalize().unwrap();
        World { _folder: Some(folder), ..World::empty(&base, "repo") }
    }

    pub fn environment(&self) -> Vec<(OsString, OsString)> {
        let path = format!("{}:{PATH}", self.bin.display());
        vec![("PATH".into(), path.into()), ("HOME".into(), self.home.clone().into())]
    }

    pub fn executor(&self) -> Executor {
        Executor::new(SupervisorProgram { program: HELPER.into(), args: vec!["supervise".into()] })
    }

    pub fn write(&self, name: &str, text: &str) {
        write(&self.repo, name, text);
    }

    pub fn read(&self, name: &str) -> String {
        fs::read_to_string(self.repo.join(name)).unwrap()
    }

    /// The user's own git in the main checkout.
    pub fn git(&self, words: &[&str]) -> String {
        self.git_in(&self.repo, words)
    }

    pub fn git_in(&self, folder: &Path, words: &[&str]) -> String {
        let output = self.program("/usr/bin/git", folder).args(words).output().unwrap();
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "git {words:?}: {error}");
        String::from_utf8_lossy(&output.stdout).trim_end().to_owned()
    }

    pub fn program(&self, program: &str, folder: &Path) -> Command {
        let mut command = Command::new(program);
        command.current_dir(folder).env_clear().envs(self.environment()).stdin(Stdio::null());
        command
    }

    /// A call of the helper on this repository.
    pub fn helper(&self, words: &[&str]) -> Command {
        let mut command = self.program(HELPER, &self.base);
        command.arg(words[0]).arg(&self.repo).arg(&self.state).args(&words[1..]);
        command
    }

    pub async fn try_open(&self) -> Result<Worktrees, WorktreeError> {
        self.open_at(&self.repo).await
    }

    pub async fn open_at(&self, folder: &Path) -> Result<Worktrees, WorktreeError> {
        let git = Git::find(self.executor(), self.environment(), self.git_limits)?;
        let (state, project) = (self.state.clone(), "project".to_owned());
        Worktrees::open(WorktreeSetup { git, state, project, limits: self.limits }, folder).await
    }

    pub async fn trees(&self) -> Worktrees {
        self.try_open().await.unwrap()
    }

    pub async fn tree(&self, name: &str) -> Worktree {
        self.trees().await.create(new_tree(name)).await.unwrap()
    }

    /// A released tree with one commit that writes these files.
    pub async fn branch(&self, name: &str, files: &[(&str, &str)]) -> String {
        let trees = self.trees().await;
        let tree = trees.create(new_tree(name)).await.unwrap();
        for (name, text) in files {
            write(tree.path(), name, text);
        }
        let committed =
            trees.commit(&tree, &format!("Work on {name}"), &Author::default()).await.unwrap();
        assert!(committed.commit.is_some());
        let branch = tree.branch().to_owned();
        trees.release(tree).await.unwrap();
        branch
    }

    /// Everything in the main checkout that a user would notice.
    pub fn checkout_state(&self) -> String {
        let status = self.git(&["status", "--porcelain=v1", "-uall", "--ignored"]);
        format!("{}\n{status}\n{}", self.git(&["rev-parse", "HEAD"]), self.git(&["stash", "list"]))
    }

    /// All refs with their commits.
    pub fn refs(&self) -> String {
        self.git(&["for-each-ref", "--format=%(refname) %(objectname)"])
    }

    /// What git knows and what is on disk of ours.
    pub fn leftovers(&self) -> Vec<String> {
        let mut found: Vec<String> = self.refs().lines().map(str::to_owned).collect();
        found.retain(|line| line.contains("ostler"));
        let entries = |path: &Path| -> Vec<String> {
            let entries = path.read_dir().into_iter().flatten().flatten();
            entries
                .map(|entry| entry.path().strip_prefix(&self.base).unwrap().display().to_string())
                .collect()
        };
        found.extend(entries(&self.repo.join(".git/worktrees")));
        let project = self.state.join("project");
        found.extend(
            entries(&project)
                .into_iter()
                .filter(|path| !path.ends_with(".queue") && !path.ends_with(".records")),
        );
        found.extend(entries(&project.join(".records")));
        found
    }

    /// Puts a program in front of the real git. `$real` is that one.
    pub fn shim(&self, script: &str) {
        let path = self.bin.join("git");
        fs::write(&path, format!("#!/bin/bash\nreal=/usr/bin/git\n{script}\nexec $real \"$@\"\n"))
            .unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }
}

pub fn write(folder: &Path, name: &str, text: &str) {
    let path = folder.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

pub fn new_tree(name: &str) -> NewTree<'_> {
    NewTree { name, owner: owner("w1"), include: None, commands: None, now_ms: 1 }
}

pub fn owner(id: &str) -> Owner {
    Owner { kind: OwnerKind::Worker, id: id.into(), task: Some("t1".into()) }
}

/// One line that names what failed and what to do, without anything that a terminal would obey.
pub fn assert_clear(error: &WorktreeError, words: &[&str]) {
    let text = error.to_string();
    assert!(!text.contains(char::is_control), "{text:?}");
    assert!(text.starts_with(|c: char| !c.is_uppercase()) && !text.ends_with('.'), "{text}");
    for word in words {
        assert!(text.contains(word), "{word:?} is missing in: {text}");
    }
}
