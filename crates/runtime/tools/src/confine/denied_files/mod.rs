//! The files that deny rules cover, as they are on the disk now: the sandbox hides or write-protects each of them.
//!
//! A rule without wildcards names one place. Others are searched for in the directories that commands may read, in a
//! bounded walk that reads a directory again only if it has changed. What was not found must not be taken for absent:
//! a search that could not be completed leaves a gap, and a command then asks.

mod git_tracking;
mod links;
mod mounts;
mod tree;

use git_tracking::Tracked;
use links::{Links, SharedFiles};
use mounts::Mounts;
use ostler_core::permission::Policy;
use ostler_core::permission::file_pattern::FilePattern;
use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use tree::{Tree, TreeEntry, WalkBudget};

/// Each one is a mount, and a hundred milliseconds for a command is enough.
const MOST_PATHS: usize = 256;
/// Landlock grants what lies beside a hidden file name by name.
const MOST_SIBLINGS: usize = 2_000;

/// Directories, as commands see them.
#[derive(Debug, Default)]
pub(super) struct Areas {
    /// They may write here.
    pub writable: Vec<PathBuf>,
    /// They may read here, by somebody's grant.
    pub readable: Vec<PathBuf>,
    /// Toolchains and caches: only searched for other names of a file.
    pub caches: Vec<PathBuf>,
    /// Closed, apart from what is named above.
    pub home: PathBuf,
}

struct DenyRule {
    text: String,
    pattern: FilePattern,
    writing: bool,
}

/// What is denied, and what is known of the disk.
#[derive(Default)]
pub(super) struct DenyRules {
    rules: Vec<DenyRule>,
    state: Mutex<DeniedState>,
}

#[derive(Default)]
struct DeniedState {
    matches: Tree<Matches>,
    links: Links,
    tracked: Tracked,
    /// Where denied links have led: hidden as long as we run, also if a command removes the link.
    targets: BTreeSet<PathBuf>,
    last: Arc<DeniedPaths>,
}

/// In one directory.
#[derive(Default)]
struct Matches {
    hidden: Vec<PathBuf>,
    frozen: Vec<PathBuf>,
}

/// What one command must be kept from.
#[derive(Clone, Debug, Default)]
pub struct DeniedPaths {
    /// Must not be read, nor changed.
    pub hidden: Vec<PathBuf>,
    /// Must not be changed; a missing one must not appear.
    pub frozen: Vec<PathBuf>,
    /// Why the list may not be complete, or cannot be used.
    pub gap: Option<String>,
    /// A denied file may be missing from the list.
    pub incomplete: bool,
    /// Git has a copy of a hidden file.
    pub tracked: bool,
    /// A hidden name is a directory.
    has_directory: bool,
    /// Names beside hidden ones.
    siblings: usize,
    /// Denied files with several names.
    shared: SharedFiles,
}

impl DeniedPaths {
    pub(super) fn is_empty(&self) -> bool {
        self.hidden.is_empty() && self.frozen.is_empty()
    }

    /// Landlock alone can keep a command from what is hidden.
    pub(super) fn fits_landlock(&self) -> bool {
        self.siblings <= MOST_SIBLINGS
    }

    /// Landlock does it without a loss: every directory can still be listed.
    pub(super) fn suits_landlock(&self) -> bool {
        self.fits_landlock() && !self.has_directory
    }
}

impl DenyRules {
    pub(super) fn new(policy: &Policy) -> Self {
        let rules = policy.denied_files().map(|denied| DenyRule {
            text: denied.rule.text().to_owned(),
            pattern: denied.pattern.clone(),
            writing: denied.writing,
        });
        DenyRules { rules: rules.collect(), state: Mutex::default() }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }

