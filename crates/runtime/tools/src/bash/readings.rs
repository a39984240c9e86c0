//! A command is judged when it is asked for and again when it runs: its text is taken apart once.

use ostler_core::permission::Commands;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

/// As many as may be waiting to run at a time; what is forgotten is read again.
const KEPT: usize = 64;

#[derive(Default)]
pub(super) struct Readings(Mutex<VecDeque<Arc<Commands>>>);

impl Readings {
    /// What the text would run; its paths are not looked up.
    pub(super) fn of(&self, command: &str) -> Arc<Commands> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(commands) = known.iter().find(|commands| commands.text == command) {
            return commands.clone();
        }
        let commands = Arc::new(ostler_shell::steps(command));
        if known.len() == KEPT {
            known.pop_front();
        }
        known.push_back(commands.clone());
        commands
    }
}
