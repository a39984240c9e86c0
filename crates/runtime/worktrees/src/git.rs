//! Calls the git program so that nothing of a repository runs: no hooks, no pager, no editor, no prompts, no network.
//!
//! The caller's environment is reduced to what git needs. Programs that the repository's own settings name (filters,
//! merge drivers) are replaced by what the user's settings say; see [`crate::git_settings`].

use crate::error::{WorktreeError, git_words};
use crate::private_view::PrivateView;
use ostler_exec::{Command, Executor, OutputLimits};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// `git merge-tree --write-tree` exists since then.
const MINIMUM: (u32, u32) = (2, 38);
pub(crate) const MINIMUM_TEXT: &str = "2.38";

/// What git may see of the caller's environment.
const PASSED: [&str; 6] = ["HOME", "PATH", "XDG_CONFIG_HOME", "USER", "LOGNAME", "TMPDIR"];

/// The first wait for another git process.
const FIRST_WAIT: Duration = Duration::from_millis(20);

/// A name that is never a program.
const NO_PROGRAM: &str = "false";

const VARIABLES: [(&str, &str); 12] = [
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GIT_ASKPASS", NO_PROGRAM),
    ("SSH_ASKPASS", NO_PROGRAM),
    ("GIT_EDITOR", NO_PROGRAM),
    ("GIT_SEQUENCE_EDITOR", NO_PROGRAM),
    ("GIT_PAGER", "cat"),
    ("GIT_SSH_COMMAND", NO_PROGRAM),
    ("GIT_ALLOW_PROTOCOL", "none"),
    ("GIT_NO_LAZY_FETCH", "1"),
    ("GIT_OPTIONAL_LOCKS", "0"),
    ("GIT_LITERAL_PATHSPECS", "0"),
    // Messages are read.
    ("LC_ALL", "C"),
];

/// Settings that win over those of the repository and the user.
const SETTINGS: [(&str, &str); 23] = [
    ("core.hooksPath", "/dev/null"),
    ("core.fsmonitor", "false"),
    ("core.untrackedCache", "false"),
    ("core.splitIndex", "false"),
    ("core.pager", "cat"),
    ("core.editor", NO_PROGRAM),
    ("core.askPass", NO_PROGRAM),
    ("core.sshCommand", NO_PROGRAM),
    ("core.alternateRefsCommand", NO_PROGRAM),
    ("core.fsync", "committed,loose-object,reference"),
    ("core.quotePath", "false"),
    ("credential.helper", ""),
    ("protocol.allow", "never"),
    ("submodule.recurse", "false"),
    ("gc.auto", "0"),
    ("maintenance.auto", "false"),
    ("commit.gpgSign", "false"),
    ("log.showSignature", "false"),
    ("merge.verifySignatures", "false"),
    ("color.ui", "false"),
    ("advice.detachedHead", "false"),
    ("worktree.guessRemote", "false"),
    ("worktree.useRelativePaths", "false"),
];

/// What keeps git from the network: variables and settings.
const ONLINE: [&str; 5] = [
    "GIT_ALLOW_PROTOCOL",
    "GIT_SSH_COMMAND",
    "core.sshCommand",
    "credential.helper",
    "protocol.allow",
];

/// How long calls may take and how much they may print.
#[derive(Debug, Clone, Copy)]
pub struct GitLimits {
    /// For a call that only looks something up.
    pub lookup: Duration,
    /// For a call that reads or writes the files of a tree.
    pub files: Duration,
    /// Bytes of output that are kept.
    pub output: usize,
    /// How long to wait for another git process that is in the way.
    pub patience: Duration,
}

impl Default for GitLimits {
    fn default() -> Self {
        GitLimits {
            lookup: Duration::from_secs(60),
            files: Duration::from_secs(900),
            output: 16 << 20,
            patience: Duration::from_secs(5),
        }
    }
}

/// The git program with the environment it gets.
#[derive(Debug, Clone)]
pub struct Git {
    executor: Executor,
    program: PathBuf,
    environment: Vec<(OsString, OsString)>,
    pub(crate) limits: GitLimits,
    /// The repository's own directory, once it is known.
    common_dir: Option<PathBuf>,
    /// Where private views of git directories are made.
    views: Option<PathBuf>,
    /// For the repository that the calls are about.
    pub(crate) overrides: Vec<(String, String)>,
    is_online: bool,
}

