//! Sessions: found, resumed, copied, named, locked.

use crate::support::{World, finish, wait, walk};
use ostler_model_server::{Reply, Script, calls, text};
use serde_json::{Value, json};

fn id_of(ran: &crate::support::Ran) -> String {
    ran.result()["session_id"].as_str().unwrap().to_owned()
}

fn json_run(world: &World, args: &[&str]) -> crate::support::Ran {
    let args: Vec<&str> = args.iter().chain(&["--output-format", "json"]).copied().collect();
    world.run(&args)
}

fn said(world: &World, n: usize) -> String {
    world.server.requests()[n].json()["messages"].to_string()
}

#[test]
fn resume_continue_and_fork() {
    let world = World::new(Script::new().answer(text("answer")).forever());
    let first = json_run(&world, &["-p", "prompt one"]);
    let id = id_of(&first);
    let resumed = json_run(&world, &["-p", "prompt two", "--resume", &id]);
    assert_eq!(id_of(&resumed), id);
    assert!(said(&world, 1).contains("prompt one") && said(&world, 1).contains("answer"));
    let by_prefix = json_run(&world, &["-p", "prompt three", "--resume", &id[..13]]);
    assert_eq!(id_of(&by_prefix), id);
    let continued = json_run(&world, &["-p", "prompt four", "--continue"]);
    assert_eq!(id_of(&continued), id);
    let log = std::fs::read(world.logs().pop().unwrap()).unwrap();
    let forked = json_run(&world, &["-p", "prompt five", "--resume", &id, "--fork-session"]);
    assert_ne!(id_of(&forked), id);
    assert!(said(&world, 4).contains("prompt one") && said(&world, 4).contains("prompt five"));
    let original =
        world.logs().into_iter().find(|path| path.to_str().unwrap().contains(&id)).unwrap();
    assert_eq!(std::fs::read(original).unwrap(), log, "the original is untouched");
    world.assert_never_rejected();
}

#[test]
fn continue_without_a_session_says_so_and_other_directories_do_not_count() {
    let world = World::new(Script::new().answer(text("ok")).forever());
    let elsewhere = world.home().parent().unwrap().canonicalize().unwrap().join("elsewhere");
    std::fs::create_dir(&elsewhere).unwrap();
    for first in [true, false] {
        for args in [&["-p", "two", "--continue"][..], &["--continue"]] {
            let ran = finish(world.command(args).current_dir(&elsewhere).spawn().unwrap());
            assert_eq!(ran.code, Some(1), "{first} {args:?}: {}", ran.stderr);
            let (line, rest) = ran.stderr.split_once('\n').unwrap();
            assert!(
                line.contains(elsewhere.to_str().unwrap()) && rest.is_empty(),
                "{}",
                ran.stderr
            );
            assert!(line.contains("without --continue") && line.contains("`ostler sessions`"));
        }
        assert_eq!(world.logs().len(), usize::from(!first), "nothing was made for it");
        // Now there is one, in another directory.
        assert_eq!(world.run(&["-p", "one"]).code, Some(0));
        std::fs::remove_dir_all(world.home().join("sessions")).unwrap_or_default();
        assert_eq!(world.run(&["-p", "one"]).code, Some(0));
    }
}

#[test]
fn a_session_can_be_named_once() {
    let world = World::new(Script::new().answer(text("ok")).forever());
    let id = "6f1d0e52-6a44-4f0e-9c5b-0d8f3f2b7a11";
    assert_eq!(id_of(&json_run(&world, &["-p", "go", "--session-id", id])), id);
    let twice = world.run(&["-p", "go", "--session-id", id]);
    assert_eq!(twice.code, Some(1));
    assert!(twice.stderr.contains("exists already"), "{}", twice.stderr);
    assert_eq!(world.run(&["-p", "go", "--session-id", "not-a-uuid"]).code, Some(2));
}

