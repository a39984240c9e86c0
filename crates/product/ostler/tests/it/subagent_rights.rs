//! What an agent may do: never more than the one who started it, at any depth, as that one is at the moment.

use crate::subagents::{agent, all, end, plays, results};
use crate::support::{World, open, with};
use futures_util::StreamExt;
use ostler::{Event, Input, Mode, Reply as Answer, SessionRules, Terminal};
use ostler_model_server::{Reply, Script, text};
use serde_json::json;

fn write(file: &str) -> Reply {
    text("I write.").call("Write", json!({ "file_path": file, "content": "x" }))
}

/// The root starts an agent, which starts another one, which writes.
fn grandchild_writes(file: &str, at: &'static str) -> Script {
    let below = |task: &str| vec![agent(text("Below."), "general", task), text("passed on")];
    plays([
        ("go", below("task-child")),
        ("task-child", below("task-grandchild")),
        ("task-grandchild", vec![write(file).due_at(at), text("tried")]),
    ])
}

/// A deny rule of the parent holds in a child and in a grandchild, and what it does not name is free.
pub async fn a_deny_rule_holds_below() {
    for (file, expected) in [("secret.md", false), ("plain.md", true)] {
        let world = World::new(grandchild_writes(file, "go on"));
        world.server.gate("go on").open();
        let session =
            open(with(world.options(), |o| o.session.deny = vec!["Edit(./secret.md)".into()]));
        let seen = all(session.ask("go").unwrap()).await;
        assert_eq!(end(&seen).terminal, Terminal::Completed);
        assert_eq!(world.project().join(file).exists(), expected, "{file}");
        let mut told = seen.iter().filter(|envelope| envelope.agent.names().len() == 2);
        let denied = told.any(|envelope| {
            matches!(&envelope.event, Event::CallFinished { outcome, .. } if outcome.is_denied())
        });
        assert_eq!(denied, !expected);
        world.assert_never_rejected();
    }
}

/// Made stricter while a grandchild is at work: it is stricter there, too, before its next call.
pub async fn what_becomes_stricter_is_stricter_below() {
    let rules = SessionRules { deny: vec!["Edit(./secret.md)".into()], ..SessionRules::default() };
    for (change, expected) in [
        (None, true),
        (Some(Input::SetRules(rules)), false),
        (Some(Input::SetMode(Mode::Plan)), false),
        (Some(Input::SetMode(Mode::Default)), false),
    ] {
        let world = World::new(grandchild_writes("secret.md", "changed"));
        let session = world.session();
        let reading = tokio::spawn(all(session.ask("go").unwrap()));
        world.server.wait_for_requests(3, crate::support::PATIENCE).await.unwrap();
        let what = format!("{change:?}");
        if let Some(change) = change {
            session.send(change).unwrap();
        }
        world.server.gate("changed").open();
        assert_eq!(end(&reading.await.unwrap()).terminal, Terminal::Completed);
        assert_eq!(world.project().join("secret.md").exists(), expected, "{what}");
    }
}

/// In plan mode agents are started, and change nothing either.
pub async fn plan_mode_holds_below() {
    for kind in ["general", "planner"] {
        let world = World::new(plays([
            ("go", vec![agent(text("I ask."), kind, "task-a"), text("done")]),
            (
                "task-a",
                vec![
                    text("I try.").call("Bash", json!({ "command": "touch made" })),
                    text("tried"),
                ],
            ),
        ]));
        let session = open(with(world.options(), |o| {
            let mode = if kind == "planner" { Mode::BypassPermissions } else { Mode::Plan };
            o.session.mode = mode;
        }));
        let seen = all(session.ask("go").unwrap()).await;
        assert_eq!(results(&seen), [(false, "tried".to_owned())], "{kind}");
        assert!(!world.project().join("made").exists(), "{kind}");
    }
}

/// What an agent three levels down asks is answered by whoever attends the session, and refused if nobody does.
pub async fn a_question_from_below_reaches_the_root() {
    for (attended, reply, expected) in [
        (true, Answer::Yes, true),
        (true, Answer::No("not that".into()), false),
        (false, Answer::Yes, false),
    ] {
        let below = |task: &str| vec![agent(text("Below."), "general", task), text("passed on")];
        let world = World::new(plays([
            ("go", below("task-1")),
            ("task-1", below("task-2")),
            ("task-2", below("task-3")),
            ("task-3", vec![write("asked.md"), text("tried")]),
        ]));
        let session = open(with(world.options(), |o| o.session.mode = Mode::Default));
        let _attendance = attended.then(|| session.attend());
        let mut turn = session.ask("go").unwrap();
        let mut asked = Vec::new();
        while let Some(envelope) = turn.next().await {
            if let Event::CallAsked { question: Some(question), .. } = &envelope.event {
                assert_eq!(question.agent, envelope.agent);
                // Where nobody is there, it is over before anybody reads of it.
                let open = session.state().0.open_questions().count();
                assert!(open == 1 || !attended, "{open} are open");
                asked.push(question.agent.to_string());
                let answer = Input::Answer {
                    question: question.id.clone(),
                    reply: reply.clone(),
                    by: "test".into(),
                };
                assert_eq!(session.send(answer).is_ok(), attended);
            }
            if let Event::Finished(finished) = &envelope.event {
                assert_eq!(finished.terminal, Terminal::Completed);
            }
        }
        assert_eq!(asked, ["/general-1/general-1/general-1"], "asked once");
        assert_eq!(world.project().join("asked.md").exists(), expected, "{reply:?}");
        assert_eq!(session.state().0.open_questions().count(), 0);
        world.assert_never_rejected();
    }
}

/// A yes for the session is one for every agent of it.
pub async fn a_yes_for_the_session_holds_for_the_next_agent() {
    let asks = |name: &str| {
        let command = json!({ "command": format!("touch {name}") });
        vec![text("I run.").call("Bash", command), text("ran")]
    };
    let world = World::new(plays([
        (
            "go",
            vec![
                agent(text("One."), "general", "task-a"),
                agent(text("Two."), "general", "task-b"),
                text("done"),
            ],
        ),
        ("task-a", asks("same")),
        ("task-b", asks("same")),
    ]));
    let session = open(with(world.options(), |o| o.session.mode = Mode::Default));
    let _attendance = session.attend();
    let mut turn = session.ask("go").unwrap();
    let mut asked = 0;
    while let Some(envelope) = turn.next().await {
        if let Event::CallAsked { question: Some(question), .. } = &envelope.event {
            asked += 1;
            let (question, reply) = (question.id.clone(), Answer::YesForSession);
            session.send(Input::Answer { question, reply, by: "test".into() }).unwrap();
        }
    }
    assert_eq!(asked, 1);
    assert!(world.project().join("same").exists());
}
