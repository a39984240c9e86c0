//! `ostler` without -p: a plain line session. Text as it comes, a line per call, questions answered with y or n.

use super::answer::Keeper;
use super::conversation::{Conversation, Effect};
use super::line_output::LineOutput;
use super::lines::Lines;
use super::signals::Signals;
use super::typing::{Answer, Happened, Typed, Typing};
use super::{first_run, no_key, trust};
use crate::args::RunArgs;
use crate::exit::{Code, warn};
use crate::output::{say, say_lines};
use anyhow::Result;
use ostler::{Driver, Event, Host, Input, Question};
use ostler_profile::{Access, Environment};
use std::sync::Arc;

pub fn run(init: &ostler::Init, environment: &Environment, mut args: RunArgs) -> Result<Code> {
    let profile = trust::begin_session(environment, &args)?;
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
            let mut repl = Repl::new(conversation, lines, &mut signals);
            repl.output.greet(&mut repl.conversation, &profile.news())?;
            let code = repl.talk(first).await;
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
    signals: &'a mut Signals,
}

impl<'a> Repl<'a> {
    fn new(conversation: Conversation<'a>, lines: Lines, signals: &'a mut Signals) -> Self {
        let (typing, output) = (Typing::new(lines), LineOutput::new());
        Repl { conversation, typing, output, signals }
    }

    async fn talk(&mut self, first: Option<String>) -> Result<Code> {
        let mut next = first.map(|line| Typed::Line(Some(line)));
        loop {
            self.signals.forget();
            let typed = match next.take() {
                Some(typed) => typed,
                None => self.typing.prompt(&self.conversation.session, self.signals).await?,
            };
            let code = match typed {
                Typed::Report => self.report().await?,
                Typed::Line(Some(line)) => forgiven(self.line(line.trim()).await),
                Typed::Signal(Code::Interrupted) if self.typing.stays() => {
                    say("\n(press Ctrl+C again or enter /quit to exit)")?;
                    None
                }
                Typed::Signal(code) => say("").map(|()| Some(code))?,
                Typed::Line(None) => say("").map(|()| Some(Code::Done))?,
                Typed::Over => None,
            };
            if let Some(code) = code {
                return Ok(code);
            }
        }
    }

    /// The end of a background job starts a turn.
    async fn report(&mut self) -> Result<Option<Code>> {
        self.output.begin("");
        self.output.explain(&self.conversation.session.reports())?;
        let driver = self.conversation.session.run_reports()?;
        self.turn(driver).await
    }

    /// Gives the code that the program ends with, if it ends.
    async fn line(&mut self, line: &str) -> Result<Option<Code>> {
        self.typing.interrupted = false;
        self.output.begin(line);
        let driver = match self.conversation.command(line).await? {
            Effect::Leave => return Ok(Some(Code::Done)),
            Effect::Lines(lines) => return say_lines(&lines).map(|()| None),
            Effect::Switched => return self.output.switched(&mut self.conversation).map(|()| None),
            Effect::Turn(driver) => driver,
        };
        self.turn(driver).await
    }

    /// The first signal ends the turn in order, the second the session. Continues with what is queued.
    async fn turn(&mut self, mut driver: Driver) -> Result<Option<Code>> {
        let mut stopped_by = None;
        // What a background agent asked before this turn is not in its stream.
        self.typing.asked = self.conversation.session.state().0.open_questions().cloned().collect();
        self.output.waiting.begin();
        loop {
            let next = self.typing.next(&mut driver, self.signals, stopped_by.is_some());
            let happened = tokio::select! {
                biased;
                happened = next => happened?,
                () = self.output.wait() => continue,
            };
            let caught = match happened {
                Happened::Asked(question) => self.answer(&question, &mut driver).await?,
                Happened::Signal(caught) if stopped_by.is_some() => {
                    self.output.waiting.clear();
                    return say("").map(|()| Some(caught));
                }
                Happened::Signal(caught) => Some(caught),
                Happened::Key => self.type_beside(&mut driver).await?,
                // Ctrl+C ends a turn; what asks the program to end ends the session, too.
                Happened::Event(None) => {
                    return Ok(stopped_by.filter(|code| *code != Code::Interrupted));
                }
                Happened::Event(Some(envelope)) => {
                    self.output.envelope(&envelope)?;
                    match &envelope.event {
                        Event::CallAsked { question: Some(question), .. } => {
                            self.answer(question, &mut driver).await?
                        }
                        _ => None,
                    }
                }
            };
            if let Some(caught) = caught {
                (stopped_by, self.typing.interrupted) = (Some(caught), true);
                self.output.waiting.clear();
                self.conversation.session.send(Input::Interrupt { cancel_queued: true })?;
                self.output.screen.break_line()?;
            }
        }
    }

    /// Puts a question until it is answered, here or elsewhere. Gives the signal that came instead.
    async fn answer(&mut self, question: &Question, driver: &mut Driver) -> Result<Option<Code>> {
        self.output.waiting.clear();
        match self.typing.answer(question, driver, self.signals).await? {
            Answer::Signal(caught) => return Ok(Some(caught)),
            Answer::Over => {}
            Answer::Reply(reply) => self.conversation.answer(question, reply),
        }
        Ok(None)
    }

    /// A line typed while the turn runs. Gives the signal that came instead.
    async fn type_beside(&mut self, driver: &mut Driver) -> Result<Option<Code>> {
        self.output.screen.break_line()?;
        self.output.waiting.clear();
        match self.typing.beside(driver, self.signals).await? {
            Typed::Signal(caught) => return Ok(Some(caught)),
            Typed::Line(Some(line)) => say_lines(&forgiven(self.conversation.beside(line.trim())))?,
            Typed::Line(None) | Typed::Over | Typed::Report => {}
        }
        Ok(None)
    }
}

/// A mistake in a command ends neither the turn nor the session.
fn forgiven<T: Default>(outcome: Result<T>) -> T {
    outcome.unwrap_or_else(|error| {
        warn(&format!("{error:#}"));
        T::default()
    })
}
