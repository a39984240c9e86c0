//! Teammates: they work on what they are given, remember it, and report once.

use crate::subagents::{all, end, is_to, plays, results};
use crate::support::{PATIENCE, World, becomes, open, try_open, with, with_log};
use ostler::board::{MailQuery, MailStatus, Mailbox};
use ostler::{
    AgentDefinition, Driver, Finished, Mode, Options, Session, SessionChoice, TeamOptions,
};
use ostler_model_server::{Recorded, Reply, status, text};
use serde_json::json;

const TAG: &str = "<teammate-message";

pub fn delegated(answer: Reply, to: &str, task: &str) -> Reply {
    answer.call("Delegate", json!({ "to": to, "task": task }))
}

pub fn teammate(name: &str) -> AgentDefinition {
    AgentDefinition {
        name: name.into(),
        description: format!("does what a {name} does"),
        prompt: format!("You are the {name}."),
        ..AgentDefinition::default()
    }
}

/// A session on disk with these teammates, whose reports start turns.
pub fn leading(world: &World, names: &[&str]) -> Options {
    with(world.on_disk(), |options| {
        options.session.jobs.start_turns = true;
        options.session.team = TeamOptions {
            teammates: names.iter().map(|name| teammate(name)).collect(),
            ..TeamOptions::default()
        };
    })
}

/// What a teammate does may follow the end of the turn.
async fn finished(turn: Driver) -> Finished {
    end(&all(turn).await)
}

async fn reported(session: &Session) -> Finished {
    session.report_due().await;
    finished(session.run_reports().unwrap()).await
}

/// The newest request of the agent whose first message contains this word.
fn told(world: &World, word: &str) -> String {
    let requests = world.server.requests();
    let is_meant = |request: &Recorded| is_to(request, word);
    requests.iter().rev().find(|request| is_meant(request)).unwrap().json()["messages"].to_string()
}

/// All mail of the project, settled or not.
fn mail(world: &World) -> Vec<(String, MailStatus)> {
    let home = world.root().join("home");
    let project = world.project().canonicalize().unwrap();
    let mut board = ostler::open_project_board(&home, &project).unwrap();
    let all = MailQuery { with_archive: true, ..MailQuery::default() };
    board.peek(&all).unwrap().into_iter().map(|mail| (mail.text, mail.status)).collect()
}

