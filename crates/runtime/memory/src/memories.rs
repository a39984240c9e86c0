//! The memory of one project and of its user: what a session, the tool and the command line use.

use crate::conflict::{Gist, newer_first};
use crate::embed::{EmbedError, Embedder, MiniLm};
use crate::index::Quantised;
use crate::rank_fusion::{BY_WORDS, DEPTH, fuse, leave_out_far};
use crate::recall::{MOST, STANDING, Shown, within};
use crate::secrets::credential;
use crate::store::{MOST_ENTRIES, Store, Stored};
use crate::text::{LONGEST, SHORTEST, folded, hash_of};
use ostler_core::memory::{
    FactKind, KeptMemory, Memory, MemoryChange, MemoryError, MemoryFact, Recalled, Scope,
};
use ostler_core::ports::MemoryStore;
use ostler_core::time::Clock;
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// Entries that get a missing vector when something is kept.
const CATCH_UP: usize = 64;
/// Changes that nobody has fetched yet; older ones are dropped.
const MOST_NEWS: usize = 100;

pub const NO_MODEL: &str =
    "Found by words only: no embedding model is installed (`ostler memory setup` installs one).";

const HELD_BACK: &str = "Not saved in memory: something you said looks like a credential.";

/// Where meaning comes from.
pub enum Meaning {
    /// Words only.
    None,
    /// The installed model, if it is there; opened when it is first needed.
    Installed(PathBuf),
    Given(Arc<dyn Embedder>),
}

pub struct Memories {
    project: Store,
    user: Store,
    meaning: Meaning,
    embedder: OnceLock<Result<Arc<dyn Embedder>, String>>,
    pub(crate) clock: Arc<dyn Clock>,
    news: Mutex<Vec<MemoryChange>>,
    warnings: Mutex<MemoryWarnings>,
}

/// Failures, each reported once.
#[derive(Default)]
struct MemoryWarnings {
    waiting: Vec<String>,
    /// Of the lines, or of what they are about.
    told: HashSet<String>,
}

/// One memory by its store and row.
pub type MemoryKey = (Scope, i64);

/// What was found by words and by meaning, best first with its score, and why one of them is missing.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rankings {
    pub by_words: Vec<(MemoryKey, f64)>,
    pub by_meaning: Vec<(MemoryKey, f64)>,
    pub note: Option<String>,
}

/// What came of keeping several facts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Remembered {
    pub new: usize,
    pub known: usize,
    /// Why some were not kept, one line each; the text is not repeated.
    pub refused: Vec<String>,
}

impl Memories {
    /// `folder` contains one database per project, and the user's own.
    pub fn new(folder: &Path, project: &str, meaning: Meaning, clock: Arc<dyn Clock>) -> Self {
        Memories {
            project: Store::new(folder.join(format!("{project}.db")), Scope::Project, MOST_ENTRIES),
            user: Store::new(folder.join("user.db"), Scope::User, MOST_ENTRIES),
            meaning,
            embedder: OnceLock::new(),
            clock,
            news: Mutex::default(),
            warnings: Mutex::default(),
        }
    }

    /// Notices for the person, each returned once.
    pub fn notices(&self) -> Vec<String> {
        let mut all = self.project.notices();
        all.extend(self.user.notices());
        let mut warnings = self.warnings.lock().unwrap_or_else(PoisonError::into_inner);
        all.append(&mut warnings.waiting);
        all
    }

    /// Reports a failure of the memory to the person, the same failure once.
    pub fn failed(&self, error: &MemoryError) {
        let line = error.to_string();
        self.warn(line.clone(), line);
    }

    fn warn(&self, about: String, line: String) {
        let mut warnings = self.warnings.lock().unwrap_or_else(PoisonError::into_inner);
        let new = warnings.told.len() < MOST_NEWS && warnings.told.insert(about);
        if new && !warnings.waiting.contains(&line) {
            warnings.waiting.push(line);
        }
    }

