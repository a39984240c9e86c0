//! All skills there are. Looked at again when somebody asks; only files that changed are read again.

use crate::search::{Candidate, SkillSearch};
use crate::skill::{Problem, Skill, SkillOrigin};
use crate::skill_file::{self, SkillSource, SkillStamp, hash};
use ostler_core::tool_facts::KnownTools;
use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Problems that are kept.
const MOST_PROBLEMS: usize = 100;

/// Where skills are looked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Folder {
    pub path: PathBuf,
    pub layout: SkillLayout,
    pub origin: SkillOrigin,
    /// The project's directory, free of links: what leads out of it is skipped.
    pub within: Option<PathBuf>,
    /// Put in front of the names of its skills.
    pub namespace: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SkillLayout {
    /// `<name>/SKILL.md`
    Skills,
    /// `<name>.md`, and `<sub>/<name>.md` as `sub:name`
    Commands,
}

/// What one file came to.
struct CatalogEntry {
    stamp: SkillStamp,
    skill: Option<Arc<Skill>>,
    problems: Vec<Problem>,
}

#[derive(Default)]
struct CatalogState {
    read: BTreeMap<PathBuf, CatalogEntry>,
    skills: Arc<[Arc<Skill>]>,
    problems: Vec<Problem>,
    told: HashSet<String>,
}

pub struct Catalog {
    /// The first goes before the others.
    folders: Vec<Folder>,
    shipped: Vec<Arc<Skill>>,
    /// Contents of project files whose effects the user accepted, by hash.
    accepted: HashSet<String>,
    judge: Option<SkillJudge>,
    /// Those that the model may use by itself, by their names; none: all that say so.
    for_model: Option<Vec<String>>,
    /// What rules of skills can name.
    tools: KnownTools,
    state: Mutex<CatalogState>,
}

/// Whether a file may be read, by the name it was found under and by its real path; gives the reason if not.
pub type SkillJudge = Arc<dyn Fn(&Path, &Path) -> Result<(), String> + Send + Sync>;

impl Catalog {
    /// `folders` by precedence; `shipped` come last.
    pub fn new(
        folders: Vec<Folder>,
        shipped: Vec<Skill>,
        accepted: impl IntoIterator<Item = String>,
        tools: KnownTools,
    ) -> Self {
        let catalog = Catalog {
            folders,
            shipped: shipped.into_iter().map(Arc::new).collect(),
            accepted: accepted.into_iter().collect(),
            judge: None,
            for_model: None,
            tools,
            state: Mutex::default(),
        };
        catalog.refresh();
        catalog
    }

    /// Asks this judge about every file, also about those that were read already.
    #[must_use]
    pub fn judged_by(self, judge: SkillJudge) -> Self {
        let catalog = Catalog { judge: Some(judge), state: Mutex::default(), ..self };
        catalog.refresh();
        catalog
    }

    /// Lets the model use only these skills by itself: a name, or the part of it behind a namespace.
    #[must_use]
    pub fn limited_to(self, names: Option<Vec<String>>) -> Self {
        let catalog = Catalog { for_model: names, state: Mutex::default(), ..self };
        catalog.refresh();
        catalog
    }

    /// The user's own first, then the project's, then what ships; each by name.
    pub fn all(&self) -> Arc<[Arc<Skill>]> {
        self.state().skills.clone()
    }

    /// As it was when the directories were last read.
    pub fn find(&self, name: &str) -> Option<Arc<Skill>> {
        self.all().iter().find(|skill| skill.name == name).cloned()
    }

    pub fn problems(&self) -> Vec<Problem> {
        self.state().problems.clone()
    }

    /// Problems that were not given by this function before.
    pub fn new_problems(&self) -> Vec<Problem> {
        let mut state = self.state();
        let CatalogState { problems, told, .. } = &mut *state;
        problems.iter().filter(|problem| told.insert(problem.to_string())).cloned().collect()
    }

