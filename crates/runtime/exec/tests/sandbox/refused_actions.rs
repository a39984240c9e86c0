//! Each action, with each combination of layers: first it succeeds, then it is refused.

use std::path::Path;

use crate::actions::{Action, FILES, FROZEN, PROCESSES, SOCKETS};
use crate::ordinary_user;
use crate::world::{World, combinations};

const DID_IT: &str = "DID-IT";

async fn refuse(world: &World, actions: &[Action], only_bubblewrap: bool) {
    let combinations = combinations(world).await;
    let (mut refused, mut tried) = (0, 0);
    for action in actions {
        if let Some(missing) = action.needs.iter().find(|need| !Path::new(need).exists()) {
            println!("SKIPPED {}: {missing} is not installed", action.name);
            continue;
        }
        let free = world.run(action.script, None).await.output.to_text();
        if !free.contains(DID_IT) && is_refused_by_machine(action.name) {
            println!("SKIPPED {}: this kernel refuses it anyway: {free}", action.name);
            continue;
        }
        assert!(free.contains(DID_IT), "{} fails without a sandbox: {free}", action.name);
        world.reset();
        tried += 1;
        for (name, layers) in &combinations {
            let before = world.state();
            let held = !only_bubblewrap || layers.bubblewrap;
            let mut sandbox = world.sandbox(*layers);
            if only_bubblewrap {
                // With the floor, a directory with something hidden in it cannot be changed.
                sandbox.hidden.retain(|path| !path.starts_with(&world.root));
            }
            let text = world.run(action.script, Some(&sandbox)).await.output.to_text();
            if held {
                assert!(!text.contains(DID_IT), "{} with {name}: {text}", action.name);
                assert_eq!(world.state(), before, "{} with {name}: {text}", action.name);
                refused += 1;
            } else {
                println!("not promised by {name}: {}", action.name);
                assert!(text.contains(DID_IT), "the documents say otherwise: {text}");
            }
            world.reset();
        }
    }
    let names: Vec<_> = combinations.iter().map(|(name, _)| *name).collect();
    println!("refused {refused}: {tried} actions with {}", names.join(", "));
    assert!(tried * 2 > actions.len(), "most of it was skipped");
}

/// What many kernels are set up to refuse to everybody.
fn is_refused_by_machine(name: &str) -> bool {
    ["io_uring", "userfaultfd", "a call by its x32 number", "file handles"].contains(&name)
}

#[tokio::test]
async fn files_outside_and_secrets_are_out_of_reach() {
    let name = "refused_actions::files_outside_and_secrets_are_out_of_reach";
    let Some(base) = ordinary_user::folder(name) else { return };
    refuse(&World::new(&base), FILES, false).await;
}

#[tokio::test]
async fn processes_outside_and_the_kernels_back_doors_are_out_of_reach() {
    let name = "refused_actions::processes_outside_and_the_kernels_back_doors_are_out_of_reach";
    let Some(base) = ordinary_user::folder(name) else { return };
    refuse(&World::new(&base), PROCESSES, false).await;
}

#[tokio::test]
async fn services_and_the_network_are_out_of_reach() {
    let name = "refused_actions::services_and_the_network_are_out_of_reach";
    let Some(base) = ordinary_user::folder(name) else { return };
    let mut world = World::new(&base);
    let path = |name: &str| world.session.join(name).to_str().unwrap().to_owned();
    let (dbus, agent, tmux) = (path("dbus"), path("agent"), path("tmux"));
    let address = format!("--address=unix:path={dbus}");
    world.service("dbus-daemon", &["--session", "--nofork", "--nopidfile", &address]);
    world.service("ssh-agent", &["-D", "-a", &agent]);
    world.service("tmux", &["-D", "-S", &tmux]);
    let installed = |program: &str| Path::new("/usr/bin").join(program).exists();
    for (program, socket) in [("dbus-daemon", &dbus), ("ssh-agent", &agent), ("tmux", &tmux)] {
        let deadline = std::time::Instant::now() + crate::world::PATIENCE;
        while installed(program) && !Path::new(socket).exists() {
            assert!(std::time::Instant::now() < deadline, "{program} does not listen");
            std::thread::yield_now();
        }
    }
    if installed("tmux") {
        // A server without a session answers, but has nothing to list.
        let text = world.run("tmux -S $SESSION/tmux new-session -d 'sleep 1000'", None).await;
        println!("tmux: {}", text.output.to_text());
    }
    refuse(&world, SOCKETS, false).await;
    assert!(world.base.join("logged").exists(), "the datagram did arrive without a sandbox");
}

#[tokio::test]
async fn what_is_frozen_stays_as_it_is_with_bubblewrap() {
    let name = "refused_actions::what_is_frozen_stays_as_it_is_with_bubblewrap";
    let Some(base) = ordinary_user::folder(name) else { return };
    refuse(&World::new(&base), FROZEN, true).await;
}
