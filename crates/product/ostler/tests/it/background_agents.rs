//! Agents in the background: they outlive their call and their turn, and their session is told of their end once.

use crate::subagents::{agent, all, end, plays, results};
use crate::support::{PATIENCE, World, becomes, interrupt, open, runs, try_open};
use crate::support::{unique_sleep, until, with, with_log};
use crate::toy_protocol::ToyProtocol;
use ostler::{
    AgentState, Credentials, Driver, Event, Finished, Input, JobKind, JobStatus, JobView, Mode,
    Options, Provider, Reply as Answer, Session, SessionChoice, Terminal,
};
use ostler_model_server::{Recorded, Reply, text};
use serde_json::{Value, json};
use std::sync::Arc;

const TAG: &str = "<task-notification>";

fn started(answer: Reply, prompt: &str) -> Reply {
    let input = json!({ "description": "look", "prompt": prompt, "run_in_background": true });
    answer.call("Agent", input)
}

fn bash(command: &str) -> Reply {
    text("I run.").call("Bash", json!({ "command": command }))
}

fn reporting(world: &World) -> Options {
    with(world.on_disk(), |options| options.session.jobs.start_turns = true)
}

/// What an agent does may follow the end of the turn.
async fn finished(turn: Driver) -> Finished {
    end(&all(turn).await)
}

async fn reported(session: &Session) -> Finished {
    session.report_due().await;
    finished(session.run_reports().unwrap()).await
}

fn only_job(session: &Session) -> JobView {
    let [job] = session.jobs().try_into().unwrap();
    job
}

/// What the session itself was told last.
fn told(world: &World) -> String {
    let requests = world.server.requests();
    let own = |request: &Recorded| !request.messages()[0].to_string().contains("task-");
    let last = requests.iter().rev().find(|request| own(request)).unwrap();
    last.json()["messages"].to_string()
}

pub async fn a_background_agent_reports_once() {
    let world = World::new(plays([
        ("go", vec![started(text("I ask."), "task-a"), text("started"), text("noted"), text("on")]),
        (
            "task-a",
            vec![
                text("I look.").call("Glob", json!({ "pattern": "*" })),
                text("found it").due_at("found"),
            ],
        ),
    ]));
    let session = open(reporting(&world));
    let seen = all(session.ask("go").unwrap()).await;
    let results = results(&seen);
    assert!(!results[0].0 && results[0].1.contains("general-1 is running in the background as b"));
    let job = only_job(&session);
    assert!(results[0].1.contains(job.record.id.as_str()), "{results:?}");
    assert_eq!((job.record.kind, &job.end), (JobKind::Agent, &None));
    assert!(session.has_background_agents() && !session.has_report());
    assert_eq!(session.agents()[0].state, AgentState::Running, "it outlives the turn");
    world.server.gate("found").open();
    assert_eq!(reported(&session).await.text, "noted");
    let end = only_job(&session).end.unwrap();
    assert_eq!(
        (end.status, session.agents()[0].state.clone()),
        (JobStatus::Completed, AgentState::Finished)
    );
    let notice = told(&world);
    for part in [r#"Background agent \"look\" completed"#, "found it", r#"resume \"general-1\""#] {
        assert!(notice.contains(part), "{part}: {notice}");
    }
    assert!(!notice.contains("I look."), "only its last text");
    let output = std::fs::read_to_string(job.record.output.unwrap()).unwrap();
    assert_eq!(output, "I look.\nfound it\n");
    assert_eq!(finished(session.ask("next").unwrap()).await.text, "on");
    assert_eq!(told(&world).matches(TAG).count(), 1);
    assert!(session.queued().is_empty() && session.state().0.agents.is_empty());
    world.assert_never_rejected();
}

