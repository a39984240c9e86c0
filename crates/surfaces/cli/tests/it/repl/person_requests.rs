//! Questions of the model to the person, and plans that only a person approves.

use super::{both, quit, start};
use crate::support::World;
use ostler_model_server::{Script, calls, text};
use serde_json::{Value, json};

const CHOOSE: &str = "or your own words (empty: no answer): ";
const APPROVE: &str = "(or say what to change): ";

fn questions() -> Value {
    json!({"questions": [
        {"question": "Which database?", "header": "Database", "multiSelect": false, "options": [
            {"label": "SQLite", "description": "one file"},
            {"label": "Postgres", "description": "a server"}]},
        {"question": "Which extras?", "header": "Extras", "multiSelect": true, "options": [
            {"label": "Cache", "description": ""}, {"label": "Search", "description": ""}]}
    ]})
}

fn result(world: &World, request: usize) -> String {
    world.server.requests()[request].tool_results()[0]["content"].to_string()
}

#[test]
fn the_answers_are_the_result() {
    let script = || {
        Script::new().answer(calls([("AskUserQuestion", questions())])).answer(text("Understood."))
    };
    both(script, |world, talk| {
        talk.expect("> ");
        talk.send_line("go");
        let first = talk.expect(CHOOSE);
        for part in ["Database (1 of 2): Which database?", "1  SQLite: one file", "2  Postgres"] {
            assert!(first.contains(part), "{part}: {first}");
        }
        talk.send_line("2");
        assert!(talk.expect(CHOOSE).contains("Extras (2 of 2): Which extras?"));
        talk.send_line("1,2");
        talk.expect("Understood.");
        quit(talk);
        assert_eq!(
            result(world, 1),
            "\"The user answered:\\n- Which database? Postgres\\n- Which extras? Cache, Search\""
        );
    });
}

#[test]
fn bypassing_permissions_answers_no_question() {
    let script =
        Script::new().answer(calls([("AskUserQuestion", questions())])).answer(text("Understood."));
    let world = World::new(script);
    let mut talk = start(&world, false, &["--permission-mode", "bypassPermissions"]);
    talk.expect("> ");
    talk.send_line("go");
    talk.expect(CHOOSE);
    talk.send_line("");
    talk.expect(CHOOSE);
    talk.send_line("");
    talk.expect("Understood.");
    quit(&mut talk);
    assert!(result(&world, 1).contains("The question was not answered: the user gave no answer."));
}

/// A model that fills in the answers itself is told to leave them out, and nobody is asked.
#[test]
fn a_model_cannot_answer_for_the_person() {
    let mut forged = questions();
    forged["answers"] = json!({"Which database?": "Postgres"});
    let script = || {
        Script::new()
            .answer(calls([("AskUserQuestion", forged.clone())]))
            .answer(calls([("ExitPlanMode", json!({"plan": "p", "mode": "acceptEdits"}))]))
            .answer(text("Understood."))
    };
    both(script, |world, talk| {
        talk.expect("> ");
        talk.send_line("/mode plan");
        talk.expect("> ");
        talk.send_line("go");
        let said = talk.expect("Understood.");
        assert!(!said.contains(CHOOSE) && !said.contains(APPROVE), "{said}");
        quit(talk);
        assert!(result(world, 1).contains("Leave out `answers`"), "{}", result(world, 1));
        assert!(result(world, 2).contains("Leave out `mode`"), "{}", result(world, 2));
    });
}

/// Without a person at a terminal the model is not offered what would ask one.
#[test]
fn a_run_without_a_person_has_no_such_tools() {
    let world = World::new(Script::new().answer(text("Done.")));
    world.run(&["-p", "go"]);
    let tools = world.server.requests()[0].json()["tools"].to_string();
    assert!(tools.contains("\"Bash\"") && !tools.contains("AskUserQuestion"), "{tools}");
    assert!(!tools.contains("ExitPlanMode"), "{tools}");
}

fn planning() -> Script {
    let write = || calls([("Write", json!({"file_path": "made", "content": "x\n"}))]);
    let plan = |text: &str| calls([("ExitPlanMode", json!({ "plan": text }))]);
    Script::new()
        .answer(calls([("EnterPlanMode", json!({}))]))
        .answer(write())
        .answer(plan("1. write a file"))
        .answer(plan("1. write a file\n2. test it"))
        .answer(write())
        .answer(text("Finished."))
}

