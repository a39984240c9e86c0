//! The instructions of one session: those that apply from the beginning, and those that apply once something was read.

use crate::judge::Judge;
use crate::load::{Loaded, Loader, Room};
use crate::place::{Kind, Places};
use crate::read::Limits;
use crate::rules::{Fronts, RULES};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Bytes of all texts together that a conversation has before it at most.
const MOST: usize = 120_000;

/// Folders below the project, one inside the other, in which instruction files are looked for.
const DEEPEST: usize = 64;

/// Bytes of instructions allowed in a window of this many tokens: a quarter of it, at three bytes per token.
pub fn most_bytes(window: u64) -> usize {
    usize::try_from(window / 4 * 3).unwrap_or(MOST).min(MOST)
}

/// Remembers what it has read of rules.
pub struct Shelf {
    places: Places,
    judge: Option<Judge>,
    pub(crate) fronts: Fronts,
}

impl Shelf {
    pub fn new(places: Places) -> Self {
        Shelf { places, judge: None, fronts: Fronts::default() }
    }

    /// Asks this judge about every file.
    #[must_use]
    pub fn judged_by(self, judge: Judge) -> Self {
        Shelf { judge: Some(judge), ..self }
    }

    /// Everything that applies from the beginning, in order, in at most this many bytes.
    pub fn standing(&mut self, most: usize) -> Loaded {
        let room = Room { all: most, left: most, cuts: true };
        let places = &self.places;
        let limits = Limits { places, judge: self.judge.as_ref() };
        let mut loader = Loader::new(limits, &mut self.fronts, room);
        for folder in &places.user {
            loader.named(folder, Kind::User);
        }
        for folder in places.above() {
            loader.named(folder, Kind::Above);
        }
        for folder in places.inside() {
            loader.named(folder, Kind::Project);
            loader.named(&folder.join(".claude"), Kind::Project);
            for rules in RULES {
                loader.rules(&folder.join(rules), None);
            }
            loader.local(folder, Kind::Project);
        }
        loader.finish()
    }

    /// What reading these files adds to what was already sent, within the rest of this many bytes.
    pub fn nearby(
        &mut self,
        read: &[PathBuf],
        said: impl IntoIterator<Item = PathBuf>,
        (left, all): (usize, usize),
    ) -> Loaded {
        let places = &self.places;
        let room = Room { all, left, cuts: false };
        let limits = Limits { places, judge: self.judge.as_ref() };
        let mut loader = Loader::new(limits, &mut self.fronts, room).knowing(said);
        let mut folders: BTreeSet<&Path> = BTreeSet::new();
        for path in read {
            let inside = path.strip_prefix(&places.project);
            let depth = inside.map_or(0, |inside| inside.iter().count().saturating_sub(1));
            if depth > DEEPEST {
                loader.say(&format!(
                    "instruction files more than {DEEPEST} directories below the project are not read"
                ));
            }
            let near = path.ancestors().skip(1 + depth.saturating_sub(DEEPEST)).take(DEEPEST + 1);
            let inside = near.take_while(|folder| folder.starts_with(&places.project));
            folders.extend(inside.filter(|folder| !places.cwd.starts_with(folder)));
        }
        // Outer directories sort before inner ones.
        for folder in folders {
            loader.named(folder, Kind::Nested);
            loader.local(folder, Kind::Nested);
        }
        let inside =
            |path: &'_ PathBuf| path.strip_prefix(&places.project).ok().map(Path::to_owned);
        let relative: Vec<PathBuf> = read.iter().filter_map(inside).collect();
        let relative: Vec<&Path> = relative.iter().map(PathBuf::as_path).collect();
        if !relative.is_empty() {
            for folder in places.inside() {
                for rules in RULES {
                    loader.rules(&folder.join(rules), Some(&relative));
                }
            }
        }
        loader.finish()
    }

    /// What was sent so far, besides what is known, as it is now.
    pub fn again(
        &mut self,
        said: impl IntoIterator<Item = (PathBuf, Kind)>,
        known: impl IntoIterator<Item = PathBuf>,
        (left, all): (usize, usize),
    ) -> Loaded {
        let room = Room { all, left, cuts: false };
        let limits = Limits { places: &self.places, judge: self.judge.as_ref() };
        let mut loader = Loader::new(limits, &mut self.fronts, room).knowing(known);
        for (path, kind) in said {
            loader.again(&path, kind);
        }
        loader.finish()
    }
}
