//! `ostler` without -p: a plain line session. Text as it comes, a line per call, questions answered with y or n.

use super::answer::Keeper;
use super::conversation::{Conversation, Effect};
use super::line_output::LineOutput;
use super::lines::Lines;
use super::signals::Signals;
use super::typing::{Answer, Typed, Typing};
use super::{first_run, no_key, trust};
use crate::args::RunArgs;
use crate::exit::{Code, warn};
use crate::output::{printer, say};
use anyhow::Result;
use ostler::{Driver, Envelope, Event, Host, Input, Prompt, Question};
use ostler_profile::{Access, Environment};
use std::collections::VecDeque;
use std::sync::Arc;

pub fn run(init: &ostler::Init, environment: &Environment, mut args: RunArgs) -> Result<Code> {
    let profile = trust::begin(environment, &args)?;
    no_key::check_continue(&profile, &args)?;
    let credentials = match profile.access()? {
        Access::Given(credentials) => credentials,
        Access::Missing(provider) => return Ok(no_key::explain(&provider)),
    };
    let first = args.prompt.take();
    ostler::block_on(async {
        let mut signals = Signals::new()?;
        let talked = async {
            let mut lines = Lines::of_standard_input();
            let profile = tokio::select! {
                biased;
                caught = signals.next() => return say("").map(|()| caught),
                profile = first_run::prepared(profile, &mut lines) => profile?,
            };
            let mut options = profile.options(credentials)?;
            options.session.approvals = Arc::new(Keeper { kept_by: profile.approvals() });
            let host = Host::open(init, options.host)?;
            let conversation = Conversation::open(init, environment, host, options.session)?;
            let mut repl = Repl::new(conversation, lines);
            repl.output.greet(&mut repl.conversation, &profile.news())?;
            let code = repl.talk(first, &mut signals).await;
            repl.conversation.close().await;
            repl.output.last_words(&mut repl.conversation)?;
            code
        };
        let talked: Result<Code> = talked.await;
        Ok(signals.end(talked).await)
    })?
}

struct Repl<'a> {
    conversation: Conversation<'a>,
    typing: Typing,
    output: LineOutput,
    /// Ctrl+C came, and nothing was entered since: the next one leaves.
    interrupted: bool,
}

/// What happens next in a turn.
enum Happened {
    Signal(Code),
    Event(Option<Arc<Envelope>>),
    /// Something was asked before the turn began.
    Asked(Box<Question>),
    Key,
}

impl<'a> Repl<'a> {
    fn new(conversation: Conversation<'a>, lines: Lines) -> Self {
        let (typing, output) = (Typing::new(lines), LineOutput::new());
        Repl { conversation, typing, output, interrupted: false }
    }

    async fn talk(&mut self, first: Option<String>, signals: &mut Signals) -> Result<Code> {
        let mut next = first;
        loop {
            signals.forget();
            let line = match next.take() {
                Some(line) => line,
                None => match self.typing.prompt(&self.conversation.session, signals).await? {
                    Typed::Report => {
                        self.output.begin("");
                        self.output.explain(&self.conversation.session.reports())?;
                        let driver = self.conversation.session.run_reports()?;
                        match self.turn(driver, signals).await? {
                            Some(code) => return Ok(code),
                            None => continue,
                        }
                    }
                    Typed::Line(Some(line)) => line,
                    Typed::Line(None) => return say("").map(|()| Code::Done),
                    Typed::Signal(Code::Interrupted)
                        if !self.interrupted || self.typing.lines.gave_up_text() =>
                    {
                        self.interrupted = true;
                        self.typing.lines.forget();
                        say("\n(press Ctrl+C again or enter /quit to exit)")?;
                        continue;
                    }
                    Typed::Signal(code) => return say("").map(|()| code),
                    Typed::Over => continue,
                },
            };
            self.interrupted = false;
            match self.line(line.trim(), signals).await {
                Ok(None) => {}
                Ok(Some(code)) => return Ok(code),
                // A mistake in a command does not end the session.
                Err(error) => warn(&format!("{error:#}")),
            }
        }
    }

