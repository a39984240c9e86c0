//! `ostler worktrees`: each command, its JSON and its exit code.

use crate::support::{Ran, World};
use crate::workers;
use ostler::worktrees::{
    Author, Git, GitLimits, NewTree, Owner, OwnerKind, TreeLimits, Worktree, WorktreeSetup,
    Worktrees,
};
use ostler_exec::{Executor, SupervisorProgram};
use ostler_model_server::{Script, text};
use serde_json::{Value, json};
use std::path::PathBuf;
use std::process::Command;

fn git(world: &World, words: &[&str]) -> String {
    let mut command = Command::new("git");
    command
        .args(["-c", "user.name=n", "-c", "user.email=e@x"])
        .args(words)
        .current_dir(world.project());
    command.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_SYSTEM", "/dev/null");
    let output = command.output().unwrap();
    assert!(output.status.success(), "git {words:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).trim_end().to_owned()
}

fn world() -> World {
    let world = World::new(Script::new());
    git(&world, &["init", "-q", "-b", "main", "."]);
    world.file("file", "one\ntwo\nthree\n");
    world.file(".gitignore", "target/\n");
    git(&world, &["add", "."]);
    git(&world, &["commit", "-qm", "first"]);
    world
}

fn run(world: &World, args: &[&str]) -> Ran {
    world.run(&[&["worktrees"], args].concat())
}

/// The one object that a command prints.
#[track_caller]
fn object(world: &World, args: &[&str], code: i32) -> Value {
    let ran = run(world, &[args, &["--json"]].concat());
    assert_eq!(ran.code, Some(code), "{ran:?}");
    assert_eq!(ran.stdout.lines().count(), 1, "{ran:?}");
    serde_json::from_str(&ran.stdout).unwrap()
}

/// Worktrees as a session or a worker opens them.
async fn trees(world: &World) -> Worktrees {
    let program = SupervisorProgram {
        program: env!("CARGO_BIN_EXE_ostler").into(),
        args: vec!["__ostler-supervisor".into()],
    };
    let path = std::env::var_os("PATH").unwrap_or_default();
    let environment = vec![("PATH".into(), path), ("HOME".into(), world.home().into())];
    let setup = WorktreeSetup {
        git: Git::find(Executor::new(program), environment, GitLimits::default()).unwrap(),
        state: world.home().join("worktrees"),
        project: ostler_store::project_name(&world.project()),
        limits: TreeLimits::default(),
    };
    Worktrees::open(setup, &world.project()).await.unwrap()
}

fn new_tree(name: &str) -> NewTree<'_> {
    let owner = Owner { kind: OwnerKind::Worker, id: "w1".into(), task: Some("3f2a".into()) };
    NewTree { name, owner, include: None, commands: None, now_ms: 1 }
}

