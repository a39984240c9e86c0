//! `/agents` while agents work: only a person at a terminal types during a turn.

use super::{quit, start};
use crate::support::{World, answers, wait};
use ostler_model_server::{Recorded, Reply, Script, text};
use serde_json::json;

#[test]
fn agents_are_listed_told_something_and_stopped() {
    let order = json!({ "description": "look around", "prompt": "task-a" });
    let reply = move |request: &Recorded| -> Reply {
        let is_agent = request.messages()[0].to_string().contains("task-a");
        match (is_agent, answers(request)) {
            (false, 0) => text("I ask.").call("Agent", order.clone()),
            (false, _) => text("Noted."),
            (true, 0) => text("I look.").gate("first").call("Glob", json!({ "pattern": "*" })),
            (true, _) => text("I go on.").gate("second"),
        }
    };
    let world = World::new(Script::new().by(reply).forever());
    let mut talk = start(&world, true, &[]);
    talk.expect("> ");
    talk.send_line("/agents");
    talk.expect("No agents.");
    talk.expect("> ");
    talk.send_line("go");
    wait(world.server.gate("first").reached()).unwrap();
    talk.send_line("/agents");
    talk.expect("general-1  working  look around");
    talk.send_line("/agents stop nobody");
    talk.expect("there is no running agent \"nobody\"");
    talk.send_line("/agents stop");
    talk.expect("use /agents, /agents stop NAME, or /agents message NAME TEXT");
    talk.send_line("/agents message general-1 only the tests");
    talk.expect("sending to general-1");
    world.server.gate("first").open();
    wait(world.server.gate("second").reached()).unwrap();
    let told = world.server.requests().pop().unwrap().json()["messages"].to_string();
    assert!(told.contains("task-a") && told.contains("only the tests"), "{told}");
    talk.send_line("/agents stop general-1");
    talk.expect("stopping general-1");
    talk.expect("Noted.");
    talk.expect("> ");
    talk.send_line("/agents");
    talk.expect("general-1  stopped  look around");
    quit(&mut talk);
    world.server.gate("second").open();
    world.assert_never_rejected();
}

/// The agent waits for the first byte of an answer. It gets that answer, and the message with the next request.
#[test]
fn a_message_to_an_agent_cancels_nothing() {
    let order = json!({ "description": "look around", "prompt": "task-a" });
    let reply = move |request: &Recorded| -> Reply {
        let is_agent = request.messages()[0].to_string().contains("task-a");
        match (is_agent, answers(request)) {
            (false, 0) => text("I ask.").call("Agent", order.clone()),
            (false, _) => text("Noted."),
            (true, 0) => text("I look.").due_at("first"),
            (true, _) => text("Only the tests, then."),
        }
    };
    let world = World::new(Script::new().by(reply).forever());
    let mut talk = start(&world, true, &[]);
    talk.expect("> ");
    talk.send_line("go");
    wait(world.server.gate("first").reached()).unwrap();
    talk.send_line("/agents message general-1 only the tests");
    talk.expect("sending to general-1");
    world.server.gate("first").open();
    talk.expect("Noted.");
    quit(&mut talk);
    let requests = world.server.requests();
    let agents =
        requests.iter().filter(|request| request.messages()[0].to_string().contains("task-a"));
    let told: Vec<String> = agents.map(|request| request.json()["messages"].to_string()).collect();
    assert_eq!(told.len(), 2, "{told:#?}");
    assert!(told[1].contains("I look.") && told[1].contains("only the tests"), "{}", told[1]);
    let cost = world.run(&["cost"]).stdout;
    assert!(!cost.contains("cancelled"), "{cost}");
}
