//! Files become instructions: each once, within the room there is, with what they import.

use crate::front_matter;
use crate::git_tracking::may_be_tracked;
use crate::import::imports;
use crate::notices::{Cause, LoadNotices};
use crate::place::InstructionKind;
use crate::read::{
    File, InstructionFile, InstructionStamp, LARGEST, Omitted, ReadLimits, frame, look, read,
};
use crate::rules::{Fronts, is_rule, rule_files};
use std::collections::HashSet;
use std::path::{Path, PathBuf};

pub(crate) const FILES: usize = 100;
/// How far imports of imports go, and how many are followed.
const DEPTH: usize = 5;
const IMPORTS: usize = 500;
/// A shorter beginning of a file is not worth including.
const LEAST: usize = 500;

pub(crate) const NAMES: [&str; 2] = ["AGENTS.md", "CLAUDE.md"];
pub(crate) const LOCAL: &str = "CLAUDE.local.md";

const CUT: &str = "\n[The file continues; only its beginning is used.]";

/// What was found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LoadedInstructions {
    pub files: Vec<File>,
    /// Those for which there was no room.
    pub left_out: Vec<Omitted>,
    /// Those that were asked for and are not there, or may not be read.
    pub gone: Vec<(PathBuf, InstructionKind)>,
    /// What was not read, or not wholly, and why; few lines.
    pub notices: Vec<String>,
}

/// Bytes that there are for texts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LoadRoom {
    pub(crate) all: usize,
    pub(crate) left: usize,
    /// A file may be cut to fit.
    pub(crate) cuts: bool,
}

pub(crate) struct Loader<'a> {
    limits: ReadLimits<'a>,
    fronts: &'a mut Fronts,
    loaded: LoadedInstructions,
    notices: LoadNotices,
    known: HashSet<PathBuf>,
    room: LoadRoom,
    imports: usize,
}

impl<'a> Loader<'a> {
    pub(crate) fn new(limits: ReadLimits<'a>, fronts: &'a mut Fronts, room: LoadRoom) -> Self {
        let (loaded, notices, known) =
            (LoadedInstructions::default(), LoadNotices::default(), HashSet::new());
        Loader { limits, fronts, loaded, notices, known, room, imports: 0 }
    }

    /// Files that are there already.
    pub(crate) fn knowing(mut self, known: impl IntoIterator<Item = PathBuf>) -> Self {
        let real = |path: PathBuf| path.canonicalize().unwrap_or(path);
        self.known.extend(known.into_iter().map(real));
        self
    }

    pub(crate) fn say(&mut self, why: &str) {
        self.notices.push(Cause::Refused, why);
    }

    pub(crate) fn finish(self) -> LoadedInstructions {
        LoadedInstructions { notices: self.notices.lines(), ..self.loaded }
    }

    pub(crate) fn named(&mut self, folder: &Path, kind: InstructionKind) {
        for name in NAMES {
            self.file(&folder.join(name), kind, 0);
        }
    }

    /// One that came with the project is the project's, whatever it is called.
    pub(crate) fn local(&mut self, folder: &Path, otherwise: InstructionKind) {
        let path = folder.join(LOCAL);
        if path.symlink_metadata().is_err() {
            return;
        }
        let kind = self.own_or(&path, otherwise);
        self.file(&path, kind, 0);
    }

    fn own_or(&self, path: &Path, otherwise: InstructionKind) -> InstructionKind {
        let tracked = |path: &Path| may_be_tracked(path);
        match path.canonicalize() {
            Ok(real) if tracked(path) || (real != path && tracked(&real)) => otherwise,
            _ => InstructionKind::Local,
        }
    }

    /// A file that was sent before, as it is now.
    pub(crate) fn again(&mut self, path: &Path, kind: InstructionKind) {
        let own = path.file_name().is_some_and(|name| name == LOCAL);
        let kind = match kind {
            InstructionKind::Local if own => self.own_or(path, InstructionKind::Nested),
            kind => kind,
        };
        let imported = !own && !is_rule(path) && !NAMES.iter().any(|name| path.ends_with(name));
        match look(path, kind, imported, self.limits) {
            InstructionFile::At(real, stamp) => {
                if self.known.insert(real.clone()) {
                    let _ = self.take(path, (&real, &stamp), kind);
                }
            }
            InstructionFile::Nothing | InstructionFile::Refused(_) => {
                self.loaded.gone.push((path.to_owned(), kind))
            }
        }
    }

    pub(crate) fn file(&mut self, path: &Path, kind: InstructionKind, depth: usize) {
        match look(path, kind, depth > 0, self.limits) {
            InstructionFile::Nothing => {}
            InstructionFile::Refused(why) => self.notices.push(Cause::Refused, &why),
            InstructionFile::At(real, stamp) => {
                let kind = if depth > 0 { self.limits.places.kind_of(kind, &real) } else { kind };
                if self.known.insert(real.clone())
                    && let Some(text) = self.take(path, (&real, &stamp), kind)
                {
                    self.imports(path, kind, &text, depth);
                }
            }
        }
    }

