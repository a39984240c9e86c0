//! Background jobs in the line session, and from another terminal.

use super::{ASKS, bash, quit, start, told};
use crate::support::{World, answers, until};
use ostler_model_server::{Script, calls, text};
use serde_json::{Value, json};

const BYPASS: [&str; 2] = ["--permission-mode", "bypassPermissions"];
const WAITS: &str = "touch begun; while [ ! -e go ]; do sleep 0.01; done";

#[test]
fn a_job_that_a_person_stops_from_another_terminal_starts_no_turn() {
    for terminal in [true, false] {
        let job = json!({ "command": WAITS, "run_in_background": true });
        let script = Script::new()
            .answer(calls([("Bash", job)]))
            .answer(text("Started."))
            .answer(text("Noted."));
        let world = World::new(script);
        let mut talk = start(&world, terminal, &BYPASS);
        talk.expect("> ");
        talk.send_line("go");
        talk.expect("Started.");
        talk.expect("> ");
        talk.send_line("/jobs");
        talk.expect("running");
        talk.expect("> ");
        let listed = world.run(&["jobs", "list", "--json"]);
        let job: Value = serde_json::from_str(listed.stdout.trim()).unwrap();
        assert!(job["end"].is_null() && job["label"] == WAITS, "{job}");
        let id = job["id"].as_str().unwrap();
        let stopped = world.run(&["jobs", "stop", id]);
        assert_eq!((stopped.code, stopped.stdout), (Some(0), format!("stopped {id}\n")));
        assert_eq!(world.server.requests().len(), 2, "its end starts no turn");
        talk.send_line("and now?");
        talk.expect("Noted.");
        let left = quit(&mut talk);
        assert!(!left.said.contains("starting a turn"), "{}", left.said);
        assert_eq!(world.server.requests().len(), 3);
        let messages = told(&world);
        assert!(messages.contains("was stopped with `ostler jobs stop`"), "{messages}");
        assert!(messages.contains("and now?"), "{messages}");
        let again = world.run(&["jobs", "stop", id]);
        assert_eq!(again.stdout, format!("{id} had ended\n"));
        let shown = world.run(&["jobs", "show", id]);
        assert!(shown.stdout.contains("stopped"), "{}", shown.stdout);
        assert_eq!(world.run(&["jobs", "show", "nonsense"]).code, Some(1));
        world.assert_never_rejected();
    }
}

#[test]
fn a_job_that_a_person_stops_in_the_session_starts_no_turn() {
    for terminal in [true, false] {
        let job = json!({ "command": WAITS, "run_in_background": true });
        let script = Script::new()
            .answer(calls([("Bash", job)]))
            .answer(text("Started."))
            .answer(text("Noted."));
        let world = World::new(script);
        let mut talk = start(&world, terminal, &BYPASS);
        talk.expect("> ");
        talk.send_line("go");
        talk.expect("Started.");
        talk.expect("> ");
        let listed = world.run(&["jobs", "list", "--json"]);
        let job: Value = serde_json::from_str(listed.stdout.trim()).unwrap();
        talk.send_line(&format!("/jobs show {}", job["id"].as_str().unwrap()));
        talk.expect("running");
        talk.expect("output: /");
        talk.expect("> ");
        talk.send_line("/jobs show nonsense");
        talk.expect("there is no job \"nonsense\"");
        talk.expect("> ");
        talk.send_line(&format!("/jobs stop {}", job["id"].as_str().unwrap()));
        talk.expect("stopping ");
        until("it ends", || world.run(&["jobs", "list", "--running"]).stdout.starts_with("No "));
        talk.expect("> ");
        assert_eq!(world.server.requests().len(), 2, "its end starts no turn");
        talk.send_line("and now?");
        talk.expect("Noted.");
        quit(&mut talk);
        assert!(told(&world).contains("<status>stopped</status>"), "{}", told(&world));
    }
}

/// Nobody asked for the turn: it says why it starts, there and in the list of turns.
#[test]
fn a_turn_that_starts_by_itself_says_why() {
    for terminal in [true, false] {
        let call = json!({ "command": WAITS, "description": "Wait", "run_in_background": true });
        let script = Script::new()
            .answer(calls([("Bash", call)]))
            .answer(text("Started."))
            .answer(text("Noted."));
        let world = World::new(script);
        let mut talk = start(&world, terminal, &BYPASS);
        talk.expect("> ");
        talk.send_line("go");
        talk.expect("Started.");
        talk.expect("> ");
        std::fs::write(world.project().join("go"), "").unwrap();
        talk.expect("Background command \"Wait\" completed (exit code 0): starting a turn");
        talk.expect("Noted.");
        quit(&mut talk);
        let turns = world.run(&["rewind"]).stdout;
        let row = "(Background command \"Wait\" completed (exit code 0))";
        assert!(turns.lines().last().unwrap().ends_with(row), "{turns}");
    }
}

#[test]
fn a_line_moves_the_running_command_to_the_background() {
    let script = Script::new().answer(bash(WAITS)).answer(text("Gone on.")).answer(text("Noted."));
    let world = World::new(script);
    let mut talk = start(&world, true, &BYPASS);
    talk.expect("> ");
    talk.send_line("/background");
    talk.expect("No command or agent is running.");
    talk.expect("> ");
    talk.send_line("go");
    until("it runs", || world.project().join("begun").exists());
    talk.send_line("/background");
    talk.expect("Gone on.");
    assert!(told(&world).contains("The user moved this command to the background"));
    std::fs::write(world.project().join("go"), "").unwrap();
    talk.expect("Noted.");
    quit(&mut talk);
    world.assert_never_rejected();
}

