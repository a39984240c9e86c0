//! What somebody meets who has just installed it: a set-up that is not right yet is said to be so, with the place and
//! what to do.

use crate::support::{Ran, World, can_hide_bubblewrap, finish, read_until, signal};
use ostler_model_server::{Script, calls, text};
use rustix::process::Signal;
use serde_json::{Value, json};
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

/// The user called nobody.
const NOBODY: u32 = 65534;

fn ran_with(world: &World, args: &[&str], variables: &[(&str, &str)]) -> Ran {
    finish(world.command(args).envs(variables.iter().copied()).spawn().unwrap())
}

/// The rows of `doctor --json` of that name, each as (state, detail).
fn rows(ran: &Ran, name: &str) -> Vec<(String, String)> {
    let word = |row: &Value, key: &str| row[key].as_str().unwrap().to_owned();
    let all = ran.frames();
    for row in &all {
        let fine = ["ok", "note"].contains(&row["state"].as_str().unwrap());
        assert_eq!(row["ok"], fine, "{row}");
    }
    let named = all.iter().filter(|row| row["name"] == name);
    named.map(|row| (word(row, "state"), word(row, "detail"))).collect()
}

fn may_traverse(folder: &Path) {
    std::fs::set_permissions(folder, std::fs::Permissions::from_mode(0o755)).unwrap();
}

/// The same as somebody whom permissions bind.
fn as_ordinary_user(command: &Command) -> Ran {
    let mut other = Command::new("setpriv");
    if rustix::process::geteuid().is_root() {
        let user = NOBODY.to_string();
        other.args(["--reuid", &user, "--regid", &user, "--clear-groups"]);
    }
    other.arg("--").arg(command.get_program()).args(command.get_args()).env_clear();
    other.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    other.current_dir(command.get_current_dir().unwrap());
    let piped = std::process::Stdio::piped;
    finish(
        other.stdin(std::process::Stdio::null()).stdout(piped()).stderr(piped()).spawn().unwrap(),
    )
}

#[test]
fn doctor_is_content_with_what_works() {
    let world = World::new(Script::new());
    let ran = world.run(&["doctor", "--json"]);
    for name in ["bash", "git", "home", "settings", "credential"] {
        let found = rows(&ran, name);
        assert!(found.len() == 1 && found[0].0 == "ok", "{name}: {found:?}");
    }
    assert_eq!(rows(&ran, "environment"), []);
    assert!(!world.home().exists(), "it only looks");
}

#[test]
fn doctor_finds_a_home_that_cannot_be_used() {
    let world = World::new(Script::new());
    may_traverse(world.home().parent().unwrap());
    // A file instead of a directory; below a file; and a directory that may not be written.
    std::fs::write(world.home(), "a file").unwrap();
    let file = world.home().to_str().unwrap().to_owned();
    let below = format!("{file}/state");
    let closed = world.home().parent().unwrap().join("closed");
    std::fs::create_dir(&closed).unwrap();
    if rustix::process::geteuid().is_root() {
        std::os::unix::fs::chown(&closed, Some(NOBODY), Some(NOBODY)).unwrap();
    }
    std::fs::set_permissions(&closed, std::fs::Permissions::from_mode(0o500)).unwrap();
    let inside = closed.join("new");
    for home in [file.as_str(), &below, closed.to_str().unwrap(), inside.to_str().unwrap()] {
        let mut command = world.command(&["doctor", "--json"]);
        let ran = as_ordinary_user(command.env("OSTLER_HOME", home));
        assert_eq!(ran.code, Some(1), "{home}: {}", ran.stderr);
        let found = rows(&ran, "home");
        assert_eq!(found.len(), 1, "{home}: {found:?}");
        let (state, detail) = &found[0];
        assert!(state == "broken" && detail.contains(home), "{home}: {detail}");
        assert!(detail.contains("OSTLER_HOME="), "{home}: {detail}");
        // Whatever is run then says the same.
        for args in [&["-p", "go"][..], &["sessions"], &["cost"], &["snapshots", "list"], &["undo"]]
        {
            let mut command = world.command(args);
            let ran = as_ordinary_user(command.env("OSTLER_HOME", home));
            assert_ne!(ran.code, Some(0), "{home} {args:?}: {}", ran.stdout);
            assert!(ran.stderr.contains("OSTLER_HOME="), "{home} {args:?}: {}", ran.stderr);
            assert_eq!(ran.stderr.lines().count(), 1, "{home} {args:?}: {}", ran.stderr);
        }
    }
    assert_eq!(world.server.requests().len(), 0);
    std::fs::set_permissions(&closed, std::fs::Permissions::from_mode(0o700)).unwrap();
}

