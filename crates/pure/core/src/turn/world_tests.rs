//! The world of the walk: control states, and all that can happen in each.

use crate::ids::ModelId;
use crate::message::{Block, Image, Message};
use crate::model::ModelErrorKind;
use crate::turn::*;
use crate::view::View;
use serde_json::json;

/// Everything `advance` may decide by, save what a request holds that could be left out of it: see `World::sample`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Control {
    pub(super) phase: Phase,
    iteration: u32,
    recovery: Recovery,
    open: bool,
}

impl Control {
    pub(super) fn of(state: &State, limits: &Limits) -> Self {
        if let Phase::Done(_) = state.phase {
            let recovery = Recovery::default();
            return Control { phase: state.phase, iteration: 1, recovery, open: false };
        }
        Control {
            phase: state.phase,
            iteration: if limits.max_iterations.is_some() { state.iteration } else { 1 },
            recovery: state.recovery,
            open: !state.view.open_calls().is_empty(),
        }
    }

    /// The shortest history that stands for all with this control state.
    pub(super) fn state(self, history: &View) -> State {
        let Control { phase, iteration, recovery, open } = self;
        let mut view = history.clone();
        if open {
            view.push(said(vec![use_of("open")]));
        }
        State { view, phase, iteration, recovery, last: None }
    }
}

pub(super) fn plain() -> View {
    View::from_messages([Message::user("go")])
}

pub(super) fn rich() -> View {
    let question = Message::User { content: vec![Block::text("go"), image()] };
    View::from_messages([question, said(vec![thought(), Block::text("so")])])
}

pub(super) fn said(content: Vec<Block>) -> Message {
    Message::assistant(&ModelId::new("m"), content)
}
pub(super) fn image() -> Block {
    Block::Image(Image { media: "image/png".into(), data: "".into(), blob: None })
}
pub(super) fn thought() -> Block {
    Block::Thinking { text: "hm".into(), signature: None }
}
pub(super) fn use_of(id: &str) -> Block {
    Block::ToolUse { id: id.into(), name: "t".into(), input: json!({}), via: None }
}

/// All that can happen in each phase.
pub(super) struct World {
    plain: View,
    rich: View,
    prepare: Vec<Outcome>,
    sample: Vec<Outcome>,
    /// Again for a request without anything to leave out, where that makes a difference.
    sample_plain: Vec<Outcome>,
    collapse: Vec<Outcome>,
    compact: Vec<Outcome>,
    settle: Vec<Outcome>,
    stop_hooks: Vec<Outcome>,
}

impl World {
    pub(super) fn new() -> Self {
        let with_stop = |mut outcomes: Vec<Outcome>| {
            outcomes.extend([Outcome::Interrupted, Outcome::StoreFailed]);
            outcomes
        };
        let asks_for_content = |outcome: &&Outcome| refused(outcome).is_some();
        let (collapsed, compacted) = (Outcome::Collapsed, Outcome::Compacted);
        World {
            plain: plain(),
            rich: rich(),
            prepare: with_stop(preparations()),
            sample: with_stop(samples()),
            sample_plain: samples().iter().filter(asks_for_content).cloned().collect(),
            collapse: with_stop(
                [collapsed(None), collapsed(Some((plain(), 1)))]
                    .into_iter()
                    .chain(reshaped())
                    .collect(),
            ),
            compact: with_stop(
                [
                    compacted(None),
                    compacted(Some(plain())),
                    Outcome::Prepared(Err(PrepareError::RapidRefill)),
                ]
                .into_iter()
                .chain(reshaped())
                .collect(),
            ),
            settle: with_stop(settlements()),
            stop_hooks: with_stop(verdicts()),
        }
    }

    /// Histories with what can happen to them.
    pub(super) fn outcomes(&self, phase: Phase) -> [(&View, &[Outcome]); 2] {
        let first: &[Outcome] = match phase {
            Phase::Prepare => &self.prepare,
            Phase::Sample => {
                return [(&self.rich, &self.sample), (&self.plain, &self.sample_plain)];
            }
            Phase::Collapse => &self.collapse,
            Phase::Compact => &self.compact,
            Phase::SettleTools { .. } => &self.settle,
            Phase::StopHooks => &self.stop_hooks,
            Phase::Done(_) => &[],
        };
        [(&self.plain, first), (&self.plain, &[])]
    }
}

