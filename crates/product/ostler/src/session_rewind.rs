//! A session that goes back to before one of its turns: its files, its conversation, or both.

use crate::error::Error;
use crate::input::{InputReceipt, InputRefused};
use crate::session::Session;
use crate::undo::{Rewinding, UndoChoice, Undone, rewind_open};
use ostler_core::event::{Event, Notice};
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

impl Session {
    /// Prompts that arrive meanwhile wait.
    pub(crate) fn rewind(&self, rewind: Rewind) -> Result<InputReceipt, InputRefused> {
        let queue = &self.shared().queue;
        if !queue.begin_if_idle() {
            return Err(InputRefused::TurnRuns);
        }
        let rewound = self.rewind_now(rewind);
        queue.ended(false);
        self.events().wake_driver();
        rewound.map(|undone| InputReceipt::Rewound(undone.map(Box::new))).map_err(InputRefused::of)
    }

    fn rewind_now(&self, rewind: Rewind) -> Result<Option<Undone>, Error> {
        let shared = self.shared();
        let (host, options) = &shared.origin;
        let home = host.home().ok_or_else(|| {
            Error::NotKept("this session is kept in memory only, so it cannot go back".into())
        })?;
        let Rewind { turn, what, dry_run, keep, shown } = rewind;
        let choice = UndoChoice {
            home: home.to_owned(),
            cwd: self.workspace().cwd.clone(),
            session: Some(self.id().to_string()),
            dry_run,
            keep,
            memory: options.memory,
        };
        let mut review = |plan: &Undone| shown.as_ref().is_none_or(|shown| *shown == plan.outcomes);
        let mut seen = None;
        let (_, undone) = rewind_open(&choice, turn, what, &mut review, |_| {
            Ok(Box::new(|| {
                seen = Some(shared.agent.journal.rewind(turn)?);
                Ok(())
            }))
        })?;
        if let Some(seen) = seen {
            shared.agent.rewound();
            shared.parts.in_use.go_back(seen);
            let text = format!("the conversation goes on as before turn {turn}");
            self.events().emit(Event::notice(Notice::Undo { text }));
        }
        Ok(undone)
    }
}
