//! Reading logs without opening them: for whoever makes an index of them. No lock is taken, nothing is repaired.

use crate::files;
use crate::scan::Want;
use crate::sessions::{FileStore, read_log, refusal};
use ostler_core::ids::SessionId;
use ostler_core::ports::StoreError;
use ostler_core::session::Entry;
use rustix::fs::OFlags;

impl FileStore {
    /// Every session of every project.
    pub fn all(&self) -> Result<Vec<SessionId>, StoreError> {
        Ok(self.layout.starting_with("")?.into_iter().map(|log| log.id).collect())
    }

    /// What the log holds that can be read, without the data of images. Another process may be writing to it.
    pub fn peek(&self, id: &SessionId) -> Result<Vec<Entry>, StoreError> {
        let path = self.layout.locate(id)?.ok_or_else(|| StoreError::NotFound(id.clone()))?;
        let file = files::open_file(&path, OFlags::RDONLY)
            .map_err(|refused| refusal(refused, id, &path))?;
        Ok(read_log(&file, id, &path, Want::All)?.entries)
    }
}