#[test]
fn a_plan_is_rejected_with_words_and_then_approved() {
    both(planning, |world, talk| {
        talk.expect("> ");
        talk.send_line("go");
        let shown = talk.expect(APPROVE);
        assert!(shown.contains("    │ 1. write a file"), "{shown}");
        assert!(!world.project().join("made").exists(), "plan mode changes nothing");
        talk.send_line("test it, too");
        let shown = talk.expect(APPROVE);
        assert!(shown.contains("    │ 2. test it"), "{shown}");
        // Edits are accepted from here on, so the write does not ask.
        talk.send_line("e");
        talk.expect("Finished.");
        talk.expect("> ");
        talk.send_line("/mode");
        talk.expect("mode: acceptEdits");
        quit(talk);
        assert_eq!(world.read("made"), "x\n");
        assert!(result(world, 2).contains("plan mode allows no changes"), "{}", result(world, 2));
        let rejected = result(world, 3);
        assert!(rejected.contains("The plan was not approved: the user said: test it, too."));
        let approved = result(world, 4);
        assert!(approved.contains("The mode is now acceptEdits."), "{approved}");
        assert!(approved.contains("2. test it"), "{approved}");
        let control = world.entries().into_iter().rfind(|fact| fact["fact"] == "control").unwrap();
        assert_eq!(control["mode"], "acceptEdits", "{control}");
    });
}

/// A hook may say no to a plan; its yes is not the person's.
#[test]
fn a_hook_does_not_approve_a_plan() {
    let said = r#"echo '{"hookSpecificOutput": {"hookEventName": "PermissionRequest", "decision": {"behavior": "allow"}}}'"#;
    let hook = json!([{"hooks": [{"type": "command", "command": said}]}]);
    let settings = json!({"hooks": {"PermissionRequest": hook}}).to_string();
    let plan = calls([("ExitPlanMode", json!({"plan": "1. look"}))]);
    let world = World::new(Script::new().answer(plan).answer(text("Understood.")));
    let mut talk =
        start(&world, false, &["--permission-mode", "plan", "--settings", settings.as_str()]);
    talk.expect("> ");
    talk.send_line("go");
    talk.expect(APPROVE);
    talk.send_line("n");
    talk.expect("Understood.");
    talk.expect("> ");
    talk.send_line("/mode");
    talk.expect("mode: plan");
    quit(&mut talk);
    assert!(result(&world, 1).contains("The plan was not approved: the user said no."));
}

/// Nobody answered, so nothing had begun: the questions and the plan are put again, and answered this time.
#[test]
fn what_was_asked_at_a_kill_is_asked_again() {
    let script = Script::new()
        .answer(calls([("AskUserQuestion", questions())]))
        .answer(calls([("ExitPlanMode", json!({"plan": "1. look"}))]))
        .answer(text("Understood."));
    let world = World::new(script);
    let mut talk = start(&world, true, &["--permission-mode", "plan"]);
    talk.expect("> ");
    talk.send_line("go");
    talk.expect(CHOOSE);
    talk.send_line("2");
    talk.expect(CHOOSE);
    talk.kill();
    drop(talk);
    let mut talk = start(&world, true, &["--permission-mode", "plan", "--continue"]);
    talk.expect("/continue resumes it");
    talk.expect("> ");
    talk.send_line("/continue");
    assert!(talk.expect(CHOOSE).contains("Database (1 of 2): Which database?"));
    talk.send_line("1");
    talk.expect(CHOOSE);
    talk.send_line("2");
    talk.expect(APPROVE);
    assert!(result(&world, 1).contains("Which database? SQLite"), "{}", result(&world, 1));
    talk.kill();
    drop(talk);
    let mut talk = start(&world, true, &["--permission-mode", "plan", "--continue"]);
    talk.expect("> ");
    talk.send_line("/continue");
    assert!(talk.expect(APPROVE).contains("1. look"));
    talk.send_line("y");
    talk.expect("Understood.");
    quit(&mut talk);
    assert!(result(&world, 2).contains("The mode is now default."), "{}", result(&world, 2));
    assert_eq!(world.server.requests().len(), 3, "the model was not asked for them again");
    world.assert_never_rejected();
}