    /// Gives the code that the program ends with, if it ends.
    async fn line(&mut self, line: &str, signals: &mut Signals) -> Result<Option<Code>> {
        if line.is_empty() {
            return Ok(None);
        }
        self.output.begin(line);
        let driver = match self.conversation.command(line).await? {
            Effect::Leave => return Ok(Some(Code::Done)),
            Effect::Lines(lines) => {
                return lines.iter().try_for_each(|line| say(line)).map(|()| None);
            }
            Effect::Switched => {
                return self.output.switched(&mut self.conversation).map(|()| None);
            }
            Effect::Turn(driver) => driver,
            Effect::Prompt => self.conversation.session.ask(Prompt::typed(line))?,
        };
        self.turn(driver, signals).await
    }

    /// The first signal ends the turn in order, the second the session. Continues with what is queued.
    async fn turn(&mut self, mut driver: Driver, signals: &mut Signals) -> Result<Option<Code>> {
        let mut stopped_by = None;
        // What a background agent asked before this turn is not in its stream.
        let session = &self.conversation.session;
        let mut asked: VecDeque<_> = session.state().0.open_questions().cloned().collect();
        self.output.waiting.begin();
        loop {
            let happened = match asked.pop_front() {
                Some(question) => Happened::Asked(Box::new(question)),
                None => self.happens(&mut driver, stopped_by, signals).await?,
            };
            let caught = match happened {
                Happened::Asked(question) => self.answer(&question, &mut driver, signals).await?,
                Happened::Signal(caught) if stopped_by.is_some() => {
                    self.output.waiting.clear();
                    return say("").map(|()| Some(caught));
                }
                Happened::Signal(caught) => Some(caught),
                Happened::Key => self.type_beside(&mut driver, signals).await?,
                // Ctrl+C ends a turn; what asks the program to end ends the session, too.
                Happened::Event(None) => {
                    return Ok(stopped_by.filter(|code| *code != Code::Interrupted));
                }
                Happened::Event(Some(envelope)) => {
                    self.output.envelope(&envelope)?;
                    match &envelope.event {
                        Event::CallAsked { question: Some(question), .. } => {
                            self.answer(question, &mut driver, signals).await?
                        }
                        _ => None,
                    }
                }
            };
            if let Some(caught) = caught {
                stopped_by = Some(caught);
                self.interrupted = true;
                self.output.waiting.clear();
                self.conversation.session.send(Input::Interrupt { cancel_queued: true })?;
                self.output.screen.break_line()?;
            }
        }
    }

    async fn happens(
        &mut self,
        driver: &mut Driver,
        stopped_by: Option<Code>,
        signals: &mut Signals,
    ) -> Result<Happened> {
        if let Some(envelope) = self.typing.held() {
            return Ok(Happened::Event(Some(envelope)));
        }
        loop {
            tokio::select! {
                biased;
                caught = signals.next() => return Ok(Happened::Signal(caught)),
                envelope = printer::paced(driver, stopped_by.is_some()) => {
                    return Ok(Happened::Event(envelope?));
                }
                () = self.typing.lines.key_typed(), if stopped_by.is_none() => {
                    return Ok(Happened::Key);
                }
                () = self.output.waiting.tick() => self.output.waiting.draw(self.output.screen.room()),
            }
        }
    }

    /// Puts a question until it is answered, here or elsewhere. Gives the signal that came instead.
    async fn answer(
        &mut self,
        question: &Question,
        driver: &mut Driver,
        signals: &mut Signals,
    ) -> Result<Option<Code>> {
        if self.typing.answered.as_ref() == Some(&question.id) {
            return Ok(None);
        }
        self.output.waiting.clear();
        match self.typing.answer(question, driver, signals).await? {
            Answer::Signal(caught) => Ok(Some(caught)),
            Answer::Over => Ok(None),
            Answer::Reply(reply) => {
                self.typing.answered = Some(question.id.clone());
                self.conversation.answer(question, reply);
                Ok(None)
            }
        }
    }

    /// A line typed while the turn runs. Gives the signal that came instead.
    async fn type_beside(
        &mut self,
        driver: &mut Driver,
        signals: &mut Signals,
    ) -> Result<Option<Code>> {
        self.output.screen.break_line()?;
        self.output.waiting.clear();
        match self.typing.beside(driver, signals).await? {
            Typed::Signal(caught) => return Ok(Some(caught)),
            Typed::Line(Some(line)) => match self.conversation.beside(line.trim()) {
                Ok(lines) => lines.iter().try_for_each(|line| say(line))?,
                // A mistake in a command does not end the turn.
                Err(error) => warn(&format!("{error:#}")),
            },
            Typed::Line(None) | Typed::Over | Typed::Report => {}
        }
        Ok(None)
    }
}
