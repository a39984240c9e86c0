//! Files of other programs with one JSON object per line: opened for reading only, read within limits.

use crate::error::TranscriptError;
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// Transcripts with many images are large; more than this is none that a person would resume.
pub(crate) const MAX_FILE: u64 = 512 << 20;
/// A line that is longer counts as broken.
pub(crate) const MAX_LINE: usize = 64 << 20;
const BUFFER: usize = 256 << 10;

pub(crate) struct JsonLines {
    file: File,
    path: PathBuf,
    /// How long it was when it was opened; a program may be writing to it.
    length: u64,
}

/// Where a line is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LineSpan {
    pub at: u64,
    pub length: usize,
}

/// What has been read of one.
pub(crate) enum Line<'a> {
    Whole(&'a [u8], LineSpan),
    TooLong,
}

/// A regular file, neither a link to one nor a pipe, opened for reading.
pub(crate) fn open(path: &Path) -> Result<File, TranscriptError> {
    let flags =
        OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let not_a_file = |what| Err(TranscriptError::NotAFile { path: path.to_owned(), what });
    let file = match rustix::fs::open(path, flags, Mode::empty()) {
        Ok(fd) => File::from(fd),
        Err(Errno::LOOP) => return not_a_file("a link"),
        Err(error) => return Err(TranscriptError::io("open", path, error)),
    };
    let metadata = file.metadata().map_err(|error| TranscriptError::io("open", path, error))?;
    match metadata.is_file() {
        true => Ok(file),
        false if metadata.is_dir() => not_a_file("a directory"),
        false => not_a_file("a pipe or a device"),
    }
}

impl JsonLines {
    pub fn open(path: &Path) -> Result<Self, TranscriptError> {
        let file = open(path)?;
        let metadata = file.metadata().map_err(|error| TranscriptError::io("open", path, error))?;
        let bytes = metadata.len();
        if bytes > MAX_FILE {
            return Err(TranscriptError::TooLarge {
                path: path.to_owned(),
                bytes,
                limit: MAX_FILE,
            });
        }
        Ok(JsonLines { file, path: path.to_owned(), length: bytes })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Shows every line that is not blank, in order.
    pub fn each(&self, mut see: impl FnMut(Line<'_>)) -> Result<(), TranscriptError> {
        let failed = |error| TranscriptError::io("read", &self.path, error);
        let mut reader = BufReader::with_capacity(BUFFER, (&self.file).take(self.length));
        let mut line = Vec::new();
        let mut at = 0u64;
        loop {
            line.clear();
            let read = bounded_line(&mut reader, &mut line).map_err(failed)?;
            if read == 0 {
                return Ok(());
            }
            let text = line.trim_ascii();
            if read > MAX_LINE as u64 {
                see(Line::TooLong);
            } else if !text.is_empty() {
                see(Line::Whole(text, LineSpan { at, length: line.len() }));
            }
            at += read;
        }
    }

    /// A line that was seen before.
    pub fn again(&self, span: LineSpan) -> Result<Vec<u8>, TranscriptError> {
        let mut line = vec![0; span.length];
        self.file
            .read_exact_at(&mut line, span.at)
            .map_err(|error| TranscriptError::io("read", &self.path, error))?;
        Ok(line)
    }
}

/// How many bytes the next line has; only so many of them as a line may have are kept.
fn bounded_line(reader: &mut impl BufRead, line: &mut Vec<u8>) -> std::io::Result<u64> {
    let mut read = 0u64;
    loop {
        let buffer = match reader.fill_buf() {
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
            other => other?,
        };
        if buffer.is_empty() {
            return Ok(read);
        }
        let end = buffer.iter().position(|byte| *byte == b'\n');
        let used = end.map_or(buffer.len(), |end| end + 1);
        if read + used as u64 <= MAX_LINE as u64 {
            line.extend_from_slice(buffer.get(..used).unwrap_or_default());
        }
        read += used as u64;
        reader.consume(used);
        if end.is_some() {
            return Ok(read);
        }
    }
}
