//! What teammates do in their team: every transition is on record, a message reaches a busy one, and each can be ended.

use crate::subagents::{all, end, is_to, plays};
use crate::support::{PATIENCE, World, becomes, open, try_open, with, with_log};
use crate::teams::{delegated, leading};
use ostler::{Envelope, Event, Session, SessionChoice, TeammatePhase};
use ostler_model_server::text;
use serde_json::{Value, json};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

async fn reported(session: &Session) -> Vec<Arc<Envelope>> {
    session.report_due().await;
    all(session.run_reports().unwrap()).await
}

/// Until all reports are there.
async fn quiet(session: &Session) -> Vec<Arc<Envelope>> {
    all(session.run_reports().unwrap().until_quiet(PATIENCE)).await
}

fn phases(seen: &[Arc<Envelope>], name: &str) -> Vec<TeammatePhase> {
    let changes = seen.iter().filter_map(|envelope| match &envelope.event {
        Event::TeammateChanged(status) if status.name == name => {
            assert_eq!(envelope.agent.names(), [name], "the event names the agent");
            Some(status.phase)
        }
        _ => None,
    });
    let mut phases: Vec<TeammatePhase> = changes.collect();
    phases.dedup();
    phases
}

/// What the lead's log says, step by step.
fn recorded(world: &World, lead: &str, name: &str) -> Vec<String> {
    let files = world.files();
    let of_lead = |path: &Path| path.ends_with(format!("{lead}.log"));
    let log = files.iter().find(|(path, _)| of_lead(path)).unwrap();
    let entries = String::from_utf8(log.1.clone()).unwrap();
    let entry = |line: &str| serde_json::from_str::<Value>(&line[line.find('{')?..]).ok();
    let is_his = |entry: &Value| entry["fact"] == "teammate" && entry["status"]["name"] == name;
    let his = entries.lines().filter_map(entry).filter(is_his);
    let mut phases: Vec<String> =
        his.map(|entry| entry["status"]["phase"].as_str().unwrap().to_owned()).collect();
    phases.dedup();
    phases
}

fn phase(session: &Session, name: &str) -> TeammatePhase {
    let found = session.teammates().into_iter().find(|status| status.name == name);
    found.unwrap().phase
}

/// The newest request of the agent whose first message contains this word.
fn told(world: &World, word: &str) -> String {
    let requests = world.server.requests();
    let is_meant = |request: &&Arc<ostler_model_server::Recorded>| is_to(request, word);
    requests.iter().rev().find(is_meant).unwrap().json()["messages"].to_string()
}

/// A writer that asks the explorer: each step of the protocol is an event under its path and an entry of the log, and a
/// resumed session knows the last one.
pub async fn every_transition_is_an_event_and_an_entry() {
    let ask = json!({ "to": "explorer", "message": "beta: how many?", "request": true });
    let world = World::new(plays([
        (
            "go",
            vec![delegated(text("Write."), "writer", "alpha: count"), text("sent"), text("noted")],
        ),
        (
            "alpha",
            vec![text("I ask.").call("SendMessage", ask), text("I wait."), text("seven, he says")],
        ),
        ("beta", vec![text("seven")]),
    ]));
    let session = open(leading(&world, &["writer", "explorer"]));
    let mut seen = all(session.ask("go").unwrap()).await;
    seen.extend(quiet(&session).await);
    use TeammatePhase::{Idle, Requesting, Responding, Waiting};
    let expected = [Idle, Responding, Requesting, Responding, Waiting, Responding, Idle];
    assert_eq!(phases(&seen, "writer"), expected);
    assert_eq!(phases(&seen, "explorer"), [Idle, Responding, Idle]);
    let names: Vec<&str> = expected.iter().map(|phase| phase.name()).collect();
    assert_eq!(recorded(&world, session.id().as_str(), "writer"), names);
    let waited = seen.iter().find_map(|envelope| match &envelope.event {
        Event::TeammateChanged(status) if status.phase == Waiting => status.with.clone(),
        _ => None,
    });
    assert_eq!(waited.as_deref(), Some("explorer"));
    let (state, _) = session.state();
    assert_eq!(state.teammates["/writer"].phase, Idle, "who joins late knows it, too");
}

