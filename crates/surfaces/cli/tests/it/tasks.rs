//! `ostler tasks`: each command, its JSON and its exit code.

use crate::support::{Ran, World, finish, read_until};
use ostler_model_server::Script;
use serde_json::{Value, json};

pub fn world() -> World {
    World::new(Script::new())
}

pub fn tasks(world: &World, args: &[&str]) -> Ran {
    world.run(&[&["tasks"], args].concat())
}

/// The one object that a command prints.
#[track_caller]
pub fn object(world: &World, args: &[&str]) -> Value {
    let ran = tasks(world, &[args, &["--json"]].concat());
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(ran.stdout.lines().count(), 1, "{ran:?}");
    serde_json::from_str(&ran.stdout).unwrap()
}

pub fn add(world: &World, args: &[&str]) -> String {
    object(world, &[&["add"], args].concat())["id"].as_str().unwrap().to_owned()
}

/// Exit code 1, nothing on standard output, and one line.
#[track_caller]
fn refused(ran: &Ran, why: &str) {
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(1), ""), "{ran:?}");
    assert_eq!(ran.stderr.lines().count(), 1, "{ran:?}");
    assert!(ran.stderr.contains(why), "{ran:?}");
}

#[test]
fn a_task_from_its_beginning_to_its_end() {
    let world = world();
    let first =
        add(&world, &["Port the parser", "--touches", "src/**", "--description", "All of it"]);
    let second =
        add(&world, &["Write the docs", "--depends-on", &first[..8], "--priority", "high"]);
    assert_eq!(object(&world, &["next"])["id"], json!(first));
    let claimed = object(&world, &["claim", "--worker", "me", "--lease", "60"]);
    assert_eq!((&claimed["id"], &claimed["status"]), (&json!(first), &json!("in_progress")));
    let fence = claimed["fence"].as_u64().unwrap().to_string();
    let until = claimed["lease_until"].as_u64().unwrap();
    let renewed = object(&world, &["renew", &first, "--fence", &fence, "--lease", "600"]);
    assert!(renewed["lease_until"].as_u64().unwrap() >= until + 500_000);
    let done = object(&world, &["finish", &first, "--fence", &fence, "--result", "it works"]);
    assert_eq!((&done["status"], &done["result"]), (&json!("done"), &json!("it works")));

    let claimed = object(&world, &["claim", &second[..10], "--worker", "me"]);
    let fence = claimed["fence"].as_u64().unwrap().to_string();
    let failed = object(&world, &["fail", &second, "--fence", &fence, "--error", "no words"]);
    assert_eq!((&failed["status"], &failed["error"]), (&json!("failed"), &json!("no words")));
    assert_eq!(object(&world, &["retry", &second])["status"], "pending");
    let cancelled = object(&world, &["cancel", &second, "--reason", "enough"]);
    assert_eq!(
        (&cancelled["status"], &cancelled["error"]),
        (&json!("cancelled"), &json!("enough"))
    );

    let listed = object(&world, &["list"]);
    let all = listed["tasks"].as_array().unwrap();
    let seen: Vec<_> = all.iter().map(|task| (&task["id"], &task["status"])).collect();
    assert_eq!(seen, [(&json!(first), &json!("done")), (&json!(second), &json!("cancelled"))]);
    let some = object(&world, &["list", "--status", "done", "--status", "failed"]);
    assert_eq!(some["tasks"].as_array().unwrap().len(), 1);
    let shown = object(&world, &["show", &first]);
    assert_eq!((&shown["description"], &shown["attempt"]), (&json!("All of it"), &json!(1)));
    let events: Vec<_> =
        shown["history"].as_array().unwrap().iter().map(|entry| &entry["event"]).collect();
    assert_eq!(events, ["added", "claimed", "finished"]);
}