impl Git {
    /// Looks for git on the `PATH` of this environment.
    ///
    /// # Errors
    /// If there is none.
    pub fn find(
        executor: Executor,
        environment: Vec<(OsString, OsString)>,
        limits: GitLimits,
    ) -> Result<Git, WorktreeError> {
        let path = environment.iter().find(|(name, _)| name == "PATH");
        let path = path.map(|(_, value)| value.as_bytes().to_vec()).unwrap_or_default();
        let folders =
            path.split(|byte| *byte == b':').map(|part| PathBuf::from(OsStr::from_bytes(part)));
        // A relative entry would find a program of the project.
        let mut programs =
            folders.filter(|folder| folder.is_absolute()).map(|folder| folder.join("git"));
        let program =
            programs.find(|program| is_program(program)).ok_or(WorktreeError::GitMissing)?;
        let mut environment = environment;
        environment.retain(|(name, _)| PASSED.iter().any(|passed| name == passed));
        environment.extend(VARIABLES.map(|(name, value)| (name.into(), value.into())));
        Ok(Git {
            executor,
            program,
            environment,
            limits,
            common_dir: None,
            views: None,
            overrides: Vec::new(),
            is_online: false,
        })
    }

    /// For calls on trees of this repository.
    pub(crate) fn of_repository(self, common_dir: &Path, views: PathBuf) -> Git {
        Git { common_dir: Some(common_dir.to_path_buf()), views: Some(views), ..self }
    }

    /// For calls that talk to a remote of the repository, as its settings say. They still ask nobody.
    pub(crate) fn with_network(&self) -> Git {
        let mut git = self.clone();
        git.is_online = true;
        git.environment.retain(|(name, _)| !ONLINE.iter().any(|online| name == online));
        git.environment.push(("GIT_ALLOW_PROTOCOL".into(), "file:git:http:https:ssh".into()));
        git
    }

    /// For calls that fetch from a URL, by one protocol.
    pub(crate) fn with_protocol(&self, protocol: &str) -> Git {
        let mut git = self.with_network();
        git.environment.retain(|(name, _)| name != "GIT_ALLOW_PROTOCOL");
        git.environment.push(("GIT_ALLOW_PROTOCOL".into(), protocol.into()));
        git
    }

    /// For calls that run no program of the user's either, such as filters.
    pub(crate) fn without_user_settings(&self) -> Git {
        let mut git = self.clone();
        for (name, value) in [("GIT_CONFIG_GLOBAL", "/dev/null"), ("GIT_CONFIG_NOSYSTEM", "1")] {
            git.environment.push((name.into(), value.into()));
        }
        git.environment.push(("GIT_ATTR_NOSYSTEM".into(), "1".into()));
        git
    }

    /// # Errors
    /// If this git lacks what worktrees need.
    pub(crate) async fn check_version(&self) -> Result<(), WorktreeError> {
        let found =
            self.at(Path::new("/"), "ask git for its version").args(["--version"]).text().await?;
        let number = found.split_whitespace().nth(2).unwrap_or_default();
        let mut parts = number.split('.').map(|part| part.parse::<u32>().unwrap_or(0));
        let version = (parts.next().unwrap_or(0), parts.next().unwrap_or(0));
        if version < MINIMUM {
            return Err(WorktreeError::GitTooOld { found: number.to_owned() });
        }
        Ok(())
    }

