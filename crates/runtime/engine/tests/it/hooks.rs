//! What hooks may do to a turn, and what they may not.

use crate::{let_run, lines};
use ostler_core::hook::{EventName, HookEvent, HookOutcome, Stand};
use ostler_core::model::ModelErrorKind;
use ostler_core::permission::Mode;
use ostler_core::ports::Reply;
use ostler_engine::own_call;
use ostler_testkit::{
    FakeApprover, FakeTool, Rig, Script, ScriptedHooks, TestAgent, calls, fails, finished, says,
    until,
};
use serde_json::json;
use std::sync::Arc;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

fn tools() -> [FakeTool; 3] {
    [FakeTool::reading("Read"), FakeTool::writing("Write"), FakeTool::unknown("Run")]
}

fn agent(hooks: ScriptedHooks) -> (TestAgent, Arc<ScriptedHooks>) {
    let hooks = Arc::new(hooks);
    (TestAgent::new().tools(tools()).hooks(hooks.clone()), hooks)
}

fn on(event: EventName, matcher: &str, outcome: HookOutcome) -> ScriptedHooks {
    ScriptedHooks::new().on(event, matcher, move |_| outcome.clone())
}

fn block(why: &str) -> HookOutcome {
    HookOutcome::of(Stand::Block, "guard", why)
}

fn prevent(why: &str) -> HookOutcome {
    HookOutcome::of(Stand::Prevent, "guard", why)
}

/// Changes the path of a call.
fn rewriting(path: &'static str) -> ScriptedHooks {
    ScriptedHooks::new().on(EventName::PreToolUse, "", move |event| {
        let before = event.tool_input().unwrap();
        let changes = HookOutcome::changes_of(before, &json!({ "path": path }));
        let (changed_by, heard) = (vec!["guard".into()], vec!["guard".into()]);
        HookOutcome { changes, changed_by, heard, ..HookOutcome::default() }
    })
}

fn log(rig: &Rig, word: &str) -> Vec<String> {
    let log = rig.timeline.render_log();
    log.lines().filter(|line| line.starts_with(word)).map(str::to_owned).collect()
}

fn write(path: &str) -> Script {
    Script::new().call_on("w", "Write", path).end_calls()
}

#[tokio::test(start_paused = true)]
async fn a_block_before_a_call_is_its_result() {
    let (agent, hooks) = agent(on(EventName::PreToolUse, "Write", block("not on Fridays")));
    let rig = agent.answers([calls([("r", "Read"), ("w", "Write")]), says("done")]).build();
    let events = rig.turn("go").await;
    assert_eq!(rig.timeline.began(), ["r"]);
    let told = lines(&events, &["finished denied"]).join("");
    assert!(told.contains("the hook guard: not on Fridays"), "{told}");
    assert_eq!(finished(&events).denials.len(), 1);
    let decided = log(&rig, "decided w").join("");
    assert!(decided.contains("deny: the hook guard: not on Fridays"), "{decided}");
    // Nobody listens for the other call.
    assert_eq!(hooks.names(), ["PreToolUse"]);
}

#[tokio::test(start_paused = true)]
async fn continue_false_before_a_call_stops_it_and_the_turn() {
    let (agent, _) = agent(on(EventName::PreToolUse, "Write", prevent("enough")));
    let rig = agent.answers([calls([("w", "Write"), ("x", "Run")])]).build();
    let events = rig.turn("go").await;
    assert_eq!(rig.timeline.began(), [] as [&str; 0]);
    let end = lines(&events, &["end"]).join("");
    assert!(end.starts_with("end hook_stopped") && end.contains("the hook guard: enough"), "{end}");
    let results = lines(&events, &["finished"]);
    assert!(
        results.iter().all(|line| line.contains("Not run: the hook guard: enough")),
        "{results:?}"
    );
    assert_eq!(results.len(), 2);
}