#[test]
fn a_session_in_use_is_refused_and_can_be_forked() {
    let world =
        World::new(Script::new().answer(text("open").gate("hold")).answer(text("ok")).forever());
    let child = world.command(&["-p", "first", "--output-format", "json"]).spawn().unwrap();
    wait(world.server.gate("hold").reached()).unwrap();
    let second = world.run(&["-p", "second", "--continue"]);
    assert_eq!(second.code, Some(74), "{}", second.stderr);
    assert!(second.stderr.contains("another process"), "{}", second.stderr);
    let fork = world.run(&["-p", "second", "--continue", "--fork-session"]);
    assert_eq!(fork.code, Some(0), "{}", fork.stderr);
    world.server.gate("hold").release();
    assert_eq!(finish(child).code, Some(0));
    world.assert_never_rejected();
}

#[test]
fn sessions_are_listed_newest_first() {
    let world = World::new(Script::new().answer(text("ok")).forever());
    world.run(&["-p", "the first of them"]);
    world.run(&["-p", "the second of them"]);
    let listed = world.run(&["sessions", "--json"]);
    let rows: Vec<Value> = listed.frames();
    let titles: Vec<&str> = rows.iter().map(|row| row["title"].as_str().unwrap()).collect();
    assert_eq!(titles, ["the second of them", "the first of them"]);
    assert!(world.run(&["sessions"]).stdout.contains("the first of them"));
}

#[test]
fn revert_works_after_a_resume() {
    let write = calls([
        ("Read", json!({"file_path": "a.txt"})),
        ("Write", json!({"file_path": "a.txt", "content": "new\n"})),
    ]);
    let revert = calls([("Revert", json!({"file_path": "a.txt"}))]);
    let world = World::new(
        Script::new().answer(write).answer(text("ok")).answer(revert).answer(text("ok")),
    );
    world.file("a.txt", "old\n");
    world.run(&["-p", "go", "--permission-mode", "acceptEdits"]);
    assert_eq!(world.read("a.txt"), "new\n");
    world.run(&["-p", "undo", "--continue", "--permission-mode", "acceptEdits"]);
    assert_eq!(world.read("a.txt"), "old\n");
    world.assert_never_rejected();
}

#[test]
fn a_torn_log_is_reported_and_used() {
    let world = World::new(Script::new().answer(text("ok")).forever());
    world.run(&["-p", "first"]);
    let path = world.logs().pop().unwrap();
    let mut bytes = std::fs::read(&path).unwrap();
    bytes.extend_from_slice(b"9 0000");
    std::fs::write(&path, &bytes).unwrap();
    let ran = world.run(&["-p", "second", "--continue"]);
    assert_eq!(ran.code, Some(0));
    assert_eq!(
        ran.stderr.lines().filter(|line| !line.contains("tokens:")).count(),
        1,
        "{}",
        ran.stderr
    );
    assert!(said(&world, 1).contains("first"));
}

#[test]
fn a_home_that_cannot_be_used_is_said_at_once() {
    let world = World::new(Script::new());
    std::fs::write(world.home(), "a file").unwrap();
    let ran = world.run(&["-p", "go"]);
    assert_eq!(ran.code, Some(74), "{}", ran.stderr);
    assert_eq!(ran.stderr.lines().count(), 1, "{}", ran.stderr);
    assert_eq!(world.server.requests().len(), 0);
    for home in ["relative/path", ""] {
        let ran = finish(
            world
                .command(&["-p", "go"])
                .env("OSTLER_HOME", home)
                .env("HOME", home)
                .spawn()
                .unwrap(),
        );
        assert_eq!(ran.code, Some(3), "{}", ran.stderr);
    }
}

#[test]
fn a_session_in_which_nothing_was_said_is_not_gone_on_with() {
    let world = World::new(Script::new().answer(text("ok")).forever());
    let first = json_run(&world, &["-p", "said"]);
    assert_eq!(world.run(&[]).code, Some(0), "a line session that ends at once");
    assert_eq!(id_of(&json_run(&world, &["-p", "more", "--continue"])), id_of(&first));
}

