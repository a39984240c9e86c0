//! A project's instruction files and skills bring no text along that Read would deny or ask about: checked in the bytes
//! that reach the model server.

use crate::support::{Ran, World};
use ostler_model_server::{Recorded, Script, calls, text};
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::symlink;

const SECRET: &str = "hunter2-of-the-project";

/// The first answer reads `sub/x.txt`, so that nested files count.
fn world() -> World {
    let reply = |request: &Recorded| match request.messages().last().map(Value::to_string) {
        Some(last) if last.contains("tool_result") => text("Done."),
        _ => calls([("Read", json!({ "file_path": "sub/x.txt" }))]),
    };
    let world = World::new(Script::new().by(reply).forever());
    world.has_chosen();
    fs::create_dir(world.project().join(".git")).unwrap();
    world.file("sub/x.txt", "x");
    world
}

fn go(world: &World, more: &[&str]) -> Ran {
    let mut args = vec!["-p", "go", "--output-format", "stream-json"];
    args.extend(more);
    let ran = world.run(&args);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    ran
}

fn sent(world: &World) -> String {
    let requests = world.server.requests();
    requests.iter().map(|one| String::from_utf8_lossy(&one.body).into_owned()).collect()
}

/// Nothing of it was sent, and the person learns which file was left out and why.
fn assert_left_out(world: &World, ran: &Ran, (file, why): (&str, &str)) {
    assert!(!sent(world).contains(SECRET), "{file} was sent");
    let said = format!("{}{}", ran.stderr, ran.stdout);
    let notice = said.lines().find(|line| line.contains(file) && line.contains(why));
    assert!(notice.is_some(), "{file}, {why}: {said}");
}