#[test]
fn people_read_lines() {
    let world = world();
    assert_eq!(tasks(&world, &["list"]).stdout, "No tasks.\n");
    let ran = tasks(&world, &["add", "Strange \u{202e} title"]);
    let id = ran.stdout.split_whitespace().nth(1).unwrap().to_owned();
    assert!(ran.stdout.starts_with("Added: ") && !ran.stdout.contains('\u{202e}'), "{ran:?}");
    tasks(&world, &["add", "Second", "--depends-on", &id]);
    let list = tasks(&world, &["list"]).stdout;
    assert!(list.contains(&format!("waits for pending {id}")), "{list}");
    let claimed = tasks(&world, &["claim", "--worker", "me"]).stdout;
    assert!(claimed.starts_with(&format!("Claimed: {id} ")) && claimed.ends_with("(fence 1)\n"));
    let shown = tasks(&world, &["show", &id]).stdout;
    for part in ["in_progress", "worker       me", "fence 1, ends in", "claimed by me, fence 1"] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    tasks(&world, &["fail", &id, "--fence", "1", "--error", "one\n\ntwo\u{1b}[2J"]);
    let shown = tasks(&world, &["show", &id]).stdout;
    let lines = "\nerror        one\n\n             two\\u{1b}[2J\n";
    assert!(shown.contains(lines) && shown.ends_with("failed, fence 1: one …\n"), "{shown}");
    let list = tasks(&world, &["list"]).stdout;
    assert!(list.contains("Strange \\u{202e} title  (one …)\n"), "{list}");
}

#[test]
fn nothing_to_claim_is_not_a_failure() {
    let world = world();
    for args in
        [&["claim", "--worker", "me"][..], &["next"], &["claim", "--worker", "me", "--json"]]
    {
        let ran = tasks(&world, args);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(3), ""), "{ran:?}");
        assert_eq!(ran.stderr, "ostler: nothing to claim: no task is pending; 0 in progress\n");
    }
    let id = add(&world, &["One", "--touches", "src"]);
    add(&world, &["Two", "--touches", "src/a.rs"]);
    object(&world, &["claim", "--worker", "me"]);
    let ran = tasks(&world, &["claim", "--worker", "you"]);
    assert_eq!(ran.code, Some(3), "{ran:?}");
    assert!(ran.stderr.contains("1 pending") && ran.stderr.contains("1 in progress"), "{ran:?}");
    refused(&tasks(&world, &["claim", &id, "--worker", "you"]), "is in_progress");
}

#[test]
fn what_is_refused_is_one_line() {
    let world = world();
    let id = add(&world, &["One"]);
    refused(&tasks(&world, &["show", "nothing"]), "there is no task nothing");
    refused(&tasks(&world, &["add", "x", "--depends-on", "zzz"]), "zzz, which does not exist");
    refused(&tasks(&world, &["add", "x", "--touches", "/etc"]), "it is absolute");
    refused(&tasks(&world, &["add", " "]), "the title of a task");
    refused(&tasks(&world, &["add", "clear \u{1b}[2J the screen"]), "the title of a task");
    refused(&tasks(&world, &["finish", &id, "--fence", "1"]), "is not claimed with fence 1");
    refused(&tasks(&world, &["retry", &id]), "is pending, so it cannot be retried");
    refused(&tasks(&world, &["claim", "--worker", "me", "--lease", "0"]), "a lease of 0 seconds");
    object(&world, &["claim", "--worker", "me"]);
    let other = "is not claimed with fence 2: that is not the fence of its last claim";
    refused(&tasks(&world, &["renew", &id, "--fence", "2"]), other);
    assert_eq!(tasks(&world, &["finish", &id]).code, Some(2), "the fence is missing");
    assert_eq!(tasks(&world, &["add", "x", "--priority", "urgent"]).code, Some(2));
    let none = tasks(&world, &["list", "--limit", "0"]);
    assert_eq!((none.code, none.stdout.as_str()), (Some(2), ""), "it has tasks: {none:?}");
}

