//! Agents that the model starts, as `ostler -p` shows them.

use crate::support::{World, answers, finish, read_until, until, wait};
use ostler_model_server::{Recorded, Reply, Script, text};
use serde_json::{Value, json};
use std::time::Duration;

/// The session starts an explorer, which looks once and tries to write.
fn script() -> Script {
    let start =
        json!({ "description": "look around", "prompt": "task-a", "subagent_type": "Explore" });
    let reply = move |request: &Recorded| -> Reply {
        let is_agent = request.messages()[0].to_string().contains("task-a");
        match (is_agent, answers(request)) {
            (false, 0) => text("I ask.").call("Agent", start.clone()),
            (false, _) => text("All done."),
            (true, 0) => text("I look.").call("Glob", json!({ "pattern": "*" })),
            (true, _) => text("Nothing there."),
        }
    };
    Script::new().by(reply).forever()
}

#[test]
fn frames_of_an_agent_name_the_call_that_started_it() {
    let world = World::new(script());
    let ran = world.run(&["-p", "go", "--output-format", "stream-json"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let frames = ran.frames();
    let is_start = |frame: &&Value| frame["message"]["content"][0]["name"] == "Agent";
    let call = &frames.iter().find(is_start).unwrap()["message"]["content"][0]["id"];
    let below: Vec<&Value> =
        frames.iter().filter(|frame| frame["parent_tool_use_id"] == *call).collect();
    let kinds: Vec<&str> = below.iter().map(|frame| frame["type"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["user", "assistant", "user"], "its task, its call, the result: {below:#?}");
    assert_eq!(below[0]["message"]["content"][0]["text"], "task-a");
    assert_eq!(below[1]["message"]["content"][0]["name"], "Glob");
    assert!(below.iter().all(|frame| frame["agent"] == "/explorer-1"));
    let results: Vec<&Value> = frames.iter().filter(|frame| frame["type"] == "result").collect();
    assert_eq!(results.len(), 1, "only the session's own turn has a result");
    assert_eq!(results[0]["result"], "All done.");
    let inits = frames.iter().filter(|frame| frame["subtype"] == "init").count();
    assert_eq!(inits, 1);
    world.assert_never_rejected();
}

#[test]
fn text_has_a_line_for_the_beginning_and_one_for_the_end() {
    let world = World::new(script());
    let ran = world.run(&["-p", "go"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "All done.\n"));
    let lines: Vec<&str> = ran.stderr.lines().filter(|line| line.contains("explorer-1")).collect();
    assert_eq!(lines.len(), 2, "{}", ran.stderr);
    assert!(lines[0].ends_with("explorer-1: started"), "{lines:?}");
    assert!(lines[1].contains("explorer-1: finished · 1 call · "), "{lines:?}");
    let json = world.run(&["-p", "go", "--output-format", "json"]);
    assert_eq!(json.result()["result"], "All done.");
    // The session that goes on is the person's.
    let more = world.run(&["-p", "and?", "--continue"]);
    assert_eq!(more.stdout, "All done.\n", "{}", more.stderr);
}

/// Killed while an agent works: the session knows it, and the agent goes on with what it had done.
#[test]
fn killed_with_an_agent_at_work_the_agent_can_go_on() {
    let start = json!({ "description": "look around", "prompt": "task-a" });
    let on = json!({ "description": "go on", "prompt": "where were you?", "resume": "general-1" });
    let reply = move |request: &Recorded| -> Reply {
        let all = request.json()["messages"].to_string();
        let is_agent = request.messages()[0].to_string().contains("task-a");
        match (is_agent, all.contains("please go on"), all.contains("here again")) {
            (true, ..) if all.contains("where were you?") => text("here again"),
            (true, ..) => text("I am in the middle of").gate("middle"),
            (false, false, _) => text("I ask.").call("Agent", start.clone()),
            (false, true, false) => text("Again.").call("Agent", on.clone()),
            (false, true, true) => text("All done."),
        }
    };
    let world = World::new(Script::new().by(reply).forever());
    let mut child = world.command(&["-p", "go"]).spawn().unwrap();
    let gate = world.server.gate("middle");
    wait(gate.reached()).unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    gate.release();
    let resumed = world.run(&["-p", "please go on", "--continue"]);
    assert_eq!((resumed.code, resumed.stdout.as_str()), (Some(0), "All done.\n"));
    let told = world.server.requests().iter().any(|request| {
        let said = request.json()["messages"].to_string();
        said.contains("general-1 (look around): failed: the program ended while it was running")
    });
    assert!(told, "the model knows which agent was lost");
    world.assert_never_rejected();
}

/// A project's own agents are there once the project is trusted, and not before.
#[test]
fn agents_of_a_project_are_there_after_trust() {
    let world = World::new(Script::new().by(|_| text("ok")).forever());
    world.file(
        ".claude/agents/reviewer.md",
        "---\nname: reviewer\ndescription: Reviews changes\n---\nReview it.",
    );
    let offered = |args: &[&str]| {
        let ran = world.run(&[&["-p", "go"], args].concat());
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        let tools = world.server.requests().pop().unwrap().json()["tools"].to_string();
        (tools.contains("reviewer: Reviews changes"), ran.stderr)
    };
    let (before, said) = offered(&[]);
    assert!(!before && said.contains("defines the agent reviewer"), "{said}");
    assert!(offered(&["--trust"]).0);
    assert!(offered(&[]).0, "it stays trusted");
}

/// What an agent asks for and cannot get is said, with the file.
#[test]
fn definitions_that_cannot_be_met_are_named() {
    let world = World::new(Script::new().by(|_| text("ok")).forever());
    let definition = |name: &str, more: &str| {
        format!("---\nname: {name}\ndescription: Reviews changes\n{more}\n---\nReview it.")
    };
    let own = world.home().join("agents");
    std::fs::create_dir_all(&own).unwrap();
    std::fs::write(own.join("apart.md"), definition("apart", "isolation: vm")).unwrap();
    std::fs::write(
        own.join("loose.md"),
        definition("loose", "tools: Read, Raed, Nonsense, Bash(ls:*)"),
    )
    .unwrap();
    world.file(".claude/agents/theirs.md", &definition("theirs", ""));
    world.file(".claude/agents/loose.md", &definition("loose", ""));
    let ran = world.run(&["-p", "go"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let apart = "agents/apart.md: isolation \"vm\" is unknown; use none or worktree; the agent is not available";
    let loose =
        "agents/loose.md: unknown tools \"Raed\" (did you mean \"Read\"?), \"Nonsense\"; ignored";
    for said in [apart, loose, "theirs.md defines the agent theirs. It is ignored until you trust"]
    {
        assert!(ran.stderr.contains(said), "{said}: {}", ran.stderr);
    }
    let tools = world.server.requests().pop().unwrap().json()["tools"].to_string();
    assert!(tools.contains("loose: Reviews") && !tools.contains("apart: Reviews"), "{tools}");
    // The same as a list.
    let listed = world.run(&["agents", "--definitions", "--json"]).result();
    let row = |name: &str, nth: usize| {
        let all = listed["definitions"].as_array().unwrap().iter();
        all.filter(|row| row["name"] == name).nth(nth).unwrap().clone()
    };
    assert_eq!(
        (&row("explorer", 0)["state"], &row("explorer", 0)["path"]),
        (&"built_in".into(), &Value::Null)
    );
    assert_eq!(
        (&row("loose", 0)["state"], &row("loose", 1)["state"]),
        (&"used".into(), &"untrusted".into())
    );
    assert_eq!(row("apart", 0)["state"], "unusable");
    assert!(row("apart", 0)["why"].as_str().unwrap().contains("isolation"), "{listed:#}");
    assert_eq!(row("theirs", 0)["state"], "untrusted");
    let shown = world.run(&["agents", "--definitions"]).stdout;
    let theirs = shown.lines().find(|line| line.contains("theirs.md")).unwrap();
    assert!(theirs.contains("not trusted") && theirs.contains("Reviews changes"), "{shown}");
    assert_eq!(world.run(&["permissions", "trust", "--yes"]).code, Some(0));
    let listed = world.run(&["agents", "--definitions"]).stdout;
    assert!(
        listed.contains("replaced by another file") && !listed.contains("not trusted"),
        "{listed}"
    );
}

/// A call that started no agent is not seen otherwise where only the answer is printed.
#[test]
fn an_agent_that_does_not_start_is_one_line() {
    let order = json!({ "description": "look", "prompt": "x", "subagent_type": "nobody" });
    let script =
        Script::new().answer(text("I ask.").call("Agent", order)).answer(text("Alone, then."));
    let world = World::new(script);
    let ran = world.run(&["-p", "go"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "Alone, then.\n"));
    let lines: Vec<&str> =
        ran.stderr.lines().filter(|line| line.contains("Agent failed: ")).collect();
    assert!(lines.len() == 1 && lines[0].contains("nobody"), "{}", ran.stderr);
    assert!(!ran.stderr.contains("tool_use_error"), "{}", ran.stderr);
}

/// Longer than for a command, and what the agent does meanwhile is shown.
#[test]
fn a_background_agent_is_waited_for() {
    let agent = json!({ "description": "look", "prompt": "task-a", "run_in_background": true });
    let script = Script::new().by(move |request| {
        let is_agent = request.messages()[0].to_string().contains("task-a");
        match (is_agent, answers(request)) {
            (true, 0) => {
                text("I look.").call("Glob", json!({ "pattern": "*" })).due_at("the first result")
            }
            // Commands would be stopped after 5 seconds.
            (true, _) => text("Found.").delay(Duration::from_millis(5_500)),
            (false, 0) => text("I ask.").call("Agent", agent.clone()),
            (false, 1) => text("Started."),
            (false, _) => text("Noted."),
        }
    });
    let world = World::new(script.forever());
    let mut child = world.command(&["-p", "go", "--output-format", "stream-json"]).spawn().unwrap();
    let first = read_until(&mut child, "\"type\":\"result\"");
    world.server.gate("the first result").open();
    let ran = finish(child);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(first.contains("Started.") && !first.contains("pattern"), "{first}");
    let frames = ran.frames();
    let is_call = |frame: &Value| frame["message"]["content"][0]["name"] == "Glob";
    assert!(frames.iter().any(|frame| is_call(frame) && frame["agent"] == "/general-1"));
    let results: Vec<&Value> = frames.iter().filter(|frame| frame["type"] == "result").collect();
    assert!(results.len() == 1 && results[0]["result"] == "Noted.", "{results:?}");
    let told = world.server.requests().pop().unwrap().json()["messages"].to_string();
    assert_eq!(told.matches("<task-notification>").count(), 1);
    world.assert_never_rejected();
}

/// An agent has no process that a signal could reach: its session is asked to end it.
#[test]
fn a_background_agent_is_stopped_from_another_terminal() {
    let agent = json!({ "description": "look", "prompt": "task-a", "run_in_background": true });
    let script = Script::new().by(move |request| {
        let is_agent = request.messages()[0].to_string().contains("task-a");
        match (is_agent, answers(request)) {
            (true, _) => text("never ").gate("hold").say("read"),
            (false, 0) => text("I ask.").call("Agent", agent.clone()),
            (false, 1) => text("Started."),
            (false, _) => text("Noted."),
        }
    });
    let world = World::new(script.forever());
    let child = world.command(&["-p", "go"]).spawn().unwrap();
    wait(world.server.gate("hold").reached()).unwrap();
    let jobs = || world.run(&["jobs", "list", "--json"]).stdout;
    until("it is a job", || jobs().contains("\"agent\""));
    let job: Value = serde_json::from_str(jobs().trim()).unwrap();
    let id = job["id"].as_str().unwrap();
    let stopped = world.run(&["jobs", "stop", id]);
    assert_eq!((stopped.code, stopped.stdout), (Some(0), format!("stopped {id}\n")));
    let ran = finish(child);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "Started.\nNoted.\n"), "{}", ran.stderr);
    let told = world.server.requests().pop().unwrap().json()["messages"].to_string();
    assert!(told.contains("was stopped with `ostler jobs stop`"), "{told}");
    assert!(told.contains("call Agent with resume"), "{told}");
    let again = world.run(&["jobs", "stop", id]);
    assert_eq!(again.stdout, format!("{id} had ended\n"));
    world.server.gate("hold").open();
    world.assert_never_rejected();
}

/// A file of the person's own can ask for a worktree; of a project only after trust, like every definition.
#[test]
fn a_definition_can_ask_for_a_worktree() {
    let world = crate::workers::world(|request, answers| {
        match (request.messages()[0].to_string().contains("Write the poem"), answers) {
            (false, 0) => text("I ask.").call(
                "Agent",
                json!({"description": "poem", "prompt": "Write the poem", "subagent_type": "apart"}),
            ),
            (true, 0) => text("I write.")
                .call("Write", json!({"file_path": "poem.txt", "content": "roses\n"})),
            _ => text("Done."),
        }
    });
    let own = world.home().join("agents");
    std::fs::create_dir_all(&own).unwrap();
    let definition = "---\nname: apart\ndescription: works alone\nisolation: worktree\n---\nDo it.";
    std::fs::write(own.join("apart.md"), definition).unwrap();
    let ran = world.go();
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let list = ["branch", "--list", "ostler/*", "--format=%(refname:short)"];
    let branch = crate::workers::git(&world, &list);
    assert!(branch.starts_with("ostler/apart-"), "{branch}");
    assert_eq!(crate::workers::git(&world, &["show", &format!("{branch}:poem.txt")]), "roses");
    assert!(ran.stdout.contains(&format!("on the branch {branch}")), "{}", ran.stdout);
    assert!(!world.project().join("poem.txt").exists());
}
