//! Directories of rules: which rules there are, and the paths each applies to. Front matter is read again only if its
//! file has changed.

use crate::front_matter::{RuleHeader, rule};
use crate::place::{InstructionKind, InstructionPlaces, below};
use crate::read::{InstructionFile, InstructionStamp, ReadLimits, look, read};
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub(crate) const RULES: [&str; 2] = [".ostler/rules", ".claude/rules"];

/// Rules per directory, entries that are examined, and the depth.
const MOST: usize = 200;
const ENTRIES: usize = 2_000;
const DEPTH: usize = 4;
/// Front matters that are kept.
const KEPT: usize = 2_000;

/// Whether the path is that of a rule, by where it lies.
pub(crate) fn is_rule(path: &Path) -> bool {
    let mut above = path.ancestors().skip(1);
    above.any(|folder| RULES.iter().any(|rules| folder.ends_with(rules)))
}

#[derive(Debug, Default)]
pub(crate) struct Fronts {
    kept: HashMap<PathBuf, (InstructionStamp, Arc<RuleHeader>)>,
    /// How often one was read.
    pub(crate) reads: usize,
}

impl Fronts {
    /// The rule, where it really is and its stamp; or why it is not read, if there is something to say.
    pub(crate) fn get(
        &mut self,
        path: &Path,
        limits: ReadLimits<'_>,
    ) -> Result<(PathBuf, InstructionStamp, Arc<RuleHeader>), Option<String>> {
        let (real, stamp) = match look(path, InstructionKind::Rule, false, limits) {
            InstructionFile::Nothing => return Err(None),
            InstructionFile::Refused(why) => return Err(Some(why)),
            InstructionFile::At(real, stamp) => (real, stamp),
        };
        if let Some((_, rule)) = self.kept.get(&real).filter(|(known, _)| *known == stamp) {
            return Ok((real, stamp, rule.clone()));
        }
        self.reads += 1;
        let rule = Arc::new(rule(&read(path, &real, &stamp).map_err(Some)?));
        if self.kept.len() >= KEPT {
            self.kept.clear();
        }
        self.kept.insert(real.clone(), (stamp.clone(), rule.clone()));
        Ok((real, stamp, rule))
    }
}

/// The rules in a directory and below, by name, and what is skipped.
pub(crate) fn rule_files(folder: &Path, places: &InstructionPlaces) -> (Vec<PathBuf>, Vec<String>) {
    let (mut found, mut said) = (Vec::new(), Vec::new());
    let (mut todo, mut been) = (vec![(folder.to_owned(), 0)], HashSet::new());
    let mut entries = 0;
    while let Some((folder, depth)) = todo.pop() {
        if !folder.canonicalize().is_ok_and(|real| been.insert(real)) {
            continue;
        }
        let Ok(read) = std::fs::read_dir(&folder) else { continue };
        for entry in read.flatten() {
            entries += 1;
            if entries > ENTRIES {
                said.push(format!("{} has too many files: some are not read", folder.display()));
                break;
            }
            let path = entry.path();
            let is_link = entry.file_type().is_ok_and(|kind| kind.is_symlink());
            if path.is_dir() {
                let strays =
                    || !path.canonicalize().is_ok_and(|real| below(&real, &places.project));
                if is_link && strays() {
                    said.push(format!("{} leads out of the project: not read", path.display()));
                } else if depth < DEPTH {
                    todo.push((path, depth + 1));
                } else {
                    said.push(format!("{} is nested too deep: not read", path.display()));
                }
            } else if path.extension().is_some_and(|ending| ending == "md") {
                found.push(path);
            }
        }
    }
    found.sort();
    if let Some(more) = found.len().checked_sub(MOST).filter(|more| *more > 0) {
        found.truncate(MOST);
        let folder = folder.display();
        said.push(format!("{folder} has more than {MOST} rules: {more} are not read"));
    }
    (found, said)
}