    /// What was kept or forgotten since this was asked before.
    pub fn take_news(&self) -> Vec<MemoryChange> {
        std::mem::take(&mut *self.news.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn tell(&self, change: MemoryChange) {
        let mut news = self.news.lock().unwrap_or_else(PoisonError::into_inner);
        if news.len() >= MOST_NEWS {
            news.remove(0);
        }
        news.push(change);
    }

    /// Opens the model on this machine and reads the vectors, so that the first prompt does not have to wait for that.
    pub fn warm_up(&self) {
        let installed = matches!(&self.meaning, Meaning::Installed(path) if path.exists());
        if installed && self.has_any() {
            let _ = self.ranked("warm up", true);
        }
    }

    /// Learns from a conversation, but not what was forgotten. Reports a credential to the person.
    pub fn remember(&self, facts: &[MemoryFact]) -> Result<Remembered, MemoryError> {
        let mut remembered = Remembered::default();
        let mut good = Vec::new();
        for fact in facts {
            match acceptable(fact) {
                Ok(fact) => good.push(fact),
                Err(why) => {
                    if credential(&fact.text).is_some() {
                        self.warn(hash_of(&fact.text), HELD_BACK.into());
                    }
                    remembered.refused.push(why);
                }
            }
        }
        for kept in self.keep(&good, true)?.into_iter().flatten() {
            match kept.is_new() {
                true => remembered.new += 1,
                false => remembered.known += 1,
            }
        }
        Ok(remembered)
    }

    /// The memories that matter for a prompt, within a budget of tokens, best first. The first prompt of a
    /// conversation also brings the standing preferences. Failing is not the prompt's problem: it is a note.
    pub fn recall(&self, prompt: &str, budget: usize, shown: &Shown) -> Recalled {
        if !self.has_any() {
            return Recalled::default();
        }
        match self.ranked(prompt, true) {
            Ok((ranked, note)) => Recalled { note, ..self.chosen(ranked, budget, shown) },
            Err(error) => Recalled { memories: Vec::new(), note: Some(error.to_string()) },
        }
    }

    /// The same by words, where words are not all there is: what is there before the meaning is known.
    pub fn recall_by_words(&self, prompt: &str, budget: usize, shown: &Shown) -> Option<Recalled> {
        let by_words = match &self.meaning {
            Meaning::None => true,
            Meaning::Installed(path) => !path.exists(),
            Meaning::Given(_) => false,
        };
        if by_words || !self.has_any() {
            return None;
        }
        let ranked = self.ranked_with(prompt, true, None).ok()?;
        Some(self.chosen(ranked, budget, shown))
    }

    fn chosen(&self, ranked: Vec<Stored>, budget: usize, shown: &Shown) -> Recalled {
        let mut chosen: Vec<Stored> =
            ranked.into_iter().filter(|one| !shown.has(&one.memory)).take(MOST).collect();
        if shown.is_opening() {
            for one in self.standing() {
                let new = chosen.iter().all(|other| other.memory.id != one.memory.id);
                if new && !shown.has(&one.memory) {
                    chosen.push(one);
                }
            }
        }
        let rows = |scope: Scope| -> Vec<i64> {
            chosen.iter().filter(|one| one.memory.scope == scope).map(|one| one.row).collect()
        };
        for (store, rows) in
            [(&self.project, rows(Scope::Project)), (&self.user, rows(Scope::User))]
        {
            if !rows.is_empty() {
                // Only pruning looks at it: a date that is not written costs nothing now.
                let _ = store.used(&rows, self.clock.now());
            }
        }
        let memories = chosen.into_iter().map(|one| one.memory).collect();
        Recalled { memories: within(memories, budget), note: None }
    }

    /// Newest first; the project's before the user's.
    pub fn list(&self, kind: Option<FactKind>, limit: usize) -> Result<Vec<Memory>, MemoryError> {
        let mut all = Vec::new();
        for store in self.existing() {
            all.extend(store.list(kind, limit)?.into_iter().map(|one| one.memory));
        }
        all.truncate(limit);
        Ok(all)
    }

    /// Gives every entry a vector of the current model; returns how many got one.
    pub fn embed_all(&self) -> Result<usize, MemoryError> {
        let embedder = self.embedder().map_err(|note| MemoryError::Unavailable(note.to_owned()))?;
        let mut done = 0;
        for store in self.existing() {
            loop {
                let n = catch_up(store, embedder.as_ref())?;
                done += n;
                if n == 0 {
                    break;
                }
            }
        }
        Ok(done)
    }

    fn keep(
        &self,
        facts: &[MemoryFact],
        by_itself: bool,
    ) -> Result<Vec<Option<KeptMemory>>, MemoryError> {
        if facts.is_empty() {
            return Ok(Vec::new());
        }
        let texts: Vec<&str> = facts.iter().map(|fact| fact.text.as_str()).collect();
        // Without its vector a fact is still found by its words, and gets the vector later.
        let embedder = self.embedder().ok();
        let vectors = embedder.and_then(|embedder| embedder.embed(&texts).ok());
        let mut vectors =
            vectors.unwrap_or_default().into_iter().map(|vector| Quantised::of(&vector));
        let with: Vec<(&MemoryFact, Option<Quantised>)> =
            facts.iter().map(|fact| (fact, vectors.next())).collect();
        let mut all = Vec::new();
        for (scope, store) in [(Scope::Project, &self.project), (Scope::User, &self.user)] {
            let of_scope: Vec<_> =
                with.iter().filter(|(fact, _)| fact.scope == scope).cloned().collect();
            if of_scope.is_empty() {
                continue;
            }
            let model = embedder.map(|embedder| embedder.name());
            let kept = store.keep(&of_scope, model, self.clock.now(), by_itself)?;
            for ((fact, _), kept) in of_scope.iter().zip(&kept) {
                if let Some(kept) = kept.as_ref().filter(|kept| kept.is_new()) {
                    let (id, text) = (kept.id().to_owned(), fact.text.clone());
                    self.tell(MemoryChange { kept: true, id, kind: fact.kind, scope, text });
                }
            }
            all.extend(kept);
            if let Some(embedder) = embedder {
                let _ = catch_up(store, embedder.as_ref());
            }
        }
        Ok(all)
    }

    /// Everything that fits the query, best first. `strict` leaves out what only fits a little.
    fn ranked(
        &self,
        query: &str,
        strict: bool,
    ) -> Result<(Vec<Stored>, Option<String>), MemoryError> {
        let (vector, note) = self.vector(&asked(query));
        Ok((self.ranked_with(query, strict, vector)?, note))
    }

    fn ranked_with(
        &self,
        query: &str,
        strict: bool,
        vector: Option<(String, Vec<f32>)>,
    ) -> Result<Vec<Stored>, MemoryError> {
        let mut rankings = self.both_ways(query, vector)?;
        if strict {
            leave_out_far(&mut rankings);
        }
        self.fetched(&fuse(&rankings.by_words, &rankings.by_meaning, BY_WORDS))
    }

    /// The two ways to look, each by itself.
    pub fn rankings(&self, query: &str) -> Result<Rankings, MemoryError> {
        let (vector, note) = self.vector(&asked(query));
        Ok(Rankings { note, ..self.both_ways(query, vector)? })
    }

    fn both_ways(
        &self,
        query: &str,
        vector: Option<(String, Vec<f32>)>,
    ) -> Result<Rankings, MemoryError> {
        let query = asked(query);
        let mut all = Rankings::default();
        for store in self.existing() {
            let scope = self.scope_of(store);
            let words = store.by_words(&query, DEPTH)?.into_iter();
            all.by_words.extend(words.map(|(row, score)| ((scope, row), score)));
            if let Some((model, vector)) = &vector {
                let near = store.nearest(model, vector, DEPTH)?.into_iter();
                all.by_meaning.extend(near.map(|(row, score)| ((scope, row), f64::from(score))));
            }
        }
        all.by_words.sort_by(|a, b| b.1.total_cmp(&a.1));
        all.by_meaning.sort_by(|a, b| b.1.total_cmp(&a.1));
        Ok(all)
    }

    /// In order; among equal scores, and of two notes much alike, the newer one first.
    fn fetched(&self, keys: &[(MemoryKey, f64)]) -> Result<Vec<Stored>, MemoryError> {
        let mut all: Vec<(f64, Stored)> = Vec::with_capacity(keys.len());
        for ((scope, row), score) in keys {
            let store = self.store(*scope);
            all.extend(store.get(&[*row])?.into_iter().map(|one| (*score, one)));
        }
        all.sort_by(|a, b| b.0.total_cmp(&a.0).then(b.1.memory.at.cmp(&a.1.memory.at)));
        let all = all.into_iter().map(|(_, one)| one).collect();
        Ok(newer_first(all, |one: &Stored| Gist::of(&one.memory.text), |one| one.memory.at.0))
    }

    /// The query's vector with the name of its model, or why there is no vector.
    fn vector(&self, query: &str) -> (Option<(String, Vec<f32>)>, Option<String>) {
        let embedder = match self.embedder() {
            Ok(embedder) => embedder,
            Err(note) => return (None, Some(note.to_owned())),
        };
        match embedder.embed(&[query]) {
            Ok(mut vectors) => {
                (vectors.pop().map(|vector| (embedder.name().to_owned(), vector)), None)
            }
            Err(error) => (None, Some(by_words_because(&error))),
        }
    }

    /// The embedder, or a note that says why there is no embedder.
    fn embedder(&self) -> Result<&Arc<dyn Embedder>, &str> {
        let made = self.embedder.get_or_init(|| match &self.meaning {
            Meaning::None => Err(NO_MODEL.to_owned()),
            Meaning::Given(embedder) => Ok(Arc::clone(embedder)),
            Meaning::Installed(path) if !path.exists() => Err(NO_MODEL.to_owned()),
            Meaning::Installed(path) => match MiniLm::open(path) {
                Ok(model) => Ok(Arc::new(model)),
                Err(error) => Err(by_words_because(&error)),
            },
        });
        made.as_ref().map_err(String::as_str)
    }

    /// Preferences apply whatever the prompt is about.
    fn standing(&self) -> Vec<Stored> {
        let of =
            |store: &Store| store.list(Some(FactKind::Preference), STANDING).unwrap_or_default();
        let mut all: Vec<Stored> = self.existing().flat_map(of).collect();
        all.sort_by_key(|one| std::cmp::Reverse(one.memory.at));
        all.truncate(STANDING);
        all
    }

    fn has_any(&self) -> bool {
        let count = |store: &Store| store.count().inspect_err(|error| self.failed(error));
        // Both are checked: one that cannot be used is reported.
        self.existing().filter(|store| count(store).is_ok_and(|count| count > 0)).count() > 0
    }

    pub(crate) fn store(&self, scope: Scope) -> &Store {
        match scope {
            Scope::Project => &self.project,
            Scope::User => &self.user,
        }
    }

    fn scope_of(&self, store: &Store) -> Scope {
        if std::ptr::eq(store, &self.user) { Scope::User } else { Scope::Project }
    }

    /// A database that was never written is not made by looking.
    fn existing(&self) -> impl Iterator<Item = &Store> {
        [&self.project, &self.user].into_iter().filter(|store| store.exists())
    }

    fn parsed<'a>(&'a self, id: &str) -> Option<(&'a Store, i64)> {
        let (letter, row) = id.split_at_checked(1)?;
        let row = row.parse().ok().filter(|row: &i64| *row > 0)?;
        match letter {
            "p" => Some((&self.project, row)),
            "u" => Some((&self.user, row)),
            _ => None,
        }
    }
}

impl MemoryStore for Memories {
    fn add(&self, fact: &MemoryFact) -> Result<KeptMemory, MemoryError> {
        let fact = acceptable(fact).map_err(MemoryError::Refused)?;
        let kept = self.keep(&[fact], false)?.into_iter().flatten().next();
        kept.ok_or_else(|| MemoryError::Unavailable("nothing was saved".into()))
    }

