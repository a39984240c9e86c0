//! Sessions on files: make, open again, fork, list.

use crate::blobs::FileBlobs;
use crate::fault::{Fault, FaultPlan};
use crate::files::{self, RefusedFile, io_error};
use crate::layout::{self, StoreLayout, beside};
use crate::line::{self, MAX_LINE};
use crate::listing::LogSummary;
use crate::lock::{Lock, NotTaken};
use crate::log::{FileLog, LogPlace};
use crate::scan::{Scan, Tail, Unreadable, Want, scan};
use crate::session_search::summary;
use crate::{first_entry, images, repair};
use ostler_core::ids::SessionId;
use ostler_core::ports::{Loaded, SessionInfo, SessionLog, SessionStore, StoreError};
use ostler_core::session::{Entry, ForkPoint};
use rustix::fs::OFlags;
use std::fs::{self, File};
use std::io::{self, BufWriter, Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub struct FileStore {
    pub(crate) layout: StoreLayout,
    blobs: Arc<FileBlobs>,
    fault: Option<Arc<FaultPlan>>,
}

impl FileStore {
    /// Sessions below this home directory, which is created if it is missing.
    pub fn new(home: impl Into<PathBuf>) -> Result<Self, StoreError> {
        let home = home.into();
        let layout = StoreLayout::new(home.clone())?;
        Ok(FileStore { layout, blobs: Arc::new(FileBlobs::new(home)?), fault: None })
    }

    /// A store that aborts the process at one of its appends, for crash tests.
    pub fn with_fault(home: impl Into<PathBuf>, fault: Fault) -> Result<Self, StoreError> {
        FileStore::with_plan(home, Some(Arc::new(FaultPlan::new(fault))))
    }

    /// The same for stores that count together.
    pub fn with_plan(
        home: impl Into<PathBuf>,
        fault: Option<Arc<FaultPlan>>,
    ) -> Result<Self, StoreError> {
        Ok(FileStore { fault, ..FileStore::new(home)? })
    }

    pub fn blobs(&self) -> Arc<FileBlobs> {
        Arc::clone(&self.blobs)
    }

    /// The same blobs, with a directory for what this session spills.
    pub fn blobs_of(&self, session: &SessionId) -> Arc<FileBlobs> {
        Arc::new(self.blobs.spilling(session))
    }

    /// Everything in a session's log now, without becoming its writer and without the data of images.
    pub fn read(&self, id: &SessionId) -> Result<Vec<Entry>, StoreError> {
        self.read_as(id, Want::All)
    }

    /// What a session continues from, without the right to write it: another process may have it open.
    pub fn read_live(&self, id: &SessionId) -> Result<Vec<Entry>, StoreError> {
        let mut entries = self.read_as(id, Want::Live)?;
        for entry in &mut entries {
            images::fill(entry, &*self.blobs);
        }
        Ok(entries)
    }

    fn read_as(&self, id: &SessionId, want: Want) -> Result<Vec<Entry>, StoreError> {
        let path = self.layout.locate(id)?.ok_or_else(|| StoreError::NotFound(id.clone()))?;
        let file = files::open_file(&path, OFlags::RDONLY)
            .map_err(|refused| refusal(refused, id, &path))?;
        Ok(read_log(&file, id, &path, want)?.entries)
    }

    pub(crate) fn log(&self, id: &SessionId, place: LogPlace, lock: Lock) -> FileLog {
        FileLog::new(id.clone(), place, lock, Arc::clone(&self.blobs), self.fault.clone())
    }

    fn loaded(
        &self,
        path: &Path,
        log: FileLog,
        mut entries: Vec<Entry>,
        mut notices: Vec<String>,
    ) -> Loaded {
        for entry in &mut entries {
            for blob in images::fill(entry, &*self.blobs) {
                notices.push(format!(
                    "the data of an image (blob {blob}) is missing: replaced by a note"
                ));
            }
        }
        let notices =
            notices.into_iter().map(|notice| format!("{}: {notice}", path.display())).collect();
        Loaded { log: Arc::new(log), entries, notices }
    }

    /// Claims the place of a session that is not there yet.
    pub(crate) fn claim(&self, first: &Entry) -> Result<Claim, StoreError> {
        let (id, workspace) = first_entry::check(first, self.layout.sessions())?;
        if !layout::is_file_name(id) {
            let why = "its name can only have letters, digits, - and _, at most 128 characters";
            return Err(io_error("create a session in", self.layout.sessions(), why));
        }
        if self.layout.locate(id)?.is_some() {
            return Err(StoreError::Exists(id.clone()));
        }
        let folder = self.layout.folder_of(workspace);
        files::private_folder(&folder)?;
        let path = layout::log_path(&folder, id);
        let lock = take_lock(id, &path)?;
        // Checked before locking, so that a name in use is never reported as locked, and again under the lock.
        if fs::symlink_metadata(&path).is_ok() {
            return Err(StoreError::Exists(id.clone()));
        }
        Ok(Claim { id: id.clone(), path, folders: self.layout.folders_of(workspace), lock })
    }
}

pub(crate) struct Claim {
    pub id: SessionId,
    pub path: PathBuf,
    pub folders: Vec<PathBuf>,
    pub lock: Lock,
}

impl SessionStore for FileStore {
    fn create(&self, first: Entry) -> Result<Arc<dyn SessionLog>, StoreError> {
        let Claim { id, path, folders, lock } = self.claim(&first)?;
        let file = files::create_new(&path).map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => StoreError::Exists(id.clone()),
            _ => io_error("create", &path, error),
        })?;
        let place = LogPlace {
            file: Arc::new(file),
            path: path.clone(),
            next: 1,
            good: 0,
            end: 0,
            unended: false,
            folders,
        };
        let log = self.log(&id, place, lock);
        // A session that has not begun must not be in the way of the next try.
        log.append(&first).inspect_err(|_| {
            fs::remove_file(&path).ok();
        })?;
        Ok(Arc::new(log))
    }

    fn open(&self, id: &SessionId) -> Result<Loaded, StoreError> {
        let path = self.layout.locate(id)?.ok_or_else(|| StoreError::NotFound(id.clone()))?;
        let refuse = |refused| refusal(refused, id, &path);
        // Checked before locking: no lock file appears next to something that is not a log.
        files::open_file(&path, OFlags::RDONLY).map_err(refuse)?;
        let lock = take_lock(id, &path)?;
        let file = files::open_file(&path, OFlags::RDWR | OFlags::APPEND).map_err(refuse)?;
        not_empty(&file, id, &path)?;
        let mut read = read_log(&file, id, &path, Want::Live)?;
        files::make_private(&file).map_err(|error| io_error("restrict access to", &path, error))?;
        let mut notices = std::mem::take(&mut read.notices);
        let end = repair::settle(&file, &path, &read, &mut notices);
        let Scan { entries, next, good, tail, .. } = read;
        let unended = tail == Tail::Unended;
        let place = LogPlace {
            file: Arc::new(file),
            path: path.clone(),
            next,
            good,
            end,
            unended,
            folders: Vec::new(),
        };
        Ok(self.loaded(&path, self.log(id, place, lock), entries, notices))
    }

    fn fork_at(&self, from: &SessionId, at: ForkPoint, first: Entry) -> Result<Loaded, StoreError> {
        let source = self.layout.locate(from)?.ok_or_else(|| StoreError::NotFound(from.clone()))?;
        let file = files::open_file(&source, OFlags::RDONLY)
            .map_err(|refused| refusal(refused, from, &source))?;
        not_empty(&file, from, &source)?;
        let Scan { mut entries, numbers, mut notices, tail, next, .. } =
            read_log(&file, from, &source, Want::All)?;
        first_entry::cut(&mut entries, &numbers, at, from)?;
        if tail == Tail::Torn {
            notices.push(format!("entry {next} is incomplete: left out of the copy"));
        }
        let Claim { id, path, folders, lock } = self.claim(&first)?;
        let entries = first_entry::copy(first, from, entries);
        let place = write_whole(&path, &entries, folders)?;
        Ok(self.loaded(&source, self.log(&id, place, lock), entries, notices))
    }

    fn list(&self, workspace: &Path) -> Result<Vec<SessionInfo>, StoreError> {
        let infos = self.by_age(workspace)?.into_iter().filter_map(|(modified, id, path)| {
            let found = summary(&path, u64::MAX).filter(|summary| !summary.is_child)?;
            let LogSummary { created, title, messages, .. } = found;
            Some(SessionInfo {
                id,
                title,
                messages,
                created: created.unwrap_or(modified),
                modified,
            })
        });
        Ok(infos.collect())
    }
}

