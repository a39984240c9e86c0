//! A turn that is given up, or ended in order, leaves nothing running and a session that tells the truth.

use crate::support::{
    PATIENCE, World, becomes, finished, interrupt, is_text, open, runs, unique_sleep, until,
    watched,
};
use ostler::{Event, Mode, QuestionEnd, Terminal};
use ostler_model_server::{Script, ServedOutcome, calls, text};
use serde_json::json;

pub async fn dropping_in_an_answer_closes_the_request() {
    let script =
        Script::new().answer(text("never to be").gate("hold").say(" finished")).answer(text("ok"));
    let world = World::new(script);
    let session = world.session();
    let mut turn = session.ask("the first").unwrap();
    until(&mut turn, is_text).await;
    drop(turn);
    assert_eq!(world.server.outcome(0, PATIENCE).await.unwrap(), ServedOutcome::ClientGone);
    let end = finished(session.ask("the second").unwrap()).await;
    assert_eq!((end.terminal, end.text.as_str()), (Terminal::Completed, "ok"));
    let messages = world.told(1);
    assert!(messages.contains("the first") && messages.contains("the second"), "{messages}");
    // An answer that nobody took to its end was not given.
    assert!(!messages.contains("never to be") && !messages.contains("\"assistant\""), "{messages}");
    world.assert_never_rejected();
}

pub async fn dropping_in_a_command_ends_it_and_the_next_turn_tells() {
    let mark = unique_sleep();
    let script = Script::new()
        .answer(calls([
            // Each touches what the one before it touches, so they run one after the other.
            ("Bash", json!({"command": "cat effects 2>/dev/null; echo quick"})),
            ("Bash", json!({"command": format!("echo x >> effects; sleep {mark}")})),
            ("Bash", json!({"command": "touch effects never"})),
        ]))
        .answer(text("ok"));
    let world = World::new(script);
    let session = world.session();
    let mut turn = session.ask("go").unwrap();
    // The quick one is told first; the slow one has begun by then or begins now.
    until(&mut turn, |event| matches!(event, Event::CallStarted { input, .. } if input.to_string().contains("sleep"))).await;
    // A turn does nothing unless it is read, but what it has started runs.
    // The shell's own command line holds the mark, too: its first effect shows how far it is.
    let effects = || std::fs::read_to_string(world.project().join("effects")).unwrap_or_default();
    becomes("the command runs", || runs(&mark) && effects() == "x\n").await;
    drop(turn);
    becomes("the command has ended", || !runs(&mark)).await;
    let end = finished(session.ask("what happened?").unwrap()).await;
    assert_eq!(end.terminal, Terminal::Completed);
    let results = world.server.requests()[1].messages()[2]["content"].clone();
    let told = |n: usize| results[n]["content"].to_string();
    assert!(told(0).contains("quick"), "{results}");
    assert!(told(1).contains("may have taken effect"), "{results}");
    assert!(told(2).contains("changed nothing"), "{results}");
    assert_eq!(effects(), "x\n");
    assert!(!world.project().join("never").exists());
    world.assert_never_rejected();
}

pub async fn dropping_withdraws_a_question() {
    let script = Script::new()
        .answer(calls([("Bash", json!({"command": "touch never"}))]))
        .answer(text("ok"));
    let world = World::new(script);
    let mut options = world.options();
    options.session.mode = Mode::Default;
    let session = open(options);
    let _attendance = session.attend();
    let mut turn = session.ask("go").unwrap();
    until(&mut turn, |event| matches!(event, Event::CallAsked { .. })).await;
    // The call that asks is a task of its own and ends a moment later, or before anybody drives again.
    let mut watching = session.observe(&session.state().1);
    drop(turn);
    let closed =
        watched(&mut watching, |event| matches!(event, Event::QuestionClosed { .. })).await;
    assert!(matches!(closed, Event::QuestionClosed { end: QuestionEnd::Withdrawn, .. }));
    assert_eq!(finished(session.ask("and?").unwrap()).await.terminal, Terminal::Completed);
    assert!(world.told(1).contains("changed nothing"), "{}", world.told(1));
    assert!(!world.project().join("never").exists());
    world.assert_never_rejected();
}

pub async fn an_interrupt_ends_the_answer_in_order() {
    let script = Script::new().answer(text("half of it").gate("hold")).answer(text("ok"));
    let world = World::new(script);
    let session = world.session();
    let mut turn = session.ask("go").unwrap();
    until(&mut turn, is_text).await;
    interrupt(&session);
    assert_eq!(finished(turn).await.terminal, Terminal::AbortedStreaming);
    assert_eq!(world.server.outcome(0, PATIENCE).await.unwrap(), ServedOutcome::ClientGone);
    assert_eq!(finished(session.ask("go on").unwrap()).await.terminal, Terminal::Completed);
    let messages = world.told(1);
    assert!(messages.contains("half") && messages.contains("interrupted"), "{messages}");
    world.assert_never_rejected();
}

pub async fn an_interrupt_ends_a_command_in_order() {
    let mark = unique_sleep();
    let command = format!("echo begun; sleep {mark}");
    let script =
        Script::new().answer(calls([("Bash", json!({ "command": command }))])).answer(text("ok"));
    let world = World::new(script);
    let session = world.session();
    let mut turn = session.ask("go").unwrap();
    until(&mut turn, |event| matches!(event, Event::CallStarted { .. })).await;
    becomes("the command runs", || runs(&mark)).await;
    interrupt(&session);
    assert_eq!(finished(turn).await.terminal, Terminal::AbortedTools);
    becomes("the command has ended", || !runs(&mark)).await;
    assert_eq!(finished(session.ask("go on").unwrap()).await.terminal, Terminal::Completed);
    assert!(world.told(1).contains("Stopped by the user"), "{}", world.told(1));
    world.assert_never_rejected();
}

/// Neither the turn before nor the turn after is concerned.
pub async fn an_interrupt_without_a_turn_does_nothing() {
    let world = World::new(Script::new().answer(text("ok")).forever());
    let session = world.session();
    interrupt(&session);
    assert_eq!(finished(session.ask("one").unwrap()).await.terminal, Terminal::Completed);
    interrupt(&session);
    assert_eq!(finished(session.ask("two").unwrap()).await.terminal, Terminal::Completed);
    world.assert_never_rejected();
}

pub async fn a_closed_session_runs_no_command() {
    let mark = unique_sleep();
    let daemon = format!("(setsid sleep {mark} >/dev/null 2>&1 &)");
    let bash = |command: &str| calls([("Bash", json!({ "command": command }))]);
    let world = World::new(Script::new().answer(bash(&daemon)).answer(text("ok")));
    let session = world.session();
    finished(session.ask("go").unwrap()).await;
    session.close("other").await;
    assert!(!runs(&mark), "close waits until all is gone");
    let refused = session.ask("more").err().expect("a closed session takes no prompt");
    assert!(refused.to_string().contains("closed"), "{refused}");
    assert_eq!(world.server.requests().len(), 2);
    world.assert_never_rejected();
}
