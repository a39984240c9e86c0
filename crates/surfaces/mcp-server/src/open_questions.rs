//! Calls that wait for the answer to a question, for clients that send the request again with it. The client holds
//! nothing but a name that cannot be guessed; the call itself stays here.

use crate::running_call::RunningCall;
use ostler::{Question, Session};
use rmcp::model::CallToolRequestParams;
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Calls that may wait in this way.
const MOST: usize = 8;

pub(crate) struct OpenQuestions {
    waiting: Mutex<HashMap<String, WaitingCall>>,
    deadline: Duration,
}

pub(crate) struct WaitingCall {
    pub(crate) call: RunningCall,
    pub(crate) question: Box<Question>,
    pub(crate) session: Session,
    since: Instant,
}

impl OpenQuestions {
    /// A call whose answer takes longer than the deadline is stopped.
    pub(crate) fn new(deadline: Duration) -> Self {
        OpenQuestions { waiting: Mutex::default(), deadline }
    }

    /// Gives the name under which it is found again. An error gives everything back: too many wait already.
    pub(crate) fn keep(
        &self,
        call: RunningCall,
        question: Box<Question>,
        session: Session,
    ) -> Result<String, Box<WaitingCall>> {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.retain(|_, call| call.since.elapsed() < self.deadline);
        let kept = WaitingCall { call, question, session, since: Instant::now() };
        if waiting.len() >= MOST {
            return Err(Box::new(kept));
        }
        let name = ostler::new_uuid();
        waiting.insert(name.clone(), kept);
        Ok(name)
    }

    /// The call that waits under this name, if the request is the same as the one that began it. It is found once.
    pub(crate) fn take(&self, name: &str, request: &CallToolRequestParams) -> Option<WaitingCall> {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let kept = waiting.get(name)?;
        let arguments = request.arguments.clone().unwrap_or_default();
        let is_same = kept.call.tool == request.name && kept.call.arguments == arguments;
        let is_fresh = kept.since.elapsed() < self.deadline;
        if is_same && is_fresh { waiting.remove(name) } else { None }
    }
}
