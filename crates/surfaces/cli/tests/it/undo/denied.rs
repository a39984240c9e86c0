//! Nothing is kept of files that deny rules cover, neither by a session nor by an undo after it.

use super::{running, sh, undone};
use crate::support::{World, walk};
use std::fs;

const SECRET: &str = "PRECIOUS-SECRET-7731";

/// What is kept holds neither the content nor a hash of it.
fn assert_not_kept(world: &World, content: &str) {
    let sum = sh(world, &format!("printf %s '{content}' | sha256sum"));
    let hex = &sum[..64];
    let hash: Vec<u8> =
        (0..32).map(|n| u8::from_str_radix(&hex[2 * n..2 * n + 2], 16).unwrap()).collect();
    let store = world.home().join("snapshots");
    for path in walk(&store) {
        assert!(!path.to_string_lossy().replace('/', "").ends_with(hex), "{}", path.display());
        let bytes = fs::read(&path).unwrap();
        let holds = |part: &[u8]| bytes.windows(part.len()).any(|window| window == part);
        assert!(!holds(content.as_bytes()) && !holds(&hash), "{} holds it", path.display());
    }
}

#[test]
fn denied_files_are_not_kept() {
    let world = running(&["echo x > x"]);
    let new = format!("{SECRET}-2");
    world.file(".env", SECRET);
    world.file("private/key", SECRET);
    // Denied by the name of a link, so by every name of what it leads to.
    sh(&world, "mkdir led; mv .env led/env; ln led/env by-another-name; ln -s led/env .env");
    let go = [
        "-p",
        "go",
        "--permission-mode",
        "bypassPermissions",
        "--disallowedTools",
        "Read(.env),Read(./private/**)",
    ];
    let ran = world.run(&go);
    assert_eq!((ran.code, world.read("x").as_str()), (Some(0), "x\n"), "{}", ran.stderr);
    assert_not_kept(&world, SECRET);
    // A program that was not given the rules knows them all the same, also after a question that had none.
    assert_eq!(world.run(&["permissions", "explain", "touch y"]).code, Some(0));
    world.file("private/new", &new);
    let (ran, said) = undone(&world, &[]);
    assert_eq!(ran.code, Some(0), "{said:#}");
    assert_eq!(world.read("x"), "");
    assert_eq!((world.read(".env").as_str(), world.read("private/key").as_str()), (SECRET, SECRET));
    assert_not_kept(&world, &new);
    assert_not_kept(&world, SECRET);
}
