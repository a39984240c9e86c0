//! A session: one durable conversation that any number of surfaces can drive and watch.

use crate::driver::{Driver, Until};
use crate::error::Error;
use crate::host::Host;
use crate::input::{Input, InputReceipt, InputRefused, Prompt};
use crate::kit::ToolChoice;
use crate::memory::words_of;
use crate::plain_threads::SEARCHES;
use crate::prompt_front::furnished;
use crate::questions::{Attendance, QuestionDesk};
use crate::queue::{Place, Queue};
use crate::report::{self, ContextReport};
use crate::ring::{Cursor, Observer};
use crate::session_events::SessionEvents;
use crate::session_options::SessionOptions;
use crate::session_parts::SessionParts;
use crate::skills::with_skills;
use crate::system::{SystemClock, SystemIds};
use ostler_core::event::{Control, Envelope, Event};
use ostler_core::ids::{IdSource, InboundId, ModelId, SessionId};
use ostler_core::inbox::{Delivery, Inbound, InboundSource, QueuedItem};
use ostler_core::message::Message;
use ostler_core::permission::{Live, Mode, Workspace};
use ostler_core::ports::{ModelInfo, Recorder};
use ostler_core::session_state::SessionState;
use ostler_core::time::Clock;
use ostler_core::todo::Plan;
use ostler_core::tool_facts::ToolKind;
use ostler_engine::{Agent, TurnStream, compact, resume_turn, run_with};
use ostler_tools::confine::Confinement;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// How long the end waits for webhooks that are on their way.
const FLUSH: Duration = Duration::from_secs(2);

/// A handle. Copies of it mean the same session.
#[derive(Clone)]
pub struct Session {
    pub(crate) shared: Arc<SessionShared>,
}

pub(crate) struct SessionShared {
    pub(crate) agent: Arc<Agent>,
    pub(crate) workspace: Live<Workspace>,
    pub(crate) parts: SessionParts,
    pub(crate) events: Arc<SessionEvents>,
    pub(crate) desk: Arc<QuestionDesk>,
    /// What of the tools that arrive later is on offer.
    pub(crate) tool_choice: ToolChoice,
    pub(crate) slow_call: Option<Duration>,
    pub(crate) queue: Queue,
    pub(crate) interrupt: Mutex<CancellationToken>,
    /// Held by a call of a program that may change something.
    pub(crate) changing: tokio::sync::Mutex<()>,
    /// Looking for the layers of the sandbox has begun, in this session or another one of the host.
    pub(crate) probing: Arc<AtomicBool>,
    /// What it was opened with.
    pub(crate) origin: (Host, Arc<SessionOptions>),
}

impl SessionShared {
    pub(crate) fn new(
        agent: Arc<Agent>,
        workspace: Live<Workspace>,
        parts: SessionParts,
        (events, desk): (Arc<SessionEvents>, Arc<QuestionDesk>),
        tool_choice: ToolChoice,
        origin: (Host, Arc<SessionOptions>),
    ) -> Self {
        let (slow_call, probing) = (origin.1.slow_call, origin.0.probing());
        let queue = Queue::resumed(agent.inbox().pending().len());
        let (interrupt, changing) = Default::default();
        SessionShared {
            agent,
            workspace,
            parts,
            events,
            desk,
            tool_choice,
            slow_call,
            queue,
            interrupt,
            changing,
            probing,
            origin,
        }
    }
}

/// What a driver does next.
pub(crate) enum Work {
    /// With the items of the inbox that it is made of.
    Prompt(Prompt, Vec<InboundId>),
    Compact(Option<String>),
}

impl Session {
    pub(crate) fn new(shared: SessionShared) -> Self {
        Session { shared: Arc::new(shared) }
    }

