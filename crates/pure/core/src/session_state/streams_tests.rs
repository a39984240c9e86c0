//! Streams of envelopes: random ones that look like sessions, with everything that can happen in between, and one that
//! has every kind of event where it matters.

use super::*;
use crate::context::{Made, Receipt, Trigger};
use crate::event::strategies::{self, finished, text, usage};
use crate::event::{CallOutcome, Notice, VERSION};
use crate::ids::InboundId;
use crate::message::ResultPart;
use crate::model::{ModelErrorKind, StopReason, Thinking};
use crate::permission::{Decision, Mode, Verdict};
use crate::question::{QuestionEnd, Touches};
use crate::turn::Continue;
use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::json;
use serde_json::value::RawValue;

pub(super) fn numbered(events: impl IntoIterator<Item = (AgentPath, Event)>) -> Vec<Envelope> {
    let number = |(n, (agent, event)): (u64, (AgentPath, Event))| Envelope {
        version: VERSION,
        seq: n,
        at: Timestamp(1_000 * n),
        session: "s".into(),
        parent: (!agent.is_root()).then(|| "c1".into()),
        agent,
        event,
    };
    (1..).zip(events).map(number).collect()
}

fn path(n: u8) -> AgentPath {
    match n {
        0 => AgentPath::default().child("review"),
        1 => AgentPath::default().child("review").child("tests"),
        _ => AgentPath::default(),
    }
}

/// Whole turns one after the other, of several agents, and single events at any place.
pub(super) fn stream() -> impl Strategy<Value = Vec<Envelope>> {
    let chunk = (0..6_u8, turn()).prop_map(|(n, turn)| (path(n), turn));
    let loose = (any::<prop::sample::Index>(), 0..6_u8, single());
    (vec(chunk, 0..4), vec(loose, 0..30)).prop_map(|(chunks, loose)| {
        let mut all: Vec<(AgentPath, Event)> = Vec::new();
        for (path, turn) in chunks {
            all.extend(turn.into_iter().map(|event| (path.clone(), event)));
        }
        for (at, n, event) in loose {
            all.insert(at.index(all.len() + 1), (path(n), event));
        }
        numbered(all)
    })
}

/// Sums of these are the same in any order.
fn cost(units: u16) -> Option<f64> {
    (!units.is_multiple_of(8)).then(|| f64::from(units) / 64.0)
}

/// Any event, with few names, so that events are about the same things.
fn single() -> impl Strategy<Value = Event> {
    let any_event = prop_oneof![
        20 => strategies::event(),
        1 => Just(Event::Unknown(json!({ "type": "teleported" }))),
        1 => Just(Event::Raw(RawValue::from_string("{}".into()).unwrap())),
    ];
    (any_event, 0..4_u8, any::<u16>()).prop_map(|(event, n, units)| rename(event, n, units))
}

fn rename(event: Event, n: u8, units: u16) -> Event {
    let (call, item): (CallId, InboundId) = (format!("c{n}").as_str().into(), inbound(n));
    match event {
        Event::Retrying(retry) => {
            Event::Retrying(Retry { wait: retry.wait + Duration::from_micros(300), ..retry })
        }
        Event::BlockFinished { block: Block::ToolUse { name, input, .. } } => {
            Event::BlockFinished { block: Block::ToolUse { id: call, name, input, via: None } }
        }
        Event::AnswerSealed { usage, stop, source, .. } => {
            Event::AnswerSealed { usage, cost: cost(units), cache_saved: None, stop, source }
        }
        Event::Finished(finished) => {
            Event::Finished(Box::new(Finished { cost: cost(units), ..*finished }))
        }
        Event::Queued(queued) => Event::Queued(QueuedItem { id: item, ..queued }),
        Event::Delivered { .. } => Event::Delivered { ids: vec![item] },
        Event::Dequeued { .. } => Event::Dequeued { ids: vec![item] },
        Event::CallAsked { name, decision, question, .. } => {
            let question = question.map(|question| {
                let id = QuestionId::new(format!("q{n}"));
                Box::new(Question { id, call: call.clone(), ..*question })
            });
            Event::CallAsked { id: call, name, decision, question }
        }
        Event::QuestionClosed { end, .. } => {
            Event::QuestionClosed { id: QuestionId::new(format!("q{n}")), end }
        }
        Event::CallStarted { name, input, .. } => Event::CallStarted { id: call, name, input },
        Event::CallProgress { tail, .. } => Event::CallProgress { id: call, tail },
        Event::CallFinished {
            name,
            outcome,
            decision,
            result,
            shown,
            detail,
            took_ms,
            input,
            ..
        } => Event::CallFinished {
            id: call,
            name,
            outcome,
            decision,
            result,
            shown,
            detail,
            took_ms,
            input,
        },
        other => other,
    }
}

