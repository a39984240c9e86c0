//! Commands that end together while others of the same supervisor continue: those of one session.

use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use crate::error::ExecError;
use crate::executor::Executor;
use crate::running_command::Control;
use crate::wire::ORDER_KILL;

/// The right to end the commands that were started through [`CommandScope::executor`], with all that they have started.
/// Dropping it kills them; other scopes and the supervisor are not affected. Scopes do not nest.
#[derive(Debug)]
pub struct CommandScope {
    executor: Executor,
    members: Arc<Members>,
}

impl CommandScope {
    pub(crate) fn new(executor: Executor, members: Arc<Members>) -> Self {
        Self { executor, members }
    }

    /// Starts commands in this scope. It may be cloned and kept; once the scope has ended, it starts nothing.
    pub fn executor(&self) -> &Executor {
        &self.executor
    }

    /// Kills the commands of this scope and waits until they and all they have started are gone. Whoever waits for one
    /// of them gets [`ExecError::Closed`], and so does every later command.
    ///
    /// # Errors
    /// If something does not end even though it was killed.
    pub async fn close(&self) -> Result<(), ExecError> {
        self.executor.shutdown().await
    }
}

impl Drop for CommandScope {
    fn drop(&mut self) {
        self.members.end();
    }
}

/// The commands of a scope.
#[derive(Debug)]
pub(crate) struct Members {
    /// How the supervisor knows the scope.
    pub number: u64,
    state: Mutex<MembersState>,
}

#[derive(Debug, Default)]
struct MembersState {
    ended: bool,
    controls: Vec<Weak<Control>>,
}

impl Members {
    pub(crate) fn new(number: u64) -> Self {
        Self { number, state: Mutex::default() }
    }

    pub(crate) fn is_ended(&self) -> bool {
        self.state().ended
    }

    /// Hands over the request for a command and takes note of the command. None if the scope has ended. Both under one
    /// lock: a command that the supervisor knows of is also known here, or it is not started.
    pub(crate) fn start(
        &self,
        control: &Arc<Control>,
        hand_over: impl FnOnce() -> io::Result<()>,
    ) -> Option<io::Result<()>> {
        let mut state = self.state();
        if state.ended {
            return None;
        }
        state.controls.retain(|control| control.strong_count() > 0);
        state.controls.push(Arc::downgrade(control));
        Some(hand_over())
    }

    /// Orders all commands to be killed. An order to one that is still on its way to the supervisor waits in its
    /// socket.
    pub(crate) fn end(&self) {
        let mut state = self.state();
        state.ended = true;
        for control in state.controls.iter().filter_map(Weak::upgrade) {
            control.order(ORDER_KILL);
        }
    }

    fn state(&self) -> MutexGuard<'_, MembersState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