/// A stopped agent gives its place back at once.
pub async fn tools_read_and_stop_a_background_agent() {
    let id = |request: &Recorded| {
        let messages = request.json()["messages"].to_string();
        let (_, rest) = messages.split_once(" as b").expect("a job is named");
        format!("b{}", rest.chars().take_while(char::is_ascii_hexdigit).collect::<String>())
    };
    let script = ostler_model_server::Script::new().by(move |request| {
        let messages = request.messages();
        let nth = messages.iter().filter(|message| message["role"] == "assistant").count();
        let first = messages[0].to_string();
        match (first.contains("task-a"), first.contains("task-b"), nth) {
            (true, _, 0) => text("I begin.").call("Glob", json!({ "pattern": "*" })),
            (true, _, _) => text("never ").gate("hold").say("read"),
            (_, true, _) => text("b is done"),
            (_, _, 0) => started(text("I ask."), "task-a"),
            (_, _, 1) => agent(text("One more."), "general", "task-b").due_at("begun"),
            (_, _, 2) => {
                text("And?").call("TaskOutput", json!({ "task_id": id(request), "block": false }))
            }
            (_, _, 3) => text("Stop.").call("TaskStop", json!({ "task_id": id(request) })),
            (_, _, 4) => agent(text("Now."), "general", "task-b"),
            _ => text("done"),
        }
    });
    let world = World::new(script.forever());
    let session = open(with(reporting(&world), |o| o.session.max_agents = 1));
    let reading = tokio::spawn(all(session.ask("go").unwrap()));
    world.server.gate("hold").reached().await.unwrap();
    world.server.gate("begun").open();
    let results = results(&reading.await.unwrap());
    assert!(results[1].0 && results[1].1.contains("1 agent is already running"), "{results:?}");
    assert!(
        results[2].1.contains("is running") && results[2].1.contains("I begin."),
        "{results:?}"
    );
    assert!(results[3].1.contains("was stopped"), "{results:?}");
    assert_eq!(results[4], (false, "b is done".to_owned()));
    assert_eq!(only_job(&session).end.unwrap().status, JobStatus::Stopped);
    assert!(matches!(session.agents()[0].state, AgentState::Failed { .. }));
    assert!(told(&world).matches(TAG).count() <= 1);
}

/// An interrupt ends the turn, closing ends the agent with its commands. It is told once, and can go on.
pub async fn a_background_agent_ends_with_its_session() {
    let mark = unique_sleep();
    let again = json!({ "description": "on", "prompt": "go on", "resume": "general-1" });
    let world = World::new(plays([
        (
            "go",
            vec![
                started(text("I ask."), "task-a"),
                text("never ").gate("hold").say("read"),
                text("I see.").call("Agent", again),
                text("all done"),
                text("more"),
            ],
        ),
        ("task-a", vec![bash(&format!("sleep {mark}")), text("found at last")]),
    ]));
    let session = open(world.on_disk());
    let turn = session.ask("go").unwrap();
    let reading = tokio::spawn(finished(turn));
    world.server.gate("hold").reached().await.unwrap();
    becomes("its command runs", || runs(&mark)).await;
    interrupt(&session);
    assert_eq!(reading.await.unwrap().terminal, Terminal::AbortedStreaming);
    assert!(session.has_background_agents() && runs(&mark), "an interrupt does not end it");
    let id = session.id().to_string();
    session.close("other").await;
    assert!(!runs(&mark), "it ended with its session");
    drop(session);
    let mut opened = None;
    becomes("the session is free", || {
        opened = try_open(with_log(world.on_disk(), SessionChoice::Resume(id.clone()))).ok();
        opened.is_some()
    })
    .await;
    let session = opened.unwrap();
    assert_eq!(session.queued().len(), 1);
    let end = finished(session.ask("and now?").unwrap()).await;
    assert_eq!(end.text, "all done");
    let notice = told(&world);
    assert!(notice.contains("because the session was closed"), "{notice}");
    assert!(notice.contains("found at last"), "it went on: {notice}");
    assert_eq!(session.agents()[0].state, AgentState::Finished);
    finished(session.ask("next").unwrap()).await;
    assert_eq!(told(&world).matches(TAG).count(), 1);
    assert!(!told(&world).contains("These agents were working"));
}

