//! F09, F14: the harness commits the content of a tree, whatever an agent has done to it.

use crate::world::{World, assert_clear, new_tree, write};
use ostler_worktrees::{Author, TreeLimits, WorktreeError};
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

fn author() -> Author {
    Author { name: "Agent".into(), email: "agent@example.org".into() }
}

#[tokio::test]
async fn everything_that_is_not_ignored_becomes_one_commit() {
    let world = World::new();
    world.write("gone", "x");
    world.write("dir/a", "x");
    world.git(&["add", "."]);
    world.git(&["commit", "-qm", "more"]);
    let before = world.checkout_state();
    let trees = world.trees().await;
    let tree = trees.create(new_tree("x")).await.unwrap();
    let nothing = trees.commit(&tree, "Nothing", &author()).await.unwrap();
    assert_eq!(nothing.commit, None);
    write(tree.path(), "file", "changed\n");
    write(tree.path(), "new\nline", "x");
    write(tree.path(), "target/build", "ignored");
    fs::remove_file(tree.path().join("gone")).unwrap();
    // A directory becomes a file, and a file a directory.
    fs::remove_dir_all(tree.path().join("dir")).unwrap();
    write(tree.path(), "dir", "now a file");
    symlink("/etc/passwd", tree.path().join("link")).unwrap();
    write(tree.path(), "run", "#!/bin/sh\n");
    fs::set_permissions(tree.path().join("run"), fs::Permissions::from_mode(0o755)).unwrap();
    let commit =
        trees.commit(&tree, "All of it\n\nWith a body\n", &author()).await.unwrap().commit.unwrap();
    assert_eq!(world.git(&["rev-parse", "ostler/x"]), commit.as_str());
    let changes =
        world.git(&["diff-tree", "-r", "--name-status", "--no-renames", "main", "ostler/x"]);
    assert_eq!(changes, "A\tdir\nD\tdir/a\nM\tfile\nD\tgone\nA\tlink\nA\t\"new\\nline\"\nA\trun");
    assert_eq!(
        world.git(&["cat-file", "-p", "ostler/x:link"]),
        "/etc/passwd",
        "a link is stored as a link"
    );
    assert!(world.git(&["ls-tree", "ostler/x", "run"]).starts_with("100755"));
    assert_eq!(
        world.git(&["log", "-1", "--format=%an <%ae> %cn %s|%b", "ostler/x"]),
        "Agent <agent@example.org> Agent All of it|With a body\n".trim_end()
    );
    // The next one starts from there, and git in the tree agrees.
    assert_eq!(world.git_in(tree.path(), &["status", "--porcelain"]), "");
    assert_eq!(trees.commit(&tree, "Nothing", &author()).await.unwrap().commit, None);
    write(tree.path(), "file", "again\n");
    trees.commit(&tree, "Again", &author()).await.unwrap().commit.unwrap();
    assert_eq!(world.git(&["rev-list", "--count", "main..ostler/x"]), "2");
    assert_eq!(world.checkout_state(), before, "the main checkout is as it was");
}

#[tokio::test]
async fn a_repository_that_an_agent_planted_is_neither_read_nor_committed() {
    let world = World::new();
    let trees = world.trees().await;
    let tree = trees.create(new_tree("x")).await.unwrap();
    let trace = world.base.join("ran");
    let evil = tree.path().join("evil");
    world.git(&["init", "-q", evil.to_str().unwrap()]);
    write(&evil, "a", "x");
    world.git_in(&evil, &["add", "."]);
    world.git_in(&evil, &["commit", "-qm", "x"]);
    let program = format!("touch {}; false", trace.display());
    for key in ["core.fsmonitor", "core.sshCommand", "filter.x.clean", "core.hooksPath"] {
        world.git_in(&evil, &["config", key, &program]);
    }
    write(tree.path(), ".gitattributes", "* filter=x\n");
    write(tree.path(), "good", "x");
    // It takes the place of the file that leads to the repository.
    fs::remove_file(tree.path().join(".git")).unwrap();
    fs::rename(evil.join(".git"), tree.path().join(".git")).unwrap();
    world.git(&["clone", "-q", ".", tree.path().join("nested").to_str().unwrap()]);
    let committed = trees.commit(&tree, "Work", &author()).await.unwrap();
    assert!(committed.commit.is_some());
    assert_eq!(committed.left_out, [std::path::PathBuf::from("nested")]);
    let names = world.git(&["ls-tree", "-r", "--name-only", "ostler/x"]);
    assert_eq!(names, ".gitattributes\n.gitignore\nevil/a\nfile\ngood");
    assert!(!trace.exists());
    // What was left out is a reason to keep the tree.
    trees.release(tree).await.unwrap();
    assert_eq!(trees.find("x").await.unwrap().uncommitted.unwrap().untracked.count, 1);
}

