//! What there is to go back to: the turns of a session, and snapshots with the commands behind them.

use super::{running, sh};
use crate::support::World;
use ostler_model_server::{Recorded, Reply, Script, calls, text};
use serde_json::{Value, json};

/// `N files` makes so many by a command, `write` one by a file tool, anything else none.
fn obedient() -> World {
    let obey = |request: &Recorded| -> Reply {
        let messages = request.messages();
        let last = messages.last().unwrap()["content"].clone();
        if last.to_string().contains("tool_result") {
            return text("ok");
        }
        let words = last.as_array().unwrap().last().unwrap()["text"].as_str().unwrap().to_owned();
        match words.split_whitespace().next() {
            Some("write") => calls([("Write", json!({"file_path": "w", "content": words}))]),
            Some(count) if count.parse::<u32>().is_ok() => {
                let command =
                    format!("mkdir -p d; for i in $(seq {count}); do echo $i > d/$i; done");
                calls([("Bash", json!({ "command": command }))])
            }
            _ => text("hello"),
        }
    };
    World::new(Script::new().by(obey).forever())
}

fn turns(world: &World) -> Vec<Value> {
    let ran = world.run(&["rewind", "--json"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    ran.frames()
}

#[test]
fn rewind_lists_the_turns() {
    let world = obedient();
    let prompts = ["hi there\nsecond line", "3 files", "write \u{1b}[31mred"];
    for (n, prompt) in prompts.into_iter().enumerate() {
        let mut args = vec!["-p", prompt, "--permission-mode", "bypassPermissions"];
        if n > 0 {
            args.push("--continue");
        }
        assert_eq!(world.run(&args).code, Some(0));
    }
    let all = turns(&world);
    let shown = |line: &Value| {
        let number = |key: &str| line[key].as_u64();
        (number("turn"), line["prompt"].clone(), number("calls"), number("files"))
    };
    let shown: Vec<_> = all.iter().map(shown).collect();
    assert_eq!(
        shown,
        [
            (Some(1), json!("hi there"), Some(0), Some(0)),
            (Some(2), json!("3 files"), Some(1), Some(3)),
            (Some(3), json!("write \u{1b}[31mred"), Some(1), Some(1)),
        ]
    );
    let times: Vec<u64> = all.iter().map(|line| line["at_ms"].as_u64().unwrap()).collect();
    assert!(times.is_sorted() && times[0] > 1_600_000_000_000, "{times:?}");
    let human = world.run(&["rewind"]);
    assert!(
        human.stdout.contains("   2  ") && human.stdout.contains("3 files"),
        "{}",
        human.stdout
    );
    assert!(human.stdout.contains(r"write \u{1b}[31mred"), "{}", human.stdout);
    assert!(!human.stdout.contains('\u{1b}') && !human.stdout.contains("second line"));

    // Undone calls do not count; turns that were taken back are not there, until they are again.
    assert_eq!(world.run(&["undo"]).code, Some(0));
    assert_eq!(turns(&world)[2]["calls"], 0);
    assert_eq!(world.run(&["rewind", "--to", "2"]).code, Some(0));
    assert_eq!(turns(&world).len(), 1);
    assert_eq!(world.run(&["undo", "--redo"]).code, Some(0));
    assert_eq!((turns(&world).len(), &turns(&world)[1]["files"]), (3, &json!(3)));
    assert_eq!(sh(&world, "ls d"), "1\n2\n3\n");
}

#[test]
fn snapshots_name_the_command_and_the_session() {
    let world = running(&["echo x > x", "printf '%s\\n' \"\u{1b}[31m\" \\\n  > y"]);
    world.go();
    let session = world.run(&["sessions", "--json"]).result()["id"].as_str().unwrap().to_owned();
    let lines = world.run(&["snapshots", "list", "--json"]).frames();
    let after: Vec<&Value> = lines.iter().filter(|l| l["reason"] == "after a command").collect();
    assert_eq!(after.len(), 2, "{lines:?}");
    assert_eq!(after[0]["command"], "echo x > x");
    assert_eq!(after[1]["command"], "printf '%s\\n' \"\u{1b}[31m\" \\ > y", "on one line");
    assert!(after.iter().all(|line| line["session"] == session.as_str()), "{lines:?}");
    let human = world.run(&["snapshots", "list"]).stdout;
    assert!(human.contains("after a command: echo x > x"), "{human}");
    assert!(human.contains(&session[..13]) && human.contains(r"\u{1b}[31m"), "{human}");
    assert!(!human.contains('\u{1b}'), "{human}");
    world.run(&["undo"]);
    let lines = world.run(&["snapshots", "list", "--json"]).frames();
    let undo = lines.iter().find(|line| line["reason"] == "after an undo").unwrap();
    assert_eq!(undo["session"], session.as_str());
    // A long command does not fill the screen.
    let long = format!("echo {} > long", "x".repeat(5_000));
    let world = running(&[&long]);
    world.go();
    let human = world.run(&["snapshots", "list"]).stdout;
    assert!(
        human.contains("echo xxx") && human.lines().all(|l| l.chars().count() < 160),
        "{human}"
    );
}
