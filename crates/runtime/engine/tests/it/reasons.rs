//! Every way round and every way out that the driver can take today, as ladders.

use ostler_core::event::Event;
use ostler_core::message::{Block, Image, Message};
use ostler_core::model::{ModelErrorKind, StopReason};
use ostler_core::turn::Limits;
use ostler_testkit::{FakeTool, LogFault, Script, TestAgent, calls, fails, says, trace};
use std::collections::BTreeSet;
use tokio_util::sync::CancellationToken;

/// The reasons of a turn in order, the last one being its end.
fn ladder(events: &[Event]) -> String {
    let reason = |line: &str| match line.split_once(' ') {
        Some(("went", why)) => Some(why.to_owned()),
        Some(("end", rest)) => rest.split(' ').next().map(str::to_owned),
        _ => None,
    };
    trace(events).lines().filter_map(reason).collect::<Vec<_>>().join(" > ")
}

fn cut_off() -> Script {
    Script::new().text("part").end(StopReason::MaxTokens)
}
fn broken(kind: ModelErrorKind) -> Script {
    Script::new().delta("half").fail(kind)
}
fn empty() -> Script {
    Script::new().end_turn()
}
fn paused() -> Script {
    Script::new().text("wait").end(StopReason::PauseTurn)
}
fn refused() -> Script {
    Script::new().text("no").end(StopReason::Refusal { category: None, explanation: None })
}
fn many(n: usize, script: fn() -> Script) -> Vec<Script> {
    (0..n).map(|_| script()).collect()
}

struct Case {
    name: &'static str,
    agent: TestAgent,
    ladder: &'static str,
}

fn agent(answers: impl IntoIterator<Item = Script>) -> TestAgent {
    TestAgent::new().tools([FakeTool::reading("Read"), FakeTool::writing("Write")]).answers(answers)
}

fn case(
    name: &'static str,
    answers: impl IntoIterator<Item = Script>,
    ladder: &'static str,
) -> Case {
    Case { name, agent: agent(answers), ladder }
}

fn cases() -> Vec<Case> {
    [answers(), streams(), other_models(), requests(), means()].into_iter().flatten().collect()
}

/// What an answer may end with.
fn answers() -> Vec<Case> {
    let read = || calls([("r", "Read")]);
    let limited = |max| Limits { max_iterations: Some(max), ..Limits::default() };
    vec![
        case("text", [says("x")], "completed"),
        case("calls", [read(), read(), says("x")], "next_turn > next_turn > completed"),
        Case {
            name: "iterations are bounded",
            agent: agent([read(), read(), says("x")]).limits(limited(2)),
            ladder: "next_turn > max_turns",
        },
        case("one cut", [cut_off(), says("x")], "max_output_tokens_escalate > completed"),
        case(
            "always cut",
            many(9, cut_off),
            "max_output_tokens_escalate > max_output_tokens_recovery 1 > max_output_tokens_recovery 2 > \
             max_output_tokens_recovery 3 > max_output_tokens",
        ),
        case(
            "the window is full",
            [Script::new().text("part").end(StopReason::WindowExceeded), says("x")],
            "max_output_tokens_recovery 1 > completed",
        ),
        case("paused", [paused(), says("x")], "pause_resume 1 > completed"),
        case(
            "always paused",
            many(20, paused),
            "pause_resume 1 > pause_resume 2 > pause_resume 3 > pause_resume 4 > pause_resume 5 > pause_resume 6 > \
             pause_resume 7 > pause_resume 8 > pause_resume 9 > pause_resume 10 > model_error(protocol)",
        ),
        case("empty", [empty(), says("x")], "empty_retry 1 > completed"),
        case("always empty", many(9, empty), "empty_retry 1 > completed"),
        case("refusal", [refused()], "refusal"),
    ]
}

/// Answers that do not end.
fn streams() -> Vec<Case> {
    use ModelErrorKind::*;
    vec![
        case(
            "a broken stream heals",
            [broken(Protocol), broken(RateLimited), says("x")],
            "stream_retry 1 > stream_retry 2 > completed",
        ),
        case(
            "streams always break",
            many(9, || broken(Unavailable)),
            "stream_retry 1 > stream_retry 2 > stream_retry 3 > model_error(unavailable)",
        ),
        case(
            "a stream that just ends is broken",
            [Script::new().text("x"), says("x")],
            "stream_retry 1 > completed",
        ),
    ]
}

