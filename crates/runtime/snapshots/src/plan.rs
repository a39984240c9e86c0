//! What going back would do: for each path what was before, what the call made of it, and what stands there now.
//!
//! What a person changed since stays. Texts are merged by lines; where that is not possible the person's version
//! stays, and the old one is put beside it.

use crate::error::Error;
use crate::item::{Hash, OWNER_LOOKS, SnapshotItem, What, Why};
use crate::record::RecordedChange;
use crate::special_names::{Area, is_object};
use crate::store::Snapshots;
use crate::{git_index, merge};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Why something stays that a call made.
const GIT_CHANGED: &str = "git's own record was changed since";
const NOT_FOLLOWED: &str = "it is not covered: above the size limit, or not readable";

/// What stands at a path.
#[derive(Clone, Debug)]
pub enum PathState {
    Absent,
    Folder {
        mode: u32,
    },
    /// `bytes` where the snapshots do not hold the content.
    File {
        hash: Hash,
        mode: u32,
        bytes: Option<Arc<[u8]>>,
    },
    Pinned {
        hash: Hash,
        mode: u32,
    },
    Link(Vec<u8>),
    /// A pipe, a socket, a device: there is no content to it, only which one it is.
    Special {
        ino: u64,
    },
    /// It is there, and not kept.
    Unknown(Why),
}

impl PathState {
    pub fn of(item: Option<&SnapshotItem>) -> Self {
        let Some(item) = item else { return PathState::Absent };
        let mode = item.mode;
        match &item.what {
            What::Folder => PathState::Folder { mode },
            What::File(hash) => PathState::File { hash: *hash, mode, bytes: None },
            What::Pinned(hash) => PathState::Pinned { hash: *hash, mode },
            What::Link(target) => PathState::Link(target.clone()),
            What::LeftOut(Why::Special) => PathState::Special { ino: item.stamp.ino },
            What::LeftOut(why) => PathState::Unknown(*why),
        }
    }

    pub fn file(bytes: Vec<u8>, mode: u32) -> Self {
        PathState::File { hash: Hash::of(&bytes), mode, bytes: Some(bytes.into()) }
    }

    pub(crate) fn is_same(&self, other: &PathState) -> bool {
        match (self, other) {
            (PathState::Absent, PathState::Absent) => true,
            (PathState::Folder { mode: a }, PathState::Folder { mode: b }) => a == b,
            (
                PathState::File { hash: a, mode: in_a, .. },
                PathState::File { hash: b, mode: in_b, .. },
            ) => (a, in_a) == (b, in_b),
            (
                PathState::Pinned { hash: a, mode: in_a },
                PathState::Pinned { hash: b, mode: in_b },
            ) => (a, in_a) == (b, in_b),
            (PathState::Link(a), PathState::Link(b)) => a == b,
            (PathState::Special { ino: a }, PathState::Special { ino: b }) => a == b,
            _ => false,
        }
    }

    /// The mode to set, where nothing else differs.
    pub(crate) fn only_mode(&self, to: &PathState) -> Option<u32> {
        match (self, to) {
            (PathState::File { hash: a, .. }, PathState::File { hash: b, mode, .. })
            | (PathState::Pinned { hash: a, .. }, PathState::Pinned { hash: b, mode }) => {
                (a == b).then_some(*mode)
            }
            _ => None,
        }
    }

    pub(crate) fn kind(&self) -> u8 {
        match self {
            PathState::Absent => 0,
            PathState::Folder { .. } => 1,
            PathState::File { .. } | PathState::Pinned { .. } => 2,
            PathState::Link(_) => 3,
            PathState::Unknown(_) => 4,
            PathState::Special { .. } => 5,
        }
    }
}

/// A path that a call changed.
#[derive(Clone, Debug)]
pub struct WantedState {
    pub path: PathBuf,
    pub before: PathState,
    pub after: PathState,
}

impl From<RecordedChange> for WantedState {
    fn from(change: RecordedChange) -> Self {
        let (before, after) =
            (PathState::of(change.before.as_ref()), PathState::of(change.after.as_ref()));
        WantedState { path: change.path, before, after }
    }
}

