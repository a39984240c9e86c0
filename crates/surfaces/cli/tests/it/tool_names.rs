//! Names of tools in flags and settings: a mistake is told before anything is sent, names of other programs are not.

use crate::support::{Ran, World};
use ostler_model_server::{Script, text};
use serde_json::json;

fn world() -> World {
    World::new(Script::new().answer(text("Done.")).forever())
}

fn go(world: &World, more: &[&str]) -> Ran {
    let mut args = vec!["-p", "go", "--output-format", "json"];
    args.extend(more);
    world.run(&args)
}

#[test]
fn a_mistake_in_a_flag_is_an_error_with_the_right_name() {
    let world = world();
    for flag in ["--allowedTools", "--disallowedTools", "--tools"] {
        for (name, meant) in [("Bsah", "Bash"), ("bash", "Bash"), ("Read,Wriet", "Write")] {
            let ran = go(&world, &[flag, name]);
            let wrong = name.rsplit(',').next().unwrap();
            let told = format!("unknown tool \"{wrong}\" (did you mean \"{meant}\"?)");
            assert_eq!(ran.code, Some(2), "{flag} {name}: {}", ran.stderr);
            assert!(ran.stderr.contains(&told), "{flag} {name}: {}", ran.stderr);
        }
    }
    let ran = go(&world, &["--disallowedTools", "Reed(./.env)"]);
    assert!(ran.code == Some(2) && ran.stderr.contains("\"Read\""), "{}", ran.stderr);
    assert_eq!(world.server.requests().len(), 0);
}

#[test]
fn names_of_other_programs_are_accepted_and_unknown_ones_are_warned_about() {
    let world = world();
    // Two of them are ours as well.
    let elsewhere = "WebFetch,WebSearch,NotebookEdit,NotebookRead,MultiEdit,LS,BashOutput,KillShell,KillBash,\
        ExitPlanMode,EnterPlanMode,AskUserQuestion,SlashCommand,TodoRead,ListMcpResourcesTool,ReadMcpResourceTool,\
        mcp__github__create_issue,mcp__x";
    for flag in ["--allowedTools", "--disallowedTools", "--tools"] {
        let ran = go(&world, &[flag, &format!("Read,{elsewhere}")]);
        assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{flag}");
        // One of ours, by the names of another program.
        let ran = go(&world, &[flag, "Read,Task,Agent(Explore)"]);
        assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{flag}");
        let ran = go(&world, &[flag, "Read,Deploy,Deploy"]);
        assert_eq!(ran.code, Some(0), "{flag}: {}", ran.stderr);
        assert_eq!(ran.stderr.matches("unknown tool \"Deploy\"").count(), 1, "{}", ran.stderr);
    }
    let tools = |request: usize| {
        let tools = world.server.requests()[request].json()["tools"].clone();
        tools.as_array().map(Vec::len).unwrap_or_default()
    };
    let before = world.server.requests().len();
    go(&world, &["--tools", &format!("Read,{elsewhere}")]);
    go(&world, &["--tools", "default"]);
    go(&world, &["--tools", "Read,Task"]);
    assert_eq!((tools(before), tools(before + 2)), (3, 2));
    assert!(tools(before + 1) > 5);
}

/// A restriction must not be lost by a mistake; an allow rule that is lost only asks more.
#[test]
fn mistakes_in_settings() {
    for (list, code) in [("deny", 3), ("ask", 3), ("allow", 0)] {
        let world = world();
        let settings = json!({"permissions": {list: ["Bsah(rm:*)", "WebSearch", "mcp__x"]}});
        let ran = go(&world, &["--settings", &settings.to_string()]);
        assert_eq!(ran.code, Some(code), "{list}: {}", ran.stderr);
        let told = "unknown tool \"Bsah\" (did you mean \"Bash\"?)";
        assert_eq!(ran.stderr.matches(told).count(), 1, "{list}: {}", ran.stderr);
        assert!(!ran.stderr.contains("WebSearch"), "{list}: {}", ran.stderr);
    }
    let world = world();
    std::fs::create_dir_all(world.home()).unwrap();
    let rules = "always_deny:\n  - rule: \"Raed(./.env)\"\n";
    std::fs::write(world.home().join("permissions.yaml"), rules).unwrap();
    let ran = go(&world, &[]);
    assert!(ran.code == Some(3) && ran.stderr.contains("permissions.yaml:2"), "{}", ran.stderr);
    assert!(ran.stderr.contains("did you mean \"Read\"?"), "{}", ran.stderr);
}
