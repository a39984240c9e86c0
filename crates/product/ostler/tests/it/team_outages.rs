//! A board that cannot be used for a moment, teammates that are parked or shut down, and a lead that does not answer: nothing
//! that was done or sent is lost, and nobody waits for ever.

use crate::subagents::{all, end, is_to, plays, results};
use crate::support::{World, becomes, open, watched, with};
use crate::teams::{delegated, leading};
use ostler::board::{Mail, MailId, MailKind, MailQuery, MailStatus, NewMail};
use ostler::{Event, Notice, Session, SessionObserver, TeammatePhase};
use ostler_model_server::{Script, status, text};
use serde_json::json;
use std::path::PathBuf;
use std::time::Duration;

/// The newest request of the agent whose first message contains this word.
fn told(world: &World, word: &str) -> String {
    let requests = world.server.requests();
    let is_meant = |request: &&std::sync::Arc<ostler_model_server::Recorded>| is_to(request, word);
    requests.iter().rev().find(is_meant).unwrap().json()["messages"].to_string()
}

async fn reported(session: &Session) -> String {
    session.report_due().await;
    end(&all(session.run_reports().unwrap()).await).text
}

fn mails(session: &Session) -> Vec<Mail> {
    let query = MailQuery { with_archive: true, ..MailQuery::default() };
    session.with_board(|board| board.peek(&query)).unwrap().unwrap()
}

/// The file of the board, as if its disk were gone for a while.
struct Outage {
    board: PathBuf,
    away: PathBuf,
}

impl Outage {
    fn begin(world: &World) -> Outage {
        let project = world.project().canonicalize().unwrap();
        let board = ostler::board_path(&world.root().join("home"), &project);
        let away = world.root().join("away.db");
        std::fs::rename(&board, &away).unwrap();
        Outage { board, away }
    }

    fn end(self) {
        std::fs::rename(self.away, self.board).unwrap();
    }
}

fn observer(session: &Session) -> SessionObserver {
    let (_, cursor) = session.state();
    session.observe(&cursor)
}

/// Until the session says that the board cannot be used.
async fn noticed(observer: &mut SessionObserver) {
    watched(observer, |event| match event {
        Event::Notice { notice: Notice::Team { text }, .. } => {
            text.contains("team mail: cannot use the task board")
        }
        _ => false,
    })
    .await;
}

pub async fn a_report_arrives_when_the_board_is_back() {
    let world = World::new(plays([
        (
            "go",
            vec![delegated(text("Count."), "writer", "alpha: count"), text("sent"), text("noted")],
        ),
        ("alpha", vec![text("seven ").gate("counted").say("horses")]),
    ]));
    let session = open(leading(&world, &["writer"]));
    all(session.ask("go").unwrap()).await;
    world.server.gate("counted").reached().await.unwrap();
    let mut seen = observer(&session);
    let outage = Outage::begin(&world);
    world.server.gate("counted").open();
    noticed(&mut seen).await;
    assert!(session.has_busy_teammates());
    outage.end();
    assert_eq!(reported(&session).await, "noted");
    let report = told(&world, "go");
    assert_eq!(report.matches("seven horses").count(), 1, "{report}");
    assert!(!session.has_busy_teammates());
    let mails = mails(&session);
    assert!(mails.iter().all(|mail| mail.status == MailStatus::Acknowledged), "{mails:?}");
    world.assert_never_rejected();
}

/// Nothing rings when a board can be used again: whoever could not look at its mail looks again by itself.
pub async fn mail_is_read_when_the_board_is_back() {
    let world = World::new(plays([
        ("go", vec![delegated(text("One."), "writer", "alpha: one"), text("sent"), text("noted")]),
        ("alpha", vec![text("first").gate("done"), text("I will remember.")]),
    ]));
    let session = open(leading(&world, &["writer"]));
    all(session.ask("go").unwrap()).await;
    world.server.gate("done").reached().await.unwrap();
    let id = session.id().to_string();
    let to = format!("writer@{}", &id[id.len() - 8..]);
    let note = NewMail::new(MailId("n1".into()), "user", to, "the names have changed");
    let mut seen = observer(&session);
    let outage = Outage::begin(&world);
    world.server.gate("done").open();
    noticed(&mut seen).await;
    outage.end();
    assert_eq!(reported(&session).await, "noted");
    session.with_board(|board| board.send(&note)).unwrap().unwrap();
    becomes("the writer has read it", || {
        told(&world, "alpha").contains("the names have changed")
            && mails(&session).iter().all(|mail| mail.status == MailStatus::Acknowledged)
    })
    .await;
}

