//! Deny rules on files from end to end: the built program, a real command, and what the model reads of it.

use crate::support::World;
use ostler_model_server::{Script, calls, text};
use serde_json::{Value, json};

const SECRET: &str = "the-secret";

/// A project with a secret, and a model that runs one command.
fn world(command: &str) -> World {
    let call = calls([("Bash", json!({ "command": command }))]);
    let world = World::new(Script::new().answer(call).answer(text("Done.")));
    world.has_chosen();
    world.file(".env", SECRET);
    world.file("a.txt", "plain\n");
    world
}

fn told(world: &World) -> String {
    let result = world.server.requests()[1].tool_results()[0]["content"].clone();
    result.as_str().map_or_else(|| result.to_string(), str::to_owned)
}

fn run(world: &World, mode: &str, deny: Option<&str>) -> Option<i32> {
    let mut args = vec!["-p", "go", "--permission-mode", mode];
    args.extend(deny.iter().flat_map(|rule| ["--disallowedTools", rule]));
    world.run(&args).code
}

#[test]
fn a_bypass_does_not_show_a_denied_file() {
    let commands = [
        "python3 -c \"print(open('.e'+'nv').read())\"",
        "cat $(echo .env)",
        "f=.env; cp $f copy; cat copy",
        "tar cf - .",
        "ln .e* y; cat y",
    ];
    for command in commands {
        let free = world(command);
        run(&free, "bypassPermissions", None);
        assert!(told(&free).contains(SECRET), "{command}: {}", told(&free));
        for rule in ["Read(./.env)", "Read(.env)", "Read(**/.e*)"] {
            let world = world(command);
            run(&world, "bypassPermissions", Some(rule));
            assert!(!told(&world).contains(SECRET), "{command} with {rule}: {}", told(&world));
            assert_eq!(world.read(".env"), SECRET, "{command} with {rule}");
        }
    }
}

#[test]
fn what_walks_past_a_denied_file_runs_unasked() {
    for command in ["grep -r plain .", "cat *", "ls -a"] {
        let world = world(command);
        assert_eq!(run(&world, "default", Some("Read(.env)")), Some(0), "{command}");
        let told = told(&world);
        assert!(!told.contains(SECRET), "{command}: {told}");
        assert!(told.contains("plain") || told.contains("a.txt"), "{command}: {told}");
    }
    let world = world("cat .env");
    assert_eq!(run(&world, "bypassPermissions", Some("Read(.env)")), Some(4), "{}", told(&world));
}

#[test]
fn a_project_hides_its_files_from_a_persons_own_command_in_the_sandbox() {
    let world = world("true");
    let settings = json!({"permissions": {"deny": ["Read(./.env)"]}});
    world.file(".ostler/settings.json", &Value::to_string(&settings));
    let ran = world.run(&["sandbox", "run", "--", "cat .env a.txt"]);
    assert!(ran.stdout.contains("plain") && !ran.stdout.contains(SECRET), "{}", ran.stdout);
}
