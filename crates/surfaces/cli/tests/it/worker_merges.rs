//! What cannot be merged goes back to the board, and a worker puts it right.

use crate::support::{Ran, World};
use crate::tasks::{add, object};
use crate::workers::{bash, event, git, is_about, once, task, world};
use ostler_model_server::{calls, text};
use serde_json::{Value, json};

fn merge(world: &World, args: &[&str], code: i32) -> Value {
    let ran = world.run(&[&["worktrees", "merge", "--json"], args].concat());
    assert_eq!(ran.code, Some(code), "{ran:?}");
    serde_json::from_str(&ran.stdout).unwrap()
}

fn lines(world: &World) -> Ran {
    world.run(&["worktrees", "merge", "--all"])
}

#[test]
fn a_branch_that_conflicts_becomes_a_task_that_resolves_it() {
    let world = world(|request, answers| {
        let is = |words: &str| is_about(request, words);
        match answers {
            0 if is("attempt=\\\"2\\\"") => {
                bash("grep -c '^<<<<<<< ' file > seen; printf 'left\\nright\\n' > file")
            }
            0 if is("Merge ostler/") => bash("cat file"),
            0 if is("Left") => bash("echo left > file"),
            0 => bash("echo right > file; echo x > beside"),
            _ => text("Done."),
        }
    });
    add(&world, &["Left"]);
    let right = add(&world, &["Right", "--priority", "low", "--touches", "file"]);
    assert_eq!(once(&world, &[]).code, Some(0));
    let name = format!("{right}-1-right");

    let report = merge(&world, &["--all"], 1);
    let branch = format!("ostler/{name}");
    let id = report["tasks"][0]["task"].as_str().unwrap_or_else(|| panic!("{report}")).to_owned();
    assert_eq!(report["tasks"], json!([{"branch": branch, "task": id, "status": "pending"}]));
    let told = task(&world, &id);
    assert_eq!((&told["priority"], &told["touches"]), (&json!("low"), &json!(["file"])));
    assert_eq!(
        (&told["title"], &told["depends_on"]),
        (&json!(format!("Merge {branch} into main")), &json!([right]))
    );
    assert!(told["description"].as_str().unwrap().contains("they conflict in file."), "{told}");
    // A worker begins at main, where it would not meet the conflicts of another branch.
    git(&world, &["branch", "other"]);
    assert_eq!(merge(&world, &[&name, "--into", "other"], 1)["tasks"], json!([]));
    // Once, however often it is tried.
    let again = lines(&world);
    assert!(
        again
            .stdout
            .contains(&format!("task {id} is there to merge {branch}; a worker can claim it")),
        "{again:?}"
    );
    assert_eq!(object(&world, &["list"])["total"], 3);

    // Whoever leaves the marks has not resolved anything.
    assert_eq!(once(&world, &[]).code, Some(0));
    let failed = task(&world, &id);
    assert_eq!(failed["error"], "conflicts are still marked in file", "{failed}");
    let prompt = world
        .server
        .requests()
        .iter()
        .map(|it| it.json().to_string())
        .find(|it| it.contains("Merge ostler/"));
    assert!(prompt.unwrap().contains("conflicts are marked in file."));
    let again = lines(&world);
    assert!(
        again
            .stdout
            .contains(&format!("is failed; `ostler tasks retry {id}` makes it pending again")),
        "{again:?}"
    );
    world.run(&["tasks", "retry", &id]);
    let ran = once(&world, &[]);
    assert_eq!(event(&ran, "finished")["task"], json!(id), "{ran:?}");

    let report = merge(&world, &["--all"], 0);
    assert_eq!(report["tasks"], json!([]));
    let show = |file: &str| git(&world, &["show", &format!("main:{file}")]);
    assert_eq!(
        (show("file"), show("beside"), show("seen")),
        ("left\nright".into(), "x".into(), "1".into())
    );
    world.run(&["worktrees", "prune"]);
    assert_eq!(git(&world, &["branch", "--list", "ostler/*"]), "", "all are merged");
    world.assert_never_rejected();
}