    /// Looks at the disk.
    pub(super) fn look(&self, areas: &Areas) -> Arc<DeniedPaths> {
        if self.is_empty() {
            return Arc::default();
        }
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let state = &mut *state;
        let mut search =
            DeniedSearch { areas, state, found: DeniedPaths::default(), gaps: Vec::new() };
        search.places(&self.rules);
        search.matches(&self.rules);
        search.follow();
        search.other_names();
        search.other_mounts();
        let found = Arc::new(search.finish());
        state.last = Arc::clone(&found);
        found
    }

    /// The denied file that this is another name of, as of the last look.
    pub(super) fn first_name(&self, path: &Path) -> Option<PathBuf> {
        let place = place_of_shared(path)?;
        self.last().shared.get(&place).map(|file| file.path.clone())
    }

    /// It may be another name of a file that must not be read, as of the last look.
    pub(super) fn may_be_unreadable(&self, path: &Path) -> bool {
        let last = self.last();
        let is_denied = |place| last.shared.get(&place).is_some_and(|file| file.reading);
        place_of_shared(path).is_some_and(|place| last.incomplete || is_denied(place))
    }

    /// As of the last look.
    pub(super) fn hides(&self, path: &Path) -> bool {
        let last = self.last();
        let is_denied = |place| last.shared.get(&place).is_some_and(|file| file.reading);
        last.hidden.iter().any(|hidden| path.starts_with(hidden))
            || !last.shared.is_empty() && place_of_shared(path).is_some_and(is_denied)
    }

    fn last(&self) -> Arc<DeniedPaths> {
        Arc::clone(&self.state.lock().unwrap_or_else(PoisonError::into_inner).last)
    }
}

/// Which file it is, if that has more names than this one.
fn place_of_shared(path: &Path) -> Option<links::LinkPlace> {
    let meta = path.symlink_metadata().ok()?;
    (meta.is_file() && meta.nlink() > 1).then(|| (meta.dev(), meta.ino()))
}

pub(super) fn has_other_names(path: &Path) -> bool {
    place_of_shared(path).is_some()
}

struct DeniedSearch<'a> {
    areas: &'a Areas,
    state: &'a mut DeniedState,
    found: DeniedPaths,
    gaps: Vec<String>,
}

