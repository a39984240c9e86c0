//! A transcript of ours on disk: private, only appended to, and never a file that another program wrote.

use crate::claude::{is_uuid, project_directory_name};
use crate::error::TranscriptError;
use crate::transcript_lines::{ENTRYPOINT, SessionHeader, TranscriptLines};
use ostler_core::ids::IdSource;
use ostler_core::session::Entry;
use ostler_core::time::Timestamp;
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use serde_json::Value;
use std::fs::{DirBuilder, File};
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, FileExt};
use std::path::{Path, PathBuf};

/// So much of the end of a transcript is searched for its newest line; more, if that is longer.
const TAILS: [u64; 2] = [1 << 20, 64 << 20];

pub struct TranscriptFile {
    file: File,
    path: PathBuf,
    lines: TranscriptLines,
}

impl TranscriptFile {
    /// The transcript of a session below Claude Code's directory, created if it is missing, continued if it is there.
    ///
    /// # Errors
    /// If another program wrote the file, or it cannot be written.
    pub fn open(claude_home: &Path, header: SessionHeader) -> Result<Self, TranscriptError> {
        if !is_uuid(&header.session) {
            return Err(TranscriptError::NotAUuid(header.session));
        }
        let folder = claude_home.join("projects").join(project_directory_name(&header.cwd));
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&folder)
            .map_err(|error| TranscriptError::io("create the directory", &folder, error))?;
        let path = folder.join(format!("{}.jsonl", header.session));
        let (file, newest) = open_or_create(&path)?;
        Ok(TranscriptFile { file, path, lines: TranscriptLines::new(header, newest) })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// For lines that no entry stands for; pass them to [`TranscriptFile::append`].
    pub fn lines(&mut self) -> &mut TranscriptLines {
        &mut self.lines
    }

    /// Writes what an entry of the log adds to the conversation, and returns the lines.
    ///
    /// # Errors
    /// If it cannot be written. The log of the session has the entry all the same.
    pub fn record(
        &mut self,
        entry: &Entry,
        at: Timestamp,
        ids: &dyn IdSource,
    ) -> Result<Vec<String>, TranscriptError> {
        let lines = self.lines.entry(entry, at, ids);
        self.append(&lines)?;
        Ok(lines)
    }

    /// One write for all of them.
    ///
    /// # Errors
    /// If they cannot be written.
    pub fn append(&mut self, lines: &[String]) -> Result<(), TranscriptError> {
        if lines.is_empty() {
            return Ok(());
        }
        let mut bytes = Vec::with_capacity(lines.iter().map(|line| line.len() + 1).sum());
        for line in lines {
            bytes.extend_from_slice(line.as_bytes());
            bytes.push(b'\n');
        }
        self.file.write_all(&bytes).map_err(|error| TranscriptError::io("write", &self.path, error))
    }
}

/// The file, and the newest line of one that is continued.
fn open_or_create(path: &Path) -> Result<(File, Option<String>), TranscriptError> {
    let flags =
        OFlags::RDWR | OFlags::APPEND | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let mode = Mode::from_raw_mode(0o600);
    let failed = |error: Errno| match error {
        Errno::LOOP => TranscriptError::NotAFile { path: path.to_owned(), what: "a link" },
        error => TranscriptError::io("open", path, error),
    };
    match rustix::fs::open(path, flags | OFlags::CREATE | OFlags::EXCL, mode) {
        Ok(fd) => return Ok((File::from(fd), None)),
        Err(Errno::EXIST) => {}
        Err(error) => return Err(failed(error)),
    }
    let file = File::from(rustix::fs::open(path, flags, mode).map_err(failed)?);
    let wrong = |error| TranscriptError::io("read", path, error);
    let metadata = file.metadata().map_err(wrong)?;
    if !metadata.is_file() {
        return Err(TranscriptError::NotAFile {
            path: path.to_owned(),
            what: "a pipe or a device",
        });
    }
    let length = metadata.len();
    if length == 0 {
        return Ok((file, None));
    }
    let mut newest = None;
    for most in TAILS {
        let mut tail = vec![0; usize::try_from(length.min(most)).unwrap_or(0)];
        file.read_exact_at(&mut tail, length - length.min(most)).map_err(wrong)?;
        newest = newest_line(&tail).map_err(|NotOurs| TranscriptError::NotOurs(path.to_owned()))?;
        // A line that was torn when a process died must not swallow the next one.
        if newest.is_some() && tail.last() != Some(&b'\n') {
            (&file).write_all(b"\n").map_err(|error| TranscriptError::io("write", path, error))?;
        }
        if newest.is_some() {
            break;
        }
    }
    match newest {
        Some(newest) => Ok((file, Some(newest))),
        None => Err(TranscriptError::NotOurs(path.to_owned())),
    }
}

struct NotOurs;

/// Every line that can be read must be ours: one of another program means that the file is.
fn newest_line(tail: &[u8]) -> Result<Option<String>, NotOurs> {
    let mut newest = None;
    for line in tail.split(|byte| *byte == b'\n') {
        let Ok(line) = serde_json::from_slice::<Value>(line) else { continue };
        let Some(uuid) = line.get("uuid").and_then(Value::as_str) else { continue };
        if line.get("entrypoint").and_then(Value::as_str) != Some(ENTRYPOINT) {
            return Err(NotOurs);
        }
        newest = Some(uuid.to_owned());
    }
    Ok(newest)
}