    fn search(&self, query: &str, limit: usize) -> Result<Recalled, MemoryError> {
        let (mut ranked, note) = self.ranked(query, false)?;
        ranked.truncate(limit);
        Ok(Recalled { memories: ranked.into_iter().map(|one| one.memory).collect(), note })
    }

    fn forget(&self, id: &str) -> Result<(), MemoryError> {
        let missing = || MemoryError::NotFound(id.to_owned());
        let (store, row) = self.parsed(id).ok_or_else(missing)?;
        if !store.exists() {
            return Err(missing());
        }
        let known = store.get(&[row])?.pop();
        if store.forget(&[row])? == 0 {
            return Err(missing());
        }
        if let Some(Memory { id, kind, scope, text, .. }) = known.map(|one| one.memory) {
            self.tell(MemoryChange { kept: false, id, kind, scope, text });
        }
        Ok(())
    }

    fn path(&self, scope: Scope) -> &Path {
        self.store(scope).path()
    }
}

/// The beginning of a prompt shows what it is about.
fn asked(query: &str) -> String {
    folded(query).chars().take(LONGEST).collect()
}

/// On one line, of a sensible length, and without a credential; or why not.
fn acceptable(fact: &MemoryFact) -> Result<MemoryFact, String> {
    let text = folded(&fact.text);
    if let Some(why) = credential(&fact.text).or_else(|| credential(&text)) {
        return Err(format!("Not saved: {why}."));
    }
    if text.chars().count() < SHORTEST {
        return Err("Not saved: it is too short to be understood later.".into());
    }
    if text.chars().count() > LONGEST {
        return Err(format!(
            "Not saved: it has more than {LONGEST} characters. Shorten it to a sentence or two."
        ));
    }
    Ok(MemoryFact { text, ..fact.clone() })
}

fn by_words_because(error: &EmbedError) -> String {
    format!("Found by words only: {error}.")
}

/// Vectors for entries that have none of this model.
fn catch_up(store: &Store, embedder: &dyn Embedder) -> Result<usize, MemoryError> {
    let missing = store.without_vector(embedder.name(), CATCH_UP)?;
    if missing.is_empty() {
        return Ok(0);
    }
    let texts: Vec<&str> = missing.iter().map(|(_, text)| text.as_str()).collect();
    let vectors =
        embedder.embed(&texts).map_err(|error| MemoryError::Unavailable(error.to_string()))?;
    let vectors: Vec<(i64, Quantised)> = missing
        .iter()
        .zip(vectors)
        .map(|((row, _), vector)| (*row, Quantised::of(&vector)))
        .collect();
    store.put_vectors(embedder.name(), &vectors)?;
    Ok(vectors.len())
}
