//! Where the kernel cannot keep a file from being changed, it is compared before and after a command, and put back.

use serde::{Deserialize, Serialize};
use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

/// Bytes kept of all guarded files together; hooks and settings are small.
const MOST_BYTES: u64 = 8 << 20;
const MOST_FILES: usize = 2_000;

/// Whether a change of a file, from one content to the other, may stay.
type Harmless = dyn Fn(&Path, &[u8], &[u8]) -> bool;

/// The guarded files as they were.
#[derive(Serialize, Deserialize)]
pub struct Guard {
    before: Vec<(PathBuf, GuardedState)>,
    /// Not all of it was kept.
    pub incomplete: bool,
}

#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
enum GuardedState {
    Missing,
    File {
        bytes: Vec<u8>,
        mode: u32,
    },
    Link(PathBuf),
    Folder(Vec<(PathBuf, GuardedState)>),
    /// Too large, unreadable or of another kind.
    Unknown,
}

/// What became of a file that a command changed.
#[derive(Debug, PartialEq, Eq)]
pub enum Restored {
    Done(PathBuf),
    Failed(PathBuf, String),
}

impl Guard {
    pub fn take(paths: &[PathBuf]) -> Self {
        let mut room = GuardRoom { bytes: MOST_BYTES, files: MOST_FILES, short: false };
        let before =
            paths.iter().map(|path| (path.clone(), GuardedState::of(path, &mut room))).collect();
        Guard { before, incomplete: room.short }
    }

    /// What is not as it was, apart from harmless changes. Everything stays as it is.
    pub fn changed(&self, kept: &Harmless) -> Vec<&Path> {
        let changed = self.before.iter().filter(|(path, state)| state.is_changed(path, kept));
        changed.map(|(path, _)| path.as_path()).collect()
    }

    /// Puts back what is not as it was, unless `kept` says that the change of a file is harmless.
    pub fn restore(&self, kept: &Harmless) -> Vec<Restored> {
        let mut found = Vec::new();
        for (path, state) in &self.before {
            state.restore(path, kept, &mut found);
        }
        found
    }
}

struct GuardRoom {
    bytes: u64,
    files: usize,
    short: bool,
}

impl GuardedState {
    fn of(path: &Path, room: &mut GuardRoom) -> GuardedState {
        let meta = match path.symlink_metadata() {
            Ok(meta) => meta,
            Err(error) if is_absent(&error) => return GuardedState::Missing,
            // It may be there: a command could give itself the permission that we lack.
            Err(_) => {
                room.short = true;
                return GuardedState::Unknown;
            }
        };
        if room.files == 0 {
            room.short = true;
            return GuardedState::Unknown;
        }
        room.files -= 1;
        let kind = meta.file_type();
        if kind.is_symlink() {
            return fs::read_link(path).map_or(GuardedState::Unknown, GuardedState::Link);
        }
        if kind.is_dir() {
            let Ok(entries) = path.read_dir() else {
                room.short = true;
                return GuardedState::Unknown;
            };
            let mut inside: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
            inside.sort();
            let states = inside.into_iter().map(|path| {
                let state = GuardedState::of(&path, room);
                (path, state)
            });
            return GuardedState::Folder(states.collect());
        }
        if !kind.is_file() || meta.len() > room.bytes {
            room.short = true;
            return GuardedState::Unknown;
        }
        room.bytes -= meta.len();
        let mode = meta.permissions().mode();
        fs::read(path).map_or(GuardedState::Unknown, |bytes| GuardedState::File { bytes, mode })
    }

    fn is_changed(&self, path: &Path, kept: &Harmless) -> bool {
        let mut room = GuardRoom { bytes: u64::MAX, files: MOST_FILES, short: false };
        match (self, GuardedState::of(path, &mut room)) {
            (GuardedState::Unknown, _) => false,
            (GuardedState::File { bytes: before, .. }, GuardedState::File { bytes: after, .. })
                if kept(path, before, &after) =>
            {
                false
            }
            (before, now) => now != *before,
        }
    }

