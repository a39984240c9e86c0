//! One file, read with care.

use crate::judge::{InstructionJudge, InstructionRequest};
use crate::place::{InstructionKind, InstructionPlaces};
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Bytes of one file that are used.
pub(crate) const LARGEST: u64 = 40_000;
/// Bytes that surround a text in the conversation.
const FRAME: usize = 120;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File {
    /// As it was named.
    pub path: PathBuf,
    pub kind: InstructionKind,
    pub text: String,
}

impl File {
    /// Bytes that it takes in the conversation, or more.
    pub(crate) fn weight(&self) -> usize {
        // What looks like a tag of ours gets a blank.
        self.text.len() + self.text.matches('<').count() + frame(&self.path)
    }

    /// What replaces it when there is no room.
    pub fn omitted(&self) -> Omitted {
        let step = |print: u32, byte: u8| (print ^ u32::from(byte)).wrapping_mul(0x0100_0193);
        let print = self.text.bytes().fold(0x811c_9dc5, step);
        Omitted { path: self.path.clone(), kind: self.kind, bytes: self.text.len(), print }
    }
}

pub(crate) fn frame(path: &Path) -> usize {
    FRAME + path.as_os_str().len()
}

/// A file for which there was no room.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Omitted {
    pub path: PathBuf,
    pub kind: InstructionKind,
    pub bytes: usize,
    /// Another one if its content is another.
    pub print: u32,
}

/// By which a content is known again without being read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct InstructionStamp {
    changed: [i64; 4],
    size: u64,
    place: (u64, u64),
}

impl InstructionStamp {
    fn of(data: &std::fs::Metadata) -> Self {
        InstructionStamp {
            changed: [data.mtime(), data.mtime_nsec(), data.ctime(), data.ctime_nsec()],
            size: data.size(),
            place: (data.dev(), data.ino()),
        }
    }
}

/// What decides whether a file may be read.
#[derive(Clone, Copy)]
pub(crate) struct ReadLimits<'a> {
    pub(crate) places: &'a InstructionPlaces,
    pub(crate) judge: Option<&'a InstructionJudge>,
}

/// What came of looking for a file.
pub(crate) enum InstructionFile {
    Nothing,
    /// Where it really is, and its stamp.
    At(PathBuf, InstructionStamp),
    /// Why it is not used.
    Refused(String),
}

/// Whether it is there and may be read. `imported`: another file names it.
pub(crate) fn look(
    path: &Path,
    kind: InstructionKind,
    imported: bool,
    limits: ReadLimits<'_>,
) -> InstructionFile {
    // Most files that are looked for do not exist, and to resolve a path takes a step for each of its names.
    if path.symlink_metadata().is_err() {
        return InstructionFile::Nothing;
    }
    let Ok(real) = path.canonicalize() else {
        return InstructionFile::Refused(format!("{} is a broken link: not read", path.display()));
    };
    let (shown, there) = (path.display(), real.display());
    if let Err(why) = limits.places.allows(kind, &real) {
        return InstructionFile::Refused(format!("{shown} leads to {there}, {why}: not read"));
    }
    // By its name it is known again in the conversation.
    if path.to_str().is_none() {
        return InstructionFile::Refused(format!("{shown} has a name that is not UTF-8: not read"));
    }
    let stamp = match real.metadata() {
        Ok(data) if data.is_file() => InstructionStamp::of(&data),
        // A pipe would be waited for.
        Ok(data) if !data.is_dir() => {
            return InstructionFile::Refused(format!("{shown} is not a regular file: not read"));
        }
        Ok(_) => return InstructionFile::Nothing,
        Err(error) => return InstructionFile::Refused(format!("{shown} cannot be read: {error}")),
    };
    let own = limits.places.is_own_text(&real);
    let request = InstructionRequest { path, real: &real, imported, own };
    if let Some(Err(why)) = limits.judge.map(|judge| judge(&request)) {
        return InstructionFile::Refused(format!("{shown} is not read: {why}"));
    }
    InstructionFile::At(real, stamp)
}

/// `real` is free of links, and `stamp` is that of the file that was judged.
pub(crate) fn read(path: &Path, real: &Path, stamp: &InstructionStamp) -> Result<String, String> {
    let mut bytes = Vec::new();
    let shown = path.display();
    let unread = |error: std::io::Error| format!("{shown} cannot be read: {error}");
    let file = std::fs::File::open(real).map_err(unread)?;
    let opened = file.metadata().map_err(unread)?;
    if !opened.is_file() || (opened.dev(), opened.ino()) != stamp.place {
        return Err(format!("{shown} was replaced while Ostler read it: not read"));
    }
    file.take(LARGEST + 1).read_to_end(&mut bytes).map_err(unread)?;
    if !is_text(&bytes) {
        return Err(format!("{shown} is not text: not read"));
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Text, perhaps in an older encoding; not a picture, a program or chance.
fn is_text(bytes: &[u8]) -> bool {
    let wrong: usize = bytes.utf8_chunks().map(|chunk| chunk.invalid().len()).sum();
    !bytes.contains(&0) && wrong * 20 <= bytes.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_text_is_not_read() {
        let latin: &[u8] =
            b"Gr\xfc\xdfe: use tabs, and run the tests before every commit of this project.";
        let cut = "größe".as_bytes().get(..3).unwrap();
        for (bytes, expected) in [
            (&b"plain words"[..], true),
            (b"", true),
            (latin, true),
            (&[cut, &[b'x'; 60]].concat(), true),
            (b"a\0b", false),
            (&[0x80, 0x9f, b'a', 0xff, b'b'], false),
        ] {
            assert_eq!(is_text(bytes), expected, "{bytes:?}");
        }
    }
}
