//! What going back would do: for each path what was before, what the call made of it, and what stands there now.
//!
//! What a person changed since stays. Texts are merged by lines; where that is not possible the person's version
//! stays, and the old one is put beside it.

use crate::error::Error;
use crate::item::{Hash, Item, OWNER_LOOKS, What, Why};
use crate::record::Change;
use crate::special_names::{Area, is_object};
use crate::store::Snapshots;
use crate::{git_index, merge};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Why something stays that a call made.
const GIT_CHANGED: &str = "git's own record was changed since";
const NOT_FOLLOWED: &str = "it is not followed: above the size that is kept, or not readable";

/// What stands at a path.
#[derive(Clone, Debug)]
pub enum State {
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

impl State {
    pub fn of(item: Option<&Item>) -> Self {
        let Some(item) = item else { return State::Absent };
        let mode = item.mode;
        match &item.what {
            What::Folder => State::Folder { mode },
            What::File(hash) => State::File { hash: *hash, mode, bytes: None },
            What::Pinned(hash) => State::Pinned { hash: *hash, mode },
            What::Link(target) => State::Link(target.clone()),
            What::LeftOut(Why::Special) => State::Special { ino: item.stamp.ino },
            What::LeftOut(why) => State::Unknown(*why),
        }
    }

    pub fn file(bytes: Vec<u8>, mode: u32) -> Self {
        State::File { hash: Hash::of(&bytes), mode, bytes: Some(bytes.into()) }
    }

    pub(crate) fn is_same(&self, other: &State) -> bool {
        match (self, other) {
            (State::Absent, State::Absent) => true,
            (State::Folder { mode: a }, State::Folder { mode: b }) => a == b,
            (State::File { hash: a, mode: in_a, .. }, State::File { hash: b, mode: in_b, .. }) => {
                (a, in_a) == (b, in_b)
            }
            (State::Pinned { hash: a, mode: in_a }, State::Pinned { hash: b, mode: in_b }) => {
                (a, in_a) == (b, in_b)
            }
            (State::Link(a), State::Link(b)) => a == b,
            (State::Special { ino: a }, State::Special { ino: b }) => a == b,
            _ => false,
        }
    }

    /// The mode to set, where nothing else differs.
    pub(crate) fn only_mode(&self, to: &State) -> Option<u32> {
        match (self, to) {
            (State::File { hash: a, .. }, State::File { hash: b, mode, .. })
            | (State::Pinned { hash: a, .. }, State::Pinned { hash: b, mode }) => {
                (a == b).then_some(*mode)
            }
            _ => None,
        }
    }

    pub(crate) fn kind(&self) -> u8 {
        match self {
            State::Absent => 0,
            State::Folder { .. } => 1,
            State::File { .. } | State::Pinned { .. } => 2,
            State::Link(_) => 3,
            State::Unknown(_) => 4,
            State::Special { .. } => 5,
        }
    }
}

/// A path that a call changed.
#[derive(Clone, Debug)]
pub struct Wanted {
    pub path: PathBuf,
    pub before: State,
    pub after: State,
}

impl From<Change> for Wanted {
    fn from(change: Change) -> Self {
        let (before, after) = (State::of(change.before.as_ref()), State::of(change.after.as_ref()));
        Wanted { path: change.path, before, after }
    }
}

/// What one call changed.
#[derive(Clone, Debug, Default)]
pub struct Unit {
    pub wanted: Vec<Wanted>,
    /// What is not proved to be its work: it stays, and is said.
    pub doubtful: Vec<Wanted>,
    /// What belongs to another worktree of the repository: it stays, and is said.
    pub elsewhere: Vec<Wanted>,
    /// What was changed at the same time and is not taken back on purpose, and why.
    pub stays: Vec<(Wanted, &'static str)>,
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
pub struct Outcome {
    pub path: PathBuf,
    pub fate: Fate,
}

#[derive(Clone, Debug)]
pub struct Action {
    pub path: PathBuf,
    pub from: State,
    pub to: State,
}

/// What will be done, and what is said of it.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    pub actions: Vec<Action>,
    pub outcomes: Vec<Outcome>,
    /// Folders that nobody can look into until their modes are restored. What was changed in them is seen only then.
    pub reopened: Vec<PathBuf>,
    /// Modes that an undo changed for its work and could not set back.
    pub(crate) modes: Vec<(PathBuf, u32)>,
}

/// What was known of paths at an earlier snapshot, where it differs from what is known now.
pub(crate) type Past = BTreeMap<PathBuf, Option<Item>>;

pub(crate) struct Planner<'a> {
    pub snapshots: &'a Snapshots,
    pub past: &'a Past,
    /// Where paths will stand, where they are touched.
    pub then: BTreeMap<PathBuf, State>,
    outcomes: BTreeMap<PathBuf, Fate>,
}

impl Snapshots {
    /// The way back through these calls, newest first. A snapshot must have been taken just before.
    pub fn plan(&self, units: &[Unit]) -> Result<Plan, Error> {
        self.plan_at(units, &Past::new())
    }