    fn restore(&self, path: &Path, kept: &Harmless, found: &mut Vec<Restored>) {
        let mut room = GuardRoom { bytes: u64::MAX, files: MOST_FILES, short: false };
        if let GuardedState::Folder(before) = self
            && path.symlink_metadata().is_ok_and(|meta| meta.is_dir())
        {
            let now = path.read_dir().into_iter().flatten().flatten().map(|entry| entry.path());
            let new = now.filter(|path| !before.iter().any(|(known, _)| known == path));
            for path in new {
                found.push(outcome(path.clone(), remove(&path)));
            }
            for (path, state) in before {
                state.restore(path, kept, found);
            }
            return;
        }
        let now = GuardedState::of(path, &mut room);
        if now == *self || *self == GuardedState::Unknown {
            return;
        }
        if let (GuardedState::File { bytes: before, .. }, GuardedState::File { bytes: after, .. }) =
            (self, &now)
            && kept(path, before, after)
        {
            return;
        }
        let restored = remove(path).and_then(|()| self.write(path));
        found.push(outcome(path.to_owned(), restored));
    }

    fn write(&self, path: &Path) -> std::io::Result<()> {
        match self {
            GuardedState::Missing | GuardedState::Unknown => Ok(()),
            GuardedState::Link(target) => symlink(target, path),
            GuardedState::File { bytes, mode } => {
                fs::write(path, bytes)?;
                fs::set_permissions(path, fs::Permissions::from_mode(*mode))
            }
            GuardedState::Folder(inside) => {
                fs::create_dir_all(path)?;
                inside.iter().try_for_each(|(path, state)| state.write(path))
            }
        }
    }
}

fn outcome(path: PathBuf, restored: std::io::Result<()>) -> Restored {
    match restored {
        Ok(()) => Restored::Done(path),
        Err(error) => Restored::Failed(path, error.to_string()),
    }
}

fn is_absent(error: &std::io::Error) -> bool {
    [ErrorKind::NotFound, ErrorKind::NotADirectory].contains(&error.kind())
}

/// Never follows a link.
fn remove(path: &Path) -> std::io::Result<()> {
    match path.symlink_metadata() {
        Ok(meta) if meta.is_dir() => fs::remove_dir_all(path),
        Ok(_) => fs::remove_file(path),
        Err(error) if is_absent(&error) => Ok(()),
        Err(error) => Err(error),
    }
}

/// Whether a change of a git configuration touches only settings that make nothing run.
pub fn is_harmless_change(path: &Path, before: &[u8], after: &[u8]) -> bool {
    let is_config = path.file_name().is_some_and(|name| name == "config");
    let (Some(before), Some(after)) = (settings(before), settings(after)) else { return false };
    let changed = |from: &[(String, String)], to: &[(String, String)]| {
        let new = from.iter().filter(|setting| !to.contains(setting));
        new.cloned().collect::<Vec<_>>()
    };
    let all = [changed(&before, &after), changed(&after, &before)].concat();
    is_config && all.iter().all(|(key, value)| ostler_shell::is_harmless_git_setting(key, value))
}

/// `section.sub.key` and value of each line; none where a line is not plain.
pub(super) fn settings(bytes: &[u8]) -> Option<Vec<(String, String)>> {
    let mut section = String::new();
    let mut found = Vec::new();
    for line in std::str::from_utf8(bytes).ok()?.lines() {
        let line = line.trim();
        if line.is_empty() || line.starts_with(['#', ';']) {
            continue;
        }
        if let Some(head) = line.strip_prefix('[') {
            // Git takes what follows the bracket for a setting, so nothing may.
            let head = head.strip_suffix(']')?;
            let (name, sub) = head.split_once(' ').unwrap_or((head, ""));
            if !is_name(name, ".-") {
                return None;
            }
            section = name.to_ascii_lowercase();
            if head != name {
                let sub = sub.trim().strip_prefix('"')?.strip_suffix('"')?;
                if sub.contains(['"', '\\']) {
                    return None;
                }
                section = format!("{section}.{sub}");
            }
            continue;
        }
        // A value that continues in the next line, or is quoted in parts, is not read here.
        if line.ends_with('\\') || section.is_empty() {
            return None;
        }
        let (key, value) = line.split_once('=').unwrap_or((line, "true"));
        if !is_name(key.trim(), "-") {
            return None;
        }
        let value = value.trim().trim_matches('"');
        found.push((format!("{section}.{}", key.trim().to_ascii_lowercase()), value.to_owned()));
    }
    Some(found)
}