    /// Takes what a surface wants. It waits for nothing but a disk.
    ///
    /// # Errors
    /// Why it was not taken; then nothing has changed.
    pub fn send(&self, input: Input) -> Result<InputReceipt, InputRefused> {
        if self.is_closed() {
            return Err(InputRefused::Closed);
        }
        match input {
            Input::Prompt(prompt) => self.prompt(prompt),
            Input::Steer(message) => self.join(message, Delivery::NextBoundary),
            Input::Join(message) => self.join(message, Delivery::WithResults),
            Input::Compact { focus } => {
                self.enqueue(Place::Compact(focus));
                Ok(InputReceipt::Done)
            }
            Input::CancelQueued(Some(id)) => match self.withdraw(&[id])?.is_empty() {
                true => Err(InputRefused::NotQueued),
                false => Ok(InputReceipt::Done),
            },
            Input::RunQueued => {
                self.shared.queue.release();
                self.shared.events.wake_driver();
                Ok(InputReceipt::Done)
            }
            Input::CancelQueued(None) => self.withdraw_all().map(|()| InputReceipt::Done),
            Input::Interrupt { cancel_queued } => {
                self.interrupt();
                if cancel_queued {
                    self.withdraw_all()?;
                }
                Ok(InputReceipt::Interrupted { queued: self.queued() })
            }
            Input::Background { call } => self.move_to_background(call),
            Input::StopJob(id) => self.stop_job(&id),
            Input::Answer { question, reply, by } => {
                match self.shared.desk.answer(&question, reply, by) {
                    true => Ok(InputReceipt::Done),
                    false => Err(InputRefused::NoSuchQuestion),
                }
            }
            Input::SetMode(mode) => self.choose_mode(mode),
            Input::SetModel(name) => self.set_model(&name),
            Input::SetThinking(thinking) => self.set_thinking(thinking),
            Input::Rewind(rewind) => self.rewind(rewind),
            Input::Undo(undo) => self.undo(undo),
            Input::SetRules(rules) => self.set_rules(rules),
            Input::SetEnv(changes) => self.set_environment(changes),
            Input::AddDirs(paths) => self.add_directories(paths),
            Input::Mcp(input) => self.change_mcp(input),
            Input::Agent { agent, input } => self.send_to_agent(&agent, input),
        }
    }

    /// For the running turn; without one it is a prompt.
    fn join(&self, message: Message, when: Delivery) -> Result<InputReceipt, InputRefused> {
        match self.shared.queue.has_turn() {
            true => self.arrive(message, when),
            false => self.prompt(message.into()),
        }
    }

    /// For an agent at work: it reads it before its next step. One that has just ended its turn begins another one with it.
    pub(crate) fn tell(&self, message: Message) -> Result<InputReceipt, InputRefused> {
        match self.is_closed() {
            true => Err(InputRefused::Closed),
            false => self.join(message, Delivery::NextStep),
        }
    }

    /// What can start at once is recorded by its turn; what has to wait is recorded now.
    fn prompt(&self, prompt: Prompt) -> Result<InputReceipt, InputRefused> {
        let prompt = match self.shared.events.is_driven() {
            true => self.shared.queue.push_if_idle(prompt),
            false => Some(prompt),
        };
        let Some(prompt) = prompt else {
            self.shared.events.wake_driver();
            return Ok(InputReceipt::Done);
        };
        let message = prompt.marked(prompt.message.clone());
        self.arrive(message, Delivery::AfterTurn)
    }

    fn arrive(&self, body: Message, when: Delivery) -> Result<InputReceipt, InputRefused> {
        let (id, source) = (InboundId::new(SystemIds.uuid()), InboundSource::Person);
        let item = Inbound { id: id.clone(), source, when, body, at: SystemClock.now() };
        let queued = item.queued();
        self.shared.agent.inbox().arrive(item).map_err(InputRefused::Store)?;
        self.shared.events.emit(Event::Queued(queued));
        self.enqueue(Place::Inbox);
        Ok(InputReceipt::Queued(id))
    }

    fn enqueue(&self, place: Place) {
        self.shared.queue.push(place);
        self.shared.events.wake_driver();
    }

    fn withdraw(&self, ids: &[InboundId]) -> Result<Vec<InboundId>, InputRefused> {
        let ids = self.shared.agent.inbox().withdraw(ids).map_err(InputRefused::Store)?;
        if !ids.is_empty() {
            self.shared.events.emit(Event::Dequeued { ids: ids.clone() });
        }
        Ok(ids)
    }

    fn withdraw_all(&self) -> Result<(), InputRefused> {
        self.shared.queue.cancel_compactions();
        let person = |item: &Inbound| item.source == InboundSource::Person;
        let pending = self.shared.agent.inbox().pending().into_iter().filter(person);
        let ids: Vec<InboundId> = pending.map(|item| item.id).collect();
        self.withdraw(&ids).map(|_| ())
    }

    /// What arrived and was not delivered yet.
    pub fn queued(&self) -> Vec<QueuedItem> {
        self.shared.agent.inbox().pending().iter().map(Inbound::queued).collect()
    }

    /// A prompt or a summary that a person asked for waits.
    pub fn has_queued(&self) -> bool {
        let is_prompt = |item: &QueuedItem| item.source == InboundSource::Person;
        self.queued().iter().any(is_prompt) || self.shared.queue.has_compaction()
    }

