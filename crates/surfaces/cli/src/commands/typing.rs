//! Lines that are typed while a session goes on.

use super::lines::Lines;
use super::signals::Signals;
use super::{answer, question};
use crate::exit::Code;
use crate::output::{printer, say, write};
use anyhow::Result;
use futures_util::StreamExt;
use ostler::{Driver, Envelope, Event, Question, QuestionId, Reply, Session};
use std::collections::VecDeque;
use std::pin::pin;
use std::sync::Arc;

/// Stands before what is typed while no turn runs.
const PROMPT: &str = "> ";
/// So much is held back while a line is typed; then the session waits for the person.
const MOST_HELD: usize = 10_000;

pub struct Typing {
    pub lines: Lines,
    /// What the session said while a line was being typed.
    held: VecDeque<Arc<Envelope>>,
    /// Questions that were asked before the turn began.
    pub asked: VecDeque<Question>,
    /// The last question that was answered here.
    answered: Option<QuestionId>,
    /// Ctrl+C came, and nothing was entered since: the next one leaves.
    pub interrupted: bool,
}

/// What happens next in a turn.
pub enum Happened {
    Event(Option<Arc<Envelope>>),
    Asked(Box<Question>),
    Signal(Code),
    /// Somebody begins to type.
    Key,
}

/// How waiting for a line ended.
pub enum Typed {
    /// None: there will be no more.
    Line(Option<String>),
    /// What was asked needs no answer any more.
    Over,
    Signal(Code),
    /// The end of a job starts a turn, or an agent in the background asks something.
    Report,
}

/// What became of a question.
pub enum Answer {
    Reply(Reply),
    /// Somebody else has answered, or no answer is needed any more.
    Over,
    Signal(Code),
}

impl Typing {
    pub fn new(lines: Lines) -> Self {
        let (held, asked) = (VecDeque::new(), VecDeque::new());
        Typing { lines, held, asked, answered: None, interrupted: false }
    }

    /// Whether the session continues after this Ctrl+C: it is the first one, or it only threw away what was typed.
    pub fn stays(&mut self) -> bool {
        let is_first = !std::mem::replace(&mut self.interrupted, true);
        let stays = is_first || self.lines.gave_up_text();
        if stays {
            self.lines.forget();
        }
        stays
    }

    /// While a turn is stopping, nothing can be typed.
    pub async fn next(
        &mut self,
        driver: &mut Driver,
        signals: &mut Signals,
        is_stopping: bool,
    ) -> Result<Happened> {
        if let Some(question) = self.asked.pop_front() {
            return Ok(Happened::Asked(Box::new(question)));
        }
        // What was held back comes before what the session says next.
        if let Some(envelope) = self.held.pop_front() {
            return Ok(Happened::Event(Some(envelope)));
        }
        Ok(tokio::select! {
            biased;
            caught = signals.next() => Happened::Signal(caught),
            envelope = printer::paced(driver, is_stopping) => Happened::Event(envelope?),
            () = self.lines.key_typed(), if !is_stopping => Happened::Key,
        })
    }

    /// Reads a prompt while no turn runs. The end of a job comes first, unless somebody is typing.
    pub async fn prompt(&mut self, session: &Session, signals: &mut Signals) -> Result<Typed> {
        if session.has_report() {
            return Ok(Typed::Report);
        }
        let waits_for_jobs = session.has_running_jobs();
        let answered = self.answered.clone();
        let asked = session.question_due(answered.as_ref());
        tokio::pin!(asked);
        if waits_for_jobs && self.lines.are_typed() && !self.lines.has_put_back() {
            write(PROMPT)?;
            tokio::select! {
                biased;
                caught = signals.next() => return Ok(Typed::Signal(caught)),
                () = self.lines.key_typed() => write("\r")?,
                () = session.report_due() => return say("").map(|()| Typed::Report),
                () = &mut asked => return say("").map(|()| Typed::Report),
            }
        }
        let reads_pipe = !self.lines.are_typed();
        Ok(tokio::select! {
            biased;
            caught = signals.next() => Typed::Signal(caught),
            () = session.report_due(), if waits_for_jobs && reads_pipe => Typed::Report,
            () = &mut asked, if waits_for_jobs && reads_pipe => Typed::Report,
            line = self.lines.next_prompt(PROMPT) => Typed::Line(line?),
        })
    }

    /// Puts a question until what is typed answers it.
    pub async fn answer(
        &mut self,
        question: &Question,
        driver: &mut Driver,
        signals: &mut Signals,
    ) -> Result<Answer> {
        if self.answered.as_ref() == Some(&question.id) {
            return Ok(Answer::Over);
        }
        self.lines.forget();
        let is_offered = !question.decision.offer.is_empty();
        let mut shown = question::text(question);
        loop {
            let answer = match self.line(&shown, Some(&question.id), driver, signals).await? {
                Typed::Line(answer) => answer,
                Typed::Over => return say("").map(|()| Answer::Over),
                Typed::Signal(caught) => return say("").map(|()| Answer::Signal(caught)),
                Typed::Report => continue,
            };
            if !self.lines.are_echoed() || answer.is_none() {
                say("")?;
            }
            match answer::reply(answer.as_deref(), is_offered) {
                Some(reply) => {
                    self.answered = Some(question.id.clone());
                    return Ok(Answer::Reply(reply));
                }
                None => shown = question::no_project(),
            }
        }
    }

    /// A line that is entered while a turn runs.
    pub async fn beside(&mut self, driver: &mut Driver, signals: &mut Signals) -> Result<Typed> {
        self.line("+ ", None, driver, signals).await
    }

    /// Reads a line. Output waits until it is entered; the work does not. The answer to a question is one word; anything
    /// else may be a prompt of several lines.
    async fn line(
        &mut self,
        shown: &str,
        question: Option<&QuestionId>,
        driver: &mut Driver,
        signals: &mut Signals,
    ) -> Result<Typed> {
        let Typing { lines, held, .. } = self;
        let mut line = pin!(async {
            match question {
                Some(_) => lines.next(shown).await,
                None => lines.next_prompt(shown).await,
            }
        });
        let mut goes_on = true;
        loop {
            tokio::select! {
                biased;
                caught = signals.next() => return Ok(Typed::Signal(caught)),
                line = &mut line => return Ok(Typed::Line(line?)),
                envelope = driver.next(), if goes_on && held.len() < MOST_HELD => {
                    goes_on = envelope.is_some();
                    let is_over = envelope.as_ref().is_some_and(|envelope| {
                        matches!(&envelope.event, Event::QuestionClosed { id, .. } if Some(id) == question)
                    });
                    held.extend(envelope);
                    if is_over {
                        return Ok(Typed::Over);
                    }
                }
            }
        }
    }
}
