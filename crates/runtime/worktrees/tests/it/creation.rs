//! F03, F12, F13, F15: names, places, ports, and creation that fails.

use crate::world::{World, assert_clear, new_tree, write};
use ostler_worktrees::{
    CommandFuture, NewTree, TreeCommands, TreeRecord, TreeState, Worktree, WorktreeError,
};
use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::symlink;
use std::process::Stdio;
use std::sync::Mutex;

#[tokio::test]
async fn a_tree_has_a_branch_a_place_and_ports_of_its_own() {
    let world = World::new();
    let trees = world.trees().await;
    let one = trees.create(new_tree("Fix the parser!")).await.unwrap();
    let two = trees.create(new_tree("Fix the parser!")).await.unwrap();
    assert_eq!((one.name(), one.branch()), ("fix-the-parser", "ostler/fix-the-parser"));
    assert_eq!((two.name(), two.branch()), ("fix-the-parser-2", "ostler/fix-the-parser-2"));
    assert_eq!(one.path(), world.state.join("project/fix-the-parser"));
    assert_ne!(one.record().port_base, two.record().port_base);
    let variables: Vec<String> = one
        .variables()
        .into_iter()
        .map(|(name, value)| format!("{}={}", name.display(), value.display()))
        .collect();
    assert_eq!(variables, ["OSTLER_WORKTREE=fix-the-parser", "OSTLER_PORT_BASE=20000"]);
    assert_eq!(
        world.git_in(one.path(), &["status", "--porcelain", "--branch"]),
        "## ostler/fix-the-parser"
    );
    // The ports of a tree that is gone are free again.
    trees.release(one).await.unwrap();
    trees.discard("fix-the-parser", None).await.unwrap();
    assert_eq!(trees.create(new_tree("other")).await.unwrap().record().port_base, 20_000);
}

#[tokio::test]
async fn f03_what_exists_is_never_overwritten() {
    let world = World::new();
    let project = world.state.join("project");
    fs::create_dir_all(&project).unwrap();
    world.git(&["branch", "ostler/a"]);
    fs::create_dir(project.join("b")).unwrap();
    write(&project, "c/kept", "x");
    fs::write(project.join("d"), "file").unwrap();
    symlink(&world.repo, project.join("e")).unwrap();
    symlink("nowhere", project.join("f")).unwrap();
    // Checked out elsewhere, and registered where nothing is any more.
    world.git(&["worktree", "add", "-q", "-b", "ostler/g", "../elsewhere"]);
    world.git(&["worktree", "add", "-q", "-b", "user", project.join("h").to_str().unwrap()]);
    fs::remove_dir_all(project.join("h")).unwrap();
    let before = world.refs();
    let trees = world.trees().await;
    for name in ["a", "b", "c", "d", "e", "f", "g", "h"] {
        let tree = trees.create(new_tree(name)).await.unwrap();
        assert_eq!(tree.name(), format!("{name}-2"));
    }
    let after = world.refs();
    assert!(before.lines().all(|line| after.contains(line)), "{after}");
    assert_eq!(fs::read_to_string(project.join("c/kept")).unwrap(), "x");
    assert_eq!(fs::read_to_string(project.join("d")).unwrap(), "file");
    assert!(project.join("b").read_dir().unwrap().next().is_none());
    assert_eq!(fs::read_link(project.join("f")).unwrap().to_str(), Some("nowhere"));
}

#[tokio::test]
async fn f03_a_branch_called_ostler_leaves_no_room_for_ours() {
    let world = World::new();
    world.git(&["branch", "ostler"]);
    let error = world.trees().await.create(new_tree("x")).await.unwrap_err();
    assert!(matches!(error, WorktreeError::PrefixTaken));
    assert_clear(&error, &["git branch -m ostler"]);
}

#[tokio::test]
async fn f12_a_full_disk_is_reported_and_nothing_stays() {
    let world = World::new();
    world.write("large", &"0123456789abcdef".repeat(64 << 10));
    world.git(&["add", "large"]);
    world.git(&["commit", "-qm", "large"]);
    fs::create_dir(&world.state).unwrap();
    // A disk of its own, in a mount namespace of its own: nothing outside sees it.
    let own = match rustix::process::geteuid().is_root() {
        true => &["--mount"][..],
        false => &["--user", "--map-root-user", "--mount"],
    };
    let script = "mount -t tmpfs -o size=512k none \"$0\" || exit 77; \"$@\"; echo \"exit $?\"; find \"$0\" -mindepth 2 -not -name '.*'";
    let helper = world.helper(&["create", "x"]);
    let mut command = world.program("/usr/bin/unshare", &world.base);
    command
        .args(own)
        .args(["sh", "-c", script])
        .arg(&world.state)
        .arg(helper.get_program())
        .args(helper.get_args());
    let output = command.output().unwrap();
    if matches!(output.status.code(), Some(77 | 1)) {
        println!("SKIPPED: no file system can be mounted here");
        return;
    }
    let text = String::from_utf8_lossy(&output.stdout);
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[0].starts_with("error: cannot create the worktree: "), "{text}");
    assert!(lines[0].contains("No space left on device") || lines[0].contains("large"), "{text}");
    assert_eq!(&lines[1..], ["exit 1"], "{text}");
    assert!(!world.refs().contains("ostler"), "{}", world.refs());
    assert!(!world.git(&["worktree", "list"]).contains("state"));
}