/// A released tree with these files, committed or not.
async fn tree(world: &World, name: &str, files: &[(&str, &str)], commit: bool) -> PathBuf {
    std::fs::create_dir_all(world.home()).unwrap();
    let trees = trees(world).await;
    let tree: Worktree = trees.create(new_tree(name)).await.unwrap();
    for (file, text) in files {
        let path = tree.path().join(file);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    if commit {
        trees.commit(&tree, &format!("Work on {name}"), &Author::default()).await.unwrap();
    }
    let path = tree.path().to_path_buf();
    trees.release(tree).await.unwrap();
    path
}

#[tokio::test]
async fn worktrees_are_listed_and_compared() {
    let world = world();
    assert_eq!(run(&world, &["list"]).stdout, "No worktrees.\n");
    assert_eq!(object(&world, &["list"], 0), json!({"worktrees": []}));
    tree(&world, "one", &[("file", "ONE\ntwo\nthree\n")], true).await;
    tree(&world, "two", &[("new", "x\n"), ("target/x", "x")], false).await;
    let held = trees(&world).await.create(new_tree("three")).await.unwrap();
    let listed = run(&world, &["list"]).stdout;
    let lines: Vec<String> =
        listed.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
    let expected = [
        "one idle, task 3f2a, 1 commit not merged",
        "three in use by worker w1, task 3f2a",
        "two idle, task 3f2a, 1 file not committed, 1 ignored name",
    ];
    assert_eq!(lines, expected);
    let listed = object(&world, &["list"], 0);
    let first = &listed["worktrees"][0];
    assert_eq!(
        (&first["name"], &first["state"], &first["unmerged"]),
        (&json!("one"), &json!("idle"), &json!(1))
    );
    assert_eq!(first["record"]["owner"]["task"], "3f2a");
    drop(held);

    assert_eq!(run(&world, &["diff", "one", "--stat"]).stdout.trim(), "+1      -1  file");
    let text = run(&world, &["diff", "one"]).stdout;
    assert!(text.contains("-one\n+ONE\n"), "{text}");
    assert!(run(&world, &["diff", "two"]).stdout.contains("+x"), "what is not committed is shown");
    assert_eq!(object(&world, &["diff", "two"], 0)["files"][0]["path"], "new");
    let ran = run(&world, &["diff", "nothing"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(1), ""));
    assert!(ran.stderr.contains("there is no worktree and no branch ostler/nothing"), "{ran:?}");
}

#[tokio::test]
async fn a_merge_checks_the_merged_files_in_the_sandbox() {
    let world = world();
    for name in ["a", "b", "c"] {
        tree(&world, name, &[(name, "x")], true).await;
    }
    // The check can neither move refs nor write to the main checkout.
    let main = world.project();
    let check = format!(
        "if git update-ref refs/heads/main ostler/a || echo x > '{}/file'; then exit 9; fi; ! {{ [ -e a ] && [ -e c ]; }}",
        main.display()
    );
    let ran = run(&world, &["merge", "a", "b", "c", "--check", &check, "--json"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    let report: Value = serde_json::from_str(&ran.stdout).unwrap();
    let outcomes: Vec<&Value> =
        report["branches"].as_array().unwrap().iter().map(|one| &one["outcome"]).collect();
    assert_eq!(outcomes, ["merged", "merged", "red"], "{report}");
    assert_eq!(report["branches"][2]["with"], json!(["ostler/a"]));
    assert!(!report["branches"][2]["report"].as_str().unwrap().contains("exit code 9"), "{report}");
    assert_eq!(git(&world, &["status", "--porcelain"]), "");
    assert_eq!((world.read("a"), world.read("file")), ("x".into(), "one\ntwo\nthree\n".into()));
    assert_eq!(git(&world, &["ls-tree", "--name-only", "main"]), ".gitignore\na\nb\nfile");

    let ran = run(&world, &["merge", "a", "c"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.stdout.starts_with("ostler/a: already merged\nostler/c: merged as "), "{ran:?}");
    assert!(
        ran.stdout.contains("main is now at ") && ran.stdout.contains("files updated in "),
        "{ran:?}"
    );
}

#[tokio::test]
async fn overlaps_conflicts_and_dirty_checkouts_are_reported() {
    let world = world();
    tree(&world, "one", &[("file", "one\nONE\nthree\n")], true).await;
    tree(&world, "two", &[("file", "one\nTWO\nthree\n")], false).await;
    let ran = run(&world, &["merge", "one", "two", "--dry-run"]);
    assert_eq!(ran.stdout, "one and two: conflict in file\n  file: lines 2\n", "{ran:?}");
    let found = object(&world, &["merge", "one", "two", "--dry-run"], 0);
    assert_eq!(found["overlaps"][0]["files"][0]["lines"], json!([{"first": 2, "last": 2}]));
    // Also while somebody works there.
    let held = trees(&world).await.create(new_tree("three")).await.unwrap();
    std::fs::write(held.path().join("file"), "one\n3\nthree\n").unwrap();
    let found = object(&world, &["merge", "--all", "--dry-run"], 0);
    let pairs: Vec<String> = (found["overlaps"].as_array().unwrap().iter())
        .map(|pair| format!("{} {}", pair["one"], pair["other"]).replace('"', ""))
        .collect();
    assert_eq!(pairs, ["one three", "one two", "three two"], "{found}");
    drop(held);
    let ran = run(&world, &["merge", "one", "--dry-run"]);
    assert_eq!(ran.stdout, "one can be merged into main.\n", "{ran:?}");

    // The target has changed the same line.
    git(&world, &["branch", "-q", "elsewhere"]);
    git(&world, &["checkout", "-q", "elsewhere"]);
    world.file("file", "one\nelsewhere\nthree\n");
    git(&world, &["commit", "-qam", "elsewhere"]);
    git(&world, &["checkout", "-q", "main"]);
    let ran = run(&world, &["merge", "one", "--dry-run", "--into", "elsewhere"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(ran.stdout, "one and elsewhere: conflict in file\n  file: lines 2\n", "{ran:?}");
    let ran = run(&world, &["merge", "one", "--dry-run", "--into", "nowhere"]);
    assert!(ran.code == Some(1) && ran.stderr.contains("nowhere"), "{ran:?}");

    let ran = run(&world, &["merge", "one", "two"]);
    assert_eq!(ran.code, Some(1));
    assert!(
        ran.stderr.contains("worktree two has changes that are not committed")
            && ran.stderr.contains("--commit"),
        "{ran:?}"
    );
    world.file("file", "mine\n");
    let held = run(&world, &["merge", "one"]);
    assert_eq!(held.code, Some(1), "{held:?}");
    assert!(
        held.stdout.contains("main was not moved: ") && held.stdout.contains("commit or stash"),
        "{held:?}"
    );
    assert_eq!(world.read("file"), "mine\n");
    git(&world, &["checkout", "-q", "file"]);

    let ran = run(&world, &["merge", "one", "two", "--commit"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.stdout.contains("ostler/two: conflict in file with ostler/one"), "{ran:?}");
    assert!(!ran.stdout.contains("task "), "no task of this board is done there: {ran:?}");
    assert!(
        git(&world, &["branch", "--list", "ostler/*"]).contains("ostler/two"),
        "both branches are kept"
    );
}

#[tokio::test]
async fn nothing_is_deleted_without_a_decision() {
    let world = world();
    let work = tree(&world, "work", &[("new", "x")], true).await;
    tree(&world, "nothing", &[], false).await;
    tree(&world, "built", &[("target/x", "x")], false).await;
    let dry = object(&world, &["prune", "--dry-run"], 0);
    assert_eq!(dry["removed"], json!(["nothing"]));
    let ran = run(&world, &["prune"]);
    let expected = "Removed nothing\nKept built: 1 ignored file or directory is in it (--ignored removes it)\n\
        Kept work: 1 commit is not merged\n";
    assert_eq!(ran.stdout, expected, "{ran:?}");
    assert_eq!(object(&world, &["prune", "--ignored"], 0)["removed"], json!(["built"]));

    for args in [&["discard", "work"][..], &["discard", "work", "--json"]] {
        let ran = run(&world, args);
        assert_eq!(ran.code, Some(2), "{ran:?}");
        assert!(ran.stderr.contains("confirm with --yes"), "{ran:?}");
    }
    assert!(work.join("new").exists());
    let tip = git(&world, &["rev-parse", "ostler/work"]);
    let gone = object(&world, &["discard", "work", "--yes"], 0);
    assert_eq!(gone["discarded"][0]["tip"], json!(tip));
    assert!(!work.exists());
    assert_eq!(git(&world, &["branch", "--list", "ostler/*"]), "");
}

#[test]
fn a_directory_without_a_repository_is_named() {
    let world = World::new(Script::new());
    let ran = run(&world, &["list"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(1), ""), "{ran:?}");
    assert!(ran.stderr.contains("is not in a git repository"), "{ran:?}");
    assert_eq!(ran.stderr.lines().count(), 1, "{ran:?}");
}

/// Its only trace is what it prints: it can write nothing but the worktree, which goes.
#[tokio::test]
async fn prune_and_discard_run_the_teardown_command_of_a_trusted_project() {
    let world = world();
    let escaped = world.project().join("escaped");
    let teardown =
        format!("touch '{}' 2>&-; echo \"ended $OSTLER_WORKTREE\"; exit 3", escaped.display());
    let settings = json!({ "worktrees": { "teardown": teardown } });
    world.file(".ostler/settings.json", &settings.to_string());
    tree(&world, "one", &[], false).await;
    tree(&world, "two", &[("new", "x")], true).await;
    for args in [&["prune"][..], &["discard", "two", "--yes"]] {
        let ran = run(&world, args);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        assert!(ran.stderr.contains("runs before a worktree is removed: touch "), "{ran:?}");
        assert!(!ran.stderr.contains("ended "), "nobody has trusted it: {ran:?}");
    }
    assert_eq!(world.run(&["permissions", "trust", "--yes"]).code, Some(0));
    tree(&world, "one", &[], false).await;
    tree(&world, "two", &[("new", "x")], true).await;
    let dry = run(&world, &["prune", "--dry-run"]);
    assert!(!dry.stderr.contains("ended "), "nothing is removed yet: {dry:?}");
    for (args, name) in [(&["prune"][..], "one"), (&["discard", "two", "--yes"], "two")] {
        let ran = run(&world, args);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        let told = format!("the teardown command failed: exit code 3 ended {name}");
        assert!(ran.stderr.contains(&told), "{ran:?}");
    }
    assert!(!escaped.exists(), "it has a sandbox");
    assert_eq!(object(&world, &["list"], 0), json!({"worktrees": []}));
}

/// A worker that commits says which worktrees in use change the same places, long before anybody merges.
#[tokio::test]
async fn a_worker_reports_overlaps_with_worktrees_in_use() {
    let world = workers::world(|_, answers| match answers {
        0 => workers::bash("printf 'one\\nTWO\\nthree\\n' > file"),
        _ => text("Done."),
    });
    std::fs::create_dir_all(world.home()).unwrap();
    let held = trees(&world).await.create(new_tree("held")).await.unwrap();
    std::fs::write(held.path().join("file"), "one\nzwei\nthree\n").unwrap();
    let apart = trees(&world).await.create(new_tree("apart")).await.unwrap();
    std::fs::write(apart.path().join("other"), "x").unwrap();
    crate::tasks::add(&world, &["Translate"]);
    let ran = workers::once(&world, &[]);
    let notices = workers::events(&ran, "notice");
    assert_eq!(notices.len(), 1, "{ran:?}");
    let expected = "worktree held, which is in use, changes the same files: file (lines 2 to 2); they conflict";
    assert!(notices[0]["text"].as_str().unwrap().ends_with(expected), "{notices:?}");
    assert_eq!(workers::events(&ran, "finished").len(), 1, "it is only a notice: {ran:?}");
    drop((held, apart));
}