/// B34: whatever a hook says, a deny stands; the hook is not even asked.
#[tokio::test(start_paused = true)]
async fn no_hook_lifts_a_deny() {
    let yes = HookOutcome { allowed_by: Some("guard".into()), ..HookOutcome::default() };
    let both = ScriptedHooks::new()
        .on(EventName::PreToolUse, "", {
            let yes = yes.clone();
            move |_| yes.clone()
        })
        .on(EventName::PermissionRequest, "", move |_| yes.clone());
    let (agent, hooks) = agent(both);
    let rig = agent.deny("Write").answers([write("/ws/a"), says("done")]).build();
    let events = rig.turn("go").await;
    assert_eq!(rig.timeline.began(), [] as [&str; 0]);
    assert_eq!(finished(&events).denials.len(), 1);
    assert_eq!(hooks.names(), [] as [&str; 0]);
}

/// B35: what a hook makes of a call is judged like any other.
#[tokio::test(start_paused = true)]
async fn a_rewritten_call_is_judged_again() {
    let (agent, _) = agent(rewriting("/ws/secret/key"));
    let rig = agent.deny("Write(./secret/**)").answers([write("/ws/a"), says("done")]).build();
    let events = rig.turn("go").await;
    assert_eq!(rig.timeline.began(), [] as [&str; 0]);
    let told = lines(&events, &["finished denied"]).join("");
    assert!(told.contains("the deny rule Write(./secret/**) covers it"), "{told}");
    assert_eq!(finished(&events).denials[0].input, json!({"path": "/ws/secret/key"}));
    let decided = log(&rig, "decided").join("");
    assert!(decided.contains("it runs as {\"path\":\"/ws/secret/key\"}"), "{decided}");

    // In a mode that asks, the question is about what would run.
    let (agent, _) = self::agent(rewriting("/ws/b"));
    let agent = agent.approver(FakeApprover::scripted([Reply::Yes]));
    let rig = agent.answers([write("/ws/a"), says("done")]).build();
    let events = rig.turn("go").await;
    assert_eq!(rig.approver.questions()[0].input, json!({"path": "/ws/b"}));
    let ran = lines(&events, &["started", "finished"]);
    assert!(ran.iter().all(|line| line.contains("/ws/b") && !line.contains("/ws/a")), "{ran:?}");
    let decided = log(&rig, "decided").join("");
    assert!(
        decided.contains("allow: the user said yes; heard by guard; changed by guard; it runs as"),
        "{decided}"
    );
    // The model reads that it ran as something else; what it wrote is not touched.
    let conversation = rig.conversation();
    assert!(conversation.contains("A hook changed the input of the Write call"), "{conversation}");
    assert!(conversation.contains("/ws/a"), "{conversation}");
}

/// A hook is a program: what the call's names lead to may be something else once it has run.
#[tokio::test(start_paused = true)]
async fn after_its_hooks_a_call_is_judged_by_what_is_there_then() {
    let hooks = Arc::new(on(EventName::PreToolUse, "Write", HookOutcome::default()));
    let rig = TestAgent::new()
        .tools([FakeTool::writing("Write").moves_to("/ws/secret/key")])
        .hooks(hooks)
        .deny("Write(./secret/**)")
        .answers([write("/ws/a"), says("done")])
        .build();
    let events = rig.turn("go").await;
    assert_eq!(rig.timeline.began(), [] as [&str; 0]);
    let told = lines(&events, &["finished denied"]).join("");
    assert!(told.contains("the deny rule Write(./secret/**) covers it"), "{told}");
}

/// The place a call moves to is taken: it waits for the call that is there.
#[tokio::test(start_paused = true)]
async fn a_rewritten_call_runs_beside_nothing_it_conflicts_with() {
    let (agent, hooks) = agent(rewriting("/ws/same"));
    let answer = Script::new()
        .call_on("a", "Write", "/ws/1")
        .call_on("b", "Write", "/ws/2")
        .call_on("c", "Read", "/ws/3")
        .end_calls();
    let rig = agent.answers([answer, says("done")]).build();
    // The laws, checked here as after every turn, see calls that conflict and run together.
    rig.turn("go").await;
    assert_eq!(rig.timeline.began(), ["a", "b", "c"]);
    assert_eq!(hooks.names().len(), 3);
}

