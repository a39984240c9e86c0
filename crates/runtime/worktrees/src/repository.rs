//! The repository that trees are made of, and what has to be right before anything is created.

use crate::error::WorktreeError;
use crate::git::{Git, GitCall};
use crate::git_settings::ProgramSettings;
use crate::object_id::ObjectId;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// Of a file that git reads.
const MOST_BYTES: u64 = 1 << 20;
/// Files that show that git is in the middle of something.
const IN_PROGRESS: [&str; 6] =
    ["MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "rebase-merge", "rebase-apply", "BISECT_LOG"];
const OWNERSHIP: &str = "dubious ownership";
const NO_REPOSITORY: &str = "not a git repository";

/// Where a repository and the checkout that we were called in are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Repository {
    /// The top of the checkout: the main one, or a linked one that a person made.
    pub top: PathBuf,
    pub git_dir: PathBuf,
    /// What all worktrees share: objects, refs, settings.
    pub common_dir: PathBuf,
    pub shallow: bool,
}

/// What a new tree starts from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StartPoint {
    /// The short name of the branch that is checked out, such as `main`.
    pub branch: String,
    pub commit: ObjectId,
    /// Worth saying, but no reason to stop.
    pub warnings: Vec<TreeWarning>,
}

/// What a person should know about a new tree.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum TreeWarning {
    /// The checkout has changes that are not in the tree.
    Dirty { changed: u64, untracked: u64 },
    /// Repositories inside the checkout, which git does not track.
    Repositories { paths: Vec<String> },
    /// Hooks that git would run when a tree is created or committed to. Ostler does not run them.
    HooksSkipped { names: Vec<String> },
    /// The tree has the same files left out as the checkout.
    Sparse,
    /// History before some commits is missing, so a common ancestor may be missing, too.
    Shallow,
    /// A file that `.worktreeinclude` names was not copied.
    NotCopied { path: String, why: String },
    /// The command that cleans up failed; the tree was removed all the same.
    TeardownFailed { why: String },
}

impl std::fmt::Display for TreeWarning {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            TreeWarning::Dirty { changed, untracked } => write!(
                f,
                "the checkout has changes that are not in the worktree ({changed} changed, {untracked} untracked files); it starts at the last commit"
            ),
            TreeWarning::Repositories { paths } => write!(
                f,
                "the worktree does not contain the repositories inside the checkout: {}",
                paths.join(", ")
            ),
            TreeWarning::HooksSkipped { names } => {
                write!(f, "git hooks do not run in worktrees: {}", names.join(", "))
            }
            TreeWarning::Sparse => {
                f.write_str("the checkout is sparse; the worktree leaves out the same files")
            }
            TreeWarning::Shallow => {
                f.write_str("the clone is shallow; merging may need `git fetch --unshallow` first")
            }
            TreeWarning::NotCopied { path, why } => write!(f, "{path} was not copied: {why}"),
            TreeWarning::TeardownFailed { why } => {
                write!(f, "the teardown command failed: {why}")
            }
        }
    }
}

