//! Limits of a whole command, as an ordinary user: what uses too much is stopped and it is said why;
//! what only reserves a lot is not.

use std::path::Path;

use ostler_exec::{Command, Exceeded, ExitStatus, Layers};

use crate::ordinary_user;
use crate::world::{HELPER, World};

const MEGABYTE: u64 = 1 << 20;

/// Without a sandbox, in the floor, and in all that this machine has.
async fn layers(world: &World) -> Vec<Option<Layers>> {
    let all = world.executor.probe().await.layers();
    vec![None, Some(Layers { bubblewrap: false, ..all }), Some(all)]
}

fn command(world: &World, text: &str, layers: Option<Layers>) -> Command {
    let sandbox = layers.map(|layers| world.sandbox(layers));
    let mut command = world.command(text, sandbox.as_ref());
    // Should the limit under test not work, this one spares the machine.
    command.limits.address_space = Some(3 << 30);
    command
}

#[tokio::test]
async fn what_uses_too_much_memory_is_killed_with_the_reason() {
    let name = "limits::what_uses_too_much_memory_is_killed_with_the_reason";
    let Some(base) = ordinary_user::folder(name) else { return };
    let world = World::new(&base);
    for layers in layers(&world).await {
        // It reads one endless line, which it has to keep. The second leaves its parents first.
        for text in
            ["tail -n 1 /dev/zero", "(setsid tail -n 1 /dev/zero & ) >/dev/null 2>&1; sleep 1000"]
        {
            let mut command = command(&world, text, layers);
            command.limits.memory = Some(100 * MEGABYTE);
            let finished = world.executor.run(command, |_| {}).await.unwrap();
            assert_eq!(finished.exceeded, Some(Exceeded::Memory), "{layers:?} {text} {finished:?}");
            assert!(finished.killed && !finished.timed_out, "{finished:?}");
        }
        let mut command = command(&world, "head -c 30000000 /dev/zero | tail -n 1 | wc -c", layers);
        command.limits.memory = Some(500 * MEGABYTE);
        let finished = world.executor.run(command, |_| {}).await.unwrap();
        assert_eq!((finished.exceeded, finished.status), (None, ExitStatus::Code(0)));
        assert_eq!(finished.output.to_text(), "30000000\n");
    }
}

/// Four children that share 60 MB with their parent use 60 MB together, not 300.
#[tokio::test]
async fn what_is_shared_counts_once() {
    let Some(base) = ordinary_user::folder("limits::what_is_shared_counts_once") else { return };
    let world = World::new(&base);
    // Long enough to be looked at several times.
    let text = "x=$(head -c 60000000 /dev/zero | tr '\\0' x)
        for i in 1 2 3 4; do (read -t 2 < <(sleep 100); echo ${#x}) & done; wait; echo done";
    let mut command = command(&world, text, None);
    command.limits.memory = Some(250 * MEGABYTE);
    let finished = world.executor.run(command, |_| {}).await.unwrap();
    assert_eq!(finished.exceeded, None, "{finished:?}");
    assert!(finished.output.to_text().ends_with("60000000\ndone\n"), "{finished:?}");
}

#[tokio::test]
async fn a_fork_bomb_stays_within_its_number_of_processes() {
    let name = "limits::a_fork_bomb_stays_within_its_number_of_processes";
    let Some(base) = ordinary_user::folder(name) else { return };
    let world = World::new(&base);
    for layers in layers(&world).await {
        let text = "f() { f | f & sleep 20; }; f 2>&1; for i in {1..20}; do sleep 1; done";
        let mut command = command(&world, text, layers);
        command.limits.tasks = Some(60);
        let finished = world.executor.run(command, |_| {}).await.unwrap();
        let output = finished.output.to_text();
        // Killed by the supervisor, or forks refused by the kernel.
        let refused = output.contains("Resource temporarily unavailable");
        assert!(finished.exceeded.is_some() || refused, "{layers:?} {finished:?}");
        let mut command = command_of_twenty(&world, layers);
        command.limits.tasks = Some(60);
        let finished = world.executor.run(command, |_| {}).await.unwrap();
        assert_eq!(finished.output.to_text(), "20\n", "{layers:?}");
        assert_eq!(finished.exceeded, None);
    }
}

/// Twenty at once, however many the user runs besides.
fn command_of_twenty(world: &World, layers: Option<Layers>) -> Command {
    let text = "for i in {1..20}; do sleep 100 & done; jobs -p | wc -l; kill $(jobs -p); wait";
    command(world, &format!("{{ {text}; }} 2>/dev/null"), layers)
}

#[tokio::test]
async fn an_endless_file_ends_at_its_limit() {
    let Some(base) = ordinary_user::folder("limits::an_endless_file_ends_at_its_limit") else {
        return;
    };
    let world = World::new(&base);
    for layers in layers(&world).await {
        let mut command = command(&world, "exec cat /dev/zero > src/endless", layers);
        command.limits.file_size = Some(MEGABYTE);
        let finished = world.executor.run(command, |_| {}).await.unwrap();
        let xfsz = ExitStatus::Signal { number: libc::SIGXFSZ, name: "XFSZ" };
        assert_eq!(finished.status, xfsz, "{layers:?}");
        let length = std::fs::metadata(world.root.join("src/endless")).unwrap().len();
        assert_eq!(length, MEGABYTE, "{layers:?}");
    }
}

/// Go, Node, the JVM and sanitizers reserve far more address space than they use.
#[tokio::test]
async fn a_large_reservation_is_no_use_of_memory() {
    let name = "limits::a_large_reservation_is_no_use_of_memory";
    let Some(base) = ordinary_user::folder(name) else { return };
    let world = World::new(&base);
    for layers in layers(&world).await {
        let mut sandbox = layers.map(|layers| world.sandbox(layers));
        // Wherever this project lies.
        let programs = Path::new(HELPER).parent().unwrap().canonicalize().unwrap();
        sandbox.iter_mut().for_each(|sandbox| sandbox.readable.push(programs.clone()));
        let mut command = world.command("", sandbox.as_ref());
        command.program = programs.join("ostler-test-supervisor");
        command.args = vec!["reserve".into()];
        command.limits.memory = Some(200 * MEGABYTE);
        command.limits.tasks = Some(100);
        command.limits.file_size = Some(MEGABYTE);
        let finished = world.executor.run(command, |_| {}).await.unwrap();
        assert_eq!(finished.output.to_text(), "reserved 64 GB\n", "{layers:?} {finished:?}");
        assert_eq!((finished.status, finished.exceeded), (ExitStatus::Code(0), None));
    }
}