    /// Drives the session until it is closed: turns run while the driver is polled.
    ///
    /// # Errors
    /// If somebody drives it already.
    pub fn drive(&self) -> Result<Driver, Error> {
        self.driver(Until::Closed)
    }

    /// Sends a prompt and drives the session until nothing is left to do.
    ///
    /// # Errors
    /// If the session is closed, or somebody drives it already.
    pub fn ask(&self, prompt: impl Into<Prompt>) -> Result<Driver, Error> {
        self.work(Input::Prompt(prompt.into()))
    }

    /// Starts what is queued and was held back, and drives the session until nothing is left to do.
    ///
    /// # Errors
    /// As for [`Session::ask`].
    pub fn run_queued(&self) -> Result<Driver, Error> {
        self.work(Input::RunQueued)
    }

    /// Sums up the conversation now. `focus` is what the summary should concentrate on.
    ///
    /// # Errors
    /// As for [`Session::ask`].
    pub fn compact(&self, focus: Option<String>) -> Result<Driver, Error> {
        self.work(Input::Compact { focus })
    }

    /// The log ends in the middle of a turn that can go on: with a prompt that was not answered, a question that nobody
    /// answered, or a call that a hook deferred.
    pub fn can_resume_turn(&self) -> bool {
        !self.shared.queue.has_turn() && self.shared.agent.journal.has_open_turn()
    }

    /// Goes on with such a turn: what was not decided is asked again. A new prompt instead withdraws it.
    ///
    /// # Errors
    /// If somebody drives the session already.
    pub fn resume_turn(&self) -> Result<Driver, Error> {
        let mut driver = self.driver(Until::Idle)?;
        driver.resume();
        Ok(driver)
    }

    fn work(&self, input: Input) -> Result<Driver, Error> {
        let driver = self.driver(Until::Idle)?;
        self.send(input).map_err(|refused| Error::Input(refused.to_string()))?;
        Ok(driver)
    }

    pub(crate) fn driver(&self, until: Until) -> Result<Driver, Error> {
        match self.shared.events.begin_driving() {
            true => Ok(Driver::new(self.clone(), until)),
            false => Err(Error::AlreadyDriven),
        }
    }

    /// What a surface needs to draw the session as it is now, and where to go on reading: the state and the events after
    /// the cursor together say the same as all events from the beginning.
    pub fn state(&self) -> (SessionState, Cursor) {
        self.shared.events.state()
    }

    /// Reads the events after a cursor without having a say in how fast they come. An observer that falls behind gets
    /// `Lagged`, and asks for the state again.
    #[must_use]
    pub fn observe(&self, from: &Cursor) -> Observer {
        self.shared.events.observe(from)
    }

    /// Somebody is there who can answer questions, as long as this lives.
    #[must_use]
    pub fn attend(&self) -> Attendance {
        self.shared.desk.attend()
    }

    pub fn id(&self) -> &SessionId {
        self.shared.agent.journal.log().id()
    }

    pub fn control(&self) -> Control {
        self.shared.agent.control()
    }

    pub fn mode(&self) -> Mode {
        self.shared.agent.gate.mode()
    }

    pub fn model(&self) -> ModelId {
        self.shared.agent.choice().primary
    }

    /// The primary model and, if there is one, the fallback.
    pub fn models(&self) -> Vec<ModelId> {
        let choice = self.shared.agent.choice();
        [Some(choice.primary), choice.fallback].into_iter().flatten().collect()
    }

    pub fn model_info(&self, model: &ModelId) -> ModelInfo {
        self.shared.agent.model.info(model)
    }

    /// As it is now: directories can be added.
    pub fn workspace(&self) -> Arc<Workspace> {
        self.shared.workspace.now()
    }

    pub fn confinement(&self) -> &Confinement {
        &self.shared.parts.confinement
    }

    /// The plan as it is now.
    pub fn plan(&self) -> Arc<Plan> {
        self.shared.agent.journal.plan()
    }

    /// What fills the window, by owner.
    pub fn context(&self) -> ContextReport {
        let (view, _) = self.shared.agent.journal.conversation();
        report::of(&self.shared.agent, &view)
    }

    /// Emits what nobody has read yet, such as what was found wrong when the session was opened. Otherwise the next turn
    /// begins with it.
    pub fn announce(&self) -> Vec<Arc<Envelope>> {
        self.shared.events.emit_waiting()
    }

