//! Sessions that Claude Code began.

mod chain;
mod line_index;
mod listing;
mod project_names;
mod reader;

pub(crate) use project_names::is_uuid;
pub use project_names::project_directory_name;

use crate::TranscriptInfo;
use crate::conversation::Conversation;
use crate::error::TranscriptError;
use crate::id_prefix::the_one;
use project_names::is_name_of;
use std::fs;
use std::path::{Path, PathBuf};

/// Transcripts that a listing looks at, newest first.
const LISTED: usize = 500;
const ENDING: &str = ".jsonl";

/// The transcripts below Claude Code's directory.
#[derive(Clone, Debug)]
pub struct ClaudeTranscripts {
    projects: PathBuf,
}

impl ClaudeTranscripts {
    pub fn new(claude_home: &Path) -> Self {
        ClaudeTranscripts { projects: claude_home.join("projects") }
    }

    /// Those that were begun in a directory, or all of them; newest first. What cannot be read is not listed.
    pub fn list(&self, cwd: Option<&Path>) -> Vec<TranscriptInfo> {
        let cwd = cwd.map(|cwd| cwd.to_string_lossy().into_owned());
        let mut files: Vec<_> = self
            .folders()
            .into_iter()
            .filter(|(name, _)| cwd.as_ref().is_none_or(|cwd| is_name_of(name, cwd)))
            .flat_map(|(_, folder)| transcripts_in(&folder))
            .filter_map(|(id, path)| {
                let modified = fs::symlink_metadata(&path).ok()?.modified().ok()?;
                Some((modified, id, path))
            })
            .collect();
        files.sort_by(|a, b| b.cmp(a));
        // Several directories can have the same name here.
        let is_of = |info: &TranscriptInfo| match (&cwd, &info.cwd) {
            (Some(cwd), Some(found)) => {
                let found = found.to_string_lossy();
                found == *cwd || !is_name_of(&project_directory_name(cwd), &found)
            }
            _ => true,
        };
        files
            .into_iter()
            .take(LISTED)
            .filter_map(|(_, id, path)| listing::glance(&path, &id).ok().flatten())
            .filter(is_of)
            .collect()
    }

    /// A transcript of any directory by its id, or by a beginning that fits no other.
    pub fn find(&self, name: &str) -> Result<Option<(String, PathBuf)>, TranscriptError> {
        let all = self.folders().into_iter().flat_map(|(_, folder)| transcripts_in(&folder));
        let found: Vec<(String, PathBuf)> = all
            .filter(|(id, _)| id.starts_with(&name.to_ascii_lowercase()) || id == name)
            .collect();
        the_one(found, name)
    }

    pub fn read(&self, id: &str, path: &Path) -> Result<Conversation, TranscriptError> {
        reader::read(path, id)
    }

    fn folders(&self) -> Vec<(String, PathBuf)> {
        names_in(&self.projects)
            .map(|name| (name.clone(), self.projects.join(name)))
            .filter(|(_, path)| path.is_dir())
            .collect()
    }
}

fn transcripts_in(folder: &Path) -> Vec<(String, PathBuf)> {
    let named = |name: String| {
        let id = name.strip_suffix(ENDING).filter(|id| is_uuid(id))?.to_owned();
        Some((id, folder.join(&name)))
    };
    names_in(folder).filter_map(named).collect()
}

/// A directory that cannot be read has nothing in it.
fn names_in(folder: &Path) -> impl Iterator<Item = String> + use<> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().into_string().ok())
}
