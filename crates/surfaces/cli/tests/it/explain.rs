//! `ostler permissions explain` answers what a run decides: the same calls, in the same project, go through both.

use crate::support::{Ran, World, can_hide_bubblewrap};
use ostler_model_server::{Script, calls, text};
use serde_json::{Value, json};
use std::os::unix::fs::symlink;
use std::process::Command;

/// Commands of every kind: proved, allowed by a rule, denied, asked about for each reason there is.
const COMMANDS: [&str; 41] = [
    "ls",
    "cat a.txt",
    "cat .env",
    "cat notes.md",
    "cat /etc/hostname",
    "cat ~/.ssh/id_rsa",
    "git status",
    "git log --oneline",
    "git commit -m x",
    "git push",
    "git config core.hooksPath x",
    "make lint",
    "make test",
    "make clean",
    "rm a.txt",
    "rm -rf build",
    "rm -rf target",
    "rm -rf .git",
    "rm -rf /",
    "git clean -fdx",
    "touch new",
    "echo x > a.txt",
    "echo x > .git/config",
    "echo x > ../outside",
    "mkdir -p a/b",
    "sed -i s/a/b/ a.txt",
    "curl https://example.com",
    "sudo id",
    "python3 -c 'print(1)'",
    "bash -c 'ls'",
    "eval $x",
    "echo $(ls)",
    "./run.sh",
    "cargo build",
    "terraform destroy",
    "find . -name '*.rs'",
    "find . -delete",
    "grep -r x .",
    "cd sub && ls",
    "if true; then ls; fi",
    "npm install x",
];

fn inputs() -> Vec<(&'static str, Value)> {
    let bash = COMMANDS.iter().map(|command| ("Bash", json!({ "command": command })));
    let lifted = json!({"command": "touch x", "dangerouslyDisableSandbox": true});
    let others = [
        ("Bash", lifted),
        ("Read", json!({"file_path": "a.txt"})),
        ("Read", json!({"file_path": ".env"})),
        ("Read", json!({"file_path": "notes.md"})),
        ("Read", json!({"file_path": "/etc/hostname"})),
        ("Write", json!({"file_path": "new.txt", "content": "x"})),
        ("Write", json!({"file_path": ".git/hooks/pre-commit", "content": "x"})),
        ("Grep", json!({"pattern": "x"})),
        ("Glob", json!({"pattern": "../*"})),
    ];
    bash.chain(others).collect()
}

fn world() -> World {
    let script = Script::new().answer(calls(inputs())).answer(text("Done."));
    let world = World::new(script);
    let rules = "always_deny:\n  - pattern: \"terraform destroy\"\nask_user:\n  - pattern: \"^cargo build\"\n  \
        - pattern: \"\\\\.env\"\nalways_allow:\n  - rule: \"Bash(make:*)\"\n  - rule: \"Bash(rm:*)\"\n  - rule: \"Bash(touch:*)\"\n  - rule: \"Bash(sed:*)\"\n  - rule: \"Bash(python3:*)\"\n  - rule: \"Bash(echo:*)\"\n";
    std::fs::create_dir_all(world.home()).unwrap();
    std::fs::write(world.home().join("permissions.yaml"), rules).unwrap();
    for name in ["a.txt", ".env", "sub/x", "build/out", "run.sh", "Makefile"] {
        world.file(name, "all:\n");
    }
    let mut git = Command::new("git");
    assert!(git.args(["init", "-q"]).current_dir(world.project()).status().unwrap().success());
    symlink(".env", world.project().join("notes.md")).unwrap();
    // More than undo keeps of a build directory.
    let big = std::fs::File::create(world.file("target/file", "")).unwrap();
    big.set_len(40 << 20).unwrap();
    world
}

type Runner<'a> = &'a dyn Fn(&World, &[&str]) -> Ran;

/// What the run would put on record: nobody is there to ask, so a question ends as a refusal.
fn record(explained: &Value) -> (String, String) {
    let mut said: Vec<String> = Vec::new();
    for reason in explained["reasons"].as_array().unwrap() {
        let why = reason["why"].as_str().unwrap();
        let text = reason["part"].as_str().map_or(why.to_owned(), |part| format!("{part}: {why}"));
        if !said.contains(&text) {
            said.push(text);
        }
    }
    let why = said.join("; ");
    match explained["decision"].as_str().unwrap() {
        "ask" => ("deny".into(), format!("{why}, and nobody is there to ask")),
        verdict => (verdict.into(), why),
    }
}