    /// The text, if there was room for it.
    fn take(
        &mut self,
        path: &Path,
        (real, stamp): (&Path, &InstructionStamp),
        kind: InstructionKind,
    ) -> Option<String> {
        match read(path, real, stamp) {
            Ok(whole) => {
                let text = if is_rule(path) { front_matter::text(&whole) } else { &whole };
                self.add(path, kind, text, whole.len() as u64 > LARGEST)
            }
            Err(why) => {
                self.notices.push(Cause::Refused, &why);
                None
            }
        }
    }

    fn add(
        &mut self,
        path: &Path,
        kind: InstructionKind,
        text: &str,
        long: bool,
    ) -> Option<String> {
        if text.trim().is_empty() {
            return None;
        }
        let shown = path.display();
        let mut text = text.to_owned();
        if long {
            cut(&mut text, usize::try_from(LARGEST).unwrap_or(usize::MAX));
            text.push_str(CUT);
            self.notices
                .push(Cause::Full, &format!("{shown} is longer than {LARGEST} bytes and was cut"));
        }
        let mut file = File { path: path.to_owned(), kind, text };
        let (all, left) = (self.room.all, self.room.left);
        let why = format!("the rules fill the window (their limit is {all} bytes)");
        if self.loaded.files.len() >= FILES {
            let why = format!("{shown} was left out: more than {FILES} instruction files");
            self.notices.push(Cause::Full, &why);
            self.loaded.left_out.push(file.omitted());
            return None;
        }
        if file.weight() > left {
            let marks = file.text.matches('<').count() + frame(path) + CUT.len();
            let fits = left.saturating_sub(marks);
            if !self.room.cuts || fits < LEAST {
                self.notices.push(Cause::Full, &format!("{shown} was left out: {why}"));
                self.loaded.left_out.push(file.omitted());
                return None;
            }
            self.notices.push(Cause::Full, &format!("{shown} was cut: {why}"));
            cut(&mut file.text, fits);
            file.text.push_str(CUT);
        }
        self.room.left = left.saturating_sub(file.weight());
        let text = file.text.clone();
        self.loaded.files.push(file);
        Some(text)
    }

    fn imports(&mut self, from: &Path, kind: InstructionKind, text: &str, depth: usize) {
        for name in imports(text) {
            self.imports += 1;
            if self.imports > IMPORTS {
                let why = format!(
                    "{}: more than {IMPORTS} imports; the rest is not followed",
                    from.display()
                );
                return self.notices.push(Cause::Import, &why);
            }
            let path = match name.strip_prefix("~/") {
                Some(rest) => self.limits.places.home.join(rest),
                None => from.parent().unwrap_or(from).join(&name),
            };
            let (shown, from) = (path.display(), from.display());
            if depth + 1 > DEPTH {
                let why = format!(
                    "{shown}, imported by {from}, was left out: imports can be at most {DEPTH} levels deep"
                );
                self.notices.push(Cause::Import, &why);
            } else if name.ends_with(".md") && path.symlink_metadata().is_err() {
                self.notices
                    .push(Cause::Import, &format!("{from} imports {shown}, which does not exist"));
            } else {
                self.file(&path, kind, depth + 1);
            }
        }
    }

    /// Rules that always apply; with paths, those that apply because these were read.
    pub(crate) fn rules(&mut self, folder: &Path, read: Option<&[&Path]>) {
        let (files, said) = rule_files(folder, self.limits.places);
        for why in said {
            self.notices.push(Cause::Refused, &why);
        }
        for path in files {
            let (real, stamp, rule) = match self.fronts.get(&path, self.limits) {
                Ok(found) => found,
                Err(why) => {
                    why.iter().for_each(|why| self.notices.push(Cause::Refused, why));
                    continue;
                }
            };
            for (line, what) in &rule.wrong {
                self.notices.push(Cause::Wrong, &format!("{}:{line}: {what}", path.display()));
            }
            let holds = match (&rule.holds, read) {
                (front_matter::Holds::Always, None) => true,
                (front_matter::Holds::For(set), Some(read)) => {
                    read.iter().any(|path| set.is_match(path))
                }
                _ => false,
            };
            if holds
                && self.known.insert(real.clone())
                && let Some(text) = self.take(&path, (&real, &stamp), InstructionKind::Rule)
            {
                self.imports(&path, InstructionKind::Rule, &text, 0);
            }
        }
    }
}

/// At most this many bytes, cut at the end of a character.
fn cut(text: &mut String, most: usize) {
    let mut end = most.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.truncate(end);
}
