//! What was undone, written down beside the snapshots in the words of whoever did it.

use crate::error::Error;
use crate::journal::JOURNAL;
use crate::label::Label;
use crate::record::{RecordBody, SnapshotRecord, scan};
use crate::store::Snapshots;
use std::fs::File;
use std::io::{ErrorKind, Read, Seek, SeekFrom};
use std::os::unix::fs::MetadataExt;

/// How far somebody has read the notes.
#[derive(Clone, Copy, Debug, Default)]
pub struct NotesRead {
    inode: u64,
    offset: u64,
}

impl Snapshots {
    pub fn note(&self, text: &str) -> Result<(), Error> {
        let (mut state, _lock) = self.enter()?;
        self.append(state.seq(), &Label::default(), RecordBody::Note(text.to_owned()))?;
        self.remember(&mut state);
        Ok(())
    }

    /// All of them, oldest first.
    pub fn notes(&self) -> Result<Vec<String>, Error> {
        let records = self.read_journal()?.records;
        Ok(texts(records))
    }

    /// Those since the last time, read without waiting for anybody; after a pruning those from before come again.
    pub fn new_notes(&self, read: &mut NotesRead) -> Result<Vec<String>, Error> {
        let path = self.disk.path(JOURNAL);
        let fail = |error| Error::io("read", &path, error);
        let mut file = match File::open(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(fail(error)),
        };
        let meta = file.metadata().map_err(fail)?;
        if meta.ino() != read.inode || meta.len() < read.offset {
            *read = NotesRead { inode: meta.ino(), offset: 0 };
        }
        if meta.len() == read.offset {
            return Ok(Vec::new());
        }
        let mut bytes = Vec::new();
        file.seek(SeekFrom::Start(read.offset)).map_err(fail)?;
        file.read_to_end(&mut bytes).map_err(fail)?;
        let (records, good) = scan(&bytes);
        read.offset += good as u64;
        Ok(texts(records))
    }
}

fn texts(records: Vec<SnapshotRecord>) -> Vec<String> {
    let text = |record| match record {
        SnapshotRecord { body: RecordBody::Note(text), .. } => Some(text),
        _ => None,
    };
    records.into_iter().filter_map(text).collect()
}