fn inbound(n: u8) -> InboundId {
    InboundId::new(format!("i{n}"))
}

fn turn() -> impl Strategy<Value = Vec<Event>> {
    (any::<u32>(), vec(iteration(), 0..3), prop::option::of(finished()), any::<u16>()).prop_map(
        |(turn, iterations, finished, units)| {
            let mut events = vec![Event::TurnStarted { turn }];
            for (n, iteration) in (1..).zip(iterations) {
                let why = (n > 1).then_some(Continue::NextTurn);
                events.push(iteration_started(n, why));
                events.extend(iteration);
            }
            // A turn that was dropped has no end.
            let finished = finished.map(|finished| Finished { cost: cost(units), ..finished });
            events.extend(finished.map(|finished| Event::Finished(Box::new(finished))));
            events
        },
    )
}

fn iteration() -> impl Strategy<Value = Vec<Event>> {
    let calls = vec((0..4_u8, any::<bool>(), any::<bool>(), text()), 0..3);
    (vec(text(), 0..4), vec(text(), 0..3), calls, usage(), any::<u16>(), any::<bool>()).prop_map(
        |(deltas, thoughts, calls, usage, units, dropped)| {
            let mut events = vec![answer_started()];
            events.extend(thoughts.iter().map(|text| Event::ThinkingDelta { text: text.clone() }));
            let block = Block::Thinking { text: thoughts.concat(), signature: None };
            events.push(Event::BlockFinished { block });
            events.extend(deltas.iter().map(|text| Event::TextDelta { text: text.clone() }));
            events.push(Event::BlockFinished { block: Block::text(deltas.concat()) });
            events.extend(calls.iter().map(|(n, ..)| announced(&format!("c{n}"))));
            if dropped {
                events.push(Event::AnswerDropped);
                events.push(Event::Went(Continue::StreamRetry { attempt: 1 }));
                return events;
            }
            let stop = Some(StopReason::EndTurn);
            let cost = cost(units);
            events.push(Event::AnswerSealed {
                usage,
                cost,
                cache_saved: None,
                stop,
                source: crate::ledger::Purpose::Answer,
            });
            for (n, asks, runs, tail) in calls {
                let id = format!("c{n}");
                events.extend(asks.then(|| asked(&id, &format!("q{n}"))));
                if runs {
                    events.push(started(&id));
                    events.push(Event::CallProgress { id: CallId::new(&*id), tail });
                }
                events.push(over(&id, "done"));
            }
            events
        },
    )
}

fn iteration_started(n: u32, why: Option<Continue>) -> Event {
    Event::IterationStarted { n, model: "m".into(), why, window: Some(200_000) }
}

fn answer_started() -> Event {
    let usage = Usage::default();
    Event::AnswerStarted { message_id: "msg".into(), request_id: None, model: "m".into(), usage }
}

fn announced(id: &str) -> Event {
    let input = json!({ "command": "make", "for": id });
    Event::BlockFinished {
        block: Block::ToolUse { id: id.into(), name: "Bash".into(), input, via: None },
    }
}

fn asked(id: &str, question: &str) -> Event {
    let decision = Decision { verdict: Verdict::Ask, reasons: Vec::new(), offer: Vec::new() };
    let question = Question {
        id: question.into(),
        agent: AgentPath::default(),
        call: id.into(),
        tool: "Bash".into(),
        input: json!({ "command": "make", "for": id }),
        touches: Touches::default(),
        decision: decision.clone(),
        request: None,
        deadline: None,
    };
    let (decision, question) = (Box::new(decision), Some(Box::new(question)));
    Event::CallAsked { id: id.into(), name: "Bash".into(), decision, question }
}

fn started(id: &str) -> Event {
    Event::CallStarted { id: id.into(), name: "Bash".into(), input: json!({ "command": "make" }) }
}

pub(super) fn over(id: &str, result: &str) -> Event {
    let content = vec![ResultPart::text(result)];
    Event::CallFinished {
        id: id.into(),
        name: "Bash".into(),
        outcome: CallOutcome::Succeeded,
        decision: None,
        result: Block::ToolResult { id: id.into(), content, is_error: false },
        shown: None,
        detail: None,
        took_ms: Some(7),
        input: None,
    }
}

fn sealed(output: u64) -> Event {
    let usage = Usage { input: 90, output, ..Usage::default() };
    let source = crate::ledger::Purpose::Answer;
    Event::AnswerSealed { usage, cost: Some(0.5), cache_saved: None, stop: None, source }
}

