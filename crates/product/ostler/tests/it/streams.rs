//! A turn is pulled by its reader.

use crate::support::{PATIENCE, World, finished, is_text, open, until};
use futures_util::StreamExt;
use ostler::{CallOutcome, Envelope, Event, Terminal};
use ostler_model_server::{Script, ServedOutcome, calls, text};
use serde_json::json;
use std::sync::Arc;
use std::time::Duration;

pub async fn nothing_happens_unless_it_is_read() {
    let world = World::new(Script::new().answer(text("ok")).forever());
    let unread = ostler::ask(&ostler::init(), world.options(), "unread").unwrap();
    // Another turn runs from its beginning to its end meanwhile.
    let read = ostler::ask(&ostler::init(), world.options(), "read").unwrap();
    let end = finished(read).await;
    assert_eq!((end.terminal, end.text.as_str()), (Terminal::Completed, "ok"));
    assert_eq!(world.server.requests().len(), 1);
    assert!(world.told(0).contains("\"read\""));
    assert_eq!(finished(unread).await.text, "ok");
    assert_eq!(world.server.requests().len(), 2);
    world.assert_never_rejected();
}

/// Far more than all buffers on the way hold together.
const LONG: usize = 16 << 20;

pub async fn a_reader_that_stops_holds_the_model_back() {
    let long = text("x".repeat(LONG)).delta(32 << 10);
    let world = World::new(Script::new().answer(long).times(2));
    let stops = world.session();
    let mut stopped = stops.ask("stop reading").unwrap();
    let Event::TextDelta { text: first } = until(&mut stopped, is_text).await else {
        unreachable!()
    };
    // Meanwhile a reader that reads gets the same answer to its end, from the same server.
    let reads = finished(world.session().ask("read on").unwrap()).await;
    assert_eq!((reads.terminal, reads.text.len()), (Terminal::Completed, LONG));
    assert_eq!(world.server.outcome(1, PATIENCE).await.unwrap(), ServedOutcome::Delivered);
    let sent = world.server.outcome(0, Duration::from_millis(1)).await;
    assert!(sent.is_err(), "it was sent to nobody: {sent:?}");
    // Reading on is all it takes.
    let mut length = first.len();
    while let Some(envelope) = stopped.next().await {
        if let Event::TextDelta { text } = &envelope.event {
            length += text.len();
        }
    }
    assert_eq!(length, LONG);
    assert_eq!(world.server.outcome(0, PATIENCE).await.unwrap(), ServedOutcome::Delivered);
    world.assert_never_rejected();
}

pub async fn a_turn_with_tools_is_told_in_order() {
    let script = Script::new()
        .answer(text("Look.").call("Bash", json!({"command": "echo from the command"})))
        .answer(text("Done."));
    let world = World::new(script);
    let events: Vec<Arc<Envelope>> = world.session().ask("go").unwrap().collect().await;
    let names: Vec<&str> = events
        .iter()
        .filter_map(|envelope| match &envelope.event {
            Event::TurnStarted { turn: 1, .. } => Some("turn 1"),
            Event::IterationStarted { n: 1, .. } => Some("iteration 1"),
            Event::IterationStarted { n: 2, .. } => Some("iteration 2"),
            Event::AnswerSealed { .. } => Some("sealed"),
            Event::CallStarted { .. } => Some("call"),
            Event::CallFinished { outcome: CallOutcome::Succeeded, .. } => Some("result"),
            Event::Finished(_) => Some("end"),
            _ => None,
        })
        .collect();
    // A command that is proved harmless may run, and end, while the answer is still open.
    let without_sealed: Vec<_> = names.iter().copied().filter(|name| *name != "sealed").collect();
    assert_eq!(without_sealed, ["turn 1", "iteration 1", "call", "result", "iteration 2", "end"]);
    assert_eq!(names.len() - without_sealed.len(), 2);
    assert!(world.told(1).contains("from the command"), "{}", world.told(1));
    world.assert_never_rejected();
}

pub async fn two_turns_share_the_session() {
    let read = calls([("Read", json!({"file_path": "a.txt"}))]);
    let write = calls([("Write", json!({"file_path": "a.txt", "content": "new\n"}))]);
    let script = Script::new()
        .answer(read)
        .answer(text("It is old."))
        .answer(write)
        .answer(text("Now it is new."));
    let world = World::new(script);
    std::fs::write(world.project().join("a.txt"), "old\n").unwrap();
    let session = open(world.options());
    assert_eq!(finished(session.ask("read it").unwrap()).await.text, "It is old.");
    // What was read in the first turn may be written in the second.
    assert_eq!(finished(session.ask("renew it").unwrap()).await.text, "Now it is new.");
    assert_eq!(std::fs::read_to_string(world.project().join("a.txt")).unwrap(), "new\n");
    let messages = world.told(2);
    assert!(
        messages.contains("read it")
            && messages.contains("It is old.")
            && messages.contains("renew it"),
        "{messages}"
    );
    assert_eq!(messages.matches("<environment>").count(), 1, "{messages}");
    world.assert_never_rejected();
}
