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
