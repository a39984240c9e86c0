//! Where a turn calls its hooks: at its beginning, before and after calls, at its end.

use crate::agent::Agent;
use crate::run::Turn;
use crate::texts;
use futures_util::FutureExt;
use ostler_core::event::{Event, Notice};
use ostler_core::hook::{BackgroundTask, EventName, HookEvent, HookOutcome as Heard, Stand};
use ostler_core::ids::InboundId;
use ostler_core::job::JobRecord;
use ostler_core::message::{Block, Message};
use ostler_core::ports::{Hooks, StoreError};
use ostler_core::turn::{Outcome, StopVerdict, Terminal};
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, PoisonError};

/// How often stop hooks may keep one turn going.
const MOST_STOPS: u32 = 8;

/// The hooks of a session, and whether its start was reported.
pub struct HookDesk {
    hooks: Arc<dyn Hooks>,
    source: Mutex<Option<String>>,
    /// The agent that this session is, if another one started it: hooks hear of it instead of a session.
    subagent: Option<Subagent>,
}

/// How hooks know an agent that another one started.
#[derive(Clone, Debug)]
pub struct Subagent {
    pub id: String,
    pub kind: String,
    /// Its log.
    pub transcript: String,
}

impl HookDesk {
    /// `source` is how the session came about: `startup`, `resume` or `fork`.
    pub fn new(hooks: Arc<dyn Hooks>, source: &str) -> Self {
        HookDesk { hooks, source: Mutex::new(Some(source.to_owned())), subagent: None }
    }

    #[must_use]
    pub fn of_subagent(self, subagent: Subagent) -> Self {
        HookDesk { subagent: Some(subagent), ..self }
    }

    /// The event of the beginning, and what its matchers are compared with.
    fn start_event(&self, source: &str, model: String) -> HookEvent {
        match self.subagent.clone() {
            None => HookEvent::SessionStart { source: source.to_owned(), model },
            Some(Subagent { id, kind, .. }) => {
                HookEvent::SubagentStart { agent_id: id, agent_type: kind }
            }
        }
    }

    fn stop_event(
        &self,
        stop_hook_active: bool,
        last_assistant_message: String,
        jobs: Vec<JobRecord>,
    ) -> HookEvent {
        let background_tasks = jobs.into_iter().map(BackgroundTask::from).collect();
        match self.subagent.clone() {
            None => HookEvent::Stop { stop_hook_active, last_assistant_message, background_tasks },
            Some(Subagent { id, kind, transcript }) => HookEvent::SubagentStop {
                agent_id: id,
                agent_type: kind,
                stop_hook_active,
                agent_transcript_path: transcript,
                last_assistant_message,
                background_tasks,
            },
        }
    }

    pub(crate) fn listens(&self, event: EventName, matched: Option<&str>) -> bool {
        self.hooks.listens(event, matched)
    }

    /// Some hook wants to hear of this call, before or after it.
    pub(crate) fn hears_of(&self, tool: &str) -> bool {
        let events = [EventName::PreToolUse, EventName::PostToolUse, EventName::PostToolUseFailure];
        events.into_iter().any(|event| self.listens(event, Some(tool)))
    }

    /// A hook that panics counts as not run.
    pub(crate) async fn fire(&self, event: HookEvent) -> Heard {
        let name = event.name();
        let fired = AssertUnwindSafe(async { self.hooks.fire(event).await }).catch_unwind().await;
        fired.unwrap_or_else(|_| {
            let why = "it failed inside the harness (a blocking hook without a verdict denies)";
            match name.can_block() {
                true => Heard::of(Stand::Block, name.name(), why),
                false => Heard::notice(format!("a hook on {}: {why}", name.name())),
            }
        })
    }

    /// Fires without waiting; it ends with the program at the latest.
    pub(crate) fn fire_without_waiting(&self, event: HookEvent) {
        let hooks = self.hooks.clone();
        tokio::spawn(async move { hooks.fire(event).await });
    }

    fn take_source(&self) -> Option<String> {
        self.source.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    fn put_source_back(&self, source: String) {
        *self.source.lock().unwrap_or_else(PoisonError::into_inner) = Some(source);
    }

    fn has_begun(&self) -> bool {
        self.source.lock().unwrap_or_else(PoisonError::into_inner).is_none()
    }
}

impl Agent {
    /// The session ends: hooks get the event if they got that of its beginning.
    pub async fn end_session(&self, reason: &str) -> Vec<Notice> {
        let listens = self.hooks.subagent.is_none()
            && self.hooks.listens(EventName::SessionEnd, Some(reason));
        if !listens || !self.hooks.has_begun() {
            return Vec::new();
        }
        let heard = self.hooks.fire(HookEvent::SessionEnd { reason: reason.to_owned() }).await;
        messages(&heard).collect()
    }
}

/// A prompt that a hook blocked.
pub(crate) enum Refused {
    By(String),
    Interrupted,
}

impl Turn {
    /// Tells of the session's beginning and of the prompt. The prompt comes back with what hooks add to it, or what the
    /// machine has to know of its refusal.
    pub(crate) async fn hear_prompt(
        &mut self,
        prompt: Message,
        inbound: &[InboundId],
    ) -> Result<Message, Result<Outcome, StoreError>> {
        let refused = match self.told_of_prompt(prompt).await {
            Ok(prompt) => return Ok(prompt),
            Err(refused) => refused,
        };
        let terminal = match refused {
            Refused::By(why) => {
                self.tally.hook_stopped(why);
                if let Err(error) = self.refuse(inbound.to_vec()).await {
                    return Err(Err(error));
                }
                Terminal::HookStopped
            }
            Refused::Interrupted => Terminal::AbortedStreaming,
        };
        Err(Ok(Outcome::PromptRefused(terminal)))
    }