fn other_models() -> Vec<Case> {
    use ModelErrorKind::*;
    vec![
        Case {
            name: "another model helps",
            agent: agent([fails(Overloaded), says("x")]).fallback("other"),
            ladder: "model_fallback > completed",
        },
        Case {
            name: "another model helps once",
            agent: agent(many(9, || fails(Overloaded))).fallback("other"),
            ladder: "model_fallback > model_error(overloaded)",
        },
        Case {
            name: "streams break on both models",
            agent: agent(many(9, || broken(Overloaded))).fallback("other"),
            ladder: "stream_retry 1 > stream_retry 2 > stream_retry 3 > model_fallback > stream_retry 1 > \
                     stream_retry 2 > stream_retry 3 > model_error(overloaded)",
        },
        Case {
            name: "another model does not help against a wrong key",
            agent: agent([fails(Auth), says("x")]).fallback("other"),
            ladder: "model_error(auth)",
        },
    ]
}

/// Requests that the provider refuses.
fn requests() -> Vec<Case> {
    use ModelErrorKind::*;
    vec![
        case("too long", [fails(ContextOverflow)], "prompt_too_long"),
        case("image where there is none", [fails(BadImage)], "image_error"),
        case("thinking where there is none", [fails(BadThinking)], "model_error(bad_thinking)"),
        case(
            "thinking",
            [
                Script::new().thinking("hm").call("r", "Read").end_calls(),
                fails(BadThinking),
                says("x"),
            ],
            "next_turn > thinking_drop_retry > completed",
        ),
    ]
}

/// What the turn needs besides a model.
fn means() -> Vec<Case> {
    vec![
        Case { name: "budget", agent: agent([says("x")]).budget(0.0), ladder: "max_budget" },
        Case {
            name: "store",
            agent: agent([says("x")]).fault(LogFault::AppendsFrom(1)),
            ladder: "store_failed",
        },
    ]
}

#[tokio::test(start_paused = true)]
async fn every_reason_by_its_ladder() {
    let mut wrong = Vec::new();
    let mut reached = BTreeSet::new();
    for Case { name, agent, ladder: expected } in cases() {
        let got = ladder(&agent.build().turn("go").await);
        reached.extend(
            got.split(" > ").map(|reason| reason.split([' ', '(']).next().unwrap().to_owned()),
        );
        if got != expected {
            wrong.push(format!("{name}: {got}\n     expected: {expected}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    reached.extend(["image_drop_retry", "aborted_streaming", "aborted_tools"].map(str::to_owned));
    // What is missing here needs hooks or the context pipeline; a new reason must be added on purpose.
    let reached: Vec<_> = reached.iter().map(String::as_str).collect();
    assert_eq!(
        reached,
        [
            "aborted_streaming",
            "aborted_tools",
            "completed",
            "empty_retry",
            "image_drop_retry",
            "image_error",
            "max_budget",
            "max_output_tokens",
            "max_output_tokens_escalate",
            "max_output_tokens_recovery",
            "max_turns",
            "model_error",
            "model_fallback",
            "next_turn",
            "pause_resume",
            "prompt_too_long",
            "refusal",
            "store_failed",
            "stream_retry",
            "thinking_drop_retry",
        ]
    );
}

/// The image is replaced by words in the same conversation, and in the log's fold.
#[tokio::test(start_paused = true)]
async fn a_refused_image_is_left_out_once() {
    for (answers, expected) in [
        (vec![fails(ModelErrorKind::BadImage), says("x")], "image_drop_retry > completed"),
        (
            vec![fails(ModelErrorKind::BadImage), fails(ModelErrorKind::BadImage)],
            "image_drop_retry > image_error",
        ),
    ] {
        let rig = agent(answers).build();
        let image =
            Block::Image(Image { media: "image/png".into(), data: "AAAA".into(), blob: None });
        let prompt = Message::User { content: vec![Block::text("look"), image] };
        let stream = ostler_engine::run(rig.agent.clone(), prompt, CancellationToken::new());
        let events = rig.finish(Vec::new(), stream).await;
        assert_eq!(ladder(&events), expected);
        let has_image = |n: usize| {
            let requests = rig.model.requests();
            requests[n]
                .view
                .messages()
                .any(|m| m.blocks().iter().any(|b| matches!(b, Block::Image(_))))
        };
        assert_eq!((has_image(0), has_image(1)), (true, false));
    }
}

/// Each wait is twice as long as the one before; time is paused, so the sum is exact.
#[tokio::test(start_paused = true)]
async fn broken_streams_are_asked_again_after_growing_waits() {
    let rig = agent(many(9, || broken(ModelErrorKind::Protocol))).build();
    let since = tokio::time::Instant::now();
    rig.turn("go").await;
    assert_eq!(since.elapsed().as_millis(), 500 + 1_000 + 2_000);
}

/// The recovery note is part of the conversation, and the model gets its own half answer back.
#[tokio::test(start_paused = true)]
async fn a_cut_off_answer_is_kept_and_continued() {
    let rig = agent([cut_off(), cut_off(), says("rest")]).build();
    rig.turn("go").await;
    insta::assert_snapshot!(rig.conversation(), @r#"
    user: "go"
    assistant: "part"
    user: meta "Your answer reached the output limit. Continue exactly where it stoppe…"
    assistant: "rest"
    "#);
}
