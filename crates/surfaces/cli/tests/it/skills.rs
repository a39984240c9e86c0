//! Skills: typed, called, trusted, found while we run, and broken.

use crate::hooks::{command, hook, settings};
use crate::repl::{quit, start};
use crate::support::{Ran, World};
use ostler_model_server::{Script, calls, text};
use serde_json::{Value, json};

fn answers() -> Script {
    Script::new().answer(text("ok")).forever()
}

fn told(world: &World, request: usize) -> String {
    world.server.requests()[request].json()["messages"].to_string()
}

/// A skill of the user.
fn own(world: &World, name: &str, text: &str) {
    let folder = world.home().join("skills").join(name);
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("SKILL.md"), text).unwrap();
}

fn results(world: &World, request: usize) -> Vec<(bool, String)> {
    let requests = world.server.requests();
    let results = requests[request].tool_results();
    let one = |result: &&Value| {
        let error = result["is_error"].as_bool().unwrap_or_default();
        (error, result["content"].as_str().unwrap().to_owned())
    };
    results.iter().map(one).collect()
}

fn skill(name: &str, args: &str) -> (&'static str, Value) {
    ("Skill", json!({"skill": name, "args": args}))
}

#[test]
fn a_typed_skill_is_sent_with_its_text() {
    let world = World::new(answers());
    world.file(
        ".claude/skills/greet/SKILL.md",
        "---\ndescription: Greets.\narguments: [who]\n---\nGreet $who in ${CLAUDE_PROJECT_DIR} from ${CLAUDE_SKILL_DIR}.",
    );
    world.file(".claude/commands/plain.md", "Just do it.");
    let ran = world.run(&["-p", "/greet 'Ann B' now", "--output-format", "json"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let project = world.project().display().to_string();
    let request = &world.server.requests()[0];
    let blocks = request.messages()[0]["content"].as_array().unwrap().clone();
    let texts: Vec<&str> = blocks.iter().map(|block| block["text"].as_str().unwrap()).collect();
    assert_eq!(texts[2], "/greet 'Ann B' now");
    assert!(texts[1].contains("- greet: Greets.\n- plain: Just do it."), "{}", texts[1]);
    let expected = format!("Greet Ann B in {project} from {project}/.claude/skills/greet.");
    assert!(texts[3].contains(&expected), "{}", texts[3]);
    assert_eq!(world.run(&["-p", "/plain all of it"]).code, Some(0));
    assert!(told(&world, 1).contains("Just do it.\\n\\nArguments: all of it"));
    // The session is called what was typed.
    assert!(world.run(&["sessions"]).stdout.contains("/greet 'Ann B' now"));
    world.assert_never_rejected();
}

#[test]
fn an_unknown_name_sends_nothing_and_lists_what_there_is() {
    let world = World::new(answers());
    let said = |ran: &Ran| {
        assert_eq!(ran.code, Some(2), "{}", ran.stderr);
        assert!(
            ran.stdout.contains("agent-building, code-review, debugging, pdf"),
            "{}",
            ran.stdout
        );
    };
    said(&world.run(&["-p", "/reveiw x"]));
    let json = world.run(&["-p", "/reveiw x", "--output-format", "stream-json"]);
    said(&json);
    assert_eq!(
        (&json.result()["subtype"], &json.result()["num_turns"]),
        (&json!("success"), &json!(0))
    );
    assert_eq!(world.server.requests().len(), 0);
    // A path is no skill.
    assert_eq!(world.run(&["-p", "/etc/hosts says what?"]).code, Some(0));
    assert_eq!(world.server.requests().len(), 1);
}

#[test]
fn the_model_loads_a_skill_and_reads_what_belongs_to_it() {
    let world = World::new(
        Script::new()
            .answer(calls([skill("mine", "a b"), skill("nope", ""), skill("typed", "")]))
            .by(|request| {
                let text = request.tool_results()[0]["content"].as_str().unwrap().to_owned();
                let folder = text.split("are in ").nth(1).unwrap().split(".\n").next().unwrap();
                calls([("Read", json!({"file_path": format!("{folder}/notes.txt")}))])
            })
            .answer(text("ok")),
    );
    own(&world, "mine", "---\ndescription: Mine.\n---\nDo $1 with notes.txt.");
    own(&world, "typed", "---\ndisable-model-invocation: true\n---\nx");
    std::fs::write(world.home().join("skills/mine/notes.txt"), "the notes\n").unwrap();
    let ran = world.run(&["-p", "go", "--output-format", "json"]);
    assert_eq!(ran.result()["permission_denials"], json!([]), "{}", ran.stdout);
    let first = results(&world, 1);
    assert!(!first[0].0 && first[0].1.contains("Do b with notes.txt."), "{first:?}");
    let known = "The skills are: mine, agent-building, code-review, debugging, pdf.";
    assert!(first[1].0 && first[1].1.contains(known), "{first:?}");
    assert!(first[2].0 && first[2].1.contains("There is no skill \"typed\""), "{first:?}");
    assert!(results(&world, 2)[0].1.contains("the notes"), "{:?}", results(&world, 2));
    world.assert_never_rejected();
}

const LOOSE: &str =
    "---\nallowed-tools: Bash(touch:*)\n---\nState: !`cat state.txt` and !`touch made`.";

/// A person's own skill: its commands are judged like every other, with its rules in force, for its turn only.
#[test]
fn rules_hold_for_the_turn_and_never_before_a_deny() {
    let touch = |name: &str| calls([("Bash", json!({"command": format!("touch {name}")}))]);
    let script = || {
        Script::new()
            .answer(touch("by-model"))
            .answer(text("ok"))
            .answer(touch("later"))
            .answer(text("ok"))
    };
    let world = World::new(script());
    own(&world, "loose", LOOSE);
    world.file("state.txt", "all is well\n");
    let mut talk = start(&world, false, &[]);
    talk.expect("> ");
    talk.send_line("/loose");
    talk.expect("tokens: ");
    assert!(told(&world, 0).contains("State: all is well"), "{}", told(&world, 0));
    assert!(world.project().join("made").exists() && world.project().join("by-model").exists());
    talk.expect("> ");
    talk.send_line("once more without it");
    talk.expect("touch later");
    talk.send_line("n");
    talk.expect("tokens: ");
    quit(&mut talk);
    assert!(!world.project().join("later").exists());

    let world = World::new(script());
    own(&world, "loose", LOOSE);
    world.file("state.txt", "well\n");
    let ran = world.run(&[
        "-p",
        "/loose",
        "--disallowedTools",
        "Bash(touch:*)",
        "--output-format",
        "json",
    ]);
    assert!(!world.project().join("made").exists() && !world.project().join("by-model").exists());
    assert!(told(&world, 0).contains("[not run: `touch made`: "), "{}", told(&world, 0));
    assert_eq!(ran.result()["permission_denials"].as_array().unwrap().len(), 1, "{}", ran.stdout);
}

/// Hooks hear of a skill's commands as of every call.
#[test]
fn hooks_hear_of_the_commands_of_a_skill() {
    let world = World::new(answers());
    own(&world, "loose", LOOSE);
    world.file("state.txt", "well\n");
    let no = "if grep -q touch; then echo not on Fridays >&2; exit 2; fi";
    settings(&world, &json!({ "hooks": hook("PreToolUse", "Bash", command(no)) }));
    world.run(&["-p", "/loose"]);
    assert!(!world.project().join("made").exists());
    let told = told(&world, 0);
    assert!(told.contains("State: well"), "{told}");
    assert!(told.contains("[not run: `touch made`: ") && told.contains("not on Fridays"), "{told}");
}

/// The model may not loosen its rules by itself: that asks, unless a rule allows that skill.
#[test]
fn a_skill_that_loosens_asks_when_the_model_calls_it() {
    let script = || {
        Script::new()
            .answer(calls([skill("loose", "")]))
            .answer(calls([("Bash", json!({"command": "touch x"}))]))
            .answer(text("ok"))
    };
    let world = World::new(script());
    own(&world, "loose", LOOSE);
    let ran = world.run(&["-p", "go", "--output-format", "json"]);
    assert_eq!(ran.result()["permission_denials"].as_array().unwrap().len(), 2, "{}", ran.stdout);
    let refused = &results(&world, 1)[0];
    assert!(refused.1.contains("it would allow Bash(touch:*) for this turn"), "{refused:?}");
    for rule in ["Skill(loose)", "Skill(loose *)", "Skill"] {
        let world = World::new(script());
        own(&world, "loose", LOOSE);
        let ran = world.run(&["-p", "go", "--allowedTools", rule, "--output-format", "json"]);
        assert_eq!(ran.result()["permission_denials"], json!([]), "{rule}: {}", ran.stdout);
        assert!(world.project().join("x").exists(), "{rule}");
    }
    let world = World::new(script());
    own(&world, "loose", LOOSE);
    world.run(&["-p", "go", "--allowedTools", "Skill(other)"]);
    assert!(!world.project().join("x").exists());
}

/// The words of a project count at once; what it runs and allows once its content was accepted, until it changes.
#[test]
fn a_project_needs_trust_for_effects_only() {
    let world = World::new(answers());
    world.file("state.txt", "secret state\n");
    let file = world.file(".claude/skills/loose/SKILL.md", LOOSE);
    let ran = world.run(&["-p", "/loose"]);
    let first = told(&world, 0);
    assert!(first.contains("State: [not run: `cat state.txt`: the content"), "{first}");
    assert!(!world.project().join("made").exists());
    assert!(
        ran.stderr.contains("runs `cat state.txt` when the skill loose is used"),
        "{}",
        ran.stderr
    );
    let ran = world.run(&["-p", "/loose", "--trust"]);
    assert!(told(&world, 1).contains("State: secret state"), "{} {}", told(&world, 1), ran.stderr);
    assert!(world.project().join("made").exists());
    world.run(&["-p", "/loose"]);
    assert!(told(&world, 2).contains("State: secret state"));
    std::fs::write(&file, LOOSE.replace("touch made", "touch other")).unwrap();
    world.run(&["-p", "/loose"]);
    assert!(told(&world, 3).contains("[not run: `cat state.txt`"), "{}", told(&world, 3));
    assert!(!world.project().join("other").exists());
    world.run(&["-p", "/loose", "--setting-sources", "user"]);
    assert_eq!(world.server.requests().len(), 4, "without the project there is no such skill");
}

/// Seen at the next prompt; the list is told again where it changed, and only there.
#[test]
fn skills_are_found_while_we_run() {
    let world = World::new(answers());
    let mut talk = start(&world, false, &[]);
    let say = |talk: &mut crate::talk::Talk, line: &str| {
        talk.expect("> ");
        talk.send_line(line);
        talk.expect("tokens: ");
    };
    say(&mut talk, "one");
    say(&mut talk, "two");
    world.file(".claude/skills/late/SKILL.md", "---\ndescription: First.\n---\nx");
    say(&mut talk, "three");
    say(&mut talk, "/late");
    world.file(".claude/skills/late/SKILL.md", "---\ndescription: Second.\n---\nNew text");
    world.file(".claude/skills/bad/SKILL.md", "---\nname: bad\n");
    talk.expect("> ");
    talk.send_line("/late");
    talk.expect("bad/SKILL.md:1: the front matter has no end");
    talk.expect("tokens: ");
    talk.expect("> ");
    talk.send_line("/skills");
    talk.expect("late ");
    quit(&mut talk);
    let lists = |request: usize| told(&world, request).matches("<skills>").count();
    assert_eq!([0, 1, 2, 3, 4].map(lists), [1, 1, 2, 2, 3]);
    assert!(
        told(&world, 2).contains("- late: First.") && told(&world, 4).contains("- late: Second.")
    );
    assert!(told(&world, 4).contains("New text"));
    world.assert_never_rejected();
}

#[test]
fn listed_and_shown() {
    let world = World::new(answers());
    world.file(
        ".claude/skills/broken/SKILL.md",
        "---\nname: broken\nallowed-tools: Bash\nx: [\n---\nStill here.",
    );
    world.file(
        ".claude/skills/good/SKILL.md",
        "---\ndescription: Good.\nallowed-tools: Read\n---\nThe text.",
    );
    own(&world, "mine", "---\nuser-invocable: false\n---\nMine.");
    let list = world.run(&["skills", "list"]);
    assert_eq!(list.code, Some(0), "{}", list.stderr);
    let names: Vec<&str> =
        list.stdout.lines().map(|line| line.split_whitespace().next().unwrap()).collect();
    assert_eq!(
        names,
        ["mine", "broken", "good", "agent-building", "code-review", "debugging", "pdf"]
    );
    assert!(list.stdout.contains("(only for the model)"), "{}", list.stdout);
    assert!(!list.stdout.contains('\u{1b}'), "no colours in a pipe");
    assert!(list.stderr.contains("broken/SKILL.md:"), "{}", list.stderr);
    let rows = world.run(&["skills", "list", "--json"]).frames();
    assert_eq!(
        (rows.len(), &rows[2]["name"], &rows[2]["trusted"]),
        (7, &json!("good"), &json!(false))
    );
    let show = world.run(&["skills", "show", "good"]).stdout;
    for says in
        ["good", "Good.", "good/SKILL.md (project)", "Read (ignored: not trusted", "The text."]
    {
        assert!(show.contains(says), "{says}\n{show}");
    }
    assert_eq!(world.run(&["skills", "show", "pdf", "--json"]).frames()[0]["origin"], "shipped");
    let none = world.run(&["skills", "show", "nope"]);
    assert_eq!(none.code, Some(2));
    assert!(none.stderr.contains("mine, broken, good"), "{}", none.stderr);
}

/// Many skills with long descriptions: the list stays within one per cent of the window.
#[test]
fn a_long_list_is_cut() {
    let world = World::new(answers());
    for n in 0..60 {
        let text = format!("---\ndescription: {}\n---\nx", "many words ".repeat(100));
        world.file(&format!(".claude/skills/s{n:02}/SKILL.md"), &text);
    }
    assert_eq!(world.run(&["-p", "go"]).code, Some(0));
    let request = &world.server.requests()[0];
    let list = request.messages()[0]["content"][1]["text"].as_str().unwrap().to_owned();
    let rows = list.lines().filter(|line| line.starts_with("- ")).count();
    assert_eq!(rows, 64, "{list}");
    let most = 8_000 + 400;
    assert!(list.chars().count() <= most && list.contains("…"), "{}", list.chars().count());
}

/// Without the tool there is nothing to tell of.
#[test]
fn no_tool_no_list() {
    let world = World::new(answers());
    world.run(&["-p", "go", "--tools", "Read"]);
    assert!(!told(&world, 0).contains("<skills>"));
}
