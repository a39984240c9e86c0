//! What file tools of all sessions wrote, and when. Whoever undoes a command that ran at the same time can tell their
//! work from the command's by it.
//!
//! One line for each, appended in one piece before the file is written: without the store's lock, which is held while
//! the directories are looked at, so that nobody's edit waits for somebody else's look.

use crate::error::Error;
use crate::store::Snapshots;
use std::ffi::OsString;
use std::fmt::Write as _;
use std::fs::{self, OpenOptions};
use std::io::{ErrorKind, Write as _};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

const EDITS: &str = "edits";
const OLDER: &str = "edits.older";
/// A longer file is put aside when the store is pruned, and the one put aside before it goes.
const MOST_BYTES: u64 = 4 << 20;

/// A file tool replaces, makes or removes a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolEdit {
    /// Nanoseconds since 1970.
    pub at: u64,
    pub session: String,
    pub path: PathBuf,
    /// The name of the blob that holds the old content; none if there was no file.
    pub before: Option<String>,
    /// Hash of the new content; none if the file goes.
    pub after: Option<String>,
    /// How many directories are made for it: the one that holds it, the one above, and so on.
    pub folders: usize,
}

impl Snapshots {
    /// A file tool of this store's session is about to write a file. Without a session nobody could be told apart.
    pub fn note_edit(
        &self,
        path: &Path,
        before: Option<&str>,
        after: Option<&str>,
    ) -> Result<(), Error> {
        let Some(session) = &self.session else { return Ok(()) };
        let at = (self.config.now)();
        let edit = ToolEdit {
            at,
            session: session.clone(),
            path: path.to_path_buf(),
            before: before.map(str::to_owned),
            after: after.map(str::to_owned),
            folders: missing_folders(path),
        };
        let file = self.disk.path(EDITS);
        let mut new = OpenOptions::new();
        let open = new.append(true).create(true).mode(0o600).open(&file);
        let written = open.and_then(|mut file| file.write_all(edit.encode().as_bytes()));
        written.map_err(|error| Error::io("write", &file, error))
    }

    /// What was written since this moment (nanoseconds since 1970), oldest first.
    pub fn edits_since(&self, since: u64) -> Vec<ToolEdit> {
        let texts = [OLDER, EDITS].map(|name| fs::read_to_string(self.disk.path(name)));
        let lines = texts.iter().flatten().flat_map(|text| text.lines());
        let mut edits: Vec<ToolEdit> =
            lines.filter_map(ToolEdit::decode).filter(|edit| edit.at >= since).collect();
        edits.sort_by_key(|edit| edit.at);
        edits
    }

    /// Only while the lock is held: two at once would put aside what was put aside just now.
    pub(crate) fn age_edits(&self) {
        let file = self.disk.path(EDITS);
        if fs::metadata(&file).is_ok_and(|meta| meta.len() > MOST_BYTES) {
            let _ = self.disk.rename(&file, &self.disk.path(OLDER));
        }
    }
}

impl ToolEdit {
    /// Begins with a line end: what a dead process left half written spoils no other line.
    fn encode(&self) -> String {
        let side = |side: &Option<String>| side.clone().unwrap_or_else(|| "-".into());
        let mut line =
            format!("\n{} {} {} {} ", self.at, self.session, side(&self.before), side(&self.after));
        for byte in self.path.as_os_str().as_bytes() {
            let _ = write!(line, "{byte:02x}");
        }
        if self.folders > 0 {
            let _ = write!(line, " {}", self.folders);
        }
        line.push('\n');
        line
    }

    fn decode(line: &str) -> Option<Self> {
        let mut words = line.split(' ');
        let at = words.next()?.parse().ok()?;
        let session = words.next()?.to_owned();
        let mut side = || Some(Some(words.next()?.to_owned()).filter(|text| text != "-"));
        let (before, after) = (side()?, side()?);
        let hex = words.next()?;
        let byte = |at: usize| u8::from_str_radix(hex.get(2 * at..2 * at + 2)?, 16).ok();
        let bytes = (0..hex.len() / 2).map(byte).collect::<Option<Vec<u8>>>()?;
        let folders = words.next().map_or(Some(0), |count| count.parse().ok())?;
        let whole = hex.len().is_multiple_of(2) && !bytes.is_empty() && words.next().is_none();
        let path = PathBuf::from(OsString::from_vec(bytes));
        whole.then_some(ToolEdit { at, session, path, before, after, folders })
    }
}

fn missing_folders(path: &Path) -> usize {
    let is_missing = |folder: &&Path| {
        fs::symlink_metadata(folder).is_err_and(|error| error.kind() == ErrorKind::NotFound)
    };
    path.ancestors().skip(1).take_while(is_missing).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edits_are_read_as_they_were_written() {
        let path = PathBuf::from(OsString::from_vec(b"/w/a b\n\xff".to_vec()));
        for (before, after, folders) in
            [(None, Some("ab".to_owned()), 2), (Some("cd".to_owned()), None, 0)]
        {
            let (session, path) = ("s-1".into(), path.clone());
            let edit = ToolEdit { at: 7, session, path, before, after, folders };
            let text = edit.encode();
            assert_eq!(ToolEdit::decode(text.trim_matches('\n')), Some(edit.clone()));
            // Cut anywhere it is either nothing or, without its last letters, another name; never a panic.
            let torn = text.trim_matches('\n');
            (0..torn.len()).for_each(|end| drop(ToolEdit::decode(&torn[..end])));
            let after_torn = format!("{}{text}", &torn[..9]);
            let read: Vec<_> = after_torn.lines().filter_map(ToolEdit::decode).collect();
            assert_eq!(read, [edit]);
        }
    }
}
