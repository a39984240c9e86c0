//! Which sessions there are: by their age, by their name, by a beginning of it.

use crate::files;
use crate::layout::{self, LogFile};
use crate::listing::{LogSummary, summarise};
use crate::sessions::FileStore;
use ostler_core::ids::SessionId;
use ostler_core::ports::StoreError;
use ostler_core::time::Timestamp;
use rustix::fs::OFlags;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

/// Shorter beginnings of a name are not looked up.
const SHORTEST_PREFIX: usize = 8;
/// So many names are shown when a beginning fits several.
const SHOWN: usize = 10;
/// Enough of a log to see whether it has begun, and where.
pub(crate) const HEAD: u64 = 64 << 10;

/// A session that was asked for by (the beginning of) its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundSession {
    pub id: SessionId,
    /// The name of its project's directory.
    pub project: String,
    /// The workspace it was started in, if its first line can be read.
    pub workspace: Option<PathBuf>,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FindError {
    #[error("{prefix} matches several sessions: {}. Give more of the id", shown(ids))]
    Ambiguous { prefix: String, ids: Vec<SessionId> },
    #[error("{0} is too short to identify a session. Give at least {SHORTEST_PREFIX} characters")]
    TooShort(String),
    #[error(transparent)]
    Store(#[from] StoreError),
}

fn shown(ids: &[SessionId]) -> String {
    let names: Vec<&str> = ids.iter().take(SHOWN).map(SessionId::as_str).collect();
    let more = ids.len().saturating_sub(SHOWN);
    let rest = if more > 0 { format!(" and {more} more") } else { String::new() };
    names.join(", ") + &rest
}

impl FileStore {
    /// Finds a session of any project by its name, or by a beginning that fits no other.
    pub fn find(&self, name: &str) -> Result<Option<FoundSession>, FindError> {
        let logs = self.layout.starting_with(name)?;
        let exact = logs.iter().find(|log| log.id.as_str() == name);
        if let Some(log) = exact {
            return Ok(Some(found(log)));
        }
        if name.chars().count() < SHORTEST_PREFIX {
            return Err(FindError::TooShort(name.to_owned()));
        }
        match logs.as_slice() {
            [] => Ok(None),
            [log] => Ok(Some(found(log))),
            several => {
                let mut ids: Vec<_> = several.iter().map(|log| log.id.clone()).collect();
                ids.sort();
                Err(FindError::Ambiguous { prefix: name.to_owned(), ids })
            }
        }
    }

    /// The session of this workspace that was written to last.
    pub fn latest(&self, workspace: &Path) -> Result<Option<SessionId>, StoreError> {
        // A session without any message cannot be continued, and one that works for another is not a person's.
        let spoken = |path: &Path| {
            summary(path, HEAD).is_some_and(|summary| summary.messages > 0 && !summary.is_child)
        };
        let newest = self.by_age(workspace)?.into_iter().find(|(_, _, path)| spoken(path));
        Ok(newest.map(|(_, id, _)| id))
    }

    /// Newest first; of equally old ones the later name, since names grow with time.
    pub(crate) fn by_age(
        &self,
        workspace: &Path,
    ) -> Result<Vec<(Timestamp, SessionId, PathBuf)>, StoreError> {
        let mut logs: Vec<_> = layout::logs_in(&self.layout.folder_of(workspace))?
            .into_iter()
            .filter_map(|(id, path)| {
                let there = fs::symlink_metadata(&path).ok().filter(fs::Metadata::is_file)?;
                Some((there.modified().ok(), id, path))
            })
            .collect();
        logs.sort_by(|a, b| (&b.0, &b.1).cmp(&(&a.0, &a.1)));
        Ok(logs.into_iter().map(|(time, id, path)| (timestamp(time), id, path)).collect())
    }
}

pub(crate) fn summary(path: &Path, within: u64) -> Option<LogSummary> {
    let file = files::open_file(path, OFlags::RDONLY).ok()?;
    let length = file.metadata().ok()?.len().min(within);
    summarise(file.take(length)).ok().filter(|summary| !summary.is_empty())
}

fn found(log: &LogFile) -> FoundSession {
    let workspace = summary(&log.path, HEAD).and_then(|summary| summary.workspace);
    FoundSession { id: log.id.clone(), project: log.project.clone(), workspace }
}

pub(crate) fn timestamp(time: Option<SystemTime>) -> Timestamp {
    let since = time.and_then(|time| time.duration_since(UNIX_EPOCH).ok()).unwrap_or_default();
    Timestamp(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}