    /// Opens what a search in the memory needs, so that the first prompt need not wait for it.
    pub fn warm_up(&self) {
        if let Some(memories) = self.shared.parts.memories.clone() {
            SEARCHES.run(move || memories.warm_up());
        }
    }

    /// What the tools did so far, one line each.
    pub fn tool_statistics(&self) -> Vec<String> {
        self.shared.events.statistics()
    }

    pub fn is_closed(&self) -> bool {
        self.shared.queue.is_closed()
    }

    /// Keeps what the session leaves to later ones, ends every process that its commands left and waits until it is
    /// gone. Hooks get the event first, with a reason such as `other` or `prompt_input_exit`. Gives the events of the end,
    /// for a surface that does not drive.
    pub async fn close(&self, reason: &str) -> Vec<Arc<Envelope>> {
        let shared = &self.shared;
        if !shared.queue.close() {
            return Vec::new();
        }
        self.interrupt();
        let mut emitted = shared.events.emit_waiting();
        let mut emit = |event| emitted.push(shared.events.emit(event));
        for notice in shared.agent.end_session(reason).await {
            emit(Event::notice(notice));
        }
        if let Some(registry) = &shared.parts.registry {
            registry.flush(FLUSH).await;
        }
        if let Some(learner) = shared.events.learner() {
            learner.learn_new_turns().await.into_iter().for_each(&mut emit);
        }
        self.close_jobs().into_iter().map(Event::notice).for_each(&mut emit);
        shared.parts.subagents.close().await;
        if let Some(claims) = shared.parts.claims() {
            claims.return_all().await;
        }
        shared.parts.servers.close().await;
        // If the supervisor does not answer, it ends everything when we are gone.
        let _ = shared.parts.scope.close().await;
        emit(Event::Closed { reason: reason.to_owned() });
        shared.events.finish();
        shared.events.wake_driver();
        emitted
    }

    fn interrupt(&self) {
        self.shared.interrupt.lock().unwrap_or_else(PoisonError::into_inner).cancel();
    }
}

/// For the driver.
impl Session {
    pub(crate) fn shared(&self) -> &SessionShared {
        &self.shared
    }

    pub(crate) fn events(&self) -> &SessionEvents {
        &self.shared.events
    }

    pub(crate) fn slow_call(&self) -> Option<Duration> {
        self.shared.slow_call
    }

    /// Items whose prompt did not become a turn are not offered again.
    pub(crate) fn refuse(&self, inbound: Vec<InboundId>) {
        // What cannot be written now is offered again after a restart, which is better than lost.
        let _ = self.shared.agent.inbox().refuse(inbound);
    }

    pub(crate) fn resuming(&self) -> TurnStream {
        self.shared.queue.begin();
        resume_turn(self.shared.agent.clone(), self.new_interrupt())
    }

    /// `keep`: what is queued does not start by itself.
    pub(crate) fn turn_ended(&self, keep: bool) {
        self.shared.queue.ended(keep);
        if !keep && self.queued().is_empty() {
            self.shared.queue.release_delivered();
        }
        self.use_added_directories();
    }

    /// Rules of the turn before are gone, and skills may have changed.
    pub(crate) fn begin_turn(&self) {
        self.shared.agent.begin_turn();
        self.serve_mcp();
        self.shared.parts.skills.catalog().refresh();
    }

    pub(crate) fn turn(&self, prompt: Message, inbound: Vec<InboundId>) -> TurnStream {
        let shared = &self.shared;
        let recalling = self.recalling(words_of(&prompt));
        let (view, _) = shared.agent.journal.conversation();
        let window = self.model_info(&self.model()).window;
        let offered = shared.agent.tools.current().of_kind(ToolKind::Instructs).is_some();
        let told = if offered { shared.parts.skills.told(Some(window)) } else { None };
        let prompt = with_skills(prompt, &view, told);
        let interrupt = self.new_interrupt();
        let furnished = furnished(&shared.parts, recalling, prompt, (view, &shared.agent.journal));
        run_with(shared.agent.clone(), furnished, inbound, interrupt)
    }

    pub(crate) fn compacting(&self, focus: Option<String>) -> TurnStream {
        compact(self.shared.agent.clone(), focus, self.new_interrupt())
    }

    pub(crate) fn new_interrupt(&self) -> CancellationToken {
        let interrupt = CancellationToken::new();
        *self.shared.interrupt.lock().unwrap_or_else(PoisonError::into_inner) = interrupt.clone();
        interrupt
    }
}
