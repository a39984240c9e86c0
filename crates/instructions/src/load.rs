//! What holds from the beginning.

use crate::Loaded;
use crate::front;
use crate::import::imports;
use crate::place::{Kind, Places};
use crate::read::{File, Found, LARGEST, read};
use std::collections::HashSet;
use std::path::{Path, PathBuf};

/// All texts together.
const ALL: usize = 120_000;
const FILES: usize = 100;
/// How far imports of imports go.
const DEPTH: usize = 5;
/// Entries of a folder of rules that are looked at, and how deep.
const ENTRIES: usize = 200;
const RULES_DEPTH: usize = 4;

pub(crate) const NAMES: [&str; 2] = ["AGENTS.md", "CLAUDE.md"];
pub(crate) const LOCAL: &str = "CLAUDE.local.md";
pub(crate) const RULES: [&str; 2] = [".ostler/rules", ".claude/rules"];

/// Everything that holds from the beginning, in order.
pub fn load(places: &Places) -> Loaded {
    let mut loader = Loader::new(places);
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
            loader.rules(&folder.join(rules));
        }
        loader.file(&folder.join(LOCAL), Kind::Local, 0);
    }
    loader.finish()
}

pub(crate) struct Loader<'a> {
    places: &'a Places,
    loaded: Loaded,
    known: HashSet<PathBuf>,
    bytes: usize,
}

impl<'a> Loader<'a> {
    pub(crate) fn new(places: &'a Places) -> Self {
        Loader { places, loaded: Loaded::default(), known: HashSet::new(), bytes: 0 }
    }

    /// Files that are there already.
    pub(crate) fn knowing(mut self, known: impl IntoIterator<Item = PathBuf>) -> Self {
        self.known.extend(known);
        self
    }

    pub(crate) fn finish(self) -> Loaded {
        self.loaded
    }

    pub(crate) fn named(&mut self, folder: &Path, kind: Kind) {
        for name in NAMES {
            self.file(&folder.join(name), kind, 0);
        }
    }

    pub(crate) fn file(&mut self, path: &Path, kind: Kind, depth: usize) {
        match read(path, kind, self.places) {
            Found::Nothing => {}
            Found::Refused(why) => self.loaded.notices.push(why),
            Found::Text(text, real) => {
                if self.known.insert(real) && self.add(path, kind, &text) {
                    self.imports(path, kind, &text, depth);
                }
            }
        }
    }

    /// False if there is no room for it.
    fn add(&mut self, path: &Path, kind: Kind, text: &str) -> bool {
        let whole = text.len() as u64 <= LARGEST;
        let mut text = text.to_owned();
        if !whole {
            let mut end = usize::try_from(LARGEST).unwrap_or(usize::MAX).min(text.len());
            while !text.is_char_boundary(end) {
                end -= 1;
            }
            text.truncate(end);
            text.push_str("\n[The file goes on; only its beginning is used.]");
            let path = path.display();
            self.loaded.notices.push(format!("{path} is longer than {LARGEST} bytes: cut"));
        }
        if self.loaded.files.len() >= FILES || self.bytes + text.len() > ALL {
            let path = path.display();
            self.loaded
                .notices
                .push(format!("{path} is left out: there are too many instructions"));
            return false;
        }
        if text.trim().is_empty() {
            return false;
        }
        self.bytes += text.len();
        self.loaded.files.push(File { path: path.to_owned(), kind, text });
        true
    }

    fn imports(&mut self, from: &Path, kind: Kind, text: &str, depth: usize) {
        for name in imports(text) {
            let path = match name.strip_prefix("~/") {
                Some(rest) => self.places.home.join(rest),
                None => from.parent().unwrap_or(from).join(&name),
            };
            if depth + 1 > DEPTH {
                let (path, from) = (path.display(), from.display());
                self.loaded.notices.push(format!(
                    "{path}, imported by {from}, is left out: imports go {DEPTH} deep"
                ));
            } else if name.ends_with(".md") && path.symlink_metadata().is_err() {
                let (path, from) = (path.display(), from.display());
                self.loaded.notices.push(format!("{from} imports {path}, which is not there"));
            } else {
                self.file(&path, kind, depth + 1);
            }
        }
    }

    /// Rules that hold whatever is read.
    fn rules(&mut self, folder: &Path) {
        for path in rule_files(folder) {
            let Found::Text(whole, real) = read(&path, Kind::Rule, self.places) else { continue };
            let rule = front::rule(&whole);
            if let Some(wrong) = rule.wrong {
                self.loaded.notices.push(format!("{}: {wrong}", path.display()));
            }
            if rule.paths.is_none()
                && self.known.insert(real)
                && self.add(&path, Kind::Rule, rule.text)
            {
                self.imports(&path, Kind::Rule, rule.text, 0);
            }
        }
    }

    /// A rule that holds now because of what was read.
    pub(crate) fn rule_for(&mut self, path: &Path, relative: &Path) {
        let Found::Text(whole, real) = read(path, Kind::Rule, self.places) else { return };
        let rule = front::rule(&whole);
        let holds = rule.paths.is_some_and(|paths| paths.is_match(relative));
        if holds && self.known.insert(real) {
            self.add(path, Kind::Rule, rule.text);
        }
    }
}

/// The rules in a folder and below, by name.
pub(crate) fn rule_files(folder: &Path) -> Vec<PathBuf> {
    let (mut found, mut todo) = (Vec::new(), vec![(folder.to_owned(), 0)]);
    while let Some((folder, depth)) = todo.pop() {
        let Ok(entries) = std::fs::read_dir(&folder) else { continue };
        for entry in entries.flatten().take(ENTRIES) {
            let path = entry.path();
            // A linked folder may lead anywhere; a linked file is judged when it is read.
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                if depth < RULES_DEPTH {
                    todo.push((path, depth + 1));
                }
            } else if path.extension().is_some_and(|ending| ending == "md") && found.len() < ENTRIES
            {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}
