//! `.worktreeinclude`: which files are copied, and which never are.

use crate::world::{World, new_tree, write};
use ostler_worktrees::{NewTree, TreeLimits, TreeWarning, Worktree, read_include_file};
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

async fn tree(world: &World, patterns: &str) -> Worktree {
    world.trees().await.create(NewTree { include: Some(patterns), ..new_tree("x") }).await.unwrap()
}

fn included(tree: &Worktree) -> Vec<&str> {
    tree.included.iter().map(|path| path.to_str().unwrap()).collect()
}

#[tokio::test]
async fn ignored_and_untracked_files_that_match_are_copied() {
    let world = World::new();
    for (name, text) in [
        (".env", "secret"),
        (".env.local", "more"),
        ("deep/er/.env", "deep"),
        ("keys/a.pem", "key"),
        ("other.log", "no"),
        ("notes", "untracked"),
        ("file", "changed, but tracked"),
    ] {
        world.write(name, text);
    }
    fs::set_permissions(world.repo.join("keys/a.pem"), fs::Permissions::from_mode(0o400)).unwrap();
    world.write(".worktreeinclude", "# what trees need\n.env\nkeys/\n!keys/b.pem\nnotes\nfile\n");
    let patterns = read_include_file(&world.repo).unwrap().unwrap();
    let tree = tree(&world, &patterns).await;
    assert_eq!(included(&tree), [".env", "deep/er/.env", "keys/a.pem", "notes"]);
    let read = |name: &str| fs::read_to_string(tree.path().join(name)).unwrap();
    assert_eq!(
        (read(".env"), read("deep/er/.env"), read("file")),
        ("secret".into(), "deep".into(), "one\ntwo\nthree\n".into())
    );
    let mode = tree.path().join("keys/a.pem").metadata().unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    assert!(!tree.path().join(".env.local").exists());
    // A copy of an ignored file is no reason to keep a tree.
    let trees = world.trees().await;
    let entry = trees.find("x").await.unwrap();
    assert_eq!(entry.uncommitted.unwrap().ignored.count, 0);
}

/// They are the person's files, not the agent's work, whatever it writes into `.gitignore`; also if another process goes on.
#[tokio::test]
async fn what_was_copied_is_never_committed() {
    let world = World::new();
    world.write(".env", "secret");
    world.write("notes", "untracked");
    let tree = tree(&world, ".env\nnotes\n").await;
    write(tree.path(), ".gitignore", "");
    write(tree.path(), "work", "done");
    let trees = world.trees().await;
    let author = ostler_worktrees::Author::default();
    trees.commit(&tree, "Work", &author).await.unwrap().commit.unwrap();
    let names = || world.git(&["ls-tree", "-r", "--name-only", "ostler/x"]);
    assert_eq!(names(), ".gitignore\nfile\nwork");
    let owner = tree.record().owner.clone();
    trees.release(tree).await.unwrap();
    let tree = trees.adopt("x", owner).await.unwrap();
    write(tree.path(), "work", "again");
    trees.commit(&tree, "Work", &author).await.unwrap().commit.unwrap();
    assert_eq!(names(), ".gitignore\nfile\nwork");
}

#[tokio::test]
async fn links_are_not_followed_and_nothing_outside_is_read() {
    let world = World::new();
    write(&world.base, "outside/secret", "secret");
    symlink(world.base.join("outside/secret"), world.repo.join(".env")).unwrap();
    symlink(world.base.join("outside"), world.repo.join("linked")).unwrap();
    symlink("file", world.repo.join("inner.log")).unwrap();
    world.write("plain.log", "x");
    let tree = tree(&world, ".env\nlinked\nlinked/secret\n*.log\n../outside/secret\n").await;
    assert_eq!(included(&tree), ["plain.log"]);
    let names: Vec<&str> = tree
        .warnings
        .iter()
        .filter_map(|warning| match warning {
            TreeWarning::NotCopied { path, why } if why.contains("link") => Some(path.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(names, [".env", "inner.log", "linked"]);
    assert!(!tree.path().join("linked").exists() && !tree.path().join(".env").exists());
}

#[tokio::test]
async fn pipes_repositories_and_too_much_are_left_out() {
    let mut world = World::new();
    world.limits = TreeLimits { included_files: 2, included_bytes: 10, ..TreeLimits::default() };
    assert!(world.program("/usr/bin/mkfifo", &world.repo).arg("a.log").status().unwrap().success());
    world.write("b.log", "12345678");
    world.write("c.log", "12345678");
    world.write("d.log", "1");
    world.write("e.log", "1");
    world.git(&["init", "-q", "inner"]);
    world.write("inner/f.log", "1");
    let tree = tree(&world, "*.log\ninner\n").await;
    assert_eq!(included(&tree), ["b.log", "d.log"]);
    let text: Vec<String> = tree.warnings.iter().map(ToString::to_string).collect();
    assert!(
        text.iter()
            .any(|line| line.contains("c.log was not copied: the included files are too large")),
        "{text:?}"
    );
    assert!(
        text.iter().any(|line| line.contains("e.log was not copied: more than 2 files match")),
        "{text:?}"
    );
    assert!(!tree.path().join("inner/.git").exists());
}

#[tokio::test]
async fn the_file_of_patterns_must_be_a_file() {
    let world = World::new();
    assert!(read_include_file(&world.repo).unwrap().is_none());
    symlink("/etc/passwd", world.repo.join(".worktreeinclude")).unwrap();
    assert!(read_include_file(&world.repo).is_err());
}
