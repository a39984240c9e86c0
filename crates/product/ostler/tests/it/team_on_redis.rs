//! A team whose mail and tasks are on a server.

use crate::redis_server::RedisServer;
use crate::subagents::{all, end, is_to, results};
use crate::support::{PATIENCE, World, becomes, open, with};
use crate::teams::{delegated, leading};
use ostler::BoardPlace;
use ostler::board::{Board, MailId, MailQuery, MailStatus, Mailbox, NewMail, Status, TaskQuery};
use ostler_model_server::{Recorded, Reply, Script, text};
use serde_json::json;
use std::sync::Arc;

const HASH: &str = "Its sha256 is ";

fn answer(request: &Recorded) -> Reply {
    let all = request.json()["messages"].to_string();
    let nth = request.messages().iter().filter(|it| it["role"] == "assistant").count();
    let ask = json!({ "to": "explorer", "message": "beta: how many?", "request": true });
    let write = json!({ "file_path": "made.txt", "content": "seven" });
    let hash = || all.split(HASH).nth(1).map(|rest| rest[..64].to_owned()).unwrap_or_default();
    let approve = || json!({ "to": "writer", "task": "fine", "approve": hash() });
    match (is_to(request, "alpha"), is_to(request, "beta"), nth) {
        (true, _, 0) => text("the plan"),
        (true, _, 1) => text("I ask.").call("SendMessage", ask),
        (true, _, 2) => text("I wait."),
        (true, _, 3) => text("I write.").call("Write", write),
        (true, ..) => text("carried out"),
        (_, true, 0) => text("seven"),
        (_, true, _) => text("I will remember."),
        (.., 0) => text("A task.").call("BoardAdd", json!({ "title": "Later" })),
        (.., 1) => delegated(text("Write."), "writer", "alpha: write"),
        (.., 2) => text("sent"),
        (.., 3) => text("I approve.").call("Delegate", approve()),
        _ => text("noted"),
    }
}

/// The newest request of the agent whose first message contains this word.
fn told(world: &World, word: &str) -> String {
    let requests = world.server.requests();
    let is_meant = |request: &&Arc<Recorded>| is_to(request, word);
    requests.iter().rev().find(is_meant).unwrap().json()["messages"].to_string()
}

/// Tasks, reports, requests, a plan and its approval, and mail from another process.
pub async fn a_team_works_on_a_board_on_a_server() {
    let Some(server) = RedisServer::start(&[]) else { return };
    let world = World::new(Script::new().by(answer).forever());
    let url = format!("{}?board=shared", server.url());
    let session = open(with(leading(&world, &["writer", "explorer"]), |options| {
        options.session.team.teammates[0].plan_required = true;
        options.session.board.place = BoardPlace::Server { url: url.clone(), falls_back: false };
    }));
    let turn = all(session.ask("go").unwrap()).await;
    assert!(results(&turn).iter().all(|(is_error, _)| !is_error), "{:?}", results(&turn));
    session.report_due().await;
    let turn = all(session.run_reports().unwrap()).await;
    let approved = (false, "The plan of writer is approved.".to_owned());
    assert_eq!(results(&turn)[0], approved, "{:?}", results(&turn));
    let last = all(session.run_reports().unwrap().until_quiet(PATIENCE)).await;
    assert_eq!(end(&last).text, "noted");
    assert!(told(&world, "go").contains("carried out"), "{}", told(&world, "go"));
    assert!(told(&world, "alpha").contains("closes your request"), "{}", told(&world, "alpha"));
    assert!(world.project().join("made.txt").exists(), "the approved plan is carried out");
    let mut board = ostler::open_board_on_server(&url, &world.project()).unwrap();
    let id = session.id().to_string();
    let explorer = format!("explorer@{}", &id[id.len() - 8..]);
    let note = NewMail::new(MailId("n1".into()), "user", explorer, "the names have changed");
    board.send(&note).unwrap();
    becomes("the idle explorer has read it", || {
        told(&world, "beta").contains("the names have changed")
    })
    .await;
    becomes("all mail is settled", || {
        let all = MailQuery { with_archive: true, ..MailQuery::default() };
        let mails = board.peek(&all).unwrap();
        // A task, a request, a plan, the reply to each, and the note.
        mails.len() == 7 && mails.iter().all(|mail| mail.status == MailStatus::Acknowledged)
    })
    .await;
    let tasks = board.list(&TaskQuery::default()).unwrap().tasks;
    assert_eq!((tasks.len(), tasks[0].status), (1, Status::Pending), "{tasks:?}");
    assert!(!world.root().join("home/boards").exists(), "nothing is in a file");
    world.assert_never_rejected();
}
