//! The life of a session that a program drives: lines in, frames out, until both sides are done.

use super::input_lines::{InputLine, InputLines};
use super::opening::{OpenSession, Opener};
use super::permission_prompts::{Answered, PermissionPrompts, Prompter, settle};
use super::transcript_file::AgentFacts;
use crate::commands::local::{self, Local};
use crate::commands::signals::Signals;
use crate::exit::{self, Code, Wrong, warn};
use crate::output::printer;
use anyhow::Result;
use futures_util::StreamExt;
use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;
use ostler::{
    Attendance, Driver, Envelope, Event, InboundId, Input, InputReceipt, Prompt, Rewind, Rewinding,
    SystemIds, Timestamp,
};
use ostler_sdk::agent_sdk::{Incoming, InitializeRequest, UserLine, failure, read_line};
use ostler_sdk::{line, refused};
use serde_json::{Value, json};
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;

/// How long jobs are waited for after the input has ended.
const PATIENCE_WITH_JOBS: Duration = Duration::from_secs(5);

pub struct Conversation<'a> {
    pub(super) opener: Opener<'a>,
    lines: InputLines,
    callback_lines: mpsc::UnboundedReceiver<String>,
    pub(super) open: Option<OpenSession>,
    driver: Option<Driver>,
    /// Somebody answers questions.
    attendance: Option<(Attendance, Prompter)>,
    pub(super) prompts: PermissionPrompts,
    /// Answers that take time.
    pub(super) later: FuturesUnordered<BoxFuture<'static, Value>>,
    /// Messages whose turn has not begun.
    pub(super) sent: VecDeque<Sent>,
    /// What is to be said with the next message.
    aside: Vec<ostler::Block>,
    /// What the model could not read of denials that ended a turn; it is told with the next message.
    denials: Vec<String>,
    is_input_open: bool,
    pub(super) is_running: bool,
    state: &'static str,
    last_failed: bool,
}

/// A message of the program.
pub struct Sent {
    pub(super) uuid: String,
    /// The program gave the uuid.
    pub(super) is_named: bool,
    origin: Option<Value>,
    content: Value,
    /// None: the next turn begins with it.
    pub(super) item: Option<InboundId>,
}

enum Step {
    Signal(Code),
    Print(String),
    Line(Option<Result<InputLine, String>>),
    Answered(Option<Box<Answered>>),
    Envelope(Option<Arc<Envelope>>),
}

impl<'a> Conversation<'a> {
    pub fn new(
        opener: Opener<'a>,
        lines: InputLines,
        callback_lines: mpsc::UnboundedReceiver<String>,
    ) -> Self {
        Conversation {
            opener,
            lines,
            callback_lines,
            open: None,
            driver: None,
            attendance: None,
            prompts: PermissionPrompts::default(),
            later: FuturesUnordered::new(),
            sent: VecDeque::new(),
            aside: Vec::new(),
            denials: Vec::new(),
            is_input_open: true,
            is_running: false,
            state: "idle",
            last_failed: false,
        }
    }

    pub async fn run(&mut self, signals: &mut Signals) -> Result<Code> {
        loop {
            if !self.is_input_open && self.driver.is_none() {
                return Ok(self.code());
            }
            match self.step(signals).await? {
                Step::Signal(Code::Terminated) => return Ok(Code::Terminated),
                Step::Signal(_) => self.interrupted()?,
                Step::Print(line) => printer::print(&line)?,
                Step::Line(Some(Ok(InputLine::Text(line)))) => self.line(&line)?,
                Step::Line(Some(Ok(InputLine::TooLong))) => ignored("it is longer than 64 MB"),
                Step::Line(Some(Err(why))) => return Err(Wrong::Usage(why).into()),
                Step::Line(None) => self.input_ended(),
                Step::Answered(answered) => {
                    if let (Some(answered), Some(open)) = (answered, &mut self.open) {
                        self.denials.extend(settle(*answered, open)?);
                    }
                }
                Step::Envelope(Some(envelope)) => self.envelope(&envelope)?,
                Step::Envelope(None) => return Ok(self.code()),
            }
            self.tell_state()?;
        }
    }

