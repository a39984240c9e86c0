//! The way back: for each file, what it held before each change, any number of levels deep.
//!
//! The log knows only `Snapshot` entries, each true by itself: what a file held before, what was put there. A change
//! is one entry of its call. Going back is several of one call: the first says where the file stood (before and
//! after are the same), each further one is a level undone. So the order of entries alone tells a resumed session
//! where it stands, and a step back is never taken for a change.
//!
//! A level whose effect is not on disk (the process died between entry and write, or somebody undid it by hand) is
//! passed over.

use super::atomic_write;
use super::change::{keep, none_of, unrecorded};
use super::files::{FileContent, Files, MAX_CHANGE};
use crate::blocking_task::TaskStop;
use crate::text::sha256;
use ostler_core::ids::{BlobRef, CallId};
use ostler_core::ports::ToolContext;
use ostler_core::session::Snapshot;
use ostler_core::tool::{Seen, ToolOutput};
use ostler_snapshots::{Hash, RecordedChange, SnapshotItem, Snapshots as Store, What};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

/// Levels kept of one file; older ones can no longer be reached by steps.
const MAX_LEVELS: usize = 1_000;

/// Begins the name of a content that is kept with the snapshots of the directories.
const KEPT: &str = "snapshot:";

#[derive(Clone, Debug, PartialEq)]
struct UndoLevel {
    before: Option<BlobRef>,
    mode: Option<u32>,
    after: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq)]
struct Stack {
    levels: Vec<UndoLevel>,
    last: Option<CallId>,
    /// The newest level is the only entry of its call so far.
    single: bool,
}

impl Stack {
    fn apply(&mut self, snapshot: Snapshot) {
        let Snapshot { call, before, mode, after, .. } = snapshot;
        if self.last.as_ref() == Some(&call) {
            if std::mem::take(&mut self.single) {
                self.levels.pop();
            }
            self.levels.pop();
            return;
        }
        if self.levels.len() >= MAX_LEVELS {
            self.levels.remove(0);
        }
        self.levels.push(UndoLevel { before, mode, after });
        self.last = Some(call);
        self.single = true;
    }
}

#[derive(Default)]
pub struct UndoLevels {
    stacks: Mutex<HashMap<PathBuf, Stack>>,
    /// Where the contents are that commands replaced.
    store: OnceLock<Arc<Store>>,
}

impl UndoLevels {
    /// From the session's record, oldest first.
    pub fn new(recorded: Vec<Snapshot>) -> Self {
        let snapshots = UndoLevels::default();
        for snapshot in recorded {
            snapshots.apply(snapshot);
        }
        snapshots
    }

    pub fn apply(&self, snapshot: Snapshot) {
        self.stacks().entry(snapshot.path.clone()).or_default().apply(snapshot);
    }

    /// A file tool is about to do this. Lets an undo tell it from the work of a command that runs at the same time, in any
    /// session; if that fails, the session's own log still tells its own.
    pub(super) fn will_do(&self, snapshot: Snapshot) {
        if let Some(store) = self.store.get() {
            let before = snapshot.before.as_ref().map(BlobRef::as_str);
            let _ = store.note_edit(&snapshot.path, before, snapshot.after.as_deref());
        }
        self.apply(snapshot);
    }

    /// Lets an undo tell a person's later change from this one. Without it the two are not merged, but nothing is lost.
    pub fn will_hold(&self, bytes: &[u8]) {
        if let Some(store) = self.store.get() {
            let _ = store.keep(bytes);
        }
    }

    fn levels(&self, path: &Path) -> Vec<UndoLevel> {
        self.stacks().get(path).map(|stack| stack.levels.clone()).unwrap_or_default()
    }

    fn stacks(&self) -> MutexGuard<'_, HashMap<PathBuf, Stack>> {
        self.stacks.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What going back did.
#[derive(Debug)]
pub struct Reverted {
    /// How many changes were undone.
    pub undone: usize,
    /// The content now; none if the file is gone.
    pub now: Option<Vec<u8>>,
    /// How many recorded changes remain below.
    pub left: usize,
    /// Fewer steps than asked, because the file was changed by something else in between.
    pub blocked: bool,
    pub seen: Seen,
}

/// One level to undo: what the file holds after it.
struct RevertStep {
    blob: Option<BlobRef>,
    mode: Option<u32>,
    hash: Option<String>,
}

struct RevertPlan {
    steps: Vec<RevertStep>,
    /// What the last step leads to.
    content: Option<Vec<u8>>,
    undone: usize,
    blocked: bool,
}

impl Files {
    /// Goes back `steps` changes of one file. What is there now is kept first.
    pub(crate) fn revert(
        &self,
        path: &Path,
        steps: usize,
        cx: &ToolContext,
        stop: &TaskStop,
    ) -> Result<Reverted, ToolOutput> {
        let _alone = self.alone(path);
        let name = self.name(path);
        let levels = self.snapshots.levels(path);
        if levels.is_empty() {
            return Err(ToolOutput::error(format!(
                "There is nothing to go back to: no change of {name} is recorded."
            )));
        }
        let current = self.load(path, MAX_CHANGE)?;
        let plan = plan(&levels, current.as_ref(), steps, |blob| self.old_content(blob, cx))?;
        let (Some(last), true) = (plan.steps.last(), plan.undone > 0) else {
            return Err(ToolOutput::error(match plan.blocked {
                true => format!(
                    "Not reverted: {name} was changed by something else after the last recorded change, and that \
                     would be lost. Read it, and edit it if necessary."
                ),
                false => format!(
                    "There is nothing to undo: {name} is as it was before the recorded changes."
                ),
            }));
        };
        self.may_write(path, current.as_ref())?;
        stop.check()?;
        self.record_steps(path, current.as_ref(), &plan.steps, cx)?;
        match &plan.content {
            Some(bytes) => {
                let mode = last.mode.or(current.as_ref().map(|content| content.mode));
                let over = current.as_ref().map(|content| content.stamp);
                atomic_write::replace(&self.door, path, bytes, mode, over)?
            }
            None if current.is_some() => atomic_write::remove(&self.door, path)?,
            None => {}
        }
        // Whoever has not seen all of the file now has not seen all of it as it was.
        let part = plan.content.as_deref().filter(|_| !self.ledger.is_whole(path)).map(none_of);
        let seen = self.saw(path, last.hash.clone(), part);
        let left = levels.len() - plan.steps.len();
        Ok(Reverted { undone: plan.undone, now: plan.content, left, blocked: plan.blocked, seen })
    }

