//! Where things stand below the home directory, and how they are named.

use crate::files::{self, io_error};
use ostler_core::ids::SessionId;
use ostler_core::ports::StoreError;
use sha2::{Digest, Sha256};
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

const LOG: &str = ".log";
const SLUG_CHARS: usize = 40;
const HASH_DIGITS: usize = 16;
const ID_CHARS: usize = 128;

pub(crate) struct StoreLayout {
    home: PathBuf,
    sessions: PathBuf,
}

/// A log that was found by its name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct LogFile {
    pub project: String,
    pub id: SessionId,
    pub path: PathBuf,
}

impl StoreLayout {
    pub fn new(home: PathBuf) -> Result<Self, StoreError> {
        files::home(&home)?;
        let sessions = home.join("sessions");
        files::private_folder(&sessions)?;
        Ok(StoreLayout { home, sessions })
    }

    pub fn sessions(&self) -> &Path {
        &self.sessions
    }

    pub fn folder_of(&self, workspace: &Path) -> PathBuf {
        self.sessions.join(project_name(workspace))
    }

    /// The directory of a project and those above it, up to the home.
    pub fn folders_of(&self, workspace: &Path) -> Vec<PathBuf> {
        vec![self.folder_of(workspace), self.sessions.clone(), self.home.clone()]
    }

    /// Looks in every project: a session keeps its name wherever it is resumed from.
    pub fn locate(&self, id: &SessionId) -> Result<Option<PathBuf>, StoreError> {
        if !is_file_name(id) {
            return Ok(None);
        }
        for (_, folder) in self.projects()? {
            let path = log_path(&folder, id);
            if fs::symlink_metadata(&path).is_ok() {
                return Ok(Some(path));
            }
        }
        Ok(None)
    }

    /// Every log whose session's name begins so.
    pub fn starting_with(&self, prefix: &str) -> Result<Vec<LogFile>, StoreError> {
        let mut found = Vec::new();
        for (project, folder) in self.projects()? {
            for (id, path) in logs_in(&folder)? {
                if id.as_str().starts_with(prefix) {
                    found.push(LogFile { project: project.clone(), id, path });
                }
            }
        }
        Ok(found)
    }

    pub fn projects(&self) -> Result<Vec<(String, PathBuf)>, StoreError> {
        let mut folders: Vec<_> = names_in(&self.sessions)?
            .into_iter()
            .map(|name| (name.clone(), self.sessions.join(name)))
            .filter(|(_, path)| path.is_dir())
            .collect();
        folders.sort();
        Ok(folders)
    }
}

/// Sessions by the names of their files; a directory that is not there holds none.
pub(crate) fn logs_in(folder: &Path) -> Result<Vec<(SessionId, PathBuf)>, StoreError> {
    named_in(folder, LOG)
}

/// The same for another ending.
pub(crate) fn named_in(
    folder: &Path,
    ending: &str,
) -> Result<Vec<(SessionId, PathBuf)>, StoreError> {
    let files = names_in(folder)?.into_iter().filter_map(|name| {
        let id = SessionId::new(name.strip_suffix(ending)?);
        is_file_name(&id).then(|| (id, folder.join(&name)))
    });
    Ok(files.collect())
}

fn names_in(folder: &Path) -> Result<Vec<String>, StoreError> {
    let failed = |error: io::Error| io_error("list", folder, error);
    let listing = match fs::read_dir(folder) {
        Ok(listing) => listing,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(failed(error)),
    };
    let mut names = Vec::new();
    for entry in listing {
        // A name that is not UTF-8 is none of ours.
        names.extend(entry.map_err(failed)?.file_name().into_string().ok());
    }
    Ok(names)
}

pub(crate) fn log_path(folder: &Path, id: &SessionId) -> PathBuf {
    folder.join(format!("{id}{LOG}"))
}

/// `<id>.<extension>` beside the log.
pub(crate) fn beside(log: &Path, extension: &str) -> PathBuf {
    log.with_extension(extension)
}

/// Names come from outside: only plain ones become files.
pub(crate) fn is_file_name(id: &SessionId) -> bool {
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    (1..=ID_CHARS).contains(&id.as_str().len()) && id.as_str().as_bytes().iter().all(plain)
}

/// Readable by its end, unique by its hash: `ann-work-my-app-3fa92c1b04de77aa`.
pub fn project_name(workspace: &Path) -> String {
    // Drops a trailing slash and `.` parts. Links are the caller's to resolve.
    let path: PathBuf = workspace.components().collect();
    let mut hash = hex(&Sha256::digest(path.as_os_str().as_bytes()));
    hash.truncate(HASH_DIGITS);
    let text = path.to_string_lossy();
    let words: Vec<&str> =
        text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
    let slug = words.join("-");
    let surplus = slug.chars().count().saturating_sub(SLUG_CHARS);
    let end: String = slug.chars().skip(surplus).collect();
    match end.trim_start_matches('-') {
        "" => hash,
        end => format!("{end}-{hash}"),
    }
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn projects_are_readable_and_never_share_a_name() {
        let name = |path: &str| project_name(Path::new(path));
        assert_eq!(name("/home/ann/My App"), "home-ann-My-App-5f058d5661181f3e");
        assert_eq!(name("/home/ann/My App/"), name("/home/ann/My App"));
        assert_eq!(name("/home/./ann/My App"), name("/home/ann/My App"));
        let alike = [
            "/a/b-c",
            "/a/b/c",
            "/a-b/c",
            "/a/B/c",
            "/a/b c",
            "/a/b\nc",
            "a/b/c",
            "/",
            "",
            "/проект",
            "/日本",
        ];
        let names: std::collections::BTreeSet<_> = alike.iter().map(|path| name(path)).collect();
        assert_eq!(names.len(), alike.len());
        let deep = name(&"/ж".repeat(2000));
        assert!(deep.len() < 200 && !deep.starts_with('-'), "{deep}");
        assert!(names.iter().all(|name| !name.contains('/') && !name.starts_with('.')));
    }

    #[test]
    fn only_plain_names_become_files() {
        for bad in ["", ".", "..", "../x", "a/b", "a.b", "a b", "a\0b", "ä", &"x".repeat(129)] {
            assert!(!is_file_name(&SessionId::new(bad)), "{bad:?}");
        }
        assert!(is_file_name(&SessionId::new("00000000-0000-7000-8000-000000000001")));
    }
}
