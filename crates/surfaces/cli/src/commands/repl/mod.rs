//! `ostler` without -p: a plain line session. Text as it comes, a line per call, questions answered with y or n.

mod slash;
mod turn;

use super::answer::Keeper;
use super::lines::Lines;
use super::signals::Signals;
use super::waiting::Waiting;
use super::{first_run, no_key, trust};
use crate::args::RunArgs;
use crate::exit::{Code, warn, warn_of};
use crate::output::paint::Paint;
use crate::output::printer;
use crate::output::screen::Screen;
use crate::output::visible::visible;
use anyhow::Result;
use ostler::{Attendance, Envelope, Host, Prompt, Session, SessionChoice, SessionOptions};
use ostler_profile::{Access, Environment, Profile};
use std::collections::VecDeque;
use std::sync::Arc;

/// How other surfaces know who answered.
const NAME: &str = "terminal";

pub fn run(init: &ostler::Init, environment: &Environment, mut args: RunArgs) -> Result<Code> {
    let profile = trust::begin(environment, &args)?;
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
                profile = prepared(profile, &mut lines) => profile?,
            };
            let mut options = profile.options(credentials)?;
            options.session.approvals = Arc::new(Keeper { kept_by: profile.approvals() });
            let host = Host::open(init, options.host)?;
            let session = host.session(options.session.clone())?;
            let mut repl = Repl::new(init, environment, host, session, options.session, lines);
            repl.session.warm_up();
            repl.greet(&profile)?;
            let code = repl.talk(first, &mut signals).await;
            repl.end("prompt_input_exit").await?;
            repl.host.close().await;
            code
        };
        let talked: Result<Code> = talked.await;
        Ok(signals.end(talked).await)
    })?
}

/// What only the person can say before the session begins.
async fn prepared(profile: Profile, lines: &mut Lines) -> Result<Profile> {
    let profile = first_run::ask(profile, lines).await?;
    trust::ask(profile, lines).await
}

struct Repl<'a> {
    init: &'a ostler::Init,
    environment: &'a Environment,
    host: Host,
    options: SessionOptions,
    session: Session,
    /// Somebody can be asked.
    attendance: Attendance,
    lines: Lines,
    waiting: Waiting,
    /// What the session said while a line was being typed.
    held: VecDeque<Arc<Envelope>>,
    /// The first word of what was entered last.
    entered: String,
    /// Ctrl+C came, and nothing was entered since: the next one leaves.
    interrupted: bool,
}

enum Next {
    Go,
    Leave(Code),
}

impl<'a> Repl<'a> {
    fn new(
        init: &'a ostler::Init,
        environment: &'a Environment,
        host: Host,
        session: Session,
        options: SessionOptions,
        lines: Lines,
    ) -> Self {
        let (attendance, waiting) = (session.attend(), Waiting::new());
        let (held, entered, interrupted) = (VecDeque::new(), String::new(), false);
        Repl {
            init,
            environment,
            host,
            options,
            session,
            attendance,
            lines,
            waiting,
            held,
            entered,
            interrupted,
        }
    }

    fn greet(&mut self, profile: &Profile) -> Result<()> {
        let (version, model) = (env!("CARGO_PKG_VERSION"), self.session.model());
        say(&format!("ostler {version} · {model} · session {}", self.session.id()))?;
        let paint = Paint::for_terminal();
        for notice in profile.news() {
            say(&paint.dim(&visible(&notice)))?;
        }
        self.announce()?;
        say("Type a prompt, or /help for commands. You can also type while the agent works.")
    }

    /// What was found on opening, and what a resumed session was about to do.
    fn announce(&self) -> Result<()> {
        self.session.announce().iter().for_each(|envelope| warn_of(&envelope.event));
        let queued = self.session.queued();
        if !queued.is_empty() {
            warn(&format!("still queued from last time ({}); /queue runs it:", queued.len()));
            queued.iter().for_each(|item| warn(&format!("  {}", visible(&item.text))));
        }
        if self.session.can_resume_turn() {
            warn("the last turn is unfinished; /continue resumes it, a new prompt abandons it");
        }
        let plan = self.session.plan();
        if plan.is_open() { Screen::new().plan(&plan) } else { Ok(()) }
    }

    async fn talk(&mut self, first: Option<String>, signals: &mut Signals) -> Result<Code> {
        let mut next = first;
        loop {
            signals.forget();
            let line = match next.take() {
                Some(line) => line,
                None => {
                    let line = tokio::select! {
                        biased;
                        caught = signals.next() => Err(caught),
                        line = self.lines.next_prompt("> ") => Ok(line?),
                    };
                    match line {
                        Ok(Some(line)) => line,
                        Ok(None) => return say("").map(|()| Code::Done),
                        Err(Code::Interrupted)
                            if !self.interrupted || self.lines.gave_up_text() =>
                        {
                            self.interrupted = true;
                            self.lines.forget();
                            say("\n(press Ctrl+C again or enter /quit to exit)")?;
                            continue;
                        }
                        Err(code) => return say("").map(|()| code),
                    }
                }
            };
            self.interrupted = false;
            match self.line(line.trim(), signals).await {
                Ok(Next::Go) => {}
                Ok(Next::Leave(code)) => return Ok(code),
                // A mistake in a command does not end the session.
                Err(error) => warn(&format!("{error:#}")),
            }
        }
    }

    async fn line(&mut self, line: &str, signals: &mut Signals) -> Result<Next> {
        if line.is_empty() {
            return Ok(Next::Go);
        }
        self.entered = line.split_whitespace().next().unwrap_or_default().to_owned();
        match self.command(line, signals).await? {
            Some(next) => Ok(next),
            None => self.turn(self.session.ask(Prompt::typed(line))?, signals).await,
        }
    }

    /// The new session is open before the old one is given up.
    async fn switch(&mut self, log: SessionChoice, reason: &str) -> Result<()> {
        let new = self.host.session(SessionOptions { log, ..self.options.clone() })?;
        self.end(reason).await?;
        self.go_on_with(new)
    }

    fn go_on_with(&mut self, session: Session) -> Result<()> {
        self.attendance = session.attend();
        self.session = session;
        say(&format!("session {}", self.session.id()))?;
        self.announce()
    }

    /// Hooks are told, commands end, and the session says what its tools did.
    async fn end(&mut self, reason: &str) -> Result<()> {
        self.session.close(reason).await.iter().for_each(|envelope| warn_of(&envelope.event));
        let paint = Paint::for_terminal();
        let lines = self.session.tool_statistics();
        lines.iter().try_for_each(|line| say(&paint.dim(&visible(line))))
    }
}

fn say(text: &str) -> Result<()> {
    write(&format!("{text}\n"))
}

pub fn write(text: &str) -> Result<()> {
    Ok(printer::print(text)?)
}
