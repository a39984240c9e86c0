//! `ostler -p`: what it prints, where, and how it exits.

use crate::support::{World, finish, until};
use ostler_model_server::{OnEnd, Script, after, calls, status, text};
use rustix::fs::inotify::{self, CreateFlags, WatchFlags};
use serde_json::json;
use std::io::Write;
use std::mem::MaybeUninit;
use std::process::Stdio;

fn bash(command: &str) -> ostler_model_server::Reply {
    calls([("Bash", json!({ "command": command }))])
}

#[test]
fn text_is_the_answer_on_stdout_and_usage_on_stderr() {
    let world = World::new(Script::new().answer(bash("echo 1")).answer(text("It is **one**.\n")));
    let ran = world.run(&["-p", "go"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "It is **one**.\n"));
    assert!(ran.stderr.contains("tokens:") && ran.stderr.contains('$'), "{}", ran.stderr);
    world.assert_never_rejected();
}

#[test]
fn the_prompt_may_come_from_standard_input_or_both() {
    // What was piped in stands behind a note that says so.
    for (args, piped, want) in [
        (vec!["-p"], "from the pipe", vec!["<piped>", "from the pipe"]),
        (vec!["-p", "explain"], "from the pipe", vec!["explain\n\n", "<piped>", "from the pipe"]),
        (vec!["-p", "explain"], "", vec!["explain"]),
    ] {
        let world = World::new(Script::new().answer(text("ok")));
        let mut child = world.command(&args).stdin(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(piped.as_bytes()).unwrap();
        assert_eq!(finish(child).code, Some(0));
        let request = &world.server.requests()[0];
        let content = request.messages()[0]["content"].as_array().unwrap();
        let said: Vec<&str> = content.iter().skip(2).filter_map(|b| b["text"].as_str()).collect();
        let tag =
            |text: &str| if text.starts_with("<piped>") { "<piped>" } else { text }.to_owned();
        assert_eq!(said.into_iter().map(tag).collect::<Vec<_>>(), want);
    }
    let world = World::new(Script::new());
    let ran = world.run(&["-p"]);
    assert_eq!(ran.code, Some(2));
    assert!(ran.stderr.contains("no prompt"), "{}", ran.stderr);
}

#[test]
fn json_is_one_result_object() {
    let world = World::new(Script::new().answer(text("hi")));
    let ran = world.run(&["-p", "go", "--output-format", "json"]);
    assert_eq!(ran.stdout.lines().count(), 1);
    let result = ran.result();
    assert_eq!(result["type"], "result");
    assert_eq!(
        (&result["subtype"], &result["is_error"], &result["result"]),
        (&json!("success"), &json!(false), &json!("hi"))
    );
    assert_eq!(
        (&result["terminal_reason"], &result["stop_reason"]),
        (&json!("completed"), &json!("end_turn"))
    );
    assert!(result["total_cost_usd"].as_f64().unwrap() > 0.0);
    assert!(result["usage"]["cache_creation_input_tokens"].as_u64().unwrap() > 100);
    assert_eq!(result["modelUsage"]["scripted"]["outputTokens"], result["usage"]["output_tokens"]);
}

#[test]
fn stream_json_tells_everything_in_order() {
    let world = World::new(
        Script::new()
            .answer(text("Look.").call("Bash", json!({"command": "echo 1"})))
            .answer(text("done")),
    );
    let frames = world.run(&["-p", "go", "--output-format", "stream-json", "--verbose"]).frames();
    let kinds: Vec<String> = frames
        .iter()
        .map(|f| match f["type"].as_str().unwrap() {
            "system" => format!("system/{}", f["subtype"].as_str().unwrap()),
            "assistant" | "user" => format!(
                "{} {}",
                f["type"].as_str().unwrap(),
                f["message"]["content"][0]["type"].as_str().unwrap()
            ),
            other => other.to_owned(),
        })
        .collect();
    assert_eq!(
        kinds,
        [
            "system/init",
            "assistant text",
            "assistant tool_use",
            "system/request",
            "user tool_result",
            "system/transition",
            "assistant text",
            "system/request",
            "result"
        ]
    );
    let session = &frames[0]["session_id"];
    assert!(frames.iter().all(|f| f["session_id"] == *session && f["uuid"].is_string()));
    assert_eq!(
        frames[0]["tools"],
        json!([
            "Agent",
            "Bash",
            "Edit",
            "Glob",
            "Grep",
            "Memory",
            "NotebookEdit",
            "Read",
            "Recall",
            "Revert",
            "SendMessage",
            "Skill",
            "Sleep",
            "TaskCreate",
            "TaskGet",
            "TaskList",
            "TaskOutput",
            "TaskStop",
            "TaskUpdate",
            "TodoWrite",
            "WebFetch",
            "Write",
        ])
    );
    let shipped = json!(["agent-building", "code-review", "debugging", "pdf"]);
    let commands =
        json!(["compact", "context", "cost", "agent-building", "code-review", "debugging", "pdf"]);
    assert_eq!((&frames[0]["skills"], &frames[0]["slash_commands"]), (&shipped, &commands));
    let results = frames.iter().find(|frame| frame["type"] == "user").unwrap();
    assert_eq!(results["message"]["content"][0]["content"], "1");
}

#[test]
fn partial_messages_carry_the_models_own_events() {
    let world = World::new(Script::new().answer(text("hello there")));
    let ran =
        world.run(&["-p", "go", "--output-format", "stream-json", "--include-partial-messages"]);
    let frames = ran.frames();
    let events: Vec<&str> = frames
        .iter()
        .filter(|f| f["type"] == "stream_event")
        .map(|f| f["event"]["type"].as_str().unwrap())
        .collect();
    assert_eq!(events.first(), Some(&"message_start"));
    assert_eq!(events.last(), Some(&"message_stop"));
    assert!(events.contains(&"content_block_delta"));
}

#[test]
fn exit_codes() {
    let limit = ["-p", "go", "--max-turns", "1", "--permission-mode", "bypassPermissions"];
    let budget = ["-p", "go", "--max-budget-usd", "0.0001"];
    let plain = ["-p", "go"];
    let cases: [(&str, Script, &[&str], i32); 9] = [
        ("done", Script::new().answer(text("ok")), &plain, 0),
        ("an error of the model", Script::new().answer(status(400)).forever(), &plain, 1),
        ("a refusal", Script::new().answer(text("").stop("refusal")), &plain, 1),
        ("a wrong flag", Script::new(), &["-p", "go", "--no-such-flag"], 2),
        (
            "a rule that is none",
            Script::new(),
            &["-p", "go", "--allowedTools", "Bash(git status"],
            2,
        ),
        (
            "everything refused",
            Script::new().answer(bash("touch x")).answer(text("I may not.")),
            &plain,
            4,
        ),
        ("turn limit", Script::new().answer(bash("echo 1")).forever(), &limit, 5),
        ("money limit", Script::new().answer(text("ok")), &budget, 5),
        (
            "an unknown session",
            Script::new(),
            &["-p", "go", "--resume", "00000000-0000-0000-0000-000000000000"],
            1,
        ),
    ];
    for (name, script, args, code) in cases {
        let world = World::new(script.on_end(OnEnd::Error));
        let ran = world.run(args);
        assert_eq!(ran.code, Some(code), "{name}: {} {}", ran.stdout, ran.stderr);
        assert!(code == 0 || !ran.stderr.trim().is_empty(), "{name} says nothing");
        assert!(
            !ran.stderr.contains("panicked") && !ran.stderr.contains("stack backtrace"),
            "{name}: {}",
            ran.stderr
        );
    }
}

#[test]
fn without_a_key_three_lines_help() {
    let world = World::new(Script::new());
    let ran = finish(world.command(&["-p", "go"]).env_remove("ANTHROPIC_API_KEY").spawn().unwrap());
    assert_eq!(ran.code, Some(3));
    let lines: Vec<&str> = ran.stderr.lines().collect();
    assert_eq!(lines.len(), 3, "{}", ran.stderr);
    assert!(
        lines[0].contains("ANTHROPIC_API_KEY")
            && lines[1].contains("OpenAI")
            && lines[2].contains("ostler demo")
    );
    assert_eq!(world.server.requests().len(), 0);
}

#[test]
fn the_gate_fails_closed() {
    let cases = [
        ("echo 1", true),
        ("cat notes.txt", true),
        ("cat /etc/passwd", false),
        ("touch x", false),
        ("echo 1 > x", false),
        ("cat $(ls)", false),
        ("bash -c 'echo 1'", true),
        ("bash -c 'touch x'", false),
        ("timeout 5 touch x", false),
    ];
    for (command, runs) in cases {
        let world = World::new(Script::new().answer(bash(command)).answer(text("ok")));
        world.file("notes.txt", "n\n");
        let ran = world.run(&["-p", "go", "--output-format", "json"]);
        let denied = ran.result()["permission_denials"].as_array().unwrap().len();
        assert_eq!(denied == 0, runs, "{command}: {}", ran.stdout);
        assert_eq!(ran.code, Some(if runs { 0 } else { 4 }), "{command}");
        assert!(!world.project().join("x").exists());
    }
}

#[test]
fn a_hostile_repository_runs_nothing() {
    for command in ["git status", "git diff"] {
        let world = World::new(Script::new().answer(bash(command)).answer(text("ok")));
        let git = |args: &[&str]| {
            let mut git = std::process::Command::new("git");
            let ran = git.args(args).current_dir(world.project()).output().unwrap();
            assert!(ran.status.success(), "{ran:?}");
        };
        git(&["init", "-q"]);
        world.file("f", "one\n");
        git(&["add", "f"]);
        world.file(".gitattributes", "* filter=evil\n");
        git(&["config", "filter.evil.clean", "touch PWNED; cat"]);
        // Of the same length: only its content tells.
        world.file("f", "two\n");
        let ran = world.run(&["-p", "go", "--output-format", "json"]);
        assert_eq!(ran.result()["permission_denials"].as_array().unwrap().len(), 1, "{command}");
        assert_eq!(ran.code, Some(4), "{command}");
        assert!(!world.project().join("PWNED").exists(), "{command}");
        // The trap is a real one.
        git(&["status", "--short"]);
        assert!(world.project().join("PWNED").exists(), "{command}");
    }
}

#[test]
fn modes_and_rules_open_what_they_name() {
    let edit = || calls([("Write", json!({"file_path": "a.txt", "content": "x"}))]);
    let outside = || calls([("Write", json!({"file_path": "../outside.txt", "content": "x"}))]);
    let cases: [(&str, ostler_model_server::Reply, &[&str], bool); 8] = [
        ("default asks for a write", edit(), &[], false),
        ("acceptEdits allows it", edit(), &["--permission-mode", "acceptEdits"], true),
        ("but not outside", outside(), &["--permission-mode", "acceptEdits"], false),
        ("a file rule allows it", edit(), &["--allowedTools", "Edit(./**)"], true),
        ("another file rule does not", edit(), &["--allowedTools", "Edit(./src/**)"], false),
        (
            "plan changes nothing",
            edit(),
            &["--permission-mode", "plan", "--allowedTools", "Write"],
            false,
        ),
        (
            "a denial beats bypass",
            edit(),
            &["--permission-mode", "bypassPermissions", "--disallowedTools", "Edit(./a.txt)"],
            false,
        ),
        ("dontAsk refuses", edit(), &["--permission-mode", "dontAsk"], false),
    ];
    for (name, call, args, runs) in cases {
        let world = World::new(Script::new().answer(call).answer(text("ok")));
        let args: Vec<&str> =
            ["-p", "go", "--output-format", "json"].iter().chain(args).copied().collect();
        let ran = world.run(&args);
        assert_eq!(
            world.project().join("a.txt").exists(),
            runs,
            "{name}: {} {}",
            ran.stdout,
            ran.stderr
        );
        assert!(!world.home().parent().unwrap().join("outside.txt").exists());
        world.assert_never_rejected();
    }
}

#[test]
fn tools_can_be_chosen() {
    let names = |args: &[&str]| {
        let world = World::new(Script::new().answer(text("ok")));
        let args: Vec<&str> = ["-p", "go"].iter().chain(args).copied().collect();
        let ran = world.run(&args);
        let Some(request) = world.server.requests().pop() else {
            return Err((ran.code, ran.stderr));
        };
        let tools = request.json()["tools"].as_array().cloned().unwrap_or_default();
        Ok(tools.iter().map(|t| t["name"].as_str().unwrap().to_owned()).collect::<Vec<_>>())
    };
    assert_eq!(names(&["--tools", "Read,Grep"]).unwrap(), ["Grep", "Read"]);
    assert_eq!(names(&["--tools", ""]).unwrap(), Vec::<String>::new());
    assert_eq!(
        names(&[
            "--disallowedTools",
            "Agent,SendMessage,Bash,Write,Edit,Skill,TodoWrite,TaskCreate,TaskGet,TaskList,TaskOutput,TaskStop,TaskUpdate"
        ])
        .unwrap(),
        ["Glob", "Grep", "Memory", "NotebookEdit", "Read", "Recall", "Revert", "Sleep", "WebFetch"]
    );
    assert_eq!(names(&["--tools", "Nope"]).unwrap(), Vec::<String>::new());
    let (code, said) = names(&["--tools", "Baash"]).unwrap_err();
    assert_eq!(code, Some(2));
    assert!(said.contains("Baash") && said.contains("\"Bash\""), "{said}");
}

#[test]
fn a_closed_pipe_is_a_quiet_end() {
    let world = World::new(Script::new().answer(text("x".repeat(200_000))));
    let mut child = world.command(&["-p", "go"]).spawn().unwrap();
    drop(child.stdout.take());
    let ran = finish(child);
    assert_ne!(ran.code, Some(0));
    assert!(!ran.stderr.contains("panicked"), "{}", ran.stderr);
}

#[test]
fn the_demo_tells_its_story() {
    let world = World::new(Script::new());
    let ran = world.run(&["demo"]);
    assert_eq!(ran.stdout.matches('✗').count(), 1, "only the broken test fails: {}", ran.stdout);
    assert_eq!(ran.code, Some(0), "{} {}", ran.stdout, ran.stderr);
    for part in [
        "Plan:",
        "Grep",
        "got -42",
        "Edit",
        "ok: the total is 42",
        "The test passes",
        "tokens:",
        "ostler-demo-",
    ] {
        assert!(ran.stdout.contains(part), "{part} is missing in {}", ran.stdout);
    }
    let folder =
        ran.stdout.split_whitespace().find(|w| w.contains("ostler-demo-")).unwrap().to_owned();
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_pipe_that_is_never_closed_does_not_hold_up_a_prompt() {
    let world = World::new(Script::new().answer(text("ok")));
    let mut child = world.command(&["-p", "go"]).stdin(Stdio::piped()).spawn().unwrap();
    let open = child.stdin.take();
    let ran = finish(child);
    drop(open);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "ok\n"), "{}", ran.stderr);
    assert!(ran.stderr.contains("standard input"), "{}", ran.stderr);
}

