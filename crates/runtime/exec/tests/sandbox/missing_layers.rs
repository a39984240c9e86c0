//! A machine that lacks a layer: it is said in words, and nothing is weakened silently.

use std::path::Path;

use ostler_exec::{Layers, self_test};

use crate::ordinary_user;
use crate::world::{World, write_program};

#[tokio::test]
async fn a_missing_bubblewrap_is_said_with_what_to_do() {
    let Some(base) =
        ordinary_user::folder("missing_layers::a_missing_bubblewrap_is_said_with_what_to_do")
    else {
        return;
    };
    let world = World::new(&base);
    let found = world.looking_in(&world.outside).probe().await;
    let reason = found.bubblewrap.clone().unwrap_err();
    assert!(reason.contains(world.outside.to_str().unwrap()), "{reason}");
    assert!(reason.starts_with("bubblewrap is missing") && reason.contains("install"), "{reason}");
    assert!(!found.layers().bubblewrap);

    // One that is there and does not work, as where namespaces are forbidden; and one too old.
    for (help, clause, word) in [
        ("--bind-fd --as-pid-1 --disable-userns", "does not work", "No permissions to create"),
        ("--bind", "is too old", "0.8"),
    ] {
        let program = world.outside.join("bwrap");
        let script = format!(
            "#!/bin/sh\n[ \"$1\" = --help ] && echo ' {help} ' && exit 0\n\
             echo 'bwrap: No permissions to create a new namespace' >&2\nexit 1\n"
        );
        write_program(&program, &script);
        let reason = world.looking_in(&world.outside).probe().await.bubblewrap.unwrap_err();
        assert!(reason.starts_with(&format!("bubblewrap {clause} (")), "{reason}");
        assert!(reason.contains(word) && !reason.contains("missing"), "{reason}");
    }
    let twice = [world.executor.probe().await, world.executor.probe().await];
    assert_eq!(twice[0], twice[1]);
    assert_eq!(twice[0].bubblewrap.is_ok(), Path::new("/usr/bin/bwrap").exists());
}

#[tokio::test]
async fn each_layer_proves_itself() {
    let Some(base) = ordinary_user::folder("missing_layers::each_layer_proves_itself") else {
        return;
    };
    let world = World::new(&base);
    let found = world.executor.probe().await;
    let results = self_test(&world.executor, &world.base).await;
    let result = |name: &str| results.iter().find(|(layer, _)| *layer == name).unwrap().1.clone();
    assert_eq!(result("Landlock").is_ok(), found.landlock.is_ok(), "{results:?}");
    assert_eq!(result("programs").is_ok(), found.landlock.is_ok(), "{results:?}");
    assert_eq!(result("seccomp").is_ok(), found.seccomp.is_ok(), "{results:?}");
    assert_eq!(result("bubblewrap").is_ok(), found.bubblewrap.is_ok(), "{results:?}");
    println!("{results:?}");
    assert_eq!(found.layers().landlock, Layers { ..found.layers() }.landlock);
}

/// A bubblewrap that is removed while we run: what was to run in it does not run, and the reason names it.
#[tokio::test]
async fn a_bubblewrap_that_vanishes_is_an_error_with_its_name() {
    let name = "missing_layers::a_bubblewrap_that_vanishes_is_an_error_with_its_name";
    let Some(base) = ordinary_user::folder(name) else { return };
    let world = World::new(&base);
    let program = world.outside.join("bwrap");
    let script = "#!/bin/sh\necho ' --bind-fd --as-pid-1 '\nrm \"$0\"\n";
    write_program(&program, script);
    let reason = world.looking_in(&world.outside).probe().await.bubblewrap.unwrap_err();
    assert!(!program.exists());
    let expected =
        format!("bubblewrap cannot be started any more ({}: No such file", program.display());
    assert!(reason.starts_with(&expected), "{reason}");
}
