//! F01, F02, F07, F08, F17: what has to be right before anything is created.

use crate::queue::merge;
use crate::world::{World, assert_clear, new_tree, write};
use ostler_worktrees::{Author, BranchOutcome, TreeWarning, Verdict, WorktreeError};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// The error of an attempt to create a tree, after which nothing may be left.
async fn refusal(world: &World, folder: &Path) -> WorktreeError {
    let error = match world.open_at(folder).await {
        Ok(trees) => trees.create(new_tree("x")).await.unwrap_err(),
        Err(error) => error,
    };
    let left = world.state.join("project").read_dir().into_iter().flatten().flatten();
    let left: Vec<_> =
        left.map(|entry| entry.file_name()).filter(|name| name != ".records").collect();
    assert!(left.is_empty(), "{left:?}");
    error
}

#[tokio::test]
async fn f01_a_dirty_checkout_stays_as_it_is_and_is_not_carried_over() {
    let world = World::new();
    world.write("file", "changed\n");
    world.write("new", "untracked\n");
    world.write("staged", "staged\n");
    world.git(&["add", "staged"]);
    let before = world.checkout_state();
    let tree = world.tree("x").await;
    let dirty = TreeWarning::Dirty { changed: 2, untracked: 1 };
    assert_eq!(tree.warnings, [dirty]);
    assert_eq!(std::fs::read_to_string(tree.path().join("file")).unwrap(), "one\ntwo\nthree\n");
    assert!(!tree.path().join("new").exists() && !tree.path().join("staged").exists());
    assert_eq!(world.checkout_state(), before);
}

#[tokio::test]
async fn f02_a_directory_without_a_repository_is_refused() {
    let world = World::fresh();
    let error = refusal(&world, &world.repo).await;
    assert!(matches!(error, WorktreeError::NotARepository(_)));
    assert_clear(&error, &["not in a git repository", "git init", world.repo.to_str().unwrap()]);
}

#[tokio::test]
async fn f02_a_branch_without_a_commit_is_refused() {
    let world = World::fresh();
    world.git(&["init", "-q", "-b", "main", "."]);
    let error = refusal(&world, &world.repo).await;
    assert!(matches!(error, WorktreeError::UnbornBranch { .. }));
    assert_clear(&error, &["main", "commit something first"]);
}

#[tokio::test]
async fn f02_a_detached_head_is_refused_with_the_remedy() {
    let world = World::new();
    world.git(&["checkout", "-q", "--detach"]);
    let error = refusal(&world, &world.repo).await;
    assert!(matches!(error, WorktreeError::DetachedHead(_)));
    assert_clear(&error, &["git switch -c NAME"]);
}

#[tokio::test]
async fn f02_a_bare_repository_and_a_git_directory_are_refused() {
    let world = World::new();
    world.git(&["clone", "-q", "--bare", ".", "../bare.git"]);
    let error = refusal(&world, &world.base.join("bare.git")).await;
    assert!(matches!(error, WorktreeError::Bare(_)));
    assert_clear(&error, &["bare", "clone"]);
    let error = refusal(&world, &world.repo.join(".git")).await;
    assert!(matches!(error, WorktreeError::InsideGitDirectory(_)));
}

#[tokio::test]
async fn f02_a_shallow_clone_works_with_a_warning() {
    let world = World::new();
    world.write("file", "second\n");
    world.git(&["commit", "-qam", "second"]);
    let url = format!("file://{}", world.repo.display());
    world.git(&["clone", "-q", "--depth=1", &url, "../shallow"]);
    let trees = world.open_at(&world.base.join("shallow")).await.unwrap();
    let tree = trees.create(new_tree("x")).await.unwrap();
    assert_eq!(tree.warnings, [TreeWarning::Shallow]);
    write(tree.path(), "new", "x");
    assert!(trees.commit(&tree, "Work", &Author::default()).await.unwrap().commit.is_some());
}

