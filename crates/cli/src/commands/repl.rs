//! `ostler` without -p: a plain line session. Text as it comes, a line per call, questions answered with y or n.

use super::{no_key, sessions};
use crate::args::RunArgs;
use crate::environment::Environment;
use crate::exit::{Code, warn};
use crate::output::screen::{Screen, summary};
use crate::output::{text::failure, usage};
use crate::wire;
use anyhow::Result;
use futures_util::StreamExt;
use ostler::{Approver, BoxFuture, Engine, Event, Question, Reply, strip_terminal};
use std::io::{BufRead, Write};
use std::sync::Arc;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{Mutex, mpsc};

const HELP: &str = "\
/sessions      list the sessions of this folder
/resume [ID]   go on with a session (without ID: the newest)
/fork          go on with a copy of this session
/quit          leave (also Ctrl+D)
Ctrl+C         stop the running turn; everything done is kept";

/// Lines typed by the person, shared by the prompt and by questions.
type Lines = Arc<Mutex<mpsc::Receiver<String>>>;

pub fn run(init: &ostler::Init, environment: &Environment, mut args: RunArgs) -> Result<Code> {
    let Some(credentials) = environment.credentials() else { return Ok(no_key::explain()) };
    let lines = read_lines();
    let asker: Arc<dyn Approver> = Arc::new(Asker { lines: lines.clone() });
    let first = args.prompt.take();
    ostler::block_on(async {
        let options = wire::options(&args, environment, credentials, Some(asker))?;
        let mut repl = Repl {
            init,
            environment,
            options: options.clone(),
            engine: Engine::open(init, options)?,
            lines,
        };
        repl.greet()?;
        repl.talk(first).await
    })?
}

struct Repl<'a> {
    init: &'a ostler::Init,
    environment: &'a Environment,
    options: ostler::Options,
    engine: Engine,
    lines: Lines,
}

enum Next {
    Go,
    Quit,
}

impl Repl<'_> {
    fn greet(&self) -> Result<()> {
        say(&format!(
            "ostler {} · {} · session {}",
            env!("CARGO_PKG_VERSION"),
            self.engine.model(),
            self.engine.session_id()
        ))?;
        for notice in self.engine.notices() {
            warn(notice);
        }
        say("Type what to do, /help for commands.")
    }

    async fn talk(&mut self, first: Option<String>) -> Result<Code> {
        let mut next = first;
        let mut interrupts = signal(SignalKind::interrupt())?;
        loop {
            let line = match next.take() {
                Some(line) => line,
                None => {
                    ask_for("> ")?;
                    let mut lines = self.lines.lock().await;
                    tokio::select! {
                        line = lines.recv() => match line {
                            Some(line) => line,
                            None => return say("").map(|()| Code::Done),
                        },
                        _ = interrupts.recv() => {
                            say("\n(type /quit to leave)")?;
                            continue;
                        }
                    }
                }
            };
            match self.line(line.trim()).await {
                Ok(Next::Go) => {}
                Ok(Next::Quit) => return Ok(Code::Done),
                // A mistake in a command does not end the session.
                Err(error) => warn(&format!("{error:#}")),
            }
        }
    }

    async fn line(&mut self, line: &str) -> Result<Next> {
        let (command, rest) = line.split_once(' ').unwrap_or((line, ""));
        match command {
            "" => {}
            "/quit" | "/exit" => return Ok(Next::Quit),
            "/help" => say(HELP)?,
            "/sessions" => self.list()?,
            "/resume" => self.switch(match rest.trim() {
                "" => ostler::SessionChoice::Continue,
                id => ostler::SessionChoice::Resume(id.to_owned()),
            })?,
            "/fork" => self
                .switch(ostler::SessionChoice::Fork(Some(self.engine.session_id().to_string())))?,
            _ if command.starts_with('/') => {
                say(&format!("There is no command {command}; /help lists them."))?
            }
            _ => self.turn(line).await?,
        }
        Ok(Next::Go)
    }

    fn list(&self) -> Result<()> {
        let sessions =
            ostler::list_sessions(&self.environment.home()?, &self.engine.workspace().cwd)?;
        for line in sessions::table(&sessions) {
            say(&line)?;
        }
        Ok(())
    }

    /// The new session is open before the old one is given up.
    fn switch(&mut self, session: ostler::SessionChoice) -> Result<()> {
        let mut options = self.options.clone();
        options.session = session;
        self.engine = Engine::open(self.init, options)?;
        say(&format!("session {}", self.engine.session_id()))
    }

    async fn turn(&self, prompt: &str) -> Result<()> {
        let mut screen = Screen::new();
        let mut interrupts = signal(SignalKind::interrupt())?;
        let mut stream = self.engine.submit(prompt);
        loop {
            tokio::select! {
                biased;
                _ = interrupts.recv() => self.engine.interrupt(),
                event = stream.next() => match event {
                    Some(Event::Finished(finished)) => {
                        screen.end_line()?;
                        if let Some(line) = failure(&finished) {
                            warn(&line);
                        }
                        return say(&usage::line(&finished));
                    }
                    Some(event) => screen.event(&event)?,
                    None => return Ok(()),
                },
            }
        }
    }
}

/// Asks on the terminal. The end of input and Ctrl+C mean no.
struct Asker {
    lines: Lines,
}

impl Approver for Asker {
    fn ask(&self, question: Question) -> BoxFuture<'_, Reply> {
        Box::pin(async move {
            let no = |why: &str| Reply::No(format!("the user said no{why}"));
            let what = strip_terminal(&summary(&question.input));
            let text = format!(
                "{} {what}\n  {}\n  run it? [y]es, [a]lways in this session, [n]o: ",
                question.tool, question.why
            );
            if ask_for(&text).is_err() {
                return no("");
            }
            let answer = self.lines.lock().await.recv().await;
            match answer.as_deref().map(str::trim) {
                Some("y" | "yes") => Reply::Yes,
                Some("a" | "always") => Reply::YesForSession,
                Some("" | "n" | "no") | None => no(""),
                Some(reason) => no(&format!(": {reason}")),
            }
        })
    }
}

fn read_lines() -> Lines {
    let (sender, receiver) = mpsc::channel(1);
    // Standard input has no cancellable read: a thread of its own waits for it and ends with the program.
    std::thread::spawn(move || {
        for line in std::io::stdin().lock().lines().map_while(Result::ok) {
            if sender.blocking_send(line).is_err() {
                return;
            }
        }
    });
    Arc::new(Mutex::new(receiver))
}

fn say(text: &str) -> Result<()> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{text}")?;
    Ok(out.flush()?)
}

fn ask_for(text: &str) -> Result<()> {
    let mut out = std::io::stdout().lock();
    write!(out, "{text}")?;
    Ok(out.flush()?)
}