/// What one call changed.
#[derive(Clone, Debug, Default)]
pub struct UndoUnit {
    pub wanted: Vec<WantedState>,
    /// What is not proved to be its work: it stays, and is said.
    pub doubtful: Vec<WantedState>,
    /// What belongs to another worktree of the repository: it stays, and is said.
    pub elsewhere: Vec<WantedState>,
    /// What was changed at the same time and is not taken back on purpose, and why.
    pub stays: Vec<(WantedState, &'static str)>,
}

/// What becomes of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fate {
    /// As it was before.
    Restored,
    /// It was made by what is undone, and goes.
    Removed,
    /// The person's change and the way back, both.
    Merged,
    /// The person's version stays.
    Kept(&'static str),
    /// It is not taken back on purpose: it is the work of somebody else, or was asked to stay.
    Stays(&'static str),
    /// The person's version stays, the old one is put beside it.
    Beside(PathBuf),
    /// It cannot be brought back.
    Lost(&'static str),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanOutcome {
    pub path: PathBuf,
    pub fate: Fate,
}

#[derive(Clone, Debug)]
pub struct RestoreAction {
    pub path: PathBuf,
    pub from: PathState,
    pub to: PathState,
}

/// What will be done, and what is said of it.
#[derive(Clone, Debug, Default)]
pub struct RestorePlan {
    pub actions: Vec<RestoreAction>,
    pub outcomes: Vec<PlanOutcome>,
    /// Directories that nobody can look into until their modes are restored. What was changed in them is seen only
    /// then.
    pub reopened: Vec<PathBuf>,
    /// Modes that an undo changed for its work and could not set back.
    pub(crate) modes: Vec<(PathBuf, u32)>,
}

/// What was known of paths at an earlier snapshot, where it differs from what is known now.
pub(crate) type Past = BTreeMap<PathBuf, Option<SnapshotItem>>;

pub(crate) struct Planner<'a> {
    pub snapshots: &'a Snapshots,
    pub past: &'a Past,
    /// Where paths will stand, where they are touched.
    pub then: BTreeMap<PathBuf, PathState>,
    outcomes: BTreeMap<PathBuf, Fate>,
}

impl Snapshots {
    /// The way back through these calls, newest first. A snapshot must have been taken just before.
    pub fn plan(&self, units: &[UndoUnit]) -> Result<RestorePlan, Error> {
        self.plan_at(units, &Past::new())
    }

    pub(crate) fn plan_at(&self, units: &[UndoUnit], past: &Past) -> Result<RestorePlan, Error> {
        let (then, outcomes) = (BTreeMap::new(), BTreeMap::new());
        let mut planner = Planner { snapshots: self, past, then, outcomes };
        for unit in units {
            for wanted in &unit.wanted {
                planner.decide(wanted)?;
            }
            planner.keep_head(unit)?;
            let reasons = [
                (&unit.doubtful, "was not changed while the command is known to have run"),
                (&unit.elsewhere, "belongs to another worktree of the repository"),
            ];
            for (stays, why) in reasons {
                for WantedState { path, before, .. } in stays {
                    if !planner.current(path).is_same(before) {
                        planner.say(path, Fate::Kept(why));
                    }
                }
            }
            for (WantedState { path, before, .. }, why) in &unit.stays {
                // What became of it by a later call is what counts.
                if !planner.current(path).is_same(before) {
                    planner.outcomes.entry(path.clone()).or_insert(Fate::Stays(why));
                }
            }
        }
        planner.empty_repositories(units);
        let then = std::mem::take(&mut planner.then);
        let action = |(path, to): (PathBuf, PathState)| {
            let from = planner.now(&path);
            (!from.is_same(&to)).then_some(RestoreAction { path, from, to })
        };
        let actions: Vec<RestoreAction> = then.into_iter().filter_map(action).collect();
        let reopens = |action: &&RestoreAction| match (&action.from, &action.to) {
            (PathState::Folder { mode: from }, PathState::Folder { mode: to }) => {
                from & OWNER_LOOKS != OWNER_LOOKS && to & OWNER_LOOKS == OWNER_LOOKS
            }
            _ => false,
        };
        let reopened = actions.iter().filter(reopens).map(|action| action.path.clone()).collect();
        let outcomes = planner.outcomes.into_iter();
        let outcomes = outcomes.map(|(path, fate)| PlanOutcome { path, fate }).collect();
        Ok(RestorePlan { actions, outcomes, reopened, modes: Vec::new() })
    }

    pub(crate) fn now(&self, path: &Path) -> PathState {
        match self.roots().iter().any(|root| path.starts_with(root)) {
            true => PathState::of(self.known(path).as_ref()),
            false => PathState::Unknown(Why::Unreadable),
        }
    }

    pub(crate) fn bytes(&self, state: &PathState) -> Result<Option<Arc<[u8]>>, Error> {
        match state {
            PathState::File { bytes: Some(bytes), .. } => Ok(Some(Arc::clone(bytes))),
            PathState::File { hash, .. } => Ok(Some(self.content(hash)?.into())),
            _ => Ok(None),
        }
    }
}

impl Planner<'_> {
    pub(crate) fn now(&self, path: &Path) -> PathState {
        match self.past.get(path) {
            Some(item) => PathState::of(item.as_ref()),
            None => self.snapshots.now(path),
        }
    }

    pub(crate) fn current(&self, path: &Path) -> PathState {
        self.then.get(path).cloned().unwrap_or_else(|| self.now(path))
    }

    pub(crate) fn put(&mut self, path: &Path, to: PathState, fate: Fate) {
        self.then.insert(path.to_path_buf(), to);
        self.outcomes.insert(path.to_path_buf(), fate);
    }

    pub(crate) fn fate(&self, path: &Path) -> Option<&Fate> {
        self.outcomes.get(path)
    }

    pub(crate) fn say(&mut self, path: &Path, fate: Fate) {
        self.outcomes.insert(path.to_path_buf(), fate);
    }

    fn decide(&mut self, wanted: &WantedState) -> Result<(), Error> {
        let WantedState { path, before, after } = wanted;
        let now = self.current(path);
        if !self.snapshots.roots().iter().any(|root| path.starts_with(root)) {
            self.say(path, Fate::Lost("outside the directories that snapshots cover"));
            return Ok(());
        }
        if self.is_packed_since(wanted, &now)? {
            self.say(path, Fate::Kept(GIT_CHANGED));
            return Ok(());
        }
        if now.is_same(before) {
            return Ok(());
        }
        if let Some(fate) = unknown(before, after, &now) {
            match (before, &fate) {
                // What took its place may be somebody's only copy, and could not be brought back by a redo.
                (PathState::File { .. }, Fate::Kept(NOT_FOLLOWED)) => self.beside(path, before),
                _ => self.say(path, fate),
            }
            return Ok(());
        }
        let area = Area::of(path);
        if now.is_same(after) || self.is_same_index(path, &now, after)? {
            if matches!(before, PathState::Absent) && is_object(path) {
                return Ok(());
            }
            return self.go_back(path, before);
        }
        match (&now, after, before) {
            _ if matches!(before, PathState::Absent) && is_object(path) => {}
            _ if area != Area::Plain => {
                self.say(path, Fate::Kept(GIT_CHANGED));
            }
            (PathState::File { .. }, PathState::File { .. }, PathState::File { .. }) => {
                self.merge(path, &now, after, before)?;
            }
            (PathState::Absent, ..) => self.say(path, Fate::Kept("was removed since")),
            (PathState::Folder { .. }, _, PathState::Folder { .. }) => {
                self.say(path, Fate::Kept("its mode was changed since"));
            }
            (_, _, PathState::Absent) => self.say(path, Fate::Kept("was changed since")),
            _ => self.beside(path, before),
        }
        Ok(())
    }

    /// To what was before, if it is still held.
    fn go_back(&mut self, path: &Path, before: &PathState) -> Result<(), Error> {
        let held = match before {
            PathState::File { hash, bytes: None, .. } | PathState::Pinned { hash, .. } => {
                self.snapshots.objects().has(hash)
            }
            _ => true,
        };
        match (before, held) {
            (_, false) => self.say(path, Fate::Lost("its content is no longer stored")),
            (PathState::Absent, _) => self.put(path, PathState::Absent, Fate::Removed),
            _ => self.put(path, before.clone(), Fate::Restored),
        }
        Ok(())
    }

    fn is_same_index(
        &self,
        path: &Path,
        now: &PathState,
        after: &PathState,
    ) -> Result<bool, Error> {
        if path.file_name().is_none_or(|name| name != "index") || Area::of(path) != Area::Git {
            return Ok(false);
        }
        let meaning = |state: &PathState| {
            let bytes = match self.snapshots.bytes(state) {
                Err(Error::Lost(_)) => None,
                other => other?,
            };
            Ok::<_, Error>(bytes.and_then(|bytes| git_index::meaning(&bytes)))
        };
        let (now, after) = (meaning(now)?, meaning(after)?);
        Ok(now.is_some() && now == after)
    }

    fn merge(
        &mut self,
        path: &Path,
        now: &PathState,
        after: &PathState,
        before: &PathState,
    ) -> Result<(), Error> {
        let bytes = |state: &PathState| match self.snapshots.bytes(state) {
            Ok(bytes) => Ok(bytes),
            Err(Error::Lost(_)) => Ok(None),
            Err(error) => Err(error),
        };
        let Some(old) = bytes(before)? else {
            self.say(path, Fate::Lost("its content is no longer stored"));
            return Ok(());
        };
        let mode = |state: &PathState| match state {
            PathState::File { mode, .. } => *mode,
            _ => 0,
        };
        let versions = bytes(after)?.zip(bytes(now)?);
        let Some(merged) = versions.and_then(|(base, mine)| merge::lines(&base, &mine, &old))
        else {
            self.beside(path, before);
            return Ok(());
        };
        let of = if mode(now) == mode(after) { before } else { now };
        let to = PathState::file(merged, mode(of));
        self.put(path, to, Fate::Merged);
        Ok(())
    }

    /// The old version under a name that is free.
    fn beside(&mut self, path: &Path, before: &PathState) {
        if !matches!(before, PathState::File { .. }) {
            self.say(path, Fate::Kept("was changed since"));
            return;
        }
        let name = |n: usize| {
            let mut name = path.as_os_str().to_owned();
            name.push(".before-undo");
            if n > 0 {
                name.push(format!(".{n}"));
            }
            PathBuf::from(name)
        };
        let free = |path: &PathBuf| matches!(self.current(path), PathState::Absent);
        match (0..100).map(name).find(free) {
            Some(beside) => {
                self.then.insert(beside.clone(), before.clone());
                self.say(path, Fate::Beside(beside));
            }
            None => self.say(path, Fate::Kept("was changed since")),
        }
    }
}

/// What can be said where one of the three is not known.
fn unknown(before: &PathState, after: &PathState, now: &PathState) -> Option<Fate> {
    match (before, after, now) {
        (PathState::Unknown(Why::Build), PathState::Unknown(_), _) => None,
        (PathState::Unknown(Why::Build), ..) => {
            Some(Fate::Lost("a build directory above the size limit"))
        }
        (PathState::Unknown(Why::Large), ..) => Some(Fate::Lost("above the size limit")),
        (PathState::Unknown(Why::Unreadable), ..) => {
            Some(Fate::Lost("it could not be read before"))
        }
        (PathState::Special { .. } | PathState::Unknown(Why::Special), ..) => {
            Some(Fate::Lost("a pipe, socket or device"))
        }
        (PathState::Unknown(Why::Denied), PathState::Unknown(Why::Denied), _) => None,
        (PathState::Unknown(Why::Denied), ..) => {
            Some(Fate::Lost("a deny rule covers it, so it is not stored"))
        }
        (_, PathState::Unknown(Why::Denied), _) | (.., PathState::Unknown(Why::Denied)) => {
            Some(Fate::Kept("a deny rule covers it, so it is not tracked"))
        }
        (_, PathState::Unknown(_), _) | (.., PathState::Unknown(_)) => {
            Some(Fate::Kept(NOT_FOLLOWED))
        }
        _ => None,
    }
}