fn queued(n: u8) -> Event {
    let (source, when) = (crate::inbox::InboundSource::Person, crate::inbox::Delivery::AfterTurn);
    Event::Queued(QueuedItem { id: inbound(n), source, when, text: "and then?".into() })
}

fn end() -> Event {
    Event::Finished(Box::new(Finished {
        terminal: crate::turn::Terminal::Completed,
        text: "Done.".into(),
        error: None,
        error_status: None,
        stop: None,
        iterations: 2,
        usage: Usage { input: 300, output: 30, ..Usage::default() },
        per_model: Vec::new(),
        cost: Some(1.5),
        denials: Vec::new(),
        calls_run: 2,
        api_time_ms: 9,
        budgets: Vec::new(),
    }))
}

/// Every kind of event, each where a reader would miss it.
pub(super) fn every_kind() -> Vec<Envelope> {
    let retry = Retry {
        attempt: 1,
        of: 10,
        wait: Duration::from_millis(500),
        status: Some(529),
        kind: ModelErrorKind::Overloaded,
        message: "busy".into(),
    };
    let memory = crate::memory::MemoryChange {
        kept: true,
        id: "m".into(),
        kind: crate::memory::FactKind::HowTo,
        scope: crate::memory::Scope::User,
        text: "make".into(),
    };
    let receipt = Receipt {
        trigger: Trigger::Auto,
        made: Made::Model { model: "m".into() },
        messages: 3,
        calls: Vec::new(),
        calls_dropped: 0,
        kept: 2,
        before: 9,
        after: 4,
        requests: 1,
        attached: Vec::new(),
    };
    let control = Control {
        mode: Mode::Plan,
        model: "m".into(),
        thinking: Thinking::Budget(1_024),
        rules: Default::default(),
        dirs: Vec::new(),
    };
    let question = |id: &str| Event::QuestionClosed { id: id.into(), end: QuestionEnd::Withdrawn };
    let root = [
        Event::PromptRefused { why: "no such skill".into() },
        Event::TurnStarted { turn: 1 },
        iteration_started(1, None),
        Event::TurnAbandoned,
        Event::TurnStarted { turn: 1 },
        Event::notice(Notice::NoCallMade),
        iteration_started(1, None),
        Event::Retrying(retry),
        // The request failed before an answer began.
        Event::Went(Continue::ModelFallback),
        iteration_started(1, Some(Continue::ModelFallback)),
        answer_started(),
        Event::TextDelta { text: "I lo".into() },
        Event::AnswerDropped,
        iteration_started(1, Some(Continue::StreamRetry { attempt: 1 })),
        Event::Raw(RawValue::from_string("{}".into()).unwrap()),
        answer_started(),
        Event::ThinkingDelta { text: "Hm".into() },
        Event::TextDelta { text: "I ".into() },
        Event::TextDelta { text: "look.".into() },
        Event::BlockFinished { block: Block::text("I look.") },
        announced("c1"),
        announced("c2"),
        sealed(9),
        asked("c1", "q1"),
        asked("c2", "q2"),
        question("q1"),
        started("c1"),
        Event::CallProgress { id: "c1".into(), tail: "cc".into() },
        queued(1),
        queued(2),
        Event::MemoryChanged(memory),
        Event::Unknown(json!({ "type": "teleported" })),
        over("c1", "built"),
        started("c2"),
        over("c2", "tested"),
        Event::Delivered { ids: vec![inbound(1)] },
        Event::Dequeued { ids: vec![inbound(2)] },
        Event::Plan(Arc::new(strategies::plan())),
        Event::ControlChanged(control),
        Event::Compacting { trigger: Trigger::Auto },
        Event::Compacted { receipt: Box::new(receipt) },
        Event::MessageAdded { text: "<summary>so far</summary>".into() },
        iteration_started(2, Some(Continue::NextTurn)),
    ];
    let child = [Event::TurnStarted { turn: 1 }, iteration_started(1, None), asked("c1", "q9")];
    let last = [end(), Event::Closed { reason: "exit".into() }];
    let below = |event| (path(0), event);
    let own = |event| (AgentPath::default(), event);
    let gone = Event::Closed { reason: "done".into() };
    let teammate = Event::TeammateChanged(strategies::teammate());
    let all = root.into_iter().map(own).chain(child.into_iter().map(below)).chain([
        own(question("q9")),
        below(end()),
        below(gone),
        below(teammate),
    ]);
    numbered(all.chain(last.into_iter().map(own)))
}
