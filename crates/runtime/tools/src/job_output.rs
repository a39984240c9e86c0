//! The output of a job: a file that keeps the beginning and the end, however much is written.
//!
//! The file is plain text at any time, so that everybody can read it. Beyond its limit it consists of the beginning, a
//! line that says how much is missing, and the newest output; the middle is dropped in large steps.

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// Bytes kept from the beginning, and from the end at most.
const HEAD: u64 = 4 << 20;
const TAIL: u64 = 4 << 20;
/// What one read gives at most, in bytes.
const READ: u64 = 30_000;
/// The line in the middle, and its bytes at most.
const MARK_BEGIN: &str = "\n[… ";
const MARK_END: &str = " bytes dropped …]\n";
const MARK: u64 = 64;
/// How often a file is read that changes meanwhile.
const TRIES: usize = 5;

pub struct JobOutput {
    file: File,
    limits: OutputShare,
    /// Bytes of the beginning that are in the file.
    head: u64,
    /// Bytes of the end that are in the file, and the line before them.
    tail: u64,
    mark: u64,
    dropped: u64,
    /// How much was read, counted in everything that was written.
    read: u64,
    /// Why the file is incomplete.
    failed: Option<String>,
}

#[derive(Clone, Copy)]
struct OutputShare {
    head: u64,
    tail: u64,
}

impl JobOutput {
    /// # Errors
    /// If the file cannot be created, or exists.
    pub fn create(path: &Path) -> io::Result<Self> {
        JobOutput::limited(path, OutputShare { head: HEAD, tail: TAIL })
    }

    fn limited(path: &Path, limits: OutputShare) -> io::Result<Self> {
        let file =
            OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).open(path)?;
        let (head, tail, mark, dropped, read) = (0, 0, 0, 0, 0);
        Ok(JobOutput { file, limits, head, tail, mark, dropped, read, failed: None })
    }

    /// Bytes written so far.
    pub fn total(&self) -> u64 {
        self.head + self.dropped + self.tail
    }

    /// Why not everything is in the file that should be.
    pub fn failed(&self) -> Option<&str> {
        self.failed.as_deref()
    }

    /// A disk that takes no more does not end the job; what is missing is said.
    pub fn push(&mut self, bytes: &[u8]) {
        if let Err(error) = self.write(bytes) {
            self.failed.get_or_insert_with(|| error.to_string());
        }
    }

    /// Bytes that were lost before they came here.
    pub fn skip(&mut self, bytes: u64) {
        if bytes > 0 {
            self.limits.head = self.head;
            self.dropped += bytes;
            if let Err(error) = self.write_mark(&[]) {
                self.failed.get_or_insert_with(|| error.to_string());
            }
        }
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        let room = usize::try_from(self.limits.head - self.head).unwrap_or(usize::MAX);
        let (first, rest) = bytes.split_at(room.min(bytes.len()));
        self.file.write_all_at(first, self.head)?;
        self.head += first.len() as u64;
        for part in rest.chunks(usize::try_from(self.limits.tail / 2).unwrap_or(1).max(1)) {
            if self.tail + part.len() as u64 > self.limits.tail {
                self.drop_half()?;
            }
            self.file.write_all_at(part, self.tail_start() + self.tail)?;
            self.tail += part.len() as u64;
        }
        Ok(())
    }

    fn tail_start(&self) -> u64 {
        self.head + self.mark
    }

    /// Keeps the newer half of the end.
    fn drop_half(&mut self) -> io::Result<()> {
        let keep = self.limits.tail / 2;
        let kept = self.bytes(self.tail_start() + self.tail - keep.min(self.tail), keep)?;
        self.dropped += self.tail - kept.len() as u64;
        self.write_mark(&kept)
    }

    fn write_mark(&mut self, tail: &[u8]) -> io::Result<()> {
        let mark = format!("{MARK_BEGIN}{}{MARK_END}", self.dropped);
        self.mark = mark.len() as u64;
        self.tail = tail.len() as u64;
        self.file.write_all_at(mark.as_bytes(), self.head)?;
        self.file.write_all_at(tail, self.tail_start())?;
        self.file.set_len(self.tail_start() + self.tail)
    }

    /// Of the file, from this place on.
    fn bytes(&self, at: u64, most: u64) -> io::Result<Vec<u8>> {
        bytes_of(&self.file, at, most)
    }

    /// The newest output, at most so many bytes.
    pub fn newest(&self, most: u64) -> String {
        let end = if self.tail > 0 { self.tail_start() + self.tail } else { self.head };
        let start = end.saturating_sub(most);
        readable(&self.bytes(start, end - start).unwrap_or_default())
    }

    /// What was written since this was asked last: the newest of it, if that is much.
    pub fn new_output(&mut self) -> String {
        let (from, total) = (self.read, self.total());
        self.read = total;
        let wanted = total - from;
        let newest = wanted.min(READ);
        let text = if newest == 0 { String::new() } else { self.newest(newest) };
        with_left_out(wanted - newest, text)
    }
}

