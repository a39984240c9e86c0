//! Whether files that the sandbox has frozen changed all the same. A mount in the sandbox ends when somebody outside
//! replaces the file below it, as editors and `git config` do; from then on the command can write it.

use super::repository::running_settings;
use crate::read_small;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

const MOST_BYTES: u64 = 1 << 20;
/// Of the files in a directory of hooks.
const MOST_NAMES: usize = 500;

/// Names of what git runs, each with what it is.
type FrozenRun = BTreeSet<(String, String)>;

/// What git runs because of each frozen file or directory.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Frozen(Vec<(PathBuf, FrozenRun)>);

impl Frozen {
    pub(super) fn take(paths: impl Iterator<Item = PathBuf>) -> Self {
        Frozen(paths.map(|path| (path.clone(), running(&path))).collect())
    }

    /// The files that make git run something that they did not before.
    pub(super) fn changed(&self) -> Vec<(&Path, Vec<String>)> {
        let changed = |(path, before): &'_ (PathBuf, FrozenRun)| {
            let now = running(path);
            now.difference(before).map(|(name, _)| name.clone()).collect::<Vec<_>>()
        };
        let all = self.0.iter().map(|entry| (entry.0.as_path(), changed(entry)));
        all.filter(|(_, names)| !names.is_empty()).collect()
    }
}

fn running(path: &Path) -> FrozenRun {
    let Ok(meta) = path.metadata() else { return FrozenRun::new() };
    if meta.is_dir() {
        let entries = path.read_dir().into_iter().flatten().flatten().take(MOST_NAMES);
        let hook = |entry: std::fs::DirEntry| {
            let (name, meta) = (entry.file_name(), entry.path().metadata().ok()?);
            let is_run = meta.is_file() && meta.mode() & 0o111 != 0;
            let name = name.to_string_lossy().into_owned();
            let state = format!("{} {} {}", meta.ino(), meta.mtime(), meta.mtime_nsec());
            (is_run && !name.ends_with(".sample")).then_some((name, state))
        };
        return entries.filter_map(hook).collect();
    }
    let bytes = read_small(path, MOST_BYTES);
    match bytes.as_deref().and_then(running_settings) {
        Some(settings) => settings.into_iter().collect(),
        None => {
            let mut hasher = DefaultHasher::new();
            bytes.hash(&mut hasher);
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            FrozenRun::from([(name, hasher.finish().to_string())])
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn what_git_runs_anew_is_found() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        fs::create_dir(at("hooks")).unwrap();
        fs::write(at("config"), "[core]\n\tpager = less\n").unwrap();
        fs::write(at("odd"), "[core] pager = less\n").unwrap();
        fs::write(at("hooks/update"), "").unwrap();
        let take = || Frozen::take(["config", "odd", "hooks", "missing"].map(at).into_iter());
        let before = take();
        assert!(before.changed().is_empty());
        fs::write(at("config"), "[core]\n\tpager = less\n[user]\n\tname = x\n").unwrap();
        assert!(before.changed().is_empty(), "a name runs nothing");
        fs::write(at("config"), "[core]\n\tpager = evil\n").unwrap();
        fs::write(at("odd"), "[core] pager = evil\n").unwrap();
        fs::set_permissions(at("hooks/update"), fs::Permissions::from_mode(0o755)).unwrap();
        fs::write(at("missing"), "[alias]\n\tx = !evil\n").unwrap();
        let found = before.changed();
        let names: Vec<&str> = found.iter().map(|(_, names)| names[0].as_str()).collect();
        assert_eq!(names, ["core.pager", "odd", "update", "alias.x"]);
        assert!(take().changed().is_empty());
    }
}