    /// A command changed files: each of these changes can be gone back from, too.
    pub(crate) fn command_changed(
        &self,
        call: &CallId,
        store: &Arc<Store>,
        changes: &[RecordedChange],
    ) {
        self.remember_contents(store);
        for change in changes.iter().take(MAX_LEVELS) {
            if let Some(snapshot) = level(call, change) {
                self.snapshots.apply(snapshot);
            }
        }
    }

    /// Where the contents are that commands of this session replaced.
    pub fn remember_contents(&self, store: &Arc<Store>) {
        self.snapshots.store.get_or_init(|| Arc::clone(store));
    }

    fn old_content(&self, blob: &BlobRef, cx: &ToolContext) -> Result<Vec<u8>, ToolOutput> {
        let Some(hash) = blob.as_str().strip_prefix(KEPT) else {
            return cx.blobs.get(blob).map_err(|error| unrecorded(&error));
        };
        let found = Hash::from_hex(hash).zip(self.snapshots.store.get());
        let (hash, store) = found.ok_or_else(|| unrecorded(&"there are no snapshots"))?;
        store.content(&hash).map_err(|error| unrecorded(&error))
    }

    /// Snapshots are pruned some day; what the log names is not.
    fn lasting(&self, blob: &BlobRef, cx: &ToolContext) -> Result<BlobRef, ToolOutput> {
        match blob.as_str().starts_with(KEPT) {
            true => keep(cx, &self.old_content(blob, cx)?),
            false => Ok(blob.clone()),
        }
    }

    fn record_steps(
        &self,
        path: &Path,
        current: Option<&FileContent>,
        steps: &[RevertStep],
        cx: &ToolContext,
    ) -> Result<(), ToolOutput> {
        let mut at = Snapshot {
            call: cx.call.clone(),
            path: path.to_path_buf(),
            before: current.map(|content| keep(cx, &content.bytes)).transpose()?,
            mode: current.map(|content| content.mode),
            after: current.map(|content| content.hash.clone()),
        };
        self.record(cx, at.clone())?;
        for step in steps {
            at.after = step.hash.clone();
            self.record(cx, at.clone())?;
            at.before = step.blob.as_ref().map(|blob| self.lasting(blob, cx)).transpose()?;
            at.mode = step.mode;
        }
        Ok(())
    }
}

/// What a command did to a file, as if a file tool had done it. None for anything but files.
pub fn level(call: &CallId, change: &RecordedChange) -> Option<Snapshot> {
    let file = |side: &Option<SnapshotItem>| match side {
        None => Some(None),
        Some(SnapshotItem { what: What::File(hash), .. }) => Some(Some(hash.hex())),
        Some(_) => None,
    };
    let (before, after) = (file(&change.before)?, file(&change.after)?);
    let mode = change.before.as_ref().map(|item| item.mode);
    let before = before.map(|hash| BlobRef::new(format!("{KEPT}{hash}")));
    Some(Snapshot { call: call.clone(), path: change.path.clone(), before, mode, after })
}

fn plan(
    levels: &[UndoLevel],
    current: Option<&FileContent>,
    wanted: usize,
    load: impl Fn(&BlobRef) -> Result<Vec<u8>, ToolOutput>,
) -> Result<RevertPlan, ToolOutput> {
    let mut plan = RevertPlan { steps: Vec::new(), content: None, undone: 0, blocked: false };
    let mut at = current.map(|content| content.hash.clone());
    for level in levels.iter().rev() {
        if plan.undone == wanted {
            break;
        }
        let content = level.before.as_ref().map(&load).transpose()?;
        let hash = content.as_deref().map(sha256);
        if hash != at {
            // Where the file was deleted, bringing it back loses nothing.
            if at.is_some() && at != level.after {
                plan.blocked = true;
                break;
            }
            plan.undone += 1;
        }
        at.clone_from(&hash);
        plan.steps.push(RevertStep { blob: level.before.clone(), mode: level.mode, hash });
        plan.content = content;
    }
    Ok(plan)
}

#[cfg(test)]
#[path = "snapshots_tests.rs"]
mod tests;
