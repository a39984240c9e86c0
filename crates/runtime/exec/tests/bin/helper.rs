//! For the tests: a supervisor, and clients that run in a process of their own because they are
//! killed, have a terminal, or have their descriptors or memory counted.
#![allow(clippy::unwrap_used, clippy::print_stdout, unsafe_code)]

use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use ostler_exec::{
    Command, ExecError, Executor, Layers, Sandbox, SupervisorProgram, bash, raise_open_file_limit,
    supervise,
};

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    match args[..] {
        ["supervise", ..] => supervise(),
        ["hold", script] => client(hold(executor(), script, None)),
        ["hold-inside", script, root, temp] => {
            client(hold(executor(), script, Some((root, temp))));
        }
        ["hold-inside", script, root, temp, bubblewrap] => {
            let program = SupervisorProgram::this_binary(["supervise"]);
            let executor = Executor::with_bubblewrap_in(vec![bubblewrap.into()], program);
            client(hold(executor, script, Some((root, temp))));
        }
        ["leak", count] => client(leak(count.parse().unwrap())),
        ["flood", script] => client(flood(script)),
        ["nofile", limit] => client(starve(limit.parse().unwrap())),
        ["reserve"] => reserve(),
        ["open-files", what, root, temp] => {
            if what == "raise" {
                // Twice: the second call must not take the raised limit for the old one.
                raise_open_file_limit().unwrap();
                raise_open_file_limit().unwrap();
            }
            client(open_files(root, temp));
        }
        ["tty", script] => {
            take_terminal();
            client(show(script));
        }
        _ => std::process::exit(64),
    }
}

/// Reserves address space as many runtimes do, and lives long enough to be looked at.
fn reserve() {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    // SAFETY: a new mapping that nothing else knows of and nobody touches.
    let place =
        unsafe { libc::mmap(std::ptr::null_mut(), 64 << 30, libc::PROT_NONE, flags, -1, 0) };
    assert_ne!(place, libc::MAP_FAILED, "{}", std::io::Error::last_os_error());
    std::thread::sleep(Duration::from_millis(700));
    println!("reserved 64 GB");
}

fn client(work: impl Future<Output = ()>) {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap()
        .block_on(work);
}

fn executor() -> Executor {
    Executor::new(SupervisorProgram::this_binary(["supervise"]))
}

fn script(text: &str) -> Command {
    let mut command = bash(text, "/", vec![("PATH".into(), "/usr/bin:/bin".into())]);
    command.time_limit = Some(Duration::from_secs(120));
    command
}

/// Starts a command, says so, and waits to be killed.
async fn hold(executor: Executor, text: &str, folders: Option<(&str, &str)>) {
    let mut command = script(text);
    let layers = Layers { landlock: false, seccomp: true, bubblewrap: true };
    command.sandbox = folders.map(|(root, temp)| sandbox(root, temp, layers));
    executor.start().await.unwrap();
    println!("supervisor {}", executor.supervisor_pid().unwrap());
    let running = executor.spawn(command).await.unwrap();
    println!("started {} {}", running.pid(), executor.supervisor_pid().unwrap());
    let _ = running.wait().await;
    pending::<()>().await;
}

fn sandbox(root: &str, temp: &str, layers: Layers) -> Arc<Sandbox> {
    Arc::new(Sandbox {
        writable: vec![root.into()],
        readable: Vec::new(),
        homes: Vec::new(),
        hidden: Vec::new(),
        frozen: Vec::new(),
        temp: temp.into(),
        network: false,
        layers,
        bounds: None,
    })
}

async fn leak(count: usize) {
    let executor = executor();
    executor.run(script("echo first"), |_| {}).await.unwrap();
    let supervisor = executor.supervisor_pid().unwrap();
    let count_of = |pid: &str| std::fs::read_dir(format!("/proc/{pid}/fd")).unwrap().count();
    let open = || count_of("self") + count_of(&supervisor.to_string());
    let before = settled(open).await;
    for number in 0..count {
        // A program that does not exist, a dropped command and a long script take other paths.
        match number % 10 {
            0 => assert!(executor.run(Command::new("/nonexistent", "/"), |_| {}).await.is_err()),
            1 => drop(executor.spawn(script("sleep 60")).await.unwrap()),
            2 => drop(
                executor.run(script(&format!(": {}", "x".repeat(130_000))), |_| {}).await.unwrap(),
            ),
            _ => drop(executor.run(script("echo 1"), |_| {}).await.unwrap()),
        }
    }
    println!("{before} {}", settled(open).await);
}

/// The number when it has not changed for a while: the supervisor closes a moment after it reports.
async fn settled(count: impl Fn() -> usize) -> usize {
    let mut last = count();
    let mut same = 0;
    while same < 50 {
        tokio::time::sleep(Duration::from_millis(10)).await;
        let now = count();
        same = if now == last { same + 1 } else { 0 };
        last = now;
    }
    last
}

async fn flood(text: &str) {
    let finished = executor().run(script(text), |_| {}).await.unwrap();
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    let peak: u64 = peak.trim().trim_end_matches(" kB").parse().unwrap();
    println!("{} {} {peak}", finished.output.total(), finished.output.dropped());
}

/// Runs many commands at once with too few descriptors, then one alone.
async fn starve(limit: u64) {
    let executor = executor();
    let limit = libc::rlimit { rlim_cur: limit, rlim_max: limit };
    // SAFETY: passes a valid structure.
    assert_eq!(unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &limit) }, 0);
    executor.start().await.unwrap();
    let mut all = tokio::task::JoinSet::new();
    for _ in 0..60 {
        let executor = executor.clone();
        all.spawn(async move { executor.run(script("sleep 0.3; echo ok"), |_| {}).await });
    }
    let (mut ran, mut refused) = (0, 0);
    while let Some(result) = all.join_next().await {
        match result.unwrap() {
            Ok(finished) if finished.status.success() => ran += 1,
            Err(ExecError::Resources { .. }) => refused += 1,
            other => println!("unexpected: {other:?}"),
        }
    }
    let last = executor.run(script("echo still here"), |_| {}).await.unwrap();
    println!("{ran} {refused} {}", last.output.to_text().trim());
}

/// Our own soft limit, and the soft and hard limit of a command: without a sandbox, and in all layers there are.
async fn open_files(root: &str, temp: &str) {
    let own = rustix::process::getrlimit(rustix::process::Resource::Nofile);
    println!("{}", own.current.unwrap());
    let executor = executor();
    let layers = executor.probe().await.layers();
    for sandbox in [None, Some(sandbox(root, temp, layers))] {
        let mut command = script("echo $(ulimit -Sn) $(ulimit -Hn)");
        command.sandbox = sandbox;
        print!("{}", executor.run(command, |_| {}).await.unwrap().output.to_text());
    }
}

async fn show(text: &str) {
    let finished = executor().run(script(text), |_| {}).await.unwrap();
    println!("{}\n{}", finished.status, finished.output.to_text());
}

/// Makes a new terminal the controlling terminal of this process.
fn take_terminal() {
    // SAFETY: calls with valid arguments; the name is used before the next call that changes it.
    unsafe {
        assert!(libc::setsid() > 0);
        let master = libc::posix_openpt(libc::O_RDWR | libc::O_NOCTTY);
        assert!(master >= 0);
        assert_eq!(libc::grantpt(master), 0);
        assert_eq!(libc::unlockpt(master), 0);
        let terminal = libc::open(libc::ptsname(master), libc::O_RDWR);
        assert!(terminal >= 0);
    }
    // The test would prove nothing if we had no terminal ourselves.
    std::fs::File::open("/dev/tty").unwrap();
}