#[tokio::test(start_paused = true)]
async fn a_hook_raises_to_a_question_that_no_earlier_yes_answers() {
    let ask = HookOutcome::of(Stand::Ask, "guard", "look at this");
    let hooks = || on(EventName::PreToolUse, "Write", ask.clone());
    let replies = [Reply::YesForSession, Reply::No("not again".into())];
    let (agent, _) = agent(hooks());
    let agent = agent.allow("Write").approver(FakeApprover::scripted(replies));
    let twice = Script::new().call_on("w1", "Write", "/ws/a").call_on("w2", "Write", "/ws/a");
    let rig = agent.answers([twice.end_calls(), says("done")]).build();
    let events = rig.turn("go").await;
    assert_eq!(rig.timeline.began(), ["w1"]);
    assert_eq!(rig.approver.asked(), ["w1", "w2"]);
    assert!(rig.approver.questions().iter().all(|question| question.decision.offer.is_empty()));
    let asked = lines(&events, &["asked w1"]).join("");
    assert!(asked.contains("the hook guard: look at this"), "{asked}");

    // Where nobody is to be asked it is a no.
    let (agent, _) = self::agent(hooks());
    let rig =
        agent.mode(Mode::DontAsk).allow("Write").answers([write("/ws/a"), says("done")]).build();
    rig.turn("go").await;
    assert_eq!(rig.timeline.began(), [] as [&str; 0]);
}

#[tokio::test(start_paused = true)]
async fn a_hook_answers_a_question() {
    let yes = HookOutcome { allowed_by: Some("guard".into()), ..HookOutcome::default() };
    for (outcome, runs, record) in [
        (yes.clone(), true, "allow: the hook guard said yes"),
        (block("no"), false, "deny: the hook guard: no"),
    ] {
        let (agent, _) = agent(on(EventName::PermissionRequest, "Write", outcome));
        let agent = agent.approver(FakeApprover::panicking());
        let rig = agent.answers([write("/ws/a"), says("done")]).build();
        rig.turn("go").await;
        assert_eq!(rig.timeline.began().len(), usize::from(runs));
        assert!(log(&rig, "decided").join("").contains(record), "{:?}", log(&rig, "decided"));
    }
    // Without an opinion the person is asked, and somebody may be told about it.
    let hooks = on(EventName::PermissionRequest, "Write", HookOutcome::notice("hm")).on(
        EventName::Notification,
        "permission_prompt",
        |_| HookOutcome::default(),
    );
    let (agent, hooks) = agent(hooks);
    let agent = agent.approver(FakeApprover::scripted([Reply::Yes]));
    let rig = agent.answers([write("/ws/a"), says("done")]).build();
    let events = rig.turn("go").await;
    assert_eq!(rig.approver.asked(), ["w"]);
    assert_eq!(lines(&events, &["notice"]), ["notice Warning \"hm\""]);
    assert_eq!(hooks.names(), ["PermissionRequest", "Notification"]);
}