    pub(crate) fn plan_at(&self, units: &[Unit], past: &Past) -> Result<Plan, Error> {
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
                for Wanted { path, before, .. } in stays {
                    if !planner.current(path).is_same(before) {
                        planner.say(path, Fate::Kept(why));
                    }
                }
            }
            for (Wanted { path, before, .. }, why) in &unit.stays {
                // What became of it by a later call is what counts.
                if !planner.current(path).is_same(before) {
                    planner.outcomes.entry(path.clone()).or_insert(Fate::Stays(why));
                }
            }
        }
        planner.empty_repositories(units);
        let then = std::mem::take(&mut planner.then);
        let action = |(path, to): (PathBuf, State)| {
            let from = planner.now(&path);
            (!from.is_same(&to)).then_some(Action { path, from, to })
        };
        let actions: Vec<Action> = then.into_iter().filter_map(action).collect();
        let reopens = |action: &&Action| match (&action.from, &action.to) {
            (State::Folder { mode: from }, State::Folder { mode: to }) => {
                from & OWNER_LOOKS != OWNER_LOOKS && to & OWNER_LOOKS == OWNER_LOOKS
            }
            _ => false,
        };
        let reopened = actions.iter().filter(reopens).map(|action| action.path.clone()).collect();
        let outcomes = planner.outcomes.into_iter();
        let outcomes = outcomes.map(|(path, fate)| Outcome { path, fate }).collect();
        Ok(Plan { actions, outcomes, reopened, modes: Vec::new() })
    }

    pub(crate) fn now(&self, path: &Path) -> State {
        match self.config.roots.iter().any(|root| path.starts_with(root)) {
            true => State::of(self.known(path).as_ref()),
            false => State::Unknown(Why::Unreadable),
        }
    }

    pub(crate) fn bytes(&self, state: &State) -> Result<Option<Arc<[u8]>>, Error> {
        match state {
            State::File { bytes: Some(bytes), .. } => Ok(Some(Arc::clone(bytes))),
            State::File { hash, .. } => Ok(Some(self.content(hash)?.into())),
            _ => Ok(None),
        }
    }
}