/// Nobody has the session any more, and nobody closed it.
pub async fn a_dropped_session_leaves_no_agent() {
    let mark = unique_sleep();
    let world = World::new(plays([
        ("go", vec![started(text("I ask."), "task-a"), text("started")]),
        ("task-a", vec![bash(&format!("sleep {mark}")), text("a")]),
    ]));
    let session = open(world.on_disk());
    finished(session.ask("go").unwrap()).await;
    becomes("its command runs", || runs(&mark)).await;
    drop(session);
    becomes("it is gone", || !runs(&mark)).await;
}

pub async fn a_running_agent_moves_to_the_background() {
    let world = World::new(plays([
        ("go", vec![agent(text("I ask."), "general", "task-a"), text("gone on"), text("noted")]),
        ("task-a", vec![text("found it").due_at("found")]),
    ]));
    let session = open(reporting(&world));
    let mut turn = session.ask("go").unwrap();
    until(&mut turn, |event| matches!(event, Event::IterationStarted { .. })).await;
    let moved = async {
        world.server.wait_for_requests(2, PATIENCE).await.unwrap();
        session.send(Input::Background { call: None }).unwrap();
    };
    let (end, ()) = tokio::join!(finished(turn), moved);
    assert_eq!(end.text, "gone on");
    assert!(told(&world).contains("The user moved the agent general-1 to the background"));
    assert!(session.has_background_agents());
    world.server.gate("found").open();
    assert_eq!(reported(&session).await.text, "noted");
    assert!(told(&world).contains("found it") && told(&world).matches(TAG).count() == 1);
}

/// An agent that finds no place in the background stays with its call.
pub async fn agents_move_as_far_as_there_is_room() {
    let both = agent(agent(text("I ask."), "general", "task-a"), "general", "task-b");
    let found = || vec![text("found it").due_at("found")];
    let world = World::new(plays([
        ("go", vec![both, text("gone on"), text("noted")]),
        ("task-a", found()),
        ("task-b", found()),
    ]));
    let session = open(with(reporting(&world), |options| options.session.jobs.most = 1));
    let reading = tokio::spawn(all(session.ask("go").unwrap()));
    world.server.wait_for_requests(3, PATIENCE).await.unwrap();
    session.send(Input::Background { call: None }).unwrap();
    becomes("one has moved", || session.has_background_agents()).await;
    world.server.gate("found").open();
    let results = results(&reading.await.unwrap());
    let (moved, stayed): (Vec<_>, Vec<_>) =
        results.iter().partition(|(_, text)| text.contains("The user moved the agent"));
    assert_eq!((moved.len(), stayed.len()), (1, 1), "{results:?}");
    assert!(!stayed[0].0 && stayed[0].1.contains("found it"), "{results:?}");
    world.assert_never_rejected();
}

/// To one that works; one that has ended is resumed instead.
pub async fn a_message_reaches_a_background_agent() {
    let say = |answer: &str, to: &str| {
        text(answer).call("SendMessage", json!({ "to": to, "message": "only the tests" }))
    };
    let world = World::new(plays([
        (
            "go",
            vec![
                started(text("I ask."), "task-a"),
                say("More.", "general-1").due_at("it began"),
                text("told"),
                say("And.", "general-1"),
                say("Who?", "general-7"),
                text("done"),
            ],
        ),
        (
            "task-a",
            vec![text("I look.").call("Glob", json!({ "pattern": "*" })).due_at("told"), text("a")],
        ),
    ]));
    let session = open(reporting(&world));
    let reading = tokio::spawn(all(session.ask("go").unwrap()));
    becomes("the agent asks", || {
        world.server.requests().iter().any(|it| it.messages()[0].to_string().contains("task-a"))
    })
    .await;
    world.server.gate("it began").open();
    let first = results(&reading.await.unwrap());
    assert_eq!(first[1], (false, "general-1 will read it before its next step.".to_owned()));
    world.server.gate("told").open();
    session.report_due().await;
    let second = results(&all(session.run_reports().unwrap()).await);
    assert!(
        second[0].0 && second[0].1.contains("call Agent with resume \"general-1\""),
        "{second:?}"
    );
    assert!(
        second[1].0 && second[1].1.contains("you have not started an agent \"general-7\""),
        "{second:?}"
    );
    let told = world.server.requests().iter().any(|request| {
        let messages = request.messages();
        messages[0].to_string().contains("task-a")
            && messages.iter().any(|message| message.to_string().contains("only the tests"))
    });
    assert!(told, "it was told");
    world.assert_never_rejected();
}