    async fn step(&mut self, signals: &mut Signals) -> Result<Step> {
        Ok(tokio::select! {
            biased;
            code = signals.next() => Step::Signal(code),
            Some(line) = self.callback_lines.recv() => Step::Print(line),
            Some(frame) = self.later.next() => Step::Print(line(&frame)),
            line = self.lines.next(), if self.is_input_open => Step::Line(line),
            answered = self.prompts.next() => Step::Answered(answered.map(Box::new)),
            envelope = driven(&mut self.driver) => Step::Envelope(envelope?),
        })
    }

    fn code(&self) -> Code {
        if self.last_failed { Code::Failed } else { Code::Done }
    }

    pub async fn close(&mut self) {
        self.opener.callbacks.close();
        self.later.clear();
        drop(self.driver.take());
        if let Some(open) = self.open.take() {
            let ended = open.session.close("other").await;
            ended.iter().for_each(|envelope| exit::warn_of(&envelope.event));
            open.host.close().await;
        }
    }

    /// Ctrl+C ends the turn, and the program with it.
    fn interrupted(&mut self) -> Result<()> {
        match &self.open {
            Some(open) if self.is_running => {
                open.session.send(Input::Interrupt { cancel_queued: true })?;
            }
            _ => self.driver = None,
        }
        self.input_ended();
        Ok(())
    }

    /// No message and no answer can come any more. What was begun is finished.
    fn input_ended(&mut self) {
        self.is_input_open = false;
        self.opener.callbacks.close();
        // A tool can answer without the program.
        self.attendance.take_if(|(_, prompter)| matches!(prompter, Prompter::Program(_)));
        self.driver = self.driver.take().map(|driver| driver.until_quiet(PATIENCE_WITH_JOBS));
    }

    fn line(&mut self, text: &str) -> Result<()> {
        let incoming = read_line(text)
            .map_err(|why| Wrong::Usage(format!("cannot read a line of standard input: {why}")))?;
        match incoming {
            Incoming::User(user) => {
                self.opened(InitializeRequest::default())?;
                self.user(user)
            }
            Incoming::Request { id, body } => self.request(&id, &body),
            Incoming::Response { id, answer } => {
                self.opener.callbacks.answer(&id, answer);
                Ok(())
            }
            Incoming::BadUser(why) => self.bad_user(&why),
            Incoming::Odd(why) => {
                ignored(&why);
                Ok(())
            }
            Incoming::Cancel { .. } | Incoming::Other => Ok(()),
        }
    }

    /// A program that wrote a message waits for a result.
    fn bad_user(&mut self, why: &str) -> Result<()> {
        ignored(why);
        if !self.is_running {
            self.last_failed = true;
            let mut frame = refused(why, &SystemIds);
            if let Some(open) = &self.open {
                frame["session_id"] = open.session.id().as_str().into();
            }
            printer::print(&line(&frame))?;
        }
        Ok(())
    }

    /// Opens the session unless it is open. False: it was.
    pub(super) fn opened(&mut self, request: InitializeRequest) -> Result<bool> {
        if self.open.is_some() {
            return Ok(false);
        }
        let open = match self.opener.open(request) {
            Ok(open) => open,
            Err(error) => {
                let frame = refused(&exit::words(&error), &SystemIds);
                printer::print(&line(&frame))?;
                return Err(error);
            }
        };
        self.driver = Some(open.session.drive()?);
        let prompter = match self.opener.args.sdk.prompter() {
            None => None,
            Some("stdio") => Some(Prompter::Program(self.opener.callbacks.clone())),
            Some(name) => Some(Prompter::Tool(name.to_owned())),
        };
        self.attendance = prompter.map(|prompter| (open.session.attend(), prompter));
        self.open = Some(open);
        Ok(true)
    }

    /// Answers a request of the program.
    fn request(&mut self, id: &str, body: &Value) -> Result<()> {
        if body.get("subtype").and_then(Value::as_str) == Some("initialize") {
            let request = match InitializeRequest::read(body) {
                Ok(request) => request,
                Err(why) => return Ok(printer::print(&line(&failure(id, &why)))?),
            };
            let has_hooks = !request.hooks.is_empty();
            let is_new = self.opened(request)?;
            self.introduce(id, is_new || !has_hooks)?;
            // A program that comes back knows nothing of what goes on.
            let running = self.open.as_ref().filter(|_| !is_new);
            let frame = running.map(|open| open.frames.background());
            return frame.map_or(Ok(()), |frame| Ok(printer::print(&line(&frame))?));
        }
        self.opened(InitializeRequest::default())?;
        self.answer(id, body)
    }