fn preparations() -> Vec<Outcome> {
    let errors = [
        PrepareError::BlockingLimit,
        PrepareError::BudgetSpent,
        PrepareError::BudgetUnknown,
        PrepareError::RapidRefill,
    ];
    let received = Outcome::Received { message: Message::user("wait"), ids: vec!["i".into()] };
    let prepared = [Ok(rich())].into_iter().chain(errors.map(Err)).map(Outcome::Prepared);
    let refused = [Terminal::HookStopped, Terminal::AbortedStreaming].map(Outcome::PromptRefused);
    prepared.chain([received]).chain(refused).chain(reshaped()).collect()
}

/// Room was made, and then something went wrong.
fn reshaped() -> impl Iterator<Item = Outcome> {
    let ends = [
        Outcome::Interrupted,
        Outcome::StoreFailed,
        Outcome::Prepared(Err(PrepareError::BudgetSpent)),
    ];
    ends.into_iter().map(|end| Outcome::Reshaped { view: plain(), then: Box::new(end) })
}

/// The part of a request that the provider refuses, if that is what happened.
pub(super) fn refused(outcome: &Outcome) -> Option<ModelErrorKind> {
    match outcome {
        Outcome::Sampled { end: SampleEnd::Broken(kind) | SampleEnd::Failed(kind), .. } => {
            Some(*kind)
        }
        _ => None,
    }
    .filter(|kind| matches!(kind, ModelErrorKind::BadImage | ModelErrorKind::BadThinking))
}

fn verdicts() -> Vec<Outcome> {
    let (block, more) = (Message::meta("no"), Message::meta("more"));
    let verdicts = [
        StopVerdict::Pass,
        StopVerdict::Prevent,
        StopVerdict::Block(block),
        StopVerdict::SpendMore(more),
        StopVerdict::Arrived,
    ];
    verdicts.map(Outcome::StopHooks).into()
}

pub(super) fn samples() -> Vec<Outcome> {
    use ModelErrorKind::*;
    let kinds = [
        ContextOverflow,
        RateLimited,
        Overloaded,
        Unavailable,
        Auth,
        ModelNotFound,
        BadRequest,
        BadImage,
        BadThinking,
        Protocol,
    ];
    let mut ends = vec![
        SampleEnd::EndOfTurn,
        SampleEnd::MaxOutput,
        SampleEnd::WindowFull,
        SampleEnd::Paused,
        SampleEnd::Refused,
        SampleEnd::Empty,
        SampleEnd::Cancelled,
        SampleEnd::Redirected,
    ];
    ends.extend(
        kinds.into_iter().flat_map(|kind| [SampleEnd::Broken(kind), SampleEnd::Failed(kind)]),
    );
    let messages = [
        (None, false),
        (Some(said(vec![thought(), Block::text("x")])), false),
        (Some(said(vec![use_of("a")])), false),
        (Some(said(vec![use_of("a")])), true),
        (Some(said(vec![use_of("a"), use_of("b")])), true),
    ];
    let pairs =
        ends.into_iter().flat_map(|end| messages.clone().map(|(message, cut)| (message, cut, end)));
    pairs.map(|(message, cut, end)| Outcome::Sampled { message, cut, end }).collect()
}

fn settlements() -> Vec<Outcome> {
    let mut all = Vec::new();
    for end in [
        ToolsEnd::Finished,
        ToolsEnd::Redirected,
        ToolsEnd::Cancelled,
        ToolsEnd::HookStopped,
        ToolsEnd::BudgetSpent,
        ToolsEnd::Deferred,
    ] {
        let result = Block::ToolResult { id: "open".into(), content: vec![], is_error: false };
        for (results, extra) in
            [(vec![result], vec![]), (vec![], vec![Message::meta("by the way")])]
        {
            all.push(Outcome::ToolsSettled { results, extra, end });
        }
    }
    all
}
