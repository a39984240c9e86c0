//! Hooks through the built program: what they hear, what they may do, and what they may not.

use crate::support::{Ran, World};
use ostler_model_server::{Script, calls, text};
use serde_json::{Value, json};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

/// Settings of the user.
pub fn settings(world: &World, settings: &Value) {
    std::fs::create_dir_all(world.home()).unwrap();
    std::fs::write(world.home().join("settings.json"), settings.to_string()).unwrap();
}

/// One command on one event.
pub fn hook(event: &str, matcher: &str, hook: Value) -> Value {
    json!({ event: [{ "matcher": matcher, "hooks": [hook] }] })
}

pub fn command(line: &str) -> Value {
    json!({ "type": "command", "sandbox": false, "command": line })
}

/// A program beside the project.
pub fn program(world: &World, name: &str, text: &str, mode: u32) -> PathBuf {
    let path = world.project().parent().unwrap().join(name);
    std::fs::write(&path, text).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
    path
}

pub fn write_call(path: &str) -> Script {
    let input = json!({ "file_path": path, "content": "x" });
    Script::new().answer(calls([("Write", input)])).answer(text("done"))
}

/// What the model was told last of a call.
pub fn last_result(world: &World) -> String {
    let requests = world.server.requests();
    let results = requests.last().unwrap().tool_results();
    results.last().unwrap()["content"].to_string()
}