#[test]
fn f13_processes_that_create_the_same_name_at_once_get_different_trees() {
    let world = World::new();
    let start = || {
        let mut command = world.helper(&["create", "same"]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap()
    };
    let mut children: Vec<_> = (0..6).map(|_| start()).collect();
    let name = |child: &mut std::process::Child| {
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    };
    let mut names: Vec<String> = children.iter_mut().map(name).collect();
    names.sort();
    assert_eq!(names, ["same", "same-2", "same-3", "same-4", "same-5", "same-6"]);
    for mut child in children {
        drop(child.stdin.take());
        assert!(child.wait().unwrap().success());
    }
}

/// Two state directories share nothing but the repository.
#[tokio::test]
async fn f13_a_branch_that_appears_in_between_leads_to_another_name() {
    let mut world = World::new();
    let one = world.tree("same").await;
    world.state = world.base.join("another-state");
    let two = world.tree("same").await;
    assert_eq!((one.name(), two.name()), ("same", "same-2"));
}

#[tokio::test]
async fn f15_any_path_works_or_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let base = folder.path().canonicalize().unwrap();
    for repo in ["with blanks", "größe 日本", "new\nline", "quote'\"$(x)`", "-dash", "CASE", "case"]
    {
        let place = base.join("w").join(repo);
        fs::create_dir_all(&place).unwrap();
        let mut world = World::at(&place, repo);
        world.state = place.join(format!("state of {repo}"));
        let trees = world.trees().await;
        let tree =
            trees.create(new_tree(repo)).await.unwrap_or_else(|error| panic!("{repo:?}: {error}"));
        write(tree.path(), repo, "x");
        let committed =
            trees.commit(&tree, "Work", &ostler_worktrees::Author::default()).await.unwrap();
        assert!(committed.commit.is_some(), "{repo:?}");
        assert_eq!(trees.list().await.unwrap()[0].state, TreeState::InUse, "{repo:?}");
        trees.release(tree).await.unwrap();
        trees.discard(&trees.list().await.unwrap()[0].name, None).await.unwrap();
        assert!(!world.refs().contains("ostler"), "{repo:?}");
    }
}

#[tokio::test]
async fn f15_files_200_levels_deep_work() {
    let world = World::new();
    let deep = "d/".repeat(200);
    world.write(&format!("{deep}file"), "x");
    world.git(&["add", "."]);
    world.git(&["commit", "-qm", "deep"]);
    let trees = world.trees().await;
    let tree = trees.create(new_tree("x")).await.unwrap();
    write(tree.path(), &format!("{deep}new"), "y");
    assert!(
        trees
            .commit(&tree, "Work", &ostler_worktrees::Author::default())
            .await
            .unwrap()
            .commit
            .is_some()
    );
    trees.release(tree).await.unwrap();
    trees.discard("x", None).await.unwrap();
    assert_eq!(world.leftovers(), Vec::<String>::new());
}

#[tokio::test]
async fn f15_a_place_that_is_too_long_is_refused_and_nothing_stays() {
    let mut world = World::new();
    world.state = world.base.join(format!("{}/", "e".repeat(200)).repeat(25));
    let error = world.try_open().await.unwrap_err();
    assert_clear(&error, &["cannot create", "too long"]);
    assert_eq!(world.leftovers(), Vec::<String>::new());
}

/// What the commands of the caller saw.
#[derive(Default)]
struct Recorded {
    seen: Mutex<Vec<String>>,
    fails: bool,
}

impl TreeCommands for Recorded {
    fn set_up<'a>(&'a self, tree: &'a Worktree) -> CommandFuture<'a> {
        let has_files = tree.path().join("file").exists();
        self.seen.lock().unwrap().push(format!("set up {} {has_files}", tree.name()));
        let fails = self.fails;
        Box::pin(async move { if fails { Err("npm: command not found".into()) } else { Ok(()) } })
    }

    fn tear_down<'a>(&'a self, record: &'a TreeRecord) -> CommandFuture<'a> {
        let has_files = record.path.join("file").exists();
        self.seen.lock().unwrap().push(format!("tear down {} {has_files}", record.name));
        Box::pin(async { Ok(()) })
    }
}

#[tokio::test]
async fn setup_and_teardown_are_run_by_the_caller_with_the_files_in_place() {
    let world = World::new();
    let trees = world.trees().await;
    let commands = Recorded::default();
    let tree = trees.create(NewTree { commands: Some(&commands), ..new_tree("x") }).await.unwrap();
    trees.release(tree).await.unwrap();
    trees.discard("x", Some(&commands)).await.unwrap();
    assert_eq!(*commands.seen.lock().unwrap(), ["set up x true", "tear down x true"]);
}

#[tokio::test]
async fn a_setup_command_that_fails_leaves_nothing() {
    let world = World::new();
    let commands = Recorded { fails: true, ..Recorded::default() };
    let error = world
        .trees()
        .await
        .create(NewTree { commands: Some(&commands), ..new_tree("x") })
        .await
        .unwrap_err();
    assert!(matches!(error, WorktreeError::SetupFailed { .. }));
    assert_clear(&error, &["npm: command not found"]);
    assert_eq!(world.leftovers(), Vec::<String>::new());
}