/// The turn that started it is over, and still a person is asked.
pub async fn a_background_agent_asks_the_person() {
    let write = text("I write.").call("Write", json!({ "file_path": "new.md", "content": "x" }));
    let world = World::new(plays([
        ("go", vec![started(text("I ask."), "task-a"), text("started"), text("noted")]),
        ("task-a", vec![write.due_at("the turn is over"), text("written")]),
    ]));
    let session = open(with(reporting(&world), |o| o.session.mode = Mode::Default));
    let _attendance = session.attend();
    finished(session.ask("go").unwrap()).await;
    world.server.gate("the turn is over").open();
    becomes("it asks", || session.state().0.open_questions().count() == 1).await;
    let question = session.state().0.open_questions().next().unwrap().id.clone();
    session.send(Input::Answer { question, reply: Answer::Yes, by: "test".into() }).unwrap();
    assert_eq!(reported(&session).await.text, "noted");
    assert!(world.project().join("new.md").exists());
}

pub async fn no_place_among_the_jobs_is_a_refusal() {
    let world = World::new(plays([("go", vec![started(text("I ask."), "task-a"), text("done")])]));
    let session = open(with(world.on_disk(), |options| options.session.jobs.most = 0));
    let seen = all(session.ask("go").unwrap()).await;
    let results = results(&seen);
    assert!(results[0].0 && results[0].1.contains("cannot run in the background"), "{results:?}");
    let refused = |detail: &Value| *detail == json!({ "refused": "no_job" });
    assert!(seen.iter().any(|envelope| {
        matches!(&envelope.event, Event::CallFinished { detail: Some(detail), .. } if refused(detail))
    }));
    assert!(session.agents().is_empty());
}

/// Its model falls over: an error with the reason, in the foreground and in the background, and the session goes on.
pub async fn an_agent_that_panics_is_an_error() {
    let on_toy = |answer: Reply, background: bool| {
        let input = json!({
            "description": "look", "prompt": "task-a", "model": "toy/tiny",
            "run_in_background": background,
        });
        answer.call("Agent", input)
    };
    let world = World::new(plays([(
        "go",
        vec![
            on_toy(text("I ask."), false),
            on_toy(text("Again."), true),
            text("started"),
            text("noted"),
            text("more"),
        ],
    )]));
    let entry = json!({ "protocol": "falls_over", "baseUrl": "http://127.0.0.1:9" });
    let session = open(with(reporting(&world), |o| {
        let provider = Provider::from_settings("toy", &entry).unwrap();
        o.host.providers = vec![(provider, Credentials::none())];
        o.host.protocols = vec![Arc::new(ToyProtocol::panicking("falls_over"))];
    }));
    let seen = results(&all(session.ask("go").unwrap()).await);
    assert!(seen[0].0 && seen[0].1.contains("failed: internal error"), "{seen:?}");
    if session.has_background_agents() || session.has_report() {
        reported(&session).await;
    }
    let end = only_job(&session).end.unwrap();
    assert_eq!((end.status, end.words.as_str()), (JobStatus::Failed, "failed: internal error"));
    assert_eq!(told(&world).matches(TAG).count(), 1);
}
