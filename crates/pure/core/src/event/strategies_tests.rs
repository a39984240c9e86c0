//! Random events: every kind, with every awkward text.

use super::*;
use crate::context::{Made, StageName};
use crate::inbox::{Delivery, InboundSource};
use crate::ledger::{Broken, Change, Left, Sum};
use crate::memory::{FactKind, Scope};
use crate::message::{Image, ResultPart};
use crate::model::{ModelErrorKind, Thinking};
use crate::permission::{
    By, Choice, ChoiceQuestion, CitedRule, Mode, PersonRequest, Reason, Source, Tier, Verdict,
};
use crate::question::{Place, Touches};
use crate::time::Timestamp;
use crate::todo::{Status, Task};
use crate::turn::Terminal;
use proptest::prelude::*;
use std::time::Duration;

#[path = "notice_strategies_tests.rs"]
mod notices;
pub(crate) use notices::notice;

pub(crate) fn text() -> impl Strategy<Value = String> {
    prop_oneof![Just(String::new()), "\\PC{0,20}", Just("\u{0}\u{1b}[2J\u{2028}\n\"".to_owned())]
}

pub(crate) fn id() -> impl Strategy<Value = CallId> {
    text().prop_map(CallId::new)
}

pub(crate) fn model() -> impl Strategy<Value = ModelId> {
    text().prop_map(ModelId::new)
}

pub(crate) fn money() -> impl Strategy<Value = f64> {
    -1e6..1e6
}

pub(crate) fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        money().prop_map(Value::from),
        text().prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 16, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            // Keys that the protocol uses itself.
            prop::collection::vec(
                (prop_oneof![text(), Just("type".into()), Just("code".into())], inner),
                0..4
            )
            .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

pub(crate) fn usage() -> impl Strategy<Value = Usage> {
    any::<[u32; 5]>().prop_map(|n| {
        let [input, output, cache_write, cache_write_1h, cache_read] = n.map(u64::from);
        Usage { input, output, cache_write, cache_write_1h, cache_read }
    })
}

pub(crate) fn stop() -> impl Strategy<Value = Option<StopReason>> {
    let some = prop_oneof![
        Just(StopReason::EndTurn),
        Just(StopReason::WindowExceeded),
        (text(), prop::option::of(text())).prop_map(|(category, explanation)| {
            StopReason::Refusal { category: Some(category), explanation }
        }),
        text().prop_map(StopReason::Other),
    ];
    prop::option::of(some)
}

pub(crate) fn went() -> impl Strategy<Value = Continue> {
    prop_oneof![
        Just(Continue::NextTurn),
        any::<u32>().prop_map(|drained| Continue::CollapseDrainRetry { drained }),
        any::<u8>().prop_map(|attempt| Continue::StreamRetry { attempt }),
        Just(Continue::ModelFallback),
    ]
}

pub(crate) fn block() -> impl Strategy<Value = Block> {
    let image = || {
        (text(), text()).prop_map(|(media, data)| Image { media, data: data.into(), blob: None })
    };
    let part = prop_oneof![
        text().prop_map(|text| ResultPart::Text { text }),
        image().prop_map(ResultPart::Image)
    ];
    prop_oneof![
        (text(), any::<bool>()).prop_map(|(text, meta)| Block::Text { text, meta }),
        (text(), prop::option::of(text()))
            .prop_map(|(text, signature)| Block::Thinking { text, signature }),
        text().prop_map(|data| Block::Redacted { data }),
        image().prop_map(Block::Image),
        (id(), text(), value(), prop::option::of(text()))
            .prop_map(|(id, name, input, via)| Block::ToolUse { id, name, input, via }),
        (id(), prop::collection::vec(part, 0..3), any::<bool>())
            .prop_map(|(id, content, is_error)| Block::ToolResult { id, content, is_error }),
    ]
    // Strategies are large, and the stack of a test is not.
    .boxed()
}

