//! The loop: ask the machine what to do, do it, record what became of it.

use crate::agent::Agent;
use crate::budget::{self, Refused};
use crate::context::{Compactions, Halt};
use crate::scheduler::Scheduler;
use crate::turn_stream::{Emitter, TurnStream};
use ostler_core::context::Trigger;
use ostler_core::event::{Event, Finished, Notice};
use ostler_core::ids::InboundId;
use ostler_core::ledger::{Purpose, Usage};
use ostler_core::message::Message;
use ostler_core::model::{Request, StopReason};
use ostler_core::ports::{Recorder, StoreError};
use ostler_core::session::Entry;
use ostler_core::todo::Plan;
use ostler_core::turn::{
    Advance, Continue, Fact, Outcome, PrepareError, State, Step, StopVerdict, Terminal, advance,
    next,
};
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// Runs one turn to its end. Drop the stream to cancel at once; `interrupt` ends it in order.
/// The prompt is on disk before the first request.
pub fn run(agent: Arc<Agent>, prompt: Message, interrupt: CancellationToken) -> TurnStream {
    run_with(agent, std::future::ready((prompt, Vec::new())), Vec::new(), interrupt)
}

/// The same for a prompt that is still being made, with what the reader should know of that. `inbound` are the items of
/// the inbox that it is made of: they are admitted with it.
pub fn run_with(
    agent: Arc<Agent>,
    prompt: impl Future<Output = (Message, Vec<Notice>)> + Send + 'static,
    inbound: Vec<InboundId>,
    interrupt: CancellationToken,
) -> TurnStream {
    TurnStream::new(|out| async move {
        let mut turn = Turn::new(agent, interrupt, out);
        turn.agent.journal.begin_with(&inbound);
        let (prompt, notices) = prompt.await;
        let state = turn.admit(prompt, inbound).await;
        turn.notices(notices).await;
        turn.drive(state).await;
    })
}

/// Continues with a turn that a process left in the middle, or whose call a hook deferred. Finished calls keep their
/// results, started ones may have taken effect, and the rest is judged and asked about again.
pub fn resume_turn(agent: Arc<Agent>, interrupt: CancellationToken) -> TurnStream {
    TurnStream::new(|out| async move {
        let mut turn = Turn::new(agent, interrupt, out);
        let journal = turn.agent.journal.clone();
        journal.try_again();
        journal.begin_with(&[]);
        let (view, pending, turns) = journal.open_conversation();
        turn.out.emit(Event::TurnStarted { turn: turns }).await;
        turn.tools.reopen(&view, &pending);
        turn.drive(State::resume(view)).await;
    })
}

/// Summarizes the conversation now, as a stream of its own. `words` is what the summary should focus on.
pub fn compact(
    agent: Arc<Agent>,
    words: Option<String>,
    interrupt: CancellationToken,
) -> TurnStream {
    TurnStream::new(|out| async move { Turn::new(agent, interrupt, out).compact_now(words).await })
}

/// What a running turn owns.
pub(crate) struct Turn {
    pub(crate) agent: Arc<Agent>,
    pub(crate) tools: Scheduler,
    pub(crate) interrupt: CancellationToken,
    pub(crate) out: Emitter,
    pub(crate) tally: crate::tally::Tally,
    /// What the next request may cost, held for it.
    pub(crate) reserved: Option<budget::Reservation>,
    /// The prompt's first line.
    pub(crate) task: Option<String>,
    /// Usage and stop reason of the answer that is being sealed, and what its request was for.
    pub(crate) sealing: Option<(Usage, Option<StopReason>, Purpose)>,
    /// The answer is in the log, so its results may follow.
    pub(crate) recording: bool,
    pub(crate) unrecorded: Vec<usize>,
    /// How often hooks kept the turn going.
    pub(crate) stop_blocks: u32,
    /// That costs are estimated is said once in a turn.
    pub(crate) told_of_estimate: bool,
    /// The plan as the reader knows it.
    pub(crate) plan: Arc<Plan>,
    pub(crate) compactions: Compactions,
    /// Output tokens when the model was last asked to continue.
    pub(crate) nudged_at: Option<u64>,
    /// A call that waits has ended since the last delivery.
    pub(crate) waited: bool,
}

impl Turn {
    fn new(agent: Arc<Agent>, interrupt: CancellationToken, out: Emitter) -> Self {
        Turn {
            plan: agent.journal.plan(),
            tools: Scheduler::new(agent.clone()),
            agent,
            interrupt,
            out,
            tally: crate::tally::Tally::default(),
            reserved: None,
            task: None,
            sealing: None,
            recording: false,
            unrecorded: Vec::new(),
            stop_blocks: 0,
            told_of_estimate: false,
            compactions: Compactions::default(),
            nudged_at: None,
            waited: false,
        }
    }