fn is_name(text: &str, besides: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || besides.contains(c))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_changed_added_or_removed_is_put_back() {
        let world = tempfile::tempdir().unwrap();
        let at = |name: &str| world.path().join(name);
        fs::create_dir(at("hooks")).unwrap();
        fs::write(at("hooks/a"), "one").unwrap();
        fs::set_permissions(at("hooks/a"), fs::Permissions::from_mode(0o755)).unwrap();
        fs::write(at("hooks/b"), "two").unwrap();
        fs::write(at("config"), "c").unwrap();
        symlink("config", at("link")).unwrap();
        let paths: Vec<_> = ["hooks", "config", "link", "absent", "quiet"].map(at).to_vec();
        fs::write(at("quiet"), "q").unwrap();
        let guard = Guard::take(&paths);
        assert!(guard.restore(&|_, _, _| false).is_empty(), "nothing was changed");

        fs::write(at("hooks/a"), "evil").unwrap();
        fs::remove_file(at("hooks/b")).unwrap();
        fs::create_dir(at("hooks/new")).unwrap();
        fs::remove_file(at("config")).unwrap();
        fs::create_dir(at("config")).unwrap();
        fs::remove_file(at("link")).unwrap();
        symlink("/etc/passwd", at("link")).unwrap();
        fs::write(at("absent"), "here").unwrap();
        let changed = ["hooks", "config", "link", "absent"].map(at);
        assert_eq!(guard.changed(&|_, _, _| false), changed.each_ref().map(PathBuf::as_path));
        let done = |name: &str| Restored::Done(at(name));
        let restored = guard.restore(&|_, _, _| false);
        let expected = ["hooks/new", "hooks/a", "hooks/b", "config", "link", "absent"].map(done);
        assert_eq!(restored, expected);
        assert_eq!(fs::read(at("hooks/a")).unwrap(), b"one");
        assert_eq!(at("hooks/a").metadata().unwrap().permissions().mode() & 0o777, 0o755);
        assert_eq!(fs::read(at("hooks/b")).unwrap(), b"two");
        assert_eq!(fs::read(at("config")).unwrap(), b"c");
        assert_eq!(fs::read_link(at("link")).unwrap(), Path::new("config"));
        assert!(!at("absent").exists() && !at("hooks/new").exists());
        fs::remove_dir_all(at("hooks")).unwrap();
        assert_eq!(guard.restore(&|_, _, _| false), [done("hooks")]);
        assert_eq!(fs::read(at("hooks/b")).unwrap(), b"two");
    }

    #[test]
    fn settings_that_run_nothing_may_change() {
        let before = "[core]\n\tbare = false\n[branch \"main\"]\n\tremote = origin\n";
        for (after, expected) in [
            ("[branch \"x\"]\n\tremote = origin\n\tmerge = refs/heads/x\n", true),
            ("[remote \"up\"]\n\turl = https://a.example/x\n\tfetch = +a:b\n", true),
            ("[user]\n\tname = \"A B\"\n", true),
            ("; a note\n", true),
            ("[core]\n\thooksPath = x\n", false),
            ("[core]\n\tfsmonitor = x\n", false),
            ("[remote \"up\"]\n\turl = ext::sh -c x\n", false),
            ("[alias]\n\tx = !sh\n", false),
            ("[filter \"a\"]\n\tclean = sh\n", false),
            ("[include]\n\tpath = x\n", false),
            ("[user]\n\tname = a \\\n", false),
            ("[broken\n", false),
            // Git reads a setting behind the bracket.
            ("[core]fsmonitor=x]\n", false),
            ("[core] fsmonitor=x\n", false),
        ] {
            let after = format!("{before}{after}");
            let config = Path::new("/ws/.git/config");
            let found = is_harmless_change(config, before.as_bytes(), after.as_bytes());
            assert_eq!(found, expected, "{after}");
        }
        let hook = Path::new("/ws/.git/hooks/x");
        assert!(!is_harmless_change(hook, b"", b"# x\n"), "only a configuration has settings");
        // What was there and made something run must not go either.
        let with = "[core]\n\thooksPath = safe\n";
        assert!(!is_harmless_change(Path::new("/ws/.git/config"), with.as_bytes(), b""));
    }
}