pub(crate) fn by() -> impl Strategy<Value = By> {
    prop::sample::select(vec![
        By::BuiltIn,
        By::Rule,
        By::Mode,
        By::Default,
        By::Sandbox,
        By::Hook,
        By::Person,
        By::Nobody,
    ])
}

pub(crate) fn verdict() -> impl Strategy<Value = Verdict> {
    prop::sample::select(vec![Verdict::Allow, Verdict::Ask, Verdict::Deny])
}

pub(crate) fn decision() -> impl Strategy<Value = Decision> {
    let tier = prop::sample::select(vec![Tier::BuiltIn, Tier::Project, Tier::CommandLine]);
    let source = (tier, prop::option::of("[a-z/]{1,9}"), prop::option::of(any::<usize>()))
        .prop_map(|(tier, file, line)| Source { tier, file: file.map(Into::into), line });
    let rule = (verdict(), text(), source).prop_map(|(effect, text, source)| CitedRule {
        effect,
        text,
        source,
    });
    let said = prop::option::of(text());
    let reason = (by(), text(), prop::option::of(text()), prop::option::of(rule), said).prop_map(
        |(by, why, part, rule, said)| {
            let rule = rule.map(Box::new);
            Reason { by, why, part, rule, said }
        },
    );
    (verdict(), prop::collection::vec(reason, 0..3), prop::collection::vec(text(), 0..3))
        .prop_map(|(verdict, reasons, offer)| Decision { verdict, reasons, offer })
}

pub(crate) fn question() -> impl Strategy<Value = Question> {
    let place =
        (text(), any::<bool>()).prop_map(|(path, below)| Place { path: path.into(), below });
    let places = prop::collection::vec(place, 0..2);
    let touches = (places, text(), any::<bool>()).prop_map(|(changes, host, unknown)| Touches {
        changes,
        contacts: vec![host],
        unknown,
        ..Touches::default()
    });
    let deadline = prop::option::of(any::<u64>().prop_map(Timestamp));
    let about = (touches, prop::option::of(person_request()));
    (text(), id(), value(), about, decision(), deadline).prop_map(
        |(text, call, input, (touches, request), decision, deadline)| Question {
            id: QuestionId::new(text.clone()),
            agent: AgentPath::default().child("review"),
            call,
            tool: text,
            input,
            touches,
            decision,
            request: request.map(Arc::new),
            deadline,
        },
    )
}

fn person_request() -> impl Strategy<Value = PersonRequest> {
    let choice = (text(), text()).prop_map(|(label, description)| Choice { label, description });
    let choices = prop::collection::vec(choice, 0..3);
    let question = (text(), text(), choices, any::<bool>()).prop_map(
        |(question, header, options, multi_select)| ChoiceQuestion {
            question,
            header,
            options,
            multi_select,
        },
    );
    prop_oneof![
        prop::collection::vec(question, 0..3)
            .prop_map(|questions| PersonRequest::Choices { questions }),
        (text(), text()).prop_map(|(plan, sha256)| {
            PersonRequest::Plan { plan, sha256, modes: Mode::ALL.to_vec() }
        }),
    ]
}

pub(crate) fn question_end() -> impl Strategy<Value = QuestionEnd> {
    prop_oneof![
        (text(), any::<bool>()).prop_map(|(by, allowed)| QuestionEnd::Answered { by, allowed }),
        text().prop_map(|why| QuestionEnd::Unanswered { why }),
        Just(QuestionEnd::Withdrawn),
    ]
}

