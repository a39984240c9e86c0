//! The output of a job: a file that keeps the beginning and the end, however much is written.
//!
//! The file is plain text at any time, so that everybody can read it. Beyond its limit it consists of the beginning, a
//! line that says how much is missing, and the newest output; the middle is dropped in large steps.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;

/// Bytes kept from the beginning, and from the end at most.
const HEAD: u64 = 4 << 20;
const TAIL: u64 = 4 << 20;
/// What one read gives at most, in bytes.
const READ: u64 = 30_000;

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
        let mark = format!("\n[… {} bytes dropped …]\n", self.dropped);
        self.mark = mark.len() as u64;
        self.tail = tail.len() as u64;
        self.file.write_all_at(mark.as_bytes(), self.head)?;
        self.file.write_all_at(tail, self.tail_start())?;
        self.file.set_len(self.tail_start() + self.tail)
    }

    /// Of the file, from this place on.
    fn bytes(&self, at: u64, most: u64) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; usize::try_from(most).unwrap_or(0)];
        let mut length = 0;
        while let Some(rest) = bytes.get_mut(length..).filter(|rest| !rest.is_empty()) {
            match self.file.read_at(rest, at + length as u64)? {
                0 => break,
                read => length += read,
            }
        }
        bytes.truncate(length);
        Ok(bytes)
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
        match wanted - newest {
            0 => text,
            left => format!("[… {left} bytes left out; the file has more of them …]\n{text}"),
        }
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

    #[test]
    fn a_flood_is_read_by_its_end_and_told() {
        let (_folder, mut output) = output(HEAD, TAIL);
        output.push(&vec![b'x'; 100_000]);
        output.push(b"end");
        let text = output.new_output();
        assert!(text.starts_with("[… 70003 bytes left out") && text.ends_with("xend"));
        assert!(text.len() < 31_000);
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