    /// A call in a directory; git finds the repository around it.
    pub(crate) fn at(&self, directory: &Path, doing: &'static str) -> GitCall<'_> {
        GitCall {
            git: self,
            directory: directory.to_path_buf(),
            doing,
            args: Vec::new(),
            variables: Vec::new(),
            view_of: None,
            input: None,
            limit: self.limits.lookup,
            file_size: None,
        }
    }

    /// A call on a tree that somebody else may have changed: git is told where the repository is, and reads nothing of
    /// the tree to find out. Nor does it read in the tree's own git directory where the repository is, or which programs
    /// to run: commands of other sessions may be able to write there.
    pub(crate) fn on_tree(&self, git_dir: &Path, tree: &Path, doing: &'static str) -> GitCall<'_> {
        let mut call = self.at(tree, doing);
        call.view_of = Some(git_dir.to_path_buf());
        call.variables.push(("GIT_WORK_TREE".into(), tree.into()));
        if let Some(common_dir) = &self.common_dir {
            call.variables.push(("GIT_COMMON_DIR".into(), common_dir.into()));
        }
        call.limit = self.limits.files;
        call
    }

    fn settings(&self, more: &[(String, String)]) -> Vec<(OsString, OsString)> {
        let applies = |(name, _): &&(&str, &str)| !self.is_online || !ONLINE.contains(name);
        let fixed = SETTINGS
            .iter()
            .filter(applies)
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        let all: Vec<(String, String)> =
            fixed.chain(self.overrides.iter().chain(more).cloned()).collect();
        let mut variables = vec![("GIT_CONFIG_COUNT".into(), all.len().to_string().into())];
        for (number, (name, value)) in all.into_iter().enumerate() {
            variables.push((format!("GIT_CONFIG_KEY_{number}").into(), name.into()));
            variables.push((format!("GIT_CONFIG_VALUE_{number}").into(), value.into()));
        }
        variables
    }
}

fn is_program(path: &Path) -> bool {
    path.metadata().is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
}

/// One call of git.
#[derive(Clone)]
pub(crate) struct GitCall<'a> {
    git: &'a Git,
    directory: PathBuf,
    doing: &'static str,
    args: Vec<OsString>,
    variables: Vec<(OsString, OsString)>,
    /// The git directory of the checkout that it is about.
    view_of: Option<PathBuf>,
    input: Option<Vec<u8>>,
    limit: Duration,
    file_size: Option<u64>,
}

#[derive(Debug)]
pub(crate) struct GitOutput {
    pub doing: &'static str,
    pub code: i32,
    pub stdout: Vec<u8>,
    pub stderr: String,
}

impl GitCall<'_> {
    pub fn args<A: AsRef<OsStr>>(mut self, args: impl IntoIterator<Item = A>) -> Self {
        self.args.extend(args.into_iter().map(|word| word.as_ref().to_owned()));
        self
    }

    pub fn arg(self, word: impl AsRef<OsStr>) -> Self {
        self.args([word])
    }

    pub fn variable(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.variables.push((name.into(), value.as_ref().to_owned()));
        self
    }

    pub fn input(mut self, bytes: Vec<u8>) -> Self {
        self.input = Some(bytes);
        self
    }

    /// It reads or writes many files.
    pub fn slow(mut self) -> Self {
        self.limit = self.git.limits.files;
        self
    }

    /// No file that it writes can be larger.
    pub fn writing_at_most(mut self, bytes: u64) -> Self {
        self.file_size = Some(bytes);
        self
    }

    /// Runs it; the exit code is the caller's to judge.
    pub async fn run(self) -> Result<GitOutput, WorktreeError> {
        let mut waits = Backoff::new(self.git.limits.patience);
        loop {
            let output = self.clone().run_once().await?;
            // Another git is about to register a worktree.
            if !output.met_torn_registration() || !waits.wait().await {
                return Ok(output);
            }
        }
    }

    async fn run_once(self) -> Result<GitOutput, WorktreeError> {
        let most = self.git.limits.output;
        let mut stdout = Vec::new();
        let doing = self.doing;
        let mut output = self.stream(|bytes| stdout.extend_from_slice(bytes)).await?;
        if stdout.len() > most {
            return Err(WorktreeError::TooMuchOutput { doing, limit: most });
        }
        output.stdout = stdout;
        Ok(output)
    }

    async fn view(&self) -> Result<Option<PrivateView>, WorktreeError> {
        match (&self.view_of, &self.git.views, &self.git.common_dir) {
            (Some(git_dir), Some(views), Some(common_dir)) => {
                PrivateView::of(self.git, (views, common_dir), git_dir).await
            }
            _ => Ok(None),
        }
    }