/// A program that said nothing about a good home before does not begin to.
#[test]
fn other_errors_do_not_speak_of_the_home() {
    let world = World::new(Script::new());
    let ran = world.run(&["-p", "go", "--add-dir", "/no/such/directory"]);
    assert_eq!(ran.code, Some(3));
    assert!(!ran.stderr.contains("OSTLER_HOME"), "{}", ran.stderr);
}

#[test]
fn doctor_finds_missing_programs_and_every_broken_file() {
    let world = World::new(Script::new());
    let empty = world.home().parent().unwrap().join("empty");
    std::fs::create_dir(&empty).unwrap();
    world.has_chosen();
    std::fs::write(world.home().join("settings.json"), "{\n  \"permissions\": {\"deny\": 5}\n}\n")
        .unwrap();
    world.file(".ostler/settings.json", "{\n\n  \"budget\": {\"day\": -1}\n}\n");
    let path = empty.to_str().unwrap();
    let wrong = [("PATH", path), ("OSTLER_COMPACT_PERCENT", "500"), ("OSTLER_MAX_RETRIES", "ten")];
    let ran = ran_with(&world, &["doctor", "--json"], &wrong);
    assert_eq!(ran.code, Some(1), "{}", ran.stderr);
    let git = rows(&ran, "git");
    assert!(git[0].0 == "missing" && git[0].1.contains("install it"), "{git:?}");
    let settings = rows(&ran, "settings");
    assert!(settings.iter().all(|(state, _)| state == "broken"), "{settings:?}");
    for place in ["home/settings.json:2: ", "project/.ostler/settings.json:3: day must be"] {
        let named = settings.iter().filter(|(_, detail)| detail.contains(place));
        assert_eq!(named.count(), 1, "{place}: {settings:?}");
    }
    let environment = rows(&ran, "environment");
    assert_eq!(environment.len(), 2, "{environment:?}");
    // The same for people, a line each.
    let ran = ran_with(&world, &["doctor"], &wrong);
    assert!(ran.stdout.contains("missing  git: not found"), "{}", ran.stdout);
    assert!(ran.stdout.contains("broken   settings: /"), "{}", ran.stdout);
    assert!(ran.stdout.contains("OSTLER_COMPACT_PERCENT=500 is out of range"), "{}", ran.stdout);
}

#[test]
fn doctor_shows_what_a_session_would_say_at_its_start() {
    let world = World::new(Script::new());
    world.has_chosen();
    std::fs::write(world.home().join("settings.json"), "{\n\"no such key\": 1}").unwrap();
    let ran = world.run(&["doctor", "--json"]);
    let found = rows(&ran, "settings");
    assert!(found[0].0 == "note" && found[0].1.contains("settings.json:2: "), "{found:?}");
    // What only shows when a run is put together.
    std::fs::write(world.home().join("prices.toml"), "not toml").unwrap();
    let found = rows(&world.run(&["doctor", "--json"]), "settings");
    assert!(found[0].0 == "broken" && found[0].1.contains("prices.toml:1"), "{found:?}");
}

