//! `ostler` without -p: a plain line session. Text as it comes, a line per call, questions answered with y or n.

use super::asker::{Asker, Keeper};
use super::lines::Lines;
use super::signals::Signals;
use super::waiting::Waiting;
use super::watch::Watch;
use super::{cost, first_run, local, no_key, sessions, skills, trust};
use crate::args::RunArgs;
use crate::exit::{Code, warn, warn_of};
use crate::output::paint::Paint;
use crate::output::printer;
use crate::output::screen::Screen;
use crate::output::usage;
use crate::output::visible::visible;
use anyhow::Result;
use ostler::{Engine, Envelope, Event, EventStream, Finished, Prepared, SessionChoice, words};
use ostler_profile::{Access, Environment, Profile};
use std::sync::Arc;
use tokio::sync::Mutex;

const HELP: &str = "\
/sessions      list the sessions of this folder
/resume [ID]   go on with a session (without ID: the newest but this one)
/skills        list the skills
/NAME [ARGS]   use a skill
/fork          go on with a copy of this session
/cost          what this session cost, and how the budgets stand
/compact [WORDS]  summarise the conversation to make room; WORDS: what the summary should focus on
/context       what fills the model's window
/quit          leave (also Ctrl+D)
Ctrl+C         stop the running turn, or clear the line; everything done is kept. Twice: leave
A question takes y (once), s (this session), p (this project) or n, or in your words why not.
`ostler permissions` outside a session lists the rules, says why a call asks and takes approvals back.";

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
            let lines = Arc::new(Mutex::new(Lines::of_standard_input()));
            let waiting = Waiting::new();
            let asker = Arc::new(Asker { lines: lines.clone(), waiting: waiting.clone() });
            let profile = {
                let mut lines = lines.lock().await;
                tokio::select! {
                    biased;
                    caught = signals.next() => return say("").map(|()| caught),
                    profile = prepared(profile, &mut lines) => profile?,
                }
            };
            let mut options = profile.options(credentials)?;
            options.approver = asker;
            options.approvals = Arc::new(Keeper { kept_by: profile.approvals() });
            let engine = Engine::open(init, options.clone())?;
            let watch = Watch::new(environment, engine.session_id())?;
            let interrupted = false;
            let mut repl =
                Repl { init, environment, options, engine, lines, watch, waiting, interrupted };
            repl.engine.warm_up();
            repl.greet(&profile)?;
            let code = repl.talk(first, &mut signals).await;
            repl.end("prompt_input_exit").await?;
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
    options: ostler::Options,
    engine: Engine,
    /// Held by an open question.
    lines: Arc<Mutex<Lines>>,
    watch: Watch,
    waiting: Waiting,
    /// Ctrl+C came, and nothing was entered since: the next one leaves.
    interrupted: bool,
}

enum Next {
    Go,
    Leave(Code),
}

