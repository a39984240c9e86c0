//! Lines that are typed while a session goes on.

use super::conversation::slash;
use super::dialog::Dialog;
use super::lines::Lines;
use super::signals::Signals;
use crate::exit::Code;
use crate::output::paint::Paint;
use crate::output::{agents, printer, say, write};
use anyhow::Result;
use futures_util::{FutureExt, StreamExt};
use ostler::{
    Driver, Envelope, Event, Observed, Question, QuestionId, Reply, Session, SessionId,
    SessionObserver,
};
use std::collections::{HashSet, VecDeque};
use std::pin::pin;
use std::sync::Arc;

/// Stands before what is typed while no turn runs.
const PROMPT: &str = "> ";
/// So much is held back while a line is typed; then the session waits for the person.
const MOST_HELD: usize = 10_000;

/// Of which session.
type IdleNews = Option<(SessionId, SessionObserver)>;

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
    /// What teammates do while no turn runs.
    idle_news: IdleNews,
    /// Which of it a turn has shown.
    shown_news: HashSet<u64>,
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

/// How one wait at the prompt ended.
enum Next {
    Typed(Typed),
    /// What a teammate is doing now.
    News(String),
}

fn is_team_news(envelope: &Envelope) -> bool {
    matches!(envelope.event, Event::TeammateChanged(_))
}

/// The next line about a teammate that no turn has shown. Cancel-safe.
async fn next_line(news: &mut IdleNews, shown: &mut HashSet<u64>) -> String {
    loop {
        let observed = match news {
            Some((_, observer)) => observer.next().await,
            None => return std::future::pending().await,
        };
        match observed {
            Some(Observed::Event(envelope)) => {
                let is_news = is_team_news(&envelope) && !shown.remove(&envelope.seq);
                if let Some(line) = agents::line(&envelope).filter(|_| is_news) {
                    return line;
                }
            }
            Some(Observed::Lagged { .. }) => {}
            None => *news = None,
        }
    }
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
        Typing {
            lines,
            held,
            asked,
            answered: None,
            interrupted: false,
            idle_news: None,
            shown_news: HashSet::new(),
        }
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
        let held = self.held.pop_front();
        let envelope = match held {
            Some(envelope) => Some(envelope),
            None => tokio::select! {
                biased;
                caught = signals.next() => return Ok(Happened::Signal(caught)),
                envelope = printer::paced(driver, is_stopping) => envelope?,
                () = self.lines.key_typed(), if !is_stopping => return Ok(Happened::Key),
            },
        };
        if let Some(envelope) = envelope.as_ref().filter(|it| is_team_news(it)) {
            self.shown_news.insert(envelope.seq);
        }
        Ok(Happened::Event(envelope))
    }

    /// Reads a prompt while no turn runs. The end of a job comes first, unless somebody is typing.
    pub async fn prompt(&mut self, session: &Session, signals: &mut Signals) -> Result<Typed> {
        self.lines.offer(|| slash::words(&session.skills()));
        let has_team = !session.teammates().is_empty();
        let is_known = self.idle_news.as_ref().is_some_and(|(of, _)| of == session.id());
        if has_team && !is_known {
            let observer = session.observe(&session.state().1);
            self.idle_news = Some((session.id().clone(), observer));
            self.shown_news.clear();
        }
        loop {
            match self.prompt_or_news(session, has_team, signals).await? {
                Next::Typed(typed) => return Ok(typed),
                Next::News(line) => say(&Paint::for_terminal().dim(&line))?,
            }
        }
    }

    /// Printed as soon as it happens, as long as nobody types.
    async fn prompt_or_news(
        &mut self,
        session: &Session,
        has_team: bool,
        signals: &mut Signals,
    ) -> Result<Next> {
        if let Some(line) = next_line(&mut self.idle_news, &mut self.shown_news).now_or_never() {
            return Ok(Next::News(line));
        }
        if session.has_report() {
            return Ok(Next::Typed(Typed::Report));
        }
        let waits_for_jobs = session.has_running_jobs();
        let answered = self.answered.clone();
        let asked = session.question_due(answered.as_ref());
        tokio::pin!(asked);
        let waits = waits_for_jobs || has_team;
        if waits && self.lines.are_typed() && !self.lines.has_put_back() {
            write(PROMPT)?;
            tokio::select! {
                biased;
                caught = signals.next() => return Ok(Next::Typed(Typed::Signal(caught))),
                () = self.lines.key_typed() => write("\r")?,
                () = session.report_due(), if waits_for_jobs => {
                    return say("").map(|()| Next::Typed(Typed::Report));
                }
                () = &mut asked, if waits_for_jobs => {
                    return say("").map(|()| Next::Typed(Typed::Report));
                }
                line = next_line(&mut self.idle_news, &mut self.shown_news) => {
                    return write("\r").map(|()| Next::News(line));
                }
            }
        }
        let reads_pipe = !self.lines.are_typed();
        Ok(Next::Typed(tokio::select! {
            biased;
            caught = signals.next() => Typed::Signal(caught),
            () = session.report_due(), if waits_for_jobs && reads_pipe => Typed::Report,
            () = &mut asked, if waits_for_jobs && reads_pipe => Typed::Report,
            line = self.lines.next_prompt(PROMPT) => Typed::Line(line?),
        }))
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
        let mut dialog = Dialog::new(question);
        loop {
            let answer =
                match self.line(dialog.shown(), Some(&question.id), driver, signals).await? {
                    Typed::Line(answer) => answer,
                    Typed::Over => return say("").map(|()| Answer::Over),
                    Typed::Signal(caught) => return say("").map(|()| Answer::Signal(caught)),
                    Typed::Report => continue,
                };
            if !self.lines.are_echoed() || answer.is_none() {
                say("")?;
            }
            if let Some(reply) = dialog.take(answer.as_deref()) {
                self.answered = Some(question.id.clone());
                return Ok(Answer::Reply(reply));
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
