//! What is looked at after a command that may have changed files: new repositories, and files that other programs run
//! for the user. Both are told; a repository that would run programs is made inert.
//!
//! Where snapshots are taken they say what changed. Otherwise, and in directories that they leave out, a bounded walk
//! looks.

use super::frozen_files::Frozen;
use super::repository::{can_be_shared, is_repository, led_to, quarantine, runs, vital_parts};
use super::traces::{self, MOST_NAMES, TraceStamp, Traces, UnfinishedWalk};
use super::unfinished_inspections::UnfinishedInspections;
use super::walk_memory::WalkMemory;
use super::{Confinement, Terms};
use ostler_core::permission::autorun::autorun;
use ostler_core::permission::{PathScope, Workspace};
use ostler_snapshots::{Hash, RecordedChange, What};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

const QUARANTINED: &str =
    include_str!("../../../../../prompts/results/quarantined.md").trim_ascii();

/// Files that are named in a note.
const MOST_NAMED: usize = 5;
/// Repositories that are named one by one.
const MOST_REPOSITORIES: usize = 20;
/// Of a `package.json`.
const MOST_BYTES: u64 = 1 << 20;

/// What packages bring along runs by other rules, and is too much to name.
const DEPENDENCIES: [&str; 6] =
    ["node_modules", "site-packages", ".venv", "venv", "target", "vendor"];

/// Scripts that package managers run when somebody installs.
const AT_INSTALLATION: [&str; 7] =
    ["preinstall", "install", "postinstall", "prepublish", "preprepare", "prepare", "postprepare"];

/// The state before a command, as far as the look afterwards needs it.
#[derive(Clone, Serialize, Deserialize)]
pub struct Inspection {
    pub(super) workspace: Workspace,
    /// Directories in which a repository could be put.
    pub(super) places: Vec<PathBuf>,
    /// Repositories whose hooks and settings the command could not change.
    pub(super) known: Vec<PathBuf>,
    /// What git runs because of files that the command could not change.
    pub(super) frozen: Frozen,
    /// What the command was judged to write: whoever allowed it knows.
    pub(super) judged: Vec<PathScope>,
    /// What a walk found before, where no snapshots are taken.
    pub(super) before: Option<Traces>,
    /// Nanoseconds since 1970.
    pub(super) since: i64,
    /// Git itself was to run: whoever allowed it expects repositories.
    pub(super) by_git: bool,
    /// Repositories that run programs are made inert, not only told.
    pub(super) quarantines: bool,
    /// Names that a walk looks at.
    pub(super) most_names: usize,
    #[serde(skip)]
    pub(super) memory: Arc<WalkMemory>,
    /// Where it goes if it cannot be finished.
    #[serde(skip)]
    pub(super) unfinished: Arc<UnfinishedInspections>,
}

/// What an inspection found.
#[derive(Default)]
pub struct Inspected {
    /// One line for each thing, for the model and the person.
    pub lines: Vec<String>,
    /// Why the next command must not run: not everything could be looked at.
    pub unfinished: Option<String>,
}

/// What a command did, as snapshots know it.
pub struct SeenTraces<'a> {
    pub changes: &'a [RecordedChange],
    /// Directories that they do not hold.
    pub left_out: &'a [PathBuf],
    pub content: &'a dyn Fn(&Hash) -> Option<Vec<u8>>,
}

/// A file that others run.
struct WaitingLook {
    path: PathBuf,
    is_new: bool,
    why: String,
}

#[derive(Default)]
struct Candidates {
    repositories: Vec<PathBuf>,
    links: Vec<PathBuf>,
}

