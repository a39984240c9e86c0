//! The plain course of a turn: what the reader sees, what the model gets, what the end reports.

use crate::lines;
use ostler_core::event::{Denial, Event, Finished, ModelUsage};
use ostler_core::ledger::Usage;
use ostler_core::model::{ModelErrorKind, ModelEvent, Retry, StopReason, Thinking};
use ostler_core::permission::{By, CitedRule, Decision, Reason, Source, Verdict};
use ostler_core::turn::{Limits, Terminal};
use ostler_testkit::{FakeTool, PRICE, Script, TestAgent, calls, fails, finished, says, trace};
use serde_json::json;
use std::time::Duration;

#[tokio::test(start_paused = true)]
async fn text_only() {
    let rig = TestAgent::new().answers([Script::new().delta("hel").delta("lo").end_turn()]).build();
    let events = rig.turn("hi").await;
    insta::assert_snapshot!(trace(&events), @r#"
    turn 1
    iteration 1 model
    answer m1
    text "hel"
    text "lo"
    sealed in=100 out=10 cost=0.000450 stop=end_turn
    end completed "hello" iterations=1 calls=0 in=100 out=10 cost=0.000450
    "#);
    insta::assert_snapshot!(rig.conversation(), @r#"
    user: "hi"
    assistant: "hello"
    "#);
}

#[tokio::test(start_paused = true)]
async fn calls_then_text() {
    let rig = TestAgent::new()
        .tools([FakeTool::reading("Read"), FakeTool::writing("Write")])
        .answers([
            Script::new().thinking("hm").text("I look.").call("r1", "Read").end_calls(),
            Script::new().text("I write.").call_on("w1", "Write", "/ws/w").end_calls(),
            says("done"),
        ])
        .build();
    let events = rig.turn("go").await;
    insta::assert_snapshot!(trace(&events), @r#"
    turn 1
    iteration 1 model
    answer m1
    thinking "hm"
    block thinking "hm"
    text "I look."
    block "I look."
    block call r1 Read "{}"
    sealed in=100 out=10 cost=0.000450 stop=tool_use
    started r1 Read "{}"
    finished r1 ok "echo {}"
    went next_turn
    iteration 2 model after next_turn
    answer m2
    text "I write."
    block "I write."
    block call w1 Write "{"path":"/ws/w"}"
    sealed in=100 out=10 cost=0.000450 stop=tool_use
    started w1 Write "{"path":"/ws/w"}"
    finished w1 ok "echo {"path":"/ws/w"}"
    went next_turn
    iteration 3 model after next_turn
    answer m3
    text "done"
    block "done"
    sealed in=100 out=10 cost=0.000450 stop=end_turn
    end completed "done" iterations=3 calls=2 in=300 out=30 cost=0.001350
    "#);
    insta::assert_snapshot!(rig.conversation(), @r#"
    user: "go"
    assistant: thinking "hm" | "I look." | call r1 Read "{}"
    user: r1 ok "echo {}"
    assistant: "I write." | call w1 Write "{"path":"/ws/w"}"
    user: w1 ok "echo {"path":"/ws/w"}"
    assistant: "done"
    "#);
    assert_eq!(rig.model.left(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_second_turn_carries_the_first() {
    let rig = TestAgent::new().answers([says("one"), says("two")]).build();
    rig.turn("first").await;
    let events = rig.turn("second").await;
    assert_eq!(lines(&events, &["turn"]), ["turn 2"]);
    insta::assert_snapshot!(rig.model.last_conversation(), @r#"
    user: "first"
    assistant: "one"
    user: "second"
    "#);
}

/// Everything of the last report is compared, so that a field that is not filled in is seen.
#[tokio::test(start_paused = true)]
async fn the_end_reports_everything() {
    let usage = |input, output| Usage { input, output, ..Usage::default() };
    let rig = TestAgent::new()
        .tools([
            FakeTool::reading("Read"),
            FakeTool::reading("Fails").fails("no such file"),
            FakeTool::reading("Never"),
        ])
        .deny("Never")
        .fallback("other")
        .answers([
            Script::new()
                .usage(usage(1_000, 50))
                .call("r1", "Read")
                .call("d1", "Never")
                .call("f1", "Fails")
                .end_calls(),
            Script::new().usage(usage(2_000, 60)).delta("half").fail(ModelErrorKind::Overloaded),
            fails(ModelErrorKind::Overloaded),
            Script::new()
                .usage(usage(3_000, 70))
                .text("all ")
                .text("of it")
                .end(StopReason::StopSequence),
        ])
        .build();
    let events = rig.turn("go").await;
    let (first, second) = (usage(3_000, 51), usage(3_000, 70));
    let expected = Finished {
        terminal: Terminal::Completed,
        text: "all of it".into(),
        error: None,
        error_status: None,
        stop: Some(StopReason::StopSequence),
        iterations: 2,
        usage: usage(6_000, 121),
        per_model: vec![
            ModelUsage { model: "model".into(), usage: first, cost: Some(PRICE.cost(&first)) },
            ModelUsage { model: "other".into(), usage: second, cost: Some(PRICE.cost(&second)) },
        ],
        cost: Some(PRICE.cost(&first) + PRICE.cost(&second)),
        denials: vec![Denial {
            id: "d1".into(),
            name: "Never".into(),
            input: json!({}),
            decision: Decision {
                verdict: Verdict::Deny,
                reasons: vec![Reason {
                    rule: Some(Box::new(CitedRule {
                        effect: Verdict::Deny,
                        text: "Never".into(),
                        source: Source::default(),
                    })),
                    ..Reason::new(By::Rule, "the deny rule Never covers it")
                }],
                offer: Vec::new(),
            },
        }],
        calls_run: 2,
        api_time_ms: 0,
        budgets: Vec::new(),
    };
    assert_eq!(finished(&events), &expected);
}

#[tokio::test(start_paused = true)]
async fn a_failed_turn_reports_its_error_and_no_text_of_an_earlier_turn() {
    let rig =
        TestAgent::new().answers([says("one"), fails(ModelErrorKind::Auth), says("three")]).build();
    rig.turn("first").await;
    let events = rig.turn("second").await;
    let end = finished(&events);
    assert_eq!(end.terminal, Terminal::ModelError(ModelErrorKind::Auth));
    assert_eq!(
        (end.text.as_str(), end.error.as_deref(), end.error_status),
        ("", Some("scripted auth"), Some(500))
    );
    let events = rig.turn("third").await;
    assert_eq!((finished(&events).text.as_str(), &finished(&events).error), ("three", &None));
}

/// The prompt's tokens are known when an answer starts; a price nobody knows makes the whole sum unknown.
#[tokio::test(start_paused = true)]
async fn an_unknown_price_gives_no_cost() {
    let rig = TestAgent::new().price(None).answers([says("one")]).build();
    let events = rig.turn("go").await;
    assert_eq!(finished(&events).cost, None);
    assert_eq!(lines(&events, &["sealed"]), ["sealed in=100 out=10 cost=? stop=end_turn"]);
}

/// How often a request is repeated when another model may help, and when none can.
fn patience(request: &ostler_core::model::Request) -> (u32, u32) {
    let of = |kind| request.retries_for(kind);
    (of(ModelErrorKind::Overloaded), of(ModelErrorKind::RateLimited))
}

#[tokio::test(start_paused = true)]
async fn requests_carry_what_the_settings_say() {
    let rig = TestAgent::new()
        .tools([FakeTool::reading("b"), FakeTool::reading("a")])
        .settings(|settings| {
            settings.thinking = Thinking::Budget(2_000);
            settings.raw_events = true;
        })
        .fallback("other")
        .answers([
            Script::new().text("x").end(StopReason::MaxTokens),
            fails(ModelErrorKind::Unavailable),
            says("done"),
        ])
        .build();
    rig.turn("go").await;
    let requests = rig.model.requests();
    let told: Vec<_> = requests
        .iter()
        .map(|r| (r.model.to_string(), r.max_output, patience(r), r.thinking, r.raw_events))
        .collect();
    let thinking = Thinking::Budget(2_000);
    assert_eq!(told[0], ("model".into(), 8_000, (2, 10), thinking, true));
    assert_eq!(told[1], ("model".into(), 64_000, (2, 10), thinking, true));
    assert_eq!(told[2], ("other".into(), 64_000, (10, 10), thinking, true));
    for request in &requests {
        let tools: Vec<_> = request.tools.iter().map(|tool| tool.name.as_str()).collect();
        assert_eq!(tools, ["a", "b"]);
        // The same list every time, with its renderings.
        assert!(request.tools.is_same(&requests[0].tools));
        assert_eq!(request.system.as_ref(), ["You are under test."]);
    }
    // Messages are shared between requests, so that each is rendered once.
    let first = |n: usize| requests[n].view.items()[0].clone();
    assert!(std::sync::Arc::ptr_eq(&first(0), &first(2)));
}

/// Also between turns: a message is rendered once in its life.
#[tokio::test(start_paused = true)]
async fn a_later_turn_shares_the_messages_of_an_earlier_one() {
    let rig = TestAgent::new()
        .tools([FakeTool::reading("Read")])
        .answers([calls([("r1", "Read")]), says("one"), says("two")])
        .build();
    rig.turn("first").await;
    rig.turn("second").await;
    let requests = rig.model.requests();
    for (had, has) in requests[1].view.items().iter().zip(requests[2].view.items()) {
        assert!(std::sync::Arc::ptr_eq(had, has), "{:?}", had.message());
    }
}

#[tokio::test(start_paused = true)]
async fn the_callers_own_output_limit_is_kept() {
    let rig = TestAgent::new()
        .settings(|settings| settings.output_limit = Some(1_234))
        .limits(Limits { may_escalate: false, ..Limits::default() })
        .answers([Script::new().text("x").end(StopReason::MaxTokens), says("done")])
        .build();
    rig.turn("go").await;
    let limits: Vec<_> = rig.model.requests().iter().map(|request| request.max_output).collect();
    assert_eq!(limits, [1_234, 1_234]);
}

#[tokio::test(start_paused = true)]
async fn retries_notes_and_raw_events_reach_the_reader() {
    let retry = Retry {
        attempt: 1,
        of: 10,
        wait: Duration::from_secs(2),
        status: Some(529),
        kind: ModelErrorKind::Overloaded,
        message: "busy".into(),
    };
    let raw = serde_json::value::to_raw_value(&json!({ "type": "ping" })).unwrap();
    let script = Script::new()
        .event(ModelEvent::Raw(raw))
        .event(ModelEvent::Note("a field was left out".into()))
        .event(ModelEvent::Retrying(retry))
        .text("x")
        .end_turn();
    let events = TestAgent::new().answers([script]).build().turn("go").await;
    assert_eq!(
        lines(&events, &["raw", "notice", "retrying"]),
        [
            r#"raw "{"type":"ping"}""#,
            r#"notice Warning "a field was left out""#,
            "retrying 1/10 in 2s overloaded",
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn progress_is_told_while_a_call_runs() {
    let rig = TestAgent::new()
        .tools([FakeTool::reading("Talk").reports(&["one", "two"], false)])
        .answers([calls([("t1", "Talk")]), says("done")])
        .build();
    let events = rig.turn("go").await;
    assert_eq!(
        lines(&events, &["started", "progress", "finished"]),
        [
            r#"started t1 Talk "{}""#,
            r#"progress t1 "one""#,
            r#"progress t1 "two""#,
            r#"finished t1 ok "reported""#,
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn what_a_tool_saw_and_its_data_are_passed_on() {
    use ostler_core::session::Entry;
    use ostler_core::tool::{Seen, ToolOutput};
    let seen = Seen { path: "/ws/a".into(), hash: Some("h".into()), part: None };
    let detail = json!({ "lines": 3 });
    let output = ToolOutput {
        seen: vec![seen.clone()],
        detail: Some(detail.clone()),
        ..ToolOutput::text("x")
    };
    let rig = TestAgent::new()
        .tools([FakeTool::reading("Read").gives(output)])
        .answers([calls([("r1", "Read")]), says("done")])
        .build();
    let events = rig.turn("go").await;
    let told = events.iter().find_map(|event| match event {
        Event::CallFinished { detail, .. } => Some(detail.clone()),
        _ => None,
    });
    assert_eq!(told, Some(Some(detail)));
    let recorded = rig.timeline.entries().into_iter().find_map(|entry| match entry {
        Entry::CallFinished { seen, .. } => Some(seen),
        _ => None,
    });
    assert_eq!(recorded, Some(vec![seen]));
}

#[tokio::test(start_paused = true)]
async fn a_call_knows_what_it_was_judged_by() {
    use ostler_core::ports::Tool;
    use ostler_core::tool::ToolOutput;
    use std::sync::{Arc, Mutex};
    let got = Arc::new(Mutex::new(None));
    let told = got.clone();
    let tool = FakeTool::reading("Read").acts(move |input, cx| {
        *told.lock().unwrap() = Some((input, cx.judged));
        Box::pin(async { ToolOutput::text("x") })
    });
    let rig =
        TestAgent::new().tools([tool]).answers([calls([("r1", "Read")]), says("done")]).build();
    rig.turn("go").await;
    let (input, judged) = got.lock().unwrap().take().unwrap();
    assert!(!judged.reads.is_empty());
    assert_eq!(judged, FakeTool::reading("Read").access(&input).unwrap());
}
