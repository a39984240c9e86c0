//! Wall and CPU time per `echo 1` through bash: by the executor, and by the standard library for
//! comparison. Run with `--release`.
#![allow(clippy::print_stdout, clippy::unwrap_used)]

use std::process::Stdio;
use std::time::{Duration, Instant};

use ostler_exec::{Executor, SupervisorProgram, bash, supervise};

const COMMANDS: u32 = 500;

fn main() {
    if std::env::args().nth(1).as_deref() == Some("supervise") {
        supervise();
    }
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    measure("std::process", || {
        for _ in 0..COMMANDS {
            let output = std::process::Command::new("/bin/bash")
                .args(["--norc", "--noprofile", "-c", "echo 1"])
                .env_clear()
                .stdin(Stdio::null())
                .output()
                .unwrap();
            assert_eq!(output.stdout, b"1\n");
        }
    });
    measure("executor, start and end of the supervisor included", || {
        runtime.block_on(async {
            let executor = Executor::new(SupervisorProgram::this_binary(["supervise"]));
            let first = Instant::now();
            executor.start().await.unwrap();
            println!("  supervisor started in {:.2} ms", millis(first.elapsed()));
            for _ in 0..COMMANDS {
                let finished = executor.run(bash("echo 1", "/", Vec::new()), |_| {}).await.unwrap();
                assert_eq!(finished.output.head(), b"1\n");
            }
            // Its CPU time and that of its children is counted when it is reaped.
            executor.shutdown().await.unwrap();
        });
    });
}

fn measure(name: &str, work: impl FnOnce()) {
    let (cpu, wall) = (cpu_time(), Instant::now());
    work();
    let (cpu, wall) = (cpu_time() - cpu, wall.elapsed());
    println!(
        "{name}: {:.3} ms wall, {:.3} ms CPU per command",
        millis(wall / COMMANDS),
        millis(cpu / COMMANDS)
    );
}

/// User and system time of this process and of all children it has reaped, in clock ticks.
fn cpu_time() -> Duration {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
    let fields: Vec<_> = stat.rsplit_once(") ").unwrap().1.split(' ').collect();
    let ticks: u64 = fields[11..15].iter().map(|field| field.parse::<u64>().unwrap()).sum();
    Duration::from_millis(ticks * 10)
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}