pub(crate) fn of_inbox() -> impl Strategy<Value = Event> {
    let names = || prop::collection::vec(text(), 0..3);
    let source = prop_oneof![
        Just(InboundSource::Person),
        Just(InboundSource::Harness),
        (names(), names()).prop_map(|(added, removed)| InboundSource::Tools { added, removed }),
        (text(), prop::option::of(text()))
            .prop_map(|(id, summary)| InboundSource::Job { id, summary }),
        text().prop_map(|name| InboundSource::Agent { path: AgentPath::default().child(name) }),
    ]
    .boxed();
    let when = prop::sample::select(vec![
        Delivery::NextBoundary,
        Delivery::NextStep,
        Delivery::WithResults,
        Delivery::AfterTurn,
        Delivery::Later,
    ]);
    let inbound = || text().prop_map(InboundId::new);
    prop_oneof![
        (inbound(), source, when, text()).prop_map(|(id, source, when, text)| Event::Queued(
            QueuedItem { id, source, when, text }
        )),
        prop::collection::vec(inbound(), 0..3).prop_map(|ids| Event::Delivered { ids }),
        prop::collection::vec(inbound(), 0..3).prop_map(|ids| Event::Dequeued { ids }),
        (prop::sample::select(Mode::ALL.to_vec()), model(), any::<u32>()).prop_map(
            |(mode, model, budget)| {
                let (thinking, deny) = (Thinking::Budget(budget), vec!["Bash".to_owned()]);
                let rules = SessionRules { deny, ..SessionRules::default() };
                Event::ControlChanged(Control {
                    mode,
                    model,
                    thinking,
                    rules,
                    dirs: vec!["/more".into()],
                })
            }
        ),
        text().prop_map(|reason| Event::Closed { reason }),
        text().prop_map(|why| Event::PromptRefused { why }),
        Just(Event::TurnAbandoned),
    ]
}

pub(crate) fn outcome() -> impl Strategy<Value = CallOutcome> {
    let why = prop::sample::select(vec![
        NotRun::UnknownTool,
        NotRun::BadInput,
        NotRun::CutOff,
        NotRun::Interrupted,
        NotRun::HookEndedTurn,
        NotRun::BudgetSpent,
        NotRun::Redirected,
    ]);
    prop_oneof![
        Just(CallOutcome::Succeeded),
        Just(CallOutcome::Failed),
        by().prop_map(|by| CallOutcome::Denied { by }),
        why.prop_map(|why| CallOutcome::NotRun { why }),
        Just(CallOutcome::Stopped),
        Just(CallOutcome::Panicked),
    ]
}

pub(crate) fn finished() -> impl Strategy<Value = Finished> {
    let terminal = prop_oneof![
        Just(Terminal::Completed),
        Just(Terminal::RapidRefill),
        Just(Terminal::ModelError(ModelErrorKind::Overloaded)),
    ];
    let denial = (id(), text(), value(), decision())
        .prop_map(|(id, name, input, decision)| Denial { id, name, input, decision });
    let per_model = (model(), usage(), prop::option::of(money()))
        .prop_map(|(model, usage, cost)| ModelUsage { model, usage, cost });
    let left =
        (text(), money(), prop::option::of(any::<u64>())).prop_map(|(what, spent, requests)| {
            Left { what, sum: Sum { limit: 1.5, spent, reserved: 0.25 }, requests }
        });
    use prop::collection::vec;
    let lists = (vec(per_model, 0..2), vec(denial, 0..2), vec(left, 0..2));
    (terminal, text(), prop::option::of(text()), stop(), usage(), lists).prop_map(
        |(terminal, text, error, stop, usage, (per_model, denials, budgets))| Finished {
            terminal,
            text,
            error,
            error_status: Some(529),
            stop,
            iterations: 3,
            usage,
            per_model,
            cost: Some(0.125),
            denials,
            calls_run: 7,
            api_time_ms: 9,
            budgets,
        },
    )
}

pub(crate) fn receipt() -> Receipt {
    Receipt {
        trigger: Trigger::Auto,
        made: Made::Extract { why: "no model".into() },
        messages: 3,
        calls: vec!["c".into()],
        calls_dropped: 1,
        kept: 2,
        before: 9,
        after: 4,
        requests: 1,
        attached: vec!["plan".into()],
    }
}

pub(crate) fn plan() -> Plan {
    let task = Task {
        id: "1".into(),
        subject: "do it".into(),
        description: String::new(),
        active_form: None,
        status: Status::InProgress,
        owner: None,
        blocked_by: Vec::new(),
        metadata: serde_json::Map::new(),
    };
    let mut plan = Plan::default();
    plan.tasks.push(task);
    plan
}

