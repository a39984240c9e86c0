//! `ostler agents`: what another terminal sees of agents at work.

use crate::support::{Ran, World, answers, finish, read_until, until, wait};
use crate::talk::Talk;
use ostler_model_server::{Recorded, Reply, Script, status, text};
use serde_json::{Value, json};
use std::process::Child;

/// The session starts an explorer, which looks once; the gate holds its second answer.
fn script(last: impl Fn(&Recorded) -> Reply + Send + Sync + 'static) -> Script {
    let start =
        json!({ "description": "look around", "prompt": "task-a", "subagent_type": "Explore" });
    let reply = move |request: &Recorded| -> Reply {
        let is_agent = request.messages()[0].to_string().contains("task-a");
        match (is_agent, answers(request)) {
            (false, 0) => text("I ask.").call("Agent", start.clone()),
            (false, _) => text("All done."),
            (true, 0) => {
                text("I look.\n\nThe parser first.\n").call("Glob", json!({ "pattern": "*" }))
            }
            (true, _) => last(request),
        }
    };
    Script::new().by(reply).forever()
}

fn held() -> World {
    let world = World::new(script(|_| text("Nothing there.").gate("middle")));
    world.has_chosen();
    let prices = "[scripted]\ninput = 3\noutput = 15\n";
    std::fs::write(world.home().join("prices.toml"), prices).unwrap();
    world
}

fn begin(world: &World) -> Child {
    let child = world.command(&["-p", "go now"]).spawn().unwrap();
    wait(world.server.gate("middle").reached()).unwrap();
    child
}

fn sessions(world: &World, args: &[&str]) -> Vec<Value> {
    let ran = world.run(&[&["agents", "--json"], args].concat());
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""));
    ran.result()["sessions"].as_array().unwrap().clone()
}

fn text_of(world: &World, args: &[&str]) -> String {
    let Ran { code, stdout, stderr } = world.run(&[&["agents"], args].concat());
    assert_eq!(code, Some(0), "{stderr}");
    stdout
}

#[test]
fn an_agent_at_work_is_seen_from_another_terminal() {
    let world = held();
    assert_eq!(text_of(&world, &[]), "No session is running.\n");
    assert_eq!(text_of(&world, &["--all"]), "No sessions yet.\n");
    let child = begin(&world);
    // The ledger is written beside the work.
    let cost = |agent: &Value| agent["cost_usd"].as_f64().unwrap_or_default();
    until("both have cost something", || {
        let [session] = sessions(&world, &[]).try_into().unwrap();
        let below = cost(&session["agents"][0]);
        below > 0.0 && cost(&session) > below
    });
    let [session] = sessions(&world, &[]).try_into().unwrap();
    let log = world.logs()[0].file_stem().unwrap().to_str().unwrap().to_owned();
    assert_eq!((&session["session"], &session["path"]), (&log.into(), &"/".into()));
    assert_eq!((&session["state"], &session["task"]), (&"working".into(), &"go now".into()));
    assert_eq!(session["workspace"], world.project().to_str().unwrap());
    assert_eq!(session["last_line"], "I ask.");
    let agents = session["agents"].as_array().unwrap();
    assert_eq!(agents.len(), 1, "{session:#}");
    let expected = json!({
        "path": "/explorer-1", "kind": "explorer", "task": "look around", "state": "working",
        "why": null, "blocked": null, "last_line": "The parser first.", "agents": [],
    });
    for (name, value) in expected.as_object().unwrap() {
        assert_eq!(agents[0][name], *value, "{name}: {session:#}");
    }
    let call = json!({"tool": "Agent", "subject": "look around"});
    assert_eq!((&session["call"], &agents[0]["call"]), (&call, &Value::Null), "{session:#}");
    assert!(session["since_ms"].as_u64() <= agents[0]["since_ms"].as_u64(), "{session:#}");
    let shown = text_of(&world, &[]);
    assert!(shown.contains("\n  explorer-1  working  "), "{shown}");
    let line = shown.lines().find(|line| line.starts_with("  explorer-1")).unwrap();
    let words: Vec<&str> = line.split("  ").filter(|word| !word.is_empty()).collect();
    assert!(words.len() == 5 && words[3].starts_with("$0."), "{line}");
    assert_eq!(words[3].len(), "$0.0000".len(), "{line}");
    assert!(shown.contains("  · running: Agent look around\n"), "{shown}");
    assert!(shown.contains("  look around\n    · says: The parser first.\n"), "{shown}");
    world.server.gate("middle").open();
    assert_eq!(finish(child).stdout, "All done.\n");
    assert_eq!(text_of(&world, &[]), "No session is running.\n");
    let [session] = sessions(&world, &["--all"]).try_into().unwrap();
    assert_eq!((&session["state"], &session["since_ms"]), (&"finished".into(), &Value::Null));
    assert_eq!(session["call"], Value::Null);
    assert_eq!(session["agents"][0]["state"], "finished");
    assert_eq!(session["agents"][0]["last_line"], "Nothing there.");
}