#[tokio::test(start_paused = true)]
async fn after_a_call_the_model_hears_what_hooks_say() {
    let hooks = on(EventName::PostToolUse, "Write", block("format it")).on(
        EventName::PostToolUseFailure,
        "Run",
        |event| {
            let HookEvent::PostToolUseFailure { error, .. } = event else { panic!("{event:?}") };
            HookOutcome { context: vec![format!("saw {error}")], ..HookOutcome::default() }
        },
    );
    let hooks = Arc::new(hooks);
    let rig = TestAgent::new()
        .tools([FakeTool::writing("Write"), FakeTool::unknown("Run").fails("broke")])
        .hooks(hooks.clone())
        .answers([calls([("w", "Write"), ("x", "Run")]), says("done")])
        .build();
    rig.turn("go").await;
    let conversation = rig.conversation();
    for text in
        ["A hook objected after the Write call: the hook guard: format it", "adds: saw broke"]
    {
        assert!(conversation.contains(text), "{text}: {conversation}");
    }
    let HookEvent::PostToolUse { tool_input, tool_response, .. } = &hooks.heard()[0] else {
        panic!()
    };
    assert_eq!(tool_input, &json!({}));
    assert!(tool_response["content"].as_str().unwrap().contains("echo"), "{tool_response}");
}

#[tokio::test(start_paused = true)]
async fn a_hook_replaces_what_the_model_gets() {
    let replaced = |value: serde_json::Value| HookOutcome {
        result: Some(("guard".into(), value)),
        ..HookOutcome::default()
    };
    let (first, _) = agent(on(EventName::PostToolUse, "Write", replaced(json!("redacted"))));
    let rig = first.answers([write("/ws/a"), says("done")]).build();
    rig.turn("go").await;
    let conversation = rig.conversation();
    assert!(conversation.contains("redacted") && !conversation.contains("echo"), "{conversation}");
    let (other, _) = agent(on(EventName::PostToolUse, "Write", replaced(json!({"weather": 1}))));
    let rig = other.answers([write("/ws/a"), says("done")]).build();
    let events = rig.turn("go").await;
    assert!(rig.conversation().contains("echo"), "{}", rig.conversation());
    assert!(format!("{events:?}").contains("the result stays as it is"), "{events:?}");
}

#[tokio::test(start_paused = true)]
async fn a_stop_hook_that_adds_something_gets_an_answer() {
    let adds = HookOutcome { context: vec!["and the tests?".into()], ..HookOutcome::default() };
    let (agent, _) = agent(on(EventName::Stop, "", adds));
    let rig = agent.answers((0..9).map(|_| says("done"))).build();
    let events = rig.turn("go").await;
    assert_eq!(lines(&events, &["went stop_hook_blocking"]).len(), 8);
    assert!(rig.conversation().contains("and the tests?"));
}

#[tokio::test(start_paused = true)]
async fn continue_false_after_a_call_keeps_its_result_and_ends_the_turn() {
    let (agent, _) = agent(on(EventName::PostToolUse, "Write", prevent("enough")));
    let rig = agent.answers([write("/ws/a")]).build();
    let events = rig.turn("go").await;
    assert!(lines(&events, &["finished w ok"]).len() == 1);
    assert!(lines(&events, &["end hook_stopped"]).len() == 1);
}

#[tokio::test(start_paused = true)]
async fn a_refused_prompt_leaves_nothing_behind() {
    let hooks = ScriptedHooks::new().on(EventName::UserPromptSubmit, "", |event| {
        let HookEvent::UserPromptSubmit { prompt } = event else { panic!("{event:?}") };
        if prompt == "secret" { block("no secrets") } else { HookOutcome::default() }
    });
    let (agent, _) = agent(hooks);
    let rig = agent.answers([says("hello")]).build();
    let events = rig.turn("secret").await;
    assert!(lines(&events, &["end hook_stopped"]).join("").contains("no secrets"));
    assert_eq!(rig.conversation(), "");
    assert_eq!(log(&rig, "prompt"), [] as [&str; 0]);
    // The next one is as if it had never been.
    let events = rig.turn("hi").await;
    assert!(lines(&events, &["end completed"]).len() == 1);
    assert_eq!(rig.conversation(), "user: \"hi\"\nassistant: \"hello\"");
}