    fn user(&mut self, user: UserLine) -> Result<()> {
        let Some(open) = &mut self.open else { return Ok(()) };
        let is_named = user.uuid.is_some();
        let uuid = user.uuid.clone().unwrap_or_else(ostler::new_uuid);
        if !user.should_query {
            open.record.prompt(&user.content, &uuid, false)?;
            self.aside.extend(user.message.blocks().iter().cloned());
            return Ok(());
        }
        let text = user.only_text().filter(|_| !user.verbatim && self.aside.is_empty());
        let command = text.filter(|text| text.starts_with('/') && !self.is_running);
        if let Some(local) = command.and_then(Local::of) {
            return self.local(local);
        }
        let command = command.map(str::to_owned);
        let mut message = user.message;
        message.blocks_mut().splice(0..0, self.aside.drain(..));
        if command.is_none() {
            let note = |text| ostler::Block::Text { text, meta: true };
            message.blocks_mut().splice(0..0, self.denials.drain(..).map(note));
        }
        let input = match command {
            Some(text) => Input::Prompt(Prompt::typed(text)),
            None if self.is_running => Input::Join(message),
            None => Input::Prompt(message.into()),
        };
        let item = match open.session.send(input)? {
            InputReceipt::Queued(item) => Some(item),
            _ => None,
        };
        if item.is_none() {
            self.opener.facts.set_prompt(&uuid);
        }
        let UserLine { content, origin, .. } = user;
        self.sent.push_back(Sent { uuid, is_named, origin, content, item });
        self.is_running = true;
        Ok(())
    }

    /// What is answered without the model.
    fn local(&mut self, local: Local) -> Result<()> {
        let Some(open) = &mut self.open else { return Ok(()) };
        let text = match local {
            Local::Compact(focus) => {
                open.session.send(Input::Compact { focus })?;
                self.is_running = true;
                return Ok(());
            }
            Local::Context => local::table(&open.session.context()).join("\n"),
            Local::Cost => "The cost is in total_cost_usd of each result.".to_owned(),
            Local::Clear => return self.clear(),
        };
        let at = Timestamp(ostler::now_ms());
        let frames = open.frames.local(&text, at, &open.view);
        self.last_failed = false;
        print_all(&frames)
    }

    /// What was said so far is no longer part of the conversation. Files stay as they are.
    fn clear(&mut self) -> Result<()> {
        let Some(open) = &mut self.open else { return Ok(()) };
        let turns = open.session.overview().map_or(0, |overview| overview.turns);
        let mut frames = Vec::new();
        let mut text = String::new();
        if turns > 0 {
            let what = Rewinding { files: false, conversation: true };
            let rewind = Rewind { turn: 1, what, dry_run: false, keep: Vec::new(), shown: None };
            match open.session.send(Input::Rewind(rewind)) {
                Ok(_) => {
                    open.record.rewind(1);
                    frames.push(open.frames.reset());
                }
                Err(refused) => text = format!("The conversation was not cleared: {refused}"),
            }
        }
        let at = Timestamp(ostler::now_ms());
        frames.extend(open.frames.local(&text, at, &open.view));
        self.last_failed = false;
        print_all(&frames)
    }

    fn envelope(&mut self, envelope: &Envelope) -> Result<()> {
        let begun = self.follow(envelope);
        let replays = self.opener.args.sdk.replay_user_messages;
        let Some(open) = &mut self.open else { return Ok(()) };
        let begins = matches!(envelope.event, Event::TurnStarted { .. });
        let begins = begins || !open.frames.has_requested();
        for Sent { uuid, is_named, origin, .. } in &begun {
            open.frames.answering(is_named.then_some(uuid.as_str()), origin.as_ref());
        }
        let mut frames = open.frames.event(envelope, &open.view);
        for sent in &begun {
            open.record.prompt(&sent.content, &sent.uuid, begins)?;
            if replays {
                let named = (sent.uuid.as_str(), sent.origin.as_ref());
                frames.push(open.frames.replay(&sent.content, named, envelope.at));
            }
        }
        for frame in &frames {
            if frame["type"] == "result" {
                self.last_failed = frame["is_error"] == true;
                open.record.turn_ended()?;
            }
            open.record.frame(frame)?;
            printer::print(&line(frame))?;
        }
        record_agents(open, &frames)?;
        match &envelope.event {
            _ if !envelope.agent.is_root() => Ok(()),
            Event::Finished(_) | Event::PromptRefused { .. } | Event::TurnAbandoned => {
                self.turn_ended()
            }
            _ => Ok(()),
        }
    }