const NUMBERS: [&str; 18] = [
    "OSTLER_MAX_RETRIES",
    "OSTLER_RETRY_WAIT_MS",
    "OSTLER_STREAM_BACKOFF_MS",
    "OSTLER_CONNECT_TIMEOUT_MS",
    "OSTLER_FIRST_BYTE_TIMEOUT_MS",
    "OSTLER_IDLE_TIMEOUT_MS",
    "OSTLER_MAX_OUTPUT_TOKENS",
    "CLAUDE_CODE_MAX_OUTPUT_TOKENS",
    "OSTLER_MAX_THINKING_TOKENS",
    "MAX_THINKING_TOKENS",
    "OSTLER_MAX_PARALLEL_CALLS",
    "OSTLER_SLOW_CALL_MS",
    "OSTLER_CONTEXT_WINDOW",
    "OSTLER_COMPACT_AT",
    "OSTLER_COMPACT_PERCENT",
    "OSTLER_TASK_BUDGET",
    "CLAUDE_CODE_AUTO_COMPACT_WINDOW",
    "CLAUDE_AUTOCOMPACT_PCT_OVERRIDE",
];

/// Not one of them is bent into its range, or passed over.
#[test]
fn numbers_out_of_range_are_errors() {
    let world = World::new(Script::new());
    let refused = |ran: &Ran, said: &str| {
        assert_eq!(ran.code, Some(3), "{said}: {}", ran.stderr);
        assert!(ran.stderr.contains(said), "{said}: {}", ran.stderr);
        assert_eq!(ran.stderr.lines().count(), 1, "{}", ran.stderr);
    };
    for name in NUMBERS {
        let ran = ran_with(&world, &["-p", "go"], &[(name, "-1")]);
        refused(&ran, &format!("ostler: {name}=-1 is out of range: set it to "));
    }
    for (name, value, said) in [
        (
            "OSTLER_COMPACT_PERCENT",
            "500",
            "OSTLER_COMPACT_PERCENT=500 is out of range: set it to 1 to 100",
        ),
        (
            "OSTLER_MAX_OUTPUT_TOKENS",
            "0",
            "OSTLER_MAX_OUTPUT_TOKENS=0 is out of range: set it to 1 to",
        ),
        ("OSTLER_MAX_PARALLEL_CALLS", "257", "set it to 1 to 256"),
        ("OSTLER_IDLE_TIMEOUT_MS", "0", "set it to 1 to 3600000"),
        ("OSTLER_MAX_RETRIES", "3.5", "OSTLER_MAX_RETRIES=3.5 is not a whole number"),
        ("OSTLER_MAX_THINKING_TOKENS", "500", "set it to 0, or 1024 to"),
    ] {
        refused(&ran_with(&world, &["-p", "go"], &[(name, value)]), said);
    }
    // The same from settings, under `env` or under names of their own.
    for (settings, said) in [
        (json!({"env": {"OSTLER_COMPACT_PERCENT": "500"}}), "OSTLER_COMPACT_PERCENT=500 is out"),
        (json!({"autoCompactWindow": 0}), "settings.json:1: autoCompactWindow must be a number"),
        (json!({"budget": {"day": 0}}), "settings.json:1: day must be an amount"),
        (json!({"sandbox": {"limits": {"processes": 1}}}), "must be a number of at least 16"),
    ] {
        world.has_chosen();
        std::fs::write(world.home().join("settings.json"), settings.to_string()).unwrap();
        refused(&world.run(&["-p", "go"]), said);
    }
    for (flag, value) in [("--max-turns", "0"), ("--max-budget-usd", "-1")] {
        assert_eq!(world.run(&["-p", "go", &format!("{flag}={value}")]).code, Some(2), "{flag}");
    }
    assert_eq!(world.server.requests().len(), 0);
}