impl Repl<'_> {
    fn greet(&mut self, profile: &Profile) -> Result<()> {
        let (version, model) = (env!("CARGO_PKG_VERSION"), self.engine.model());
        say(&format!("ostler {version} · {model} · session {}", self.engine.session_id()))?;
        let paint = Paint::for_terminal();
        for notice in profile.news() {
            say(&paint.dim(&visible(&notice)))?;
        }
        self.tell(&self.engine.waiting());
        self.tell_plan()?;
        say("Type what to do, /help for commands.")
    }

    /// Events outside of a turn.
    fn tell(&mut self, events: &[Envelope]) {
        for envelope in events {
            self.watch.see(envelope);
            warn_of(&envelope.event);
        }
    }

    /// What a resumed session was about to do.
    fn tell_plan(&self) -> Result<()> {
        let plan = self.engine.plan();
        if plan.is_open() { Screen::new().plan(&plan) } else { Ok(()) }
    }

    async fn talk(&mut self, first: Option<String>, signals: &mut Signals) -> Result<Code> {
        let mut next = first;
        loop {
            signals.forget();
            let line = match next.take() {
                Some(line) => line,
                None => {
                    let mut lines = self.lines.lock().await;
                    let line = tokio::select! {
                        biased;
                        caught = signals.next() => Err(caught),
                        line = lines.next_prompt("> ") => Ok(line?),
                    };
                    match line {
                        Ok(Some(line)) => line,
                        Ok(None) => return say("").map(|()| Code::Done),
                        Err(Code::Interrupted) if !self.interrupted || lines.gave_up_text() => {
                            self.interrupted = true;
                            lines.forget();
                            say("\n(Ctrl+C again or /quit to leave)")?;
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
        let (command, rest) = line.split_once(' ').unwrap_or((line, ""));
        match command {
            "" => {}
            "/quit" | "/exit" => return Ok(Next::Leave(Code::Done)),
            "/help" => say(HELP)?,
            "/sessions" => self.list()?,
            "/skills" => {
                skills::table(&self.engine.skills()).iter().try_for_each(|line| say(line))?
            }
            "/cost" => self.cost()?,
            "/resume" => self.resume(rest.trim()).await?,
            "/fork" => {
                let this = self.engine.session_id().to_string();
                self.switch(SessionChoice::Fork(Some(this))).await?;
            }
            "/compact" => {
                let words = Some(rest.trim().to_owned()).filter(|words| !words.is_empty());
                return self.turn(self.engine.compact(words), signals).await;
            }
            "/context" => {
                local::table(&self.engine.context()).iter().try_for_each(|line| say(line))?;
            }
            _ => return self.prompt(line, signals).await,
        }
        Ok(Next::Go)
    }

    fn sessions(&self) -> Result<Vec<ostler::SessionInfo>> {
        let home = self.environment.home()?;
        Ok(ostler::list_sessions(&home, &self.engine.workspace().cwd)?)
    }

    fn list(&self) -> Result<()> {
        sessions::table(&self.sessions()?).iter().try_for_each(|line| say(line))
    }

    fn cost(&self) -> Result<()> {
        let (cwd, session) = (&self.engine.workspace().cwd, self.engine.session_id());
        let home = self.environment.home()?;
        let lines = cost::of_session(home, cwd, session, self.options.budgets)?;
        lines.iter().try_for_each(|line| say(line))
    }

    async fn resume(&mut self, id: &str) -> Result<()> {
        let this = self.engine.session_id();
        if id == this.as_str() {
            return say("This is that session.");
        }
        if !id.is_empty() {
            return self.switch(SessionChoice::Resume(id.to_owned())).await;
        }
        let others = self.sessions()?;
        let newest = others.iter().find(|session| session.id != *this && session.messages > 0);
        match newest {
            Some(session) => self.switch(SessionChoice::Resume(session.id.to_string())).await,
            None => say("There is no other session in this folder."),
        }
    }

    /// The new session is open before the old one is given up.
    async fn switch(&mut self, session: SessionChoice) -> Result<()> {
        let mut options = self.options.clone();
        options.session = session;
        let new = Engine::open(self.init, options)?;
        self.end("resume").await?;
        self.watch = Watch::new(self.environment, new.session_id())?;
        // The old session is given back.
        self.engine = new;
        say(&format!("session {}", self.engine.session_id()))?;
        self.tell(&self.engine.waiting());
        self.tell_plan()
    }

    /// Hooks are told, commands end, and the session says what its tools did.
    async fn end(&mut self, reason: &str) -> Result<()> {
        let events = self.engine.close_because(reason).await;
        self.tell(&events);
        let paint = Paint::for_terminal();
        self.watch.finish().iter().try_for_each(|line| say(&paint.dim(&visible(line))))
    }

    async fn prompt(&mut self, prompt: &str, signals: &mut Signals) -> Result<Next> {
        let prepared = tokio::select! {
            biased;
            caught = signals.next() => return after(Some(caught)),
            prepared = self.engine.prepare(prompt) => prepared,
        };
        match prepared {
            Prepared::Prompt(prompt) => {
                self.turn(self.engine.submit_prepared(prompt), signals).await
            }
            Prepared::Unknown { why, events } => {
                self.tell(&events);
                let command = prompt.split_whitespace().next().unwrap_or_default();
                say(&format!(
                    "There is no command {}; /help lists them. {}",
                    visible(command),
                    visible(&why)
                ))?;
                Ok(Next::Go)
            }
        }
    }

    /// The first signal ends the turn in order, the second the session.
    async fn turn(&mut self, mut stream: EventStream, signals: &mut Signals) -> Result<Next> {
        let mut screen = Screen::new();
        self.waiting.begin();
        let (mut stopped_by, mut compacted) = (None, false);
        loop {
            let envelope = tokio::select! {
                biased;
                caught = signals.next() => {
                    if stopped_by.is_some() {
                        self.waiting.clear();
                        return say("").map(|()| Next::Leave(caught));
                    }
                    stopped_by = Some(caught);
                    self.stop(&mut screen)?;
                    continue;
                }
                envelope = printer::paced(&mut stream, stopped_by.is_some()) => envelope?,
                () = self.waiting.tick() => {
                    let is_asked = self.lines.try_lock().is_err();
                    self.waiting.draw(if is_asked { 0 } else { screen.room() });
                    continue;
                }
            };
            // Nothing is written into an open question. A question that is about to be withdrawn holds nothing up.
            if stopped_by.is_none() {
                tokio::select! {
                    biased;
                    caught = signals.next() => {
                        stopped_by = Some(caught);
                        self.stop(&mut screen)?;
                    }
                    () = async { drop(self.lines.lock().await) } => {}
                }
            }
            let Some(envelope) = envelope else { return after(stopped_by) };
            self.watch.see(&envelope);
            self.waiting.event(&envelope.event);
            match envelope.event {
                Event::Finished(finished) => {
                    screen.end_line()?;
                    // What no answer showed: why a conversation was not summed up.
                    if finished.iterations == 0 && !compacted {
                        say(&visible(&finished.text))?;
                    }
                    show_end(&finished)?;
                    return after(stopped_by);
                }
                event => {
                    compacted |= matches!(event, Event::Compacted { .. });
                    screen.event(&event)?;
                }
            }
        }
    }

    fn stop(&mut self, screen: &mut Screen) -> Result<()> {
        self.interrupted = true;
        self.waiting.clear();
        self.engine.interrupt();
        screen.break_line()
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
fn after(stopped_by: Option<Code>) -> Result<Next> {
    Ok(match stopped_by {
        None | Some(Code::Interrupted) => Next::Go,
        Some(code) => Next::Leave(code),
    })
}

fn say(text: &str) -> Result<()> {
    write(&format!("{text}\n"))
}

pub fn write(text: &str) -> Result<()> {
    Ok(printer::print(text)?)
}
