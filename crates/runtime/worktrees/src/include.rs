//! `.worktreeinclude`: files that git does not track but a tree needs, such as `.env`.
//!
//! The patterns are those of `.gitignore`, and git itself matches them. Only regular files are copied: links are not
//! followed, neither in the project nor in the tree, and nothing outside is read.

use crate::error::WorktreeError;
use crate::files;
use crate::git::Git;
use crate::registry::run_blocking;
use crate::repository::TreeWarning;
use crate::worktrees::{TreeLimits, Worktrees};
use rustix::fs::{Mode, OFlags, ResolveFlags};
use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::PermissionsExt;
use std::path::{Component, Path, PathBuf};

/// The name of the file in the top directory of a project.
pub const INCLUDE_FILE: &str = ".worktreeinclude";
const MOST_PATTERNS: u64 = 64 << 10;
/// Names of files that are remembered while git lists them.
const MOST_NAMES: usize = 20_000;

/// The patterns of a project, for the caller to decide whether it trusts them. None: there are none.
///
/// # Errors
/// If the file cannot be read, is a link, or is too large.
pub fn read_include_file(top: &Path) -> Result<Option<String>, WorktreeError> {
    files::read_text(&top.join(INCLUDE_FILE), MOST_PATTERNS)
}

pub(crate) struct Copied {
    pub paths: Vec<PathBuf>,
    pub warnings: Vec<TreeWarning>,
}

pub(crate) async fn copy(
    trees: &Worktrees,
    git: &Git,
    (name, path): (&str, &Path),
    patterns: &str,
) -> Result<Copied, WorktreeError> {
    let names = matching(trees, git, name, patterns).await?;
    let (from, to, limits) = (trees.repository.top.clone(), path.to_path_buf(), trees.limits);
    run_blocking(move || copy_all(&from, &to, names, limits)).await
}

/// Untracked and ignored files that the patterns match.
async fn matching(
    trees: &Worktrees,
    git: &Git,
    name: &str,
    patterns: &str,
) -> Result<Vec<PathBuf>, WorktreeError> {
    let file = trees.registry.include_path(name);
    files::write_whole(&file, patterns.as_bytes())?;
    let mut names = Vec::new();
    let call = git.at(&trees.repository.top, "look for files to include").slow();
    let call = call.args(["ls-files", "-z", "--full-name", "--others", "--ignored"]);
    let listed = call
        .arg(format!("--exclude-from={}", file.display()))
        .each(|name| {
            names.push(PathBuf::from(OsString::from_vec(name.to_vec())));
            names.len() < MOST_NAMES
        })
        .await;
    files::remove_file(&file)?;
    listed?;
    Ok(names)
}

fn copy_all(
    from: &Path,
    to: &Path,
    names: Vec<PathBuf>,
    limits: TreeLimits,
) -> Result<Copied, WorktreeError> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let open = |path: &Path| {
        let opened = rustix::fs::open(path, flags, Mode::empty());
        opened.map_err(|error| WorktreeError::io("open", path)(error.into()))
    };
    let (from, to) = (open(from)?, open(to)?);
    let mut copied = Copied { paths: Vec::new(), warnings: Vec::new() };
    let mut left = limits.included_bytes;
    for name in names {
        let done = match copied.paths.len() < limits.included_files {
            true => copy_one(&from, &to, &name, left),
            false => Err(format!("more than {} files match", limits.included_files)),
        };
        match done {
            Ok(bytes) => {
                left -= bytes;
                copied.paths.push(name);
            }
            Err(why) => {
                let path = name.to_string_lossy().into_owned();
                copied.warnings.push(TreeWarning::NotCopied { path, why });
            }
        }
        // One line per file is enough to see what is wrong.
        if copied.warnings.len() >= 20 {
            break;
        }
    }
    Ok(copied)
}

fn copy_one(from: &OwnedFd, to: &OwnedFd, name: &Path, left: u64) -> Result<u64, String> {
    let plain =
        name.components().all(|part| matches!(part, Component::Normal(name) if name != ".git"));
    if !plain || name.as_os_str().as_bytes().ends_with(b"/") {
        return Err("it is a directory or another repository".to_owned());
    }
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let source = open_below(from, name, flags, Mode::empty()).map_err(|error| match error {
        rustix::io::Errno::LOOP => "it is a link, or below one".to_owned(),
        error => io::Error::from(error).to_string(),
    })?;
    let source = File::from(source);
    let meta = source.metadata().map_err(|error| error.to_string())?;
    if !meta.is_file() {
        return Err("it is not a file".to_owned());
    }
    if meta.len() > left {
        return Err("the included files are too large".to_owned());
    }
    let mode = Mode::from_raw_mode(meta.permissions().mode() & 0o700 | 0o600);
    let copy = || -> io::Result<u64> {
        make_parents(to, name)?;
        let flags =
            OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let target = File::from(open_below(to, name, flags, mode)?);
        // It may grow meanwhile.
        io::copy(&mut io::Read::take(source, left), &mut &target)
    };
    copy().map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => "the worktree has such a file already".to_owned(),
        _ => error.to_string(),
    })
}

fn make_parents(to: &OwnedFd, name: &Path) -> io::Result<()> {
    let mut so_far = PathBuf::new();
    for part in name.parent().into_iter().flat_map(Path::components) {
        let above = match so_far.as_os_str().is_empty() {
            true => to.try_clone()?,
            false => open_below(
                to,
                &so_far,
                OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC,
                Mode::empty(),
            )?,
        };
        match rustix::fs::mkdirat(&above, part.as_os_str(), Mode::from_raw_mode(0o777)) {
            Ok(()) | Err(rustix::io::Errno::EXIST) => {}
            Err(error) => return Err(error.into()),
        }
        so_far.push(part);
    }
    Ok(())
}

fn open_below(at: &OwnedFd, name: &Path, flags: OFlags, mode: Mode) -> rustix::io::Result<OwnedFd> {
    let within = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    rustix::fs::openat2(at, name, flags, mode, within)
}