/// What changed since is said with the prompt, what did not is not repeated.
#[test]
fn a_resumed_session_is_told_its_new_surroundings() {
    let world = World::new(Script::new().answer(text("ok")).forever());
    let id = id_of(&json_run(&world, &["-p", "one"]));
    json_run(&world, &["-p", "two", "--continue"]);
    assert_eq!(said(&world, 1).matches("<environment>").count(), 1);
    json_run(&world, &["-p", "three", "--continue", "--permission-mode", "plan"]);
    assert!(said(&world, 2).contains("nothing may be changed"), "{}", said(&world, 2));
    let elsewhere = world.home().parent().unwrap().join("elsewhere");
    std::fs::create_dir(&elsewhere).unwrap();
    let run =
        world.command(&["-p", "four", "--resume", &id]).current_dir(&elsewhere).spawn().unwrap();
    assert_eq!(finish(run).code, Some(0));
    assert!(said(&world, 3).contains("elsewhere"), "{}", said(&world, 3));
}

/// Every way to a file that is named in the prompt, as `try:<home>:<spill>:<blob>:`.
fn pry(prompt: &str) -> Reply {
    let (_, list) = prompt.split_once("try:").unwrap_or_default();
    let paths: Vec<&str> = list.split(':').collect();
    let [home, spill, blob, ..] = paths[..] else { return text("no paths") };
    let grep = |path: &str| ("Grep", json!({"pattern": "secret", "path": path}));
    calls([
        ("Read", json!({"file_path": spill})),
        ("Read", json!({"file_path": "link"})),
        ("Read", json!({"file_path": blob})),
        ("Glob", json!({"pattern": "**/*", "path": format!("{home}/spills")})),
        ("Glob", json!({"pattern": "**/*", "path": format!("{home}/blobs")})),
        grep(spill),
        grep(&format!("{home}/spills")),
        grep(&format!("{home}/blobs")),
        ("Bash", json!({"command": format!("cat {spill}")})),
        ("Bash", json!({"command": format!("grep -r secret {home}/blobs")})),
    ])
}

/// What one session kept, be it a long output or the old content of a file, is not for a session in another directory.
#[test]
fn what_another_session_kept_may_not_be_read() {
    let world = World::new(
        Script::new()
            .answer(calls([
                ("Bash", json!({"command": "cat long.txt"})),
                ("Read", json!({"file_path": "a.txt"})),
                ("Write", json!({"file_path": "a.txt", "content": "new\n"})),
            ]))
            .answer(text("ok"))
            .by(|request| pry(&request.json()["messages"][0].to_string()))
            .answer(text("ok")),
    );
    world.file("long.txt", &"a secret line\n".repeat(20_000));
    world.file("a.txt", "the old secret\n");
    let first = json_run(&world, &["-p", "go", "--permission-mode", "acceptEdits"]);
    assert_eq!(first.result()["permission_denials"], json!([]), "{}", first.stdout);
    let home = world.home().canonicalize().unwrap();
    let spills = walk(&home.join("spills"));
    assert_eq!(spills.len(), 1, "{spills:?}");
    assert!(spills[0].starts_with(home.join("spills").join(id_of(&first))), "{spills:?}");
    let blobs = walk(&home.join("blobs"));
    assert_eq!(std::fs::read_to_string(&blobs[0]).unwrap(), "the old secret\n");

    let elsewhere = home.with_file_name("elsewhere");
    std::fs::create_dir(&elsewhere).unwrap();
    std::os::unix::fs::symlink(&spills[0], elsewhere.join("link")).unwrap();
    let show = |path: &std::path::Path| path.to_str().unwrap().to_owned();
    let prompt = format!("try:{}:{}:{}:", show(&home), show(&spills[0]), show(&blobs[0]));
    let before = world.server.requests().len();
    let second = finish(
        world
            .command(&["-p", &prompt, "--output-format", "json"])
            .current_dir(&elsewhere)
            .spawn()
            .unwrap(),
    );
    let denied = second.result()["permission_denials"].as_array().unwrap().len();
    assert_eq!(denied, 10, "{}", second.stdout);
    let requests = world.server.requests();
    let results = requests[before + 1].tool_results();
    assert_eq!(results.len(), 10);
    for result in results {
        assert_eq!(result["is_error"], true, "{result}");
        assert!(!result.to_string().contains("secret line"), "{result}");
        assert!(!result.to_string().contains("old secret"), "{result}");
    }
    world.assert_never_rejected();
}
