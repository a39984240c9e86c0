//! Which log a run writes to.

use crate::error::Error;
use crate::host::Host;
use crate::session_options::{ForkSource, SessionChoice, SessionOptions};
use crate::system::{SystemClock, SystemIds};
use ostler_core::ids::{IdSource, SessionId};
use ostler_core::ports::{Blobs, Loaded, SessionInfo, SessionStore, StoreError};
use ostler_core::session::{Entry, FORMAT, Fork, ForkPoint, StartedBy};
use ostler_core::time::Clock;
use ostler_store::{FileStore, SessionsInMemory};
use ostler_transcripts::Conversation;
use std::path::Path;
use std::sync::Arc;

pub(crate) struct Opened {
    pub(crate) loaded: Loaded,
    pub(crate) blobs: Arc<dyn Blobs>,
}

pub(crate) fn open(host: &Host, options: &SessionOptions, cwd: &Path) -> Result<Opened, Error> {
    let Some(home) = host.home() else { return in_memory(&options.log, cwd) };
    let store = FileStore::with_plan(home, host.fault())?;
    let loaded = match &options.log {
        SessionChoice::New => create(&store, fresh_id(), cwd)?,
        SessionChoice::Named(id) => create(&store, id.clone(), cwd)?,
        SessionChoice::Resume(id) => match store.find(id)? {
            Some(found) => store.open(&found.id)?,
            None => {
                let whole = |read: &Conversation| SessionId::new(read.id.as_str());
                let own = options.transcripts.is_copy.then_some(whole);
                resume_elsewhere(&store, options, id, cwd, own)?
            }
        },
        SessionChoice::Continue => match store.latest(cwd)? {
            Some(id) => store.open(&id)?,
            None => return Err(Error::NothingToContinue(cwd.to_owned())),
        },
        SessionChoice::Fork(source) => fork(&store, options, source, cwd)?,
    };
    if matches!(options.log, SessionChoice::New | SessionChoice::Named(_)) {
        host.syncs().sync_ahead(&loaded.log);
    }
    let blobs = store.blobs_of(loaded.log.id());
    Ok(Opened { loaded, blobs })
}

fn fork(
    store: &FileStore,
    options: &SessionOptions,
    source: &ForkSource,
    cwd: &Path,
) -> Result<Loaded, Error> {
    let from = match &source.session {
        Some(id) => match store.find(id)? {
            Some(found) => found.id,
            None if source.at == ForkPoint::End => {
                let name = source.name.clone();
                return resume_elsewhere(
                    store,
                    options,
                    id,
                    cwd,
                    name.map(|name| move |_: &_| name),
                );
            }
            None => return Err(options.transcripts.refused_fork(id)),
        },
        None => store.latest(cwd)?.ok_or(Error::NothingToFork)?,
    };
    let fork = Fork { session: from.clone(), entries: 0 };
    let id = source.name.clone().unwrap_or_else(fresh_id);
    Ok(store.fork_at(&from, source.at, first_entry(id, cwd, Some(fork)))?)
}

/// A session that another program began continues in a new one, or under a name.
fn resume_elsewhere(
    store: &FileStore,
    options: &SessionOptions,
    id: &str,
    cwd: &Path,
    name: Option<impl FnOnce(&Conversation) -> SessionId>,
) -> Result<Loaded, Error> {
    match options.transcripts.read(None, id)? {
        Some(conversation) => {
            let name = name.map(|name| name(&conversation));
            import(store, &conversation, cwd, name)
        }
        None => Err(StoreError::NotFound(SessionId::new(id)).into()),
    }
}

/// A new session that begins with a conversation of another program.
pub(crate) fn import(
    store: &FileStore,
    conversation: &Conversation,
    cwd: &Path,
    name: Option<SessionId>,
) -> Result<Loaded, Error> {
    let entries = conversation.entries();
    let origin = SessionId::new(conversation.origin());
    let fork = Fork { session: origin, entries: entries.len() as u64 };
    let is_new = name.as_ref().is_none_or(|name| name.as_str() != conversation.id);
    let first = first_entry(name.unwrap_or_else(fresh_id), cwd, Some(fork));
    let mut loaded = store.import(first, entries)?;
    if is_new {
        let id = loaded.log.id();
        loaded.notices.push(format!("{}. The new session is {id}", conversation.words()));
    }
    Ok(loaded)
}

