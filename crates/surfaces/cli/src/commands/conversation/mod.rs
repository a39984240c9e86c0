//! What a person does with sessions by words: begin one, change to another, and everything that begins with a slash. It
//! draws nothing: whoever uses it shows the lines it gives.

mod coworkers;
pub mod slash;

use crate::output::visible_text::visible;
use anyhow::Result;
use ostler::{
    Attendance, Envelope, Host, InboundSource, Input, Plan, Question, QueuedItem, Reply, Session,
    SessionChoice, SessionOptions,
};
use ostler_profile::Environment;
use std::sync::Arc;

pub use slash::Effect;

const UNFINISHED: &str =
    "the last turn is unfinished; /continue resumes it, a new prompt abandons it";

/// How other surfaces know who answered.
const NAME: &str = "terminal";

pub struct Conversation<'a> {
    init: &'a ostler::Init,
    environment: &'a Environment,
    host: Host,
    options: SessionOptions,
    pub session: Session,
    /// Somebody can be asked.
    attendance: Attendance,
    /// What sessions said when they ended, until somebody shows it.
    last_words: Vec<LastWords>,
}

/// The end of a session.
pub struct LastWords {
    pub events: Vec<Arc<Envelope>>,
    /// What its tools did, one line each.
    pub tools: Vec<String>,
}

impl<'a> Conversation<'a> {
    /// Somebody else may have been faster; that is shown, too.
    pub fn answer(&self, question: &Question, reply: Reply) {
        let (question, by) = (question.id.clone(), NAME.into());
        let _ = self.session.send(Input::Answer { question, reply, by });
    }

    pub fn open(
        init: &'a ostler::Init,
        environment: &'a Environment,
        host: Host,
        options: SessionOptions,
    ) -> Result<Self> {
        let options = SessionOptions { asks_person: true, ..options };
        let session = host.session(options.clone())?;
        session.warm_up();
        session.resume_team();
        let (attendance, last_words) = (session.attend(), Vec::new());
        Ok(Conversation { init, environment, host, options, session, attendance, last_words })
    }

    /// The new session is open before the old one is given up.
    async fn switch(&mut self, log: SessionChoice, reason: &str) -> Result<Effect> {
        let new = self.host.session(SessionOptions { log, ..self.options.clone() })?;
        Ok(self.replace(new, reason).await)
    }

    async fn replace(&mut self, new: Session, reason: &str) -> Effect {
        self.end(reason).await;
        new.resume_team();
        self.attendance = new.attend();
        self.session = new;
        Effect::Switched
    }

    /// What a resumed session was about to do; its plan, if that is unfinished.
    pub fn announce(&self) -> (Vec<String>, Option<Arc<Plan>>) {
        let (mut queued, mut lines) = (self.session.queued(), Vec::new());
        let jobs = queued.extract_if(.., |item| matches!(item.source, InboundSource::Job { .. }));
        let ended = jobs.count();
        if ended > 0 {
            lines.push(format!(
                "background jobs that ended since: {ended}; the model will be told with your next prompt"
            ));
        }
        let is_mail = |item: &mut QueuedItem| matches!(item.source, InboundSource::Agent { .. });
        let mail = queued.extract_if(.., is_mail).count();
        if mail > 0 {
            lines
                .push(format!("mail from teammates: {mail}; the model is told with the next turn"));
        }
        if !queued.is_empty() {
            lines.push(format!("still queued from last time ({}); /queue runs it:", queued.len()));
            lines.extend(queued.iter().map(|item| format!("  {}", visible(&item.text))));
        }
        if self.session.can_resume_turn() {
            lines.push(UNFINISHED.to_owned());
        }
        (lines, Some(self.session.plan()).filter(|plan| plan.is_open()))
    }

    /// Hooks are told, commands end.
    async fn end(&mut self, reason: &str) {
        let events = self.session.close(reason).await;
        let tools = self.session.tool_statistics();
        self.last_words.push(LastWords { events, tools });
    }

    /// Of sessions that have ended since this was asked last.
    pub fn last_words(&mut self) -> Vec<LastWords> {
        std::mem::take(&mut self.last_words)
    }

    /// The last session, and with it everything that runs.
    pub async fn close(&mut self) {
        self.end("prompt_input_exit").await;
        self.host.close().await;
    }
}
