//! A file is changed only if the model knows what it holds, and only after the old content is kept and recorded.

use super::atomic_write;
use super::error::FileError;
use super::files::{FileContent, Files, MAX_CHANGE};
use super::seen_files::Freshness;
use crate::blocking_task::TaskStop;
use crate::text::sha256;
use ostler_core::ids::BlobRef;
use ostler_core::ports::ToolContext;
use ostler_core::session::{Entry, Snapshot};
use ostler_core::tool::{OutputPart, Seen, ToolOutput};
use rustix::fs::{Access, AtFlags};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::Path;
use std::sync::{Arc, MutexGuard, PoisonError};

/// How much of a file the model must have seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Needs {
    /// All of it, as it is now: everything is replaced.
    Whole,
    /// Some of it. If it has changed since, `make` gets what was seen, and decides.
    Some,
}

/// What is there before a change.
pub(crate) struct Old<'a> {
    pub content: Option<&'a FileContent>,
    /// What the model has seen, if the file holds something else by now.
    pub seen: Option<&'a [u8]>,
}

/// What is to be there.
pub(crate) struct New {
    pub bytes: Vec<u8>,
    /// The model is not told about everything that is new to it.
    pub unseen: bool,
}

/// What a change did.
pub(crate) struct Changed {
    /// The file did not exist before.
    pub created: bool,
    /// The content was already what was asked for; nothing was written.
    pub same: bool,
    pub seen: Seen,
}

impl Files {
    /// The model sees what it asked to read.
    pub(crate) fn shown(&self, seen: &[Seen]) {
        for seen in seen {
            self.note(seen);
        }
    }

    /// A content that was seen, if it is still at hand.
    pub(crate) fn seen_content(&self, hash: &str) -> Option<std::sync::Arc<[u8]>> {
        self.kept.get(hash)
    }

    /// Kept to tell what changed, if it changes.
    pub(crate) fn remember(&self, hash: &str, bytes: &[u8]) {
        self.kept.put(hash, bytes);
    }

    /// The model now knows this content, or that the file is gone.
    pub(super) fn saw(&self, path: &Path, hash: Option<String>, part: Option<OutputPart>) -> Seen {
        let seen = Seen { path: path.to_path_buf(), hash, part };
        self.note(&seen);
        seen
    }

    /// A content that was replaced is nothing to compare with any more. Without this a session that writes all day
    /// keeps every version of every file until the bound is reached.
    fn note(&self, seen: &Seen) {
        if let Some(replaced) = self.ledger.saw(seen) {
            self.kept.forget(&replaced);
        }
    }

