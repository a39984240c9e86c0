//! A turn on the terminal: what happens is shown, questions are answered, and what is typed meanwhile reaches the model.

use super::{NAME, Next, Repl, say};
use crate::commands::signals::Signals;
use crate::commands::{answer, question};
use crate::exit::{Code, warn};
use crate::output::screen::Screen;
use crate::output::visible::visible;
use crate::output::{agents, printer, usage};
use anyhow::Result;
use futures_util::StreamExt;
use ostler::{Driver, Envelope, Event, Finished, Input, Question, QuestionId, words};
use std::pin::pin;
use std::sync::Arc;

/// So much is held back while a line is typed; then the session waits for the person.
const MOST_HELD: usize = 10_000;
/// Stands before what is typed while a turn runs.
const BESIDE: &str = "+ ";

/// How waiting for a line ended.
enum Typed {
    Line(Option<String>),
    /// What was asked needs no answer any more.
    Over,
    Signal(Code),
}

/// What happens next in a turn.
enum Happened {
    Signal(Code),
    Event(Option<Arc<Envelope>>),
    Key,
}

/// A turn as it is shown.
#[derive(Default)]
struct Shown {
    stopped_by: Option<Code>,
    compacted: bool,
}

impl Repl<'_> {
    /// The first signal ends the turn in order, the second the session. Continues with what is queued.
    pub(super) async fn turn(&mut self, mut driver: Driver, signals: &mut Signals) -> Result<Next> {
        let (mut screen, mut shown) = (Screen::new(), Shown::default());
        self.waiting.begin();
        loop {
            let happened = match self.held.pop_front() {
                Some(envelope) => Happened::Event(Some(envelope)),
                None => self.happens(&mut driver, &screen, shown.stopped_by, signals).await?,
            };
            match happened {
                Happened::Signal(caught) if shown.stopped_by.is_some() => {
                    self.waiting.clear();
                    return say("").map(|()| Next::Leave(caught));
                }
                Happened::Signal(caught) => self.stop(caught, &mut shown, &mut screen)?,
                Happened::Key => {
                    screen.break_line()?;
                    if let Some(caught) = self.type_beside(&mut driver, signals).await? {
                        self.stop(caught, &mut shown, &mut screen)?;
                    }
                }
                Happened::Event(None) => return Ok(after(shown.stopped_by)),
                Happened::Event(Some(envelope)) => {
                    self.show(&envelope, &mut shown, &mut screen)?;
                    if let Event::CallAsked { question: Some(question), .. } = &envelope.event
                        && let Some(caught) = self.answer(question, &mut driver, signals).await?
                    {
                        self.stop(caught, &mut shown, &mut screen)?;
                    }
                }
            }
        }
    }

    async fn happens(
        &mut self,
        driver: &mut Driver,
        screen: &Screen,
        stopped_by: Option<Code>,
        signals: &mut Signals,
    ) -> Result<Happened> {
        loop {
            tokio::select! {
                biased;
                caught = signals.next() => return Ok(Happened::Signal(caught)),
                envelope = printer::paced(driver, stopped_by.is_some()) => {
                    return Ok(Happened::Event(envelope?));
                }
                () = self.lines.key_typed(), if stopped_by.is_none() => return Ok(Happened::Key),
                () = self.waiting.tick() => self.waiting.draw(screen.room()),
            }
        }
    }

    fn show(&self, envelope: &Envelope, shown: &mut Shown, screen: &mut Screen) -> Result<()> {
        if !envelope.agent.is_root() {
            let Some(line) = agents::line(envelope) else { return Ok(()) };
            self.waiting.clear();
            return screen.note(&line);
        }
        self.waiting.event(&envelope.event);
        match &envelope.event {
            Event::Finished(finished) => {
                screen.end_line()?;
                // What no answer showed: why a conversation was not summarized.
                if finished.iterations == 0 && !shown.compacted {
                    say(&visible(&finished.text))?;
                }
                shown.compacted = false;
                show_end(finished)
            }
            Event::PromptRefused { why } => {
                let command = visible(&self.entered);
                say(&format!("There is no command {command}; /help lists them. {}", visible(why)))
            }
            event => {
                shown.compacted |= matches!(event, Event::Compacted { .. });
                screen.event(event)
            }
        }
    }

    fn stop(&mut self, caught: Code, shown: &mut Shown, screen: &mut Screen) -> Result<()> {
        shown.stopped_by = Some(caught);
        self.interrupted = true;
        self.waiting.clear();
        self.session.send(Input::Interrupt { cancel_queued: true })?;
        screen.break_line()
    }

    /// Puts a question until it is answered, here or elsewhere. Gives the signal that came instead.
    async fn answer(
        &mut self,
        question: &Question,
        driver: &mut Driver,
        signals: &mut Signals,
    ) -> Result<Option<Code>> {
        self.lines.forget();
        self.waiting.clear();
        let offered = !question.decision.offer.is_empty();
        let mut shown = question::text(question);
        loop {
            let answer = match self.typed(&shown, Some(&question.id), driver, signals).await? {
                Typed::Line(answer) => answer,
                Typed::Over => return say("").map(|()| None),
                Typed::Signal(caught) => return say("").map(|()| Some(caught)),
            };
            if !self.lines.are_echoed() || answer.is_none() {
                say("")?;
            }
            let Some(reply) = answer::reply(answer.as_deref(), offered) else {
                shown = question::no_project();
                continue;
            };
            let question = question.id.clone();
            // Somebody else may have been faster; that is shown, too.
            let _ = self.session.send(Input::Answer { question, reply, by: NAME.into() });
            return Ok(None);
        }
    }

    /// A line typed while the turn runs. Output waits until it is entered; the work does not.
    async fn type_beside(
        &mut self,
        driver: &mut Driver,
        signals: &mut Signals,
    ) -> Result<Option<Code>> {
        self.waiting.clear();
        match self.typed(BESIDE, None, driver, signals).await? {
            Typed::Line(Some(line)) => {
                // A mistake in a command does not end the turn.
                if let Err(error) = self.beside(line.trim()) {
                    warn(&format!("{error:#}"));
                }
                Ok(None)
            }
            Typed::Line(None) | Typed::Over => Ok(None),
            Typed::Signal(caught) => Ok(Some(caught)),
        }
    }

    /// Reads a line while the session continues.
    async fn typed(
        &mut self,
        shown: &str,
        asked: Option<&QuestionId>,
        driver: &mut Driver,
        signals: &mut Signals,
    ) -> Result<Typed> {
        let Repl { lines, held, .. } = self;
        let mut line = pin!(async {
            match asked {
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
                        matches!(&envelope.event, Event::QuestionClosed { id, .. } if Some(id) == asked)
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

fn show_end(finished: &Finished) -> Result<()> {
    if let Some(line) = words::failure(finished) {
        warn(&line);
    }
    say(&usage::line(finished))?;
    usage::budgets(finished).try_for_each(|line| say(&line))
}

/// Ctrl+C ends a turn; what asks the program to end ends the session, too.
fn after(stopped_by: Option<Code>) -> Next {
    match stopped_by {
        None | Some(Code::Interrupted) => Next::Go,
        Some(code) => Next::Leave(code),
    }
}