/// Both ways, call by call. Gives the reasons of explain.
fn compare(run: Runner<'_>, more: &[&str]) -> Vec<String> {
    let world = world();
    let explain = |(tool, input): &(&str, Value)| {
        let input = input.to_string();
        let mut args = vec!["permissions", "explain", "--json", "--tool", tool, &input];
        args.extend(more);
        let ran = run(&world, &args);
        let told = serde_json::from_str::<Value>(&ran.stdout);
        record(&told.unwrap_or_else(|error| panic!("{error}: {input}: {}", ran.stderr)))
    };
    let explained: Vec<(String, String)> = inputs().iter().map(explain).collect();
    let mut args = vec!["-p", "go", "--output-format", "stream-json"];
    args.extend(more);
    run(&world, &args);
    let mut decided = vec![None; explained.len()];
    for entry in world.entries().iter().filter(|entry| entry["fact"] == "decided") {
        let number = entry["call"].as_str().unwrap().trim_start_matches("toolu_");
        let text = |key: &str| entry[key].as_str().unwrap().to_owned();
        decided[number.parse::<usize>().unwrap() - 1] = Some((text("verdict"), text("why")));
    }
    for ((input, explained), decided) in inputs().iter().zip(&explained).zip(&decided) {
        assert_eq!(decided.as_ref(), Some(explained), "{input:?} {more:?}");
    }
    explained.into_iter().map(|(_, why)| why).collect()
}

fn has(all: &[String], part: &str) -> bool {
    all.iter().any(|why| why.contains(part))
}

#[test]
fn explain_says_what_a_run_decides() {
    let run: Runner<'_> = &|world, args| world.run(args);
    let why = compare(run, &[]);
    for part in ["it is proved to be", "undo does not cover", "outside the sandbox", "deny rule"] {
        assert!(has(&why, part), "the table covers it: {part}");
    }
    // Rules on programs cover their changes where the whole sandbox holds them.
    let held = has(&why, "undo can revert it");
    assert!(held || has(&why, "bubblewrap is missing") || has(&why, "cannot run commands"));
    let off = compare(run, &["--no-sandbox"]);
    assert!(has(&off, "but the sandbox is off") && !has(&off, "undo can revert it"));
    compare(run, &["--permission-mode", "plan"]);
    compare(run, &["--permission-mode", "acceptEdits", "--disallowedTools", "Read(./.env)"]);
}

#[test]
fn explain_says_what_a_run_decides_without_bubblewrap() {
    if !can_hide_bubblewrap() {
        return;
    }
    let run: Runner<'_> = &|world, args| world.run_without_bubblewrap(args);
    assert!(has(&compare(run, &[]), "bubblewrap is missing"));
    // Accepted or not, rules on programs do not lean on a layer that is not there.
    let accepted = compare(run, &["--accept-missing-layers"]);
    let (missing, leans) = ("bubblewrap is missing", "undo covers it, but bubblewrap is missing");
    assert!(has(&accepted, leans) && !has(&accepted, "undo can revert it"));
    assert!(!accepted.iter().any(|why| why.contains(missing) && !why.contains(leans)));
}

/// Hooks are named, because they may still object; a denied call never reaches them.
#[test]
fn explain_names_the_hooks() {
    let world = world();
    let hook = json!([{"matcher": "Bash", "hooks": [{"type": "command", "command": "exit 2"}]}]);
    let settings = json!({"hooks": {"PreToolUse": hook}});
    std::fs::write(world.home().join("settings.json"), settings.to_string()).unwrap();
    let told = |call: &str| world.run(&["permissions", "explain", call]).stdout;
    assert!(told("ls").contains("hooks that run first and can object"), "{}", told("ls"));
    assert!(!told("terraform destroy").contains("hooks that are asked"));
    let ran = world.run(&["permissions", "explain", "--json", "--tool", "Read", "a.txt"]);
    assert_eq!(serde_json::from_str::<Value>(&ran.stdout).unwrap()["hooks"], json!([]));
}

/// To ask is not to do: a home that does not exist is not made.
#[test]
fn explain_makes_no_home() {
    let world = World::new(Script::new());
    let ran = world.run(&["permissions", "explain", "touch x"]);
    assert!(ran.stdout.starts_with("asks  Bash touch x"), "{}{}", ran.stdout, ran.stderr);
    assert!(!world.home().exists());
}
