//! A state directory that others can change is not used, by no command.

use crate::support::World;
use ostler_model_server::{Script, text};
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

fn world() -> World {
    let world = World::new(Script::new().answer(text("done")).forever());
    fs::create_dir(world.home()).unwrap();
    fs::set_permissions(world.home(), fs::Permissions::from_mode(0o700)).unwrap();
    world
}

/// Commands that read or write state, and those that read settings and rules.
const COMMANDS: [&[&str]; 8] = [
    &["-p", "go"],
    &["sessions"],
    &["memory", "list"],
    &["cost"],
    &["events", "tail"],
    &["undo"],
    &["permissions", "explain", "ls"],
    &["hooks", "list"],
];

#[track_caller]
fn expect_refused(world: &World, why: &str) {
    for args in COMMANDS {
        let ran = world.run(args);
        assert_eq!(ran.code, Some(74), "{args:?}: {}", ran.stderr);
        assert_eq!(ran.stderr.lines().count(), 1, "{args:?}: {}", ran.stderr);
        assert!(ran.stderr.contains(why), "{args:?}: {}", ran.stderr);
    }
    assert_eq!(world.server.requests().len(), 0);
}

#[test]
fn one_that_others_can_write_is_refused() {
    let world = world();
    fs::write(world.home().join("permissions.yaml"), "allow: [Bash]\n").unwrap();
    fs::set_permissions(world.home(), fs::Permissions::from_mode(0o777)).unwrap();
    let home = world.home().display().to_string();
    expect_refused(
        &world,
        &format!(
            "everybody can write to it (mode 0777). Check that nobody changed it, then run: chmod -R go-w {home}"
        ),
    );
    // What the line says is what helps.
    let fixed = std::process::Command::new("chmod").args(["-R", "go-w", &home]).status().unwrap();
    assert!(fixed.success());
    assert_eq!(world.run(&["-p", "go"]).code, Some(0));
}

#[test]
fn a_part_that_leads_elsewhere_is_refused() {
    let world = world();
    let elsewhere = tempfile::tempdir().unwrap();
    symlink(elsewhere.path(), world.home().join("sessions")).unwrap();
    expect_refused(
        &world,
        "sessions: it is a link. Only the state directory as a whole can be a link",
    );
    assert_eq!(fs::read_dir(elsewhere.path()).unwrap().count(), 0);
}

/// Many keep it on another disk. Every part works there, the databases included.
#[test]
fn one_that_is_a_link_as_a_whole_is_used() {
    let world = world();
    let elsewhere = tempfile::tempdir().unwrap();
    fs::remove_dir(world.home()).unwrap();
    symlink(elsewhere.path(), world.home()).unwrap();
    let ran = world.run(&["-p", "go", "--max-day-budget-usd", "5"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let added = world.run(&["memory", "add", "the build needs rust 1.95"]);
    assert_eq!(added.code, Some(0), "{}", added.stderr);
    assert!(world.run(&["memory", "list"]).stdout.contains("rust 1.95"));
    assert_eq!(world.run(&["-p", "go on", "--continue"]).code, Some(0));
    for part in ["sessions", "ledger.db", "memory"] {
        assert!(elsewhere.path().join(part).exists(), "{part}");
    }
    // Where it leads must be closed to others, too.
    fs::set_permissions(elsewhere.path(), fs::Permissions::from_mode(0o770)).unwrap();
    let before = world.server.requests().len();
    let ran = world.run(&["-p", "go"]);
    assert_eq!(ran.code, Some(74), "{}", ran.stderr);
    assert!(ran.stderr.contains("its group can write to it (mode 0770)"), "{}", ran.stderr);
    assert_eq!(world.server.requests().len(), before);
}
