//! Somebody who answers questions, or does not.

use crate::locked;
use crate::timeline::{Timeline, TimelineMoment};
use ostler_core::ids::CallId;
use ostler_core::permission::Rule;
use ostler_core::ports::{Approvals, Approver, BoxFuture, Reply};
use ostler_core::question::Question;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

#[derive(Default)]
pub struct FakeApprover {
    replies: Mutex<VecDeque<Reply>>,
    /// When no reply is left; none means that the question stays open.
    then: Option<Reply>,
    panics: bool,
    questions: Mutex<Vec<Question>>,
    timeline: Arc<Timeline>,
}

impl FakeApprover {
    pub fn yes() -> Self {
        FakeApprover { then: Some(Reply::Yes), ..FakeApprover::default() }
    }

    pub fn no(why: &str) -> Self {
        FakeApprover { then: Some(Reply::No(why.into())), ..FakeApprover::default() }
    }

    /// One reply per question, then none.
    pub fn scripted(replies: impl IntoIterator<Item = Reply>) -> Self {
        FakeApprover {
            replies: Mutex::new(replies.into_iter().collect()),
            ..FakeApprover::default()
        }
    }

    pub fn silent() -> Self {
        FakeApprover::default()
    }

    pub fn panicking() -> Self {
        FakeApprover { panics: true, ..FakeApprover::default() }
    }

    pub(crate) fn witnessed(mut self, timeline: &Arc<Timeline>) -> Arc<Self> {
        self.timeline = timeline.clone();
        Arc::new(self)
    }

    pub fn questions(&self) -> Vec<Question> {
        locked(&self.questions).clone()
    }

    /// The calls that were asked about, in that order.
    pub fn asked(&self) -> Vec<String> {
        locked(&self.questions).iter().map(|question| question.call.to_string()).collect()
    }
}

impl Approver for FakeApprover {
    fn ask(&self, question: Question) -> BoxFuture<'_, Reply> {
        Box::pin(async move {
            let mut open = OpenQuestion {
                call: question.call.clone(),
                timeline: self.timeline.clone(),
                replied: false,
            };
            self.timeline.add(TimelineMoment::Asked(question.call.clone()));
            locked(&self.questions).push(question);
            // A second question that is put at the same time would be seen here.
            tokio::task::yield_now().await;
            if self.panics {
                // Without the panic hook, which would print.
                std::panic::resume_unwind(Box::new("scripted panic"));
            }
            let reply = locked(&self.replies).pop_front().or_else(|| self.then.clone());
            let Some(reply) = reply else { return std::future::pending().await };
            open.replied = true;
            reply
        })
    }
}

struct OpenQuestion {
    call: CallId,
    timeline: Arc<Timeline>,
    replied: bool,
}

impl Drop for OpenQuestion {
    fn drop(&mut self) {
        let call = self.call.clone();
        self.timeline.add(if self.replied {
            TimelineMoment::Replied(call)
        } else {
            TimelineMoment::Withdrawn(call)
        });
    }
}

/// Keeps nothing beyond the session.
pub(crate) struct Forgets;

impl Approvals for Forgets {
    fn keep(&self, _rules: &[Rule]) -> Result<(), String> {
        Ok(())
    }
}