/// A message to a teammate in the middle of its turn is in its next request, once, and makes no turn of its own.
pub async fn a_message_reaches_a_busy_teammate_before_its_next_request() {
    let note = json!({ "to": "writer", "message": "use the new names" });
    let world = World::new(plays([
        (
            "go",
            vec![
                delegated(text("Write."), "writer", "alpha: write"),
                text("And this.").call("SendMessage", note).due_at("begun"),
                text("sent"),
                text("noted"),
            ],
        ),
        (
            "alpha",
            vec![
                text("I look.").gate("in a turn").call("Glob", json!({ "pattern": "*" })),
                text("done with the new names"),
            ],
        ),
    ]));
    let session = open(leading(&world, &["writer"]));
    let reading = tokio::spawn(all(session.ask("go").unwrap()));
    world.server.gate("in a turn").reached().await.unwrap();
    world.server.gate("begun").open();
    let turn = reading.await.unwrap();
    assert_eq!(end(&turn).text, "sent");
    becomes("the writer has it", || {
        let (state, _) = session.state();
        state.agents.get("/writer").is_some_and(|writer| !writer.queue.is_empty())
    })
    .await;
    world.server.gate("in a turn").open();
    assert_eq!(end(&reported(&session).await).text, "noted");
    let known = told(&world, "alpha");
    assert_eq!(known.matches("use the new names").count(), 1, "{known}");
    assert!(known.contains("This arrived while you were working"), "{known}");
    let asked = world.server.requests();
    let of_writer = asked.iter().filter(|it| it.messages()[0].to_string().contains("alpha"));
    assert_eq!(of_writer.count(), 2, "no turn of its own");
    assert!(told(&world, "go").contains("done with the new names"));
    world.assert_never_rejected();
}

/// It may finish its turn. What it has not read goes back, and nothing more is sent to it.
pub async fn a_teammate_that_is_shut_down_finishes_its_turn() {
    let world = World::new(plays([
        (
            "go",
            vec![
                delegated(
                    delegated(text("Write."), "writer", "alpha: write"),
                    "writer",
                    "alpha: more",
                ),
                text("sent"),
                text("so"),
                delegated(text("Once more."), "writer", "alpha: again"),
                text("not sent"),
            ],
        ),
        ("alpha", vec![text("ha").gate("in a turn").say("lf"), text("all of it")]),
    ]));
    let session = open(leading(&world, &["writer"]));
    all(session.ask("go").unwrap()).await;
    world.server.gate("in a turn").reached().await.unwrap();
    let said = session.stop_teammate("writer").unwrap();
    assert_eq!(said, "writer may finish its turn within 60 s, and then ends");
    assert!(session.stop_teammate("writer").unwrap_err().contains("already"));
    assert!(session.stop_teammate("painter").unwrap_err().contains("(there are writer)"));
    world.server.gate("in a turn").open();
    becomes("it has ended", || phase(&session, "writer") == TeammatePhase::Stopped).await;
    becomes("both are reported", || session.queued().len() == 2).await;
    assert_eq!(end(&quiet(&session).await).text, "so");
    assert!(told(&world, "alpha").contains("The lead is ending your work"));
    let known = told(&world, "go");
    assert!(known.contains("all of it") && !known.contains("half"), "its report: {known}");
    assert!(known.contains("was not delivered") || known.contains("has finished"), "{known}");
    let again = all(session.ask("once more").unwrap()).await;
    let refused = &crate::subagents::results(&again)[0];
    assert!(refused.0 && refused.1.contains("writer was shut down"), "{refused:?}");
    assert!(!session.has_busy_teammates());
    assert_eq!(
        recorded(&world, session.id().as_str(), "writer"),
        ["idle", "responding", "idle", "stopped"]
    );
}

/// The lead ends a teammate with a tool. One that does not end by itself is stopped at the deadline.
pub async fn a_teammate_that_does_not_stop_is_stopped_at_the_deadline() {
    let stop = json!({ "to": "writer", "task": "no longer needed", "stop": true });
    let world = World::new(plays([
        (
            "go",
            vec![
                delegated(text("Write."), "writer", "alpha: write"),
                text("Stop.").call("Delegate", stop).due_at("begun"),
                text("stopped"),
                text("noted"),
            ],
        ),
        ("alpha", vec![text("for").gate("in a turn").say("ever")]),
    ]));
    let options = with(leading(&world, &["writer"]), |options| {
        options.session.team.shutdown_deadline = Duration::ZERO;
    });
    let session = open(options);
    let reading = tokio::spawn(all(session.ask("go").unwrap()));
    world.server.gate("in a turn").reached().await.unwrap();
    world.server.gate("begun").open();
    let turn = reading.await.unwrap();
    assert!(crate::subagents::results(&turn)[1].1.contains("may finish its turn within 0 s"));
    becomes("it has ended", || phase(&session, "writer") == TeammatePhase::Stopped).await;
    quiet(&session).await;
    assert!(
        told(&world, "go").contains("writer failed: it was stopped."),
        "{}",
        told(&world, "go")
    );
    let id = session.id().to_string();
    session.close("other").await;
    drop(session);
    let resumed = || with_log(leading(&world, &["writer"]), SessionChoice::Resume(id.clone()));
    let mut opened = None;
    becomes("the session is free", || {
        opened = try_open(resumed()).ok();
        opened.is_some()
    })
    .await;
    let session = opened.unwrap();
    quiet(&session).await;
    becomes("it is back", || {
        recorded(&world, session.id().as_str(), "writer").last().unwrap() == "idle"
    })
    .await;
}

fn planning(world: &World) -> ostler::Options {
    with(leading(world, &["writer", "explorer"]), |options| {
        options.session.team.teammates[0].plan_required = true;
    })
}