#[test]
fn the_board_is_the_projects_or_the_one_that_is_named() {
    let world = world();
    std::fs::create_dir_all(world.project().join(".git")).unwrap();
    std::fs::create_dir_all(world.project().join("deep/er")).unwrap();
    let id = add(&world, &["Everywhere in the project"]);
    let deep = finish(
        world
            .command(&["tasks", "show", &id])
            .current_dir(world.project().join("deep/er"))
            .spawn()
            .unwrap(),
    );
    assert_eq!(deep.code, Some(0), "{deep:?}");
    let boards: Vec<_> = crate::support::walk(&world.home().join("boards"));
    assert!(boards.iter().any(|path| path.extension().is_some_and(|end| end == "db")));
    // Another one is empty.
    assert_eq!(object(&world, &["list", "--board", "mine.db"])["tasks"], json!([]));
    assert!(world.project().join("mine.db").is_file());
    let before = world.run(&["tasks", "--board", "mine.db", "list"]);
    assert_eq!(before.stdout, "No tasks.\n");
    for (board, why) in [
        ("redis://me:secret@127.0.0.1:1/1", "nothing listens there (connection refused)"),
        ("rediss://:secret@127.0.0.1:1", "nothing listens there (connection refused)"),
        ("redis://:secret@", "it cannot be read. Write redis://"),
        ("postgres://me:secret@host", "name a file"),
        ("no/such/directory/x.db", "Create its directory"),
    ] {
        let ran = tasks(&world, &["list", "--board", board]);
        refused(&ran, why);
        assert!(!ran.stderr.contains("secret"), "{ran:?}");
    }
    let damaged = world.file("damaged.db", &"this is no database ".repeat(500));
    refused(
        &tasks(&world, &["list", "--board", damaged.to_str().unwrap()]),
        "damaged, or it is not a task board",
    );
    assert!(world.read("damaged.db").starts_with("this is no database"));
}

#[test]
fn a_watched_list_shows_changes_of_others() {
    let world = world();
    let mut watching = world.command(&["tasks", "list", "--watch", "--json"]).spawn().unwrap();
    read_until(&mut watching, r#""tasks":[]"#);
    let id = add(&world, &["New"]);
    assert!(read_until(&mut watching, "pending").contains(&id));
    object(&world, &["claim", "--worker", "me"]);
    read_until(&mut watching, "in_progress");
    watching.kill().unwrap();
    watching.wait().unwrap();
}

/// Two programs at the same time get different tasks.
#[test]
fn programs_that_claim_at_once_get_different_tasks() {
    let world = world();
    let mut expected: Vec<String> = (0..6).map(|n| add(&world, &[&format!("Task {n}")])).collect();
    let started: Vec<_> = (0..8)
        .map(|n| {
            world
                .command(&["tasks", "claim", "--json", "--worker", &n.to_string()])
                .spawn()
                .unwrap()
        })
        .collect();
    let ended: Vec<Ran> = started.into_iter().map(finish).collect();
    let (got, nothing): (Vec<&Ran>, Vec<&Ran>) = ended.iter().partition(|ran| ran.code == Some(0));
    assert!(nothing.iter().all(|ran| ran.code == Some(3)), "{nothing:?}");
    let value = |ran: &&Ran| serde_json::from_str::<Value>(&ran.stdout).unwrap();
    let mut ids: Vec<String> =
        got.iter().map(|ran| value(ran)["id"].as_str().unwrap().to_owned()).collect();
    let mut fences: Vec<u64> =
        got.iter().map(|ran| value(ran)["fence"].as_u64().unwrap()).collect();
    ids.sort();
    expected.sort();
    fences.sort_unstable();
    assert_eq!((ids, fences), (expected, (1..=6).collect()));
}

#[test]
fn completion_knows_the_commands() {
    let script = world().run(&["completions", "bash"]).stdout;
    for word in ["ostler__subcmd__tasks", "depends-on", "ostler__subcmd__mail", "--fence"] {
        assert!(script.contains(word), "{word}");
    }
}
