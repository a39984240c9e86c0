//! A session that takes back what was done in it: the changes of its last calls, or everything since one of its turns.

use crate::error::Error;
use crate::input::{InputReceipt, InputRefused};
use crate::session::Session;
use crate::undo::{self, Rewinding, UndoChoice, Undone, redo_open, rewind_open};
use ostler_core::event::{Event, Notice};
use ostler_core::tool::Seen;
use ostler_snapshots::PlanOutcome;

/// What a surface wants to take back.
#[derive(Clone, Debug)]
pub struct Rewind {
    /// Counted from 1: everything from its prompt on is taken back.
    pub turn: u32,
    pub what: Rewinding,
    /// Only say what would be done.
    pub dry_run: bool,
    /// Paths that stay as they are, as for `ostler undo --keep`.
    pub keep: Vec<String>,
    /// What a person was shown: if it would be something else by now, nothing is done.
    pub shown: Option<Vec<PlanOutcome>>,
}

/// The calls whose changes are taken back.
#[derive(Clone, Debug)]
pub struct Undo {
    pub what: Undoes,
    /// As for a [`Rewind`].
    pub dry_run: bool,
    pub keep: Vec<String>,
    pub shown: Option<Vec<PlanOutcome>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Undoes {
    /// So many calls, newest first.
    Calls(usize),
    /// The last undo or rewind.
    LastUndo,
}

impl Session {
    /// Prompts that arrive meanwhile wait.
    fn beside_turns<T>(&self, work: impl FnOnce() -> Result<T, Error>) -> Result<T, InputRefused> {
        let queue = &self.shared().queue;
        if !queue.begin_if_idle() {
            return Err(InputRefused::TurnRuns);
        }
        let done = work();
        queue.ended(false);
        self.events().wake_driver();
        done.map_err(InputRefused::of)
    }

    pub(crate) fn rewind(&self, rewind: Rewind) -> Result<InputReceipt, InputRefused> {
        let undone = self.beside_turns(|| self.rewind_now(rewind))?;
        Ok(InputReceipt::Rewound(undone.map(Box::new)))
    }

    pub(crate) fn undo(&self, undo: Undo) -> Result<InputReceipt, InputRefused> {
        let undone = self.beside_turns(|| self.undo_now(undo))?;
        Ok(InputReceipt::Undone(Box::new(undone)))
    }

    fn undo_choice(&self, dry_run: bool, keep: Vec<String>) -> Result<UndoChoice, Error> {
        let (host, options) = &self.shared().origin;
        let home = host.home().ok_or_else(|| {
            Error::NotKept("this session is kept in memory only, so it cannot go back".into())
        })?;
        Ok(UndoChoice {
            home: home.to_owned(),
            cwd: self.workspace().cwd.clone(),
            session: Some(self.id().to_string()),
            dry_run,
            keep,
            memory: options.memory,
        })
    }

    /// The model learns of it with the next prompt, as of an undo in another terminal.
    fn undo_now(&self, undo: Undo) -> Result<Undone, Error> {
        let Undo { what, dry_run, keep, shown } = undo;
        let choice = self.undo_choice(dry_run, keep)?;
        let mut review = |plan: &Undone| shown.as_ref().is_none_or(|shown| *shown == plan.outcomes);
        let journal = match what {
            Undoes::Calls(count) => return undo::undo(&choice, count, &mut review),
            Undoes::LastUndo => &self.shared().agent.journal,
        };
        let seen = std::cell::RefCell::new(None);
        let undone = redo_open(&choice, &mut review, |_| {
            Ok(Box::new(|| {
                seen.replace(Some(journal.undo_rewind()?));
                Ok(())
            }))
        })?;
        if let Some(seen) = seen.into_inner() {
            self.went_back(seen);
        }
        Ok(undone)
    }

    /// The model knows another conversation than before.
    fn went_back(&self, seen: Vec<Seen>) {
        self.shared().agent.rewound();
        self.shared().parts.in_use.go_back(seen);
    }

    fn rewind_now(&self, rewind: Rewind) -> Result<Option<Undone>, Error> {
        let shared = self.shared();
        let Rewind { turn, what, dry_run, keep, shown } = rewind;
        let choice = self.undo_choice(dry_run, keep)?;
        let mut review = |plan: &Undone| shown.as_ref().is_none_or(|shown| *shown == plan.outcomes);
        let mut seen = None;
        let (_, undone) = rewind_open(&choice, turn, what, &mut review, |_| {
            Ok(Box::new(|| {
                seen = Some(shared.agent.journal.rewind(turn)?);
                Ok(())
            }))
        })?;
        if let Some(seen) = seen {
            self.went_back(seen);
            let text = format!("the conversation continues from its state before turn {turn}");
            self.events().emit(Event::notice(Notice::Undo { text }));
        }
        Ok(undone)
    }
}