#[test]
fn a_branch_that_fails_the_check_becomes_a_task_that_repairs_it() {
    let world = world(|request, answers| match answers {
        0 if is_about(request, "Repair ostler/") => bash("rm bad && echo x > good"),
        0 => bash("echo x > bad"),
        _ => text("Done."),
    });
    let bad = add(&world, &["Something"]);
    assert_eq!(once(&world, &[]).code, Some(0));
    let check = ["--all", "--check", "echo looked; test ! -e bad"];
    let report = merge(&world, &check, 1);
    assert_eq!(report["branches"][0]["outcome"], "red", "{report}");
    let id = report["tasks"][0]["task"].as_str().unwrap_or_else(|| panic!("{report}")).to_owned();
    let told = task(&world, &id)["description"].as_str().unwrap().to_owned();
    assert!(
        told.contains("`echo looked; test ! -e bad` failed:\n\nexit code 1\nlooked\n\n"),
        "{told}"
    );
    assert!(told.ends_with(&format!("The branch is the work of task {bad}: Something")), "{told}");
    let ran = once(&world, &[check[1], check[2]]);
    assert_eq!(event(&ran, "finished")["task"], json!(id), "{ran:?}");
    let report = merge(&world, &check, 0);
    let outcomes: Vec<&Value> =
        report["branches"].as_array().unwrap().iter().map(|it| &it["outcome"]).collect();
    assert_eq!(outcomes, ["merged", "merged"], "{report}");
    assert_eq!(
        report["branches"][0]["commit"], report["branches"][1]["commit"],
        "one contains the other"
    );
    assert_eq!(git(&world, &["ls-tree", "--name-only", "main"]), ".gitignore\nfile\ngood");
}

/// A teammate and its lead get mail about its branch, once for each commit.
#[test]
fn a_teammate_and_its_lead_are_told_of_a_conflict() {
    let write = json!({ "file_path": "file", "content": "of the writer\n" });
    let world = world(move |request, answers| {
        let is_writer = request.messages()[0].to_string().contains("alpha");
        match (is_writer, answers) {
            (true, 0) => calls([("Read", json!({ "file_path": "file" }))]),
            (true, 1) => calls([("Write", write.clone())]),
            (true, _) => text("Written."),
            (false, 0) => calls([("Delegate", json!({ "to": "writer", "task": "alpha: write" }))]),
            (false, _) => text("So."),
        }
    });
    std::fs::create_dir_all(world.home()).unwrap();
    let team = "teammates:\n  - name: writer\n    isolation: worktree\n";
    std::fs::write(world.home().join("team.yaml"), team).unwrap();
    let ran = world.run(&["-p", "go", "--permission-mode", "bypassPermissions"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    world.file("file", "of the user\n");
    git(&world, &["commit", "-qam", "mine"]);
    let report = merge(&world, &["--all"], 1);
    assert_eq!(report["tasks"], json!([]), "it is not the work of a task: {report}");
    let to = |at: usize| report["mail"][0]["to"][at].as_str().unwrap().to_owned();
    assert!(to(0).starts_with("writer@") && to(1).starts_with("lead@"), "{report}");
    assert_eq!(report["mail"][0]["branch"], report["branches"][0]["branch"]);
    merge(&world, &["--all"], 1);
    let unread = || world.run(&["mail", "list", "--json"]);
    let unread: Value = serde_json::from_str(&unread().stdout).unwrap();
    let mails = unread["mail"].as_array().unwrap();
    assert_eq!(mails.len(), 2, "once: {unread}");
    for (mail, to) in mails.iter().zip([to(0), to(1)]) {
        assert_eq!((&mail["from"], &mail["to"]), (&json!("merge-queue"), &json!(to)));
        let text = mail["text"].as_str().unwrap();
        assert!(text.contains("they conflict in file."), "{text}");
    }
    assert!(lines(&world).stdout.contains("could not be merged"), "people are told, too");
}
