//! What a scripted model says, written down beforehand or pushed one event at a time.

use ostler_core::ids::CallId;
use ostler_core::ledger::Usage;
use ostler_core::message::Block;
use ostler_core::model::{ModelError, ModelErrorKind, ModelEvent, StopReason};
use serde_json::{Value, json};
use std::collections::VecDeque;
use std::sync::Arc;
use tokio::sync::{Barrier, mpsc};

type ScriptItem = Result<ModelEvent, ModelError>;

/// One answer. It begins with `Started` unless it is made by [`fails`].
pub struct Script {
    pub(crate) steps: VecDeque<ModelStep>,
    usage: Usage,
}

pub(crate) enum ModelStep {
    /// `Started`, named by the number of the request.
    Start(Usage),
    Give(Box<ScriptItem>),
    Meet(Arc<Barrier>),
    GiveWay,
    Hold,
    Live(mpsc::UnboundedReceiver<ScriptItem>),
}

impl Default for Script {
    fn default() -> Self {
        Script::new()
    }
}

impl Script {
    pub fn new() -> Self {
        let usage = Usage { input: 100, output: 10, ..Usage::default() };
        Script { steps: [ModelStep::Start(Usage { output: 1, ..usage })].into(), usage }
    }

    /// What the whole answer costs.
    pub fn usage(mut self, usage: Usage) -> Self {
        self.usage = usage;
        if let Some(ModelStep::Start(at_start)) = self.steps.front_mut() {
            *at_start = Usage { output: 1, ..usage };
        }
        self
    }

    pub fn event(self, event: ModelEvent) -> Self {
        self.step(ModelStep::Give(Box::new(Ok(event))))
    }

    /// A piece of a text whose block is not complete.
    pub fn delta(self, text: &str) -> Self {
        self.event(ModelEvent::Text(text.into()))
    }

    /// A whole text block in one piece.
    pub fn text(self, text: &str) -> Self {
        self.delta(text).event(ModelEvent::Block(Block::text(text)))
    }

    pub fn thinking(self, text: &str) -> Self {
        let block = Block::Thinking { text: text.into(), signature: Some("signed".into()) };
        self.event(ModelEvent::Thinking(text.into())).event(ModelEvent::Block(block))
    }

    pub fn call(self, id: &str, tool: &str) -> Self {
        self.call_with(id, tool, json!({}))
    }

    /// A call whose input names a path.
    pub fn call_on(self, id: &str, tool: &str, path: &str) -> Self {
        self.call_with(id, tool, json!({ "path": path }))
    }

    pub fn call_with(self, id: &str, tool: &str, input: Value) -> Self {
        self.event(call_event(id, tool, input))
    }

    /// A call whose input stopped in the middle.
    pub fn cut(self, id: &str, tool: &str, raw: &str) -> Self {
        self.event(ModelEvent::Cut { id: id.into(), name: tool.into(), raw: raw.into() })
    }

    /// The stream continues once everybody is at the barrier.
    pub fn meet(self, barrier: &Arc<Barrier>) -> Self {
        self.step(ModelStep::Meet(barrier.clone()))
    }

    /// The stream says nothing for a moment, in which calls can begin, and end if they are quick.
    pub fn give_way(self) -> Self {
        self.step(ModelStep::GiveWay)
    }

    /// The stream stays open and says nothing more.
    pub fn hold(self) -> Self {
        self.step(ModelStep::Hold)
    }

    pub fn fail(self, kind: ModelErrorKind) -> Self {
        self.step(ModelStep::Give(Box::new(Err(error(kind)))))
    }

    pub fn end(self, stop: StopReason) -> Self {
        let usage = self.usage;
        self.event(ModelEvent::Ended { stop, usage })
    }

    pub fn end_turn(self) -> Self {
        self.end(StopReason::EndTurn)
    }

    pub fn end_calls(self) -> Self {
        self.end(StopReason::ToolUse)
    }

    fn step(mut self, step: ModelStep) -> Self {
        self.steps.push_back(step);
        self
    }
}

fn call_event(id: &str, tool: &str, input: Value) -> ModelEvent {
    ModelEvent::Block(Block::ToolUse { id: CallId::new(id), name: tool.into(), input, via: None })
}

fn error(kind: ModelErrorKind) -> ModelError {
    ModelError { status: Some(500), ..ModelError::new(kind, format!("scripted {}", kind.name())) }
}

/// A complete answer of one text.
pub fn says(text: &str) -> Script {
    Script::new().text(text).end_turn()
}

/// A complete answer of calls alone: (id, tool).
pub fn calls<'a>(calls: impl IntoIterator<Item = (&'a str, &'a str)>) -> Script {
    calls.into_iter().fold(Script::new(), |script, (id, tool)| script.call(id, tool)).end_calls()
}

/// No answer begins.
pub fn fails(kind: ModelErrorKind) -> Script {
    Script { steps: VecDeque::new(), usage: Usage::default() }.fail(kind)
}

/// The request is sent, and nothing ever comes back.
pub fn hangs() -> Script {
    Script { steps: [ModelStep::Hold].into(), usage: Usage::default() }
}

/// An answer that the test speaks itself. It breaks off when the pusher is dropped.
pub fn live() -> (Pusher, Script) {
    let (sender, receiver) = mpsc::unbounded_channel();
    (Pusher(sender), Script::new().step(ModelStep::Live(receiver)))
}

/// The test's end of a live answer.
pub struct Pusher(mpsc::UnboundedSender<ScriptItem>);

impl Pusher {
    pub fn event(&self, event: ModelEvent) {
        assert!(self.0.send(Ok(event)).is_ok(), "nobody listens to the model any more");
    }

    pub fn delta(&self, text: &str) {
        self.event(ModelEvent::Text(text.into()));
    }

    pub fn call(&self, id: &str, tool: &str) {
        self.event(call_event(id, tool, json!({})));
    }

    pub fn end(&self, stop: StopReason) {
        self.event(ModelEvent::Ended {
            stop,
            usage: Usage { input: 100, output: 10, ..Usage::default() },
        });
    }

    /// Nobody holds the other end: the engine has let go of the stream.
    pub fn is_dropped(&self) -> bool {
        self.0.is_closed()
    }
}
