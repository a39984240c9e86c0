//! Commands in `.ostler/commands` and `.claude/commands`: found, filled in, and judged.

use crate::repl::{quit, start};
use crate::support::World;
use ostler_model_server::{Script, text};
use serde_json::json;

fn world() -> World {
    World::new(Script::new().answer(text("Done.")).forever())
}

fn told(world: &World, request: usize) -> String {
    world.server.requests()[request].json()["messages"].to_string()
}

#[test]
fn a_command_of_the_project_gets_its_arguments_and_files() {
    let world = world();
    world.file("notes.txt", "remember the milk\n");
    world.file(
        ".ostler/commands/team/review.md",
        "---\ndescription: Reviews.\nargument-hint: [branch]\nmodel: opus\n---\nReview $1 with @notes.txt and !`echo ran-$2`.",
    );
    let run = |more: &[&str]| {
        let mut args = vec!["-p", "/team:review main fast"];
        args.extend(more);
        let ran = world.run(&args);
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    };
    run(&[]);
    let before = told(&world, 0);
    assert!(
        before.contains("Review main with @notes.txt and [not run: `echo ran-fast`"),
        "{before}"
    );
    assert!(before.contains("[not read: notes.txt") && !before.contains("milk"), "{before}");
    assert_eq!(world.server.requests()[0].json()["model"], "scripted", "not trusted");
    run(&["--trust", "--allowedTools", "Bash(echo:*)"]);
    let after = told(&world, 1);
    assert!(after.contains("Review main with @notes.txt and ran-fast"), "{after}");
    assert!(after.contains("Contents of notes.txt:") && after.contains("milk"), "{after}");
    assert_ne!(world.server.requests()[1].json()["model"], "scripted", "the command's own model");
    // A rule forbids what it forbids anywhere.
    run(&["--disallowedTools", "Read(notes.txt)"]);
    assert!(!told(&world, 2).contains("milk"), "{}", told(&world, 2));
    let listed = world.run(&["skills", "list"]).stdout;
    assert!(listed.contains("team:review") && listed.contains("Reviews."), "{listed}");
}

#[test]
fn commands_of_the_person_are_theirs() {
    let world = world();
    let own = world.home().join("commands");
    std::fs::create_dir_all(&own).unwrap();
    std::fs::write(own.join("greet-me.md"), "Say hello to $1.").unwrap();
    assert_eq!(world.run(&["-p", "/greet-me Ann"]).code, Some(0));
    assert!(told(&world, 0).contains("Say hello to Ann."), "{}", told(&world, 0));
    let mut talk = start(&world, true, &[]);
    talk.expect("> ");
    // Tab completes the name.
    talk.send("/gre\tBob\r");
    talk.expect("Done.");
    quit(&mut talk);
    assert!(told(&world, 1).contains("Say hello to Bob."), "{}", told(&world, 1));
}

/// The model of a command is that of its turn only.
#[test]
fn the_next_turn_has_the_model_of_the_session() {
    let world = world();
    let own = world.home().join("commands");
    std::fs::create_dir_all(&own).unwrap();
    std::fs::write(own.join("think.md"), "---\nmodel: scripted-large\n---\nThink.").unwrap();
    let mut talk = start(&world, false, &[]);
    for line in ["/think", "go on"] {
        talk.expect("> ");
        talk.send_line(line);
        talk.expect("Done.");
    }
    quit(&mut talk);
    let models: Vec<_> =
        world.server.requests().iter().map(|request| request.json()["model"].clone()).collect();
    assert_eq!(models, [json!("scripted-large"), json!("scripted")]);
}
