//! Nothing that is printed makes a terminal do something: neither JSON nor text, neither on standard output nor on
//! standard error.

use crate::support::{Ran, World};
use ostler_model_server::{Script, calls, text};
use serde_json::{Value, json};

/// An escape sequence of one byte, of two, marks that turn text around, ends of lines, a name that hides.
const HOSTILE: &str =
    "a\u{9b}2J\u{1b}[2Jb\u{202e}c\u{2066}d\u{200f}e\u{61c}f\u{2028}g\u{85}h\u{200b}i\u{feff}j";

fn assert_tame(what: &str, printed: &str) {
    let wild = |c: char| {
        (c.is_control() && c != '\n')
            || matches!(c, '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}')
            || matches!(c, '\u{2066}'..='\u{2069}' | '\u{feff}')
    };
    let found: Vec<char> = printed.chars().filter(|c| wild(*c)).collect();
    assert!(found.is_empty(), "{what}: {found:?} in {printed:?}");
}

fn both(what: &str, ran: &Ran) {
    assert_tame(what, &ran.stdout);
    assert_tame(what, &ran.stderr);
}

fn world() -> World {
    let command = format!("echo '{HOSTILE}'");
    let script = Script::new()
        .answer(calls([
            ("Bash", json!({ "command": command })),
            ("Read", json!({ "file_path": format!("{HOSTILE}.txt") })),
            ("Write", json!({ "file_path": format!("{HOSTILE}.md"), "content": HOSTILE })),
        ]))
        .answer(text(HOSTILE))
        .forever();
    World::new(script)
}

#[test]
fn json_is_tame_and_says_the_same() {
    let world = world();
    for format in ["json", "stream-json"] {
        let ran = world.run(&[
            "-p",
            &format!("go {}", HOSTILE.replace('\u{1b}', "")),
            "--output-format",
            format,
        ]);
        both(format, &ran);
        let result = ran.stdout.lines().last().unwrap();
        let value: Value = serde_json::from_str(result).unwrap();
        assert_eq!(value["result"], HOSTILE, "the value is the same");
    }
    for args in [
        &["sessions", "--json"][..],
        &["permissions", "explain", "--json", &format!("rm '{HOSTILE}'")],
        &[
            "permissions",
            "list",
            "--json",
            "--settings",
            &json!({"permissions": {"allow": ["Read"]}}).to_string(),
        ],
        &["context", "--json"],
        &["events", "--json"],
    ] {
        let ran = world.run(args);
        both(args[0], &ran);
        for line in ran.stdout.lines() {
            assert!(serde_json::from_str::<Value>(line).is_ok(), "{args:?}: {line}");
        }
    }
}

#[test]
fn text_for_people_is_tame() {
    let world = world();
    world.file(&format!("sub/{}.md", HOSTILE.replace('/', "")), "x");
    world.file("AGENTS.md", &format!("@sub/{HOSTILE}.md @../{HOSTILE}.md"));
    world.file(
        ".claude/skills/x/SKILL.md",
        &format!("---\ndescription: \"{}\"\n---\ntext {HOSTILE}", HOSTILE.replace('\u{1b}', "")),
    );
    let ran = world.run(&["-p", "go", "--output-format", "json"]);
    both("notices", &ran);
    for args in [
        &["sessions"][..],
        &["permissions", "explain", &format!("rm '{HOSTILE}'")],
        &["permissions", "explain", "--tool", "Write", HOSTILE],
        &["skills", "list"],
        &["skills", "show", "x"],
        &["context"],
        &["events"],
        &["snapshots", "list"],
        &["undo", "--dry-run"],
    ] {
        both(&args.join(" "), &world.run(args));
    }
}