    /// What is queued starts by itself, however the turn before it ended.
    fn turn_ended(&mut self) -> Result<()> {
        self.is_running = false;
        if let Some(open) = &self.open
            && self.sent.iter().any(|sent| sent.item.is_some())
        {
            open.session.send(Input::RunQueued)?;
            self.is_running = true;
        }
        Ok(())
    }

    /// Keeps up with what happened, and gives the messages that are part of the conversation now.
    fn follow(&mut self, envelope: &Envelope) -> Vec<Sent> {
        let Some(open) = &self.open else { return Vec::new() };
        let is_root = envelope.agent.is_root();
        match &envelope.event {
            Event::CallAsked { question: Some(question), .. } => {
                if let Some((_, prompter)) = &self.attendance {
                    self.prompts.ask(question, prompter, open);
                }
            }
            Event::QuestionClosed { id, .. } => self.prompts.close(id),
            Event::ControlChanged(control) if is_root => {
                self.opener.facts.set_mode(control.mode.name());
            }
            Event::TurnStarted { .. } if is_root => {
                self.is_running = true;
                // What waited in the inbox is delivered by an event of its own.
                let first = self.sent.iter().position(|sent| sent.item.is_none());
                return first.and_then(|first| self.sent.remove(first)).into_iter().collect();
            }
            Event::Delivered { ids } if is_root => return self.delivered(ids),
            Event::Dequeued { ids } if is_root => drop(self.delivered(ids)),
            Event::PromptRefused { .. } if is_root => drop(self.sent.pop_front()),
            _ => {}
        }
        Vec::new()
    }

    fn delivered(&mut self, ids: &[InboundId]) -> Vec<Sent> {
        let is_one = |sent: &Sent| sent.item.as_ref().is_some_and(|item| ids.contains(item));
        let (delivered, rest): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.sent).into_iter().partition(is_one);
        self.sent = rest.into();
        delivered
    }

    pub(super) fn state(&self) -> &'static str {
        let Some(open) = &self.open else { return "idle" };
        let is_busy = self.is_running
            || !self.sent.is_empty()
            || open.session.has_background_agents()
            || open.session.has_report();
        match is_busy {
            _ if !self.prompts.is_empty() => "requires_action",
            true => "running",
            false => "idle",
        }
    }

    /// A program that asked for it is told whether anything is still to come.
    fn tell_state(&mut self) -> Result<()> {
        let state = self.state();
        let wants = self.opener.environment.text("CLAUDE_CODE_SDK_READS_SESSION_STATE");
        if let Some(open) = &self.open
            && state != std::mem::replace(&mut self.state, state)
            && wants.as_deref() == Some("1")
        {
            let fields = json!({ "state": state, "sdk_host_only": true });
            let frame = open.frames.system("session_state_changed", fields);
            printer::print(&line(&frame))?;
        }
        Ok(())
    }
}

/// Keeps what agents asked, wrote and called in transcripts of their own.
fn record_agents(open: &mut OpenSession, frames: &[Value]) -> Result<()> {
    let unsaid = open.frames.take_unsaid();
    for frame in frames.iter().chain(&unsaid) {
        let about = |call: &str| {
            let (path, kind, description) = open.frames.agent_of(call)?;
            let agents = open.session.agents();
            let agent = agents.iter().find(|agent| agent.path == *path)?;
            Some(AgentFacts {
                id: agent.session.to_string(),
                kind: kind.unwrap_or(&agent.kind).to_owned(),
                description: description.to_owned(),
            })
        };
        open.record.agent_frame(frame, about)?;
    }
    Ok(())
}

fn ignored(why: &str) {
    warn(&format!("a line of standard input is ignored: {why}"));
}

async fn driven(driver: &mut Option<Driver>) -> Result<Option<Arc<Envelope>>> {
    match driver {
        Some(driver) => Ok(printer::paced(driver, false).await?),
        None => std::future::pending().await,
    }
}

pub fn print_all(frames: &[Value]) -> Result<()> {
    Ok(frames.iter().try_for_each(|frame| printer::print(&line(frame)))?)
}