/// What is known of a job is shown, and stays the same once it has ended.
#[test]
fn a_job_that_has_ended_is_shown_with_everything_that_is_known_of_it() {
    let command = "echo one; touch begun; while [ ! -e go ]; do sleep 0.01; done; echo two; exit 3";
    let job = json!({ "command": command, "run_in_background": true, "description": "Try it" });
    let script = Script::new()
        .answer(calls([("Bash", job)]))
        .answer(text("Started."))
        .answer(text("Noted."));
    let world = World::new(script);
    let mut talk = start(&world, true, &BYPASS);
    talk.expect("> ");
    talk.send_line("go");
    talk.expect("Started.");
    talk.expect("> ");
    let listed = || world.run(&["jobs", "list", "--json"]).stdout;
    let job = || -> Value { serde_json::from_str(listed().trim()).unwrap() };
    let id = job()["id"].as_str().unwrap().to_owned();
    assert_eq!(job()["state"], "running");
    let followed = std::thread::scope(|scope| {
        let follower = scope.spawn(|| world.run(&["jobs", "show", "-f", &id]));
        std::fs::write(world.project().join("go"), "").unwrap();
        follower.join().unwrap()
    });
    assert_eq!(followed.code, Some(0));
    assert!(followed.stdout.ends_with("\none\ntwo\n"), "{}", followed.stdout);
    assert!(followed.stderr.contains("failed with exit code 3"), "{}", followed.stderr);
    talk.expect("Noted.");
    quit(&mut talk);
    let list = world.run(&["jobs", "list"]).stdout;
    let lines: Vec<&str> = list.lines().collect();
    assert!(lines[0].starts_with("ID ") && lines[0].contains("EXIT"), "{list}");
    assert!(lines[1].starts_with(&id) && lines[1].contains("failed        3 "), "{list}");
    let shown = world.run(&["jobs", "show", &id]).stdout;
    for part in [
        "label:     Try it\n",
        "command:   echo one; touch begun; ",
        "state:     failed\n",
        "exit code: 3\n",
        "ended:     failed with exit code 3\n",
        "started:   2",
        "duration:  ",
        "limit:     300 s\n",
        "\n\none\ntwo\n",
    ] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    let json: Value =
        serde_json::from_str(&world.run(&["jobs", "show", &id, "--json"]).stdout).unwrap();
    assert_eq!((&json["command"], &json["newest_output"]), (&json!(command), &json!("one\ntwo\n")));
    assert_eq!(json["end"]["exit_code"], 3);
    assert_eq!(json["duration_ms"], job()["duration_ms"], "it does not grow any more");
    let of_none = world.run(&["jobs", "list", "--session", "nope"]).stdout;
    assert_eq!(of_none, "No background jobs of session \"nope\" were found.\n");
    // What is not a regular file is not opened.
    let output = std::path::PathBuf::from(json["output"].as_str().unwrap());
    std::fs::remove_file(&output).unwrap();
    std::os::unix::fs::symlink("/etc/passwd", &output).unwrap();
    let shown = world.run(&["jobs", "show", &id]).stdout;
    assert!(shown.contains("it is a symbolic link") && !shown.contains("root:"), "{shown}");
    std::fs::remove_file(&output).unwrap();
    let made = std::process::Command::new("mkfifo").arg(&output).status().unwrap();
    assert!(made.success());
    let shown = world.run(&["jobs", "show", &id]).stdout;
    assert!(shown.contains("it is not a regular file"), "{shown}");
    world.assert_never_rejected();
}

/// The job would outlive the grace that it gets, however long that takes on a slow machine.
#[test]
fn a_job_that_ends_with_the_program_is_told() {
    let job = json!({ "command": WAITS, "run_in_background": true });
    let script = Script::new().answer(calls([("Bash", job)])).answer(text("Started."));
    let world = World::new(script);
    let ran = world.run(&[&["-p", "go"], &BYPASS[..]].concat());
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "Started.\n"), "{}", ran.stderr);
    let listed = world.run(&["jobs", "list", "--json"]).stdout;
    let id = serde_json::from_str::<Value>(listed.trim()).unwrap()["id"].clone();
    let told =
        format!("stopped background job {}; use --keep-jobs to keep it", id.as_str().unwrap());
    assert!(ran.stderr.contains(&told), "{}", ran.stderr);
}

/// The turn that started the agent is over, nobody has typed anything, and the agent asks.
#[test]
fn an_agent_in_the_background_asks_at_the_prompt() {
    for terminal in [true, false] {
        let agent = json!({ "description": "look", "prompt": "task-a", "run_in_background": true });
        let script = Script::new().by(move |request| {
            let is_agent = request.messages()[0].to_string().contains("task-a");
            match (is_agent, answers(request)) {
                (true, 0) => bash("touch made").due_at("the turn is over"),
                (true, _) => text("It is made."),
                (false, 0) => calls([("Agent", agent.clone())]),
                (false, 1) => text("Started."),
                (false, _) => text("Noted."),
            }
        });
        let world = World::new(script.forever());
        let mut talk = start(&world, terminal, &[]);
        talk.expect("> ");
        talk.send_line("go");
        talk.expect("Started.");
        talk.expect("> ");
        world.server.gate("the turn is over").open();
        let question = talk.expect(ASKS);
        assert!(question.contains("command: touch made"), "{question}");
        talk.send_line("y");
        talk.expect("Noted.");
        quit(&mut talk);
        assert!(world.project().join("made").exists() && told(&world).contains("It is made."));
        world.assert_never_rejected();
    }
}
