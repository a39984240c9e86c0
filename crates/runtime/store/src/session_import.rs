//! A session that begins with a conversation from elsewhere.

use crate::images;
use crate::session_search::{HEAD, summary};
use crate::sessions::{Claim, FileStore, write_whole};
use ostler_core::ids::SessionId;
use ostler_core::ports::{Blobs, Loaded, StoreError};
use ostler_core::session::Entry;
use std::path::{Path, PathBuf};
use std::sync::Arc;

impl FileStore {
    /// A new session with these entries after its first one, which says in `forked_from` where they come from. Its log
    /// appears when all of them are on disk.
    pub fn import(&self, first: Entry, rest: Vec<Entry>) -> Result<Loaded, StoreError> {
        let Claim { id, path, folders, lock } = self.claim(&first)?;
        let entries: Vec<Entry> = std::iter::once(first).chain(rest).collect();
        let put = |bytes: &[u8]| self.blobs().put(bytes);
        let mut stored = Vec::with_capacity(entries.len());
        for entry in &entries {
            stored.push(images::strip(entry, put)?.into_owned());
        }
        let place = write_whole(&path, &stored, folders)?;
        Ok(Loaded { log: Arc::new(self.log(&id, place, lock)), entries, notices: Vec::new() })
    }

    /// Sessions of a directory that began with another conversation, and the name of that.
    pub fn origins(&self, workspace: &Path) -> Result<Vec<(SessionId, SessionId)>, StoreError> {
        let origin =
            |(_, id, path): (_, SessionId, PathBuf)| Some((id, summary(&path, HEAD)?.forked_from?));
        Ok(self.by_age(workspace)?.into_iter().filter_map(origin).collect())
    }
}