/// Reads such a file while another process writes it.
pub struct JobOutputReader {
    path: PathBuf,
    limits: OutputShare,
    /// As in [`JobOutput`].
    read: u64,
}

/// What a file consists of.
#[derive(PartialEq, Eq)]
struct OutputParts {
    /// Bytes of the file.
    length: u64,
    /// Bytes of the line in its middle.
    mark: u64,
    dropped: u64,
}

impl JobOutputReader {
    /// Everything in the file counts as new.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        let limits = OutputShare { head: HEAD, tail: TAIL };
        JobOutputReader { path: path.into(), limits, read: 0 }
    }

    /// Why it cannot be read, if that is not because nothing was written yet.
    pub fn fault(&self) -> Option<String> {
        let error = open_regular(&self.path).err()?;
        (error.kind() != io::ErrorKind::NotFound).then(|| error.to_string())
    }

    /// As [`JobOutput::newest`].
    pub fn newest(&self, most: u64) -> String {
        self.look(|_| most).map(|(_, text)| text).unwrap_or_default()
    }

    /// As [`JobOutput::new_output`].
    pub fn new_output(&mut self) -> String {
        let wanted = |total: u64| total.saturating_sub(self.read);
        let Ok((total, text)) = self.look(|total| wanted(total).min(READ)) else {
            return String::new();
        };
        let left = wanted(total).saturating_sub(READ);
        self.read = self.read.max(total);
        with_left_out(left, text)
    }

    /// How much was written in all, and the newest of it. What the writer moves meanwhile is read again.
    fn look(&self, most: impl Fn(u64) -> u64) -> io::Result<(u64, String)> {
        let file = open_regular(&self.path)?;
        let mut parts = self.parts(&file)?;
        for _ in 0..TRIES {
            let total = (parts.length - parts.mark).saturating_add(parts.dropped);
            let tail = match parts.mark {
                0 => parts.length,
                mark => parts.length - self.limits.head - mark,
            };
            let most = most(total).min(tail);
            let bytes = bytes_of(&file, parts.length - most, most)?;
            let after = self.parts(&file)?;
            if after.dropped == parts.dropped {
                return Ok((total, readable(&bytes)));
            }
            parts = after;
        }
        Err(io::ErrorKind::WouldBlock.into())
    }

    fn parts(&self, file: &File) -> io::Result<OutputParts> {
        let length = file.metadata()?.len();
        let line = match length > self.limits.head {
            true => bytes_of(file, self.limits.head, MARK)?,
            false => Vec::new(),
        };
        let line = String::from_utf8_lossy(&line);
        let number = |rest: &str| -> Option<(u64, u64)> {
            let (number, _) = rest.split_once(MARK_END)?;
            let mark = MARK_BEGIN.len() + number.len() + MARK_END.len();
            Some((number.parse().ok()?, mark as u64))
        };
        let found = line.strip_prefix(MARK_BEGIN).and_then(number);
        // The writer may have shortened it after we looked at its length.
        let found = found.filter(|(_, mark)| self.limits.head + mark <= length);
        let (dropped, mark) = found.unwrap_or_default();
        Ok(OutputParts { length, mark, dropped })
    }
}

/// Follows no link and waits for no pipe.
fn open_regular(path: &Path) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY;
    let opened = rustix::fs::open(path, flags | OFlags::CLOEXEC, Mode::empty());
    let file = match opened {
        Err(Errno::LOOP) => return Err(io::Error::other("it is a symbolic link")),
        opened => File::from(opened?),
    };
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(io::Error::other("it is not a regular file")),
    }
}

/// Of a file, from this place on.
fn bytes_of(file: &File, at: u64, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; usize::try_from(most).unwrap_or(0)];
    let mut length = 0;
    while let Some(rest) = bytes.get_mut(length..).filter(|rest| !rest.is_empty()) {
        match file.read_at(rest, at + length as u64)? {
            0 => break,
            read => length += read,
        }
    }
    bytes.truncate(length);
    Ok(bytes)
}

fn with_left_out(left: u64, text: String) -> String {
    match left {
        0 => text,
        left => format!(
            "[… {left} bytes left out; the output file contains more of the output …]\n{text}"
        ),
    }
}

