//! What the sandbox costs per command: `true` through bash, plain, with the floor, with the policy of
//! a command that is proved to be read-only, and inside bubblewrap, in turns so that a busy machine
//! burdens all alike.
#![allow(clippy::print_stdout, clippy::unwrap_used, clippy::expect_used)]

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use ostler_exec::{Bounds, Executor, Layers, Sandbox, SupervisorProgram, bash, supervise};

const ROUNDS: usize = 150;

const READING: &str = "reading";

/// What one command may cost more than a plain one.
const FLOOR_LIMIT: f64 = 4.0;
const BUBBLEWRAP_LIMIT: f64 = 15.0;

fn main() {
    let words = std::fs::read("/proc/self/cmdline").unwrap();
    if words.split(|byte| *byte == 0).nth(1) == Some(b"supervise") {
        supervise();
    }
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(measure());
}

async fn measure() {
    let folder = tempfile::tempdir().unwrap();
    let base = folder.path().canonicalize().unwrap();
    let executor = Executor::new(SupervisorProgram::this_binary(["supervise"]));
    executor.start().await.unwrap();
    let first = Instant::now();
    let found = executor.probe().await;
    println!("{found:?}, found out in {:.1} ms", millis(first.elapsed()));
    let here = found.layers();
    let floor = Layers { bubblewrap: false, ..here };
    let kinds = [
        ("plain", None, 0.0),
        ("floor", Some(floor), FLOOR_LIMIT),
        (READING, Some(floor), FLOOR_LIMIT),
        ("bubblewrap", Some(here).filter(|layers| layers.bubblewrap), BUBBLEWRAP_LIMIT),
    ];
    let made = |name, layers| sandbox(&base, layers, name == READING);
    let sandboxes = kinds.map(|(name, layers, _)| layers.map(|it| Arc::new(made(name, it))));
    let mut times: [Vec<Duration>; 4] = Default::default();
    for _ in 0..ROUNDS {
        for (sandbox, times) in sandboxes.iter().zip(&mut times) {
            let mut command = bash("true", base.join("root"), vec![("PATH".into(), "/bin".into())]);
            command.sandbox.clone_from(sandbox);
            let start = Instant::now();
            let finished = executor.run(command, |_| {}).await.unwrap();
            times.push(start.elapsed());
            assert!(finished.status.success(), "{}", finished.output.to_text());
        }
    }
    times.iter_mut().for_each(|times| times.sort());
    let at = |times: &[Duration], part: usize| millis(times[times.len() * part / 100]);
    for ((name, layers, limit), list) in kinds.iter().zip(&times) {
        if layers.is_none() && *limit > 0.0 {
            println!("{name}: this machine has it not");
            continue;
        }
        let cpu = cpu_per_command(layers.map(|it| made(name, it)), &base).await;
        let more = [10, 50].map(|part| at(list, part) - at(&times[0], part));
        println!(
            "{name}: {:.2} ms (median), {:.2} ms (lowest tenth); {:.2} and {:.2} ms over plain, limit {limit} ms; \
             {cpu:.2} ms of CPU",
            at(list, 50),
            at(list, 10),
            more[1],
            more[0],
        );
    }
}

/// CPU time of everything a command takes, itself included. It tells more than the wall on a busy
/// machine.
async fn cpu_per_command(sandbox: Option<Sandbox>, base: &Path) -> f64 {
    let executor = Executor::new(SupervisorProgram::this_binary(["supervise"]));
    executor.probe().await;
    let sandbox = sandbox.map(Arc::new);
    let before = cpu_of(executor.supervisor_pid().unwrap());
    for _ in 0..ROUNDS {
        let mut command = bash("true", base.join("root"), vec![("PATH".into(), "/bin".into())]);
        command.sandbox.clone_from(&sandbox);
        executor.run(command, |_| {}).await.unwrap();
    }
    millis(cpu_of(executor.supervisor_pid().unwrap()) - before) / ROUNDS as f64
}

/// User and system time of a process and of all children it has reaped, in clock ticks.
fn cpu_of(pid: u32) -> Duration {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let fields: Vec<_> = stat.rsplit_once(") ").unwrap().1.split(' ').collect();
    let ticks: u64 = fields[11..15].iter().map(|field| field.parse::<u64>().unwrap()).sum();
    Duration::from_millis(ticks * 10)
}

/// As large as those that are used in earnest.
fn sandbox(base: &Path, layers: Layers, only_reads: bool) -> Sandbox {
    let home = base.join("home");
    let make = |path: PathBuf| {
        std::fs::create_dir_all(&path).unwrap();
        path
    };
    let many = |above: &Path, count: usize, name: &str| -> Vec<PathBuf> {
        (0..count).map(|number| make(above.join(format!("{name}{number}")))).collect()
    };
    let root = make(base.join("root"));
    Sandbox {
        readable: many(&home, 8, ".cache"),
        hidden: many(&home, 30, ".secret"),
        frozen: ["hooks", "config", "info/attributes", "modules"]
            .map(|name| make(root.join(".git").join(name)))
            .to_vec(),
        writable: vec![root],
        homes: vec![home, "/root".into(), "/home".into()],
        temp: make(base.join("temp")),
        network: false,
        layers,
        bounds: only_reads.then(|| Bounds {
            programs: Some(Vec::new()),
            search_path: [
                "/usr/bin",
                "/usr/sbin",
                "/usr/local/bin",
                "/usr/local/sbin",
                "/usr/games",
            ]
            .map(PathBuf::from)
            .to_vec(),
            only_reads: true,
            ..Bounds::default()
        }),
    }
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}