    /// Items that a hook does not let through are not offered again.
    pub(crate) async fn refuse(&mut self, ids: Vec<InboundId>) -> Result<(), StoreError> {
        if !ids.is_empty() {
            self.agent.journal.refuse(ids.clone())?;
            self.out.emit(Event::Dequeued { ids }).await;
        }
        Ok(())
    }

    async fn told_of_prompt(&mut self, prompt: Message) -> Result<Message, Refused> {
        let hooks = self.agent.clone();
        let hooks = &hooks.hooks;
        let mut added = Vec::new();
        if let Some(source) = hooks.take_source() {
            let model = self.agent.choice().primary.to_string();
            let event = hooks.start_event(&source, model);
            match self.hook_additions(event).await {
                Ok(texts) => added.extend(texts),
                Err(refused) => {
                    // It has not begun, so the next prompt asks again.
                    hooks.put_source_back(source);
                    return Err(refused);
                }
            }
        }
        // A report of a job is nobody's prompt.
        let is_said =
            prompt.blocks().iter().any(|block| !matches!(block, Block::Text { meta: true, .. }));
        let is_heard = is_said && hooks.subagent.is_none();
        if is_heard && hooks.listens(EventName::UserPromptSubmit, None) {
            let event = HookEvent::UserPromptSubmit { prompt: prompt.text() };
            added.extend(self.hook_additions(event).await?);
        }
        let mut prompt = prompt;
        let block = |text| Block::Text { text, meta: true };
        prompt.blocks_mut().extend(added.into_iter().map(block));
        Ok(prompt)
    }

    /// What hooks add for the model.
    pub(crate) async fn hook_additions(
        &mut self,
        event: HookEvent,
    ) -> Result<Vec<String>, Refused> {
        if !self.agent.hooks.listens(event.name(), event.matched()) {
            return Ok(Vec::new());
        }
        let name = event.name().name();
        let Some(heard) = self.fire(event).await else { return Err(Refused::Interrupted) };
        if heard.stand >= Stand::Ask {
            return Err(Refused::By(heard.why()));
        }
        Ok(heard.context.iter().map(|text| context(name, text)).collect())
    }

    pub(crate) async fn hook_messages(&self, heard: &Heard) {
        self.notices(messages(heard)).await;
    }

    /// Fires and passes on what the person should know. None: the user interrupted.
    async fn fire(&self, event: HookEvent) -> Option<Heard> {
        let heard = tokio::select! {
            biased;
            () = self.interrupt.cancelled() => return None,
            heard = self.agent.hooks.fire(event) => heard,
        };
        self.hook_messages(&heard).await;
        Some(heard)
    }

    /// The model has said all. A hook may want more, as often as the machine allows.
    pub(crate) async fn stop_hooks(&mut self) -> Outcome {
        let last_text = self.tally.last_text().to_owned();
        let jobs = self.agent.journal.jobs();
        let event = self.agent.hooks.stop_event(self.stop_blocks > 0, last_text, jobs);
        if !self.agent.hooks.listens(event.name(), event.matched()) {
            return Outcome::StopHooks(StopVerdict::Pass);
        }
        let Some(heard) = self.fire(event).await else { return Outcome::Interrupted };
        // The machine bounds them between two answers with calls; this bounds them in a turn.
        let stand = match heard.stand {
            Stand::Block | Stand::Defer | Stand::Ask if self.stop_blocks >= MOST_STOPS => {
                Stand::Prevent
            }
            stand => stand,
        };
        Outcome::StopHooks(match stand {
            Stand::Prevent => {
                self.tally.hook_stopped(heard.why());
                StopVerdict::Prevent
            }
            Stand::Block | Stand::Defer | Stand::Ask => {
                self.stop_blocks += 1;
                self.tally.hook_stopped(heard.why());
                let text = texts::HOOK_STOP.replace("{why}", &heard.feedback());
                StopVerdict::Block(Message::meta(text))
            }
            // It has something to add, and the model answers that.
            Stand::Pass if !heard.context.is_empty() && self.stop_blocks < MOST_STOPS => {
                self.stop_blocks += 1;
                let name = EventName::Stop.name();
                let texts: Vec<String> =
                    heard.context.iter().map(|text| context(name, text)).collect();
                StopVerdict::Block(Message::meta(texts.join("\n")))
            }
            Stand::Pass => StopVerdict::Pass,
        })
    }

    /// A turn that failed has no stop hooks, but an event of its own.
    pub(crate) async fn stop_failed(&self, terminal: Terminal) {
        let failed = matches!(
            terminal,
            Terminal::ModelError(_)
                | Terminal::ImageError
                | Terminal::PromptTooLong
                | Terminal::MaxOutputTokens
        );
        if failed && self.agent.hooks.listens(EventName::StopFailure, Some(terminal.name())) {
            let _ = self
                .fire(HookEvent::StopFailure {
                    error: terminal.name().to_owned(),
                    last_assistant_message: self.tally.last_text().to_owned(),
                })
                .await;
        }
    }
}

/// What hooks want the person to know.
pub(crate) fn messages(heard: &Heard) -> impl Iterator<Item = Notice> + '_ {
    heard.notices.iter().map(|text| Notice::Hook { text: text.clone() })
}

pub(crate) fn context(event: &str, text: &str) -> String {
    texts::HOOK_CONTEXT.replace("{event}", event).replace("{text}", text)
}
