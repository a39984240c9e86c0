//! An open log: numbers, frames and appends entries, and never leaves half a record without knowing it.

use crate::blobs::FileBlobs;
use crate::fault::FaultPlan;
use crate::files::{self, io_error};
use crate::images;
use crate::line::{self, Unwritable};
use crate::lock::Lock;
use crate::scan;
use ostler_core::ids::{BlobRef, SessionId};
use ostler_core::ports::{SessionLog, StoreError};
use ostler_core::session::Entry;
use std::fs::File;
use std::io::{self, Read, Write};
use std::ops::ControlFlow;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Ends a partial record that could not be removed. A bare newline would make a record of it
/// if only its newline was missing, and then its number would be taken twice.
const CUT: &[u8] = b" #cut\n";

/// A line buffer that grew beyond this is given back.
const KEEP: usize = 1 << 20;

/// What appending needs of a file opened for appending.
pub(crate) trait LogDisk {
    fn write(&self, bytes: &[u8]) -> io::Result<usize>;
    fn set_len(&self, length: u64) -> io::Result<()>;
    fn length(&self) -> io::Result<u64>;
}

impl LogDisk for Arc<File> {
    fn write(&self, bytes: &[u8]) -> io::Result<usize> {
        (&**self).write(bytes)
    }
    fn set_len(&self, length: u64) -> io::Result<()> {
        File::set_len(self, length)
    }
    fn length(&self) -> io::Result<u64> {
        Ok(self.metadata()?.len())
    }
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum Unappended {
    #[error(transparent)]
    Unwritable(#[from] Unwritable),
    #[error(
        "{0}. Nothing of the entry was stored; free some disk space or repair the disk, then continue"
    )]
    Io(#[from] io::Error),
    #[error(
        "only {written} of {length} bytes fit. Nothing of the entry was stored; free some disk space, then continue"
    )]
    Short { written: usize, length: usize },
    #[error("the log has no sequence numbers left")]
    Full,
    #[error(
        "another process has written to it ({there} bytes instead of {ours}). Nothing of the entry was stored. Close the session in one of the two, then resume it"
    )]
    Shared { ours: u64, there: u64 },
}

pub(crate) struct Appender<D> {
    disk: D,
    next: u64,
    /// Length up to the end of the last record; none after it could not be asked for.
    good: Option<u64>,
    /// None of our bytes are beyond this.
    reach: u64,
    /// Something that is not a record may follow the last record.
    dirty: bool,
    /// The last record lacks its newline.
    unended: bool,
    buf: Vec<u8>,
    fault: Option<Arc<FaultPlan>>,
}

impl<D: LogDisk> Appender<D> {
    pub fn new(disk: D, next: u64, good: u64, end: u64, unended: bool) -> Self {
        let (good, reach, dirty) = (Some(good), end, end > good);
        Appender { disk, next, good, reach, dirty, unended, buf: Vec::new(), fault: None }
    }

    pub fn append(&mut self, entry: &Entry) -> Result<(), Unappended> {
        let after = self.next.checked_add(1).ok_or(Unappended::Full)?;
        self.check_alone()?;
        self.finish_last_line()?;
        self.cut_off();
        let mut buf = std::mem::take(&mut self.buf);
        buf.clear();
        buf.shrink_to(KEEP);
        if self.dirty {
            buf.extend_from_slice(CUT);
        }
        let result = match line::encode(self.next, entry, &mut buf) {
            Ok(()) => self.put(&buf),
            Err(error) => Err(error.into()),
        };
        self.buf = buf;
        result?;
        self.next = after;
        Ok(())
    }

    /// On some file systems locks have no effect. Two writers would give the same numbers to different entries, and one
    /// of the two entries would be lost silently.
    fn check_alone(&self) -> Result<(), Unappended> {
        let (Some(ours), false) = (self.good, self.dirty) else { return Ok(()) };
        match self.disk.length() {
            Ok(there) if there != ours => Err(Unappended::Shared { ours, there }),
            // Whether it can be written is seen by writing.
            Ok(_) | Err(_) => Ok(()),
        }
    }

    /// Writes a record, or leaves the file as it was, or remembers that something is left over.
    fn put(&mut self, bytes: &[u8]) -> Result<(), Unappended> {
        if let Some(length) = self.fault.as_ref().and_then(|plan| plan.fatal(bytes.len())) {
            self.disk.write(bytes.get(..length).unwrap_or(bytes)).ok();
            std::process::abort();
        }
        let error = match self.write_once(bytes) {
            Ok(written) if written == bytes.len() => {
                self.written(written as u64);
                return Ok(());
            }
            Ok(written) => Unappended::Short { written, length: bytes.len() },
            Err(error) => Unappended::Io(error),
        };
        self.dirty = true;
        self.reach = self.reach.saturating_add(bytes.len() as u64);
        self.cut_off();
        Err(error)
    }

    fn written(&mut self, length: u64) {
        self.good = match self.good {
            Some(good) if !self.dirty => Some(good + length),
            _ => self.disk.length().ok(),
        };
        self.reach = self.good.unwrap_or(0);
        self.dirty = false;
    }

