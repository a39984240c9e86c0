//! A blocking hook without a verdict denies and says why; a hook that cannot stop anything only warns.

use crate::hooks::{command, hook, last_result, program, settings, write_call};
use crate::support::{World, processes_with, unique_sleep};
use ostler_model_server::{Script, text};
use serde_json::{Value, json};
use std::net::TcpListener;

/// What may go wrong with a hook: its name, the hook, and what is said of it.
fn faults(world: &World) -> Vec<(&'static str, Value, &'static str)> {
    let interpreter = program(world, "no-interpreter", "#!/no/such/interpreter\n", 0o755);
    let plain = program(world, "plain", "#!/bin/bash\nexit 0\n", 0o644);
    // It takes connections, as any listener does, and never says a word.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let silent_url = format!("http://{}/", silent.local_addr().unwrap());
    std::mem::forget(silent);
    let hang = format!("sleep {}", unique_sleep());
    vec![
        ("crash", command("kill -SEGV $$"), "signal SEGV"),
        (
            "hang",
            json!({"type": "command", "sandbox": false, "command": hang, "timeout": 0.2}),
            "it took longer than 200ms",
        ),
        (
            "garbage",
            command("echo '{\"decision\": oops'"),
            "its output is not exactly one JSON object",
        ),
        (
            "wrong words",
            command("echo '{\"decision\": \"perhaps\"}'"),
            "\\\"perhaps\\\" is not known",
        ),
        ("missing interpreter", command(interpreter.to_str().unwrap()), "exit code 127"),
        ("missing program", command("/no/such/guard"), "exit code 127"),
        ("not executable", command(plain.to_str().unwrap()), "exit code 126"),
        ("exit 1", command("echo 'bad luck' >&2; exit 1"), "exit code 1: bad luck"),
        ("huge output", command("head -c 3000000 /dev/zero"), "it wrote more than"),
        // It has ended before anybody notices.
        ("a byte too much", command("head -c 1048577 /dev/zero"), "it wrote more than"),
        ("another type", json!({"type": "prompt", "prompt": "ok?"}), "not supported yet"),
        (
            "a silent host",
            json!({"type": "http", "url": silent_url, "timeout": 0.2}),
            "no answer within 200ms",
        ),
        ("nobody answers", json!({"type": "http", "url": "http://127.0.0.1:9/"}), "refused"),
    ]
}

#[test]
fn before_a_call_it_is_a_block() {
    let count = faults(&World::new(Script::new())).len();
    for n in 0..count {
        let world = World::new(write_call("made"));
        let (name, fault, said) = faults(&world).remove(n);
        let mark =
            fault["command"].as_str().filter(|line| line.starts_with("sleep")).map(str::to_owned);
        settings(&world, &json!({ "hooks": hook("PreToolUse", "Write", fault) }));
        let ran = world.go();
        assert!(!world.project().join("made").exists(), "{name}");
        let told = last_result(&world);
        assert!(
            told.contains("a blocking hook without a verdict denies") && told.contains(said),
            "{name}: {told}"
        );
        assert_eq!(ran.terminal(), "completed", "{name}");
        if let Some(mark) = mark {
            assert_eq!(processes_with(&mark), [] as [u32; 0]);
        }
        world.assert_never_rejected();
    }
}

/// Started and failed is not the same as never started, and the message says which it was.
#[test]
fn a_hook_that_ran_is_not_reported_as_one_that_did_not() {
    for (line, said, never) in [
        ("exit 1", "it failed: exit code 1", "could not start"),
        ("/no/such/guard", "it could not start: exit code 127", "it failed"),
        ("echo '{'", "it gave an unclear answer", "it failed"),
    ] {
        let world = World::new(write_call("made"));
        settings(&world, &json!({ "hooks": hook("PreToolUse", "Write", command(line)) }));
        world.go();
        let told = last_result(&world);
        assert!(told.contains(said) && !told.contains(never), "{line}: {told}");
        assert!(!told.contains("did not run"), "{told}");
    }
}

#[test]
fn a_failing_hook_refuses_the_prompt() {
    let world = World::new(Script::new());
    settings(&world, &json!({ "hooks": hook("UserPromptSubmit", "", command("exit 1")) }));
    let ran = world.go();
    assert_eq!((ran.terminal().as_str(), world.server.requests().len()), ("hook_stopped", 0));
    let said = ran.result()["result"].as_str().unwrap().to_owned();
    assert!(said.contains("it failed: exit code 1"), "{}", ran.stdout);
}

/// The model continues once, which is also what it takes to notice a mistake; after that the turn ends with a warning.
#[test]
fn a_crashed_stop_hook_costs_one_request() {
    let world = World::new((0..9).fold(Script::new(), |script, _| script.answer(text("done"))));
    settings(&world, &json!({ "hooks": hook("Stop", "", command("kill -9 $$")) }));
    let ran = world.go();
    assert_eq!(ran.terminal(), "completed", "{}", ran.stdout);
    assert_eq!(world.server.requests().len(), 2);
    let said = format!("{}{}", ran.stdout, ran.stderr);
    assert!(said.contains("on Stop (") && said.contains("failed: signal KILL"), "{said}");
}