impl Planner<'_> {
    pub(crate) fn now(&self, path: &Path) -> State {
        match self.past.get(path) {
            Some(item) => State::of(item.as_ref()),
            None => self.snapshots.now(path),
        }
    }

    pub(crate) fn current(&self, path: &Path) -> State {
        self.then.get(path).cloned().unwrap_or_else(|| self.now(path))
    }

    pub(crate) fn put(&mut self, path: &Path, to: State, fate: Fate) {
        self.then.insert(path.to_path_buf(), to);
        self.outcomes.insert(path.to_path_buf(), fate);
    }

    pub(crate) fn fate(&self, path: &Path) -> Option<&Fate> {
        self.outcomes.get(path)
    }

    pub(crate) fn say(&mut self, path: &Path, fate: Fate) {
        self.outcomes.insert(path.to_path_buf(), fate);
    }

    fn decide(&mut self, wanted: &Wanted) -> Result<(), Error> {
        let Wanted { path, before, after } = wanted;
        let now = self.current(path);
        if !self.snapshots.config.roots.iter().any(|root| path.starts_with(root)) {
            self.say(path, Fate::Lost("outside the folders that are kept"));
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
                (State::File { .. }, Fate::Kept(NOT_FOLLOWED)) => self.beside(path, before),
                _ => self.say(path, fate),
            }
            return Ok(());
        }
        let area = Area::of(path);
        if now.is_same(after) || self.is_same_index(path, &now, after)? {
            if matches!(before, State::Absent) && is_object(path) {
                return Ok(());
            }
            return self.go_back(path, before);
        }
        match (&now, after, before) {
            _ if matches!(before, State::Absent) && is_object(path) => {}
            _ if area != Area::Plain => {
                self.say(path, Fate::Kept(GIT_CHANGED));
            }
            (State::File { .. }, State::File { .. }, State::File { .. }) => {
                self.merge(path, &now, after, before)?;
            }
            (State::Absent, ..) => self.say(path, Fate::Kept("was removed since")),
            (State::Folder { .. }, _, State::Folder { .. }) => {
                self.say(path, Fate::Kept("its mode was changed since"));
            }
            (_, _, State::Absent) => self.say(path, Fate::Kept("was changed since")),
            _ => self.beside(path, before),
        }
        Ok(())
    }

    /// To what was before, if it is still held.
    fn go_back(&mut self, path: &Path, before: &State) -> Result<(), Error> {
        let held = match before {
            State::File { hash, bytes: None, .. } | State::Pinned { hash, .. } => {
                self.snapshots.objects().has(hash)
            }
            _ => true,
        };
        match (before, held) {
            (_, false) => self.say(path, Fate::Lost("its content is no longer kept")),
            (State::Absent, _) => self.put(path, State::Absent, Fate::Removed),
            _ => self.put(path, before.clone(), Fate::Restored),
        }
        Ok(())
    }

    fn is_same_index(&self, path: &Path, now: &State, after: &State) -> Result<bool, Error> {
        if path.file_name().is_none_or(|name| name != "index") || Area::of(path) != Area::Git {
            return Ok(false);
        }
        let meaning = |state: &State| {
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
        now: &State,
        after: &State,
        before: &State,
    ) -> Result<(), Error> {
        let bytes = |state: &State| match self.snapshots.bytes(state) {
            Ok(bytes) => Ok(bytes),
            Err(Error::Lost(_)) => Ok(None),
            Err(error) => Err(error),
        };
        let Some(old) = bytes(before)? else {
            self.say(path, Fate::Lost("its content is no longer kept"));
            return Ok(());
        };
        let mode = |state: &State| match state {
            State::File { mode, .. } => *mode,
            _ => 0,
        };
        let versions = bytes(after)?.zip(bytes(now)?);
        let Some(merged) = versions.and_then(|(base, mine)| merge::lines(&base, &mine, &old))
        else {
            self.beside(path, before);
            return Ok(());
        };
        let of = if mode(now) == mode(after) { before } else { now };
        let to = State::file(merged, mode(of));
        self.put(path, to, Fate::Merged);
        Ok(())
    }

    /// The old version under a name that is free.
    fn beside(&mut self, path: &Path, before: &State) {
        if !matches!(before, State::File { .. }) {
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
        let free = |path: &PathBuf| matches!(self.current(path), State::Absent);
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
fn unknown(before: &State, after: &State, now: &State) -> Option<Fate> {
    match (before, after, now) {
        (State::Unknown(Why::Build), State::Unknown(_), _) => None,
        (State::Unknown(Why::Build), ..) => {
            Some(Fate::Lost("a build folder above the size that is kept"))
        }
        (State::Unknown(Why::Large), ..) => Some(Fate::Lost("above the size that is kept")),
        (State::Unknown(Why::Unreadable), ..) => Some(Fate::Lost("it could not be read before")),
        (State::Special { .. } | State::Unknown(Why::Special), ..) => {
            Some(Fate::Lost("a pipe, socket or device"))
        }
        (State::Unknown(Why::Denied), State::Unknown(Why::Denied), _) => None,
        (State::Unknown(Why::Denied), ..) => {
            Some(Fate::Lost("a deny rule covers it, so it is not kept"))
        }
        (_, State::Unknown(Why::Denied), _) | (.., State::Unknown(Why::Denied)) => {
            Some(Fate::Kept("a deny rule covers it, so it is not followed"))
        }
        (_, State::Unknown(_), _) | (.., State::Unknown(_)) => Some(Fate::Kept(NOT_FOLLOWED)),
        _ => None,
    }
}