impl DeniedSearch<'_> {
    /// Rules that name one place each.
    fn places(&mut self, rules: &[DenyRule]) {
        for rule in rules {
            let Some(place) = rule.pattern.place() else { continue };
            // Where we cannot look because of permissions that a command could change, the directory counts.
            let place = barrier(&place).unwrap_or(place);
            let is_there = place.symlink_metadata().is_ok();
            if rule.writing {
                let is_inside =
                    |root: &PathBuf| place.starts_with(root) || root.starts_with(&place);
                if self.areas.writable.iter().any(is_inside) {
                    // A missing name that ends with a slash is held as a directory.
                    let is_dir = !is_there && rule.pattern.names_directory();
                    self.found.frozen.push(if is_dir { place.join("") } else { place });
                }
            } else if is_there && self.areas.writable.iter().any(|root| root.starts_with(&place)) {
                self.gaps.push(format!(
                    "the deny rule {} covers a whole directory of the workspace, without which commands cannot run",
                    rule.text
                ));
            } else if is_there {
                self.found.hidden.push(place);
            }
        }
    }

    /// Rules with wildcards: everything that one of them matches below the directories they are about.
    fn matches(&mut self, rules: &[DenyRule]) {
        let wild: Vec<&DenyRule> =
            rules.iter().filter(|rule| rule.pattern.place().is_none()).collect();
        let starts = self.starts(&wild);
        if starts.is_empty() {
            return;
        }
        let note = |folder: &Path, entry: &TreeEntry, kept: &mut Matches| {
            let path = folder.join(&entry.name);
            let name = entry.name.to_string_lossy();
            let is =
                |rule: &&&DenyRule| rule.pattern.may_end_in(&name) && rule.pattern.matches(&path);
            let mut matched = wild.iter().filter(is).peekable();
            let is_hidden = matched.clone().any(|rule| !rule.writing);
            if matched.peek().is_some() {
                let list = if is_hidden { &mut kept.hidden } else { &mut kept.frozen };
                list.push(path.clone());
            }
            let goes_on = |rule: &&DenyRule| rule.pattern.may_match_below(&path);
            entry.is_dir && !is_hidden && !is_objects(folder, entry) && wild.iter().any(goes_on)
        };
        let found = &mut self.found;
        let each = |_: &Path, kept: &Matches| {
            found.hidden.extend(kept.hidden.iter().cloned());
            found.frozen.extend(kept.frozen.iter().cloned());
        };
        let walked = self.state.matches.walk(&starts, &mut WalkBudget::default(), note, each);
        let closed = walked.unwrap_or_else(|why| {
            self.incomplete(Err(why));
            Vec::new()
        });
        for path in closed {
            let reading = |rule: &&DenyRule| !rule.writing && rule.pattern.may_match_below(&path);
            let is_hidden = wild.iter().any(reading);
            let list = if is_hidden { &mut self.found.hidden } else { &mut self.found.frozen };
            list.push(path);
        }
    }

    fn incomplete(&mut self, walked: Result<(), String>) {
        self.found.incomplete |= walked.is_err();
        self.gaps.extend(walked.err());
    }

    /// A rule that begins above the directories of the workspace is searched for inside of these alone.
    fn starts(&self, rules: &[&DenyRule]) -> Vec<PathBuf> {
        let Areas { writable, readable, caches, home } = self.areas;
        let granted = || writable.iter().chain(readable);
        let mut starts: Vec<PathBuf> = Vec::new();
        for rule in rules {
            let start = rule.pattern.start();
            let before = starts.len();
            starts.extend(granted().filter(|area| area.starts_with(&start)).cloned());
            let is_open = || granted().chain(caches).any(|area| start.starts_with(area));
            let is_closed = home.is_absolute() && start.starts_with(home) && !is_open();
            if starts.len() == before && !is_closed {
                starts.push(start);
            }
        }
        topmost(&mut starts);
        starts
    }

    /// What is denied by a name that is a link, or lies behind one, is denied where it leads to.
    fn follow(&mut self) {
        for path in &self.found.hidden {
            let Ok(real) = path.canonicalize() else { continue };
            let is_inside = |area: &PathBuf| real.starts_with(area);
            let granted = self.areas.writable.iter().chain(&self.areas.readable);
            let is_close = !real.is_dir() || granted.into_iter().any(is_inside);
            let holds_root = self.areas.writable.iter().any(|root| root.starts_with(&real));
            if real != *path && is_close && !holds_root {
                self.state.targets.insert(real);
            }
        }
        let there = self.state.targets.iter().filter(|path| path.symlink_metadata().is_ok());
        self.found.hidden.extend(there.cloned());
        topmost(&mut self.found.hidden);
        topmost(&mut self.found.frozen);
    }

    fn other_names(&mut self) {
        let (mut budget, mut shared) = (WalkBudget::default(), SharedFiles::new());
        for (paths, writing) in
            [(self.found.hidden.clone(), false), (self.found.frozen.clone(), true)]
        {
            for path in paths {
                let added = self.state.links.add(&path, writing, &mut shared, &mut budget);
                self.incomplete(added);
            }
        }
        if shared.is_empty() {
            return;
        }
        let mut starts = [self.areas.writable.clone(), self.areas.readable.clone()].concat();
        topmost(&mut starts);
        let mut names = self.search_names(&shared, &starts, &mut budget);
        let is_short = |names: &[links::OtherName]| {
            let count = |place| names.iter().filter(|name| name.of == place).count() as u64;
            shared.iter().any(|(place, file)| file.reading && count(*place) < file.names)
        };
        if is_short(&names) && self.gaps.is_empty() {
            starts.extend(self.areas.caches.iter().cloned());
            topmost(&mut starts);
            names = self.search_names(&shared, &starts, &mut budget);
        }
        for (place, file) in &shared {
            let count = names.iter().filter(|name| name.of == *place).count() as u64;
            if file.reading && count < file.names && self.gaps.is_empty() {
                self.gaps.push(format!(
                    "{} is denied and has {} names (hard links), of which only {count} were found; a command could \
                     read it by another name",
                    file.path.display(),
                    file.names
                ));
            }
        }
        for name in names {
            let Some(file) = shared.get(&name.of) else { continue };
            let list = if file.reading { &mut self.found.hidden } else { &mut self.found.frozen };
            list.push(name.path);
        }
        topmost(&mut self.found.hidden);
        topmost(&mut self.found.frozen);
        self.found.shared = shared;
    }

    fn search_names(
        &mut self,
        shared: &SharedFiles,
        starts: &[PathBuf],
        budget: &mut WalkBudget,
    ) -> Vec<links::OtherName> {
        match self.state.links.find(shared, starts, budget) {
            Ok(names) => names,
            Err(why) => {
                self.gaps.push(why);
                Vec::new()
            }
        }
    }

    fn other_mounts(&mut self) {
        if self.found.is_empty() {
            return;
        }
        match Mounts::read() {
            Ok(mounts) => {
                for list in [&mut self.found.hidden, &mut self.found.frozen] {
                    let others =
                        list.iter().flat_map(|path| mounts.others(path)).collect::<Vec<_>>();
                    list.extend(others);
                    topmost(list);
                }
            }
            Err(why) => self.gaps.push(why),
        }
    }

    fn finish(mut self) -> DeniedPaths {
        let found = &mut self.found;
        // What is hidden cannot be changed either.
        let hidden = &found.hidden;
        found.frozen.retain(|path| !hidden.iter().any(|above| path.starts_with(above)));
        for list in [&mut found.hidden, &mut found.frozen] {
            if list.len() > MOST_PATHS {
                let count = list.len();
                self.gaps.push(format!(
                    "deny rules cover {count} files, and no more than {MOST_PATHS} can be protected one by one"
                ));
                list.truncate(MOST_PATHS);
            }
        }
        found.has_directory = found.hidden.iter().any(|path| path.is_dir());
        found.siblings = siblings(&found.hidden);
        found.tracked = self.state.tracked.any(&found.hidden);
        found.gap = (!self.gaps.is_empty()).then(|| self.gaps.join("; "));
        self.found
    }
}

