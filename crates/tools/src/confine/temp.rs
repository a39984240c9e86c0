//! A private folder for temporary files, one a session. What dead processes have left is removed.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use tempfile::TempDir;

const PREFIX: &str = "ostler-";
/// In memory or cleaned by the system in most places; the second where the first is full.
const PLACES: [&str; 2] = ["/tmp", "/var/tmp"];
/// Names looked at for old folders.
const MOST_NAMES: usize = 10_000;

/// # Errors
/// In words, with the place.
pub(super) fn create() -> Result<TempDir, String> {
    let mut last = String::new();
    for place in PLACES.map(Path::new) {
        clean(place);
        let prefix = format!("{PREFIX}{}-", std::process::id());
        let private = fs::Permissions::from_mode(0o700);
        let mut builder = tempfile::Builder::new();
        match builder.prefix(&prefix).permissions(private).tempdir_in(place) {
            Ok(folder) => return Ok(folder),
            Err(error) => last = format!("{}: {error}", place.display()),
        }
    }
    Err(last)
}

/// Removes folders of this user whose process is gone.
fn clean(place: &Path) {
    let entries = place.read_dir().into_iter().flatten().take(MOST_NAMES).flatten();
    for path in entries.map(|entry| entry.path()).filter(|path| is_left_over(path)) {
        // Never follows a link: it is a folder of ours, and what is in it is removed as it is.
        let _ = fs::remove_dir_all(path);
    }
}

fn is_left_over(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str());
    let process = name.and_then(|name| name.strip_prefix(PREFIX)?.split_once('-')?.0.parse().ok());
    let Some(process) = process.and_then(rustix::process::Pid::from_raw) else { return false };
    let ours = path
        .symlink_metadata()
        .is_ok_and(|meta| meta.is_dir() && meta.uid() == rustix::process::geteuid().as_raw());
    let gone = rustix::process::test_kill_process(process) == Err(rustix::io::Errno::SRCH);
    ours && gone
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_of_dead_processes_go_and_others_stay() {
        let place = tempfile::tempdir().unwrap();
        let at = |name: String| place.path().join(name);
        let mut dead = std::process::Command::new("/bin/true").spawn().unwrap();
        let gone = at(format!("ostler-{}-x", dead.id()));
        dead.wait().unwrap();
        let ours = at(format!("ostler-{}-x", std::process::id()));
        let other = at("ostler-notes".into());
        for folder in [&gone, &ours, &other] {
            fs::create_dir_all(folder.join("deep")).unwrap();
        }
        clean(place.path());
        assert!(!gone.exists() && ours.exists() && other.exists());
        let folder = create().unwrap();
        let mode = folder.path().metadata().unwrap().mode();
        assert_eq!(mode & 0o777, 0o700);
    }
}
