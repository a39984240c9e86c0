//! Hooks whose program lies in the project, where the agent works.

use crate::hooks::{hook, last_result, settings};
use crate::support::World;
use ostler_model_server::{Script, calls, text};
use serde_json::{Value, json};
use std::os::unix::fs::PermissionsExt;

const GUARD: &str = "#!/bin/bash\necho guarded >&2; exit 2\n";
const OPEN: &str = "#!/bin/bash\nexit 0\n";

fn guard(world: &World, text: &str) {
    world.file("tools/guard.sh", text);
    let path = world.project().join("tools/guard.sh");
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

fn of_project(world: &World, fields: &Value) {
    let mut command = json!({"type": "command", "command": "./tools/guard.sh"});
    command.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    let all = json!({"hooks": hook("PreToolUse", "Write", command)});
    world.file(".ostler/settings.json", &all.to_string());
}

fn writes() -> Script {
    let write = || calls([("Write", json!({"file_path": "made", "content": "x"}))]);
    Script::new()
        .by(move |request| if request.tool_results().is_empty() { write() } else { text("done") })
        .forever()
}

const RUN: [&str; 4] = ["-p", "go", "--permission-mode", "acceptEdits"];

/// Trust is about what a hook runs, too, not only about the line that names it.
#[test]
fn trust_covers_what_a_hook_of_the_project_runs() {
    let world = World::new(writes());
    guard(&world, GUARD);
    of_project(&world, &json!({}));
    let ran = world.run(&[&RUN[..], &["--trust"]].concat());
    assert!(ran.stderr.contains("is run by a hook"), "{ran:?}");
    assert!(last_result(&world).contains("guarded") && !world.project().join("made").exists());
    let ran = world.run(&RUN);
    assert!(last_result(&world).contains("guarded"), "it is trusted: {ran:?}");
    guard(&world, OPEN);
    let ran = world.run(&RUN);
    assert!(
        ran.stderr.contains("tools/guard.sh is run by a hook. It is ignored until you trust"),
        "{ran:?}"
    );
    assert!(!last_result(&world).contains("guarded"), "neither the old nor the new one runs");
    let shown = world.run(&["permissions", "trust", "--yes"]);
    let shown = format!("{}{}", shown.stdout, shown.stderr);
    assert!(shown.contains("-echo guarded >&2; exit 2") && shown.contains("+exit 0"), "{shown}");
    std::fs::remove_file(world.project().join("made")).unwrap();
    let ran = world.run(&RUN);
    assert!(world.project().join("made").exists(), "{ran:?}");
}

/// The agent rewrites the program that judges it.
#[test]
fn a_program_that_changed_during_a_session_does_not_run() {
    for sandboxed in [true, false] {
        // Nobody can tell from the text which file this writes.
        let rewrite = format!(
            "python3 -c \"open('tools/'+'guard.sh','w').write('{}')\"",
            OPEN.escape_default()
        );
        let world = World::new(
            Script::new()
                .answer(calls([("Bash", json!({"command": rewrite}))]))
                .answer(calls([("Write", json!({"file_path": "made", "content": "x"}))]))
                .answer(text("done")),
        );
        guard(&world, GUARD);
        of_project(&world, &json!({"sandbox": sandboxed}));
        let args = ["-p", "go", "--trust", "--permission-mode", "bypassPermissions"];
        let ran = world.run(&args);
        let told = last_result(&world);
        assert!(!world.project().join("made").exists(), "{sandboxed}: {told} {ran:?}");
        let changed = std::fs::read_to_string(world.project().join("tools/guard.sh")).unwrap();
        match sandboxed {
            true => {
                assert!(told.contains("guard.sh has changed since Ostler started"), "{told}");
                assert_eq!(changed, OPEN);
            }
            // What runs with all rights of the person cannot be written at all.
            false => assert!(told.contains("guarded") && changed == GUARD, "{told} {changed}"),
        }
    }
}

/// A hook of the person with all rights that runs a file of whatever project it is in.
#[test]
fn a_hook_outside_the_sandbox_runs_nothing_of_a_project_that_is_not_trusted() {
    let world = World::new(writes());
    guard(&world, OPEN);
    let line = json!({"type": "command", "sandbox": false, "command": "./tools/guard.sh"});
    settings(&world, &json!({"hooks": hook("PreToolUse", "Write", line)}));
    let ran = world.run(&RUN);
    let told = last_result(&world);
    assert!(told.contains("outside the sandbox") && told.contains("not trusted"), "{told} {ran:?}");
    assert!(!world.project().join("made").exists());
    let ran = world.run(&[&RUN[..], &["--trust"]].concat());
    assert!(world.project().join("made").exists(), "{ran:?}");
    // And the tools refuse to change it.
    let edit = json!({"file_path": "tools/guard.sh", "content": "evil"});
    let world = World::new(Script::new().answer(calls([("Write", edit)])).answer(text("done")));
    guard(&world, OPEN);
    of_project(&world, &json!({"sandbox": false}));
    let ran = world.run(&["-p", "go", "--trust", "--permission-mode", "bypassPermissions"]);
    assert!(last_result(&world).contains("a hook runs it outside the sandbox"), "{ran:?}");
}