    /// Runs it and hands over its output as it comes. Output beyond the limit is not handed over.
    async fn stream(self, sink: impl FnMut(&[u8])) -> Result<GitOutput, WorktreeError> {
        let view = self.view().await?;
        let GitCall { git, directory, doing, args, variables, view_of, input, limit, file_size } =
            self;
        let mut command = Command::new(&git.program, &directory);
        command.args = ["--no-pager", "--no-optional-locks"].map(OsString::from).to_vec();
        command.args.extend(args);
        command.env.clone_from(&git.environment);
        command.env.extend(git.settings(view.as_ref().map_or(&[], |view| &view.settings)));
        let git_dir = view.as_ref().map(|view| &view.path).or(view_of.as_ref());
        command.env.extend(git_dir.map(|git_dir| ("GIT_DIR".into(), git_dir.into())));
        // A call may have an index of its own, which then wins.
        let index = view.as_ref().map(|view| ("GIT_INDEX_FILE".into(), view.index.clone().into()));
        command.env.extend(index.filter(|(name, _)| !variables.iter().any(|(own, _)| own == name)));
        command.env.extend(variables);
        command.input = input;
        command.separate_errors = true;
        command.time_limit = Some(limit);
        command.limits.file_size = file_size;
        let most = git.limits.output as u64 + 1;
        command.output =
            OutputLimits { head: 64 << 10, tail: 16 << 10, sink: most, total: 1 << 30 };
        let report = git.executor.run(command, sink).await?;
        if report.timed_out {
            return Err(WorktreeError::TimedOut { doing, seconds: limit.as_secs() });
        }
        let code = match report.status {
            ostler_exec::ExitStatus::Code(code) => code,
            ostler_exec::ExitStatus::Signal { number, .. } => 128 + number,
        };
        let stderr = report.errors.map(|errors| errors.to_text()).unwrap_or_default();
        Ok(GitOutput { doing, code, stdout: Vec::new(), stderr })
    }

    /// Runs it; every exit code but 0 is an error.
    pub async fn success(self) -> Result<GitOutput, WorktreeError> {
        self.run().await?.success()
    }

    /// Its output without the newline at the end.
    pub async fn text(self) -> Result<String, WorktreeError> {
        Ok(String::from_utf8_lossy(&self.success().await?.line()).into_owned())
    }

    /// Its output as a path, which may contain anything.
    pub async fn path(self) -> Result<PathBuf, WorktreeError> {
        Ok(PathBuf::from(OsString::from_vec(self.success().await?.line())))
    }

    /// Hands over each record that ends with NUL, in bounded memory: `each` says whether it wants more.
    pub async fn each(self, mut each: impl FnMut(&[u8]) -> bool) -> Result<(), WorktreeError> {
        let most = self.git.limits.output;
        let doing = self.doing;
        let (mut rest, mut wanted, mut total) = (Vec::new(), true, 0_usize);
        let output = self
            .stream(|bytes| {
                total += bytes.len();
                if !wanted {
                    return;
                }
                rest.extend_from_slice(bytes);
                while let Some(end) = rest.iter().position(|byte| *byte == 0) {
                    let record: Vec<u8> = rest.drain(..=end).collect();
                    wanted = wanted && each(record.strip_suffix(&[0]).unwrap_or(&record));
                }
            })
            .await?;
        if wanted && total > most {
            return Err(WorktreeError::TooMuchOutput { doing, limit: most });
        }
        output.success().map(drop)
    }
}

impl GitOutput {
    pub fn success(self) -> Result<GitOutput, WorktreeError> {
        if self.code == 0 { Ok(self) } else { Err(self.failure()) }
    }

    /// Git registers a worktree in several steps, and between two of them no git can list the worktrees.
    pub fn met_torn_registration(&self) -> bool {
        self.code != 0
            && self.stderr.contains("failed to read")
            && self.stderr.contains("/commondir")
    }

    pub fn failure(&self) -> WorktreeError {
        WorktreeError::Git { doing: self.doing, why: git_words(&self.stderr, self.code) }
    }

    fn line(&self) -> Vec<u8> {
        self.stdout.strip_suffix(b"\n").unwrap_or(&self.stdout).to_vec()
    }
}

/// Waits for another process, longer each time.
pub(crate) struct Backoff {
    next: Duration,
    left: Duration,
}

impl Backoff {
    pub fn new(patience: Duration) -> Self {
        Backoff { next: FIRST_WAIT, left: patience }
    }

    /// False: it has taken too long.
    pub async fn wait(&mut self) -> bool {
        if self.left.is_zero() {
            return false;
        }
        let pause = self.next.min(self.left);
        tokio::time::sleep(pause).await;
        (self.next, self.left) = (self.next * 2, self.left - pause);
        true
    }
}
