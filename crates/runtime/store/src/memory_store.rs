//! The same store in memory: for sessions that need not be kept, and for tests.

use crate::blobs::name_of;
use crate::{first_entry, images, listing};
use ostler_core::ids::{BlobRef, SessionId};
use ostler_core::ports::{Blobs, Loaded, SessionInfo, SessionLog, SessionStore, StoreError};
use ostler_core::session::{Entry, ForkPoint};
use ostler_core::time::Timestamp;
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

#[derive(Default)]
pub struct MemoryBlobs(Mutex<BTreeMap<BlobRef, Arc<[u8]>>>);

impl Blobs for MemoryBlobs {
    fn put(&self, bytes: &[u8]) -> Result<BlobRef, StoreError> {
        let blob = name_of(bytes);
        lock(&self.0).entry(blob.clone()).or_insert_with(|| bytes.into());
        Ok(blob)
    }

    fn get(&self, blob: &BlobRef) -> Result<Vec<u8>, StoreError> {
        let bytes = lock(&self.0).get(blob).cloned();
        bytes.map(|bytes| bytes.to_vec()).ok_or_else(|| StoreError::BlobLost(blob.to_string()))
    }

    fn spill(&self, _: &[u8]) -> Result<Option<PathBuf>, StoreError> {
        Ok(None)
    }
}

#[derive(Default)]
pub struct SessionsInMemory {
    shelf: Arc<Mutex<MemoryShelf>>,
    blobs: Arc<MemoryBlobs>,
}

#[derive(Default)]
struct MemoryShelf {
    sessions: BTreeMap<SessionId, MemorySession>,
    /// Counts changes: what was changed last has the highest number.
    changes: u64,
}

#[derive(Default)]
struct MemorySession {
    entries: Vec<Entry>,
    open: bool,
    changed: u64,
}

struct MemoryLog {
    id: SessionId,
    shelf: Arc<Mutex<MemoryShelf>>,
    blobs: Arc<MemoryBlobs>,
}

impl SessionsInMemory {
    pub fn new() -> Self {
        SessionsInMemory::default()
    }

    pub fn blobs(&self) -> Arc<MemoryBlobs> {
        Arc::clone(&self.blobs)
    }

    fn log(&self, id: SessionId) -> Arc<dyn SessionLog> {
        Arc::new(MemoryLog { id, shelf: Arc::clone(&self.shelf), blobs: Arc::clone(&self.blobs) })
    }

    fn place(&self, id: SessionId, entries: Vec<Entry>) -> Result<Arc<dyn SessionLog>, StoreError> {
        let mut shelf = lock(&self.shelf);
        if shelf.sessions.contains_key(&id) {
            return Err(StoreError::Exists(id));
        }
        shelf.changes += 1;
        let changed = shelf.changes;
        shelf.sessions.insert(id.clone(), MemorySession { entries, open: true, changed });
        drop(shelf);
        Ok(self.log(id))
    }

    fn filled(&self, mut entries: Vec<Entry>, log: Arc<dyn SessionLog>) -> Loaded {
        let mut notices = Vec::new();
        for entry in &mut entries {
            for blob in images::fill(entry, &*self.blobs) {
                notices.push(format!(
                    "the data of an image (blob {blob}) is missing: replaced by a note"
                ));
            }
        }
        Loaded { log, entries, notices }
    }
}

impl SessionStore for SessionsInMemory {
    fn create(&self, first: Entry) -> Result<Arc<dyn SessionLog>, StoreError> {
        let id = name(&first)?;
        self.place(id, vec![first])
    }

    fn open(&self, id: &SessionId) -> Result<Loaded, StoreError> {
        let mut shelf = lock(&self.shelf);
        let kept = shelf.sessions.get_mut(id).ok_or_else(|| StoreError::NotFound(id.clone()))?;
        if kept.open {
            let owner = format!("pid {}, this process", std::process::id());
            return Err(StoreError::Locked { id: id.clone(), owner });
        }
        kept.open = true;
        let entries = kept.entries.clone();
        drop(shelf);
        Ok(self.filled(entries, self.log(id.clone())))
    }

    fn fork_at(&self, from: &SessionId, at: ForkPoint, first: Entry) -> Result<Loaded, StoreError> {
        let source = lock(&self.shelf).sessions.get(from).map(|kept| kept.entries.clone());
        let mut source = source.ok_or_else(|| StoreError::NotFound(from.clone()))?;
        let numbers: Vec<u64> = (1..).take(source.len()).collect();
        first_entry::cut(&mut source, &numbers, at, from)?;
        let id = name(&first)?;
        let entries = first_entry::copy(first, from, source);
        let log = self.place(id, entries.clone())?;
        Ok(self.filled(entries, log))
    }

    fn list(&self, workspace: &Path) -> Result<Vec<SessionInfo>, StoreError> {
        let shelf = lock(&self.shelf);
        let mut infos: Vec<_> = shelf
            .sessions
            .values()
            .filter_map(|kept| Some((kept.changed, info(&kept.entries, workspace)?)))
            .collect();
        infos.sort_by_key(|(changed, _)| std::cmp::Reverse(*changed));
        Ok(infos.into_iter().map(|(_, info)| info).collect())
    }
}

impl SessionLog for MemoryLog {
    fn id(&self) -> &SessionId {
        &self.id
    }

    fn append(&self, entry: &Entry) -> Result<(), StoreError> {
        let entry = images::strip(entry, |bytes| self.blobs.put(bytes))?.into_owned();
        let mut shelf = lock(&self.shelf);
        shelf.changes += 1;
        let changed = shelf.changes;
        let kept = shelf.sessions.entry(self.id.clone()).or_default();
        kept.changed = changed;
        kept.entries.push(entry);
        Ok(())
    }

    fn sync(&self) -> Result<(), StoreError> {
        Ok(())
    }

    fn visit(&self, see: &mut dyn FnMut(u64, Entry) -> ControlFlow<()>) -> Result<(), StoreError> {
        let shelf = lock(&self.shelf);
        let entries = shelf.sessions.get(&self.id).map(|kept| kept.entries.clone());
        drop(shelf);
        for (seq, entry) in (1..).zip(entries.unwrap_or_default()) {
            if see(seq, entry).is_break() {
                break;
            }
        }
        Ok(())
    }
}

impl Drop for MemoryLog {
    fn drop(&mut self) {
        if let Some(kept) = lock(&self.shelf).sessions.get_mut(&self.id) {
            kept.open = false;
        }
    }
}

fn name(first: &Entry) -> Result<SessionId, StoreError> {
    first_entry::check(first, Path::new("memory")).map(|(id, _)| id.clone())
}

fn info(entries: &[Entry], of: &Path) -> Option<SessionInfo> {
    let Some(Entry::Opened { session, workspace, at: created, started_by, .. }) = entries.first()
    else {
        return None;
    };
    if workspace != of || started_by.is_some() {
        return None;
    }
    let mut info = SessionInfo {
        id: session.clone(),
        title: String::new(),
        messages: 0,
        created: *created,
        modified: Timestamp::default(),
    };
    for entry in entries {
        if let Entry::Opened { at, .. } | Entry::Prompt { at, .. } | Entry::End { at, .. } = entry {
            info.modified = *at;
        }
        if let Entry::Prompt { message, .. }
        | Entry::Answer { message, .. }
        | Entry::Note { message, .. } = entry
        {
            info.messages += 1;
            if info.title.is_empty() && matches!(entry, Entry::Prompt { .. }) {
                info.title = listing::title(message);
            }
        }
    }
    Some(info)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