/// The directory of the user's own in which we cannot look for a path.
fn barrier(path: &Path) -> Option<PathBuf> {
    let error = path.symlink_metadata().err()?;
    let of = |above: &Path| Some((above.to_path_buf(), above.symlink_metadata().ok()?.uid()));
    let (above, owner) = path.ancestors().skip(1).find_map(of)?;
    let is_ours = owner == rustix::process::geteuid().as_raw();
    (error.kind() == ErrorKind::PermissionDenied && is_ours).then_some(above)
}

/// Names in the directories above these paths, up to a bound that matters.
fn siblings(paths: &[PathBuf]) -> usize {
    let above: BTreeSet<&Path> = paths.iter().flat_map(|path| path.ancestors().skip(1)).collect();
    let mut count = 0;
    for folder in above {
        count += folder.read_dir().map_or(0, |list| list.take(MOST_SIBLINGS + 1).count());
        if count > MOST_SIBLINGS {
            break;
        }
    }
    count
}

/// Git names these files by their content.
fn is_objects(folder: &Path, entry: &TreeEntry) -> bool {
    entry.name == "objects" && folder.file_name().is_some_and(|name| name == ".git")
}

/// Sorted, and without what lies below another one.
fn topmost(paths: &mut Vec<PathBuf>) {
    paths.sort();
    let mut last: Option<PathBuf> = None;
    paths.retain(|path| {
        let is_below = last.as_ref().is_some_and(|last| path.starts_with(last));
        if !is_below {
            last = Some(path.clone());
        }
        !is_below
    });
}

#[cfg(test)]
#[path = "mod_tests.rs"]
mod tests;