pub(crate) fn event() -> impl Strategy<Value = Event> {
    let retry = (any::<u32>(), any::<u32>(), text()).prop_map(|(attempt, wait, message)| Retry {
        attempt,
        of: 10,
        wait: Duration::from_millis(wait.into()),
        status: Some(529),
        kind: ModelErrorKind::Overloaded,
        message,
    });
    let change = (any::<bool>(), text(), text()).prop_map(|(kept, id, text)| MemoryChange {
        kept,
        id,
        kind: FactKind::HowTo,
        scope: Scope::User,
        text,
    });
    let of_answer = prop_oneof![
        any::<u32>().prop_map(|turn| Event::TurnStarted { turn }),
        (any::<u32>(), model(), prop::option::of(went()), any::<Option<u64>>())
            .prop_map(|(n, model, why, window)| Event::IterationStarted { n, model, why, window }),
        retry.prop_map(Event::Retrying),
        (text(), prop::option::of(text()), model(), usage()).prop_map(
            |(message_id, request_id, model, usage)| Event::AnswerStarted {
                message_id,
                request_id,
                model,
                usage
            }
        ),
        text().prop_map(|text| Event::TextDelta { text }),
        text().prop_map(|text| Event::ThinkingDelta { text }),
        block().prop_map(|block| Event::BlockFinished { block }),
        (usage(), prop::option::of(money()), prop::option::of(money()), stop()).prop_map(
            |(usage, cost, cache_saved, stop)| Event::AnswerSealed {
                usage,
                cost,
                cache_saved,
                stop,
                source: crate::ledger::Purpose::Retry,
            }
        ),
        Just(Event::AnswerDropped),
        went().prop_map(Event::Went),
    ];
    let of_call = prop_oneof![
        (id(), text(), decision(), prop::option::of(question())).prop_map(
            |(id, name, decision, question)| Event::CallAsked {
                id,
                name,
                decision: decision.into(),
                question: question.map(Box::new),
            }
        ),
        (text(), question_end())
            .prop_map(|(id, end)| Event::QuestionClosed { id: QuestionId::new(id), end }),
        (id(), text(), value()).prop_map(|(id, name, input)| Event::CallStarted {
            id,
            name,
            input
        }),
        (id(), text()).prop_map(|(id, tail)| Event::CallProgress { id, tail }),
        (
            id(),
            outcome(),
            prop::option::of(decision()),
            block(),
            prop::option::of(text()),
            value(),
            prop::option::of(any::<u64>()),
            value()
        )
            .prop_map(|(id, outcome, decision, result, shown, detail, took_ms, input)| {
                Event::CallFinished {
                    id,
                    name: "Bash".into(),
                    outcome,
                    decision: decision.map(Box::new),
                    result,
                    shown,
                    // `null` and nothing are the same on the wire.
                    detail: Some(detail).filter(|detail| !detail.is_null()),
                    took_ms,
                    input: Some(input).filter(|input| !input.is_null()).map(Box::new),
                }
            }),
    ];
    let other = prop_oneof![
        Just(Event::Plan(Arc::new(plan()))),
        Just(Event::Compacting { trigger: Trigger::Overflow }),
        text().prop_map(|text| Event::MessageAdded { text }),
        Just(Event::Compacted { receipt: Box::new(receipt()) }),
        change.prop_map(Event::MemoryChanged),
        Just(Event::TeammateChanged(teammate())),
        notice().prop_map(Event::notice),
        finished().prop_map(|finished| Event::Finished(Box::new(finished))),
    ];
    prop_oneof![of_answer, of_call, of_inbox(), other]
}

pub(crate) fn teammate() -> crate::teammate::TeammateStatus {
    crate::teammate::TeammateStatus {
        name: "writer".into(),
        phase: crate::teammate::TeammatePhase::Waiting,
        task: Some("port the parser".into()),
        with: Some("explorer".into()),
        why: None,
    }
}