    /// From here on the prompt cannot be lost.
    async fn admit(&mut self, prompt: Message, inbound: Vec<InboundId>) -> State {
        let journal = self.agent.journal.clone();
        journal.try_again();
        let (mut view, turns) = journal.conversation();
        self.out.emit(Event::TurnStarted { turn: turns + 1 }).await;
        let prompt = match self.hear_prompt(prompt, &inbound).await {
            Ok(prompt) => prompt,
            Err(Ok(refused)) => return self.advance(State::start(view), refused).await,
            Err(Err(error)) => return self.store_failed(State::start(view), &error).await,
        };
        self.task = first_line(&prompt.text());
        view.push(prompt.clone());
        let at = journal.clock().now();
        let ids = inbound.clone();
        let written = match journal.write(Entry::Prompt { message: prompt, at, inbound }) {
            Ok(()) => journal.sync().await,
            Err(error) => Err(error),
        };
        let state = State::start(view);
        match written {
            Ok(()) => {
                journal.adopt(&state.view);
                self.delivered(ids).await;
                state
            }
            Err(error) => self.store_failed(state, &error).await,
        }
    }

    async fn delivered(&self, ids: Vec<InboundId>) {
        if !ids.is_empty() {
            self.out.emit(Event::Delivered { ids }).await;
        }
    }

    async fn drive(mut self, mut state: State) {
        loop {
            let step = next(&state);
            if let Step::Finish(terminal) = step {
                self.stop_failed(terminal).await;
                return self.finish(terminal, state.iteration).await;
            }
            let outcome = self.perform(step, &state).await;
            state = self.advance(state, outcome).await;
            if next(&state) != Step::SettleTools {
                self.tools.discard();
                self.unrecorded.clear();
                self.recording = false;
            }
        }
    }

    async fn advance(&mut self, state: State, outcome: Outcome) -> State {
        let Advance { state, facts } = advance(state, outcome, &self.agent.limits);
        match self.record(&state, facts).await {
            Ok(()) => state,
            Err(error) => self.store_failed(state, &error).await,
        }
    }

    /// One arm per step. `sample` and `settle` have partial work to hand over and watch the interrupt themselves;
    /// every other step is raced against it.
    async fn perform(&mut self, step: Step, state: &State) -> Outcome {
        match step {
            Step::Sample { fallback, stream_retry, .. } => {
                return self.sample(state, fallback, stream_retry).await;
            }
            Step::SettleTools => return self.settle(&state.view).await,
            _ if self.interrupt.is_cancelled() => return Outcome::Interrupted,
            _ => {}
        }
        match step {
            Step::Prepare => self.prepare(state).await,
            Step::Collapse => self.drain(state).await,
            Step::Compact => self.compact_for_provider(state).await,
            _ => self.stop().await,
        }
    }

    /// The model has said all it wants to say; what arrived meanwhile goes first.
    async fn stop(&mut self) -> Outcome {
        let (inbox, waited) = (self.agent.inbox(), self.waited);
        if inbox.has_due(waited) {
            return Outcome::StopHooks(StopVerdict::Arrived);
        }
        let outcome = match self.within_task_budget() {
            Some(more) => Outcome::StopHooks(more),
            None => self.stop_hooks().await,
        };
        match outcome {
            Outcome::StopHooks(StopVerdict::Pass) if inbox.has_due(waited) => {
                Outcome::StopHooks(StopVerdict::Arrived)
            }
            outcome => outcome,
        }
    }

    async fn prepare(&mut self, state: &State) -> Outcome {
        let recovery = &state.recovery;
        // The old reservation is released first, or it would block the new one.
        self.reserved = None;
        self.tools.toolbox = self.agent.tools.for_request();
        if let Some(received) = self.receive(state).await {
            return received;
        }
        let mut view = state.view.clone();
        if let Err(halt) = self.make_room(state, &mut view).await {
            return halt.outcome(view);
        }
        let request = Request { view, ..self.request(state, recovery.fell_back) };
        let wanted = budget::wanted(&self.agent, &request, recovery.escalated);
        let reserved = tokio::select! {
            biased;
            () = self.interrupt.cancelled() => return Halt::Interrupted.outcome(request.view),
            reserved = budget::reserve(&self.agent, &request, wanted) => reserved,
        };
        match reserved {
            Ok(reservation) => {
                self.reserved = Some(reservation);
                Outcome::Prepared(Ok(request.view))
            }
            Err(refused) => {
                let error = match &refused {
                    Refused::Short(_) => PrepareError::BudgetSpent,
                    Refused::Unknown(_) => PrepareError::BudgetUnknown,
                };
                self.notice(refused.notice()).await;
                Halt::Prepare(error).outcome(request.view)
            }
        }
    }