/// The home directory as the workspace: it holds directories that are hidden from commands.
#[test]
fn ls_works_at_home_or_says_why_not() {
    let script =
        || Script::new().answer(calls([("Bash", json!({"command": "ls"}))])).answer(text("ok"));
    let at_home = |world: &World| {
        let home = world.home().parent().unwrap().to_owned();
        std::fs::create_dir(home.join(".ssh")).unwrap();
        home
    };
    let result =
        |world: &World| world.server.requests()[1].tool_results()[0]["content"].to_string();
    let world = World::new(script());
    let mut command = world.command(&["-p", "go"]);
    let ran = finish(command.current_dir(at_home(&world)).spawn().unwrap());
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let whole = world.run(&["doctor", "--json"]);
    let has_bubblewrap = rows(&whole, "bubblewrap").iter().all(|(state, _)| state == "ok");
    match has_bubblewrap {
        true => assert!(result(&world).contains("project"), "{}", result(&world)),
        false => assert!(result(&world).contains("cannot list"), "{}", result(&world)),
    }
    if !can_hide_bubblewrap() {
        return;
    }
    let world = World::new(script());
    let home = at_home(&world);
    world.run_without_bubblewrap_in(&home, &["-p", "go"]);
    let said = result(&world);
    assert!(said.contains("the sandbox cannot list ") && said.contains(".ssh"), "{said}");
    assert!(said.contains("install bubblewrap") && said.contains("project directory"), "{said}");
}

#[test]
fn ls_at_the_top_of_the_disk_says_why_it_is_refused() {
    let script =
        Script::new().answer(calls([("Bash", json!({"command": "ls"}))])).answer(text("ok"));
    let world = World::new(script);
    let ran = finish(world.command(&["-p", "go"]).current_dir("/").spawn().unwrap());
    let said = world.server.requests()[1].tool_results()[0]["content"].to_string();
    for part in ["the workspace is the whole disk", "start in a project directory"] {
        assert!(said.contains(part) && ran.stderr.contains(part), "{part}: {said} {}", ran.stderr);
    }
    assert!(!said.contains("of the system"), "{said}");
}

