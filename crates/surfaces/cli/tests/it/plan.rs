//! The plan: written, shown, remembered over a restart, repeated, and gone with an answer that is discarded.

use crate::repl::{quit, start};
use crate::support::World;
use ostler_model_server::{Reply, Script, after, calls, text};
use serde_json::{Value, json};

fn todos(list: &[(&str, &str)]) -> Value {
    let todo = |(content, status): &(&str, &str)| json!({"content": content, "status": status, "activeForm": format!("Doing {content}")});
    json!({"todos": list.iter().map(todo).collect::<Vec<_>>()})
}

fn plan() -> Reply {
    calls([(
        "TodoWrite",
        todos(&[("look", "completed"), ("mend", "in_progress"), ("check", "pending")]),
    )])
}

#[test]
fn it_is_shown_and_restored_on_resume() {
    let list = || calls([("TaskList", json!({})), ("TaskGet", json!({"taskId": "2"}))]);
    let script = Script::new()
        .answer(plan())
        .answer(text("planned"))
        .answer(list())
        .answer(text("ok"))
        .forever();
    let world = World::new(script);
    let mut talk = start(&world, true, &[]);
    talk.expect("> ");
    talk.send_line("go");
    for line in ["● TodoWrite 3 tasks", "☒ look", "▶ Doing mend", "☐ check", "planned"] {
        talk.expect(line);
    }
    quit(&mut talk);
    // A new process knows it, shows it to the person and gives it to the model.
    let mut talk = start(&world, true, &["--continue"]);
    talk.expect("▶ Doing mend");
    talk.expect("> ");
    talk.send_line("go on");
    talk.expect("tokens: ");
    quit(&mut talk);
    let requests = world.server.requests();
    let results = requests[3].tool_results();
    assert_eq!(
        results[0]["content"],
        "#1 [completed] look\n#2 [in_progress] mend\n#3 [pending] check"
    );
    assert_eq!(results[1]["content"], "#2 [in_progress] mend");
    let facts = world.entries();
    assert_eq!(facts.iter().filter(|fact| fact["fact"] == "planned").count(), 1);
    world.assert_never_rejected();
}

#[test]
fn tasks_of_one_answer_are_made_in_order_and_a_wrong_one_is_named() {
    let create = |subject: &str| ("TaskCreate", json!({"subject": subject, "description": "d"}));
    let update = |input: Value| ("TaskUpdate", input);
    let world = World::new(
        Script::new()
            .answer(calls([
                create("one"),
                create("two"),
                update(json!({"taskId": "2", "addBlockedBy": ["1"], "owner": "me"})),
                update(json!({"taskId": "1", "status": "in_progress"})),
                update(json!({"taskId": "9", "status": "completed"})),
                update(json!({"taskId": "1", "addBlockedBy": ["2"]})),
                update(json!({"taskId": "1", "status": "finished"})),
                ("TodoWrite", json!({"todos": [{"content": "x", "status": "done"}]})),
                ("TaskList", json!({})),
            ]))
            .answer(text("ok")),
    );
    let ran =
        world.run(&["-p", "go", "--permission-mode", "plan", "--output-format", "stream-json"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert_eq!(ran.result()["permission_denials"], json!([]), "a plan may be made in plan mode");
    let requests = world.server.requests();
    let results = requests[1].tool_results();
    let said: Vec<String> =
        results.iter().map(|result| result["content"].as_str().unwrap().to_owned()).collect();
    for (at, says) in [
        (0, "Task #1 is in the plan: one"),
        (1, "Task #2 is in the plan: two"),
        (2, "#2 [pending] two (owner: me) (blocked by #1)"),
        (4, "There is no task \"9\". The tasks are: 1, 2."),
        (5, "Task #1 would wait for itself"),
        (6, "`status` must be one of \"pending\", \"in_progress\", \"completed\", \"deleted\""),
        (7, "`todos` [0] is not valid: `status` must be one of"),
    ] {
        assert!(said[at].contains(says), "{at}: {} / {says}", said[at]);
    }
    assert_eq!(said[8], "#1 [in_progress] one\n#2 [pending] two (owner: me) (blocked by #1)");
    let frames = ran.frames();
    let uses = |frame: &&Value| frame["message"]["content"][0]["name"] == "TaskCreate";
    assert_eq!(frames.iter().filter(uses).count(), 2, "readers of the stream see the calls");
    world.assert_never_rejected();
}

/// What an answer planned that broke off and was discarded was never planned.
#[test]
fn a_dropped_answer_leaves_no_plan() {
    let broken = calls([("TodoWrite", todos(&[("never", "pending")]))])
        .say("and now")
        .cut(after("content_block_stop").nth(1).reset());
    let world = World::new(
        Script::new().answer(broken).answer(calls([("TaskList", json!({}))])).answer(text("ok")),
    );
    let ran = world.run(&["-p", "go", "--output-format", "stream-json"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let requests = world.server.requests();
    assert_eq!(requests.last().unwrap().tool_results()[0]["content"], "The plan is empty.");
    assert!(!world.entries().iter().any(|fact| fact["fact"] == "planned"));
}

/// After each call how far it is, after eight without a word about it the whole plan: appended, so that the prefix stays.
#[test]
fn it_is_said_again_after_a_while() {
    let read = || calls([("Glob", json!({"pattern": "*"}))]);
    let mut script = Script::new().answer(plan());
    for _ in 0..9 {
        script = script.answer(read());
    }
    let world = World::new(script.answer(text("ok")));
    assert_eq!(world.run(&["-p", "go"]).code, Some(0));
    let told: Vec<usize> = (world.server.requests().iter())
        .map(|request| request.json()["messages"].to_string().matches("<plan>").count())
        .collect();
    assert_eq!(told, [0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1]);
    let states: Vec<usize> = (world.server.requests().iter())
        .map(|request| request.json()["messages"].to_string().matches("<plan-state>").count())
        .collect();
    assert_eq!(states, [0, 0, 1, 2, 3, 4, 5, 6, 7, 7, 8]);
    let last = world.server.requests().pop().unwrap().json()["messages"].to_string();
    assert!(last.contains("#2 [in_progress] mend\\n#3 [pending] check"), "{last}");
    world.assert_never_rejected();
}

#[test]
fn readers_of_the_stream_get_each_change() {
    let world = World::new(Script::new().answer(plan()).answer(text("ok")));
    let ran = world.run(&["-p", "go", "--output-format", "stream-json"]);
    let lines: Vec<Value> =
        ran.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let plans: Vec<_> = lines.iter().filter(|line| line["subtype"] == "plan").collect();
    assert_eq!(plans.len(), 1, "{}", ran.stdout);
    assert_eq!(plans[0]["type"], "system");
    assert_eq!(plans[0]["tasks"][1]["subject"], "mend");
    assert_eq!(plans[0]["tasks"][1]["status"], "in_progress");
}