    fn write_once(&self, bytes: &[u8]) -> io::Result<usize> {
        loop {
            match self.disk.write(bytes) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                other => return other,
            }
        }
    }

    /// One byte of its own, since one byte cannot be torn.
    fn finish_last_line(&mut self) -> Result<(), Unappended> {
        if self.unended {
            if self.write_once(b"\n")? == 0 {
                return Err(Unappended::Short { written: 0, length: 1 });
            }
            self.written(1);
            self.unended = false;
        }
        Ok(())
    }

    /// Cuts off what failed writes left. What reaches further than they did is not ours to cut.
    fn cut_off(&mut self) {
        let (true, Some(good)) = (self.dirty, self.good) else { return };
        let Ok(length) = self.disk.length() else { return };
        let ours = (good..=self.reach).contains(&length);
        if length == good || (ours && self.disk.set_len(good).is_ok()) {
            self.dirty = false;
            self.reach = good;
        }
    }
}

/// A session's log on disk, with the right to write it.
pub(crate) struct FileLog {
    id: SessionId,
    path: PathBuf,
    file: Arc<File>,
    appender: Mutex<Appender<Arc<File>>>,
    blobs: Arc<FileBlobs>,
    /// Images of entries that are not yet on disk for certain.
    unsynced: Mutex<Vec<BlobRef>>,
    /// Whoever syncs holds it.
    syncing: Mutex<Syncing>,
    /// Given back last.
    _lock: Lock,
}

struct Syncing {
    /// Directories whose names are not yet on disk, until the first sync.
    folders: Vec<PathBuf>,
    /// Of a sync ahead. The kernel says it once, so it is kept for whoever relies on a sync.
    failed: Option<StoreError>,
}

/// Where in its file a log continues.
pub(crate) struct LogPlace {
    pub file: Arc<File>,
    pub path: PathBuf,
    pub next: u64,
    pub good: u64,
    pub end: u64,
    pub unended: bool,
    /// Directories to sync once, when the file is new.
    pub folders: Vec<PathBuf>,
}

impl FileLog {
    pub fn new(
        id: SessionId,
        place: LogPlace,
        lock: Lock,
        blobs: Arc<FileBlobs>,
        fault: Option<Arc<FaultPlan>>,
    ) -> Self {
        let LogPlace { file, path, next, good, end, unended, folders } = place;
        let mut appender = Appender::new(Arc::clone(&file), next, good, end, unended);
        appender.fault = fault;
        let appender = Mutex::new(appender);
        let unsynced = Mutex::default();
        let syncing = Mutex::new(Syncing { folders, failed: None });
        FileLog { id, path, file, appender, blobs, unsynced, syncing, _lock: lock }
    }

    fn syncing(&self) -> MutexGuard<'_, Syncing> {
        self.syncing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn sync_with(&self, syncing: &mut Syncing) -> Result<(), StoreError> {
        let failed = |error: io::Error| io_error("write to disk", &self.path, error);
        self.sync_blobs()?;
        self.file.sync_data().map_err(failed)?;
        for folder in &syncing.folders {
            files::sync_folder(folder).map_err(|error| io_error("write to disk", folder, error))?;
        }
        syncing.folders.clear();
        if self.file.metadata().map_err(failed)?.nlink() == 0 {
            let why = "the file was removed while the session was open. Start a new session";
            return Err(io_error("keep", &self.path, why));
        }
        Ok(())
    }

    /// Before the log: what an entry names is there when the entry is.
    fn sync_blobs(&self) -> Result<(), StoreError> {
        let blobs = std::mem::take(&mut *self.unsynced());
        let synced = blobs.iter().try_for_each(|blob| self.blobs.sync(blob));
        if synced.is_err() {
            self.unsynced().extend(blobs);
        }
        synced
    }

    fn unsynced(&self) -> MutexGuard<'_, Vec<BlobRef>> {
        self.unsynced.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl SessionLog for FileLog {
    fn id(&self) -> &SessionId {
        &self.id
    }

    fn append(&self, entry: &Entry) -> Result<(), StoreError> {
        // Appending happens where turns are driven, so it does not wait for the disk.
        let entry = images::strip(entry, |bytes| {
            let blob = self.blobs.put_unsynced(bytes)?;
            self.unsynced().push(blob.clone());
            Ok(blob)
        })?;
        let mut appender = self.appender.lock().unwrap_or_else(PoisonError::into_inner);
        appender.append(&entry).map_err(|error| io_error("append to", &self.path, error))
    }

    fn visit(&self, see: &mut dyn FnMut(u64, Entry) -> ControlFlow<()>) -> Result<(), StoreError> {
        let failed = |error: io::Error| io_error("read", &self.path, error);
        // A separate descriptor, so that appends do not wait.
        let file = File::open(&self.path).map_err(failed)?;
        let length = file.metadata().map_err(failed)?.len();
        scan::visit(file.take(length), line::MAX_LINE, see).map_err(failed)
    }

    fn sync(&self) -> Result<(), StoreError> {
        let mut syncing = self.syncing();
        match syncing.failed.take() {
            Some(error) => Err(error),
            None => self.sync_with(&mut syncing),
        }
    }

    fn sync_ahead(&self) {
        let mut syncing = self.syncing();
        syncing.failed = self.sync_with(&mut syncing).err();
    }
}

#[cfg(test)]
#[path = "log_tests.rs"]
mod tests;