#[tokio::test]
async fn f07_submodules_are_refused_because_a_tree_would_leave_them_empty() {
    let world = World::new();
    world.git(&["clone", "-q", ".", "../library"]);
    let add = [
        "-c",
        "protocol.file.allow=always",
        "submodule",
        "add",
        "-q",
        "../library",
        "vendor/library",
    ];
    world.git(&add);
    world.git(&["commit", "-qm", "add a submodule"]);
    let error = refusal(&world, &world.repo).await;
    assert!(
        matches!(&error, WorktreeError::Submodules { example } if example == "vendor/library"),
        "{error}"
    );
    assert_clear(&error, &["submodule", "vendor/library"]);
}

#[tokio::test]
async fn f07_lfs_that_is_not_set_up_is_refused_and_no_pointer_passes_for_a_file() {
    let world = World::new();
    world.write(".gitattributes", "*.bin filter=lfs diff=lfs merge=lfs -text\n");
    world.write("big.bin", "version https://git-lfs.github.com/spec/v1\noid sha256:1\nsize 1\n");
    world.git(&["add", "."]);
    world.git(&["commit", "-qm", "large files"]);
    let error = refusal(&world, &world.repo).await;
    assert!(
        matches!(&error, WorktreeError::FilterMissing { filter, .. } if filter == "lfs"),
        "{error}"
    );
    assert_clear(&error, &["lfs", ".gitattributes", "git lfs install"]);
}

#[tokio::test]
async fn f07_a_filter_of_the_user_runs_and_one_of_the_repository_does_not() {
    let world = World::new();
    world.write(".gitattributes", "*.txt filter=swap\n");
    world.git(&["config", "--global", "filter.swap.clean", "tr ab ba"]);
    world.git(&["config", "--global", "filter.swap.smudge", "tr ab ba"]);
    world.write("a.txt", "aab\n");
    world.git(&["add", "."]);
    world.git(&["commit", "-qm", "filtered"]);
    assert_eq!(
        world.git(&["cat-file", "-p", "HEAD:a.txt"]),
        "bba",
        "the filter is set up as intended"
    );

    let trees = world.trees().await;
    let tree = trees.create(new_tree("x")).await.unwrap();
    assert_eq!(std::fs::read_to_string(tree.path().join("a.txt")).unwrap(), "aab\n");
    write(tree.path(), "b.txt", "a\n");
    trees.commit(&tree, "Work", &Author::default()).await.unwrap();
    assert_eq!(world.git(&["cat-file", "-p", "ostler/x:b.txt"]), "b");

    // The same name in the repository's own settings is not run: the user's is.
    let trace = world.base.join("ran");
    world.git(&["config", "filter.swap.clean", &format!("touch {}; cat", trace.display())]);
    write(tree.path(), "c.txt", "a\n");
    trees.commit(&tree, "Work", &Author::default()).await.unwrap();
    assert_eq!(world.git(&["cat-file", "-p", "ostler/x:c.txt"]), "b");
    assert!(!trace.exists());

    // Without one of the user's, the tree would have other files than the checkout.
    world.git(&["config", "--global", "--remove-section", "filter.swap"]);
    let error = trees.create(new_tree("y")).await.unwrap_err();
    assert!(
        matches!(&error, WorktreeError::FilterMissing { filter, .. } if filter == "swap"),
        "{error}"
    );
    assert_clear(&error, &["git config --global"]);
}

#[tokio::test]
async fn f07_a_filter_that_fails_leaves_no_half_checkout() {
    let world = World::new();
    world.write(".gitattributes", "*.txt filter=broken\n");
    world.write("a.txt", "a\n");
    world.git(&["add", "."]);
    world.git(&["commit", "-qm", "filtered"]);
    world.git(&["config", "--global", "filter.broken.smudge", "false"]);
    let error = refusal(&world, &world.repo).await;
    assert_clear(&error, &["create the worktree", "filter"]);
    assert_eq!(world.leftovers(), Vec::<String>::new());
}

