//! Files the model works with: told when something else changes one, shown again after the conversation was summarized.

use crate::Readable;
use crate::edit::diff;
use crate::workspace::Files;
use ostler_core::ports::{Attachment, Carried, Carrying, Place, Reminder};
use ostler_core::text;
use ostler_core::tool::Seen;
use ostler_core::view::View;
use std::collections::HashMap;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

const CHANGED: &str = include_str!("../../../../prompts/reminders/changed.md").trim_ascii();
const FILE: &str = include_str!("../../../../prompts/reminders/file.md").trim_ascii();

/// Files that are looked after; the oldest gives way.
const WATCHED: usize = 100;
/// Files told about at once, and characters of a difference.
const TOLD: usize = 5;
const DIFF: usize = 3_000;
/// A larger file is not compared.
const LARGEST: u64 = 1 << 20;
/// Files shown again, and bytes of each.
const SHOWN: usize = 5;
const SHOWN_BYTES: usize = 12_000;

pub struct InUse {
    files: Arc<Files>,
    readable: Readable,
    watched: Mutex<Watched>,
}

#[derive(Default)]
struct Watched {
    by_path: HashMap<PathBuf, FileSight>,
    count: u64,
}

struct FileSight {
    hash: String,
    /// When and how long the file was when it was last compared.
    stamp: Option<(i64, i64, u64)>,
    /// The higher, the newer.
    age: u64,
}

impl InUse {
    /// `seen` is what the session's log knows.
    pub fn new(files: Arc<Files>, readable: Readable, seen: &[Seen]) -> Self {
        let in_use = InUse { files, readable, watched: Mutex::default() };
        in_use.watch(seen);
        in_use
    }

    /// The conversation went back: the model has seen this, and nothing else.
    pub fn go_back(&self, seen: Vec<Seen>) {
        *self.watched.lock().unwrap_or_else(PoisonError::into_inner) = Default::default();
        self.watch(&seen);
        self.files.go_back(seen);
    }

    fn watch(&self, seen: &[Seen]) {
        let mut watched = self.watched.lock().unwrap_or_else(PoisonError::into_inner);
        for Seen { path, hash, .. } in seen {
            watched.count += 1;
            let age = watched.count;
            match hash {
                Some(hash) => {
                    let sight = FileSight { hash: hash.clone(), stamp: None, age };
                    watched.by_path.insert(path.clone(), sight);
                }
                None => drop(watched.by_path.remove(path)),
            }
        }
        while watched.by_path.len() > WATCHED {
            let oldest = watched.by_path.iter().min_by_key(|(_, sight)| sight.age);
            let Some(oldest) = oldest.map(|(path, _)| path.clone()) else { break };
            watched.by_path.remove(&oldest);
        }
    }

    /// What something else did to the files since it was told last.
    pub fn changes(&self) -> Vec<String> {
        let mut watched = self.watched.lock().unwrap_or_else(PoisonError::into_inner);
        let mut paths: Vec<PathBuf> = watched.by_path.keys().cloned().collect();
        paths.sort();
        let mut told = Vec::new();
        for path in paths {
            let Some(sight) = watched.by_path.get_mut(&path) else { continue };
            match self.change(&path, sight) {
                OutsideChange::None => {}
                OutsideChange::Gone => {
                    watched.by_path.remove(&path);
                    told.push(said(&self.files.name(&path), "(it is gone)"));
                }
                OutsideChange::Diff(diff) => told.push(said(&self.files.name(&path), &diff)),
            }
            if told.len() >= TOLD {
                break;
            }
        }
        told
    }

    fn change(&self, path: &Path, sight: &mut FileSight) -> OutsideChange {
        let meta = match self.files.open(path) {
            Ok((_, meta)) => meta,
            Err(crate::workspace::FileError::Missing { .. }) => return OutsideChange::Gone,
            Err(_) => return OutsideChange::None,
        };
        let stamp = Some((meta.mtime(), meta.mtime_nsec(), meta.size()));
        if sight.stamp == stamp {
            return OutsideChange::None;
        }
        let Ok(Some(now)) = self.files.load(path, LARGEST) else { return OutsideChange::None };
        sight.stamp = stamp;
        if now.hash == sight.hash {
            return OutsideChange::None;
        }
        let before = self.files.seen_content(&sight.hash);
        sight.hash = now.hash;
        OutsideChange::Diff(match before {
            Some(before) => diff::between(&before, &now.bytes).text,
            None => "(read it again before you rely on it)".to_owned(),
        })
    }
}

enum OutsideChange {
    None,
    Gone,
    Diff(String),
}

fn said(name: &str, diff: &str) -> String {
    let (shown, whole) = text::head(diff, DIFF);
    let more = if whole { "" } else { "\n(more was changed; read it)" };
    CHANGED.replace("{path}", name).replace("{diff}", &format!("{shown}{more}"))
}

impl Reminder for InUse {
    fn after_calls(&self, seen: &[Seen], _: &View) -> Vec<String> {
        self.watch(seen);
        self.changes()
    }
}

