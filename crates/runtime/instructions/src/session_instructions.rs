//! The instructions of one session: those that apply from the beginning, and those that apply once something was read.

use crate::judge::InstructionJudge;
use crate::load::{LoadRoom, LoadedInstructions, Loader};
use crate::place::{InstructionKind, InstructionPlaces};
use crate::read::ReadLimits;
use crate::rules::{Fronts, RULES};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Bytes of all texts together that a conversation has before it at most.
const MOST: usize = 120_000;

/// Directories below the project, one inside the other, in which instruction files are looked for.
const DEEPEST: usize = 64;

/// Bytes of instructions allowed in a window of this many tokens: a quarter of it, at three bytes per token.
pub fn most_bytes(window: u64) -> usize {
    usize::try_from(window / 4 * 3).unwrap_or(MOST).min(MOST)
}

/// Remembers what it has read of rules.
pub struct Shelf {
    places: InstructionPlaces,
    judge: Option<InstructionJudge>,
    pub(crate) fronts: Fronts,
}

impl Shelf {
    pub fn new(places: InstructionPlaces) -> Self {
        Shelf { places, judge: None, fronts: Fronts::default() }
    }

    /// Asks this judge about every file.
    #[must_use]
    pub fn judged_by(self, judge: InstructionJudge) -> Self {
        Shelf { judge: Some(judge), ..self }
    }

    /// Everything that applies from the beginning, in order, in at most this many bytes.
    pub fn standing(&mut self, most: usize) -> LoadedInstructions {
        let room = LoadRoom { all: most, left: most, cuts: true };
        let places = &self.places;
        let limits = ReadLimits { places, judge: self.judge.as_ref() };
        let mut loader = Loader::new(limits, &mut self.fronts, room);
        for folder in &places.user {
            loader.named(folder, InstructionKind::User);
        }
        for folder in places.above() {
            loader.named(folder, InstructionKind::Above);
        }
        for folder in places.inside() {
            loader.named(folder, InstructionKind::Project);
            loader.named(&folder.join(".claude"), InstructionKind::Project);
            for rules in RULES {
                loader.rules(&folder.join(rules), None);
            }
            loader.local(folder, InstructionKind::Project);
        }
        loader.finish()
    }

    /// What reading these files adds to what was already sent, within the rest of this many bytes.
    pub fn nearby(
        &mut self,
        read: &[PathBuf],
        said: impl IntoIterator<Item = PathBuf>,
        (left, all): (usize, usize),
    ) -> LoadedInstructions {
        let places = &self.places;
        let room = LoadRoom { all, left, cuts: false };
        let limits = ReadLimits { places, judge: self.judge.as_ref() };
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
            loader.named(folder, InstructionKind::Nested);
            loader.local(folder, InstructionKind::Nested);
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
        said: impl IntoIterator<Item = (PathBuf, InstructionKind)>,
        known: impl IntoIterator<Item = PathBuf>,
        (left, all): (usize, usize),
    ) -> LoadedInstructions {
        let room = LoadRoom { all, left, cuts: false };
        let limits = ReadLimits { places: &self.places, judge: self.judge.as_ref() };
        let mut loader = Loader::new(limits, &mut self.fronts, room).knowing(known);
        for (path, kind) in said {
            loader.again(&path, kind);
        }
        loader.finish()
    }
}
