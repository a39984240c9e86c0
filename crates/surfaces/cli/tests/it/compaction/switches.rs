//! The window and its threshold by the names that users of Claude Code have set already, and by our own.

use crate::context::is_summary;
use crate::hooks::settings;
use crate::support::{Ran, World, finish};
use ostler_model_server::{Recorded, Script, calls, status, text};
use serde_json::{Value, json};

type Variables = &'static [(&'static str, &'static str)];

fn run(world: &World, args: &[&str], variables: Variables) -> Ran {
    let mut command = world.command(args);
    finish(command.envs(variables.iter().copied()).spawn().unwrap())
}

#[test]
fn the_window_and_its_threshold_follow_the_settings() {
    let world = World::new(Script::new().answer(text("hi")));
    assert_eq!(world.go().code, Some(0));
    let none = json!({});
    let table: [(Variables, &Value, u64, u64); 12] = [
        (&[], &none, 200_000, 167_000),
        (&[("CLAUDE_CODE_AUTO_COMPACT_WINDOW", "100000")], &none, 100_000, 67_000),
        // Not more than the model has; ours is what is known better.
        (&[("CLAUDE_CODE_AUTO_COMPACT_WINDOW", "500000")], &none, 200_000, 167_000),
        (&[("OSTLER_CONTEXT_WINDOW", "500000")], &none, 500_000, 460_000),
        (
            &[("OSTLER_CONTEXT_WINDOW", "500000"), ("CLAUDE_CODE_AUTO_COMPACT_WINDOW", "400000")],
            &none,
            400_000,
            367_000,
        ),
        (&[("CLAUDE_AUTOCOMPACT_PCT_OVERRIDE", "50")], &none, 200_000, 90_000),
        // It only lowers, and what is no share changes nothing.
        (&[("CLAUDE_AUTOCOMPACT_PCT_OVERRIDE", "99.5")], &none, 200_000, 167_000),
        (&[("CLAUDE_AUTOCOMPACT_PCT_OVERRIDE", "0")], &none, 200_000, 167_000),
        (&[("OSTLER_COMPACT_PERCENT", "50")], &none, 200_000, 100_000),
        (&[("OSTLER_COMPACT_AT", "120000")], &none, 200_000, 120_000),
        (&[], &json!({ "autoCompactWindow": 150_000 }), 150_000, 117_000),
        (
            &[("CLAUDE_CODE_AUTO_COMPACT_WINDOW", "100000")],
            &json!({ "autoCompactWindow": 150_000 }),
            100_000,
            67_000,
        ),
    ];
    for (variables, file, window, threshold) in &table {
        settings(&world, file);
        let ran = run(&world, &["context", "--json"], variables);
        let report: Value = serde_json::from_str(&ran.stdout).unwrap_or_else(|_| panic!("{ran:?}"));
        let found = (report["window"].as_u64(), report["threshold"].as_u64());
        assert_eq!(found, (Some(*window), Some(*threshold)), "{variables:?} {file}");
    }
    // As `env` of the user's settings.
    let env = json!({ "env": { "CLAUDE_AUTOCOMPACT_PCT_OVERRIDE": "50" } });
    settings(&world, &env);
    let report: Value = serde_json::from_str(&world.run(&["context", "--json"]).stdout).unwrap();
    assert_eq!(report["threshold"], 90_000);
    settings(&world, &none);
    for name in ["CLAUDE_AUTOCOMPACT_PCT_OVERRIDE", "CLAUDE_CODE_AUTO_COMPACT_WINDOW"] {
        let mut command = world.command(&["context", "--json"]);
        let ran = finish(command.env(name, "much").spawn().unwrap());
        assert_eq!(ran.code, Some(3), "{ran:?}");
        assert!(ran.stderr.contains(&format!("{name}=much is not a number")), "{}", ran.stderr);
    }
}

/// Work that the provider refuses after four calls, unless it was summarized.
fn refusing(request: &Recorded) -> ostler_model_server::Reply {
    if is_summary(request) {
        return text("# Summary\nshort");
    }
    let summed = request.json()["messages"].to_string().contains("<summary>");
    let done = request.messages().iter().filter(|m| m["role"] == "assistant").count();
    match done {
        _ if summed => text("done"),
        4.. => status(413),
        n => calls([("Glob", json!({ "pattern": format!("{n} {}", "x".repeat(900)) }))]),
    }
}

#[test]
fn what_is_switched_off_does_not_happen() {
    const ON: &str = "completed";
    const OFF: &str = "prompt_too_long";
    let none = json!({});
    let off = json!({ "autoCompactEnabled": false });
    let table: [(Variables, &Value, &str, bool); 9] = [
        (&[], &none, ON, true),
        (&[("DISABLE_AUTO_COMPACT", "1")], &none, OFF, true),
        (&[("DISABLE_AUTO_COMPACT", "true")], &none, OFF, true),
        (&[("DISABLE_AUTO_COMPACT", "false")], &none, ON, true),
        (&[("OSTLER_DISABLE_AUTO_COMPACT", "yes")], &none, OFF, true),
        (&[("DISABLE_COMPACT", "1")], &none, OFF, false),
        (&[("DISABLE_COMPACT", "0")], &none, ON, true),
        (&[("OSTLER_DISABLE_COMPACT", "1")], &none, OFF, false),
        (&[], &off, OFF, true),
    ];
    for (variables, file, end, on_request) in &table {
        let world = World::new(Script::new().by(refusing).forever());
        settings(&world, file);
        let go = [
            "-p",
            "go",
            "--output-format",
            "stream-json",
            "--permission-mode",
            "bypassPermissions",
        ];
        let ran = run(&world, &go, variables);
        assert_eq!(ran.terminal(), *end, "{variables:?} {file}");
        if *end == ON {
            continue;
        }
        assert_eq!(world.server.requests().len(), 5, "{variables:?} {file}: nothing unasked");
        let ran = run(&world, &["-p", "/compact", "--continue"], variables);
        assert_eq!(ran.code, Some(0), "{variables:?} {file}: {ran:?}");
        let said = ran.stdout.contains("summaries are switched off");
        assert_eq!(said, !on_request, "{variables:?} {file}: {}", ran.stdout);
        assert_eq!(world.server.requests().len(), 5 + usize::from(*on_request));
    }
}
