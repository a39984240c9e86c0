//! What the first release left on disk is opened, resumed and undone by this one (`fixtures/stage1`).

use crate::faults_tools::namespace::Namespace;
use crate::support::{Ran, World};
use ostler_model_server::{Script, text};
use std::process::Command;

const COMPACTED: &str = "01a1e9f4-a5e6-71f8-a4a9-3014f0a919cf";
const KILLED: &str = "01a1e9f4-a69b-712b-8fd8-59a4777fa589";

/// The old state, unpacked, and mounted at `/mnt` for each run: the paths in it are absolute.
struct Old {
    world: World,
    namespace: Namespace,
}

impl Old {
    /// None where nothing can be mounted.
    fn new() -> Option<Self> {
        let namespace = Namespace::new()?;
        let world = World::new(Script::new().answer(text("Still here.")).forever());
        let archive = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../fixtures/stage1/state.tar.gz");
        let tree = world.project();
        let tree = tree.parent().unwrap();
        let unpacked = Command::new("tar").arg("-xzf").arg(archive).arg("-C").arg(tree).status();
        assert!(unpacked.unwrap().success());
        Some(Old { world, namespace })
    }

    fn run(&self, args: &[&str]) -> Ran {
        let mut program = self.world.command(args);
        let tree = self.world.home();
        let prepare =
            format!("mount --bind '{}' /mnt; cd /mnt/project", tree.parent().unwrap().display());
        program.env("HOME", "/mnt").env("OSTLER_HOME", "/mnt/home");
        self.namespace.run(&prepare, &program)
    }

    /// The texts of all messages that a prompt to this session sends.
    fn resumed(&self, session: &str) -> String {
        let ran = self.run(&["-p", "Are you there?", "--resume", session]);
        assert_eq!((ran.code, ran.stdout.trim()), (Some(0), "Still here."), "{}", ran.stderr);
        self.world.assert_never_rejected();
        let requests = self.world.server.requests();
        requests.last().unwrap().json()["messages"].to_string()
    }
}

#[test]
fn sessions_of_the_first_release_go_on() {
    let Some(old) = Old::new() else { return };
    let listed = old.run(&["sessions", "--json"]).stdout;
    assert!(listed.contains(COMPACTED) && listed.contains(KILLED), "{listed}");

    let messages = old.resumed(COMPACTED);
    for part in [
        "the build runs with make check",
        "is all well?",
        "After the summary: all is well.",
        "Are you there?",
    ] {
        assert!(messages.contains(part), "{part:?} is missing from {messages}");
    }
    let messages = old.resumed(KILLED);
    for part in ["Write half.", "printf half > half.txt; sleep 600", "may have", "Are you there?"] {
        assert!(messages.contains(part), "{part:?} is missing from {messages}");
    }
}

#[test]
fn changes_of_the_first_release_are_undone() {
    let Some(old) = Old::new() else { return };
    let undone = old.run(&["undo", "2", "--session", COMPACTED]);
    assert_eq!(undone.code, Some(0), "{undone:?}");
    assert_eq!(old.world.read("notes.txt"), "first line\nsecond line\n");
    assert_eq!(old.world.read("old.txt"), "old\n");
    assert!(!old.world.project().join("list.txt").exists());
    let redone = old.run(&["undo", "--redo", "--session", COMPACTED]);
    assert_eq!(redone.code, Some(0), "{redone:?}");
    assert_eq!(old.world.read("notes.txt"), "first line\nsecond line, changed\n");
    assert_eq!(old.world.read("list.txt"), "a\nb\n");
}

#[test]
fn money_notes_trust_and_settings_of_the_first_release_count() {
    let Some(old) = Old::new() else { return };
    let total = old.run(&["cost", "--since", "all"]).stdout;
    assert!(total.contains("Change notes and make a list."), "{total}");
    assert!(
        total.lines().any(|line| line.starts_with("total") && line.ends_with("$0.0311")),
        "{total}"
    );

    let notes = old.run(&["memory", "list"]).stdout;
    assert!(notes.contains("Use pnpm in web/.") && notes.contains("changed notes.txt"), "{notes}");

    let explained = |args: &[&str]| {
        let ran = old.run(&[&["permissions", "explain"], args].concat());
        ran.stdout.split_whitespace().next().map(str::to_owned).unwrap_or(ran.stderr)
    };
    assert_eq!(explained(&["make check"]), "allowed", "the trusted project's rule");
    assert_eq!(explained(&["--tool", "Edit", "notes.txt"]), "allowed", "the user's rule");
    assert_eq!(explained(&["cat secret.txt"]), "denied", "the project's rule");
}