#[test]
fn rules_that_would_silently_mean_something_else_are_refused() {
    for (rule, says) in
        [("bash", "did you mean \"Bash\""), ("Edit(/tmp/x/**)", "Write // for an absolute path")]
    {
        let world = World::new(Script::new());
        let ran = world.run(&["-p", "go", "--disallowedTools", rule]);
        assert_eq!(ran.code, Some(2), "{rule}");
        assert!(ran.stderr.contains(says), "{}", ran.stderr);
        assert_eq!(world.logs().len(), 0, "no session was made");
    }
}

#[test]
fn lines_of_json_hold_no_other_line_ends() {
    let world = World::new(Script::new().answer(text("a\u{2028}b\u{2029}c")));
    let ran = world.go();
    assert!(!ran.stdout.contains(['\u{2028}', '\u{2029}']));
    assert_eq!(ran.result()["result"], "a\u{2028}b\u{2029}c");
}

/// A file that only a thrown-away answer had read is not known to the model.
#[test]
fn a_dropped_answer_leaves_no_knowledge_behind() {
    let read = calls([("Read", json!({"file_path": "a.txt"}))]);
    let edit = || {
        calls([("Edit", json!({"file_path": "a.txt", "old_string": "old", "new_string": "new"}))])
    };
    let broken = read.gate("read").cut(after("message_delta").reset());
    let world = World::new(Script::new().answer(broken).answer(edit()).answer(text("ok")));
    world.file("a.txt", "old\n");
    let child = world.command(&[
        "-p",
        "go",
        "--output-format",
        "stream-json",
        "--permission-mode",
        "acceptEdits",
    ]);
    let reads = inotify::init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC).unwrap();
    let path = world.project().join("a.txt");
    inotify::add_watch(&reads, &path, WatchFlags::CLOSE_NOWRITE).unwrap();
    let child = { child }.spawn().unwrap();
    // What it gave back is shown to nobody, because its answer is never in the log.
    let mut buffer = [MaybeUninit::uninit(); 4096];
    let mut events = inotify::Reader::new(&reads, &mut buffer);
    until("the file was read while its answer streamed", || events.next().is_ok());
    world.server.gate("read").release();
    let ran = finish(child);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert_eq!(world.read("a.txt"), "old\n", "an edit of a file the model never saw");
    world.assert_never_rejected();
}
