//! A tool that no part of the product has heard of is treated by what it declares: `stamp.rs`, its text and the one line
//! below are all there is of it.

use crate::compaction::with_summaries;
use crate::reuse::is_summary;
use crate::stamp::Stamp;
use crate::support::{World, finished, host, open, until, with};
use ostler::{Event, Mode, Options, Terminal, Verdict};
use ostler_model_server::{Script, text};
use serde_json::json;
use std::sync::Arc;

fn options(world: &World) -> Options {
    let project = world.project().canonicalize().unwrap();
    let more_tools: Vec<Arc<dyn ostler::Tool>> = vec![Arc::new(Stamp::new(project))];
    with(world.options(), |o| {
        o.session.more_tools = more_tools;
        o.session.mode = Mode::Default;
    })
}

fn stamps(documents: &[&str]) -> Script {
    let calls = documents.iter().fold(text("I stamp."), |answer, document| {
        answer.call("Stamp", json!({"document": document}))
    });
    Script::new().answer(calls).answer(text("Done."))
}

/// Rules on changing files are about it, and `acceptEdits` accepts it.
pub async fn rules_judge_a_tool_of_ones_own() {
    let world = World::new(stamps(&["secret.md", "a.md"]));
    let mut options = options(&world);
    options.session.mode = Mode::AcceptEdits;
    options.session.deny = vec!["Edit(./secret.md)".into()];
    let end = finished(open(options).ask("go").unwrap()).await;
    assert_eq!(end.terminal, Terminal::Completed);
    assert!(world.project().join("a.md").exists(), "edits are accepted");
    assert!(!world.project().join("secret.md").exists(), "a rule denies it");
    world.assert_never_rejected();
}

/// The same code as a call; a rule can name it with a pattern, and a misspelt name is found.
pub async fn a_tool_of_ones_own_is_explained() {
    let world = World::new(Script::new());
    let verdict = async |allow: &[&str], deny: &[&str], mode: Mode| {
        let rules = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
        let options = with(options(&world), |o| {
            o.session.allow = rules(allow);
            o.session.deny = rules(deny);
            o.session.mode = mode;
        });
        let input = json!({"document": "a.md"});
        let judged = ostler::explain(&host(&options), options.session, "Stamp", &input).await;
        judged.map(|(judged, _)| judged.decision.verdict).map_err(|error| error.to_string())
    };
    for (allow, deny, mode, expected) in [
        (&[][..], &[][..], Mode::Default, Verdict::Ask),
        (&[], &[], Mode::AcceptEdits, Verdict::Allow),
        (&[], &[], Mode::Plan, Verdict::Deny),
        (&["Edit(./**)"], &[], Mode::Default, Verdict::Allow),
        (&["Write(./**)"], &[], Mode::Default, Verdict::Ask),
        (&["Read(./**)"], &[], Mode::Default, Verdict::Ask),
        (&["Stamp(./**)"], &[], Mode::Default, Verdict::Allow),
        (&["Stamp(./b/**)"], &[], Mode::Default, Verdict::Ask),
        (&["Stamp"], &["Stamp(./a.md)"], Mode::Default, Verdict::Deny),
        (&["Stamp"], &["Edit(./a.md)"], Mode::Default, Verdict::Deny),
        (&["Edit"], &[], Mode::Default, Verdict::Ask),
    ] {
        assert_eq!(verdict(allow, deny, mode).await, Ok(expected), "{allow:?} {deny:?} {mode:?}");
    }
    let misspelt = verdict(&["Stmap"], &[], Mode::Default).await.unwrap_err();
    assert!(misspelt.contains("did you mean \"Stamp\"?"), "{misspelt}");
}

/// What it changed is still known after a summary, and a line about a call shows what it declares.
pub async fn a_tool_of_ones_own_is_carried_over() {
    let stamps = ["none/x.md", "plan.md"].into_iter().fold(text("I stamp."), |answer, document| {
        answer.call("Stamp", json!({"ink": "red", "document": document}))
    });
    // The newest turn is kept word for word, so there is one more than is summarized.
    let answers = [stamps, text("One failed."), text("Gladly."), text("plan.md")];
    let world = World::new(with_summaries(answers));
    let session = open(with(options(&world), |o| o.session.mode = Mode::AcceptEdits));
    for prompt in ["Stamp the plan", "Thank you"] {
        assert_eq!(finished(session.ask(prompt).unwrap()).await.terminal, Terminal::Completed);
    }
    let mut turn = session.compact(None).unwrap();
    until(&mut turn, |event| matches!(event, Event::Compacted { .. })).await;
    drop(turn);
    finished(session.ask("Which file was it?").unwrap()).await;
    let requests = world.server.requests();
    assert_eq!(requests.iter().filter(|request| is_summary(request)).count(), 1);
    let told = requests.last().unwrap().messages()[0].to_string();
    assert!(told.contains(r"Files changed:\n- plan.md\n"), "{told}");
    assert!(told.contains("Stamp none/x.md: "), "{told}");
    let facts = session.known_tools().facts("Stamp");
    assert_eq!(facts.subject_of(&json!({"ink": "red", "document": "a.md"})), "a.md");
    world.assert_never_rejected();
}

/// `explain` knows every tool that ships, also those that need a session.
pub async fn every_tool_that_ships_is_explained() {
    let world = World::new(Script::new());
    for name in ostler::known_tools().names() {
        let input = match name {
            // These take more than a text.
            "TodoWrite" => json!({"todos": []}),
            "Skill" => json!({"skill": "debugging"}),
            "Sleep" => json!({"seconds": 1}),
            "WebFetch" => json!({"url": "https://example.com/"}),
            "NotebookEdit" => {
                json!({"notebook_path": "a.ipynb", "cell_id": "c", "new_source": "1"})
            }
            "AskUserQuestion" => json!({"questions": [{
                "question": "Which?", "header": "Which", "multiSelect": false,
                "options": [{"label": "a", "description": "a"}, {"label": "b", "description": "b"}],
            }]}),
            _ => ostler::tool_facts(name).call_with("a"),
        };
        let options = with(options(&world), |o| o.host.home = Some(world.root().join("home")));
        let (judged, _) =
            ostler::explain(&host(&options), options.session, name, &input).await.unwrap();
        assert!(judged.access.is_some(), "{name}: {}", judged.decision.why());
    }
    assert!(!world.root().join("home").exists(), "nothing is made for a question");
}