    pub(crate) fn request(&self, state: &State, fallback: bool) -> Request {
        let agent = &self.agent;
        let waits_for_fallback = agent.choice().fallback.is_some() && !fallback;
        let settings = &agent.settings;
        Request {
            model: agent.model_id(fallback),
            system: agent.system.clone(),
            tools: self.tools.toolbox.specs(),
            view: state.view.clone(),
            max_output: self.reserved.as_ref().map_or(0, |reserved| reserved.output),
            thinking: agent.thinking(),
            retries: settings.retries,
            retries_before_fallback: waits_for_fallback.then_some(settings.retries_before_fallback),
            raw_events: settings.raw_events,
            source: self.purpose(state, fallback),
            agent: agent.meter.path.clone(),
        }
    }

    /// Facts go to the log before anything follows from them, and to the reader after that.
    async fn record(&mut self, state: &State, facts: Vec<Fact>) -> Result<(), StoreError> {
        let journal = self.agent.journal.clone();
        let mut noted = Message::meta("");
        for fact in facts {
            match fact {
                Fact::Answered(item) => {
                    let (usage, stop, source) = self.sealing.take().unwrap_or_default();
                    self.learn(state, item.weight(), &usage);
                    let entry =
                        Entry::Answer { message: item.message().clone(), stop: stop.clone() };
                    journal.write(entry)?;
                    self.tally.answered(item.message().text());
                    if self.tools.has_changing() {
                        journal.sync().await?;
                    }
                    let price =
                        self.agent.model.info(&self.agent.model_id(state.recovery.fell_back)).price;
                    let cost = price.map(|price| price.cost(&usage));
                    let cache_saved = price.map(|price| price.saved(&usage));
                    self.out
                        .emit(Event::AnswerSealed { usage, cost, cache_saved, stop, source })
                        .await;
                }
                // A request that failed before its answer began left nothing to forget.
                Fact::Dropped => {
                    if self.sealing.take().is_some() {
                        self.out.emit(Event::AnswerDropped).await;
                    }
                }
                Fact::Noted(item) => {
                    noted = item.message().clone();
                    journal.write(Entry::note(item.message().clone()))?;
                }
                Fact::Admitted { item, ids } => {
                    let (message, inbound) = (item.message().clone(), ids.clone());
                    journal.write(Entry::Note { message, inbound })?;
                    journal.sync().await?;
                    self.delivered(ids).await;
                }
                Fact::Went(why) => {
                    journal.write(Entry::Went { why })?;
                    self.out.emit(Event::Went(why)).await;
                    if why == Continue::StopHookBlocking {
                        let text = noted.whole_text();
                        self.out.emit(Event::MessageAdded { text }).await;
                    }
                }
                Fact::Ended(terminal) => journal.end(terminal).await?,
            }
        }
        journal.adopt(&state.view);
        Ok(())
    }

    /// A turn that only compacts.
    async fn compact_now(mut self, words: Option<String>) {
        let journal = self.agent.journal.clone();
        journal.try_again();
        let (mut view, turns) = journal.conversation();
        self.out.emit(Event::TurnStarted { turn: turns }).await;
        let done = self.compact(&mut view, Trigger::Manual, words.as_deref(), false).await;
        let terminal = match done {
            Ok(is_shorter) => {
                if is_shorter {
                    journal.adopt(&view);
                }
                Terminal::Completed
            }
            Err(Halt::Store) => Terminal::StoreFailed,
            Err(_) => Terminal::AbortedStreaming,
        };
        self.finish(terminal, 0).await;
    }

    async fn finish(self, terminal: Terminal, iterations: u32) {
        let (requests, cost) = self.tally.paid();
        let budgets = budget::remaining(&self.agent, requests, cost).await;
        for text in budget::trouble(&self.agent).await {
            self.notice(Notice::Ledger { text }).await;
        }
        let finished = Finished { budgets, ..self.tally.finished(terminal, iterations) };
        self.out.emit(Event::Finished(Box::new(finished))).await;
    }

    async fn store_failed(&mut self, state: State, error: &StoreError) -> State {
        self.tally.store_failed(error.to_string());
        advance(state, Outcome::StoreFailed, &self.agent.limits).state
    }

    pub(crate) async fn notice(&self, notice: Notice) {
        self.out.emit(Event::notice(notice)).await;
    }

    pub(crate) async fn notices(&self, notices: impl IntoIterator<Item = Notice>) {
        for notice in notices {
            self.notice(notice).await;
        }
    }
}

/// Enough of a prompt to know it again.
const TASK_CHARS: usize = 80;

fn first_line(text: &str) -> Option<String> {
    let line = text.lines().map(str::trim).find(|line| !line.is_empty())?;
    Some(line.chars().take(TASK_CHARS).collect())
}