impl Repository {
    /// Finds the repository around a directory.
    ///
    /// # Errors
    /// If there is none, if it has no files, or if git refuses to use it.
    pub async fn find(git: &Git, directory: &Path) -> Result<Repository, WorktreeError> {
        git.check_version().await?;
        let ask = |word: &'static str| {
            git.at(directory, "look up the repository").args([
                "rev-parse",
                "--path-format=absolute",
                word,
            ])
        };
        let here = || directory.to_path_buf();
        let bare = ask("--is-bare-repository").run().await?;
        if bare.code != 0 {
            return Err(match bare.stderr {
                text if text.contains(OWNERSHIP) => WorktreeError::OtherOwner(here()),
                text if text.contains(NO_REPOSITORY) => WorktreeError::NotARepository(here()),
                _ => bare.failure(),
            });
        }
        if bare.stdout.starts_with(b"true") {
            return Err(WorktreeError::Bare(here()));
        }
        if ask("--is-inside-work-tree").text().await? != "true" {
            return Err(WorktreeError::InsideGitDirectory(here()));
        }
        Ok(Repository {
            top: real(&ask("--show-toplevel").path().await?)?,
            git_dir: real(&ask("--git-dir").path().await?)?,
            common_dir: real(&ask("--git-common-dir").path().await?)?,
            shallow: ask("--is-shallow-repository").text().await? == "true",
        })
    }

    /// The commit that new trees start at, if everything they need is there. Nothing is changed.
    ///
    /// # Errors
    /// A typed refusal with its remedy.
    pub async fn start_point(&self, git: &Git) -> Result<StartPoint, WorktreeError> {
        let branch = self.branch(git).await?;
        let commit = ObjectId::resolve(git, &self.top, "HEAD").await?;
        let commit = commit.ok_or_else(|| WorktreeError::UnbornBranch {
            top: self.top.clone(),
            branch: branch.clone(),
        })?;
        let settings = self.programs(git).await?;
        self.refuse_submodules(git).await?;
        self.refuse_missing_filters(git, &settings).await?;
        let mut warnings = Vec::new();
        let (changed, untracked) = self.changes(git).await?;
        if changed + untracked > 0 {
            warnings.push(TreeWarning::Dirty { changed, untracked });
        }
        let paths = if untracked > 0 { self.repositories(git).await? } else { Vec::new() };
        if !paths.is_empty() {
            warnings.push(TreeWarning::Repositories { paths });
        }
        let names = self.hooks(git).await?;
        if !names.is_empty() {
            warnings.push(TreeWarning::HooksSkipped { names });
        }
        let sparse = git.at(&self.top, "read the settings of git");
        let sparse = sparse.args(["config", "--bool", "core.sparseCheckout"]).run().await?;
        if sparse.stdout.starts_with(b"true") {
            warnings.push(TreeWarning::Sparse);
        }
        if self.shallow {
            warnings.push(TreeWarning::Shallow);
        }
        Ok(StartPoint { branch, commit, warnings })
    }

    pub(crate) async fn programs(&self, git: &Git) -> Result<ProgramSettings, WorktreeError> {
        let call = git.on_tree(&self.git_dir, &self.top, "read the settings of git");
        ProgramSettings::read(call).await
    }

    /// The short name of the branch that is checked out.
    pub(crate) async fn branch(&self, git: &Git) -> Result<String, WorktreeError> {
        let head = git.at(&self.top, "look up the branch");
        let head = head.args(["symbolic-ref", "-q", "HEAD"]).run().await?;
        let name = String::from_utf8_lossy(&head.stdout).trim().to_owned();
        let name = name.strip_prefix("refs/heads/").filter(|_| head.code == 0);
        name.map(str::to_owned).ok_or_else(|| WorktreeError::DetachedHead(self.top.clone()))
    }

    async fn refuse_submodules(&self, git: &Git) -> Result<(), WorktreeError> {
        let mut example = None;
        let call = git.at(&self.top, "list the files of the last commit").slow();
        call.args(["ls-tree", "-r", "-z", "--full-tree", "HEAD"])
            .each(|entry| {
                let is_module = entry.starts_with(b"160000 ");
                if is_module {
                    let name = entry.iter().position(|byte| *byte == b'\t').unwrap_or(0);
                    example = Some(String::from_utf8_lossy(&entry[name..]).trim().to_owned());
                }
                !is_module
            })
            .await?;
        example.map_or(Ok(()), |example| Err(WorktreeError::Submodules { example }))
    }

    /// A filter that does not run leaves files as they are stored: with Git LFS, a pointer instead of the content.
    async fn refuse_missing_filters(
        &self,
        git: &Git,
        settings: &ProgramSettings,
    ) -> Result<(), WorktreeError> {
        for (filter, attributes) in self.filters(git).await? {
            if settings.user_has_filter(&filter) {
                continue;
            }
            let is_local = settings.repository_has_filter(&filter);
            if !(is_local || filter == "lfs") || !self.uses_filter(git, &filter).await? {
                continue;
            }
            let remedy = match filter.as_str() {
                "lfs" => "install git-lfs and run `git lfs install`".to_owned(),
                name => format!(
                    "copy filter.{name}.* from the repository's settings to yours with `git config --global`"
                ),
            };
            return Err(WorktreeError::FilterMissing { filter, attributes, remedy });
        }
        Ok(())
    }

    /// The filters that attributes name, and where.
    async fn filters(&self, git: &Git) -> Result<Vec<(String, String)>, WorktreeError> {
        let call = git.on_tree(&self.git_dir, &self.top, "look for filters");
        let words = ["grep", "--full-name", "-I", "-e", "filter=", "HEAD", "--"];
        let output = call.args(words).arg(":(top,glob)**/.gitattributes").run().await?;
        if output.code > 1 {
            return Err(output.failure());
        }
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let lines = text.lines().filter_map(|line| line.strip_prefix("HEAD:")?.split_once(':'));
        let mut found: Vec<(String, String)> = lines
            .flat_map(|(file, line)| filters_in(line).map(|name| (name, file.to_owned())))
            .collect();
        let info = self.common_dir.join("info/attributes");
        let text = crate::files::read_text(&info, MOST_BYTES)?.unwrap_or_default();
        found.extend(
            text.lines().flat_map(filters_in).map(|name| (name, ".git/info/attributes".into())),
        );
        found.sort();
        found.dedup_by(|one, other| one.0 == other.0);
        Ok(found)
    }

    async fn uses_filter(&self, git: &Git, filter: &str) -> Result<bool, WorktreeError> {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        if !filter.chars().all(is_plain) {
            return Ok(true);
        }
        let call = git.on_tree(&self.git_dir, &self.top, "look for files with filters");
        let call = call.args(["ls-files", "-z", "--"]).arg(format!(":(top,attr:filter={filter})"));
        let mut any = false;
        call.each(|_| {
            any = true;
            false
        })
        .await?;
        Ok(any)
    }

    /// How many tracked files of the checkout are changed, and how many names are untracked.
    pub(crate) async fn changes(&self, git: &Git) -> Result<(u64, u64), WorktreeError> {
        let git = git.with_settings(&self.programs(git).await?);
        count_changes(git.on_tree(&self.git_dir, &self.top, LOOK), "normal").await
    }

    /// The first ones that git does not track.
    async fn repositories(&self, git: &Git) -> Result<Vec<String>, WorktreeError> {
        let git = git.with_settings(&self.programs(git).await?);
        let mut found = Vec::new();
        let call = git.on_tree(&self.git_dir, &self.top, LOOK).slow();
        call.args(["ls-files", "-z", "--others", "--exclude-standard"])
            .each(|name| {
                // A directory is listed only if it is a repository.
                if let Some(name) = name.strip_suffix(b"/") {
                    found.push(String::from_utf8_lossy(name).into_owned());
                }
                found.len() < MOST_NAMED
            })
            .await?;
        Ok(found)
    }

    /// The hooks that git would run.
    async fn hooks(&self, git: &Git) -> Result<Vec<String>, WorktreeError> {
        let set = git.at(&self.top, "read the settings of git");
        // `core.hooksPath` is overridden in our own calls, so it is asked for by the file.
        let set = set.args(["config", "--file"]).arg(self.common_dir.join("config"));
        let set = set.args(["--get", "core.hooksPath"]).run().await?;
        let folder = String::from_utf8_lossy(&set.stdout).trim().to_owned();
        let folder = match folder.as_str() {
            "" => self.common_dir.join("hooks"),
            folder => self.top.join(folder),
        };
        let entries = folder.read_dir().into_iter().flatten().flatten();
        let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
        let mut names: Vec<String> = names
            .filter(|name| {
                ["post-checkout", "pre-commit", "commit-msg", "post-commit", "post-merge"]
                    .contains(&name.as_str())
            })
            .collect();
        names.sort();
        Ok(names)
    }
}

