//! What a command hook costs over the bare spawn of the same command, and what listening costs where nobody listens.
//!
//! `cargo run --release -p ostler-hooks --example hook_cost`
#![allow(clippy::unwrap_used, clippy::print_stdout)]

use ostler_core::hook::{EventName, HookAction, HookMatcher, HookSpec, canary};
use ostler_core::permission::Source;
use ostler_core::ports::Hooks;
use ostler_exec::{Executor, SupervisorProgram, bash};
use ostler_hooks::{About, ClockAndIds, HookSetup, Registry, Sender};
use std::time::{Duration, Instant};

const ROLE: &str = "__supervisor";
const ROUNDS: usize = 300;

fn main() {
    if std::env::args().nth(1).is_some_and(|argument| argument == ROLE) {
        ostler_exec::supervise();
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(measure());
}

fn registry(
    executor: &Executor,
    environment: &[(std::ffi::OsString, std::ffi::OsString)],
) -> Registry {
    let spec = HookSpec {
        event: EventName::PreToolUse,
        matcher: HookMatcher::parse("Bash").unwrap(),
        action: HookAction::Command { command: "exit 0".into(), args: None },
        time_limit: None,
        once: false,
        in_background: false,
        outside: false,
        programs: Vec::new(),
        source: Source::default(),
        plugin: None,
    };
    Registry::new(HookSetup {
        specs: vec![spec],
        inside: Vec::new(),
        executor: executor.clone(),
        environment: environment.to_vec(),
        prepare: None,
        about: About { cwd: "/".into(), project: "/".into(), ..About::default() },
        queues: None,
        sender: Sender::new(Vec::new(), ClockAndIds::counted()),
        watch: None,
    })
}

async fn measure() {
    let executor = Executor::new(SupervisorProgram::this_binary([ROLE]));
    let environment = vec![("PATH".into(), "/usr/bin:/bin".into())];
    let registry = registry(&executor, &environment);
    let (mut plain, mut hooked) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let began = Instant::now();
        executor.run(bash("exit 0", "/", environment.clone()), |_| {}).await.unwrap();
        plain.push(began.elapsed());
        let began = Instant::now();
        registry.fire(canary(EventName::PreToolUse, None)).await;
        hooked.push(began.elapsed());
    }
    let (plain, hooked) = (median(plain), median(hooked));
    println!(
        "spawn {plain:?}, command hook {hooked:?}, over the spawn {:?}",
        hooked.saturating_sub(plain)
    );
    let began = Instant::now();
    let heard =
        (0..1_000_000).filter(|_| registry.listens(EventName::PostToolUse, Some("Bash"))).count();
    println!("nobody listens: {:?} per question ({heard} heard)", began.elapsed() / 1_000_000);
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}