#[test]
fn explain_takes_its_own_flags_and_says_what_a_run_would_say() {
    let world = World::new(Script::new());
    let ran = world.run(&["permissions", "explain", "--nonsense"]);
    assert_eq!(ran.code, Some(2), "{}", ran.stdout);
    assert!(ran.stderr.contains("--nonsense") && ran.stdout.is_empty(), "{}", ran.stderr);
    let ran = world.run(&["permissions", "explain", "--", "--nonsense"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let args = ["permissions", "explain", "ls", "--allowedTools", "Nonsense", "--json"];
    let ran = world.run(&args);
    assert!(ran.stderr.contains("unknown tool \"Nonsense\""), "{}", ran.stderr);
    serde_json::from_str::<Value>(&ran.stdout).unwrap();
    world.has_chosen();
    std::fs::write(world.home().join("settings.json"), "{\"no such key\": 1}").unwrap();
    let ran = world.run(&["permissions", "explain", "ls"]);
    assert!(ran.stderr.contains("unknown key \"no such key\""), "{}", ran.stderr);
    if can_hide_bubblewrap() {
        let ran = world.run_without_bubblewrap(&["permissions", "explain", "make"]);
        assert!(ran.stderr.contains("sandbox: bubblewrap is missing"), "{}", ran.stderr);
        let ran = world.run_without_bubblewrap(&["permissions", "explain", "ls"]);
        assert!(!ran.stderr.contains("bubblewrap"), "reading needs none: {}", ran.stderr);
    }
}

/// Empty parentheses are a slip, not the whole tool.
#[test]
fn an_empty_rule_allows_nothing() {
    let touch = || {
        let script = Script::new().answer(calls([("Bash", json!({"command": "touch made"}))]));
        World::new(script.answer(text("ok")))
    };
    for rule in ["Bash()", "Bash( )"] {
        let world = touch();
        let ran = world.run(&["-p", "go", "--allowedTools", rule]);
        assert_eq!(ran.code, Some(2), "{rule}: {}", ran.stderr);
        assert!(ran.stderr.contains("is empty: write Bash for the whole tool"), "{}", ran.stderr);
    }
    // In a file it is left out where it loosens, and the whole tool where it tightens.
    let world = touch();
    let allow = json!({"permissions": {"allow": ["Bash()"]}}).to_string();
    let ran = world.run(&["-p", "go", "--settings", &allow]);
    assert!(ran.stderr.contains("allow rule ignored: \"Bash()\" is empty"), "{}", ran.stderr);
    assert!(!world.project().join("made").exists());
    let world = touch();
    let deny = json!({"permissions": {"deny": ["Bash()"]}}).to_string();
    let bypass = ["--permission-mode", "bypassPermissions"];
    world.run(&["-p", "go", "--settings", &deny, bypass[0], bypass[1]]);
    assert!(!world.project().join("made").exists());
}

/// The program as a model server, asked by the program and by somebody who does it wrong.
fn served(more: &[&str]) -> (Ran, String) {
    let world = World::new(Script::new());
    let script = world.file(
        "script.yaml",
        "steps:\n  - calls: [{tool: Glob, input: {pattern: \"*\"}}]\n  - {status: 529}\n  - {say: Done.}\n",
    );
    let script = script.to_str().unwrap();
    let args: Vec<&str> =
        ["model-server", "--script", script].iter().chain(more).copied().collect();
    let mut server = world.command(&args).spawn().unwrap();
    let first = read_until(&mut server, "http://");
    let url = match serde_json::from_str::<Value>(&first) {
        Ok(line) => line["url"].as_str().unwrap().to_owned(),
        Err(_) => first.trim().to_owned(),
    };
    let ran = ran_with(&world, &["-p", "go"], &[("ANTHROPIC_BASE_URL", &url)]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "Done.\n"), "{}", ran.stderr);
    let mut wrong = std::net::TcpStream::connect(url.trim_start_matches("http://")).unwrap();
    let request =
        "POST /v1/messages HTTP/1.1\r\nhost: x\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{}";
    wrong.write_all(request.as_bytes()).unwrap();
    wrong.read_to_string(&mut String::new()).unwrap();
    signal(&server, Signal::INT);
    (finish(server), first)
}

#[test]
fn the_model_server_says_what_it_was_asked() {
    let (ran, _) = served(&[]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(130), ""), "{}", ran.stderr);
    let lines: Vec<&str> = ran.stderr.lines().collect();
    let [answer, busy, last, refused, bill] = lines.as_slice() else {
        panic!("{}", ran.stderr);
    };
    for line in [answer, last] {
        assert!(line.contains("  200  session 1  scripted  in "), "{line}");
        assert!(line.contains("  out ") && line.contains("  $0.0"), "{line}");
    }
    assert!(busy.contains("  529  session 1  scripted  as scripted"), "{busy}");
    assert!(refused.contains("  401  ") && refused.contains("  refused: "), "{refused}");
    assert!(
        bill.starts_with("bill: 4 requests, 1 refused  in ") && bill.contains("  $0.0"),
        "{bill}"
    );
}

