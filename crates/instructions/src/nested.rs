//! What holds once something was read: files of folders on the way to it, rules whose patterns it fits.

use crate::Loaded;
use crate::load::{LOCAL, Loader, RULES, rule_files};
use crate::place::{Kind, Places};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Remembers what was said already.
#[derive(Clone, Debug, Default)]
pub struct Nested {
    known: BTreeSet<PathBuf>,
}

impl Nested {
    /// `said` are the files that stand before the model already.
    pub fn new(said: impl IntoIterator<Item = PathBuf>) -> Self {
        let real = |path: PathBuf| path.canonicalize().unwrap_or(path);
        Nested { known: said.into_iter().map(real).collect() }
    }

    /// What the reading of these files brings along, each once.
    pub fn after(&mut self, read: &[PathBuf], places: &Places) -> Loaded {
        let mut loader = Loader::new(places).knowing(self.known.iter().cloned());
        let mut folders: BTreeSet<&Path> = BTreeSet::new();
        for path in read {
            let above = path.ancestors().skip(1);
            let inside = above.take_while(|folder| folder.starts_with(&places.project));
            folders.extend(inside.filter(|folder| !places.cwd.starts_with(folder)));
        }
        // Outer folders sort before inner ones.
        for folder in folders {
            loader.named(folder, Kind::Nested);
            loader.file(&folder.join(LOCAL), Kind::Local, 0);
        }
        for rules in places.inside().into_iter().flat_map(|folder| RULES.map(|r| folder.join(r))) {
            for rule in rule_files(&rules) {
                for path in read {
                    if let Ok(relative) = path.strip_prefix(&places.project) {
                        loader.rule_for(&rule, relative);
                    }
                }
            }
        }
        let loaded = loader.finish();
        for file in &loaded.files {
            self.known.insert(file.path.canonicalize().unwrap_or_else(|_| file.path.clone()));
        }
        loaded
    }

    /// What was said so far, read anew.
    pub fn again(&self, places: &Places) -> Loaded {
        let mut loader = Loader::new(places);
        for path in &self.known {
            let rule = path.parent().is_some_and(|folder| {
                RULES.iter().any(|rules| folder.ancestors().any(|f| f.ends_with(rules)))
            });
            loader.file(path, if rule { Kind::Rule } else { Kind::Nested }, 0);
        }
        loader.finish()
    }
}