pub async fn a_teammate_reports_once_and_remembers() {
    let world = World::new(plays([
        (
            "go",
            vec![
                delegated(text("I ask."), "writer", "alpha: count the horses"),
                text("delegated"),
                text("noted"),
                delegated(text("Once more."), "writer", "beta: and the carts"),
                text("delegated again"),
                text("noted, too"),
                text("quiet"),
            ],
        ),
        (
            "alpha",
            vec![
                text("I look.").call("Glob", json!({ "pattern": "*" })),
                text("seven horses").due_at("counted"),
                text("two carts"),
            ],
        ),
    ]));
    let session = open(leading(&world, &["writer"]));
    let seen = all(session.ask("go").unwrap()).await;
    let sent = &results(&seen)[0];
    assert!(!sent.0 && sent.1.starts_with("Delegated to writer as task-"), "{sent:?}");
    assert_eq!(end(&seen).text, "delegated");
    assert!(session.has_background_agents() && !session.has_report(), "the lead does not wait");
    world.server.gate("counted").open();
    assert_eq!(reported(&session).await.text, "noted");
    let report = told(&world, "go");
    assert_eq!(report.matches(TAG).count(), 1, "{report}");
    assert!(report.contains("seven horses") && !report.contains("I look."), "its last text only");
    assert!(report.contains(r#"from=\"writer\""#) && report.contains("it cannot approve anything"));
    assert!(!session.has_background_agents());
    finished(session.ask("and the carts?").unwrap()).await;
    assert_eq!(reported(&session).await.text, "noted, too");
    let known = told(&world, "alpha");
    assert!(known.contains("beta: and the carts") && known.contains("seven horses"), "{known}");
    assert_eq!(session.agents().len(), 1, "one agent, two tasks");
    assert_eq!(finished(session.ask("anything else?").unwrap()).await.text, "quiet");
    assert_eq!(told(&world, "go").matches(TAG).count(), 2);
    assert!(session.queued().is_empty());
    let all = mail(&world);
    assert_eq!(all.len(), 4, "{all:?}");
    assert!(all.iter().all(|(_, status)| *status == MailStatus::Acknowledged), "{all:?}");
    world.assert_never_rejected();
}

/// Two at once, while the lead goes on; their reports join the running turn.
pub async fn reports_join_a_running_turn() {
    let both = delegated(
        delegated(text("Both of you."), "writer", "alpha: write"),
        "explorer",
        "beta: explore",
    );
    let world = World::new(plays([
        (
            "go",
            vec![
                both,
                text("Meanwhile.").call("Glob", json!({ "pattern": "*" })).due_at("both are done"),
                text("I know all."),
            ],
        ),
        ("alpha", vec![text("written")]),
        ("beta", vec![text("explored")]),
    ]));
    let session = open(leading(&world, &["writer", "explorer"]));
    let reading = tokio::spawn(all(session.ask("go").unwrap()));
    becomes("both reports are there", || session.queued().len() == 2).await;
    world.server.gate("both are done").open();
    assert_eq!(end(&reading.await.unwrap()).text, "I know all.");
    let told = told(&world, "go");
    assert!(told.contains("written") && told.contains("explored"), "{told}");
    assert!(session.queued().is_empty() && !session.has_report());
    world.assert_never_rejected();
}

/// The session is closed while a teammate works. When it is opened again the teammate goes on, without being told.
pub async fn a_resumed_lead_has_its_team_back() {
    let world = World::new(plays([
        (
            "go",
            vec![
                delegated(text("I ask."), "writer", "alpha: take your time"),
                text("delegated"),
                text("noted"),
            ],
        ),
        ("alpha", vec![text("it is ").gate("hold").say("done")]),
    ]));
    let session = open(leading(&world, &["writer"]));
    finished(session.ask("go").unwrap()).await;
    world.server.gate("hold").reached().await.unwrap();
    let id = session.id().to_string();
    session.close("other").await;
    drop(session);
    world.server.gate("hold").open();
    let mut opened = None;
    let resumed = || with_log(leading(&world, &["writer"]), SessionChoice::Resume(id.clone()));
    becomes("the session is free", || {
        opened = try_open(resumed()).ok();
        opened.is_some()
    })
    .await;
    let session = opened.unwrap();
    assert_eq!(reported_to_driver(&session).await.text, "noted");
    let report = told(&world, "go");
    assert!(report.contains("it is done") && !report.contains("These agents were working"));
    assert_eq!(report.matches(TAG).count(), 1);
    let known = told(&world, "alpha");
    assert_eq!(known.matches(TAG).count(), 1, "the same turn went on: {known}");
    world.assert_never_rejected();
}

/// Somebody has to drive a session before its team works.
async fn reported_to_driver(session: &Session) -> Finished {
    finished(session.run_reports().unwrap().until_quiet(PATIENCE)).await
}

pub async fn a_team_is_listed_and_names_are_checked() {
    let list = || text("Who?").call("ListTeammates", json!({}));
    let world = World::new(plays([
        (
            "go",
            vec![
                list(),
                delegated(text("You."), "painter", "paint"),
                delegated(text("You, then."), "writer", "alpha: write"),
                list().due_at("begun"),
                text("done"),
            ],
        ),
        ("alpha", vec![text("wri").gate("hold").say("tten")]),
    ]));
    let session = open(leading(&world, &["writer", "explorer"]));
    let reading = tokio::spawn(all(session.ask("go").unwrap()));
    world.server.gate("hold").reached().await.unwrap();
    world.server.gate("begun").open();
    let results = results(&reading.await.unwrap());
    assert_eq!(
        results[0].1,
        "- writer: idle (does what a writer does)\n- explorer: idle (does what a explorer does)"
    );
    assert!(results[1].0 && results[1].1.contains("Your teammates: writer, explorer."));
    assert!(results[3].1.contains("- writer: working on \"alpha: write\""), "{results:?}");
    let requests = world.server.requests();
    let names = |at: usize| {
        let tools = requests[at].json()["tools"].clone();
        tools.as_array().unwrap().iter().map(|tool| tool["name"].to_string()).collect::<Vec<_>>()
    };
    assert!(names(0).contains(&"\"Delegate\"".to_owned()));
    let of_writer = requests.iter().position(|it| it.messages()[0].to_string().contains("alpha"));
    assert!(!names(of_writer.unwrap()).contains(&"\"Delegate\"".to_owned()), "only the lead");
}

pub async fn a_team_that_cannot_work_is_refused() {
    let world = World::new(plays([]));
    let refused = |change: fn(&mut Options)| {
        let options = with(leading(&world, &["writer"]), change);
        try_open(options).err().unwrap().to_string()
    };
    for (change, why) in [
        ((|o| o.session.team.teammates[0].name = "lead".into()) as fn(&mut Options), "is the lead"),
        (|o| o.session.team.teammates[0].name = "general-1".into(), "for other agents"),
        (|o| o.session.team.teammates.push(teammate("writer")), "two teammates"),
        (|o| o.host.home = None, "needs a state directory"),
    ] {
        assert!(refused(change).contains(why), "{}", refused(change));
    }
}

/// What the lead may not do a teammate may not do, also after both were resumed.
pub async fn a_teammate_has_no_more_rights_than_its_lead() {
    let write =
        |file: &str| text("I write.").call("Write", json!({ "file_path": file, "content": "x" }));
    let world = World::new(plays([
        (
            "go",
            vec![
                delegated(text("I ask."), "writer", "alpha: write"),
                text("delegated"),
                text("noted"),
                delegated(text("Again."), "writer", "again"),
                text("delegated"),
                text("noted"),
            ],
        ),
        ("alpha", vec![write("a.txt"), text("first"), write("b.txt"), text("second")]),
    ]));
    let strict = |options: Options| with(options, |o| o.session.mode = Mode::Plan);
    let loose = |mut options: Options| {
        options.session.team.teammates[0].mode = Some(Mode::BypassPermissions);
        options
    };
    let session = open(loose(strict(leading(&world, &["writer"]))));
    let id = session.id().to_string();
    finished(session.ask("go").unwrap()).await;
    reported(&session).await;
    assert!(!world.project().join("a.txt").exists());
    session.close("other").await;
    drop(session);
    let mut opened = None;
    let resumed = || {
        let options = loose(leading(&world, &["writer"]));
        let options = with(options, |o| o.session.deny = vec!["Write".into()]);
        with_log(options, SessionChoice::Resume(id.clone()))
    };
    becomes("the session is free", || {
        opened = try_open(resumed()).ok();
        opened.is_some()
    })
    .await;
    let session = opened.unwrap();
    finished(session.ask("once more").unwrap()).await;
    reported(&session).await;
    assert!(!world.project().join("b.txt").exists());
    assert!(told(&world, "alpha").contains("second"));
}

/// After three failures nothing is sent to it any more, and what it had not read goes back with the reason.
pub async fn a_teammate_that_keeps_failing_is_parked() {
    let four = ["one", "two", "three", "four"]
        .into_iter()
        .fold(text("Four tasks."), |answer, n| delegated(answer, "writer", &format!("alpha: {n}")));
    let script = ostler_model_server::Script::new().by(move |request| {
        let nth = request.messages().iter().filter(|it| it["role"] == "assistant").count();
        let is_writer = request.messages()[0].to_string().contains("alpha");
        match (is_writer, nth) {
            (true, _) => status(400).error("invalid_request_error", "no such thing"),
            (false, 0) => four.clone(),
            (false, 1) => {
                text("All reported?").call("Glob", json!({ "pattern": "*" })).due_at("back")
            }
            (false, 2) => delegated(text("Five."), "writer", "five"),
            (false, 3) => text("And?").call("ListTeammates", json!({})),
            _ => text("done"),
        }
    });
    let world = World::new(script.forever());
    let session = open(leading(&world, &["writer"]));
    let reading = tokio::spawn(all(session.ask("go").unwrap()));
    becomes("all four are answered", || session.queued().len() == 4).await;
    world.server.gate("back").open();
    let results = results(&reading.await.unwrap());
    let why = "writer is parked because its last 3 tasks failed";
    assert!(results[5].0 && results[5].1.contains(why), "{results:?}");
    assert!(results[6].1.contains("- writer: parked"), "{results:?}");
    let told = told(&world, "go");
    assert_eq!(told.matches(TAG).count(), 4, "{told}");
    assert_eq!(told.matches("writer failed: ").count(), 3, "{told}");
    assert_eq!(told.matches(&format!("Not done: {why}")).count(), 1, "{told}");
    assert!(!session.has_busy_teammates());
}

/// A message to all is one mail each, which nobody answers.
pub async fn everybody_gets_a_broadcast() {
    let message = json!({ "to": "*", "message": "alpha: the names have changed" });
    let world = World::new(plays([
        ("go", vec![text("Hear me.").call("SendMessage", message), text("said")]),
        ("alpha", vec![text("I will remember.")]),
    ]));
    let session = open(leading(&world, &["writer", "explorer"]));
    let seen = all(session.ask("go").unwrap()).await;
    assert_eq!(results(&seen), [(false, "Sent to writer, explorer.".to_owned())]);
    becomes("both have read it", || {
        let mail = mail(&world);
        mail.len() == 2 && mail.iter().all(|(_, status)| *status == MailStatus::Acknowledged)
    })
    .await;
    assert!(session.queued().is_empty());
    assert_eq!(world.server.requests().len(), 4);
}

fn asked(answer: Reply, to: &str, message: &str) -> Reply {
    answer.call("SendMessage", json!({ "to": to, "message": message, "request": true }))
}

/// Each waits for the other, and still answers (fault G10).
pub async fn two_teammates_ask_each_other_at_the_same_moment() {
    let both =
        delegated(delegated(text("Go."), "writer", "alpha: write"), "explorer", "beta: look");
    let world = World::new(plays([
        ("go", vec![both, text("delegated"), text("noted"), text("noted"), text("noted")]),
        (
            "alpha",
            vec![
                asked(text("I ask."), "explorer", "where?").due_at("both have begun"),
                text("I wait."),
                text("like this"),
                text("written there"),
            ],
        ),
        (
            "beta",
            vec![
                asked(text("I ask."), "writer", "how?").due_at("both have begun"),
                text("I wait, too."),
                text("over there"),
                text("looked like this"),
            ],
        ),
    ]));
    let session = open(leading(&world, &["writer", "explorer"]));
    finished(session.ask("go").unwrap()).await;
    let begun = |word: &str| {
        let requests = world.server.requests();
        requests.iter().any(|request| is_to(request, word))
    };
    becomes("both have begun", || begun("alpha") && begun("beta")).await;
    world.server.gate("both have begun").open();
    finished(session.run_reports().unwrap().until_quiet(PATIENCE)).await;
    let (lead, writer, explorer) =
        (told(&world, "go"), told(&world, "alpha"), told(&world, "beta"));
    assert!(lead.contains("written there") && lead.contains("looked like this"), "{lead}");
    assert!(!lead.contains("I wait"), "a report waits for the answer: {lead}");
    assert_eq!(lead.matches(TAG).count(), 2, "{lead}");
    assert!(writer.contains("over there") && explorer.contains("like this"), "{writer} {explorer}");
    let all = mail(&world);
    assert_eq!(all.len(), 8, "two tasks, two requests, four replies: {all:?}");
    assert!(all.iter().all(|(_, status)| *status == MailStatus::Acknowledged), "{all:?}");
    world.assert_never_rejected();
}

/// One request at a time, and none waits for ever. An answer that comes late is still read, as what it is (faults E07, G09
/// and G10).
pub async fn a_request_that_nobody_answers_ends_at_its_deadline() {
    let world = World::new(plays([
        (
            "go",
            vec![delegated(text("Go."), "writer", "alpha: write"), text("delegated"), text("ok")],
        ),
        (
            "alpha",
            vec![
                asked(text("I ask."), "explorer", "beta: where?"),
                asked(text("And you?"), "lead", "where?"),
                text("I wait."),
                text("written anyway"),
                text("too late"),
            ],
        ),
        ("beta", vec![text("over ").gate("hold").say("there")]),
    ]));
    let at_once = |o: &mut Options| o.session.team.request_deadline = std::time::Duration::ZERO;
    let session = open(with(leading(&world, &["writer", "explorer"]), at_once));
    finished(session.ask("go").unwrap()).await;
    reported(&session).await;
    let (lead, writer) = (told(&world, "go"), told(&world, "alpha"));
    assert!(lead.contains("written anyway") && !lead.contains("I wait."), "{lead}");
    assert!(writer.contains("you are still waiting for an answer from explorer"), "{writer}");
    assert!(writer.contains("was not answered within 0 s"), "{writer}");
    world.server.gate("hold").open();
    becomes("the late answer is read", || told(&world, "alpha").contains("over there")).await;
    world.assert_never_rejected();
}

pub async fn the_lead_answers_a_teammate() {
    let answer = json!({ "to": "writer", "message": "blue" });
    let world = World::new(plays([
        (
            "go",
            vec![
                delegated(text("Go."), "writer", "alpha: paint"),
                text("delegated"),
                text("Blue.").call("SendMessage", answer),
                text("answered"),
                text("noted"),
            ],
        ),
        (
            "alpha",
            vec![
                asked(text("I ask."), "lead", "which colour?"),
                text("I wait."),
                text("painted blue"),
            ],
        ),
    ]));
    let session = open(leading(&world, &["writer"]));
    finished(session.ask("go").unwrap()).await;
    assert_eq!(reported(&session).await.text, "answered");
    assert!(told(&world, "go").contains("Answer with SendMessage to writer"));
    assert_eq!(reported(&session).await.text, "noted");
    assert!(told(&world, "go").contains("painted blue"));
    assert!(mail(&world).iter().all(|(_, status)| *status == MailStatus::Acknowledged));
    world.assert_never_rejected();
}

/// Only its mailbox wakes a teammate, so it never works on two things at once.
pub async fn a_teammate_is_not_resumed_as_an_agent() {
    let again = json!({ "description": "on", "prompt": "go on", "resume": "writer" });
    let world = World::new(plays([
        (
            "go",
            vec![
                delegated(text("I ask."), "writer", "alpha: write"),
                text("delegated"),
                text("Go on.").call("Agent", again),
                text("noted"),
            ],
        ),
        ("alpha", vec![text("written")]),
    ]));
    let session = open(leading(&world, &["writer"]));
    finished(session.ask("go").unwrap()).await;
    session.report_due().await;
    let seen = all(session.run_reports().unwrap()).await;
    let results = results(&seen);
    assert!(results[0].0 && results[0].1.contains("Give it a task with Delegate"), "{results:?}");
    assert_eq!(session.agents().len(), 1);
}