/// Repositories that are named.
const MOST_NAMED: usize = 10;
pub(crate) const LOOK: &str = "look for changes";

/// How many tracked files of a checkout are changed, and how many names are untracked. The submodules are not asked.
pub(crate) async fn count_changes(
    call: GitCall<'_>,
    untracked: &str,
) -> Result<(u64, u64), WorktreeError> {
    let call = call.slow().args([
        "status",
        "--porcelain=v1",
        "-z",
        "--no-renames",
        "--ignore-submodules=all",
    ]);
    let (mut changed, mut new) = (0, 0);
    call.arg(format!("--untracked-files={untracked}"))
        .each(|entry| {
            if entry.starts_with(b"??") {
                new += 1
            } else {
                changed += 1
            }
            true
        })
        .await?;
    Ok((changed, new))
}

/// Git is in the middle of a merge, a rebase or the like.
pub(crate) fn operation_in_progress(git_dir: &Path) -> Option<&'static str> {
    IN_PROGRESS.into_iter().find(|name| git_dir.join(name).symlink_metadata().is_ok())
}

fn filters_in(line: &str) -> impl Iterator<Item = String> {
    let words = line.split_whitespace().filter(|_| !line.trim_start().starts_with('#'));
    words.skip(1).filter_map(|word| word.strip_prefix("filter=").map(str::to_owned))
}

fn real(path: &Path) -> Result<PathBuf, WorktreeError> {
    path.canonicalize().map_err(WorktreeError::io("find", path))
}