fn sha256(world: &World) -> String {
    let known = told(world, "go");
    let (_, rest) = known.rsplit_once("Its sha256 is ").unwrap();
    rest[..64].to_owned()
}

/// A teammate that needs a plan changes nothing before the lead has approved that very plan. Whatever else is sent to it,
/// by whomever, approves nothing.
pub async fn a_plan_is_approved_by_its_hash_and_by_nothing_else() {
    let write =
        |name: &str| text("I write.").call("Write", json!({ "file_path": name, "content": "x" }));
    let script = ostler_model_server::Script::new().by(move |request| {
        let first = request.messages()[0].to_string();
        let all = request.json()["messages"].to_string();
        let nth = request.messages().iter().filter(|it| it["role"] == "assistant").count();
        let approve = |hash: &str| {
            let input = json!({ "to": "writer", "task": "fine", "approve": hash });
            text("I approve.").call("Delegate", input)
        };
        let hash = |nth: usize| {
            let found = all.split("Its sha256 is ").nth(nth);
            found.map(|rest| rest[..64].to_owned()).unwrap_or_default()
        };
        if first.contains("alpha") {
            return match nth {
                0 => write("a.txt"),
                1 => text("plan one"),
                2 => write("b.txt"),
                3 => text("plan two"),
                4 => write("c.txt"),
                _ => text("carried out"),
            };
        }
        let back = json!({ "to": "writer", "message": "smaller steps, please" });
        match nth {
            0 => delegated(text("Write."), "writer", "alpha: write"),
            1 => text("sent"),
            2 => approve(&"0".repeat(64)),
            3 => text("No.").call("SendMessage", back),
            4 => text("sent back"),
            5 => approve(&hash(1)),
            6 => approve(&hash(2)),
            _ => text("noted"),
        }
    });
    let world = World::new(script.forever());
    let session = open(planning(&world));
    all(session.ask("go").unwrap()).await;
    let first = reported(&session).await;
    let refused = &crate::subagents::results(&first)[0];
    assert!(refused.0 && refused.1.contains("the plan of writer has the sha256"), "{refused:?}");
    let one = sha256(&world);
    let second = reported(&session).await;
    let results = crate::subagents::results(&second);
    assert!(results[0].0, "the first plan is another one: {results:?}");
    assert_eq!(results[1], (false, "The plan of writer is approved.".to_owned()));
    assert_ne!(sha256(&world), one);
    quiet(&session).await;
    let made: Vec<bool> =
        ["a.txt", "b.txt", "c.txt"].iter().map(|it| world.project().join(it).exists()).collect();
    assert_eq!(made, [false, false, true], "only after the approval");
    assert!(told(&world, "go").contains("carried out"));
    assert!(session.teammate_plan("writer").is_none());
    world.assert_never_rejected();
}

/// The person approves what was shown, and nothing else (`team_forgeries.rs` has what others try).
pub async fn a_person_approves_a_plan() {
    let world = World::new(plays([
        (
            "go",
            vec![
                delegated(text("Write."), "writer", "alpha: write"),
                text("sent"),
                text("so"),
                text("so"),
            ],
        ),
        (
            "alpha",
            vec![
                text("the plan"),
                text("I write.").call("Write", json!({ "file_path": "b.txt", "content": "x" })),
                text("carried out"),
            ],
        ),
    ]));
    let session = open(planning(&world));
    all(session.ask("go").unwrap()).await;
    becomes("the plan is there", || session.teammate_plan("writer").is_some()).await;
    let plan = session.teammate_plan("writer").unwrap();
    assert_eq!(plan.text, "the plan");
    assert!(session.approve_plan("writer", &plan.sha256[..7]).is_err(), "too short");
    assert!(session.approve_plan("writer", &"0".repeat(64)).is_err(), "another plan");
    assert!(session.approve_plan("explorer", &plan.sha256).is_err());
    assert_eq!(
        session.approve_plan("writer", &plan.sha256[..8]).unwrap(),
        "The plan of writer is approved"
    );
    becomes("it is carried out", || world.project().join("b.txt").exists()).await;
    quiet(&session).await;
    assert!(told(&world, "go").contains("carried out"));
}

/// A plan that nobody approves ends its task at the deadline.
pub async fn a_plan_that_nobody_approves_ends_its_task() {
    let world = World::new(plays([
        (
            "go",
            vec![
                delegated(text("Write."), "writer", "alpha: write"),
                text("sent"),
                text("so"),
                text("so"),
            ],
        ),
        ("alpha", vec![text("the plan")]),
    ]));
    let options = with(planning(&world), |options| {
        options.session.team.plan_deadline = Duration::ZERO;
    });
    let session = open(options);
    all(session.ask("go").unwrap()).await;
    becomes("its task has ended", || {
        session.queued().iter().any(|item| item.text.contains("nobody approved the plan"))
    })
    .await;
    quiet(&session).await;
    assert!(!session.has_busy_teammates() && session.teammate_plan("writer").is_none());
    assert_eq!(phase(&session, "writer"), TeammatePhase::Idle);
}
