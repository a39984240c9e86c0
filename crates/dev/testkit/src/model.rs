//! A model that says what it was told to say, and remembers what it was asked.

use crate::locked;
use crate::script::{ModelStep, Script, fails};
use crate::timeline::{Timeline, TimelineMoment};
use futures_util::stream;
use ostler_core::context::weight;
use ostler_core::ids::ModelId;
use ostler_core::ledger::{Price, Usage};
use ostler_core::message::Block;
use ostler_core::model::{ModelError, ModelErrorKind, ModelEvent, Request};
use ostler_core::ports::{Model, ModelInfo, ModelStream};
use ostler_core::prompt_texts::SUMMARISE;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};

pub struct ScriptedModel {
    answers: Mutex<VecDeque<Script>>,
    requests: Mutex<Vec<Request>>,
    counts: Arc<ModelCounts>,
    price: Option<Price>,
    prompt_tokens: u64,
    timeline: Arc<Timeline>,
    pub(crate) summary: Option<ScriptedSummary>,
}

/// What comes when a summary is asked for.
pub(crate) enum ScriptedSummary {
    Text(String),
    Fails,
}

fn asks_for_summary(request: &Request) -> bool {
    let start = SUMMARISE.get(..60).unwrap_or(SUMMARISE);
    let last = request.view.messages().last();
    last.is_some_and(|message| {
        message.blocks().iter().any(
            |block| matches!(block, Block::Text { text, meta: true } if text.starts_with(start)),
        )
    })
}

#[derive(Default)]
struct ModelCounts {
    pulled: AtomicUsize,
    open: AtomicUsize,
}

impl ScriptedModel {
    pub(crate) fn new(
        answers: Vec<Script>,
        price: Option<Price>,
        prompt_tokens: u64,
        timeline: Arc<Timeline>,
    ) -> Self {
        ScriptedModel {
            answers: Mutex::new(answers.into()),
            requests: Mutex::default(),
            counts: Arc::default(),
            price,
            prompt_tokens,
            timeline,
            summary: None,
        }
    }

    fn script(&self, request: &Request) -> Script {
        match &self.summary {
            Some(ScriptedSummary::Text(text)) if asks_for_summary(request) => {
                Script::new().text(text).usage(Usage::default()).end_turn()
            }
            Some(ScriptedSummary::Fails) if asks_for_summary(request) => {
                fails(ModelErrorKind::Unavailable)
            }
            // A script that is too short ends the turn with an error that says so.
            _ => locked(&self.answers)
                .pop_front()
                .unwrap_or_else(|| fails(ModelErrorKind::BadRequest)),
        }
    }

    pub fn requests(&self) -> Vec<Request> {
        locked(&self.requests).clone()
    }

    /// The conversation that the newest request carried, one line per message.
    pub fn last_conversation(&self) -> String {
        let requests = locked(&self.requests);
        let Some(request) = requests.last() else { return String::new() };
        crate::trace::conversation(&request.view)
    }

    /// Events that were taken from all streams.
    pub fn pulled(&self) -> usize {
        self.counts.pulled.load(SeqCst)
    }

    /// Streams that somebody still holds.
    pub fn open_streams(&self) -> usize {
        self.counts.open.load(SeqCst)
    }

    /// Answers that nobody asked for.
    pub fn left(&self) -> usize {
        locked(&self.answers).len()
    }
}

impl Model for ScriptedModel {
    fn stream(&self, request: Request) -> ModelStream {
        let script = self.script(&request);
        let n = {
            let mut requests = locked(&self.requests);
            requests.push(request);
            requests.len()
        };
        self.counts.open.fetch_add(1, SeqCst);
        let timeline = Some(self.timeline.clone());
        let playing = Playing { steps: script.steps, n, timeline, counts: self.counts.clone() };
        Box::pin(stream::unfold(playing, play))
    }

    fn info(&self, _: &ModelId) -> ModelInfo {
        ModelInfo { window: 200_000, max_output: 64_000, thinking_budget: 0, price: self.price }
    }

    fn estimate(&self, request: &Request) -> u64 {
        match self.prompt_tokens {
            // Four bytes a token.
            0 => (weight::of_prefix(&request.system, &request.tools) + request.view.weight()) / 4,
            fixed => fixed,
        }
    }
}

struct Playing {
    steps: VecDeque<ModelStep>,
    n: usize,
    /// Until the request was sent, which is when the stream is first polled.
    timeline: Option<Arc<Timeline>>,
    counts: Arc<ModelCounts>,
}

impl Drop for Playing {
    fn drop(&mut self) {
        self.counts.open.fetch_sub(1, SeqCst);
    }
}

async fn play(mut playing: Playing) -> Option<(Result<ModelEvent, ModelError>, Playing)> {
    if let Some(timeline) = playing.timeline.take() {
        timeline.add(TimelineMoment::Requested(playing.n));
    }
    let item = loop {
        match playing.steps.pop_front()? {
            ModelStep::Start(usage) => {
                let request_id = Some(format!("req{}", playing.n));
                break Ok(ModelEvent::Started {
                    message_id: format!("m{}", playing.n),
                    request_id,
                    usage,
                });
            }
            ModelStep::Give(item) => break *item,
            ModelStep::Meet(barrier) => {
                barrier.wait().await;
            }
            ModelStep::GiveWay => {
                for _ in 0..20 {
                    tokio::task::yield_now().await;
                }
            }
            ModelStep::Hold => std::future::pending::<()>().await,
            ModelStep::Live(mut pushed) => {
                if let Some(item) = pushed.recv().await {
                    playing.steps.push_front(ModelStep::Live(pushed));
                    break item;
                }
            }
        }
    };
    playing.counts.pulled.fetch_add(1, SeqCst);
    Some((item, playing))
}