/// The log says that they run; the system says that nobody does.
#[test]
fn killed_agents_are_lost_and_not_running() {
    let world = held();
    let mut child = begin(&world);
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(sessions(&world, &[]), [] as [Value; 0]);
    let [session] = sessions(&world, &["--all"]).try_into().unwrap();
    assert_eq!(
        (&session["state"], &session["agents"][0]["state"]),
        (&"lost".into(), &"lost".into())
    );
    world.server.gate("middle").open();
}

#[test]
fn an_open_question_says_why_an_agent_does_not_go_on() {
    let ask = json!({ "description": "make a file", "prompt": "task-a" });
    let reply = move |request: &Recorded| -> Reply {
        let is_agent = request.messages()[0].to_string().contains("task-a");
        match (is_agent, answers(request)) {
            (false, 0) => text("I ask.").call("Agent", ask.clone()),
            (true, 0) => text("I make it.").call("Bash", json!({ "command": "touch made" })),
            _ => text("Done."),
        }
    };
    let world = World::new(Script::new().by(reply).forever());
    world.has_chosen();
    let mut talk = Talk::on_terminal(&world.command(&[]));
    talk.expect("> ");
    talk.send_line("go");
    talk.expect(crate::repl::ASKS);
    let [session] = sessions(&world, &[]).try_into().unwrap();
    let agent = &session["agents"][0];
    let blocked = json!({ "on": "question", "tool": "Bash", "subject": "touch made" });
    assert_eq!((&agent["path"], &agent["blocked"]), (&"/general-1".into(), &blocked));
    assert!(session["blocked"].is_null(), "{session:#}");
    let shown = text_of(&world, &[]);
    assert!(shown.contains("general-1  blocked"), "{shown}");
    assert!(shown.contains("· waiting for an answer: Bash touch made\n"), "{shown}");
    talk.send_line("n");
    talk.expect("tokens: ");
    talk.expect("> ");
    let [session] = sessions(&world, &[]).try_into().unwrap();
    assert_eq!((&session["state"], &session["agents"]), (&"idle".into(), &json!([])));
    let [session] = sessions(&world, &["--all"]).try_into().unwrap();
    assert!(session["agents"][0]["blocked"].is_null(), "{session:#}");
    talk.send_line("/quit");
    assert_eq!(talk.finish().code, Some(0));
}

#[test]
fn a_repeated_request_says_why_an_agent_does_not_go_on() {
    let tries = std::sync::atomic::AtomicUsize::new(0);
    let last = move |_: &Recorded| match tries.fetch_add(1, std::sync::atomic::Ordering::Relaxed) {
        0 => status(529),
        _ => text("Nothing there.").gate("middle"),
    };
    let world = World::new(script(last));
    let child = begin(&world);
    let [session] = sessions(&world, &[]).try_into().unwrap();
    let blocked = &session["agents"][0]["blocked"];
    assert_eq!((&blocked["on"], &blocked["attempt"]), (&"retry".into(), &1.into()), "{session:#}");
    world.server.gate("middle").open();
    assert_eq!(finish(child).stdout, "All done.\n");
}

/// In a pipe: one object per change. The end of a killed process, which changes no file, is one.
#[test]
fn watching_shows_changes() {
    let world = held();
    let mut child = begin(&world);
    let mut watch = world.command(&["agents", "--watch", "--json"]).spawn().unwrap();
    let first = read_until(&mut watch, "\"sessions\":");
    assert!(first.contains("\"state\":\"working\"") && first.contains("/explorer-1"), "{first}");
    child.kill().unwrap();
    child.wait().unwrap();
    read_until(&mut watch, "\"sessions\":[]");
    let again = world.command(&["-p", "and now"]).spawn().unwrap();
    read_until(&mut watch, "\"task\":\"and now\"");
    world.server.gate("middle").open();
    assert_eq!(finish(again).code, Some(0));
    let end = read_until(&mut watch, "\"sessions\":[]");
    assert!(!end.contains('\u{1b}'), "{end}");
    watch.kill().unwrap();
    watch.wait().unwrap();
}
