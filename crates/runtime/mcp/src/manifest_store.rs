//! Manifests on disk, so that the tools of a server are known before it runs. A cache: what cannot be read is fetched
//! again, and what cannot be written is fetched next time.

use crate::manifest::Manifest;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs;
use std::io::Read;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The format; files of other versions are not read.
const VERSION: u32 = 1;
/// Bytes of one file.
const LARGEST: u64 = 8 << 20;
/// Tools of a server whose hashes are remembered.
const MOST_SEEN: usize = 5_000;
/// Files that are kept; the oldest go.
const MOST_FILES: usize = 500;

/// How long a server that failed is left alone; each further failure doubles it.
const FIRST_REST: Duration = Duration::from_secs(30);
const LONGEST_REST: Duration = Duration::from_secs(600);

pub(crate) struct ManifestStore {
    folder: PathBuf,
}

#[derive(Serialize, Deserialize)]
struct Stored {
    version: u32,
    manifest: Manifest,
}

/// That a server failed, and how often in a row.
#[derive(Serialize, Deserialize)]
struct Failure {
    count: u32,
    error: String,
}

impl ManifestStore {
    pub(crate) fn new(folder: PathBuf) -> Self {
        ManifestStore { folder }
    }

    fn path(&self, key: &str) -> PathBuf {
        self.folder.join(format!("{key}.json"))
    }

    pub(crate) fn load(&self, key: &str) -> Option<Manifest> {
        let (text, _) = read(&self.path(key))?;
        let stored: Stored = serde_json::from_str(&text).ok()?;
        (stored.version == VERSION).then_some(stored.manifest)
    }

    pub(crate) fn save(&self, key: &str, manifest: &Manifest) {
        let stored = Stored { version: VERSION, manifest: manifest.clone() };
        if let Ok(text) = serde_json::to_vec(&stored) {
            self.write(&self.path(key), &text);
        }
    }

    fn write(&self, path: &Path, text: &[u8]) {
        if fs::DirBuilder::new().recursive(true).mode(0o700).create(&self.folder).is_err() {
            return;
        }
        self.prune();
        let new = path.with_extension(format!("{}.new", std::process::id()));
        // Without a sync: a damaged file is fetched again.
        if write_private(&new, text).is_err() || fs::rename(&new, path).is_err() {
            let _ = fs::remove_file(&new);
        }
    }

    pub(crate) fn forget(&self, key: &str) {
        let _ = fs::remove_file(self.path(key));
    }

    fn failure_path(&self, key: &str) -> PathBuf {
        self.folder.join(format!("{key}.failed"))
    }

    /// Why the server failed, as long as it is not worth another attempt.
    pub(crate) fn recent_failure(&self, key: &str) -> Option<String> {
        let (text, age) = read(&self.failure_path(key))?;
        let failure: Failure = serde_json::from_str(&text).ok()?;
        let rest = FIRST_REST.saturating_mul(1 << failure.count.clamp(1, 10).saturating_sub(1));
        (age? < rest.min(LONGEST_REST)).then_some(failure.error)
    }

    pub(crate) fn note_failure(&self, key: &str, error: &str) {
        let path = self.failure_path(key);
        let earlier = read(&path).and_then(|(text, _)| serde_json::from_str::<Failure>(&text).ok());
        let count = earlier.map_or(0, |earlier| earlier.count).saturating_add(1);
        if let Ok(text) = serde_json::to_vec(&Failure { count, error: error.to_owned() }) {
            self.write(&path, &text);
        }
    }

    pub(crate) fn forget_failure(&self, key: &str) {
        let _ = fs::remove_file(self.failure_path(key));
    }

    fn slow_path(&self, key: &str) -> PathBuf {
        self.folder.join(format!("{key}.slow"))
    }

    /// A prompt waited for the server in vain, not long ago.
    pub(crate) fn is_slow(&self, key: &str) -> bool {
        read(&self.slow_path(key)).and_then(|(_, age)| age).is_some_and(|age| age < LONGEST_REST)
    }

    pub(crate) fn note_slow(&self, key: &str) {
        self.write(&self.slow_path(key), b"");
    }

    pub(crate) fn forget_slow(&self, key: &str) {
        let _ = fs::remove_file(self.slow_path(key));
    }

    /// Which of these tools have another hash than when they were last seen under this key. From now on, these hashes are the
    /// ones that were seen.
    pub(crate) fn changed(&self, key: &str, now: BTreeMap<String, String>) -> Vec<String> {
        let path = self.folder.join(format!("{key}.seen"));
        let before = read(&path).and_then(|(text, _)| serde_json::from_str(&text).ok());
        let before: BTreeMap<String, String> = before.unwrap_or_default();
        let is_changed = |(name, hash): &(&String, &String)| {
            before.get(*name).is_some_and(|before| before != *hash)
        };
        let changed = now.iter().filter(is_changed).map(|(name, _)| name.clone()).collect();
        // A tool that is gone is remembered for the day when it comes back.
        let mut seen = before.clone();
        seen.extend(now);
        if seen != before
            && seen.len() <= MOST_SEEN
            && let Ok(text) = serde_json::to_vec(&seen)
        {
            self.write(&path, &text);
        }
        changed
    }

