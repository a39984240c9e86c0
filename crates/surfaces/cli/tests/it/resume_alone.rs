//! `-p --resume ID` and `-p --continue` without a prompt: the rest of a turn that was left open.

use crate::support::World;
use ostler_model_server::{Script, calls, text};
use serde_json::json;

fn script() -> Script {
    let make = ("Bash", json!({ "command": "touch made" }));
    Script::new().answer(calls([make])).answer(text("all done")).forever()
}

const RUN: [&str; 4] = ["-p", "go", "--allowedTools", "Bash(touch:*)"];

/// Killed after every write: what was begun is finished, once, and the conversation has no second prompt.
#[test]
fn a_turn_that_was_left_open_goes_on() {
    let whole = World::new(script());
    assert_eq!(whole.run(&RUN).code, Some(0));
    let writes = std::fs::read_to_string(whole.logs().pop().unwrap()).unwrap().lines().count();
    let mut resumed = 0;
    for write in 1..=writes {
        let world = World::new(script());
        let mut run = world.command(&RUN);
        let killed = run.env("OSTLER_CRASH_AT_WRITE", write.to_string()).output().unwrap();
        assert!(!killed.status.success(), "write {write}");
        let before = std::fs::read_to_string(world.logs().pop().unwrap()).unwrap();
        let is_open = before.contains("\"fact\":\"prompt\"") && !before.contains("all done");
        let again = world.run(&["-p", "--continue", "--allowedTools", "Bash(touch:*)"]);
        if is_open {
            assert_eq!(again.code, Some(0), "write {write}: {}", again.stderr);
            assert!(again.stdout.contains("all done"), "write {write}: {}", again.stdout);
            resumed += 1;
        }
        let after = std::fs::read_to_string(world.logs().pop().unwrap()).unwrap();
        assert!(after.matches("\"fact\":\"prompt\"").count() <= 1, "write {write}: {after}");
        world.assert_never_rejected();
    }
    assert!(resumed > 3, "{resumed}");
}

#[test]
fn a_turn_that_is_over_is_not_begun_again() {
    let world = World::new(script());
    assert_eq!(world.run(&RUN).code, Some(0));
    let id = world.logs().pop().unwrap().file_stem().unwrap().to_str().unwrap().to_owned();
    let requests = world.server.requests().len();
    for args in [vec!["-p", "--continue"], vec!["-p", "--resume", &id]] {
        let again = world.run(&args);
        assert_eq!(again.code, Some(2), "{}", again.stderr);
        assert!(again.stderr.contains("there is nothing to continue"), "{}", again.stderr);
        assert_eq!(again.stderr.lines().count(), 1, "{}", again.stderr);
    }
    assert_eq!(world.server.requests().len(), requests);
    // Without a session to go on with a prompt is needed, as ever.
    let bare = world.run(&["-p"]);
    assert_eq!(bare.code, Some(2));
    assert!(bare.stderr.contains("there is no prompt"), "{}", bare.stderr);
}
