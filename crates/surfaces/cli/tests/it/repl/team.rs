//! `/team`, `/tasks` and `/mail`, and what another terminal sees of the team and of workers.

use super::{quit, start};
use crate::support::{World, answers, until, wait};
use ostler_model_server::{Recorded, Reply, Script, text};
use serde_json::{Value, json};

fn script() -> Script {
    let task = json!({ "to": "writer", "task": "alpha: write" });
    let reply = move |request: &Recorded| -> Reply {
        let is_writer = request.messages()[0].to_string().contains("alpha");
        match (is_writer, answers(request)) {
            (false, 0) => text("I delegate.").call("Delegate", task.clone()),
            (false, 1) => text("Delegated."),
            (false, _) => text("All done."),
            (true, 0) => text("I look.").gate("writing").call("Glob", json!({ "pattern": "*" })),
            (true, _) => text("Written."),
        }
    };
    Script::new().by(reply).forever()
}

#[test]
fn a_team_is_seen_and_ended_from_a_session_and_seen_from_elsewhere() {
    let world = World::new(script());
    std::fs::create_dir_all(world.home()).unwrap();
    std::fs::write(world.home().join("team.yaml"), "teammates:\n  - name: writer\n").unwrap();
    let mut talk = start(&world, true, &[]);
    talk.expect("> ");
    talk.send_line("/team");
    talk.expect("writer  idle");
    talk.send_line("/tasks");
    talk.expect("No tasks.");
    let added = world.run(&["tasks", "add", "Port the parser", "--json"]).result();
    let id = added["id"].as_str().unwrap();
    world.run(&["tasks", "claim", id, "--worker", "laptop-1"]);
    talk.send_line("/tasks");
    talk.expect("in_progress  medium  Port the parser  (by laptop-1)");
    talk.send_line("/tasks never");
    talk.expect("unknown status \"never\" (one of pending, in_progress");
    talk.send_line("go");
    wait(world.server.gate("writing").reached()).unwrap();
    talk.send_line("/team");
    talk.expect("writer  working on \"alpha: write\"");
    for line in ["/mail", "/mail writer"] {
        talk.send_line(line);
        talk.expect("alpha: write");
    }
    talk.send_line("/mail lead");
    talk.expect("No mail.");

    let seen = world.run(&["agents", "--json"]).result();
    let writer = seen["sessions"][0]["agents"][0].clone();
    let doing = |field: &str| writer["team"][field].clone();
    assert_eq!((doing("phase"), doing("task")), ("responding".into(), "alpha: write".into()));
    assert_eq!(writer["path"], "/writer", "{seen}");
    assert_eq!(seen["workers"][0]["name"], "laptop-1", "{seen}");
    assert_eq!(seen["workers"][0]["title"], "Port the parser", "{seen}");
    let tree = world.run(&["agents"]).stdout;
    assert!(tree.contains("  writer  responding"), "{tree}");
    assert!(tree.contains(&format!("worker laptop-1  task {id}: Port the parser")), "{tree}");
    let sent = world.run(&["mail", "send", "--to", "writer", "use the new names", "--json"]);
    let sent: Value = sent.result();
    assert!(sent["to"].as_str().unwrap().starts_with("writer@"), "{sent}");

    talk.send_line("/team stop painter");
    talk.expect("there is no teammate \"painter\" (there are writer)");
    talk.send_line("/team halt");
    talk.expect("use /team, /team stop NAME, /team plan NAME");
    talk.send_line("/team stop writer");
    talk.expect("writer may finish its turn within 60 s, and then ends");
    world.server.gate("writing").open();
    talk.expect("All done.");
    until("the writer has ended", || {
        let seen = world.run(&["agents", "--json"]).result();
        seen["sessions"][0]["agents"][0]["team"]["phase"] == "stopped"
    });
    talk.send_line("/team");
    talk.expect("writer  stopped: the lead or the user ended it");
    quit(&mut talk);
    let of_writer = world.server.requests();
    let of_writer =
        of_writer.iter().rev().find(|it| it.messages()[0].to_string().contains("alpha")).unwrap();
    let told = of_writer.json()["messages"].to_string();
    assert_eq!(told.matches("use the new names").count(), 1, "{told}");
    world.assert_never_rejected();
}

/// Two sessions of one project have a teammate of the same name.
#[test]
fn a_name_that_two_teams_use_has_to_be_said_in_full() {
    let world = World::new(script());
    std::fs::create_dir_all(world.home()).unwrap();
    std::fs::write(world.home().join("team.yaml"), "teammates:\n  - name: writer\n").unwrap();
    let mut talks = [start(&world, true, &[]), start(&world, true, &[])];
    for talk in &mut talks {
        talk.expect("> ");
        talk.send_line("go");
        talk.expect("Delegated.");
    }
    let ran = world.run(&["mail", "send", "--to", "writer", "hello"]);
    assert_eq!(ran.code, Some(1), "{}", ran.stdout);
    assert!(
        ran.stderr.contains("several teammates are called \"writer\": writer@"),
        "{}",
        ran.stderr
    );
    assert_eq!(ran.stderr.matches("writer@").count(), 2, "{}", ran.stderr);
    world.server.gate("writing").open();
    for talk in &mut talks {
        talk.expect("All done.");
        talk.expect("tokens:");
        quit(talk);
    }
}

/// Between two turns, without a key.
#[test]
fn what_happens_to_a_teammate_is_shown_while_no_turn_runs() {
    let world = World::new(script());
    std::fs::create_dir_all(world.home()).unwrap();
    std::fs::write(world.home().join("team.yaml"), "teammates:\n  - name: writer\n").unwrap();
    let mut talk = start(&world, true, &[]);
    talk.expect("> ");
    talk.send_line("go");
    talk.expect("Delegated.");
    wait(world.server.gate("writing").reached()).unwrap();
    talk.send_line("/team stop writer");
    talk.expect("writer may finish its turn within 60 s, and then ends");
    world.server.gate("writing").open();
    // Its report starts a turn, and `/quit` would wait for that.
    talk.expect_all(&["writer: stopped", "All done."]);
    quit(&mut talk);
}

/// A killed session is resumed: its teammates go on at once, and what they report starts a turn, all without a prompt.
#[test]
fn teammates_of_a_resumed_session_go_on_without_a_prompt() {
    let world = World::new(script());
    std::fs::create_dir_all(world.home()).unwrap();
    std::fs::write(world.home().join("team.yaml"), "teammates:\n  - name: writer\n").unwrap();
    let mut talk = start(&world, true, &[]);
    talk.expect("> ");
    talk.send_line("go");
    talk.expect("Delegated.");
    talk.expect("tokens:");
    wait(world.server.gate("writing").reached()).unwrap();
    talk.kill();
    drop(talk);
    world.server.gate("writing").open();
    let mut talk = start(&world, true, &["--continue"]);
    talk.expect("All done.");
    quit(&mut talk);
    let reported = world.server.requests().last().unwrap().json()["messages"].to_string();
    assert_eq!(reported.matches("Written.").count(), 1, "reported once: {reported}");
    world.assert_never_rejected();
}
