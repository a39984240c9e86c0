//! How a demo is shown: at a reader's pace on a terminal, at once in a pipe, and ended in order by a signal.

use super::super::signals::Signals;
use crate::exit::{self, Code};
use crate::output::agents;
use crate::output::paint::Paint;
use crate::output::printer;
use crate::output::screen::Screen;
use crate::output::usage;
use anyhow::{Result, bail};
use ostler::{Block, Event, Finished, Input, Receipt, ResultPart, Session, words};
use ostler_model_server::{Part, ReplyBody, Script, ScriptSource, Wait};
use ostler_profile::Environment;
use std::io::IsTerminal;
use std::time::Duration;

/// The demo ended before its end, for a reason that was said or asked for.
#[derive(Debug, thiserror::Error)]
#[error("the demo was stopped")]
pub struct Stopped(pub Code);

pub struct Stage {
    pub screen: Screen,
    pub paint: Paint,
    pub signals: Signals,
    /// Somebody watches.
    pub paced: bool,
}

/// What a turn did.
#[derive(Default)]
pub struct Turn {
    pub calls: Vec<Call>,
    pub receipts: Vec<Receipt>,
    pub said: String,
}

pub struct Call {
    pub name: String,
    pub result: String,
    pub failed: bool,
}

impl Stage {
    pub fn new(environment: &Environment) -> Result<Self> {
        let (screen, paint) = (Screen::new(), Paint::for_terminal());
        let paced = std::io::stdout().is_terminal() && environment.text("CI").is_none();
        Ok(Stage { screen, paint, signals: Signals::new()?, paced })
    }

    /// A script with its pauses if somebody watches, else without.
    pub fn script(&self, yaml: &str) -> Result<Script> {
        let mut script = Script::from_yaml(yaml)?;
        for step in script.steps.iter_mut().filter(|_| !self.paced) {
            let ScriptSource::Fixed(reply) = &mut step.source else { continue };
            reply.due.retain(|wait| matches!(wait, Wait::Gate(_)));
            reply.delivery.pace = None;
            if let ReplyBody::Answer(answer) = &mut reply.body {
                answer.parts.retain(|part| !matches!(part, Part::Wait(_)));
            }
        }
        Ok(script)
    }

    /// What the story says itself.
    pub fn tell(&mut self, text: &str) -> Result<()> {
        self.screen.line(&self.paint.dim(text))
    }

    /// A command of the program, as it would be typed.
    pub fn command(&mut self, words: &[&str]) -> Result<()> {
        let plain = |word: &&str| !word.contains(|c: char| c.is_whitespace() || "'*()".contains(c));
        let words = words.iter().map(|word| match plain(word) {
            true => (*word).to_owned(),
            false => format!("'{word}'"),
        });
        let line = words.collect::<Vec<_>>().join(" ");
        self.screen.line(&self.paint.bold(&format!("$ ostler {line}")))
    }

    pub fn killed(&mut self) -> Result<()> {
        self.screen.line(&self.paint.bad("kill -9"))
    }

    /// A new part of it.
    pub async fn part(&mut self, title: &str, about: &str) -> Result<()> {
        self.pause(Duration::from_millis(900)).await?;
        self.screen.line("")?;
        self.screen.line(&self.paint.bold(&format!("── {title}")))?;
        self.tell(about)?;
        self.pause(Duration::from_millis(900)).await
    }

    /// Time to read.
    pub async fn pause(&mut self, time: Duration) -> Result<()> {
        if !self.paced {
            return Ok(());
        }
        tokio::select! {
            code = self.signals.next() => bail!(Stopped(code)),
            () = tokio::time::sleep(time) => Ok(()),
        }
    }

    /// Says who is there.
    pub fn open(&mut self, url: &str, session: &Session) -> Result<()> {
        self.tell(&format!(
            "A scripted model on {url}; everything else is real. Nothing leaves this machine."
        ))?;
        self.tell(&format!("Commands run in a sandbox: {}.", session.confinement().summary()))
    }

    /// A prompt and everything it leads to. The first signal ends it in order, the second at once.
    pub async fn turn(&mut self, session: &Session, prompt: &str) -> Result<Turn> {
        self.screen.line(&format!("{} {prompt}", self.paint.bold(">")))?;
        let mut turn = Turn::default();
        let mut stream = session.ask(prompt)?;
        let mut stopped = None;
        let finished = loop {
            let event = tokio::select! {
                biased;
                code = self.signals.next() => {
                    if stopped.replace(code).is_some() {
                        bail!(Stopped(code));
                    }
                    session.send(Input::Interrupt { cancel_queued: true })?;
                    continue;
                }
                event = printer::paced(&mut stream, stopped.is_some()) => event?,
            };
            let Some(envelope) = event else { bail!("the turn ended without an answer") };
            match &envelope.event {
                _ if !envelope.agent.is_root() => {
                    agents::line(&envelope).map_or(Ok(()), |line| self.screen.note(&line))?;
                }
                Event::Finished(finished) => break finished.clone(),
                event => {
                    self.screen.event(event)?;
                    turn.saw(event);
                }
            }
        };
        self.screen.end_line()?;
        turn.said.clone_from(&finished.text);
        self.ended(&finished, stopped).map(|()| turn)
    }

    fn ended(&mut self, finished: &Finished, stopped: Option<Code>) -> Result<()> {
        if let Some(code) = stopped {
            bail!(Stopped(code));
        }
        if let Some(line) = words::failure(finished) {
            exit::warn(&line);
        }
        self.tell(&usage::line(finished))?;
        match exit::of_turn(finished) {
            Code::Done => Ok(()),
            code => bail!(Stopped(code)),
        }
    }
}

impl Turn {
    fn saw(&mut self, event: &Event) {
        match event {
            Event::CallFinished {
                name,
                result: Block::ToolResult { content, is_error, .. },
                ..
            } => {
                let text = content.iter().filter_map(|part| match part {
                    ResultPart::Text { text } => Some(text.as_str()),
                    ResultPart::Image(_) => None,
                });
                let result = text.collect::<Vec<_>>().join("\n");
                self.calls.push(Call { name: name.clone(), result, failed: *is_error });
            }
            Event::Compacted { receipt } => self.receipts.push((**receipt).clone()),
            _ => {}
        }
    }

    /// What a call of this tool gave back, if one did with this in it.
    pub fn result(&self, tool: &str, holds: &str) -> Option<&Call> {
        self.calls.iter().find(|call| call.name == tool && call.result.contains(holds))
    }
}