    fn prune(&self) {
        let Ok(entries) = fs::read_dir(&self.folder) else { return };
        let aged =
            |entry: fs::DirEntry| Some((entry.metadata().ok()?.modified().ok()?, entry.path()));
        let mut files: Vec<_> = entries.flatten().filter_map(aged).collect();
        if files.len() < MOST_FILES {
            return;
        }
        files.sort();
        for (_, path) in files.iter().take(files.len() - MOST_FILES / 2) {
            let _ = fs::remove_file(path);
        }
    }
}

/// What a file says, and how old it is; none of the latter if it is from the future.
fn read(path: &Path) -> Option<(String, Option<Duration>)> {
    let mut options = fs::OpenOptions::new();
    let file = options.read(true).custom_flags(0o400000).open(path).ok()?; // O_NOFOLLOW
    let age = file.metadata().ok()?.modified().ok()?.elapsed().ok();
    let mut text = String::new();
    file.take(LARGEST).read_to_string(&mut text).ok()?;
    Some((text, age))
}

fn write_private(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    use std::io::Write;
    let mut options = fs::OpenOptions::new();
    let mut file = options.write(true).create(true).truncate(true).mode(0o600).open(path)?;
    file.write_all(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn store() -> (tempfile::TempDir, ManifestStore) {
        let folder = tempfile::tempdir().unwrap();
        let store = ManifestStore::new(folder.path().join("manifests"));
        (folder, store)
    }

    fn seen(tools: &[(&str, &str)]) -> BTreeMap<String, String> {
        tools.iter().map(|(name, hash)| ((*name).to_owned(), (*hash).to_owned())).collect()
    }

    #[test]
    fn a_pinned_tool_is_reported_when_it_changes_and_once() {
        let (_folder, store) = store();
        for (now, changed) in [
            (&[("a", "1"), ("b", "1")][..], &[][..]),
            (&[("a", "1"), ("b", "2"), ("c", "1")], &["b"]),
            (&[("a", "1"), ("b", "2")], &[]),
            // One that was away is compared with what it was.
            (&[("b", "2"), ("c", "2")], &["c"]),
            (&[("a", "2"), ("c", "2")], &["a"]),
        ] {
            assert_eq!(store.changed("k", seen(now)), changed, "{now:?}");
        }
        assert_eq!(store.changed("other", seen(&[("a", "9")])), [] as [&str; 0]);
    }

    #[test]
    fn what_cannot_be_read_is_not_there() {
        let (_folder, store) = store();
        assert_eq!(store.load("k"), None);
        let manifest = Manifest { server: "s".into(), ..Manifest::default() };
        store.save("k", &manifest);
        assert_eq!(store.load("k"), Some(manifest));
        let path = store.path("k");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        let text = fs::read_to_string(&path).unwrap();
        for broken in ["", "{", "[]", &text.replace("\"version\":1,", "\"version\":2,")] {
            fs::write(&path, broken).unwrap();
            assert_eq!(store.load("k"), None, "{broken}");
        }
        fs::remove_file(&path).unwrap();
        std::os::unix::fs::symlink("/etc/passwd", &path).unwrap();
        assert_eq!(store.load("k"), None, "links are not followed");
    }

    #[test]
    fn a_failure_rests_until_it_is_forgotten() {
        let (_folder, store) = store();
        assert_eq!(store.recent_failure("k"), None);
        store.note_failure("k", "first");
        store.note_failure("k", "second");
        assert_eq!(store.recent_failure("k").as_deref(), Some("second"));
        let failure: Failure =
            serde_json::from_str(&fs::read_to_string(store.failure_path("k")).unwrap()).unwrap();
        assert_eq!(failure.count, 2);
        let age = |seconds| {
            let file = fs::File::options().write(true).open(store.failure_path("k")).unwrap();
            file.set_modified(std::time::SystemTime::now() - Duration::from_secs(seconds)).unwrap();
        };
        age(45);
        assert!(store.recent_failure("k").is_some(), "twice the first rest");
        age(65);
        assert_eq!(store.recent_failure("k"), None);
        store.note_failure("k", "third");
        store.forget_failure("k");
        assert_eq!(store.recent_failure("k"), None);
        assert!(!store.is_slow("k"));
        store.note_slow("k");
        assert!(store.is_slow("k") && !store.is_slow("other"));
        store.forget_slow("k");
        assert!(!store.is_slow("k"));
    }

    #[test]
    fn the_oldest_files_go() {
        let (_folder, store) = store();
        for n in 0..MOST_FILES + 10 {
            store.save(&format!("k{n}"), &Manifest::default());
        }
        let count = fs::read_dir(&store.folder).unwrap().count();
        assert!(count <= MOST_FILES, "{count}");
        assert!(store.load(&format!("k{}", MOST_FILES + 9)).is_some());
    }
}
