//! Forms of servers, filled in by a person.

use crate::ground::{results, scripted, turn_events, with_servers};
use crate::support::{World, open};
use ostler::{Event, Input, PersonRequest, Question, Reply, Session};
use ostler_model_server::{Script, text};
use serde_json::json;

fn world() -> World {
    let call = text("I call.").call("mcp__files__asks", json!({"text": "elicitation/create"}));
    World::new(Script::new().answer(call).answer(text("Done.")))
}

fn send(session: &Session, question: &Question, reply: Reply) {
    let (question, by) = (question.id.clone(), "test".to_owned());
    session.send(Input::Answer { question, reply, by }).unwrap();
}

/// The questions that the form asks.
fn asked(question: &Question) -> Vec<String> {
    let Some(PersonRequest::Choices { questions }) = question.request.as_deref() else {
        panic!("no form: {question:?}")
    };
    questions.iter().map(|one| one.question.clone()).collect()
}

pub async fn a_form_is_a_question_and_the_answer_has_its_types() {
    let world = world();
    let (config, _) = scripted("files", &[]);
    let session = open(with_servers(world.on_disk(), vec![config]));
    let _attendance = session.attend();
    let mut forms = Vec::new();
    turn_events(&session, "call it", |event| {
        let Event::CallAsked { question: Some(question), .. } = event else { return };
        assert_eq!(question.tool, "mcp__files__asks");
        let texts = asked(question);
        let depth = if forms.is_empty() { "deep" } else { "3" };
        let answers = [(texts[0].clone(), "main".to_owned()), (texts[1].clone(), depth.to_owned())];
        send(&session, question, question.answered(answers));
        forms.push(texts);
    })
    .await;
    assert_eq!(forms[0], ["Which branch?\nbranch", "Which branch?\ndepth (optional)"]);
    assert!(forms[1][1].starts_with("depth must be a whole number. Which branch?"), "{forms:?}");
    assert_eq!(forms.len(), 2);
    let told = results(&world);
    assert!(told.contains("accept"), "{told}");
    assert!(told.contains("main") && told.contains("depth") && told.contains(":3"), "{told}");
    session.close("other").await;
}

pub async fn a_form_can_be_declined() {
    let world = world();
    let (config, _) = scripted("files", &[]);
    let session = open(with_servers(world.on_disk(), vec![config]));
    let _attendance = session.attend();
    turn_events(&session, "call it", |event| {
        if let Event::CallAsked { question: Some(question), .. } = event {
            send(&session, question, Reply::No("the user said no".into()));
        }
    })
    .await;
    let told = results(&world);
    assert!(told.contains("decline") && !told.contains("accept"), "{told}");
    assert!(session.state().0.questions.is_empty());
    session.close("other").await;
}