#[tokio::test(start_paused = true)]
async fn hooks_add_to_the_prompt() {
    let add = |text: &str| HookOutcome { context: vec![text.into()], ..HookOutcome::default() };
    let hooks = on(EventName::SessionStart, "startup", add("today is Monday")).on(
        EventName::UserPromptSubmit,
        "",
        move |_| add("be brief"),
    );
    let (agent, hooks) = agent(hooks);
    let rig = agent.answers([says("a"), says("b")]).build();
    rig.turn("one").await;
    rig.turn("two").await;
    assert_eq!(hooks.names(), ["SessionStart", "UserPromptSubmit", "UserPromptSubmit"]);
    let conversation = rig.conversation();
    assert_eq!(conversation.matches("A hook on SessionStart adds: today is Monday").count(), 1);
    assert_eq!(conversation.matches("A hook on UserPromptSubmit adds: be brief").count(), 2);
    assert!(rig.agent.end_session("other").await.is_empty());
}

/// A session that was refused has not begun: the next prompt asks again.
#[tokio::test(start_paused = true)]
async fn a_refused_session_does_not_begin_with_the_next_prompt() {
    let (agent, hooks) = agent(on(EventName::SessionStart, "", prevent("closed")));
    let rig = agent.build();
    for _ in 0..2 {
        let events = rig.turn("go").await;
        assert!(lines(&events, &["end hook_stopped"]).join("").contains("closed"));
    }
    assert_eq!(hooks.names(), ["SessionStart", "SessionStart"]);
}

#[tokio::test(start_paused = true)]
async fn a_stop_hook_keeps_the_turn_going_within_bounds() {
    let (agent, hooks) = agent(on(EventName::Stop, "", block("run the tests")));
    let rig = agent.answers((0..9).map(|n| says(&n.to_string()))).build();
    let events = rig.turn("go").await;
    assert_eq!(lines(&events, &["went stop_hook_blocking"]).len(), 8);
    let end = lines(&events, &["end"]).join("");
    assert!(end.starts_with("end stop_hook_prevented") && end.contains("run the tests"), "{end}");
    let active = |event: &HookEvent| match event {
        HookEvent::Stop { stop_hook_active, .. } => *stop_hook_active,
        other => panic!("{other:?}"),
    };
    let told: Vec<bool> = hooks.heard().iter().map(active).collect();
    assert_eq!(told, [vec![false], vec![true; 8]].concat());
    assert!(rig.conversation().contains("Stop hook feedback:"), "{}", rig.conversation());
}

/// Calls in between start the machine's own count afresh; the turn ends all the same.
#[tokio::test(start_paused = true)]
async fn work_between_the_objections_does_not_make_them_endless() {
    let (agent, _) = agent(on(EventName::Stop, "", block("more")));
    let round = |n: usize| [calls([(format!("c{n}").as_str(), "Read")]), says("done")];
    let rig = agent.tools([FakeTool::reading("Read")]).answers((0..9).flat_map(round)).build();
    let events = rig.turn("go").await;
    assert_eq!(lines(&events, &["went stop_hook_blocking"]).len(), 8);
    assert!(lines(&events, &["end"]).join("").starts_with("end stop_hook_prevented"));
}

#[tokio::test(start_paused = true)]
async fn a_failing_turn_has_no_stop_hooks() {
    let hooks =
        on(EventName::Stop, "", block("never"))
            .on(EventName::StopFailure, "model_error", |_| block("too late"));
    let (agent, hooks) = agent(hooks);
    let rig = agent.answers([fails(ModelErrorKind::Auth)]).build();
    let events = rig.turn("go").await;
    assert_eq!(hooks.names(), ["StopFailure"]);
    assert!(lines(&events, &["end model_error"]).len() == 1);
}

