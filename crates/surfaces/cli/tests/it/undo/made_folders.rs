//! Directories that file tools made for their files, and what is not kept at all.

use super::{running, sh, tree, undone};
use crate::support::World;
use ostler_model_server::{Script, calls, text};
use serde_json::json;

fn write(name: &str) -> ostler_model_server::Reply {
    calls([("Write", json!({"file_path": name, "content": "x\n"}))])
}

#[test]
fn they_go_with_the_files() {
    let answers = Script::new().answer(write("new/deep/one")).answer(write("new/two"));
    let world = World::new(answers.answer(text("done")).forever());
    world.file("given", "precious\n");
    let before = tree(&world);
    world.go();
    let after = tree(&world);
    assert_eq!(after.len(), before.len() + 4, "{after:#?}");
    let (ran, said) = undone(&world, &[]);
    assert_eq!(ran.code, Some(0), "{said:#}");
    assert_eq!((world.read("new/deep/one"), world.read("new/two")), ("x\n".into(), String::new()));
    let (ran, said) = undone(&world, &[]);
    assert_eq!((ran.code, tree(&world)), (Some(0), before.clone()), "{said:#}");
    assert_eq!(undone(&world, &["--redo"]).0.code, Some(0));
    assert_eq!(undone(&world, &["--redo"]).0.code, Some(0));
    assert_eq!(tree(&world), after);
    // With somebody else's file in it a directory stays, and is named.
    world.file("new/mine", "mine\n");
    let (ran, said) = undone(&world, &["2"]);
    assert_eq!(ran.code, Some(1), "{said:#}");
    assert_eq!(tree(&world).len(), before.len() + 2, "{said:#}");
}

#[test]
fn directories_that_are_not_kept_are_named() {
    let world = running(&["rm -r node_modules/1*"]);
    sh(&world, "mkdir node_modules; cd node_modules; for n in $(seq 2100); do : > $n; done");
    world.go();
    let ran = world.run(&["undo"]);
    assert_eq!(ran.code, Some(1), "{}", ran.stdout);
    assert!(
        ran.stderr.contains("in build directories that snapshots do not cover (node_modules)"),
        "{}",
        ran.stderr
    );
}
