//! What `ostler tasks`, `mail`, `worktrees` and `cluster` refuse: one line on standard error, nothing on standard output,
//! with and without `--json`.

use crate::support::{Ran, World};
use crate::tasks::{add, object, world};
use crate::workers::git;

const SECRET: &str = "gehe1m";

/// With and without `--json`.
#[track_caller]
fn refused(world: &World, args: &[&str], why: &str) {
    for more in [&[][..], &["--json"]] {
        let ran = world.run(&[args, more].concat());
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(1), ""), "{args:?}: {ran:?}");
        one_line(&ran, why);
    }
}

#[track_caller]
fn one_line(ran: &Ran, why: &str) {
    assert_eq!(ran.stderr.lines().count(), 1, "{ran:?}");
    assert!(ran.stderr.starts_with("ostler: ") && ran.stderr.contains(why), "{ran:?}");
    assert!(!ran.stderr.contains(SECRET), "{ran:?}");
}

#[test]
fn an_unknown_id_is_named() {
    let world = world();
    add(&world, &["One"]);
    for args in [
        &["show", "nothing"][..],
        &["claim", "nothing", "--worker", "me"],
        &["renew", "nothing", "--fence", "1"],
        &["finish", "nothing", "--fence", "1"],
        &["fail", "nothing", "--fence", "1", "--error", "x"],
        &["retry", "nothing"],
        &["cancel", "nothing"],
    ] {
        refused(&world, &[&["tasks"], args].concat(), "there is no task nothing");
    }
}

#[test]
fn a_prefix_of_several_ids_is_ambiguous() {
    let world = world();
    // There are sixteen digits.
    let ids: Vec<String> = (0..17).map(|n| add(&world, &[&format!("Task {n}")])).collect();
    let is_shared = |first: &&char| ids.iter().filter(|id| id.starts_with(**first)).count() > 1;
    let firsts: Vec<char> = ids.iter().filter_map(|id| id.chars().next()).collect();
    let prefix = firsts.iter().find(is_shared).unwrap().to_string();
    let why = format!("{prefix} fits several tasks: ");
    refused(&world, &["tasks", "show", &prefix], &why);
    refused(&world, &["tasks", "claim", &prefix, "--worker", "me"], &why);
    refused(&world, &["tasks", "finish", &prefix, "--fence", "1"], &why);
    refused(&world, &["tasks", "add", "x", "--depends-on", &prefix], &why);
}

#[test]
fn a_wrong_fence_changes_nothing() {
    let world = world();
    let id = add(&world, &["One"]);
    let claimed = object(&world, &["claim", "--worker", "me"]);
    let wrong = (claimed["fence"].as_u64().unwrap() + 1).to_string();
    for args in [
        &["renew", &id, "--fence", &wrong][..],
        &["finish", &id, "--fence", &wrong, "--result", "done"],
        &["fail", &id, "--fence", &wrong, "--error", "x"],
    ] {
        let why = "that is not the fence of its last claim";
        refused(&world, &[&["tasks"], args].concat(), why);
    }
    let task = object(&world, &["show", &id]);
    assert_eq!((&task["status"], &task["fence"]), (&claimed["status"], &claimed["fence"]));
}

#[test]
fn nothing_to_claim_has_a_code_of_its_own() {
    let world = world();
    for args in [&["next"][..], &["claim", "--worker", "me"]] {
        for more in [&[][..], &["--json"]] {
            let ran = world.run(&[&["tasks"], args, more].concat());
            assert_eq!((ran.code, ran.stdout.as_str()), (Some(3), ""), "{ran:?}");
            one_line(&ran, "nothing to claim");
        }
    }
}

/// Whatever is wrong with an address, its password is not shown.
#[test]
fn an_address_that_cannot_be_used_is_named_without_its_password() {
    let world = world();
    for (url, why) in [
        (format!("redis://:{SECRET}@127.0.0.1:port"), "at the given address"),
        (format!("redis://user:{SECRET}@127.0.0.1:1"), "127.0.0.1:1"),
        (format!("rediss://:{SECRET}@127.0.0.1:1/0?board=x"), "127.0.0.1:1"),
        (format!("redis://:{SECRET}@127.0.0.1:1/database"), "task board"),
        (format!("redis://:{SECRET}@127.0.0.1:1?unknown={SECRET}"), "task board"),
    ] {
        refused(&world, &["tasks", "list", "--board", &url], why);
        refused(&world, &["mail", "list", "--board", &url], why);
        refused(&world, &["cluster", "status", "--board", &url], why);
    }
}

#[test]
fn mail_and_worktrees_that_are_not_there_are_named() {
    let world = world();
    git(&world, &["init", "-q", "-b", "main", "."]);
    git(&world, &["commit", "-q", "--allow-empty", "-m", "first"]);
    refused(&world, &["mail", "send", "--to", "nobody", "hello"], "nobody");
    for args in [
        &["diff", "nothing"][..],
        &["merge", "nothing"],
        &["merge", "nothing", "--dry-run"],
        &["discard", "nothing", "--yes"],
    ] {
        refused(&world, &[&["worktrees"], args].concat(), "nothing");
    }
}
