//! How git is called: nothing of the environment or the repository makes it run something, and it never runs for ever.

use crate::queue::merge;
use crate::world::{World, assert_clear, new_tree, write};
use ostler_worktrees::{Author, BranchOutcome, Git, GitLimits, Verdict, WorktreeError};
use std::time::Duration;

#[tokio::test]
async fn variables_of_the_caller_do_not_reach_git() {
    let world = World::new();
    let seen = world.base.join("seen");
    world.shim(&format!("env >> {}", seen.display()));
    let mut environment = world.environment();
    for (name, value) in [
        ("GIT_DIR", "/nowhere"),
        ("GIT_EXTERNAL_DIFF", "/bin/evil"),
        ("GIT_CONFIG_GLOBAL", "/nowhere"),
        ("GIT_TRACE", "1"),
        ("LD_PRELOAD", "/evil.so"),
        ("ANTHROPIC_API_KEY", "sk-secret"),
        ("EDITOR", "vi"),
    ] {
        environment.push((name.into(), value.into()));
    }
    let git = Git::find(world.executor(), environment, GitLimits::default()).unwrap();
    ostler_worktrees::Repository::find(&git, &world.repo).await.unwrap();
    let seen = std::fs::read_to_string(seen).unwrap();
    for word in ["/nowhere", "evil", "sk-secret", "EDITOR=vi", "GIT_TRACE"] {
        assert!(!seen.contains(word), "{word}: {seen}");
    }
    for word in [
        "GIT_TERMINAL_PROMPT=0",
        "GIT_NO_LAZY_FETCH=1",
        "core.hooksPath",
        "core.fsmonitor",
        "GIT_OPTIONAL_LOCKS=0",
    ] {
        assert!(seen.contains(word), "{word}: {seen}");
    }
}

#[tokio::test]
async fn a_call_that_hangs_is_ended_and_one_that_floods_is_refused() {
    let mut world = World::new();
    world.git_limits.lookup = Duration::from_millis(1);
    world.shim("trap '' TERM; sleep 1000");
    let error = world.try_open().await.unwrap_err();
    assert!(matches!(error, WorktreeError::TimedOut { .. }), "{error}");
    assert_clear(&error, &["took longer"]);
    world.git_limits = GitLimits { output: 1 << 20, ..GitLimits::default() };
    world.shim("head -c 3000000 /dev/zero; exit 0");
    let error = world.try_open().await.unwrap_err();
    assert!(matches!(error, WorktreeError::TooMuchOutput { .. }), "{error}");
}

#[tokio::test]
async fn a_git_that_is_missing_or_too_old_is_named() {
    let world = World::new();
    let nowhere = vec![("PATH".into(), ".:relative:/nowhere".into())];
    let error = Git::find(world.executor(), nowhere, GitLimits::default()).unwrap_err();
    assert!(matches!(error, WorktreeError::GitMissing));
    world.shim("if [ \"$3\" = --version ]; then echo git version 2.25.1; exit; fi");
    let error = world.try_open().await.unwrap_err();
    assert!(matches!(&error, WorktreeError::GitTooOld { found } if found == "2.25.1"), "{error}");
    assert_clear(&error, &["2.25.1", "2.38"]);
}

#[tokio::test]
async fn programs_in_the_settings_of_the_repository_do_not_run() {
    let world = World::new();
    let trace = world.base.join("ran");
    let program = format!("touch {}", trace.display());
    for key in [
        "core.fsmonitor",
        "core.pager",
        "core.editor",
        "core.sshCommand",
        "diff.external",
        "credential.helper",
        "core.askPass",
        "gpg.program",
    ] {
        world.git(&["config", key, &program]);
    }
    world.git(&["config", "commit.gpgSign", "true"]);
    let trees = world.trees().await;
    let tree = trees.create(new_tree("x")).await.unwrap();
    crate::world::write(tree.path(), "file", "changed\n");
    trees.commit(&tree, "Work", &ostler_worktrees::Author::default()).await.unwrap();
    let diff = trees.diff("x").await.unwrap();
    trees.diff_text(&diff).await.unwrap();
    trees.list().await.unwrap();
    assert!(!trace.exists());
}

/// Commands of another session write settings of a checkout in the very moment in which git is called, long after we have
/// read what programs the settings name.
#[tokio::test]
async fn settings_of_a_checkout_that_appear_in_between_run_nothing() {
    let world = World::new();
    let trace = world.base.join("ran");
    world.write(".gitattributes", "* filter=evil merge=evil\n");
    world.git(&["add", "."]);
    world.git(&["commit", "-qm", "attributes"]);
    world.git(&["config", "extensions.worktreeConfig", "true"]);
    let evil = format!("touch {}; cat", trace.display());
    // Gone again whenever somebody asks which programs the settings name.
    world.shim(&format!(
        r#"case " $* " in *" config "*|*" grep "*|*" ls-files "*) looks=1 ;; esac
           for place in {git}/config.worktree {git}/worktrees/*/config.worktree; do
             rm -f "$place"; folder=$(dirname "$place"); [ -d "$folder" ] || continue
             for name in filter.evil.clean filter.evil.smudge merge.evil.driver; do
               [ "$looks" ] || $real config --file "$place" "$name" '{evil}'
             done
           done"#,
        git = world.repo.join(".git").display()
    ));
    let trees = world.trees().await;
    let tree = trees.create(new_tree("x")).await.unwrap();
    write(tree.path(), "file", "changed");
    trees.commit(&tree, "Work", &Author::default()).await.unwrap();
    write(tree.path(), "file", "changed again");
    trees.list().await.unwrap();
    trees.commit(&tree, "Work", &Author::default()).await.unwrap();
    let clean = trees.check_out(tree.branch(), None, None).await.unwrap();
    clean.remove(&trees).await.unwrap();
    trees.release(tree).await.unwrap();
    world.write("file", "ours");
    world
        .program("/usr/bin/git", &world.repo)
        .args([
            "-c",
            "filter.evil.clean=cat",
            "-c",
            "filter.evil.smudge=cat",
            "commit",
            "-qam",
            "ours",
        ])
        .status()
        .unwrap();
    let report = merge(&world, &["ostler/x".to_owned()], |_| Verdict::Green).await;
    assert!(matches!(report.branches[0].outcome, BranchOutcome::Conflict { .. }), "{report:?}");
    trees.discard("x", None).await.unwrap();
    let _ = trees.branches_named("x").await.unwrap();
    assert!(!trace.exists(), "a program of config.worktree ran");
}