/// An answer that could not be recorded is not given: the lead can give it again.
pub async fn the_lead_answers_again_after_a_failure() {
    let answer = || json!({ "to": "writer", "message": "blue" });
    let world = World::new(plays([
        (
            "go",
            vec![
                delegated(text("Go."), "writer", "alpha: paint"),
                text("sent"),
                text("Blue.").call("SendMessage", answer()).due_at("away"),
                text("Blue!").call("SendMessage", answer()).due_at("back"),
                text("answered"),
                text("noted"),
            ],
        ),
        (
            "alpha",
            vec![
                text("I ask.").call(
                    "SendMessage",
                    json!({ "to": "lead", "message": "which colour?", "request": true }),
                ),
                text("I wait."),
                text("painted blue"),
            ],
        ),
    ]));
    let session = open(leading(&world, &["writer"]));
    all(session.ask("go").unwrap()).await;
    session.report_due().await;
    let reading = tokio::spawn(all(session.run_reports().unwrap()));
    world.server.gate("away").reached().await.unwrap();
    becomes("the writer waits", || phase(&session) == TeammatePhase::Waiting).await;
    let outage = Outage::begin(&world);
    world.server.gate("away").open();
    world.server.gate("back").reached().await.unwrap();
    outage.end();
    world.server.gate("back").open();
    let results = results(&reading.await.unwrap());
    assert!(results[0].0 && results[0].1.contains("did not get your answer"), "{results:?}");
    assert_eq!(results[1], (false, "writer has your answer.".to_owned()));
    assert_eq!(reported(&session).await, "noted");
    assert!(told(&world, "go").contains("painted blue"));
}

fn phase(session: &Session) -> TeammatePhase {
    session.teammates()[0].phase
}

/// What is sent to a parked teammate goes back, whoever sent it and when, and the lead learns of it.
pub async fn mail_to_a_parked_teammate_goes_back_to_its_sender_and_the_lead() {
    let three = ["one", "two", "three"]
        .into_iter()
        .fold(text("Three."), |answer, n| delegated(answer, "writer", &format!("alpha: {n}")));
    let script = Script::new().by(move |request| {
        let nth = request.messages().iter().filter(|it| it["role"] == "assistant").count();
        match (request.messages()[0].to_string().contains("alpha"), nth) {
            (true, _) => status(400).error("invalid_request_error", "no such thing"),
            (false, 0) => three.clone(),
            _ => text("noted"),
        }
    });
    let world = World::new(script.forever());
    let session = open(leading(&world, &["writer", "explorer"]));
    all(session.ask("go").unwrap()).await;
    becomes("it is parked", || phase(&session) == TeammatePhase::Parked).await;
    let id = session.id().to_string();
    let team = &id[id.len() - 8..];
    let send = |id: &str, from: &str, text: &str| {
        let mail = NewMail::new(MailId(id.into()), from, format!("writer@{team}"), text);
        session.with_board(|board| board.send(&mail)).unwrap().unwrap();
    };
    send("n1", "user", "gamma: a word");
    let stranger = "tester@00000000";
    send("request-q1", stranger, "gamma: a question");
    becomes("all is settled", || {
        let open = |mail: &Mail| mail.to.starts_with("writer@") && !mail.status.is_settled();
        let mails = mails(&session);
        mails.iter().any(|mail| mail.id.as_str() == "request-q1") && !mails.iter().any(open)
    })
    .await;
    let why = "writer is parked because its last 3 tasks failed";
    let to = |who: &str| -> Vec<Mail> {
        mails(&session).into_iter().filter(|mail| mail.to == who).collect()
    };
    let [note] = <[Mail; 1]>::try_from(to("user")).unwrap();
    assert!(note.text.starts_with("writer did not read your message: ") && note.text.contains(why));
    let [reply] = <[Mail; 1]>::try_from(to(stranger)).unwrap();
    assert_eq!(reply.kind(), MailKind::Reply);
    assert!(reply.text.starts_with(&format!("Not done: {why}")), "{reply:?}");
    let copies = to(&format!("lead@{team}"));
    for (sender, words) in [("user", "gamma: a word"), (stranger, "gamma: a question")] {
        let is_copy = |mail: &&Mail| {
            let begin = format!("Returned to {sender}: {why}");
            mail.text.starts_with(&begin) && mail.text.ends_with(words)
        };
        assert_eq!(copies.iter().filter(is_copy).count(), 1, "{copies:?}");
    }
    becomes("the lead has it", || {
        session.queued().iter().filter(|item| item.text.contains("Returned to")).count() == 2
    })
    .await;
    let asked = world.server.requests();
    assert!(asked.iter().all(|it| !it.json()["messages"].to_string().contains("\"gamma:")));
}

