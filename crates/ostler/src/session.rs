//! Which log a run writes to.

use crate::error::Error;
use crate::options::{Options, SessionChoice};
use crate::system::{SystemClock, SystemIds};
use ostler_core::ids::{IdSource, SessionId};
use ostler_core::ports::{Blobs, Loaded, SessionInfo, SessionStore, StoreError};
use ostler_core::session::{Entry, FORMAT, Fork};
use ostler_core::time::Clock;
use ostler_store::{FileBlobs, FileStore, MemoryBlobs, MemoryStore};
use std::path::Path;
use std::sync::Arc;

pub(crate) struct Opened {
    pub(crate) loaded: Loaded,
    pub(crate) blobs: Arc<dyn Blobs>,
}

pub(crate) fn open(options: &Options, cwd: &Path) -> Result<Opened, Error> {
    let Some(home) = &options.home else {
        let store = MemoryStore::default();
        let loaded = create(&store, fresh_id(), cwd, None)?;
        return Ok(Opened { loaded, blobs: Arc::new(MemoryBlobs::default()) });
    };
    let mut store = open_store(home)?;
    if let Some(fault) = options.fault {
        store = store.with_fault(fault);
    }
    let blobs = Arc::new(FileBlobs::open(home)?);
    let loaded = match &options.session {
        SessionChoice::New => create(&store, fresh_id(), cwd, None)?,
        SessionChoice::Named(id) => create(&store, id.clone(), cwd, None)?,
        SessionChoice::Resume(id) => store.open(&store.find(id)?)?,
        SessionChoice::Continue => match store.latest(cwd)? {
            Some(id) => store.open(&id)?,
            None => create(&store, fresh_id(), cwd, None)?,
        },
        SessionChoice::Fork(from) => {
            let from = match from {
                Some(id) => store.find(id)?,
                None => store.latest(cwd)?.ok_or_else(|| StoreError::NotFound(SessionId::new("to fork")))?,
            };
            let fork = Fork { session: from.clone(), entries: 0 };
            store.fork(&from, first_entry(fresh_id(), cwd, Some(fork)))?
        }
    };
    Ok(Opened { loaded, blobs })
}

pub fn open_store(home: &Path) -> Result<FileStore, Error> {
    Ok(FileStore::open(home)?)
}

/// Sessions of one folder, newest first.
pub fn list_sessions(home: &Path, cwd: &Path) -> Result<Vec<SessionInfo>, Error> {
    Ok(open_store(home)?.list(cwd)?)
}

fn create(store: &dyn SessionStore, id: SessionId, cwd: &Path, fork: Option<Fork>) -> Result<Loaded, Error> {
    let log = store.create(first_entry(id, cwd, fork))?;
    Ok(Loaded { log, entries: Vec::new(), notices: Vec::new() })
}

fn first_entry(session: SessionId, cwd: &Path, forked_from: Option<Fork>) -> Entry {
    Entry::Opened { format: FORMAT, session, workspace: cwd.to_owned(), at: SystemClock.now(), forked_from }
}

fn fresh_id() -> SessionId {
    SessionId::new(SystemIds.uuid())
}