/// Writes a log in one go and shows it only when it is complete.
pub(crate) fn write_whole(
    path: &Path,
    entries: &[Entry],
    folders: Vec<PathBuf>,
) -> Result<LogPlace, StoreError> {
    let part = beside(path, "part");
    let written = write_part(&part, entries).and_then(|written| {
        fs::rename(&part, path)?;
        Ok(written)
    });
    let (file, end) = written.map_err(|error| {
        fs::remove_file(&part).ok();
        io_error("copy the session to", path, error)
    })?;
    let next = entries.len() as u64 + 1;
    Ok(LogPlace {
        file: Arc::new(file),
        path: path.to_owned(),
        next,
        good: end,
        end,
        unended: false,
        folders,
    })
}

fn write_part(part: &Path, entries: &[Entry]) -> io::Result<(File, u64)> {
    // We own the session's lock, so this was left by a dead process.
    fs::remove_file(part).or_else(|error| match error.kind() {
        io::ErrorKind::NotFound => Ok(()),
        _ => Err(error),
    })?;
    let file = files::create_new(part)?;
    let mut out = BufWriter::new(&file);
    let mut record = Vec::new();
    let mut end = 0;
    for (seq, entry) in (1..).zip(entries) {
        record.clear();
        line::encode(seq, entry, &mut record).map_err(io::Error::other)?;
        out.write_all(&record)?;
        end += record.len() as u64;
    }
    out.flush()?;
    drop(out);
    file.sync_all()?;
    Ok((file, end))
}