/// An answer that may still be discarded tells no hook.
#[tokio::test(start_paused = true)]
async fn a_call_that_hooks_hear_of_waits_for_the_seal() {
    for event in [EventName::PreToolUse, EventName::PostToolUse] {
        let (agent, hooks) = agent(on(event, "Read", HookOutcome::default()));
        let broken = Script::new().call("r", "Read").give_way().fail(ModelErrorKind::Overloaded);
        let whole = Script::new().call("r", "Read").end_calls();
        let rig = agent.answers([broken, whole, says("done")]).build();
        rig.turn("go").await;
        assert_eq!(rig.timeline.began(), ["r"], "{event:?}");
        assert_eq!(hooks.names().len(), 1, "{event:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_interrupt_ends_a_hook_that_never_answers() {
    for (event, began, ends) in [
        (EventName::UserPromptSubmit, 0, "end aborted_streaming"),
        (EventName::PreToolUse, 0, "end aborted_tools"),
        (EventName::PostToolUse, 1, "end aborted_tools"),
        (EventName::Stop, 1, "end aborted_streaming"),
    ] {
        let never = Arc::new(Semaphore::new(0));
        let (agent, hooks) = agent(on(event, "", HookOutcome::default()).held(&never));
        let rig = agent.answers([write("/ws/a"), says("done")]).build();
        let interrupt = CancellationToken::new();
        let mut stream = rig.start_with("go", &interrupt);
        let mut read = until(&mut stream, "turn").await;
        let rest = async {
            while hooks.names().is_empty() {
                let_run().await;
            }
            interrupt.cancel();
        };
        let (events, ()) = tokio::join!(rig.finish(std::mem::take(&mut read), stream), rest);
        assert_eq!(rig.timeline.began().len(), began, "{event:?}");
        assert_eq!(lines(&events, &[ends]).len(), 1, "{event:?}");
        // What had run keeps its result.
        if event == EventName::PostToolUse {
            assert_eq!(lines(&events, &["finished w ok"]).len(), 1);
        }
    }
}

/// Where a hook panics, what it was to judge does not happen.
#[tokio::test(start_paused = true)]
async fn a_panicking_hook_blocks() {
    let hooks = ScriptedHooks::new()
        .on(EventName::PreToolUse, "Write", |_| std::panic::resume_unwind(Box::new("x")));
    let (agent, _) = agent(hooks);
    let rig = agent.answers([write("/ws/a"), says("done")]).build();
    let events = rig.turn("go").await;
    assert_eq!(rig.timeline.began(), [] as [&str; 0]);
    assert!(lines(&events, &["finished denied"]).join("").contains("it failed inside the harness"));
}

/// A call of the harness itself passes the same hooks, and what they add follows its output.
#[tokio::test(start_paused = true)]
async fn hooks_hear_of_a_call_that_no_model_made() {
    let id = || "own".into();
    let (agent, _) = agent(on(EventName::PreToolUse, "Write", block("not on Fridays")));
    let rig = agent.build();
    let input = json!({"path": "/ws/a"});
    let refused = own_call(&rig.agent, id(), "Write", input.clone()).await.unwrap_err();
    assert_eq!(refused, "the hook guard: not on Fridays");
    assert_eq!(rig.timeline.began(), [] as [&str; 0]);

    let both = ScriptedHooks::new()
        .on(EventName::PreToolUse, "", |_| HookOutcome::notice("for the person"))
        .on(EventName::PostToolUse, "", |_| HookOutcome::of(Stand::Block, "guard", "too long"));
    let (agent, hooks) = self::agent(both);
    let rig = agent.build();
    let output = own_call(&rig.agent, id(), "Write", input).await.unwrap();
    assert_eq!(hooks.names(), ["PreToolUse", "PostToolUse"]);
    assert_eq!(log(&rig, "call_started").len(), 1, "{}", rig.timeline.render_log());
    let text = format!("{:?}", output.content);
    assert!(text.contains("the hook guard: too long"), "{text}");
    assert_eq!(output.notices.len(), 1, "{:?}", output.notices);

    let unknown = own_call(&rig.agent, id(), "Fly", json!({})).await.unwrap_err();
    assert!(unknown.contains("Fly"), "{unknown}");
}
