//! What can be seen of a log from outside at little cost: how it begins, its newest entries, and whether a living process
//! writes it. No lock is taken that a writer could meet, and the work does not grow with the log.

use crate::files;
use crate::layout::{self, beside};
use crate::line;
use crate::lock;
use crate::session_search::{self, timestamp};
use crate::sessions::FileStore;
use ostler_core::ids::SessionId;
use ostler_core::ports::StoreError;
use ostler_core::session::{Entry, StartedBy};
use rustix::fs::OFlags;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

/// Bytes at the beginning and at the end of a log that are read.
const HEAD: u64 = 1 << 20;
/// Logs that are looked at for the newest sessions: most of them may be those of agents.
const MOST_LOGS: usize = 5_000;
const TAIL: u64 = 1 << 20;

/// The beginning and the end of a log.
#[derive(Clone, Debug, Default)]
pub struct LogGlimpse {
    pub workspace: Option<PathBuf>,
    /// None: a person began it, or its first line cannot be read.
    pub started_by: Option<StartedBy>,
    /// The first prompt.
    pub title: String,
    /// The newest entries of the wanted kinds, oldest first.
    pub newest: Vec<Entry>,
}

impl FileStore {
    /// The sessions of all projects that a living process has open.
    ///
    /// # Errors
    /// If a directory cannot be listed.
    pub fn open_sessions(&self) -> Result<Vec<SessionId>, StoreError> {
        let mut open = Vec::new();
        for folder in self.project_folders()? {
            for (id, path) in layout::named_in(&folder, ".lock")? {
                if lock::is_held(&path) {
                    open.push(id);
                }
            }
        }
        open.sort();
        Ok(open)
    }

    /// Whether a living process has this session open.
    pub fn is_open(&self, id: &SessionId) -> bool {
        let path = self.layout.locate(id).ok().flatten();
        path.is_some_and(|path| lock::is_held(&beside(&path, "lock")))
    }

    /// The sessions of all projects that were written last, newest first, without those that another session started.
    ///
    /// # Errors
    /// If a directory cannot be listed.
    pub fn newest_sessions(&self, most: usize) -> Result<Vec<SessionId>, StoreError> {
        let mut logs: Vec<_> = self.layout.starting_with("")?;
        logs.sort_by_cached_key(|log| {
            let modified = fs::symlink_metadata(&log.path).and_then(|meta| meta.modified()).ok();
            std::cmp::Reverse((timestamp(modified), log.id.clone()))
        });
        let is_first = |path: &Path| {
            let summary = session_search::summary(path, session_search::HEAD);
            summary.is_some_and(|summary| !summary.is_child && summary.messages > 0)
        };
        let people = logs.into_iter().take(MOST_LOGS).filter(|log| is_first(&log.path));
        Ok(people.take(most).map(|log| log.id).collect())
    }

    /// The directories that hold the logs.
    ///
    /// # Errors
    /// If they cannot be listed.
    pub fn project_folders(&self) -> Result<Vec<PathBuf>, StoreError> {
        Ok(self.layout.projects()?.into_iter().map(|(_, folder)| folder).collect())
    }

    /// The beginning of a log, and those of its newest entries whose fact has one of these names.
    ///
    /// # Errors
    /// If there is no such log, or it cannot be read.
    pub fn glimpse(&self, id: &SessionId, facts: &[&str]) -> Result<LogGlimpse, StoreError> {
        let path = self.layout.locate(id)?.ok_or_else(|| StoreError::NotFound(id.clone()))?;
        let file = files::open_file(&path, OFlags::RDONLY)
            .map_err(|refused| crate::sessions::refusal(refused, id, &path))?;
        let failed = |error| files::io_error("read", &path, error);
        let mut glimpse =
            LogGlimpse { newest: tail(&file, facts).map_err(failed)?, ..begin(&file) };
        glimpse.title =
            session_search::summary(&path, session_search::HEAD).unwrap_or_default().title;
        Ok(glimpse)
    }
}

fn begin(mut file: &File) -> LogGlimpse {
    let mut first = Vec::new();
    let read =
        file.rewind().and_then(|()| BufReader::new(file.take(HEAD)).read_until(b'\n', &mut first));
    first.pop_if(|last| *last == b'\n');
    match read.ok().and_then(|_| entry(&first)) {
        Some(Entry::Opened { workspace, started_by, .. }) => LogGlimpse {
            workspace: Some(workspace),
            started_by: started_by.map(|link| *link),
            ..LogGlimpse::default()
        },
        _ => LogGlimpse::default(),
    }
}

/// A line that is being written, or whose beginning lies before, is left out.
fn tail(mut file: &File, facts: &[&str]) -> io::Result<Vec<Entry>> {
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(TAIL)))?;
    let mut bytes = Vec::new();
    file.take(TAIL).read_to_end(&mut bytes)?;
    let end = bytes.iter().rposition(|byte| *byte == b'\n').unwrap_or(0);
    bytes.truncate(end);
    let is_wanted = |line: &&[u8]| {
        line::fact(line).is_some_and(|fact| facts.iter().any(|name| name.as_bytes() == fact))
    };
    Ok(bytes.split(|byte| *byte == b'\n').filter(is_wanted).filter_map(entry).collect())
}

fn entry(line: &[u8]) -> Option<Entry> {
    line::parse(line::decode(line)?.json).ok()
}

#[cfg(test)]
#[path = "log_glimpse_tests.rs"]
mod tests;
