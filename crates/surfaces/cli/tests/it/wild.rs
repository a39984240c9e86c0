//! Projects as people have them: settings, commands, agents and servers of another program.

use crate::hooks::{last_result, write_call};
use crate::support::World;
use ostler_model_server::{Script, text};

fn fixture(name: &str) -> String {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../fixtures/wild");
    std::fs::read_to_string(format!("{folder}/{name}")).unwrap()
}

fn answers() -> Script {
    Script::new().answer(text("ok")).forever()
}

/// The program itself over every file: it starts, says what it left out, or refuses with exit code 3.
#[test]
fn the_program_starts_unless_a_restriction_would_be_lost() {
    let world = World::new(Script::new());
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../fixtures/wild/settings");
    for line in fixture("settings.tsv").lines() {
        let mut fields = line.split('\t');
        let mut next = || fields.next().unwrap_or_default();
        let (file, result, said) = (next(), next(), next());
        let ran = world.run(&["permissions", "list", "--settings", &format!("{folder}/{file}")]);
        let code = if result == "refused" { 3 } else { 0 };
        assert_eq!(ran.code, Some(code), "{file}: {}", ran.stderr);
        assert!(ran.stderr.contains(said), "{file}: {}", ran.stderr);
    }
}

/// A warning is shown at the first start, and again only when it is another one.
#[test]
fn a_start_warns_once() {
    let world = World::new(answers());
    world.file(".claude/settings.json", &fixture("settings/quote-left-open.json"));
    world.file(".claude/agents/reviewer.md", "---\nname: reviewer\n---\nReview.");
    world.file(".mcp.json", r#"{"mcpServers": {"a": {"command": "x"}, "b": {"command": "y"}}}"#);
    let start = |args: &[&str]| {
        let ran = world.run(&[&["-p", "hi"], args].concat());
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        ran.stderr
    };
    let said = [
        "settings.json:4: allow rule ignored: \"Bash(git commit -m ' *)\": a quote is not closed",
        ".claude/agents/reviewer.md: it has no description",
    ];
    let shown = |stderr: &str| said.iter().filter(|part| stderr.contains(*part)).count();
    let first = start(&[]);
    assert_eq!(shown(&first), said.len(), "{first}");
    // Not a second time, trusted or not.
    assert_eq!(shown(&start(&[])), 0);
    assert_eq!(shown(&start(&["--trust"])), 0);
    // Whoever looks is told.
    let listed = world.run(&["permissions", "list"]).stderr;
    assert_eq!(shown(&listed), said.len(), "{listed}");
    world.file(".claude/agents/second.md", "x");
    let third = start(&[]);
    assert_eq!(shown(&third), 0, "only what changed: {third}");
    assert!(third.contains(".claude/agents/second.md: it has no front matter"), "{third}");
}

/// A guard that is not understood blocks the calls it was to judge, and says why.
#[test]
fn a_guard_that_is_not_understood_blocks() {
    let world = World::new(write_call("made"));
    let guard = fixture("settings/guard-without-its-list.json").replace("\"Bash\"", "\"Write\"");
    world.file(".claude/settings.json", &guard);
    let ran = world.run(&["-p", "hi", "--trust", "--permission-mode", "acceptEdits"]);
    assert!(!world.project().join("made").exists(), "{}", ran.stderr);
    let told = last_result(&world);
    assert!(told.contains("an invalid hook") && told.contains("is missing"), "{told}");
}

/// Commands in directories, a skill with an underscore and one that allows everything.
#[test]
fn commands_and_skills_of_other_programs_load() {
    let world = World::new(answers());
    world.file(".claude/commands/team/deploy.md", "Deploy $ARGUMENTS.");
    world.file(".claude/commands/deep/er/check.md", "Check it.");
    world.file(".claude/skills/_shared/SKILL.md", "---\ndescription: Shared.\n---\nShare.");
    world.file(
        ".claude/skills/free/SKILL.md",
        "---\ndescription: Free.\nallowed-tools: *\n---\nDo anything.",
    );
    world.file(".claude/skills/group/lost/SKILL.md", "---\ndescription: Lost.\n---\nLost.");
    let ran = world.run(&["-p", "/team:deploy the site"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let told = world.server.requests()[0].json()["messages"].to_string();
    assert!(told.contains("Deploy the site."), "{told}");
    for line in ["- team:deploy: ", "- deep:er:check: ", "- _shared: Shared.", "- free: Free."] {
        assert!(told.contains(line), "{line}: {told}");
    }
    for said in ["allowed-tools: * would allow every tool", "group/lost/SKILL.md:1: not loaded"] {
        assert!(ran.stderr.contains(said), "{said}: {}", ran.stderr);
    }
    assert_eq!(world.run(&["-p", "/_shared"]).code, Some(0));
}