/// What a session holds now, for looking at: nothing is written, and nobody who has it open waits. None means
/// the newest of this directory.
pub(crate) fn look(host: &Host, cwd: &Path, id: Option<&str>) -> Result<Opened, Error> {
    let mut opened = in_memory(&SessionChoice::New, cwd)?;
    let Some(home) = host.home() else { return Ok(opened) };
    let store = FileStore::new(home)?;
    let id = match id {
        Some(id) => find(&store, id)?,
        None => store.latest(cwd)?.ok_or(Error::NothingToLookAt)?,
    };
    opened.loaded.entries = store.read_live(&id)?;
    Ok(opened)
}

/// A memory that begins empty has no session to continue with.
pub(crate) fn in_memory(session: &SessionChoice, cwd: &Path) -> Result<Opened, Error> {
    let id = match session {
        SessionChoice::New => fresh_id(),
        SessionChoice::Named(id) => id.clone(),
        SessionChoice::Resume(id) | SessionChoice::Fork(ForkSource { session: Some(id), .. }) => {
            return Err(StoreError::NotFound(SessionId::new(id.as_str())).into());
        }
        SessionChoice::Continue => return Err(Error::NothingToContinue(cwd.to_owned())),
        SessionChoice::Fork(ForkSource { session: None, .. }) => return Err(Error::NothingToFork),
    };
    let store = SessionsInMemory::new();
    let loaded = create(&store, id, cwd)?;
    Ok(Opened { loaded, blobs: store.blobs() })
}

/// A whole id, or enough of its beginning.
pub(crate) fn find(store: &FileStore, id: &str) -> Result<SessionId, Error> {
    match store.find(id)? {
        Some(found) => Ok(found.id),
        None => Err(StoreError::NotFound(SessionId::new(id)).into()),
    }
}

/// Sessions of one directory, newest first.
pub fn list_sessions(home: &Path, cwd: &Path) -> Result<Vec<SessionInfo>, Error> {
    Ok(FileStore::new(home)?.list(cwd)?)
}

/// Whether there is a session in the directory to continue.
///
/// # Errors
/// If there is none, or the sessions cannot be read.
pub fn check_continue(home: &Path, cwd: &Path) -> Result<(), Error> {
    match FileStore::new(home)?.latest(cwd)? {
        Some(_) => Ok(()),
        None => Err(Error::NothingToContinue(cwd.to_owned())),
    }
}

/// A log that exists, by its whole id.
pub(crate) fn open_known(host: &Host, id: &SessionId) -> Result<Opened, Error> {
    let home = host.home().ok_or_else(|| StoreError::NotFound(id.clone()))?;
    let store = FileStore::with_plan(home, host.fault())?;
    let loaded = store.open(id)?;
    let blobs = store.blobs_of(id);
    Ok(Opened { loaded, blobs })
}

/// Who started a session; none: a person did.
pub(crate) fn started_by(home: &Path, id: &SessionId) -> Result<Option<StartedBy>, Error> {
    let entries = FileStore::new(home)?.peek(id)?;
    Ok(entries.into_iter().find_map(|entry| match entry {
        Entry::Opened { started_by, .. } => started_by.map(|link| *link),
        _ => None,
    }))
}

/// A new log for an agent that another session started.
pub(crate) fn open_child(host: &Host, cwd: &Path, started_by: StartedBy) -> Result<Opened, Error> {
    let mut first = first_entry(fresh_id(), cwd, None);
    if let Entry::Opened { started_by: link, .. } = &mut first {
        *link = Some(Box::new(started_by));
    }
    let loaded = |log| Loaded { log, entries: Vec::new(), notices: Vec::new() };
    let Some(home) = host.home() else {
        let store = SessionsInMemory::new();
        return Ok(Opened { loaded: loaded(store.create(first)?), blobs: store.blobs() });
    };
    let store = FileStore::with_plan(home, host.fault())?;
    let loaded = loaded(store.create(first)?);
    let blobs = store.blobs_of(loaded.log.id());
    Ok(Opened { loaded, blobs })
}

fn create(store: &dyn SessionStore, id: SessionId, cwd: &Path) -> Result<Loaded, Error> {
    let log = store.create(first_entry(id, cwd, None))?;
    Ok(Loaded { log, entries: Vec::new(), notices: Vec::new() })
}

fn first_entry(session: SessionId, cwd: &Path, forked_from: Option<Fork>) -> Entry {
    Entry::Opened {
        format: FORMAT,
        session,
        workspace: cwd.to_owned(),
        at: SystemClock.now(),
        forked_from,
        started_by: None,
    }
}

fn fresh_id() -> SessionId {
    SessionId::new(SystemIds.uuid())
}