/// Each way in which a repository can name its `.env`.
#[test]
fn a_project_cannot_send_its_env_file() {
    let link = |world: &World, name: &str, target: &str| {
        let path = world.project().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        symlink(world.project().join(target), path).unwrap();
    };
    let hard = |world: &World, name: &str| {
        let path = world.project().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::hard_link(world.project().join(".env"), path).unwrap();
    };
    type Arrange<'a> = &'a dyn Fn(&World);
    let ways: [(&str, Arrange<'_>); 11] = [
        (".env", &|world| drop(world.file("AGENTS.md", "@.env"))),
        ("CLAUDE.md", &|world| link(world, "CLAUDE.md", ".env")),
        ("CLAUDE.md", &|world| hard(world, "CLAUDE.md")),
        ("notes.md", &|world| {
            world.file("AGENTS.md", "See @docs/notes.md");
            link(world, "docs/notes.md", ".env");
        }),
        ("notes.md", &|world| {
            world.file("AGENTS.md", "See @docs/notes.md");
            hard(world, "docs/notes.md");
        }),
        ("sub/CLAUDE.md", &|world| link(world, "sub/CLAUDE.md", ".env")),
        (".env", &|world| drop(world.file("sub/AGENTS.md", "@../.env"))),
        ("style.md", &|world| link(world, ".claude/rules/style.md", ".env")),
        (".env", &|world| drop(world.file(".claude/rules/style.md", "@../../.env"))),
        ("SKILL.md", &|world| link(world, ".claude/skills/x/SKILL.md", ".env")),
        ("SKILL.md", &|world| hard(world, ".claude/skills/x/SKILL.md")),
    ];
    for (file, arrange) in ways {
        let world = world();
        world.file(".env", &format!("password: {SECRET}\n"));
        arrange(&world);
        let ran = go(&world, &[]);
        assert_eq!(world.server.requests().len(), 2, "{file}");
        assert_left_out(&world, &ran, (file, ".env"));
    }
}

/// Trust opens other kinds of files of the project, and never what a rule denies or asks about.
#[test]
fn trust_opens_other_files_and_rules_hold() {
    let world = world();
    world.file("AGENTS.md", "@package.json @.env @private/plan.md @README.md");
    world.file("package.json", "{\"name\": \"the-package\"}");
    world.file("README.md", "the-readme");
    world.file("private/plan.md", SECRET);
    world.file(".env", SECRET);
    world.file(
        ".claude/settings.json",
        &json!({"permissions": {"deny": ["Read(./private/**)"], "allow": ["Bash(make)"]}})
            .to_string(),
    );
    let ran = go(&world, &[]);
    assert!(sent(&world).contains("the-readme") && !sent(&world).contains("the-package"));
    assert_left_out(&world, &ran, ("package.json", "until you trust the project"));
    assert_left_out(&world, &ran, ("private/plan.md", "the deny rule Read(./private/**)"));
    let ran = go(&world, &["--trust"]);
    assert!(sent(&world).contains("the-package"));
    assert_left_out(&world, &ran, ("private/plan.md", "the deny rule Read(./private/**)"));
    assert_left_out(&world, &ran, (".env", "the ask rule"));
}

/// Rules of the command line count, too; one about the tool as a whole is not about the instruction files.
#[test]
fn rules_of_the_command_line_hold_for_imports() {
    let world = world();
    world.file("AGENTS.md", "first-line @docs/plan.md @docs/more.md");
    world.file("docs/plan.md", SECRET);
    world.file("docs/more.md", "more-words");
    let ran = go(&world, &["--disallowedTools", "Read(./docs/plan.md)"]);
    assert_left_out(&world, &ran, ("docs/plan.md", "the deny rule"));
    assert!(sent(&world).contains("first-line") && sent(&world).contains("more-words"));
    let world = self::world();
    world.file("AGENTS.md", "first-line @docs/plan.md");
    world.file("docs/plan.md", SECRET);
    let args = ["-p", "go", "--output-format", "stream-json", "--disallowedTools", "Read"];
    let ran = world.run(&args);
    assert_left_out(&world, &ran, ("docs/plan.md", "the deny rule Read"));
    assert!(sent(&world).contains("first-line"));
}

/// A file with a name that nobody can find is not sent: that name could be one a rule is about.
#[test]
fn a_hard_link_to_a_file_outside_is_not_sent() {
    let world = world();
    let outside = world.project().parent().unwrap().join("key");
    fs::write(&outside, SECRET).unwrap();
    fs::hard_link(&outside, world.project().join("AGENTS.md")).unwrap();
    let ran = go(&world, &[]);
    assert_left_out(&world, &ran, ("AGENTS.md", "hard links"));
    // Both names in the project, and no rule about either.
    let world = self::world();
    let first = world.file("AGENTS.md", "shared-words");
    fs::hard_link(first, world.project().join("sub/copy.md")).unwrap();
    go(&world, &[]);
    assert!(sent(&world).contains("shared-words"));
}

#[test]
fn keys_at_home_are_not_sent() {
    let world = world();
    let ssh = world.project().parent().unwrap().join(".ssh");
    fs::create_dir(&ssh).unwrap();
    fs::write(ssh.join("id_rsa"), SECRET).unwrap();
    fs::write(ssh.join("notes.md"), SECRET).unwrap();
    symlink(ssh.join("id_rsa"), world.project().join("AGENTS.md")).unwrap();
    world.file("CLAUDE.md", "@~/.ssh/notes.md @../.ssh/id_rsa");
    let ran = go(&world, &[]);
    assert_left_out(&world, &ran, ("AGENTS.md", "outside"));
    assert_left_out(&world, &ran, ("notes.md", "outside"));
    // The person's own file may name files at home, and still no keys.
    fs::create_dir_all(world.home()).unwrap();
    fs::write(world.home().join("AGENTS.md"), "own-words @~/.ssh/notes.md").unwrap();
    let ran = go(&world, &[]);
    assert!(sent(&world).contains("own-words"));
    assert_left_out(&world, &ran, ("notes.md", "it contains keys"));
}