impl Confinement {
    /// What the look after a command is compared with; before it starts, and before it is [`held`](Self::held). None where
    /// nobody looks. `walks`: no snapshots say what it changes. `since` tells the time, in nanoseconds since 1970, where they do.
    ///
    /// # Errors
    /// In words, if nobody could say afterwards what it changed: it must not run.
    pub fn inspection(
        &self,
        terms: Terms<'_>,
        walks: bool,
        since: impl FnOnce() -> u64,
    ) -> Result<Option<Inspection>, String> {
        if !self.options.enabled || terms.only_reads || terms.unguarded {
            return Ok(None);
        }
        let since = i64::try_from(since()).unwrap_or(i64::MAX);
        let reach = self.reach();
        let (roots, parts) = (&reach.workspace.roots, reach.parts());
        // One that is inert could be brought back to life: it does not count as known.
        let alive = parts.repositories.iter().filter(|folder| is_repository(folder));
        let worktrees = alive.clone().flat_map(|folder| {
            folder.join("worktrees").read_dir().into_iter().flatten().flatten().take(200)
        });
        // A worktree that came to be after the last search is not protected.
        let is_frozen = |worktree: &PathBuf| parts.fixed.contains(&worktree.join("commondir"));
        let worktrees = worktrees.map(|entry| entry.path()).filter(is_frozen);
        let known = alive.cloned().chain(worktrees).collect();
        let is_inert = |path: &Path| {
            let mut above = parts.repositories.iter().filter(|folder| path.starts_with(folder));
            above.any(|folder| !is_repository(folder))
        };
        let is_open = |path: &Path| {
            let is_setting = path.file_name().is_some_and(|name| name == "config");
            let is_judged = || terms.writes.iter().any(|scope| path.starts_with(scope.path()));
            terms.git && is_setting || is_judged() || is_inert(path)
        };
        let frozen = Frozen::take(parts.fixed.iter().filter(|path| !is_open(path)).cloned());
        let before = walks.then(|| Inspection::walk(&reach.workspace, MOST_NAMES));
        if let Some(walk) = before.as_ref().and_then(|before| before.unfinished.as_ref()) {
            return Err(walk.refusal());
        }
        Ok(Some(Inspection {
            workspace: reach.workspace.clone(),
            places: roots.iter().cloned().chain(self.temp().ok().map(Into::into)).collect(),
            known,
            frozen,
            judged: terms.writes.to_vec(),
            before,
            since,
            by_git: terms.git,
            quarantines: !terms.lifted,
            most_names: MOST_NAMES,
            memory: Arc::clone(&self.memory),
            unfinished: Arc::clone(&self.unfinished),
        }))
    }
}

impl Inspection {
    pub fn run(&self, seen: Option<SeenTraces<'_>>) -> Inspected {
        let mut candidates = Candidates::default();
        let mut waiting = Vec::new();
        let left_out = seen.as_ref().map(|seen| seen.left_out);
        if let Some(seen) = &seen {
            self.add_changes(seen, &mut candidates, &mut waiting);
        }
        let mut found = self.look(left_out);
        let unfinished = found.unfinished.take();
        self.add_traces(found, &mut candidates, &mut waiting);
        let mut lines: Vec<String> = unfinished.iter().map(UnfinishedWalk::told).collect();
        lines.extend(self.replaced());
        lines.extend(self.repositories(candidates));
        lines.extend(self.told(waiting));
        if unfinished.is_some() {
            self.unfinished.add(self, left_out);
        }
        Inspected { lines, unfinished: unfinished.map(|walk| walk.refusal()) }
    }

    /// A walk through everything, or through directories that snapshots leave out.
    fn look(&self, left_out: Option<&[PathBuf]>) -> Traces {
        match left_out {
            Some(left_out) => traces::look_again(left_out, self.most_names, &self.memory),
            None => Inspection::walk(&self.workspace, self.most_names),
        }
    }

    /// Another try of an inspection that was not finished.
    ///
    /// # Errors
    /// Where it had to end again.
    pub(super) fn finish(
        &self,
        left_out: Option<&[PathBuf]>,
    ) -> Result<Vec<String>, UnfinishedWalk> {
        let mut found = self.look(left_out);
        if let Some(unfinished) = found.unfinished.take() {
            return Err(unfinished);
        }
        let (mut candidates, mut waiting) = (Candidates::default(), Vec::new());
        self.add_traces(found, &mut candidates, &mut waiting);
        Ok(self.repositories(candidates).into_iter().chain(self.told(waiting)).collect())
    }

    fn add_changes(
        &self,
        seen: &SeenTraces<'_>,
        found: &mut Candidates,
        waiting: &mut Vec<WaitingLook>,
    ) {
        for RecordedChange { path, before, after } in seen.changes {
            let Some(item) = after else { continue };
            if let Some(candidate) = self.candidate(path, before.is_none()) {
                found.add(candidate, path);
            }
            if matches!(item.what, What::Folder) || self.is_elsewhere(path) {
                continue;
            }
            let is_new = before.is_none();
            let why = self.waits(path).map(str::to_owned).or_else(|| {
                let before = match before.as_ref().map(|item| &item.what) {
                    Some(What::File(hash)) if is_package(path) => (seen.content)(hash),
                    _ => None,
                };
                install_scripts(path, before.as_deref())
            });
            waiting.extend(why.map(|why| WaitingLook { path: path.clone(), is_new, why }));
        }
    }

    /// What a look without snapshots sees.
    pub(super) fn walk(workspace: &Workspace, most_names: usize) -> Traces {
        let is_wanted = |path: &Path| autorun(path, workspace).is_some() || is_package(path);
        traces::look(&workspace.roots, most_names, &is_wanted)
    }