/// Whatever an agent puts in the place of tracked files, the rest of its work is committed.
#[tokio::test]
async fn links_and_pipes_in_the_place_of_files_do_not_stop_a_commit() {
    let world = World::new();
    world.write("dir/a", "1");
    world.write("pipe", "1");
    world.git(&["add", "."]);
    world.git(&["commit", "-qm", "more"]);
    let trees = world.trees().await;
    let tree = trees.create(new_tree("x")).await.unwrap();
    fs::remove_dir_all(tree.path().join("dir")).unwrap();
    symlink("elsewhere", tree.path().join("dir")).unwrap();
    fs::remove_file(tree.path().join("pipe")).unwrap();
    let mode = rustix::fs::Mode::from(0o600);
    rustix::fs::mkfifoat(rustix::fs::CWD, tree.path().join("pipe"), mode).unwrap();
    write(tree.path(), "new", "work");
    let committed = trees.commit(&tree, "Work", &author()).await.unwrap();
    assert_eq!(committed.left_out, [std::path::PathBuf::from("pipe")]);
    let names = world.git(&["ls-tree", "-r", "--name-only", "ostler/x"]);
    assert_eq!(names, ".gitignore\ndir\nfile\nnew\npipe");
    assert_eq!(world.git(&["cat-file", "-p", "ostler/x:dir"]), "elsewhere");
    assert_eq!(world.git(&["cat-file", "-p", "ostler/x:pipe"]), "1");
}

/// A copy of the branch on a remote is no merge.
#[tokio::test]
async fn what_was_only_pushed_is_not_merged() {
    let world = World::new();
    let trees = world.trees().await;
    let tree = trees.create(new_tree("x")).await.unwrap();
    write(tree.path(), "new", "work");
    trees.commit(&tree, "Work", &author()).await.unwrap();
    trees.release(tree).await.unwrap();
    let unmerged = async || trees.find("x").await.unwrap().unmerged;
    world.git(&["update-ref", "refs/remotes/origin/ostler/x", "ostler/x"]);
    assert_eq!(unmerged().await, 1);
    world.git(&["update-ref", "refs/remotes/origin/main", "ostler/x"]);
    assert_eq!(unmerged().await, 0);
}

/// Commands of another session may be able to write to the git directory of a tree. What it says about the place of the
/// repository is not believed.
#[tokio::test]
async fn another_repository_in_the_trees_git_directory_is_not_used() {
    let world = World::new();
    let trees = world.trees().await;
    let tree = trees.create(new_tree("x")).await.unwrap();
    let (trace, evil) = (world.base.join("ran"), world.base.join("evil"));
    let program = format!("touch {}; cat", trace.display());
    world.git(&["init", "-q", "--bare", evil.to_str().unwrap()]);
    for key in ["filter.x.clean", "filter.x.smudge"] {
        world.git_in(&evil, &["config", key, &program]);
    }
    write(&evil, "info/attributes", "* filter=x\n");
    let git_dir = tree.record().git_dir.clone().unwrap();
    fs::write(git_dir.join("commondir"), format!("{}\n", evil.display())).unwrap();
    write(tree.path(), "file", "changed\n");
    let commit = trees.commit(&tree, "Work", &author()).await.unwrap().commit.unwrap();
    assert_eq!(world.git(&["rev-parse", "ostler/x"]), commit.as_str());
    trees.diff("x").await.unwrap();
    assert_eq!(trees.find("x").await.unwrap().unmerged, 1);
    assert!(!trace.exists());
}

