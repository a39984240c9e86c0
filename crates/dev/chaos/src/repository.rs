//! The repository of a run: workers commit on branches of their attempts, without a checkout.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

pub const TARGET: &str = "main";
/// Checked out instead of the target, so that merging writes no files.
const IDLE: &str = "idle";
/// A fixed time: nothing here depends on it.
const WHO: &str = "chaos <chaos@localhost> 1700000000 +0000";

pub fn path(directory: &Path) -> PathBuf {
    directory.join("repository")
}

/// One branch for each attempt: the fence is the number of the claim.
pub fn branch(task: &str, fence: u64) -> String {
    format!("ostler/chaos-{task}-{fence}")
}

pub fn subject(task: &str, fence: u64) -> String {
    format!("chaos {task} {fence}")
}

/// The file that a task adds.
pub fn file(task: &str) -> String {
    let end = task.get(task.len().saturating_sub(2)..).unwrap_or_default();
    format!("done/{end}/{task}")
}

pub fn create(directory: &Path) -> Result<(), String> {
    let repository = path(directory);
    std::fs::create_dir_all(&repository).map_err(|why| format!("cannot make it: {why}"))?;
    git(&repository, &["init", "-q", "-b", IDLE, "."])?;
    make_quick(&repository)?;
    import(&repository, &commit(TARGET, "first", None, "readme", "chaos\n"))?;
    git(&repository, &["branch", IDLE, TARGET])?;
    git(&repository, &["reset", "-q", "--hard"]).map(drop)
}

/// Processes are killed, not the machine.
pub fn make_quick(repository: &Path) -> Result<(), String> {
    let settings = [("core.fsync", "none"), ("gc.auto", "0"), ("receive.autogc", "false")];
    settings
        .iter()
        .try_for_each(|(name, value)| git(repository, &["config", name, value]).map(drop))
}

/// Many branches in one file: git reads them all again and again.
pub fn pack_branches(directory: &Path) -> Result<(), String> {
    git(&path(directory), &["pack-refs", "--all"]).map(drop)
}

/// Commits the work of an attempt on its own branch.
pub fn commit_attempt(repository: &Path, task: &str, fence: u64) -> Result<String, String> {
    let branch = branch(task, fence);
    let text = format!("{task} by fence {fence}\n");
    let from = Some("refs/heads/main^0");
    let script = commit(&branch, &subject(task, fence), from, &file(task), &text);
    import(repository, &script)?;
    Ok(branch)
}

fn commit(branch: &str, subject: &str, from: Option<&str>, file: &str, text: &str) -> String {
    let from = from.map(|from| format!("from {from}\n")).unwrap_or_default();
    format!(
        "commit refs/heads/{branch}\ncommitter {WHO}\ndata {}\n{subject}\n{from}M 100644 inline {file}\ndata {}\n{text}\ndone\n",
        subject.len(),
        text.len(),
    )
}

fn import(repository: &Path, script: &str) -> Result<(), String> {
    let mut command = command(repository, &["fast-import", "--quiet", "--done"]);
    command.stdin(Stdio::piped()).stdout(Stdio::null());
    let mut child = command.spawn().map_err(|why| format!("cannot start git: {why}"))?;
    if let Some(mut input) = child.stdin.take() {
        // If it has died, its exit code says so.
        let _ = input.write_all(script.as_bytes());
    }
    let output = child.wait_with_output().map_err(|why| format!("git is gone: {why}"))?;
    match output.status.success() {
        true => Ok(()),
        false => Err(format!("git fast-import: {}", String::from_utf8_lossy(&output.stderr))),
    }
}

/// What git prints.
pub fn git(repository: &Path, words: &[&str]) -> Result<String, String> {
    let output = command(repository, words).output();
    let output = output.map_err(|why| format!("cannot start git: {why}"))?;
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
        false => Err(format!("git {words:?}: {}", String::from_utf8_lossy(&output.stderr))),
    }
}

fn command(repository: &Path, words: &[&str]) -> Command {
    let mut command = Command::new("git");
    command.arg("-C").arg(repository).args(words);
    command.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
    command.stdin(Stdio::null()).stderr(Stdio::piped());
    command
}