pub fn heard(world: &World) -> Vec<Value> {
    let text = std::fs::read_to_string(world.project().parent().unwrap().join("heard"));
    let text = text.unwrap_or_default();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn a_session_is_told_from_beginning_to_end() {
    let script = Script::new()
        .answer(calls([("Write", json!({"file_path": "made", "content": "x"}))]))
        .answer(calls([("Read", json!({"file_path": "missing"}))]))
        .answer(text("all done"));
    let world = World::new(script);
    let tell = program(
        &world,
        "tell",
        "#!/bin/bash\nexec 3>>\"${0%/*}/heard\"; cat >&3; echo >&3\n\
         [ -z \"$ANTHROPIC_API_KEY\" ] && [ \"$CLAUDE_PROJECT_DIR\" = \"$PWD\" ] && [ \"$OSTLER_PROJECT_DIR\" = \"$PWD\" ]\n",
        0o755,
    );
    let names = [
        "SessionStart",
        "UserPromptSubmit",
        "PreToolUse",
        "PermissionRequest",
        "PostToolUse",
        "PostToolUseFailure",
        "Stop",
        "StopFailure",
        "SessionEnd",
    ];
    let all: serde_json::Map<String, Value> = names
        .iter()
        .map(|name| ((*name).to_owned(), json!([{"hooks": [command(tell.to_str().unwrap())]}])))
        .collect();
    settings(&world, &json!({ "hooks": all }));
    let ran = world.go();
    assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
    assert!(!ran.stdout.contains("did not run"), "{}", ran.stdout);
    let heard = heard(&world);
    let order: Vec<&str> = heard.iter().map(|e| e["hook_event_name"].as_str().unwrap()).collect();
    assert_eq!(
        order,
        [
            "SessionStart",
            "UserPromptSubmit",
            "PreToolUse",
            "PostToolUse",
            "PreToolUse",
            "PostToolUseFailure",
            "Stop",
            "SessionEnd",
        ]
    );
    let session = ran.result()["session_id"].clone();
    for event in &heard {
        assert_eq!(event["session_id"], session);
        assert_eq!(event["cwd"], json!(world.project()));
        assert_eq!(event["permission_mode"], "bypassPermissions");
        assert!(PathBuf::from(event["transcript_path"].as_str().unwrap()).is_file(), "{event}");
    }
    assert_eq!(heard[0]["source"], "startup");
    assert_eq!(heard[1]["prompt"], "go");
    assert_eq!(
        (&heard[2]["tool_name"], &heard[2]["tool_input"]["content"]),
        (&json!("Write"), &json!("x"))
    );
    assert_eq!(heard[2]["tool_use_id"], heard[3]["tool_use_id"]);
    assert!(heard[3]["duration_ms"].is_u64() && !heard[3]["tool_response"]["content"].is_null());
    assert!(heard[5]["error"].as_str().unwrap().contains("missing"), "{}", heard[5]);
    assert_eq!(
        (&heard[6]["stop_hook_active"], &heard[6]["last_assistant_message"]),
        (&json!(false), &json!("all done"))
    );
    assert_eq!(heard[7]["reason"], "other");
    world.assert_never_rejected();
}

#[test]
fn exit_two_before_a_call_blocks_it() {
    let world = World::new(write_call("made"));
    let guard = "cat >/dev/null; echo 'not in this folder' >&2; exit 2";
    settings(&world, &json!({ "hooks": hook("PreToolUse", "Write|Edit", command(guard)) }));
    let ran = world.go();
    assert!(!world.project().join("made").exists());
    assert!(last_result(&world).contains("not in this folder"), "{}", last_result(&world));
    assert_eq!(ran.result()["permission_denials"].as_array().unwrap().len(), 1);
    let decided: Vec<Value> =
        world.entries().into_iter().filter(|e| e["fact"] == "decided").collect();
    assert_eq!((decided.len(), &decided[0]["verdict"]), (1, &json!("deny")));
    // In text it points to where hooks are found.
    let world = World::new(write_call("made"));
    settings(&world, &json!({ "hooks": hook("PreToolUse", "", command(guard)) }));
    let ran = world.run(&["-p", "go", "--permission-mode", "bypassPermissions"]);
    assert!(ran.stderr.contains("(see ostler hooks list)"), "{}", ran.stderr);
}

#[test]
fn continue_false_before_a_call_ends_the_turn_without_it() {
    let world = World::new(write_call("made"));
    let stop = r#"echo '{"continue": false, "stopReason": "freeze until Monday"}'"#;
    settings(&world, &json!({ "hooks": hook("PreToolUse", "", command(stop)) }));
    let ran = world.go();
    assert!(!world.project().join("made").exists());
    assert_eq!((ran.code, ran.terminal().as_str()), (Some(0), "hook_stopped"), "{}", ran.stdout);
    assert!(ran.result()["result"].as_str().unwrap().contains("freeze until Monday"));
    assert_eq!(ran.result()["is_error"], false);
    assert_eq!(world.server.requests().len(), 1);
}

/// A yes of a hook lifts nothing, in whichever form it is said.
#[test]
fn b34_a_hook_cannot_lift_a_deny() {
    for yes in [
        r#"{"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "allow"}}"#,
        r#"{"decision": "approve"}"#,
        r#"{"hookSpecificOutput": {"permissionDecision": "allow", "updatedInput": {"file_path": "made", "content": "y"}}}"#,
    ] {
        let world = World::new(write_call("made"));
        let hooks = hook("PreToolUse", "", command(&format!("echo '{yes}'")));
        settings(&world, &json!({ "hooks": hooks, "permissions": {"deny": ["Write(./made)"]} }));
        let ran = world.go();
        assert!(!world.project().join("made").exists(), "{yes}: {}", ran.stdout);
        assert!(last_result(&world).contains("the deny rule"), "{}", last_result(&world));
        // Nor does it stand in for a person.
        let world = World::new(write_call("made"));
        settings(
            &world,
            &json!({ "hooks": hook("PreToolUse", "", command(&format!("echo '{yes}'"))) }),
        );
        let ran = world.run(&["-p", "go"]);
        assert!(!world.project().join("made").exists(), "{yes}: {}", ran.stdout);
        assert_eq!(ran.code, Some(4), "{}", ran.stderr);
    }
}

fn rewrite(path: &str) -> Value {
    let output = json!({"hookSpecificOutput": {
        "hookEventName": "PreToolUse", "updatedInput": {"file_path": path, "content": "rewritten"},
    }});
    hook("PreToolUse", "Write", command(&format!("echo '{output}'")))
}

#[test]
fn b35_what_a_hook_rewrites_is_judged_again() {
    let world = World::new(write_call("made"));
    settings(
        &world,
        &json!({ "hooks": rewrite("secret"), "permissions": {"deny": ["Write(./secret)"]} }),
    );
    let ran = world.go();
    assert!(!world.project().join("secret").exists() && !world.project().join("made").exists());
    assert!(
        last_result(&world).contains("the deny rule Write(./secret)"),
        "{}",
        last_result(&world)
    );
    let denial = &ran.result()["permission_denials"][0]["tool_input"];
    assert_eq!(denial["file_path"], "secret");

    // What may run runs as rewritten, is recorded so, and the model is told.
    let world = World::new(write_call("made"));
    settings(&world, &json!({ "hooks": rewrite("other") }));
    let ran = world.go();
    assert_eq!(ran.code, Some(0), "{}", ran.stdout);
    assert_eq!((world.read("other").as_str(), world.read("made").as_str()), ("rewritten", ""));
    let told = world.server.requests()[1].json()["messages"].to_string();
    assert!(told.contains("A hook changed the input of the Write call"), "{told}");
    let decided =
        world.entries().iter().find(|e| e["fact"] == "decided").unwrap()["why"].to_string();
    assert!(decided.contains("it runs as") && decided.contains("other"), "{decided}");
}

#[test]
fn a_stop_hook_sends_the_model_back_and_knows_that_it_did() {
    let world = World::new(Script::new().answer(text("first")).answer(text("second")));
    let once = "cat >> ../heard; echo >> ../heard; [ -e ../once ] || { touch ../once; echo 'run the tests' >&2; exit 2; }";
    settings(&world, &json!({ "hooks": hook("Stop", "", command(once)) }));
    let ran = world.go();
    assert_eq!((ran.code, ran.terminal().as_str()), (Some(0), "completed"), "{}", ran.stdout);
    assert_eq!(ran.transitions(), ["stop_hook_blocking"]);
    let active: Vec<Value> = heard(&world).iter().map(|e| e["stop_hook_active"].clone()).collect();
    assert_eq!(active, [false, true]);
    let messages = world.server.requests()[1].json()["messages"].to_string();
    assert!(
        messages.contains("Stop hook feedback:") && messages.contains("run the tests"),
        "{messages}"
    );
    world.assert_never_rejected();
}

#[test]
fn a_refused_prompt_is_not_sent_and_leaves_no_trace() {
    let world = World::new(Script::new().answer(text("hello")));
    let guard = "grep -q secret && { echo 'no secrets here' >&2; exit 2; }; exit 0";
    settings(&world, &json!({ "hooks": hook("UserPromptSubmit", "", command(guard)) }));
    let ran = world.run(&["-p", "a secret", "--output-format", "json"]);
    assert_eq!((ran.code, world.server.requests().len()), (Some(0), 0), "{}", ran.stderr);
    assert!(ran.result()["result"].as_str().unwrap().contains("no secrets here"), "{}", ran.stdout);
    let ran = world.run(&["-p", "hi", "--continue"]);
    assert_eq!(ran.code, Some(1), "nothing is left to continue: {}", ran.stderr);
    let ran = world.run(&["-p", "hi"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let messages = world.server.requests()[0].json()["messages"].to_string();
    assert!(!messages.contains("secret"), "{messages}");
}

#[test]
fn hooks_add_to_what_the_model_reads() {
    let world = World::new(write_call("made"));
    let after = json!({"hookSpecificOutput": {"hookEventName": "PostToolUse", "additionalContext": "formatted"}});
    settings(
        &world,
        &json!({"hooks": {
            "SessionStart": [{"matcher": "startup", "hooks": [command("echo today is Monday")]}],
            "UserPromptSubmit": [{"hooks": [command("echo be brief")]}],
            "PostToolUse": [{"matcher": "Write", "hooks": [command(&format!("echo '{after}'"))]}],
        }}),
    );
    let ran = world.go();
    assert_eq!(ran.code, Some(0), "{}", ran.stdout);
    let requests = world.server.requests();
    let first = requests[0].json()["messages"].to_string();
    assert!(first.contains("today is Monday") && first.contains("be brief"), "{first}");
    assert!(requests[1].json()["messages"].to_string().contains("formatted"));
    world.assert_never_rejected();
}

#[test]
fn a_hook_answers_a_question_where_nobody_else_can() {
    for (behavior, made) in [("allow", true), ("deny", false)] {
        let world = World::new(write_call("made"));
        let output = json!({"hookSpecificOutput": {
            "hookEventName": "PermissionRequest", "decision": {"behavior": behavior, "message": "m"},
        }});
        let hooks = hook("PermissionRequest", "Write", command(&format!("echo '{output}'")));
        settings(&world, &json!({ "hooks": hooks }));
        let ran = world.run(&["-p", "go"]);
        assert_eq!(world.project().join("made").exists(), made, "{}", ran.stderr);
        let decided =
            world.entries().iter().find(|e| e["fact"] == "decided").unwrap()["why"].to_string();
        assert!(decided.contains("the hook echo"), "{decided}");
    }
}

#[test]
fn lists_and_tries_what_is_configured() {
    let world = World::new(Script::new());
    std::fs::create_dir(world.project().join(".git")).unwrap();
    let canary = "grep -q '\"canary\":true' || exit 9";
    settings(
        &world,
        &json!({"hooks": {
            "PreToolUse": [{"matcher": "Edit|Write", "hooks": [command(canary)]}],
            "Stop": [{"hooks": [{"type": "command", "sandbox": false, "command": "echo no >&2; exit 2", "timeout": 5}]}],
        }}),
    );
    let theirs = json!({"hooks": hook("SessionStart", "", command("touch RAN"))});
    world.file(".claude/settings.json", &theirs.to_string());
    let listed = world.run(&["hooks", "list"]);
    assert_eq!(listed.code, Some(0), "{}", listed.stderr);
    let (mine, others) = listed.stdout.split_once("not in effect").unwrap();
    assert!(
        mine.contains("PreToolUse Edit|Write  grep -q") && mine.contains("settings.json:1"),
        "{mine}"
    );
    assert!(others.contains("SessionStart *  touch RAN"), "{others}");
    let lines = world.run(&["hooks", "list", "--json"]).frames();
    let trusted: Vec<&Value> = lines.iter().map(|line| &line["trusted"]).collect();
    assert_eq!(trusted, [true, true, false]);

    let tried = world.run(&["hooks", "verify"]);
    assert_eq!(tried.code, Some(0), "{}{}", tried.stdout, tried.stderr);
    assert!(
        tried.stdout.contains("✓ PreToolUse") && tried.stdout.contains("passes"),
        "{}",
        tried.stdout
    );
    assert!(tried.stdout.contains("blocks (no)"), "{}", tried.stdout);
    assert!(tried.stderr.contains("1 not tested"), "{}", tried.stderr);
    assert!(!world.project().join("RAN").exists());

    // One that is broken is found.
    settings(&world, &json!({ "hooks": hook("PreToolUse", "", command("/no/such/guard")) }));
    let tried = world.run(&["hooks", "verify"]);
    assert_eq!(tried.code, Some(1), "{}", tried.stdout);
    assert!(
        tried.stdout.contains("✗ PreToolUse") && tried.stdout.contains("exit code 127"),
        "{}",
        tried.stdout
    );
    let line = world.run(&["hooks", "verify", "--json"]).frames().remove(0);
    assert_eq!((&line["ran"], &line["exit"]), (&json!(false), &json!("exit code 127")));
}

/// A hook without its secret is one that does not work; the others are tested all the same.
#[test]
fn a_missing_secret_does_not_stop_the_test_of_the_others() {
    let world = World::new(Script::new());
    let signed =
        json!({"type": "http", "url": "http://127.0.0.1:1/", "secretEnv": "NO_SUCH_SECRET"});
    let both = json!([
        {"matcher": "", "hooks": [signed]},
        {"matcher": "", "hooks": [command("echo '{}'")]},
    ]);
    settings(&world, &json!({"hooks": {"PreToolUse": both}}));
    let tried = world.run(&["hooks", "verify"]);
    assert_eq!(tried.code, Some(1), "{}{}", tried.stdout, tried.stderr);
    assert!(tried.stdout.contains("✓ PreToolUse  echo"), "{}", tried.stdout);
    let failed = tried.stdout.lines().find(|line| line.starts_with('✗')).unwrap();
    assert!(failed.contains("NO_SUCH_SECRET, which is not set"), "{failed}");
    let ran = world.run(&["-p", "go"]);
    assert_eq!(ran.code, Some(3), "a run does not start without it: {}", ran.stderr);
}

#[test]
fn a_misspelt_guard_stops_the_start_with_its_line() {
    let world = World::new(Script::new());
    std::fs::create_dir_all(world.home()).unwrap();
    std::fs::write(world.home().join("settings.json"), "{\"hooks\":\n{\"PreToolUs\": [1]}}")
        .unwrap();
    let ran: Ran = world.run(&["-p", "go"]);
    assert_eq!(ran.code, Some(3));
    assert!(
        ran.stderr.contains(
            "settings.json:2: unknown event \"PreToolUs\" (did you mean \"PreToolUse\"?)"
        ),
        "{}",
        ran.stderr
    );
}

#[test]
fn what_happened_can_be_looked_up() {
    let world = World::new(write_call("made"));
    let ran = world.run(&["-p", "go", "--verbose", "--permission-mode", "bypassPermissions"]);
    assert!(ran.stderr.contains("Write: 1 call, 0."), "{}", ran.stderr);
    let lines = world.run(&["events", "tail", "--json"]).frames();
    let names: Vec<&str> = lines.iter().map(|line| line["event"].as_str().unwrap()).collect();
    assert_eq!(
        names,
        [
            "turn_started",
            "request",
            "call_started",
            "call_finished",
            "transition",
            "request",
            "turn_finished",
            "statistics"
        ]
    );
    let finished = &lines[3];
    assert_eq!(
        (&finished["tool"], &finished["error"], &finished["denied"]),
        (&json!("Write"), &Value::Null, &json!(false))
    );
    assert!(finished["output_length"].as_u64().unwrap() > 0 && finished["ms"].is_u64());
    let shown = world.run(&["events", "tail", "-n", "2"]).stdout;
    assert_eq!(shown.lines().count(), 2, "{shown}");
    assert!(shown.contains("turn_finished  reason=completed"), "{shown}");
    assert_eq!(world.run(&["events", "tail", "--session", "nothing"]).code, Some(2));
}

/// Unless it is granted more, a hook is held as commands are; it can read itself, wherever it lies.
#[test]
fn a_hook_runs_in_the_sandbox() {
    for granted in [false, true] {
        let world = World::new(write_call("made"));
        let text = "#!/bin/bash\necho inside > hook-was-here\necho outside > \"${0%/*}/escaped\"\nexit 0\n";
        let hook = program(&world, "hook", text, 0o755);
        let line = hook.to_str().unwrap();
        let entry = json!({"type": "command", "command": line, "sandbox": !granted});
        settings(&world, &json!({"hooks": {"PreToolUse": [{"hooks": [entry]}]}}));
        let ran = world.go();
        assert_eq!(world.read("made"), "x", "{}", ran.stdout);
        assert_eq!(world.read("hook-was-here"), "inside\n");
        let escaped = world.project().parent().unwrap().join("escaped");
        assert_eq!(escaped.exists(), granted, "granted {granted}");
    }
}
