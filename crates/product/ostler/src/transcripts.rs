//! Conversations of other programs: listed, looked at, and imported as new sessions.

use crate::error::Error;
use crate::log_choice;
use ostler_core::ids::SessionId;
use ostler_store::FileStore;
use ostler_transcripts::{ClaudeTranscripts, CodexTranscripts, OpencodeTranscripts};
pub use ostler_transcripts::{Conversation, Program, Step as TranscriptStep, TranscriptInfo};
use std::path::{Path, PathBuf};

/// Where other programs keep their sessions; none: they are not looked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TranscriptPlaces {
    /// Claude Code's directory, usually `~/.claude`.
    pub claude: Option<PathBuf>,
    /// Codex's home, usually `~/.codex`.
    pub codex: Option<PathBuf>,
    /// opencode's data directory, usually `~/.local/share/opencode`.
    pub opencode: Option<PathBuf>,
    /// Claude Code's directory is a copy that a program made for this run, so its sessions go on under their own ids.
    pub is_copy: bool,
}

/// What came of an import.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImportedSession {
    pub id: SessionId,
    /// What was imported, and what was not, in one line each.
    pub notices: Vec<String>,
}

impl TranscriptPlaces {
    fn claude(&self) -> Option<ClaudeTranscripts> {
        self.claude.as_deref().map(ClaudeTranscripts::new)
    }

    fn codex(&self) -> Option<CodexTranscripts> {
        self.codex.as_deref().map(CodexTranscripts::new)
    }

    fn opencode(&self) -> Option<OpencodeTranscripts> {
        self.opencode.as_deref().map(OpencodeTranscripts::new)
    }

    /// A conversation by its id, or by a beginning that fits no other; of one program, or of any.
    ///
    /// # Errors
    /// If it cannot be read, or the beginning fits several.
    pub fn read(&self, of: Option<Program>, id: &str) -> Result<Option<Conversation>, Error> {
        let wanted = |program| of.is_none_or(|of| of == program);
        if let Some(claude) = self.claude().filter(|_| wanted(Program::ClaudeCode))
            && let Some((id, path)) = claude.find(id)?
        {
            return Ok(Some(claude.read(&id, &path)?));
        }
        if let Some(codex) = self.codex().filter(|_| wanted(Program::Codex))
            && let Some((id, path)) = codex.find(id)?
        {
            return Ok(Some(codex.read(&id, &path)?));
        }
        if let Some(opencode) = self.opencode().filter(|_| wanted(Program::OpenCode))
            && let Some((id, path)) = opencode.find(id)?
        {
            return Ok(Some(opencode.read(&id, &path)?));
        }
        Ok(None)
    }

    pub(crate) fn refused_fork(&self, id: &str) -> Error {
        match self.read(None, id) {
            Ok(Some(found)) => Error::ForkOfTranscript(found.program.word(), found.id),
            Ok(None) => ostler_core::ports::StoreError::NotFound(SessionId::new(id)).into(),
            Err(error) => error,
        }
    }
}

/// What can be imported, newest first; of a directory, or of all of them.
pub fn transcripts(places: &TranscriptPlaces, cwd: Option<&Path>) -> Vec<TranscriptInfo> {
    let mut found = places.claude().map(|claude| claude.list(cwd)).unwrap_or_default();
    found.extend(places.codex().into_iter().flat_map(|codex| codex.list(cwd)));
    found.extend(places.opencode().into_iter().flat_map(|opencode| opencode.list(cwd)));
    found.sort_by_key(|info| std::cmp::Reverse(info.modified));
    found
}

/// Imports a conversation as a new session of this directory.
///
/// # Errors
/// If there is none of that name, or it cannot be read or written.
pub fn import_transcript(
    home: &Path,
    cwd: &Path,
    places: &TranscriptPlaces,
    program: Program,
    id: &str,
) -> Result<ImportedSession, Error> {
    let missing = || Error::NoTranscript {
        program: program.to_string(),
        word: program.word(),
        id: id.to_owned(),
    };
    let conversation = places.read(Some(program), id)?.ok_or_else(missing)?;
    let loaded = log_choice::import(&FileStore::new(home)?, &conversation, cwd, None)?;
    Ok(ImportedSession { id: loaded.log.id().clone(), notices: loaded.notices })
}

/// The sessions of a directory that were imported: the program, the id there, and the session here.
///
/// # Errors
/// If the sessions cannot be read.
pub fn imported_from(home: &Path, cwd: &Path) -> Result<Vec<(String, SessionId)>, Error> {
    let origins = FileStore::new(home)?.origins(cwd)?;
    Ok(origins.into_iter().map(|(id, origin)| (origin.to_string(), id)).collect())
}