/// One that cannot be reached keeps a message to all from nobody else.
pub async fn a_broadcast_reaches_all_who_can_be_reached() {
    let message = json!({ "to": "*", "message": "beta: the names have changed" });
    let world = World::new(plays([
        ("go", vec![text("hello"), text("Hear me.").call("SendMessage", message), text("said")]),
        ("beta", vec![text("I will remember.")]),
    ]));
    let session = open(leading(&world, &["writer", "explorer"]));
    all(session.ask("go").unwrap()).await;
    session.stop_teammate("writer").unwrap();
    becomes("it has ended", || phase(&session) == TeammatePhase::Stopped).await;
    let results = results(&all(session.ask("and now").unwrap()).await);
    assert!(!results[0].0, "whoever has it must not get it again: {results:?}");
    assert!(
        results[0].1.starts_with("Sent to explorer. writer did not get the message: "),
        "{results:?}"
    );
    becomes("the explorer has read it", || {
        let mails = mails(&session);
        mails.len() == 1 && mails[0].status == MailStatus::Acknowledged
    })
    .await;
}

fn at_once(world: &World) -> Session {
    open(with(leading(world, &["writer"]), |options| {
        options.session.team.request_deadline = Duration::ZERO;
    }))
}

/// The lead is in a turn and does not answer: the teammate goes on at its deadline all the same.
pub async fn a_request_that_the_lead_does_not_answer_ends_at_its_deadline() {
    let ask = json!({ "to": "lead", "message": "which colour?", "request": true });
    let world = World::new(plays([
        (
            "go",
            vec![
                delegated(text("Go."), "writer", "alpha: paint"),
                text("I think ").gate("for ever").say("about it"),
                text("noted"),
            ],
        ),
        ("alpha", vec![text("I ask.").call("SendMessage", ask), text("I wait."), text("red")]),
    ]));
    let session = at_once(&world);
    let reading = tokio::spawn(all(session.ask("go").unwrap()));
    becomes("the writer has reported", || {
        session.queued().iter().any(|item| item.text.contains("red"))
    })
    .await;
    assert!(told(&world, "alpha").contains("was not answered within 0 s"));
    assert_eq!(phase(&session), TeammatePhase::Idle);
    world.server.gate("for ever").open();
    reading.await.unwrap();
}

/// The lead, too, waits for an answer only until the deadline. A late one still arrives.
pub async fn a_request_of_the_lead_ends_at_its_deadline() {
    let ask = json!({ "to": "writer", "message": "alpha: how many?", "request": true });
    let world = World::new(plays([
        (
            "go",
            vec![
                text("I ask.").call("SendMessage", ask),
                text("Meanwhile.").call("Glob", json!({ "pattern": "*" })).due_at("it is over"),
                text("asked"),
                text("late"),
            ],
        ),
        ("alpha", vec![text("se").gate("counting").say("ven")]),
    ]));
    let session = at_once(&world);
    let reading = tokio::spawn(all(session.ask("go").unwrap()));
    world.server.gate("counting").reached().await.unwrap();
    world.server.gate("it is over").reached().await.unwrap();
    let words = "writer has not answered your request";
    becomes("the lead knows, or will", || {
        session.queued().iter().any(|item| item.text.contains(words))
            || told(&world, "go").contains(words)
    })
    .await;
    world.server.gate("it is over").open();
    assert_eq!(end(&reading.await.unwrap()).text, "asked");
    let known = told(&world, "go");
    assert_eq!(known.matches(words).count(), 1, "{known}");
    world.server.gate("counting").open();
    assert_eq!(reported(&session).await, "late");
    assert!(told(&world, "go").contains("seven"));
    assert!(!session.has_busy_teammates());
    world.assert_never_rejected();
}
