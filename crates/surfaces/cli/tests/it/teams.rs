//! A team from `team.yaml`, as `ostler -p` runs it.

use crate::support::{World, answers};
use ostler_model_server::{Recorded, Reply, Script, text};
use serde_json::json;

const TEAM: &str = "teammates:\n  - name: writer\n  - name: tester\n    role: Test it.\n";

fn script() -> Script {
    let reply = |request: &Recorded| -> Reply {
        let is_writer = request.messages()[0].to_string().contains("alpha");
        let task = json!({ "to": "writer", "task": "alpha: write" });
        let has_team = request.json()["tools"].to_string().contains("\"Delegate\"");
        match (is_writer, answers(request)) {
            (true, _) => text("Written."),
            (false, 0) if has_team => text("I delegate.").call("Delegate", task),
            (false, 0) => text("I am alone."),
            (false, 1) => text("Delegated."),
            (false, _) => text("All done."),
        }
    };
    Script::new().by(reply).forever()
}

#[test]
fn a_script_waits_for_the_reports_of_the_team() {
    let world = World::new(script());
    std::fs::create_dir_all(world.home()).unwrap();
    std::fs::write(world.home().join("team.yaml"), TEAM).unwrap();
    let ran = world.run(&["-p", "go"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(ran.stdout.ends_with("All done.\n"), "{}", ran.stdout);
    let requests = world.server.requests();
    let lead = requests.last().unwrap().json()["messages"].to_string();
    assert!(lead.contains("Written.") && lead.contains(r#"from=\"writer\""#), "{lead}");
    let of_writer = requests.iter().find(|it| it.messages()[0].to_string().contains("alpha"));
    assert!(of_writer.unwrap().json()["system"].to_string().contains("You write and change code"));
    let mail = world.run(&["mail", "list", "--all"]);
    assert!(mail.stdout.contains("writer@") && mail.stdout.contains("lead@"), "{}", mail.stdout);
    world.assert_never_rejected();
}

#[test]
fn a_project_has_no_team_before_it_is_trusted() {
    let world = World::new(script());
    world.file(".ostler/team.yaml", TEAM);
    let ran = world.run(&["-p", "go"]);
    assert_eq!(ran.stdout, "I am alone.\n", "{}", ran.stderr);
    assert!(ran.stderr.contains("defines the teammate writer"), "{}", ran.stderr);
}

#[test]
fn a_mistake_in_the_file_is_named_with_its_line() {
    let world = World::new(script());
    std::fs::create_dir_all(world.home()).unwrap();
    std::fs::write(world.home().join("team.yaml"), "teammates:\n  - name: writer\n    rolle: x\n")
        .unwrap();
    let ran = world.run(&["-p", "go"]);
    assert_ne!(ran.code, Some(0));
    assert!(ran.stderr.contains("team.yaml:3") && ran.stderr.contains("rolle"), "{}", ran.stderr);
}
