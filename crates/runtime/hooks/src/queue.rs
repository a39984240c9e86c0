//! Events for one webhook, on disk until they were taken: files to which lines are added, and a mark.
//!
//! Any number of processes add; one at a time delivers. What was taken is kept a while, so that it can be sent again.
//! Lines survive the death of a process; a loss of power may cost the newest ones.

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// Bytes of one file, and of everything that waits.
const SEGMENT: u64 = 4 << 20;
const MOST_WAITING: u64 = 64 << 20;
/// Files that are kept after all of them was taken.
const KEPT: u64 = 4;
/// Bytes of what receivers refused to take.
const MOST_REFUSED: u64 = 4 << 20;

#[derive(Debug)]
pub enum QueueError {
    Full,
    Io(String),
}

impl std::fmt::Display for QueueError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            QueueError::Full => write!(
                f,
                "its queue is full ({} MB): new events are dropped until the receiver accepts some",
                MOST_WAITING >> 20
            ),
            QueueError::Io(why) => write!(f, "its queue cannot be used: {why}"),
        }
    }
}

impl From<io::Error> for QueueError {
    fn from(error: io::Error) -> Self {
        QueueError::Io(error.to_string())
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct QueueRecord {
    pub(crate) id: String,
    pub(crate) event: String,
    /// Byte for byte what is signed and sent.
    pub(crate) body: String,
}

/// Everything before it was taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct QueueMark {
    segment: u64,
    offset: u64,
}

#[derive(Debug)]
pub struct WebhookQueue {
    folder: PathBuf,
    pub url: String,
}

/// While it lives nobody else delivers.
#[derive(Debug)]
pub(crate) struct Delivering {
    _lock: File,
}

impl WebhookQueue {
    /// Below `folder`, by the address; made when the first event comes.
    pub fn of(folder: &Path, url: &str) -> Self {
        let hash = Sha256::digest(url.as_bytes());
        let name: String = hash.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
        WebhookQueue { folder: folder.join(name), url: url.to_owned() }
    }

    /// All that there are.
    pub fn all(folder: &Path) -> Vec<WebhookQueue> {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        let url = |folder: PathBuf| {
            let url = fs::read_to_string(folder.join("endpoint")).ok()?;
            Some(WebhookQueue { folder, url: url.trim_end().to_owned() })
        };
        let mut all: Vec<WebhookQueue> = entries.filter_map(|entry| url(entry.path())).collect();
        all.sort_by(|a, b| a.url.cmp(&b.url));
        all
    }

    fn exists(&self) -> bool {
        self.folder.is_dir()
    }

    fn make(&self) -> io::Result<()> {
        if !self.exists() {
            fs::DirBuilder::new().recursive(true).mode(0o700).create(&self.folder)?;
            private()
                .write(true)
                .create(true)
                .truncate(true)
                .open(self.folder.join("endpoint"))?
                .write_all(format!("{}\n", self.url).as_bytes())?;
        }
        Ok(())
    }

    pub(crate) fn add(&self, record: &QueueRecord) -> Result<(), QueueError> {
        self.make()?;
        let lock =
            private().write(true).create(true).truncate(false).open(self.folder.join("adding"))?;
        lock.lock()?;
        let segments = self.segments();
        if self.bytes_waiting(&segments) >= MOST_WAITING {
            return Err(QueueError::Full);
        }
        let newest = segments.last().copied().unwrap_or(1);
        let size = fs::metadata(self.path(newest)).map(|data| data.len()).unwrap_or(0);
        let segment = if size >= SEGMENT { newest + 1 } else { newest };
        let mut file = private().read(true).append(true).create(true).open(self.path(segment))?;
        let mut line = serde_json::to_string(record).map_err(io::Error::from)?;
        line.push('\n');
        if ends_torn(&mut file)? {
            line.insert(0, '\n');
        }
        file.write_all(line.as_bytes())?;
        Ok(())
    }

    /// None: another process delivers.
    pub(crate) fn try_deliver(&self) -> Result<Option<Delivering>, QueueError> {
        self.make()?;
        let lock = private()
            .write(true)
            .create(true)
            .truncate(false)
            .open(self.folder.join("delivering"))?;
        match lock.try_lock() {
            Ok(()) => Ok(Some(Delivering { _lock: lock })),
            Err(fs::TryLockError::WouldBlock) => Ok(None),
            Err(fs::TryLockError::Error(error)) => Err(error.into()),
        }
    }

