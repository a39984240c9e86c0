//! The end of a log that a dead process left: cut off, kept next to it, reported.

use crate::files;
use crate::layout::beside;
use crate::scan::{Scan, Tail};
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

const CHUNK: usize = 64 << 10;
/// How many ends of one log, cut at the same number, are kept.
const TRIES: usize = 1000;

/// Returns the file's length afterwards. If the end cannot be kept it is not cut either:
/// the next append closes it off.
pub(crate) fn settle(file: &File, log: &Path, scan: &Scan, notices: &mut Vec<String>) -> u64 {
    if scan.tail != Tail::Torn {
        return scan.end;
    }
    let (from, to, entry) = (scan.good, scan.end, scan.next);
    let what =
        format!("the end of the log (entry {entry}, bytes {from}–{to}) is incomplete or damaged");
    match set_aside(file, log, scan).and_then(|kept| file.set_len(from).map(|()| kept)) {
        Ok(kept) => {
            notices.push(format!("{what}: cut off, kept in {}", kept.display()));
            from
        }
        Err(error) => {
            notices.push(format!(
                "{what}: skipped, left in place because it could not be moved ({error})"
            ));
            to
        }
    }
}

fn set_aside(file: &File, log: &Path, scan: &Scan) -> io::Result<PathBuf> {
    let (mut kept, path) = new_file(log, scan.next)?;
    let copied = copy(file, scan.good, scan.end, &mut kept).and_then(|()| kept.sync_all());
    if let Err(error) = copied {
        fs::remove_file(&path).ok();
        return Err(error);
    }
    Ok(path)
}

fn new_file(log: &Path, seq: u64) -> io::Result<(File, PathBuf)> {
    let mut last = io::Error::from(io::ErrorKind::AlreadyExists);
    for n in 1..=TRIES {
        let extension = if n == 1 { format!("torn-{seq}") } else { format!("torn-{seq}-{n}") };
        let path = beside(log, &extension);
        match files::create_new(&path) {
            Ok(file) => return Ok((file, path)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => last = error,
            Err(error) => return Err(error),
        }
    }
    Err(last)
}

fn copy(from: &File, start: u64, end: u64, to: &mut File) -> io::Result<()> {
    let mut chunk = vec![0; CHUNK];
    let mut at = start;
    while at < end {
        let wanted = usize::try_from(end - at).unwrap_or(CHUNK).min(CHUNK);
        let read = from.read_at(chunk.get_mut(..wanted).unwrap_or_default(), at)?;
        if read == 0 {
            break;
        }
        to.write_all(chunk.get(..read).unwrap_or_default())?;
        at += read as u64;
    }
    Ok(())
}