    fn add_traces(&self, now: Traces, found: &mut Candidates, waiting: &mut Vec<WaitingLook>) {
        let changed = |kind: fn(&Traces) -> &BTreeMap<PathBuf, TraceStamp>| {
            let before = self.before.as_ref().map(kind);
            let is_changed = |path: &Path, stamp: &TraceStamp| match before {
                Some(before) => !before.get(path).is_some_and(|known| known.is_same(stamp)),
                None => stamp.is_since(self.since),
            };
            let all = kind(&now).iter().filter(|(path, stamp)| is_changed(path, stamp));
            all.map(|(path, _)| path.clone()).collect::<Vec<_>>()
        };
        found.repositories.extend(changed(|traces| &traces.repositories));
        found.links.extend(changed(|traces| &traces.links));
        for path in changed(|traces| &traces.files) {
            if self.is_elsewhere(&path) {
                continue;
            }
            let why = self.waits(&path).map(str::to_owned);
            let why = why.or_else(|| install_scripts(&path, None));
            waiting.extend(why.map(|why| WaitingLook { path, is_new: false, why }));
        }
    }

    fn waits(&self, path: &Path) -> Option<&'static str> {
        autorun(path, &self.workspace)
    }

    /// What has been judged by its name, is looked at as a repository, or came with a package.
    fn is_elsewhere(&self, path: &Path) -> bool {
        let root = self.workspace.roots.iter().find(|root| path.starts_with(root));
        let below = root.and_then(|root| path.strip_prefix(root).ok()).unwrap_or(path);
        let in_package = |part: &std::ffi::OsStr| {
            part == ".git" || DEPENDENCIES.iter().any(|name| part == *name)
        };
        let in_known = self.known.iter().any(|known| path.starts_with(known));
        in_known || self.is_judged(path) || below.iter().any(in_package)
    }

    /// It was named itself, not only something around it.
    fn is_judged(&self, path: &Path) -> bool {
        self.judged.iter().any(|scope| match scope {
            PathScope::File(judged) => judged == path,
            PathScope::Tree(_) => false,
        })
    }

    /// The command was allowed although it names hooks or settings of this repository.
    fn is_allowed(&self, repository: &Path) -> bool {
        let names = |path: &Path| {
            let is_whole = path == repository && path.file_name().is_some_and(|n| n == ".git");
            let settings = ["config", "config.worktree"].map(|name| repository.join(name));
            let in_hooks = path.starts_with(repository.join("hooks"));
            is_whole || in_hooks || settings.iter().any(|setting| path == setting)
        };
        self.judged.iter().any(|scope| names(scope.path()))
    }

    /// The repository that a change belongs to, if it may decide what git runs.
    fn candidate(&self, path: &Path, is_new: bool) -> Option<PathBuf> {
        let name = path.file_name()?.to_str()?;
        let in_hooks = path.parent().and_then(Path::file_name).is_some_and(|name| name == "hooks");
        let decides = ["config", "config.worktree", "commondir", "hooks"].contains(&name);
        let makes = is_new && ["HEAD", "objects", "refs"].contains(&name);
        let is_link = name == ".git" && path.symlink_metadata().is_ok_and(|meta| !meta.is_dir());
        if is_link {
            return Some(path.to_owned());
        }
        if !decides && !makes && !in_hooks {
            return None;
        }
        let in_root = |folder: &&Path| self.places.iter().any(|root| folder.starts_with(root));
        let is_one = |at: &&Path| is_repository(at) || can_be_shared(at);
        path.ancestors().skip(1).take_while(in_root).find(is_one).map(Into::into)
    }

    fn repositories(&self, mut found: Candidates) -> Vec<String> {
        let (mut lines, mut new) = (Vec::new(), Vec::new());
        for list in [&mut found.repositories, &mut found.links] {
            list.sort();
            list.dedup();
        }
        for folder in found.repositories.iter().filter(|folder| !self.known.contains(folder)) {
            let what = runs(folder, &self.known);
            if what.is_empty() {
                let outside =
                    !folder.ancestors().any(|above| self.known.iter().any(|k| k == above));
                if outside && !self.by_git && is_repository(folder) {
                    new.push(format!("{} is a new git repository.", self.name(folder)));
                }
                continue;
            }
            let is_allowed = self.is_allowed(folder);
            lines.push(self.make_inert(folder, &vital_parts(folder), &what, is_allowed));
        }
        for link in &found.links {
            let target = match link.symlink_metadata() {
                Ok(meta) if meta.is_symlink() => link.canonicalize().ok(),
                _ => led_to(link),
            };
            // Outside, only what the person made; inside, what a command may have.
            let Some(target) = target.filter(|target| {
                is_repository(target) && self.places.iter().any(|place| target.starts_with(place))
            }) else {
                continue;
            };
            if self.known.contains(&target) {
                continue;
            }
            let what = runs(&target, &self.known);
            if !what.is_empty() {
                lines.push(self.make_inert(
                    link,
                    std::slice::from_ref(link),
                    &what,
                    self.is_judged(link),
                ));
            }
        }
        lines.append(&mut new);
        let more = lines.len().saturating_sub(MOST_REPOSITORIES);
        lines.truncate(MOST_REPOSITORIES);
        lines.extend((more > 0).then(|| format!("The same applies to {more} more repositories.")));
        lines
    }

    fn replaced(&self) -> Vec<String> {
        let line = |(path, what): (&Path, Vec<String>)| {
            format!(
                "{} changed while the command ran, and git runs programs because of it ({}). If nobody else changed it, \
                 the command did: look at it before you use git.",
                self.name(path),
                what.join(", ")
            )
        };
        self.frozen.changed().into_iter().map(line).take(MOST_REPOSITORIES).collect()
    }

    fn make_inert(
        &self,
        shown: &Path,
        renamed: &[PathBuf],
        what: &[String],
        is_allowed: bool,
    ) -> String {
        let (shown, what) = (self.name(shown), what.join(", "));
        if !self.quarantines || is_allowed {
            return format!("{shown} runs programs when git is used there: {what}.");
        }
        let file =
            |path: &Path| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let rename = |path: &PathBuf| {
            quarantine(path).map(|aside| format!("{} is now {}", file(path), file(&aside)))
        };
        match renamed.iter().map(rename).collect::<Result<Vec<_>, _>>() {
            Ok(renamed) => {
                let text = QUARANTINED.replace("{path}", &shown).replace("{what}", &what);
                text.replace("{renamed}", &renamed.join(", "))
            }
            Err(error) => format!(
                "{shown} runs programs when git is used there ({what}) and could not be made inert ({error}). Do not \
                 use git there before you have looked at it."
            ),
        }
    }

    fn told(&self, mut waiting: Vec<WaitingLook>) -> Option<String> {
        waiting.sort_by(|a, b| a.path.cmp(&b.path));
        waiting.dedup_by(|a, b| a.path == b.path);
        let line = |waiting: &WaitingLook| {
            let verb = if waiting.is_new { "is new" } else { "changed" };
            format!("{} {verb}: {}", self.name(&waiting.path), waiting.why)
        };
        let named: Vec<String> = waiting.iter().take(MOST_NAMED).map(line).collect();
        let more = waiting.len().saturating_sub(MOST_NAMED);
        let more = (more > 0).then(|| format!("{more} more such files changed"));
        let all: Vec<String> = named.into_iter().chain(more).collect();
        (!all.is_empty()).then(|| format!("{}.", all.join("; ")))
    }

    fn name(&self, path: &Path) -> String {
        let below = path.strip_prefix(&self.workspace.cwd).unwrap_or(path);
        below.display().to_string()
    }
}

