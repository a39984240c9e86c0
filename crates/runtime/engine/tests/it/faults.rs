//! What models and tools do wrong, and what the model is told about it.

use crate::lines;
use ostler_core::message::{Block, ResultPart};
use ostler_core::model::{ModelErrorKind, StopReason};
use ostler_core::turn::{Limits, Terminal};
use ostler_testkit::{
    FakeApprover, FakeTool, Script, TestAgent, TestBlobs, calls, finished, says, trace,
};

/// B31: the turn continues, the call is answered, and calls that waited for it run.
#[tokio::test(start_paused = true)]
async fn a_panicking_tool_is_a_result() {
    let rig = TestAgent::new()
        .tools([
            FakeTool::unknown("Panic").panics(),
            FakeTool::panicking_at_access("Early"),
            FakeTool::reading("Read"),
        ])
        .answers([calls([("p1", "Panic"), ("e1", "Early"), ("r1", "Read")]), says("done")])
        .build();
    let events = rig.turn("go").await;
    assert_eq!(finished(&events).text, "done");
    insta::assert_snapshot!(rig.conversation(), @r#"
    user: "go"
    assistant: call p1 Panic "{}" | call e1 Early "{}" | call r1 Read "{}"
    user: p1 error "The tool Panic failed inside the harness. This is a defect of the harn…" | e1 error "The tool Early failed inside the harness. This is a defect of the harn…" | r1 ok "echo {}"
    assistant: "done"
    "#);
}

/// Nobody can be asked, so nothing runs; the calls behind it do.
#[tokio::test(start_paused = true)]
async fn a_panicking_approver_refuses() {
    let rig = TestAgent::new()
        .tools([FakeTool::writing("Write"), FakeTool::reading("Read")])
        .approver(FakeApprover::panicking())
        .answers([
            Script::new()
                .call_on("w1", "Write", "/ws/a")
                .call_on("r1", "Read", "/ws/a")
                .end_calls(),
            says("done"),
        ])
        .build();
    let events = rig.turn("go").await;
    assert_eq!(rig.timeline.began(), ["r1"]);
    insta::assert_snapshot!(lines(&events, &["finished", "end"]).join("\n"), @r#"
    finished w1 error "The tool Write failed inside the harness. This is a defect of the harn…"
    finished r1 ok "echo {"path":"/ws/a"}"
    end completed "done" iterations=2 calls=1 in=200 out=20 cost=0.000900
    "#);
}

#[tokio::test(start_paused = true)]
async fn unknown_misused_and_failing_tools_are_results() {
    let rig = TestAgent::new()
        .tools([FakeTool::misused("Wrong"), FakeTool::reading("Fails").fails("no such file")])
        .answers([
            calls([("x1", "Nothing"), ("m1", "Wrong"), ("f1", "Fails"), ("n1", "")]),
            says("done"),
        ])
        .build();
    let events = rig.turn("go").await;
    assert_eq!((finished(&events).calls_run, finished(&events).denials.len()), (1, 0));
    insta::assert_snapshot!(lines(&events, &["started", "finished"]).join("\n"), @r#"
    finished x1 error "<tool_use_error>There is no tool named "Nothing". The tools are: Fails…"
    finished m1 error "<tool_use_error>the field "path" is missing</tool_use_error>"
    finished n1 error "<tool_use_error>There is no tool named "". The tools are: Fails, Wrong…"
    started f1 Fails "{}"
    finished f1 error "no such file"
    "#);
}

/// A call that was cut off is shown to the model as it came, answered, and not run.
#[tokio::test(start_paused = true)]
async fn a_cut_call_is_answered() {
    let rig = TestAgent::new()
        .tools([FakeTool::writing("Write")])
        .answers([
            Script::new().cut("w1", "Write", r#"{"path": "/ws/a", "text": "ab"#).end_calls(),
            says("done"),
        ])
        .build();
    let events = rig.turn("go").await;
    assert!(rig.timeline.began().is_empty());
    assert_eq!(finished(&events).calls_run, 0);
    insta::assert_snapshot!(rig.conversation(), @r#"
    user: "go"
    assistant: call w1 Write "{"__unparsedToolInput":{"raw":"{\"path\": \"/ws/a\", \"text\": \"ab","…"
    user: w1 error "<tool_use_error>The input of this call is not a complete JSON object, …"
    assistant: "done"
    "#);
}

/// A model that only ever sends cut calls is stopped; one good answer in between resets the count.
#[tokio::test(start_paused = true)]
async fn cut_calls_are_bounded() {
    let cut = || Script::new().cut("w1", "Write", "{").end_calls();
    let good = || calls([("r1", "Read")]);
    let tools = || [FakeTool::writing("Write"), FakeTool::reading("Read")];
    let rig = TestAgent::new().tools(tools()).answers((0..9).map(|_| cut())).build();
    let events = rig.turn("go").await;
    assert_eq!(
        (finished(&events).terminal, finished(&events).iterations),
        (Terminal::MaxOutputTokens, 4)
    );
    let answers = [cut(), cut(), cut(), good(), cut(), cut(), cut(), says("done")];
    let events = TestAgent::new().tools(tools()).answers(answers).build().turn("go").await;
    assert_eq!(
        (finished(&events).terminal, finished(&events).iterations),
        (Terminal::Completed, 8)
    );
}

/// Also when the output limit is what cuts them: each is asked again with the higher limit first.
#[tokio::test(start_paused = true)]
async fn calls_cut_by_the_output_limit_are_bounded() {
    let cut = || Script::new().cut("w1", "Write", "{").end(StopReason::MaxTokens);
    let rig = TestAgent::new()
        .tools([FakeTool::writing("Write")])
        .answers((0..20).map(|_| cut()))
        .build();
    let events = rig.turn("go").await;
    assert_eq!(finished(&events).terminal, Terminal::MaxOutputTokens);
    assert_eq!(rig.model.requests().len(), 8);
}

/// Providers refuse twins, so each call gets its own name, also against earlier answers; every one runs once.
#[tokio::test(start_paused = true)]
async fn calls_of_the_same_name_are_told_apart() {
    let rig = TestAgent::new()
        .tools([FakeTool::reading("Read")])
        .answers([
            calls([("a", "Read"), ("a", "Read"), ("", "Read")]),
            calls([("a", "Read"), ("a-2", "Read")]),
            says("done"),
        ])
        .build();
    rig.turn("go").await;
    assert_eq!(rig.timeline.began(), ["a", "a-2", "call", "a-3", "a-2-2"]);
}

/// After the bound an empty answer is an end, and the history holds no empty message.
#[tokio::test(start_paused = true)]
async fn empty_answers_leave_nothing_behind() {
    let blank = || Script::new().thinking("hm").text(" \n").end_turn();
    let rig = TestAgent::new().answers([blank(), blank(), says("later")]).build();
    let events = rig.turn("go").await;
    assert_eq!(
        (finished(&events).terminal, finished(&events).text.as_str()),
        (Terminal::Completed, "")
    );
    rig.turn("go on").await;
    assert_eq!(rig.model.last_conversation(), "user: \"go\"\nuser: \"go on\"");
}

#[tokio::test(start_paused = true)]
async fn an_unknown_stop_reason_is_told() {
    for (reason, told) in [("sundown", "sundown"), ("", "none")] {
        let rig = TestAgent::new()
            .answers([Script::new().text("x").end(StopReason::Other(reason.into()))])
            .build();
        let events = rig.turn("go").await;
        assert_eq!(finished(&events).terminal, Terminal::Completed);
        let notice = format!("notice Warning \"the model stopped for an unknown reason: {told}\"");
        assert_eq!(lines(&events, &["notice"]), [notice]);
    }
}

/// A41: the stop reason promises calls, but there are none.
#[tokio::test(start_paused = true)]
async fn a_promise_of_calls_without_any_is_an_end() {
    let rig = TestAgent::new().answers([Script::new().text("x").end_calls()]).build();
    assert_eq!(finished(&rig.turn("go").await).terminal, Terminal::Completed);
}

/// Calls run by what the answer holds, not by what its stop reason says.
#[tokio::test(start_paused = true)]
async fn calls_in_an_answer_that_claims_to_end_are_run() {
    let rig = TestAgent::new()
        .tools([FakeTool::writing("Write")])
        .answers([Script::new().call("w1", "Write").end_turn(), says("done")])
        .build();
    rig.turn("go").await;
    assert_eq!(rig.timeline.began(), ["w1"]);
}

/// Nothing of a refused answer runs that changes anything; its calls are answered, so that the session can continue.
#[tokio::test(start_paused = true)]
async fn a_refusal_runs_nothing() {
    let refusal = StopReason::Refusal { category: Some("cyber".into()), explanation: None };
    let rig = TestAgent::new()
        .tools([FakeTool::writing("Write")])
        .answers([Script::new().text("I").call("w1", "Write").end(refusal.clone()), says("later")])
        .build();
    let events = rig.turn("go").await;
    assert_eq!(
        (finished(&events).terminal, &finished(&events).stop),
        (Terminal::Refusal, &Some(refusal))
    );
    assert!(rig.timeline.began().is_empty());
    rig.turn("go on").await;
    insta::assert_snapshot!(rig.model.last_conversation(), @r#"
    user: "go"
    assistant: "I" | call w1 Write "{}"
    user: w1 error "No result: the turn ended first. The call changed nothing."
    user: "go on"
    "#);
}

/// A paused answer is sent back as it is; a paused answer with calls has them run first.
#[tokio::test(start_paused = true)]
async fn a_paused_answer_is_continued() {
    let rig = TestAgent::new()
        .tools([FakeTool::reading("Read")])
        .answers([
            Script::new().text("wait").end(StopReason::PauseTurn),
            Script::new().call("r1", "Read").end(StopReason::PauseTurn),
            says("done"),
        ])
        .build();
    let events = rig.turn("go").await;
    assert_eq!(lines(&events, &["went"]), ["went pause_resume 1", "went next_turn"]);
    insta::assert_snapshot!(rig.conversation(), @r#"
    user: "go"
    assistant: "wait"
    assistant: call r1 Read "{}"
    user: r1 ok "echo {}"
    assistant: "done"
    "#);
}

/// When retries are used up, what was said is kept, and the calls of the broken answer are answered.
#[tokio::test(start_paused = true)]
async fn a_broken_answer_that_cannot_be_repeated_is_kept() {
    let broken = || {
        Script::new()
            .text("I act.")
            .call("w1", "Write")
            .delta("and th")
            .fail(ModelErrorKind::Unavailable)
    };
    let rig = TestAgent::new()
        .tools([FakeTool::writing("Write")])
        .limits(Limits { max_stream_retries: 1, ..Limits::default() })
        .answers([broken(), broken(), says("later")])
        .build();
    let events = rig.turn("go").await;
    assert_eq!(finished(&events).error.as_deref(), Some("scripted unavailable"));
    assert!(rig.timeline.began().is_empty());
    rig.turn("go on").await;
    insta::assert_snapshot!(rig.model.last_conversation(), @r#"
    user: "go"
    assistant: "I act." | call w1 Write "{}" | "and th"
    user: w1 error "No result: the turn ended first. The call changed nothing."
    user: meta "[The answer above is incomplete: the model did not finish it.]"
    user: "go on"
    "#);
}

/// B32: the model gets both ends and the place of the whole, which is kept byte for byte.
#[tokio::test(start_paused = true)]
async fn a_large_result_is_spilled() {
    const SIZE: usize = 3_000_000;
    for full in [false, true] {
        let blobs = if full { TestBlobs::full() } else { TestBlobs::default() };
        let rig = TestAgent::new()
            .tools([FakeTool::reading("Flood").floods(SIZE)])
            .blobs(blobs)
            .answers([calls([("f1", "Flood")]), says("done")])
            .build();
        let events = rig.turn("go").await;
        let text = result_text(&rig.view());
        assert!(text.len() < 52_000, "{}", text.len());
        assert!(text.contains("]\nline 0\n") && text.contains("not shown"), "{}", &text[..200]);
        let kept = rig.blobs.kept();
        assert_eq!(
            kept.iter().map(Vec::len).collect::<Vec<_>>(),
            if full { vec![] } else { vec![SIZE] }
        );
        assert_eq!(text.contains("/spills/0"), !full);
        assert_eq!(text.contains("could not be stored"), full);
        assert!(trace(&events).len() < 10_000);
    }
}

fn result_text(view: &ostler_core::view::View) -> String {
    let blocks = view.messages().flat_map(|message| message.blocks().to_vec());
    let text = |block| match block {
        Block::ToolResult { content, .. } => content.into_iter().find_map(|part| match part {
            ResultPart::Text { text } => Some(text),
            ResultPart::Image(_) => None,
        }),
        _ => None,
    };
    blocks.filter_map(text).next().unwrap()
}