/// A hook whose program is missing does not keep people from working, but they are told which one and where it is
/// configured.
#[test]
fn a_hook_that_cannot_start_on_a_prompt_or_stop_warns_and_names_the_file() {
    for event in ["UserPromptSubmit", "Stop"] {
        let world = World::new(Script::new().answer(text("done")));
        let script = program(&world, "no-interpreter", "#!/no/such/interpreter\n", 0o755);
        let script = script.to_str().unwrap();
        settings(&world, &json!({ "hooks": hook(event, "", command(script)) }));
        let ran = world.go();
        assert_eq!((ran.code, world.server.requests().len()), (Some(0), 1), "{}", ran.stdout);
        let said = format!("{}{}", ran.stdout, ran.stderr);
        assert!(said.contains(&format!("{script} on {event} (")), "{said}");
        assert!(said.contains("settings.json") && said.contains("could not start"), "{said}");
    }
}

/// An interpreter that finds no script ends with exit code 2, too, which is no refusal of the hook's.
#[test]
fn a_missing_script_is_a_hook_that_cannot_start() {
    let line = "sh \"$CLAUDE_PROJECT_DIR\"/.claude/hooks/gone.sh";
    for event in ["UserPromptSubmit", "Stop"] {
        let world = World::new(Script::new().answer(text("done")));
        settings(&world, &json!({ "hooks": hook(event, "", command(line)) }));
        let ran = world.go();
        assert_eq!((ran.code, world.server.requests().len()), (Some(0), 1), "{}", ran.stdout);
        let said = format!("{}{}", ran.stdout, ran.stderr);
        assert!(said.contains("could not start") && said.contains("hooks/gone.sh"), "{said}");
    }
    let world = World::new(write_call("made"));
    settings(&world, &json!({ "hooks": hook("PreToolUse", "Write", command(line)) }));
    world.go();
    assert!(!world.project().join("made").exists());
    let told = last_result(&world);
    assert!(told.contains("could not start") && told.contains("gone.sh"), "{told}");
}

#[test]
fn where_nothing_can_be_stopped_it_is_a_notice() {
    for event in ["SessionStart", "PostToolUse", "SessionEnd"] {
        let world = World::new(write_call("made"));
        settings(&world, &json!({ "hooks": hook(event, "", command("exit 7")) }));
        let ran = world.go();
        assert_eq!(
            (ran.code, world.read("made").as_str()),
            (Some(0), "x"),
            "{event}: {}",
            ran.stderr
        );
        let said = format!("{}{}", ran.stdout, ran.stderr);
        assert!(
            said.contains(&format!("the hook exit 7 on {event} ("))
                && said.contains(") failed: exit code 7"),
            "{said}"
        );
    }
}

/// What runs in the background and hooks that are switched off decide nothing.
#[test]
fn what_cannot_decide_does_not() {
    let world = World::new(write_call("made"));
    let background =
        json!({"type": "command", "sandbox": false, "command": "exit 2", "async": true});
    settings(&world, &json!({ "hooks": hook("PreToolUse", "", background) }));
    assert_eq!((world.go().code, world.read("made").as_str()), (Some(0), "x"));

    let world = World::new(write_call("made"));
    settings(
        &world,
        &json!({ "disableAllHooks": true, "hooks": hook("PreToolUse", "", command("exit 2")) }),
    );
    let ran = world.go();
    assert_eq!((ran.code, world.read("made").as_str()), (Some(0), "x"));
    assert!(ran.stderr.contains("1 hook switched off by disableAllHooks"), "{}", ran.stderr);
}

/// Two of the same run once; one with `once` is heard once; all of an event run at the same time.
#[test]
fn twins_once_and_together() {
    let world = World::new(write_call("made"));
    let count = command("echo x >> ../count");
    let once =
        json!({"type": "command", "sandbox": false, "command": "echo x >> ../once", "once": true});
    // Each waits for the other: one after the other they would never end.
    let meet = |mine: &str, other: &str| {
        json!({"type": "command", "sandbox": false, "timeout": 20,
               "command": format!("mkfifo ../{mine} 2>/dev/null; mkfifo ../{other} 2>/dev/null; echo x > ../{mine} & read < ../{other}; wait")})
    };
    settings(
        &world,
        &json!({"hooks": {
            "PreToolUse": [{"hooks": [count, count, once, meet("a", "b"), meet("b", "a")]}, {"matcher": "Write", "hooks": [count]}],
            "PostToolUse": [{"hooks": [once]}],
        }}),
    );
    let ran = world.go();
    assert_eq!(world.read("made"), "x", "{}", ran.stdout);
    assert_eq!(world.read("../count"), "x\n");
    // Two events, two hooks.
    assert_eq!(world.read("../once"), "x\nx\n");
}
