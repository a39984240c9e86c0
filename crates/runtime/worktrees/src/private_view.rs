//! A git directory of our own for one call.
//!
//! Where `extensions.worktreeConfig` is set, git also reads `config.worktree` in the git directory of a checkout. Commands
//! of other sessions may be able to write there, and git runs filters and merge drivers that the file names: also those
//! that were written after we have read the settings. So calls get a directory with nothing but what they need.

use crate::error::WorktreeError;
use crate::files;
use crate::git::Git;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

const MOST_CONFIG: u64 = 1 << 20;
const MOST_HEAD: u64 = 4 << 10;
const MOST_PATTERNS: u64 = 1 << 20;
/// The settings of `config.worktree` that decide which files are checked out, and name no program.
const SPARSE: [&str; 2] = ["core.sparseCheckout", "core.sparseCheckoutCone"];

pub(crate) struct PrivateView {
    pub path: PathBuf,
    /// Of the real directory.
    pub index: PathBuf,
    pub settings: Vec<(String, String)>,
}

impl PrivateView {
    /// None: git reads nothing there that others can write.
    pub async fn of(
        git: &Git,
        (folder, common_dir): (&Path, &Path),
        git_dir: &Path,
    ) -> Result<Option<Self>, WorktreeError> {
        if !has_settings_of_its_own(common_dir) {
            return Ok(None);
        }
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let path = folder.join(format!("{}-{number}", std::process::id()));
        let index = git_dir.join("index");
        let mut view = PrivateView { path, index, settings: Vec::new() };
        files::make_private_directory(&view.path.join("info"))?;
        let head = files::read_text(&git_dir.join("HEAD"), MOST_HEAD)?.unwrap_or_default();
        write(&view.path.join("HEAD"), &head)?;
        // Refs are looked up by this file, whatever the environment says. Such paths are UTF-8.
        write(&view.path.join("commondir"), &format!("{}\n", common_dir.display()))?;
        let patterns = Path::new("info").join("sparse-checkout");
        if let Some(text) = files::read_text(&git_dir.join(&patterns), MOST_PATTERNS)? {
            write(&view.path.join(&patterns), &text)?;
        }
        for name in SPARSE {
            let call = git.at(Path::new("/"), "read the settings of git");
            let call = call.args(["config", "--type=bool", "--file"]);
            let call = call.arg(git_dir.join("config.worktree")).args(["--get", name]);
            let found = Box::pin(call.run()).await?;
            if found.code == 0 {
                let value = String::from_utf8_lossy(&found.stdout).trim().to_owned();
                view.settings.push((name.to_owned(), value));
            }
        }
        Ok(Some(view))
    }
}

impl Drop for PrivateView {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.path);
    }
}

/// What killed processes left.
pub(crate) fn remove_stale(folder: &Path) {
    for entry in folder.read_dir().into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let process = name.split('-').next().unwrap_or_default();
        if !Path::new("/proc").join(process).exists() {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

/// Git reads extensions in this file alone, and agents cannot write it. If it cannot be read, the answer is yes.
fn has_settings_of_its_own(common_dir: &Path) -> bool {
    match files::read_text(&common_dir.join("config"), MOST_CONFIG) {
        Ok(text) => text.unwrap_or_default().to_ascii_lowercase().contains("worktreeconfig"),
        Err(_) => true,
    }
}

fn write(path: &Path, text: &str) -> Result<(), WorktreeError> {
    fs::write(path, text).map_err(WorktreeError::io("write", path))
}
