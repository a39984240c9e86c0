//! What the tests share.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use ostler_exec::{Command, CommandReport, Executor, SupervisorProgram, bash};

pub const HELPER: &str = env!("CARGO_BIN_EXE_ostler-test-supervisor");

/// Longer than anything here takes on a busy machine; only a hang reaches it.
pub const PATIENCE: Duration = Duration::from_secs(30);

pub fn executor() -> Executor {
    Executor::new(SupervisorProgram { program: HELPER.into(), args: vec!["supervise".into()] })
}

pub fn script(text: &str) -> Command {
    let mut command = bash(text, "/", vec![("PATH".into(), "/usr/bin:/bin".into())]);
    command.time_limit = Some(PATIENCE);
    command.grace = Duration::from_millis(300);
    command
}

pub async fn run(text: &str) -> CommandReport {
    executor().run(script(text), |_| {}).await.unwrap()
}

/// A number of seconds for `sleep` that no other process has, by which its processes are found.
pub fn token() -> String {
    static NEXT: AtomicU32 = AtomicU32::new(1);
    format!("86400.{}0{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed))
}

/// Living processes that have the token in their command line, apart from this one. The dead that
/// are not reaped have no command line.
pub fn alive(token: &str) -> Vec<i32> {
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let pids = processes.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    pids.filter(|pid| *pid != std::process::id() as i32)
        .filter(|pid| {
            let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            String::from_utf8_lossy(&line).contains(token)
        })
        .collect()
}

/// How many `sleep`s with this token run.
pub fn sleepers(token: &str) -> usize {
    let is_sleep = |pid: &i32| {
        let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        line.starts_with(b"sleep\0")
    };
    alive(token).iter().filter(|pid| is_sleep(pid)).count()
}

pub async fn until(what: &str, mut condition: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !condition() {
        assert!(Instant::now() < deadline, "still not so: {what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

pub async fn gone(token: &str) {
    until("all processes of the command are gone", || alive(token).is_empty()).await;
}

/// Dead, or waiting to be reaped by someone else.
pub fn is_dead(pid: u32) -> bool {
    match std::fs::read_to_string(format!("/proc/{pid}/stat")) {
        Ok(stat) => stat.rsplit_once(") ").is_none_or(|(_, rest)| rest.starts_with(['Z', 'X'])),
        Err(_) => true,
    }
}

pub fn kill(pid: u32, signal: rustix::process::Signal) {
    let pid = rustix::process::Pid::from_raw(pid as i32).unwrap();
    rustix::process::kill_process(pid, signal).unwrap();
}