impl Carried for InUse {
    fn carry(&self, at: &Carrying<'_>) -> Vec<Attachment> {
        let mut paths: Vec<&Path> = Vec::new();
        for seen in at.seen.iter().rev().filter(|seen| seen.hash.is_some()) {
            if paths.len() < SHOWN && !paths.contains(&seen.path.as_path()) {
                paths.push(&seen.path);
            }
        }
        let most = SHOWN_BYTES.min(at.bytes / 2);
        let shown = paths.into_iter().filter_map(|path| self.shown(path, most));
        // A file that fits whole is worth more than the beginning of one that does not.
        let (mut whole, pieces): (Vec<_>, Vec<_>) = shown.partition(|(_, whole)| *whole);
        whole.extend(pieces);
        whole.into_iter().map(|(attachment, _)| attachment).collect()
    }
}

impl InUse {
    /// And whether it is all of the file.
    fn shown(&self, path: &Path, most: usize) -> Option<(Attachment, bool)> {
        if !(self.readable)(path) {
            return None;
        }
        let content = self.files.load(path, LARGEST).ok().flatten()?;
        let whole = String::from_utf8(content.bytes).ok()?;
        let name = self.files.name(path);
        let mut end = whole.len().min(most);
        while !whole.is_char_boundary(end) {
            end -= 1;
        }
        let mut text = whole.get(..end)?.to_owned();
        if end < whole.len() {
            text.push_str("\n[… Read shows the rest]");
        }
        let text = FILE.replace("{path}", &name).replace("{text}", &text);
        Some((Attachment { name, text, place: Place::After }, end == whole.len()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ostler_core::permission::Workspace;

    fn ground() -> (tempfile::TempDir, InUse, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let workspace =
            Workspace { cwd: root.clone(), roots: vec![root.clone()], ..Workspace::default() };
        let files = Arc::new(Files::new(workspace, Vec::new(), Vec::new()));
        (folder, InUse::new(files, Arc::new(|_| true), &[]), root)
    }

    fn see(in_use: &InUse, path: &Path) -> Vec<Seen> {
        let content = in_use.files.load(path, LARGEST).unwrap().unwrap();
        in_use.files.remember(&content.hash, &content.bytes);
        vec![Seen { path: path.to_owned(), hash: Some(content.hash), part: None }]
    }

    fn after(in_use: &InUse, seen: &[Seen]) -> Vec<String> {
        in_use.after_calls(seen, &View::default())
    }

    #[test]
    fn a_change_by_somebody_else_is_told_once_with_what_changed() {
        let (_folder, in_use, root) = ground();
        let path = root.join("a.txt");
        std::fs::write(&path, "one\ntwo\n").unwrap();
        assert_eq!(after(&in_use, &see(&in_use, &path)), [] as [&str; 0]);
        std::fs::write(&path, "one\nthree!\n").unwrap();
        let told = after(&in_use, &[]);
        assert_eq!(told.len(), 1);
        assert!(told[0].contains("a.txt") && told[0].contains("three!"), "{told:?}");
        assert!(told[0].contains("two"), "{told:?}");
        assert_eq!(after(&in_use, &[]), [] as [&str; 0]);
        // What the model itself changed, it has seen.
        std::fs::write(&path, "four\n").unwrap();
        assert_eq!(after(&in_use, &see(&in_use, &path)), [] as [&str; 0]);
        std::fs::remove_file(&path).unwrap();
        assert!(after(&in_use, &[])[0].contains("gone"));
        assert_eq!(after(&in_use, &[]), [] as [&str; 0]);
    }

    #[test]
    fn the_newest_files_are_shown_again_within_bounds() {
        let (_folder, in_use, root) = ground();
        let mut seen = Vec::new();
        for n in 0..8 {
            let path = root.join(format!("{n}.txt"));
            std::fs::write(&path, format!("{n}").repeat(50_000)).unwrap();
            seen.extend(see(&in_use, &path));
        }
        let shown = in_use.carry(&Carrying { seen: &seen, bytes: 100_000 });
        let names: Vec<_> = shown.iter().map(|one| one.name.as_str()).collect();
        assert_eq!(names, ["7.txt", "6.txt", "5.txt", "4.txt", "3.txt"]);
        assert!(shown.iter().all(|one| one.text.len() < SHOWN_BYTES + 200));
        // What fits whole comes first.
        let small = root.join("small.txt");
        std::fs::write(&small, "all of it").unwrap();
        let mut seen: Vec<Seen> = see(&in_use, &small).into_iter().chain(seen).collect();
        seen.drain(1..5);
        let shown = in_use.carry(&Carrying { seen: &seen, bytes: 100_000 });
        let names: Vec<_> = shown.iter().map(|one| one.name.as_str()).collect();
        assert_eq!(names, ["small.txt", "7.txt", "6.txt", "5.txt", "4.txt"]);
    }
}
