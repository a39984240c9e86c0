//! A command is judged when it is asked for and again when it runs: the proof is made once.

use super::judge::{self, Proved};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

/// As many as may be waiting to run at a time; what is forgotten is proved again.
const KEPT: usize = 64;

type Known = (String, Option<Arc<Proved>>);

#[derive(Default)]
pub(super) struct Proofs(Mutex<VecDeque<Known>>);

impl Proofs {
    pub(super) fn of(&self, command: &str) -> Option<Arc<Proved>> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, proved)) = known.iter().find(|(text, _)| text == command) {
            return proved.clone();
        }
        let proved = judge::prove(command).map(Arc::new);
        if known.len() == KEPT {
            known.pop_front();
        }
        known.push_back((command.to_owned(), proved.clone()));
        proved
    }
}
