//! `ostler permissions …`, and the files and flags that say what may run.

use crate::support::{Ran, World, finish};
use ostler_model_server::{Script, calls, text};
use serde_json::{Value, json};
use std::io::Write;
use std::process::Stdio;

fn world() -> World {
    World::new(Script::new())
}

fn user_file(world: &World, name: &str, text: &str) {
    std::fs::create_dir_all(world.home()).unwrap();
    std::fs::write(world.home().join(name), text).unwrap();
}

fn piped(world: &World, args: &[&str], input: &str) -> Ran {
    let mut child = world.command(args).stdin(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let input = input.to_owned();
    let writer = std::thread::spawn(move || stdin.write_all(input.as_bytes()).unwrap());
    let ran = finish(child);
    writer.join().unwrap();
    ran
}

#[test]
fn explain_tells_the_commands_the_verdict_the_rule_and_a_way() {
    let world = world();
    let rules = "ask_user:\n  - pattern: \"^rm \"\n    reason: \"Deletes files\"\n";
    user_file(&world, "permissions.yaml", rules);
    let ran = world.run(&["permissions", "explain", "timeout 5 cat a && rm b"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let place = format!("({}:2)", world.home().join("permissions.yaml").display());
    for line in [
        "asks  Bash timeout 5 cat a && rm b  (mode default)\n",
        "\ncommands\n  timeout 5 cat a",
        "\n    cat a",
        "only reads",
        "\n  rm b",
        &format!("changes b → {}", world.project().join("b").display()),
        "rm b: the ask rule ^rm  covers it: Deletes files",
        &place,
        "to allow it\n  change the rule that asks",
    ] {
        assert!(ran.stdout.contains(line), "{line:?} is missing in\n{}", ran.stdout);
    }
    assert!(!ran.stdout.contains('\u{1b}'), "no terminal, no colours");

    let ran = world.run(&["permissions", "explain", "--json", "cargo test"]);
    let told: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!((&told["decision"], &told["tool"]), (&json!("ask"), &json!("Bash")));
    assert_eq!(told["offer"], json!(["Bash(cargo test:*)"]));
    assert_eq!(told["access"]["runs"]["steps"][0]["words"][0], json!({"literal": "cargo"}));

    let mode = ["--permission-mode", "bypassPermissions"];
    let ran = world.run(&["permissions", "explain", "cargo test", mode[0], mode[1]]);
    assert!(ran.stdout.starts_with("allowed  Bash cargo test  (mode bypass"), "{}", ran.stdout);
    let ran = world.run(&["permissions", "explain", "--tool", "Read", "/etc/passwd"]);
    assert!(ran.stdout.starts_with("asks  Read /etc/passwd"), "{}", ran.stdout);
    assert!(ran.stdout.contains("outside the workspace"), "{}", ran.stdout);
}

#[test]
fn check_answers_every_case_and_names_bad_lines() {
    let world = world();
    let case = |id: Value, tool: &str, input: Value, rules: Value| json!({"id": id, "tool": tool, "input": input, "rules": rules, "more": "ignored"});
    let read = json!({"path": "README.md"});
    let cases = [
        (case(json!("a"), "read", read.clone(), json!("seed")), "allow"),
        (case(json!(2), "bash", json!({"command": "sudo id"}), json!("seed")), "deny"),
        (case(json!("c"), "bash", json!({"command": "sudo id"}), json!("default")), "deny"),
        (case(json!("d"), "bash", json!({"cmd": "ls"}), json!({"allow": ["Bash"]})), "ask"),
        (case(json!("e"), "read", read.clone(), json!({"alow": []})), "ask"),
        (case(json!("f"), "read", read, json!("nobody")), "ask"),
        (
            case(json!("g"), "bash", json!({"command": "ls"}), json!({"allow": ["Bash(ls:*)"]})),
            "allow",
        ),
    ];
    let mut input: Vec<String> = cases.iter().map(|(case, _)| case.to_string()).collect();
    input.insert(3, "{\"id\": \"broken\", ".into());
    let ran = piped(&world, &["permissions", "check", "--batch"], &input.join("\n"));
    assert_eq!(ran.code, Some(2));
    assert_eq!(ran.stderr.lines().count(), 1, "{}", ran.stderr);
    assert!(ran.stderr.contains("line 4 is not a valid case"), "{}", ran.stderr);
    let answers = ran.frames();
    assert_eq!(answers.len(), cases.len());
    for ((case, expected), answer) in cases.iter().zip(&answers) {
        assert_eq!((&answer["id"], &answer["decision"]), (&case["id"], &json!(expected)));
        assert!(!answer["reasons"].as_array().unwrap().is_empty(), "{answer}");
    }
    // The same from a file, without the broken line.
    input.remove(3);
    let file = world.file("cases.jsonl", &input.join("\n"));
    let ran = world.run(&["permissions", "check", "--batch", "--file", file.to_str().unwrap()]);
    assert_eq!((ran.code, ran.frames()), (Some(0), answers));
    let ran = world.run(&["permissions", "check", "--batch", "--file", "absent"]);
    assert_eq!(ran.code, Some(2), "{}", ran.stderr);
}

#[test]
fn the_default_rules_can_be_printed_and_used_as_a_file() {
    let world = world();
    let printed = world.run(&["permissions", "default"]);
    assert_eq!(printed.code, Some(0));
    let before = world.run(&["permissions", "list"]);
    assert!(before.stdout.contains("the built-in rules"), "{}", before.stdout);
    // As its head says: shipped, its ask rules give way to modes; copied, they hold.
    assert!(printed.stdout.contains("give way to your allow rules and modes"));
    let bypassed = || {
        let args = ["permissions", "explain", "npm ci", "--permission-mode", "bypassPermissions"];
        world.run(&args).stdout
    };
    assert!(bypassed().starts_with("allowed"), "{}", bypassed());
    user_file(&world, "permissions.yaml", &printed.stdout);
    assert!(bypassed().starts_with("asks"), "{}", bypassed());
    let after = world.run(&["permissions", "list", "--json"]);
    assert_eq!(after.code, Some(0), "{}", after.stderr);
    let rules = after.frames();
    assert!(rules.len() > 5);
    let file = world.home().join("permissions.yaml");
    for rule in rules {
        assert_eq!(rule["source"]["tier"], "user", "{rule}");
        assert_eq!(rule["source"]["file"], json!(file));
        assert!(rule["source"]["line"].as_u64().is_some() && rule["in_force"] == json!(true));
    }
}

#[test]
fn a_file_that_is_wrong_stops_the_start_with_its_line() {
    let world = world();
    user_file(
        &world,
        "permissions.yaml",
        "always_deny:\n  - pattern: \"ok\"\n  - pattern: \"(\"\n",
    );
    for args in [
        &["-p", "go"][..],
        &["permissions", "list"],
        &["permissions", "explain", "ls"],
        &["-p", "go", "--output-format", "json"],
    ] {
        let ran = world.run(args);
        assert_eq!(ran.code, Some(3), "{args:?}: {}", ran.stderr);
        assert!(ran.stderr.contains("permissions.yaml:3: "), "{args:?}: {}", ran.stderr);
        assert_eq!(ran.stderr.lines().count(), 1, "{}", ran.stderr);
    }
    let told = world.run(&["-p", "go", "--output-format", "json"]).result();
    assert_eq!(told["is_error"], json!(true), "{told}");
    assert_eq!(world.server.requests().len(), 0);

    let ran = world.run(&["-p", "go", "--settings", "{\"permissions\": 3}"]);
    assert_eq!(ran.code, Some(3), "{}", ran.stderr);
    let ran = world.run(&["-p", "go", "--setting-sources", "user,nobody"]);
    assert_eq!(ran.code, Some(2), "{}", ran.stderr);
    let mut command = world.command(&["-p", "go"]);
    command.env("CLAUDE_CONFIG_DIR", "here");
    let ran = finish(command.spawn().unwrap());
    assert_eq!(ran.code, Some(3), "{}", ran.stderr);
}

/// One write, asked for by the model; whether it was made.
fn writes(prepare: impl Fn(&World), args: &[&str]) -> bool {
    let write = json!({"file_path": "made", "content": "x"});
    let world = World::new(Script::new().answer(calls([("Write", write)])).answer(text("Done.")));
    prepare(&world);
    let mut all = vec!["-p", "go"];
    all.extend(args);
    let ran = world.run(&all);
    let made = world.project().join("made").exists();
    assert_eq!(ran.code, Some(if made { 0 } else { 4 }), "{}", ran.stderr);
    made
}

#[test]
fn modes_and_rules_come_from_settings_and_flags() {
    let accepts = |world: &World| {
        user_file(world, "settings.json", "{\"permissions\": {\"defaultMode\": \"acceptEdits\"}}");
    };
    let nothing = |_: &World| {};
    let claude = |world: &World| {
        let folder = world.project().parent().unwrap().join(".claude");
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("settings.json"), "{\"permissions\": {\"allow\": [\"Write\"]}}")
            .unwrap();
    };
    let allows = "{\"permissions\": {\"allow\": [\"Edit(./made)\"]}}";
    assert!(!writes(nothing, &[]));
    assert!(writes(accepts, &[]));
    assert!(!writes(accepts, &["--permission-mode", "default"]), "the flag is nearer");
    assert!(!writes(accepts, &["--setting-sources", "project,local"]));
    assert!(writes(claude, &[]));
    assert!(writes(nothing, &["--settings", allows]));
    let file = |world: &World| {
        world.file("s.json", allows);
    };
    assert!(writes(file, &["--settings", "s.json"]));
    assert!(writes(nothing, &["--allowedTools", "Edit(./made)"]));
    assert!(!writes(nothing, &["--allowedTools", "Edit(./other)"]));
}

#[test]
fn rules_on_commands_allow_them_and_settings_set_their_environment() {
    let script = || {
        let call = json!({"command": "printenv GREETING OSTLER_X MY_TOKEN ANTHROPIC_API_KEY"});
        Script::new().answer(calls([("Bash", call)])).answer(text("Done."))
    };
    let env = json!({"env": {"GREETING": "hello there", "MY_TOKEN": "t0p", "OSTLER_X": "1"}});
    for (rule, runs) in [("Bash(printenv:*)", true), ("Bash(printenv GREETING)", false)] {
        let world = World::new(script());
        user_file(&world, "settings.json", &env.to_string());
        let ran = world.run(&["-p", "go", "--allowedTools", rule]);
        assert_eq!(ran.code, Some(if runs { 0 } else { 4 }), "{}", ran.stderr);
        let result = world.server.requests()[1].tool_results()[0].to_string();
        assert_eq!(result.contains("hello there"), runs, "{result}");
        assert!(!result.contains("t0p") && !result.contains("test-key"), "{result}");
    }
}

#[test]
fn list_says_which_rules_are_shipped_and_what_is_odd() {
    let world = world();
    let ran = world.run(&["permissions", "list"]);
    let mark = "  ^rm   (built in: gives way to your allow rules and modes)  Deletes files\n";
    assert!(ran.stdout.contains(mark), "{}", ran.stdout);
    assert!(ran.stdout.contains("  sudo  (the built-in rules)"), "{}", ran.stdout);
    assert!(!ran.stdout.contains("replaces") && ran.stderr.is_empty(), "{}", ran.stderr);

    // Even an empty file of the user's own takes their place.
    user_file(&world, "permissions.yaml", "version: 1\n");
    let settings = json!({
        "permissions": {"allow": ["Bash"]}, "unheard": 1,
        "statusLine": {"command": "x"},
    });
    user_file(&world, "settings.json", &settings.to_string());
    let ran = world.run(&["permissions", "list"]);
    let file = world.home().join("permissions.yaml");
    let replaced = format!("{} replaces the built-in rules", file.display());
    assert!(ran.stdout.starts_with(&replaced), "{}", ran.stdout);
    for line in ["allows everything", "statusLine is not supported yet", "unknown key \"unheard\""]
    {
        assert!(ran.stderr.contains(line), "{line}: {}", ran.stderr);
    }
    let ran = world.run(&["permissions", "list", "--json"]);
    assert_eq!(ran.frames().len(), 1, "{}", ran.stdout);
    assert!(ran.stderr.contains("allows everything"), "{}", ran.stderr);
    // They hold again where the user's files are left out.
    let ran = world.run(&["permissions", "list", "--setting-sources", "project"]);
    assert!(ran.stdout.contains(mark) && !ran.stdout.contains("replaces"), "{}", ran.stdout);
}

#[test]
fn a_denial_says_what_to_change() {
    let world = world();
    user_file(&world, "permissions.yaml", "default: deny\ndeny: ['Bash(make:*)']\n");
    let explained = |args: &[&str]| {
        let mut all = vec!["permissions", "explain"];
        all.extend(args);
        world.run(&all).stdout
    };
    let shown = explained(&["cargo test"]);
    assert!(shown.starts_with("denied"), "{shown}");
    assert!(shown.contains("to allow it\n  write a rule that allows it; the default"), "{shown}");
    let place = format!("({}:2)", world.home().join("permissions.yaml").display());
    let shown = explained(&["make all"]);
    assert!(shown.contains(&format!("change Bash(make:*) {place}, which denies it")), "{shown}");
    let shown = explained(&["--json", "--tool", "Bash", "{\"command\": \"make all\"}"]);
    let told: Value = serde_json::from_str(&shown).unwrap();
    assert_eq!(told["input"], json!({"command": "make all"}));

    let call = json!({"command": "make all"});
    let world = World::new(Script::new().answer(calls([("Bash", call)])).answer(text("Done.")));
    user_file(&world, "permissions.yaml", "deny: ['Bash(make:*)']\n");
    let place = format!("(see {}:1)", world.home().join("permissions.yaml").display());
    let ran = world.run(&["-p", "go"]);
    assert_eq!(ran.code, Some(4), "{}", ran.stderr);
    assert!(ran.stderr.contains(&place), "{}", ran.stderr);
    assert!(!ran.stderr.contains("--allowedTools"), "{}", ran.stderr);
}
