//! One file, read with care.

use crate::place::{Kind, Places};
use std::io::Read;
use std::path::{Path, PathBuf};

/// Bytes of one file that count.
pub(crate) const LARGEST: u64 = 40_000;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File {
    /// As it was named.
    pub path: PathBuf,
    pub kind: Kind,
    pub text: String,
}

/// What came of looking for a file.
pub(crate) enum Found {
    Nothing,
    /// With where it really is.
    Text(String, PathBuf),
    /// Why it is not used.
    Refused(String),
}

pub(crate) fn read(path: &Path, kind: Kind, places: &Places) -> Found {
    let Ok(real) = path.canonicalize() else {
        return match path.symlink_metadata() {
            Ok(_) => Found::Refused(format!("{} leads nowhere: not read", path.display())),
            Err(_) => Found::Nothing,
        };
    };
    if !places.allows(kind, &real) {
        return Found::Refused(format!(
            "{} leads to {}, which is outside of what it may use: not read",
            path.display(),
            real.display()
        ));
    }
    // A pipe would be waited for.
    if !real.metadata().is_ok_and(|metadata| metadata.is_file()) {
        return Found::Nothing;
    }
    let mut bytes = Vec::new();
    let opened = std::fs::File::open(&real);
    match opened.and_then(|file| file.take(LARGEST + 1).read_to_end(&mut bytes)) {
        Ok(_) => Found::Text(String::from_utf8_lossy(&bytes).into_owned(), real),
        Err(error) => Found::Refused(format!("{} cannot be read: {error}", path.display())),
    }
}