/// A process that died before its first entry, or a disk that lost it, leaves a file with nothing in it.
fn not_empty(file: &File, id: &SessionId, path: &Path) -> Result<(), StoreError> {
    match file.metadata() {
        Ok(metadata) if metadata.len() == 0 => Err(StoreError::Empty(id.clone(), path.to_owned())),
        _ => Ok(()),
    }
}

/// Reads what is there now; a process that writes at the same time does not keep us reading.
pub(crate) fn read_log(
    file: &File,
    id: &SessionId,
    path: &Path,
    want: Want,
) -> Result<Scan, StoreError> {
    let failed = |error: io::Error| io_error("read", path, error);
    let length = file.metadata().map_err(failed)?.len();
    let mut read = scan(file.take(length), MAX_LINE, want);
    if matches!(read, Err(Unreadable::Boundary)) {
        let mut file = file;
        file.seek(io::SeekFrom::Start(0)).map_err(failed)?;
        read = scan(file.take(length), MAX_LINE, Want::All);
    }
    read.map_err(|unreadable| match unreadable {
        Unreadable::Io(error) => failed(error),
        Unreadable::Boundary => failed(io::Error::other("its newest boundary cannot be read")),
        Unreadable::TooNew(format) => StoreError::TooNew { id: id.clone(), format },
        Unreadable::NotALog => {
            StoreError::NotALog(path.to_owned(), "none of its lines is a record".into())
        }
    })
}

fn take_lock(id: &SessionId, log: &Path) -> Result<Lock, StoreError> {
    Lock::take(&beside(log, "lock")).map_err(|not| match not {
        NotTaken::Held { owner } => StoreError::Locked { id: id.clone(), owner },
        NotTaken::Failed(error) => error,
    })
}

pub(crate) fn refusal(refused: RefusedFile, id: &SessionId, path: &Path) -> StoreError {
    match refused {
        RefusedFile::Missing => StoreError::NotFound(id.clone()),
        RefusedFile::NotAFile(what) => {
            StoreError::NotALog(path.to_owned(), format!("it is {what}, not a file. Remove it"))
        }
        RefusedFile::Io(error) => io_error("open", path, error),
    }
}