impl Candidates {
    fn add(&mut self, found: PathBuf, changed: &Path) {
        let list = if found == changed { &mut self.links } else { &mut self.repositories };
        list.push(found);
    }
}

fn is_package(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name == "package.json")
}

/// Scripts of a package that run when somebody installs it, if they differ from those before.
fn install_scripts(path: &Path, before: Option<&[u8]>) -> Option<String> {
    if !is_package(path) {
        return None;
    }
    let scripts = |bytes: &[u8]| {
        let value = serde_json::from_slice::<serde_json::Value>(bytes).unwrap_or_default();
        let all = value.get("scripts").cloned().unwrap_or_default();
        AT_INSTALLATION.map(|name| (name, all.get(name).cloned()))
    };
    let now = scripts(&crate::read_small(path, MOST_BYTES)?);
    let before = before.map(scripts).unwrap_or(AT_INSTALLATION.map(|name| (name, None)));
    let differs = now.into_iter().zip(before);
    let names: Vec<&str> = differs
        .filter(|(now, before)| now.1.is_some() && now != before)
        .map(|(now, _)| now.0)
        .collect();
    let verb = if names.len() == 1 { "script" } else { "scripts" };
    (!names.is_empty()).then(|| {
        format!("package managers run its {verb} {} at the next installation", names.join(", "))
    })
}

#[cfg(test)]
#[path = "inspection_tests.rs"]
mod tests;
