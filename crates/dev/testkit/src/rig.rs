//! A test's agent together with the hands on its doubles.

use crate::approver::FakeApprover;
use crate::blobs::TestBlobs;
use crate::log::TestLog;
use crate::model::ScriptedModel;
use crate::timeline::Timeline;
use crate::tools::FakeTool;
use crate::{laws, trace};
use ostler_core::event::Event;
use ostler_core::late_tools::ToolRefused;
use ostler_core::message::Message;
use ostler_core::time::SteppingClock;
use ostler_core::view::View;
use ostler_engine::{Agent, TurnStream, run};
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

pub struct Rig {
    pub agent: Arc<Agent>,
    pub model: Arc<ScriptedModel>,
    pub timeline: Arc<Timeline>,
    pub log: Arc<TestLog>,
    pub blobs: Arc<TestBlobs>,
    pub approver: Arc<FakeApprover>,
    /// Moves by a second with each look.
    pub clock: Arc<SteppingClock>,
}

impl Rig {
    /// A turn that nobody interrupts.
    pub fn start(&self, prompt: &str) -> TurnStream {
        self.start_with(prompt, &CancellationToken::new())
    }

    pub fn start_with(&self, prompt: &str, interrupt: &CancellationToken) -> TurnStream {
        run(self.agent.clone(), Message::user(prompt), interrupt.clone())
    }

    /// Runs a turn to its end and checks the laws.
    pub async fn turn(&self, prompt: &str) -> Vec<Event> {
        self.finish(Vec::new(), self.start(prompt)).await
    }

    /// Reads the rest of a turn and checks the laws. `read` is what was read of it before.
    pub async fn finish(&self, mut read: Vec<Event>, stream: TurnStream) -> Vec<Event> {
        read.extend(trace::collect(stream).await);
        self.quiet().await;
        laws::of_events(&read, self);
        laws::of_timeline(&self.timeline);
        laws::of_log(self);
        read
    }

    /// The laws that hold also after a turn was dropped.
    pub async fn dropped(&self, stream: TurnStream) {
        drop(stream);
        self.quiet().await;
        laws::of_timeline(&self.timeline);
        laws::of_log(self);
    }

    /// Adds tools to the session, whatever it is doing.
    pub fn add_tools(&self, tools: impl IntoIterator<Item = FakeTool>) -> Vec<ToolRefused> {
        let tools = tools.into_iter().map(|tool| tool.witnessed(&self.timeline));
        self.agent.add_tools(tools.collect())
    }

    /// What the next turn will tell the model.
    pub fn conversation(&self) -> String {
        trace::conversation(&self.view())
    }

    pub fn view(&self) -> View {
        self.agent.journal.conversation().0
    }

    /// Whatever was stopped gets the chance to notice it.
    async fn quiet(&self) {
        for _ in 0..1_000 {
            if self.timeline.running().is_empty() {
                return;
            }
            tokio::task::yield_now().await;
        }
        panic!("still running after the turn: {:?}", self.timeline.running());
    }
}