    /// Replaces a file's content: `make` gets the old one and gives the new one. The old content is kept and recorded
    /// first. Changes of one file happen one after the other.
    pub(crate) fn change(
        &self,
        path: &Path,
        cx: &ToolContext,
        stop: &TaskStop,
        needs: Needs,
        make: impl FnOnce(Old<'_>) -> Result<New, ToolOutput>,
    ) -> Result<Changed, ToolOutput> {
        let _alone = self.alone(path);
        let old = self.load(path, MAX_CHANGE)?;
        let seen = match &old {
            Some(old) => self.must_be_known(path, old, needs)?,
            None => None,
        };
        let new = make(Old { content: old.as_ref(), seen: seen.as_deref() })?;
        let hash = sha256(&new.bytes);
        let was_empty = old.as_ref().is_none_or(|old| old.bytes.is_empty());
        let whole =
            was_empty || needs == Needs::Whole || (!new.unseen && self.ledger.is_whole(path));
        let part = (!whole).then(|| none_of(&new.bytes));
        self.remember(&hash, &new.bytes);
        if old.as_ref().is_some_and(|old| old.hash == hash) {
            let seen = self.saw(path, Some(hash), part);
            return Ok(Changed { created: false, same: true, seen });
        }
        self.may_write(path, old.as_ref())?;
        stop.check()?;
        let snapshot = Snapshot {
            call: cx.call.clone(),
            path: path.to_path_buf(),
            before: old.as_ref().map(|old| keep(cx, &old.bytes)).transpose()?,
            mode: old.as_ref().map(|old| old.mode),
            after: Some(hash.clone()),
        };
        self.record(cx, snapshot)?;
        self.snapshots.will_hold(&new.bytes);
        let (mode, over) = (old.as_ref().map(|old| old.mode), old.as_ref().map(|old| old.stamp));
        atomic_write::replace(&self.door, path, &new.bytes, mode, over)?;
        Ok(Changed { created: old.is_none(), same: false, seen: self.saw(path, Some(hash), part) })
    }

    /// First the log, then our own memory of it, then the disk.
    pub(super) fn record(&self, cx: &ToolContext, snapshot: Snapshot) -> Result<(), ToolOutput> {
        let Snapshot { call, path, before, mode, after } = snapshot.clone();
        let recorded = cx.recorder.record(Entry::Snapshot { call, path, before, mode, after });
        recorded.map_err(|error| unrecorded(&error))?;
        self.snapshots.will_do(snapshot);
        Ok(())
    }

    pub(super) fn alone(&self, path: &Path) -> MutexGuard<'_, ()> {
        let mut hasher = DefaultHasher::new();
        path.hash(&mut hasher);
        let at = usize::try_from(hasher.finish() % self.locks.len() as u64).unwrap_or(0);
        self.locks[at].lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A rename asks only the directory's permissions; whoever made the file read-only meant the file.
    pub(super) fn may_write(
        &self,
        path: &Path,
        old: Option<&FileContent>,
    ) -> Result<(), FileError> {
        if old.is_none() {
            return Ok(());
        }
        let fail = |errno| FileError::raced("write", path, errno);
        let place = self.door.place(path).map_err(fail)?;
        rustix::fs::accessat(&place.folder, place.name, Access::WRITE_OK, AtFlags::empty())
            .map_err(fail)
    }

    /// Why a change of this file would be refused, if the model does not know what it holds. Nothing is said of files
    /// outside of the roots: whether they exist is for the person to tell.
    pub(crate) fn unknown_content(&self, name: &str, needs: Needs) -> Option<ToolOutput> {
        let path = self.resolve_for_writing(name).ok()?;
        if !self.workspace().roots.iter().any(|root| path.starts_with(root)) {
            return None;
        }
        let old = self.load(&path, MAX_CHANGE).ok()??;
        self.must_be_known(&path, &old, needs).err()
    }

    /// What was seen instead, where the file has changed and a change may still be possible.
    fn must_be_known(
        &self,
        path: &Path,
        old: &FileContent,
        needs: Needs,
    ) -> Result<Option<Arc<[u8]>>, ToolOutput> {
        let name = self.name(path);
        let refuse = |why: &str| Err(ToolOutput::misuse(format!("{name} {why}")));
        match self.ledger.freshness(path, &old.hash) {
            Freshness::Fresh => Ok(None),
            Freshness::Partial if needs == Needs::Some => Ok(None),
            Freshness::Partial => refuse(
                "exists and you have read only a part of it. Read the whole file first, or change the part with Edit.",
            ),
            Freshness::Unread if old.bytes.is_empty() => Ok(None),
            Freshness::Unread => refuse("exists and you have not read it. Read it first."),
            Freshness::Changed(seen) => match self.kept.get(&seen) {
                Some(seen) if needs == Needs::Some => Ok(Some(seen)),
                _ => refuse("has changed since you read it. Read it again before you change it."),
            },
        }
    }
}

/// No line of a content.
pub(super) fn none_of(bytes: &[u8]) -> OutputPart {
    let of = bytes.iter().filter(|byte| **byte == b'\n').count() as u64;
    OutputPart { first: 1, last: 0, of: of.max(1) }
}

/// The bytes as a blob, before anything is done to the file they came from.
pub(super) fn keep(cx: &ToolContext, bytes: &[u8]) -> Result<BlobRef, ToolOutput> {
    cx.blobs.put(bytes).map_err(|error| unrecorded(&error))
}

pub(super) fn unrecorded(error: &dyn std::fmt::Display) -> ToolOutput {
    ToolOutput::error(format!(
        "Nothing was changed, because the old content could not be kept: {error}"
    ))
}