#[test]
fn the_model_server_is_quiet_or_data_if_told_so() {
    let (ran, first) = served(&["--quiet"]);
    assert_eq!((ran.stdout.as_str(), ran.stderr.as_str()), ("", ""));
    assert!(first.starts_with("http://127.0.0.1:"), "{first}");
    let (ran, _) = served(&["--json"]);
    assert_eq!(ran.stderr, "");
    let lines = ran.frames();
    let kinds: Vec<&str> = lines.iter().map(|line| line["type"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["request", "request", "request", "request", "bill"]);
    let statuses: Vec<u64> =
        lines[..4].iter().map(|line| line["status"].as_u64().unwrap()).collect();
    assert_eq!(statuses, [200, 529, 200, 401]);
    assert!(lines[3]["refused"].is_string() && lines[0]["refused"].is_null(), "{}", ran.stdout);
    // The sums are those of the rows.
    let sum =
        |key: &str| lines[..4].iter().filter_map(|line| line["usage"][key].as_u64()).sum::<u64>();
    for key in
        ["input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens"]
    {
        assert_eq!(lines[4]["usage"][key], sum(key), "{key}: {}", ran.stdout);
    }
    assert_eq!((&lines[4]["requests"], &lines[4]["refused"]), (&json!(4), &json!(1)));
    let ran =
        World::new(Script::new()).run(&["model-server", "--script", "x", "--json", "--quiet"]);
    assert_eq!(ran.code, Some(2));
}

/// A slip of the finger is not sent to a model.
#[test]
fn a_misspelt_command_is_no_prompt() {
    let world = World::new(Script::new().answer(text("hello")));
    world.has_chosen();
    let ran = world.run(&["udno"]);
    assert_eq!(ran.code, Some(2), "{}", ran.stderr);
    assert!(ran.stderr.contains("unknown command \"udno\" (did you mean \"undo\"?)"));
    let ran = world.run(&["permissions", "explain", "--nonsense"]);
    assert_eq!(ran.code, Some(2), "an unknown flag is no command to judge");
    assert!(world.server.requests().is_empty());
    assert_eq!(world.run(&["-p", "udno"]).code, Some(0), "with -p it is what was meant");
}

/// A rule on a program covers what the program changes only where that can be undone.
#[test]
fn explain_takes_no_undo() {
    let world = World::new(Script::new());
    world.file("a.txt", "a\n");
    let explained = |more: &[&str]| {
        let common =
            ["permissions", "explain", "sed -i s/a/b/ a.txt", "--allowedTools", "Bash(sed:*)"];
        world.run(&[&common[..], more].concat()).stdout
    };
    assert!(explained(&["--no-undo"]).starts_with("asks"), "{}", explained(&["--no-undo"]));
}

/// The model's fast mode: a field and a beta in the request, and its own price in the ledger.
#[test]
fn fast_mode_reaches_the_request_and_the_bill() {
    let world = World::new(Script::new().answer(text("quick")).forever());
    let ran = world.run(&["-p", "go", "--model", "opus", "--fast", "--output-format", "json"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let request = &world.server.requests()[0];
    assert_eq!(request.json()["speed"], "fast");
    assert_eq!(request.json()["model"], "claude-opus-4-8");
    assert!(request.header("anthropic-beta").unwrap().contains("fast-mode-2026-02-01"));
    let fast = ran.result()["total_cost_usd"].as_f64().unwrap();
    // With a server of its own: the prompt is long enough to be read from the cache.
    let other = World::new(Script::new().answer(text("quick")));
    let plain = other.run(&["-p", "go", "--model", "opus", "--output-format", "json"]);
    assert!(other.server.requests()[0].json().get("speed").is_none());
    let plain = plain.result()["total_cost_usd"].as_f64().unwrap();
    assert!(plain > 0.0 && (fast / plain - 2.0).abs() < 0.05, "{fast} and {plain}");
    let by_model = world.run(&["cost", "--by", "model"]);
    assert!(by_model.stdout.contains("claude-opus-4-8-fast"), "{}", by_model.stdout);
    std::fs::write(world.home().join("settings.json"), r#"{"fastMode": true}"#).unwrap();
    assert_eq!(world.run(&["-p", "go", "--model", "opus"]).code, Some(0));
    assert_eq!(world.server.requests()[1].json()["speed"], "fast");
    let ran = world.run(&["-p", "go", "--model", "haiku", "--fast"]);
    assert_eq!(ran.code, Some(2), "{}", ran.stderr);
    assert!(ran.stderr.contains("has no fast mode"), "{}", ran.stderr);
}
