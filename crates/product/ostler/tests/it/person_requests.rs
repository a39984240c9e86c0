//! What only a person can answer, where no person answers.

use crate::support::{World, finished, open, with};
use ostler::{Mode, Session, Terminal};
use ostler_model_server::{Script, calls, text};
use serde_json::json;
use std::time::Duration;

/// A question, a plan, and a file that only an approved plan would let be written.
fn script() -> Script {
    let options =
        json!([{"label": "SQLite", "description": ""}, {"label": "Postgres", "description": ""}]);
    let question = json!({
        "question": "Which database?", "header": "Database", "multiSelect": false, "options": options,
    });
    Script::new()
        .answer(calls([("AskUserQuestion", json!({ "questions": [question] }))]))
        .answer(calls([("ExitPlanMode", json!({ "plan": "1. write" }))]))
        .answer(calls([("Write", json!({ "file_path": "made", "content": "x" }))]))
        .answer(text("I leave it."))
}

/// The rules would allow everything that rules can allow.
fn planning(world: &World, patience: Duration) -> Session {
    open(with(world.options(), |o| {
        o.session.asks_person = true;
        o.session.mode = Mode::Plan;
        o.session.allow = ["AskUserQuestion", "ExitPlanMode", "Write"].map(str::to_owned).to_vec();
        o.session.question_deadline = patience;
    }))
}

async fn is_refused(world: &World, session: &Session, why: &str) {
    assert_eq!(finished(session.ask("go").unwrap()).await.terminal, Terminal::Completed);
    assert_eq!(session.mode(), Mode::Plan);
    assert!(!world.project().join("made").exists());
    let result = |request: usize| -> String {
        let requests = world.server.requests();
        requests[request].tool_results()[0]["content"].as_str().unwrap().to_owned()
    };
    let (question, plan) = (result(1), result(2));
    assert!(question.starts_with("The question was not answered: "), "{question}");
    assert!(plan.starts_with("The plan was not approved: "), "{plan}");
    assert!(question.contains(why) && plan.contains(why), "{question}\n{plan}");
    assert!(session.state().0.questions.is_empty(), "none stays open");
    world.assert_never_rejected();
}

/// Even with a long deadline nothing is waited for.
pub async fn nobody_attached_is_nobody_asked() {
    let world = World::new(script());
    let session = planning(&world, Duration::from_secs(24 * 60 * 60));
    is_refused(&world, &session, "nobody is there to ask").await;
}

pub async fn a_person_who_is_silent_has_not_agreed() {
    let world = World::new(script());
    let session = planning(&world, Duration::from_millis(20));
    let _attendance = session.attend();
    is_refused(&world, &session, "nobody answered in time").await;
}