    /// The first event that waits, and the mark behind it.
    pub(crate) fn next(&self) -> Result<Option<(QueueRecord, QueueMark)>, QueueError> {
        self.after(self.mark())
    }

    fn after(&self, mark: QueueMark) -> Result<Option<(QueueRecord, QueueMark)>, QueueError> {
        for segment in self.segments().into_iter().filter(|segment| *segment >= mark.segment) {
            let offset = if segment == mark.segment { mark.offset } else { 0 };
            let mut file = File::open(self.path(segment))?;
            file.seek(SeekFrom::Start(offset))?;
            let mut reader = BufReader::new(file);
            let mut at = offset;
            let mut line = Vec::new();
            loop {
                line.clear();
                let read = reader.read_until(b'\n', &mut line)? as u64;
                // A line without an end is still being written, or never will be.
                if read == 0 || line.last() != Some(&b'\n') {
                    break;
                }
                at += read;
                if let Ok(record) = serde_json::from_slice(&line) {
                    return Ok(Some((record, QueueMark { segment, offset: at })));
                }
            }
        }
        Ok(None)
    }

    /// Everything before the mark was taken.
    pub(crate) fn taken(&self, mark: QueueMark) -> Result<(), QueueError> {
        let text = serde_json::to_string(&mark).map_err(io::Error::from)?;
        let new = self.folder.join("taken.new");
        private().write(true).create(true).truncate(true).open(&new)?.write_all(text.as_bytes())?;
        fs::rename(new, self.folder.join("taken"))?;
        for old in self.segments().into_iter().filter(|old| old + KEPT < mark.segment) {
            let _ = fs::remove_file(self.path(old));
        }
        Ok(())
    }

    /// Puts an event aside that the receiver will never take, and continues behind it.
    pub(crate) fn refused(&self, record: &QueueRecord, mark: QueueMark) -> Result<(), QueueError> {
        let mut file =
            private().append(true).create(true).open(self.folder.join("refused.jsonl"))?;
        if file.metadata()?.len() < MOST_REFUSED {
            let line = serde_json::to_string(record).map_err(io::Error::from)?;
            file.write_all(format!("{line}\n").as_bytes())?;
        }
        self.taken(mark)
    }

    /// Moves the mark back to an event, or to the oldest one that is kept. False: there is no such event.
    pub(crate) fn rewind(&self, to: Option<&str>) -> Result<bool, QueueError> {
        let mut mark = QueueMark::default();
        loop {
            let Some((record, next)) = self.after(mark)? else { return Ok(to.is_none()) };
            if to.is_none_or(|to| to == record.id) {
                self.taken(mark)?;
                return Ok(true);
            }
            mark = next;
        }
    }

    /// How many events wait.
    pub fn waiting(&self) -> u64 {
        let (mut mark, mut count) = (self.mark(), 0);
        while let Ok(Some((_, next))) = self.after(mark) {
            (mark, count) = (next, count + 1);
        }
        count
    }

    fn mark(&self) -> QueueMark {
        let text = fs::read_to_string(self.folder.join("taken")).unwrap_or_default();
        serde_json::from_str(&text).unwrap_or_default()
    }

    fn segments(&self) -> Vec<u64> {
        let entries = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let number = |name: std::ffi::OsString| name.to_str()?.strip_suffix(".jsonl")?.parse().ok();
        let mut all: Vec<u64> = entries.filter_map(|entry| number(entry.file_name())).collect();
        all.sort_unstable();
        all
    }

    fn bytes_waiting(&self, segments: &[u64]) -> u64 {
        let mark = self.mark();
        let size =
            |segment: &u64| fs::metadata(self.path(*segment)).map(|data| data.len()).unwrap_or(0);
        let all: u64 = segments.iter().filter(|segment| **segment >= mark.segment).map(size).sum();
        all.saturating_sub(mark.offset)
    }

    fn path(&self, segment: u64) -> PathBuf {
        self.folder.join(format!("{segment:08}.jsonl"))
    }
}

fn private() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.mode(0o600);
    options
}

/// Somebody died in the middle of a line.
fn ends_torn(file: &mut File) -> io::Result<bool> {
    if file.metadata()?.len() == 0 {
        return Ok(false);
    }
    file.seek(SeekFrom::End(-1))?;
    let mut last = [0];
    file.read_exact(&mut last)?;
    Ok(last != *b"\n")
}

#[cfg(test)]
#[path = "queue_tests.rs"]
mod tests;
