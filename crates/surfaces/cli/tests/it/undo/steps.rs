//! What counts as a step, in which session, and the list of them.

use super::{running, tree, undone};
use crate::support::World;
use serde_json::Value;

fn listed(world: &World, args: &[&str]) -> Value {
    let ran = world.run(&[&["undo", "--list", "--json"], args].concat());
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    serde_json::from_str(&ran.stdout).unwrap()
}

#[test]
fn a_command_that_changed_nothing_is_not_a_step() {
    let world = running(&["echo x > x", "touch x; true # nothing", "bash -c 'exit 3'"]);
    let start = tree(&world);
    assert_eq!(world.go().code, Some(0));
    let list = listed(&world, &[]);
    let steps = list["sessions"][0]["steps"].as_array().unwrap();
    assert_eq!(steps.len(), 1, "{list:#}");
    assert_eq!((&steps[0]["step"], &steps[0]["files"]), (&1.into(), &1.into()), "{list:#}");
    assert_eq!(steps[0]["calls"][0]["what"], "echo x > x");
    let (ran, said) = undone(&world, &[]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert_eq!(said["calls"][0]["what"], "echo x > x", "{said:#}");
    assert_eq!(tree(&world), start);
    assert_eq!(undone(&world, &[]).0.code, Some(1));
    let human = world.run(&["undo", "--list"]);
    assert_eq!(human.stdout, "There is nothing to undo.\n");
}

#[test]
fn the_session_that_has_something_to_undo_is_named() {
    let world = running(&["echo x > x"]);
    assert_eq!(world.go().code, Some(0));
    assert_eq!(world.go().code, Some(0), "it changes nothing: the script has only text left");
    let list = listed(&world, &[]);
    assert_eq!(list["sessions"].as_array().unwrap().len(), 1, "{list:#}");
    let session = list["sessions"][0]["session"].as_str().unwrap();
    let (ran, _) = undone(&world, &[]);
    assert_eq!((ran.code, world.read("x").as_str()), (Some(1), "x\n"));
    let way = format!("ostler undo --session {session}");
    assert!(ran.stderr.contains(&way) && ran.stderr.contains("echo x > x"), "{}", ran.stderr);
    let (ran, _) = undone(&world, &["--session", session]);
    assert_eq!((ran.code, world.read("x").as_str()), (Some(0), ""), "{}", ran.stderr);
    let (ran, _) = undone(&world, &[]);
    assert!(ran.stderr.contains("there is nothing to undo"), "{}", ran.stderr);
    let human = world.run(&["undo", "--session", session, "--redo"]);
    assert_eq!(human.code, Some(0), "{}", human.stderr);
    let human = world.run(&["undo", "--list"]);
    let expected = format!("session {session}\n   1     1 file  Bash (turn 1) echo x > x\n");
    assert_eq!(human.stdout, expected);
}
