//! Those who watch: they tell of slow calls, follow what happens, and count at the end.

use crate::hooks::{command, hook, settings, write_call};
use crate::repl::start;
use crate::support::{World, finish, read_until};
use ostler_model_server::{Script, calls, text};
use serde_json::json;

/// The call ends only after the notice was read.
#[test]
fn a_slow_call_is_told_of_while_it_runs() {
    let wait = json!({"command": "read line < pipe; echo \"$line\""});
    let world = World::new(Script::new().answer(calls([("Bash", wait)])).answer(text("done")));
    let pipe = world.project().join("pipe");
    rustix::fs::mknodat(
        rustix::fs::CWD,
        &pipe,
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::from_raw_mode(0o600),
        0,
    )
    .unwrap();
    let args =
        ["-p", "go", "--output-format", "stream-json", "--permission-mode", "bypassPermissions"];
    let mut child = world.command(&args).env("OSTLER_SLOW_CALL_MS", "20").spawn().unwrap();
    let said = read_until(&mut child, "has been running for");
    assert!(said.contains("Bash has been running for"), "{said}");
    std::fs::write(&pipe, "go on\n").unwrap();
    assert_eq!(finish(child).code, Some(0));
    let results = world.server.requests()[1].tool_results()[0].to_string();
    assert!(results.contains("go on"), "{results}");
}

#[test]
fn events_can_be_followed() {
    let world = World::new(write_call("made").answer(text("again")));
    world.go();
    let go = ["-p", "go", "--continue", "--permission-mode", "bypassPermissions"];
    let mut follower = world.command(&["events", "tail", "-f", "-n", "1"]).spawn().unwrap();
    read_until(&mut follower, "statistics");
    world.run(&go);
    let said = read_until(&mut follower, "turn_finished");
    assert!(said.contains("turn_started  turn=2"), "{said}");
    follower.kill().unwrap();
    follower.wait().unwrap();
}

/// A session in which nothing was said has not begun; one that has is told about its end.
#[test]
fn an_interactive_session_tells_its_end_and_what_its_tools_did() {
    for (speaks, told) in [(false, ""), (true, "SessionEnd prompt_input_exit\n")] {
        let world = World::new(write_call("made"));
        let tell = "grep -o '\"reason\":\"[a-z_]*' | sed 's/.*\"/SessionEnd /' >> ../told";
        settings(&world, &json!({ "hooks": hook("SessionEnd", "", command(tell)) }));
        let mut talk = start(&world, false, &["--permission-mode", "bypassPermissions"]);
        talk.expect("> ");
        if speaks {
            talk.send_line("go");
            talk.expect("done");
            talk.expect("> ");
        }
        talk.send_line("/quit");
        let left = talk.finish();
        assert_eq!(left.code, Some(0), "{}", left.said);
        assert_eq!(left.said.contains("Write: 1 call, "), speaks, "{}", left.said);
        assert_eq!(world.read("../told"), told);
    }
}