#[tokio::test]
async fn only_the_trees_own_branch_moves_and_only_from_where_it_was() {
    let world = World::new();
    let trees = world.trees().await;
    let tree = trees.create(new_tree("x")).await.unwrap();
    let other = trees.create(new_tree("y")).await.unwrap();
    write(tree.path(), "new", "x");
    let before = world.refs();
    let objects = |world: &World| world.git(&["count-objects"]);
    let had = objects(&world);
    // Somebody moves the branch while the content is read.
    world.shim("if [ \"$3\" = commit-tree ]; then $real -C \"$OLDPWD\" --version >/dev/null; commit=$($real -c user.name=n -c user.email=e commit-tree -m other HEAD^{tree}); $real update-ref refs/heads/ostler/x $commit; fi");
    let error = world.trees().await.commit(&tree, "Work", &author()).await.unwrap_err();
    assert!(matches!(&error, WorktreeError::RefMoved { .. }), "{error}");
    assert_clear(&error, &["refs/heads/ostler/x", "nothing was overwritten"]);
    assert_eq!(world.git(&["log", "-1", "--format=%s", "ostler/x"]), "other");
    assert_ne!(objects(&world), had);
    let after = world.refs();
    let others = |text: &str| {
        text.lines()
            .filter(|line| !line.contains("ostler/x"))
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    assert_eq!(others(&after), others(&before));
    drop(other);
}

#[tokio::test]
async fn f09_an_index_lock_neither_stops_a_commit_nor_is_removed() {
    let world = World::new();
    let trees = world.trees().await;
    let tree = trees.create(new_tree("x")).await.unwrap();
    let lock = tree.record().git_dir.clone().unwrap().join("index.lock");
    fs::write(&lock, "of a git that runs in the tree").unwrap();
    for text in ["one", "two"] {
        write(tree.path(), "new", text);
        assert!(trees.commit(&tree, "Work", &author()).await.unwrap().commit.is_some());
    }
    assert_eq!(world.git(&["cat-file", "-p", "ostler/x:new"]), "two");
    assert_eq!(fs::read_to_string(&lock).unwrap(), "of a git that runs in the tree");
}

#[tokio::test]
async fn f14_a_tree_that_was_deleted_moved_or_replaced_is_reported() {
    let world = World::new();
    let trees = world.trees().await;
    for act in ["deleted", "moved", "replaced", "linked"] {
        let tree = trees.create(new_tree(act)).await.unwrap();
        write(tree.path(), "new", "x");
        let tip = world.git(&["rev-parse", tree.branch()]);
        let elsewhere = world.base.join(act);
        fs::rename(tree.path(), &elsewhere).unwrap();
        match act {
            "replaced" => fs::create_dir(tree.path()).unwrap(),
            "linked" => symlink(&elsewhere, tree.path()).unwrap(),
            _ => {}
        }
        let error = trees.commit(&tree, "Work", &author()).await.unwrap_err();
        match act {
            "deleted" | "moved" => {
                assert!(matches!(error, WorktreeError::TreeGone { .. }), "{error}");
                assert_clear(
                    &error,
                    &["moved or deleted", tree.path().to_str().unwrap(), tree.branch()],
                );
            }
            _ => assert!(matches!(error, WorktreeError::TreeReplaced { .. }), "{act}: {error}"),
        }
        assert_eq!(world.git(&["rev-parse", tree.branch()]), tip);
    }
}

#[tokio::test]
async fn f14_git_worktree_prune_does_not_take_a_tree_that_is_in_use() {
    let world = World::new();
    let trees = world.trees().await;
    let tree = trees.create(new_tree("x")).await.unwrap();
    write(tree.path(), "new", "x");
    let elsewhere = world.base.join("elsewhere");
    fs::rename(tree.path(), &elsewhere).unwrap();
    world.git(&["worktree", "prune", "--expire=now"]);
    fs::rename(&elsewhere, tree.path()).unwrap();
    assert!(trees.commit(&tree, "Work", &author()).await.unwrap().commit.is_some());
    // By force it is gone for git, and that is said.
    fs::remove_dir_all(tree.record().git_dir.clone().unwrap()).unwrap();
    let error = trees.commit(&tree, "Work", &author()).await.unwrap_err();
    assert!(matches!(error, WorktreeError::Unregistered { .. }), "{error}");
    assert_clear(&error, &["git no longer knows worktree x", "its files are still there"]);
}

/// Git compares sizes and times first, and reads files that are as young as the index. A copy of the index must not be
/// younger than the index was.
#[tokio::test]
async fn a_change_that_leaves_size_and_time_as_they_were_is_not_missed() {
    let world = World::new();
    world.git(&["config", "core.trustctime", "false"]);
    world.git(&["config", "core.checkStat", "minimal"]);
    let trees = world.trees().await;
    let tree = trees.create(new_tree("x")).await.unwrap();
    let then = std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000_000);
    let set_back = |path: &std::path::Path| {
        fs::File::options().write(true).open(path).unwrap().set_modified(then).unwrap()
    };
    let index = tree.record().git_dir.clone().unwrap().join("index");
    set_back(&tree.path().join("file"));
    world.git_in(tree.path(), &["update-index", "--refresh"]);
    set_back(&index);
    write(tree.path(), "file", "one\nTWO\nthree\n");
    set_back(&tree.path().join("file"));
    assert!(trees.commit(&tree, "Work", &author()).await.unwrap().commit.is_some());
    // The same for the index that the commit has left.
    write(tree.path(), "file", "one\ntwo\nTHREE\n");
    assert!(trees.commit(&tree, "Work", &author()).await.unwrap().commit.is_some());
    assert_eq!(world.git(&["cat-file", "-p", "ostler/x:file"]), "one\ntwo\nTHREE");
}

#[tokio::test]
async fn content_that_is_too_large_is_refused() {
    let mut world = World::new();
    world.limits = TreeLimits { commit_bytes: 100, ..TreeLimits::default() };
    let trees = world.trees().await;
    let tree = trees.create(new_tree("x")).await.unwrap();
    write(tree.path(), "large", &"x".repeat(101));
    let error = trees.commit(&tree, "Work", &author()).await.unwrap_err();
    assert!(matches!(error, WorktreeError::TooLarge { bytes: 101, limit: 100, .. }), "{error}");
    assert_clear(&error, &[".gitignore"]);
}