/// Settings of the repository that count only on some branches or in linked worktrees name programs, too.
#[tokio::test]
async fn f07_programs_of_conditional_settings_do_not_run() {
    let world = World::new();
    let trace = world.base.join("ran");
    world.write(".gitattributes", "* filter=x\n");
    world.git(&["add", "."]);
    world.git(&["commit", "-qm", "filtered"]);
    let program = format!("\"touch {}; cat\"", trace.display());
    let evil = format!("[filter \"x\"]\n\tsmudge = {program}\n\tclean = {program}\n");
    fs::write(world.repo.join(".git/evil"), evil).unwrap();
    for condition in ["onbranch:ostler/**", "gitdir:/**/worktrees/**"] {
        world.git(&["config", &format!("includeIf.{condition}.path"), "evil"]);
    }
    let trees = world.trees().await;
    let tree = trees.create(new_tree("x")).await.unwrap();
    write(tree.path(), "new", "x");
    assert!(trees.commit(&tree, "Work", &Author::default()).await.unwrap().commit.is_some());
    trees.release(tree).await.unwrap();
    let report = merge(&world, &["ostler/x".to_owned()], |_| Verdict::Green).await;
    assert!(matches!(report.branches[0].outcome, BranchOutcome::Merged { .. }), "{report:?}");
    assert!(!trace.exists());
}

#[tokio::test]
async fn f07_a_sparse_checkout_stays_sparse_and_a_commit_removes_nothing() {
    let world = World::new();
    world.write("a/x", "1");
    world.write("b/y", "2");
    world.git(&["add", "."]);
    world.git(&["commit", "-qm", "two directories"]);
    world.git(&["sparse-checkout", "set", "--cone", "a"]);
    let trees = world.trees().await;
    let tree = trees.create(new_tree("x")).await.unwrap();
    assert!(tree.warnings.contains(&TreeWarning::Sparse), "{:?}", tree.warnings);
    assert!(tree.path().join("a/x").exists() && !tree.path().join("b").exists());
    for text in ["once", "twice"] {
        write(tree.path(), "a/new", text);
        assert!(trees.commit(&tree, "Work", &Author::default()).await.unwrap().commit.is_some());
        let names = world.git(&["ls-tree", "-r", "--name-only", "ostler/x"]);
        assert_eq!(names, ".gitignore\na/new\na/x\nb/y\nfile");
    }
}

#[tokio::test]
async fn f08_hooks_never_run_and_are_reported() {
    let world = World::new();
    let trace = world.base.join("ran");
    for name in
        ["post-checkout", "pre-commit", "reference-transaction", "post-index-change", "commit-msg"]
    {
        let path = world.repo.join(".git/hooks").join(name);
        // It fails, changes files, and would hang.
        std::fs::write(
            &path,
            format!("#!/bin/sh\ntouch {} file\nsleep 1000\nexit 1\n", trace.display()),
        )
        .unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    }
    let trees = world.trees().await;
    let tree = trees.create(new_tree("x")).await.unwrap();
    let names = ["commit-msg", "post-checkout", "pre-commit"].map(str::to_owned).to_vec();
    assert_eq!(tree.warnings, [TreeWarning::HooksSkipped { names }]);
    write(tree.path(), "new", "x");
    trees.commit(&tree, "Work", &Author::default()).await.unwrap();
    trees.release(tree).await.unwrap();
    trees.discard("x", None).await.unwrap();
    assert!(!trace.exists());
}

#[tokio::test]
async fn f17_a_repository_of_another_user_is_refused_and_no_setting_is_changed() {
    let world = World::new();
    if !rustix::process::geteuid().is_root() {
        println!("SKIPPED: only root can give a repository to another user");
        return;
    }
    for entry in [world.repo.clone(), world.repo.join(".git")] {
        std::os::unix::fs::chown(entry, Some(65_534), Some(65_534)).unwrap();
    }
    let settings = std::fs::read_to_string(world.home.join(".gitconfig")).unwrap();
    let error = refusal(&world, &world.repo).await;
    assert!(matches!(error, WorktreeError::OtherOwner(_)), "{error}");
    assert_clear(&error, &["belongs to another user", "git config --global --add safe.directory"]);
    assert_eq!(std::fs::read_to_string(world.home.join(".gitconfig")).unwrap(), settings);
    // What the user has decided counts.
    world.git(&["config", "--global", "--add", "safe.directory", world.repo.to_str().unwrap()]);
    world.tree("x").await;
}