fn readable(bytes: &[u8]) -> String {
    let start = bytes.iter().take(3).take_while(|byte| matches!(byte, 0x80..=0xbf)).count();
    let text = String::from_utf8_lossy(bytes.get(start..).unwrap_or_default());
    text.replace('\0', "\u{2400}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn output(head: u64, tail: u64) -> (tempfile::TempDir, JobOutput) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("output.txt");
        let output = JobOutput::limited(&path, OutputShare { head, tail }).unwrap();
        (folder, output)
    }

    fn file(folder: &tempfile::TempDir) -> String {
        std::fs::read_to_string(folder.path().join("output.txt")).unwrap()
    }

    #[test]
    fn what_fits_is_all_there() {
        let (folder, mut output) = output(100, 100);
        output.push(b"one\n");
        assert_eq!(output.new_output(), "one\n");
        output.push(b"two\n");
        assert_eq!(output.new_output(), "two\n");
        assert_eq!(output.new_output(), "");
        assert_eq!((file(&folder).as_str(), output.newest(4).as_str()), ("one\ntwo\n", "two\n"));
    }

    #[test]
    fn the_beginning_and_the_end_stay_in_a_bounded_file() {
        let (folder, mut output) = output(10, 20);
        let all: String = (0..1_000).map(|n| format!("{n}\n")).collect();
        for chunk in all.as_bytes().chunks(7) {
            output.push(chunk);
        }
        let text = file(&folder);
        assert!(text.starts_with("0\n1\n2\n3\n4\n") && text.ends_with("998\n999\n"), "{text}");
        assert!(text.len() < 70, "{text}");
        assert_eq!(output.total(), all.len() as u64);
        // What is missing is what it says.
        let (_, rest) = text.split_once("[… ").unwrap();
        let (dropped, rest) = rest.split_once(" bytes dropped …]\n").unwrap();
        assert_eq!(10 + dropped.parse::<usize>().unwrap() + rest.len(), all.len());
        assert!(all.ends_with(rest));
    }

    /// Whoever put a link or a pipe there could make us show another file, or wait.
    #[test]
    fn only_a_regular_file_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        std::fs::write(at("secret"), "secret").unwrap();
        std::os::unix::fs::symlink(at("secret"), at("link")).unwrap();
        rustix::fs::mkfifoat(rustix::fs::CWD, at("pipe"), Mode::RWXU).unwrap();
        for (name, fault) in [
            ("secret", None),
            ("missing", None),
            ("link", Some("it is a symbolic link")),
            ("pipe", Some("it is not a regular file")),
            (".", Some("it is not a regular file")),
        ] {
            let mut reader = JobOutputReader::new(at(name));
            assert_eq!(reader.fault().as_deref(), fault, "{name}");
            let expected = if name == "secret" { "secret" } else { "" };
            assert_eq!([reader.newest(10), reader.new_output()], [expected; 2], "{name}");
        }
    }

    #[test]
    fn a_flood_is_read_by_its_end_and_told() {
        let (_folder, mut output) = output(HEAD, TAIL);
        output.push(&vec![b'x'; 100_000]);
        output.push(b"end");
        let text = output.new_output();
        assert!(text.starts_with("[… 70003 bytes left out") && text.ends_with("xend"));
        assert!(text.len() < 31_000);
    }

    /// A second reader sees at any time what the writer itself would say.
    #[test]
    fn another_process_reads_the_same() {
        let (folder, mut output) = output(10, 20);
        let path = folder.path().join("output.txt");
        let limits = OutputShare { head: 10, tail: 20 };
        let mut reader = JobOutputReader { path, limits, read: 0 };
        let all: String = (0..300).map(|n| format!("{n}\n")).collect();
        let mut seen = String::new();
        for chunk in all.as_bytes().chunks(7) {
            output.push(chunk);
            assert_eq!(reader.newest(5), output.newest(5));
            let new = reader.new_output();
            assert_eq!(new.as_bytes(), chunk, "after {seen:?}");
            seen.push_str(&new);
        }
        assert_eq!(seen, all);
        assert_eq!(reader.new_output(), "");
        assert_eq!(JobOutputReader::new("/nowhere").new_output(), "");
    }

    #[test]
    fn what_was_lost_before_is_marked() {
        let (folder, mut output) = output(100, 100);
        output.push(b"head");
        output.skip(50);
        output.push(b"tail");
        assert_eq!(file(&folder), "head\n[… 50 bytes dropped …]\ntail");
        assert_eq!((output.total(), output.newest(4).as_str()), (58, "tail"));
    }
}