    /// Reads all directories: new, changed and deleted files.
    pub fn refresh(&self) {
        let mut state = self.state();
        let mut before = std::mem::take(&mut state.read);
        let (mut files, mut problems) = (Vec::new(), Vec::new());
        for folder in &self.folders {
            let search = SkillSearch::of(folder);
            problems.extend(search.problems);
            for candidate in search.candidates {
                let file = &candidate.file;
                let Some(stamp) = SkillStamp::of(file) else { continue };
                let known = before.remove(file).filter(|entry| entry.stamp == stamp);
                let entry = known.unwrap_or_else(|| self.read(&candidate, folder, stamp));
                files.push(file.clone());
                state.read.insert(candidate.file, entry);
            }
        }
        self.gather(&mut state, &files, problems);
    }

    fn read(&self, candidate: &Candidate, folder: &Folder, stamp: SkillStamp) -> CatalogEntry {
        let Candidate { file, name } = candidate;
        let judge = |real: &Path| match &self.judge {
            Some(judge) => judge(file, real).map_err(|why| format!("{why}; skipped")),
            None => Ok(()),
        };
        let (real, bytes) = match skill_file::load(file, folder.within.as_deref(), &judge) {
            Ok(loaded) => loaded,
            Err(what) => {
                let problems = vec![Problem { file: file.to_owned(), line: 1, what }];
                return CatalogEntry { stamp, skill: None, problems };
            }
        };
        let is_accepted = self.accepted.contains(&hash(&bytes));
        // A plugin was accepted as a whole: what changed since then is not a part of it.
        if folder.origin == SkillOrigin::Plugin && !is_accepted {
            let what = "it has changed since the plugin was accepted; skipped".to_owned();
            let problems = vec![Problem { file: file.to_owned(), line: 1, what }];
            return CatalogEntry { stamp, skill: None, problems };
        }
        let trusted = folder.origin != SkillOrigin::Project || is_accepted;
        let (layout, origin) = (folder.layout, folder.origin);
        let namespace = folder.namespace.as_deref();
        let tools = &self.tools;
        let (skill, problems) = skill_file::skill(
            &bytes,
            &SkillSource { file: &real, name, layout, origin, trusted, namespace, tools },
        );
        CatalogEntry { stamp, skill: skill.map(Arc::new), problems }
    }

    /// The first skill of a name wins; the others are reported, unless they are only shipped.
    fn gather(&self, state: &mut CatalogState, files: &[PathBuf], mut problems: Vec<Problem>) {
        let mut skills: Vec<Arc<Skill>> = Vec::new();
        for entry in files.iter().filter_map(|file| state.read.get(file)) {
            problems.extend(entry.problems.iter().cloned());
            let Some(skill) = &entry.skill else { continue };
            match skills.iter().find(|other| other.name == skill.name) {
                // The same file, found on two ways.
                Some(other) if other.file == skill.file => {}
                Some(other) => problems.push(Problem {
                    file: skill.file.clone(),
                    line: 1,
                    what: format!(
                        "the skill {} from {} takes precedence over this one",
                        skill.name,
                        other.file.display()
                    ),
                }),
                None => skills.push(skill.clone()),
            }
        }
        for skill in &self.shipped {
            if !skills.iter().any(|other| other.name == skill.name) {
                skills.push(skill.clone());
            }
        }
        for skill in &mut skills {
            if skill.for_model && !self.may_use(&skill.name) {
                Arc::make_mut(skill).for_model = false;
            }
        }
        skills.sort_by(|a, b| (a.origin, &a.name).cmp(&(b.origin, &b.name)));
        problems.truncate(MOST_PROBLEMS);
        state.skills = skills.into();
        state.problems = problems;
    }

    fn may_use(&self, name: &str) -> bool {
        let own = name.rsplit(':').next().unwrap_or_default();
        self.for_model.as_ref().is_none_or(|all| all.iter().any(|one| one == name || one == own))
    }

    fn state(&self) -> MutexGuard<'_, CatalogState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
#[path = "catalog_tests.rs"]
mod tests;
