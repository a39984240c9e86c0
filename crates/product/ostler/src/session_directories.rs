//! Directories that are added to a session while it runs.
//!
//! They are recorded when they are added, and used from the next moment on in which no call runs: between two snapshots
//! around a command, the directories stay the same. Nobody takes a directory away again.

use crate::error::Error;
use crate::host::Host;
use crate::input::{InputReceipt, InputRefused};
use crate::session::Session;
use crate::workspace::added_root;
use ostler_core::event::{Event, Notice};
use ostler_core::permission::{Live, Policy, Workspace};
use ostler_core::ports::Reminder;
use ostler_core::tool::Seen;
use ostler_core::view::View;
use ostler_tools::Keeping;
use ostler_tools::confine::Confinement;
use ostler_tools::workspace::Files;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Directories that can be added to one session.
const MOST: usize = 100;

pub(crate) struct SessionDirectories {
    host: Host,
    /// The gate, the tools, the sandbox and the description of the environment read it.
    workspace: Live<Workspace>,
    rules: Live<Policy>,
    files: Arc<Files>,
    keeping: Keeping,
    confinement: Arc<Confinement>,
    waiting: Mutex<WaitingDirectories>,
}

#[derive(Default)]
struct WaitingDirectories {
    /// Added and not used yet.
    roots: Vec<PathBuf>,
    notices: Vec<Notice>,
}

impl SessionDirectories {
    pub(crate) fn new(
        host: &Host,
        (workspace, rules): (&Live<Workspace>, &Live<Policy>),
        files: &Arc<Files>,
        keeping: &Keeping,
        confinement: &Arc<Confinement>,
    ) -> Arc<Self> {
        Arc::new(SessionDirectories {
            host: host.clone(),
            workspace: workspace.clone(),
            rules: rules.clone(),
            files: files.clone(),
            keeping: keeping.clone(),
            confinement: confinement.clone(),
            waiting: Mutex::default(),
        })
    }

    /// # Errors
    /// As for `--add-dir`.
    fn check(&self, path: &Path) -> Result<PathBuf, Error> {
        let root = added_root(&self.host, path, &self.workspace.now(), &self.rules.now())?;
        match root.to_str() {
            Some(_) => Ok(root),
            None => {
                let why = "its name is not valid UTF-8, so the session cannot record it".into();
                Err(Error::Workspace { path: root, why })
            }
        }
    }

    /// What an earlier process added. What cannot be used any more is left out, with a notice.
    pub(crate) fn restore(&self, directories: &[PathBuf]) -> Vec<Notice> {
        for path in directories {
            match self.check(path) {
                Ok(root) => self.waiting().roots.push(root),
                Err(error) => {
                    let text = format!("{error} (it was added to this session)");
                    self.waiting().notices.push(Notice::Directory { text });
                }
            }
        }
        self.use_added();
        self.notices()
    }

    /// Everything that was added is used from here on. No call runs.
    pub(crate) fn use_added(&self) {
        let added = std::mem::take(&mut self.waiting().roots);
        for root in added {
            if self.workspace.now().roots.contains(&root) {
                continue;
            }
            if let Err(error) = self.use_root(&root) {
                let text = format!("{}: {error}", root.display());
                self.waiting().notices.push(Notice::Undo { text });
            }
        }
    }

    /// Undo covers the directory before anybody can change it.
    fn use_root(&self, root: &Path) -> Result<(), Error> {
        let cwd = self.workspace.now().cwd.clone();
        let covered = self.cover(&cwd, &[root.to_owned()]);
        self.files.add_root(root);
        self.workspace.update(|workspace| {
            let roots = [workspace.roots.as_slice(), &[root.to_owned()]].concat();
            Workspace { roots, ..workspace.clone() }
        });
        // Denied files are looked for there, too.
        self.confinement.deny(&self.rules.now());
        self.host.remove_leftovers(&[root.to_owned()]);
        covered.and_then(|()| self.cover(&cwd, &self.confinement.repositories_around()))
    }

    fn cover(&self, cwd: &Path, roots: &[PathBuf]) -> Result<(), Error> {
        let Keeping::By { snapshots } = &self.keeping else { return Ok(()) };
        snapshots.add_roots(roots)?;
        Ok(snapshots.remember_roots(cwd)?)
    }

    fn waiting(&self) -> MutexGuard<'_, WaitingDirectories> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The calls of an answer are done: the next ones may use what was added meanwhile.
impl Reminder for SessionDirectories {
    fn after_calls(&self, _: &[Seen], _: &View) -> Vec<String> {
        self.use_added();
        Vec::new()
    }

    fn notices(&self) -> Vec<Notice> {
        std::mem::take(&mut self.waiting().notices)
    }
}

impl Session {
    pub(crate) fn add_directories(
        &self,
        paths: Vec<PathBuf>,
    ) -> Result<InputReceipt, InputRefused> {
        let directories = &self.shared().parts.directories;
        let checked =
            paths.iter().map(|path| directories.check(path)).collect::<Result<Vec<_>, _>>();
        let checked = checked.map_err(|error| InputRefused::Directory(error.to_string()))?;
        self.record_directories(checked)?;
        if !self.shared().queue.has_turn() {
            self.use_added_directories();
        }
        Ok(InputReceipt::Done)
    }

    /// On disk before anything uses them.
    fn record_directories(&self, roots: Vec<PathBuf>) -> Result<(), InputRefused> {
        let shared = self.shared();
        let directories = &shared.parts.directories;
        let mut waiting = directories.waiting();
        let used = directories.workspace.now();
        let is_new = |root: &PathBuf| !used.roots.contains(root) && !waiting.roots.contains(root);
        let new: Vec<PathBuf> = roots.into_iter().filter(is_new).collect();
        if new.is_empty() {
            return Ok(());
        }
        let mut control = self.control();
        control.dirs.extend(new.iter().cloned());
        control.dirs.sort();
        control.dirs.dedup();
        if control.dirs.len() > MOST {
            let why = format!("at most {MOST} directories can be added to a session");
            return Err(InputRefused::Directory(why));
        }
        shared.agent.journal.set_control(control.clone()).map_err(InputRefused::Store)?;
        shared.agent.set_directories(control.dirs.clone());
        waiting.roots.extend(new);
        drop(waiting);
        self.events().emit(Event::ControlChanged(control));
        Ok(())
    }

    /// No call runs.
    pub(crate) fn use_added_directories(&self) {
        let directories = &self.shared().parts.directories;
        directories.use_added();
        for notice in directories.notices() {
            self.events().emit(Event::notice(notice));
        }
    }
}
