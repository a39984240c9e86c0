//! A directory, a home, a model server, and the program between them.

use ostler_model_server::{ModelServer, Recorded, Script};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Longer than anything a test waits for; what takes longer hangs.
pub const PATIENCE: Duration = Duration::from_secs(60);

pub struct World {
    folder: tempfile::TempDir,
    pub server: ModelServer,
}

/// How a run of the program ended.
#[derive(Debug)]
pub struct Ran {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl World {
    pub fn new(script: Script) -> Self {
        // A home that a test makes must be closed to others, whatever the umask of who runs it.
        rustix::process::umask(rustix::fs::Mode::from_raw_mode(0o022));
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("project")).unwrap();
        World { folder, server: ModelServer::start(script).unwrap() }
    }

    pub fn project(&self) -> PathBuf {
        self.folder.path().join("project").canonicalize().unwrap()
    }

    /// The first question of all was answered long ago.
    pub fn has_chosen(&self) {
        std::fs::create_dir_all(self.home()).unwrap();
        std::fs::write(self.home().join("settings.json"), "{}").unwrap();
    }

    pub fn home(&self) -> PathBuf {
        self.folder.path().join("home")
    }

    pub fn file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.project().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        path
    }

    pub fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.project().join(name)).unwrap_or_default()
    }

    /// The program with a clean environment that points at the server.
    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ostler"));
        command
            .args(args)
            .current_dir(self.project())
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.folder.path())
            .env("OSTLER_HOME", self.home())
            .env("ANTHROPIC_BASE_URL", self.server.url())
            .env("ANTHROPIC_API_KEY", "test-key")
            .env("ANTHROPIC_MODEL", "scripted")
            .env("OSTLER_MAX_RETRIES", "2")
            .env("OSTLER_RETRY_WAIT_MS", "5")
            .env("OSTLER_STREAM_BACKOFF_MS", "5")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    pub fn run(&self, args: &[&str]) -> Ran {
        finish(self.command(args).spawn().unwrap())
    }

    /// The program as started by another one: its words come behind those of the launcher.
    pub fn launched(&self, launcher: &[&str], args: &[&str]) -> Command {
        let plain = self.command(args);
        let (first, rest) = launcher.split_first().unwrap();
        let mut command = Command::new(first);
        command.args(rest).arg(plain.get_program()).args(plain.get_args());
        command.env_clear().current_dir(self.project());
        command.envs(plain.get_envs().filter_map(|(name, value)| Some((name, value?))));
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// The same on a machine without bubblewrap: it is hidden by a mount of this process's own.
    pub fn run_without_bubblewrap(&self, args: &[&str]) -> Ran {
        self.run_without_bubblewrap_in(&self.project(), args)
    }

    pub fn run_without_bubblewrap_in(&self, folder: &Path, args: &[&str]) -> Ran {
        let away = "mount --bind /dev/null \"$0\" && exec \"$@\"";
        let launcher = ["unshare", "-m", "sh", "-c", away, "/usr/bin/bwrap"];
        finish(self.launched(&launcher, args).current_dir(folder).spawn().unwrap())
    }

    /// `-p go` with everything allowed, in stream-json.
    pub fn go(&self) -> Ran {
        self.run(&[
            "-p",
            "go",
            "--output-format",
            "stream-json",
            "--permission-mode",
            "bypassPermissions",
        ])
    }

    /// All logs, oldest first.
    pub fn logs(&self) -> Vec<PathBuf> {
        let mut found: Vec<PathBuf> = walk(&self.home().join("sessions"))
            .into_iter()
            .filter(|path| path.extension().is_some_and(|ending| ending == "log"))
            .collect();
        found.sort();
        found
    }

    /// The facts of the newest log, as JSON.
    pub fn entries(&self) -> Vec<Value> {
        let Some(path) = self.logs().pop() else { return Vec::new() };
        facts(&std::fs::read_to_string(path).unwrap())
    }

    pub fn assert_never_rejected(&self) {
        assert_eq!(self.server.rejected(), Vec::<String>::new());
    }
}

/// Whether a mount can hide bubblewrap, for which a test must be root.
#[allow(clippy::print_stdout, reason = "a skipped test must be seen")]
pub fn can_hide_bubblewrap() -> bool {
    let hide = ["-m", "mount", "--bind", "/dev/null", "/usr/bin/bwrap"];
    let can = Command::new("unshare").args(hide).status().is_ok_and(|status| status.success());
    if !can {
        println!(
            "SKIPPED: a machine without bubblewrap (this test may not mount, or there is none to hide)"
        );
    }
    can
}

pub fn facts(log: &str) -> Vec<Value> {
    log.lines()
        .map(|line| serde_json::from_str(line.splitn(3, ' ').nth(2).unwrap()).unwrap())
        .collect()
}

/// Every file below.
pub fn walk(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.flat_map(|e| if e.path().is_dir() { walk(&e.path()) } else { vec![e.path()] }).collect()
}

/// Waits for the end, reading both pipes, and fails if there is none.
pub fn finish(mut child: Child) -> Ran {
    let (stdout, stderr) = (drain(child.stdout.take()), drain(child.stderr.take()));
    let deadline = Instant::now() + PATIENCE;
    let status = loop {
        match child.try_wait().unwrap() {
            Some(status) => break status,
            None if Instant::now() > deadline => {
                child.kill().unwrap();
                panic!("the program hangs; it said {:?}", stderr.join());
            }
            None => std::thread::sleep(Duration::from_millis(2)),
        }
    };
    Ran { code: status.code(), stdout: stdout.join().unwrap(), stderr: stderr.join().unwrap() }
}

fn drain(pipe: Option<impl std::io::Read + Send + 'static>) -> std::thread::JoinHandle<String> {
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(mut pipe) = pipe {
            pipe.read_to_end(&mut bytes).unwrap();
        }
        String::from_utf8_lossy(&bytes).into_owned()
    })
}

impl Ran {
    /// The lines of stream-json.
    pub fn frames(&self) -> Vec<Value> {
        let parse =
            |line: &str| serde_json::from_str(line).unwrap_or_else(|e| panic!("{e}: {line}"));
        self.stdout.lines().map(parse).collect()
    }

    pub fn result(&self) -> Value {
        self.frames().pop().unwrap_or_else(|| panic!("no output; stderr: {}", self.stderr))
    }

    pub fn terminal(&self) -> String {
        self.result()["terminal_reason"].as_str().unwrap_or_default().to_owned()
    }

    /// Readers are told to forget an answer that had begun and was not kept, and no other.
    pub fn assert_drops_are_true(&self) {
        let (mut shown, mut kept) = (Vec::new(), Vec::new());
        for frame in self.frames() {
            match (frame["type"].as_str(), frame["subtype"].as_str()) {
                (Some("assistant"), _) => shown.push(frame["message"]["id"].clone()),
                (_, Some("transition")) => kept.append(&mut shown),
                (_, Some("answer_dropped")) => {
                    let id = &frame["message_id"];
                    assert!(
                        id.as_str().is_some_and(|id| !id.is_empty()),
                        "an answer without a name"
                    );
                    assert!(!kept.contains(id), "this answer stands: {frame}");
                    shown.clear();
                }
                _ => {}
            }
        }
    }

    /// The reasons of all ways round, in order.
    pub fn transitions(&self) -> Vec<String> {
        let frames = self.frames();
        let went = frames.iter().filter(|frame| frame["subtype"] == "transition");
        went.map(|frame| frame["reason"].as_str().unwrap().to_owned()).collect()
    }
}

/// Polls until it is so; not being so in time is the failure.
pub fn until(what: &str, mut so: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !so() {
        assert!(Instant::now() < deadline, "still not so: {what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Processes whose command line holds this text.
pub fn processes_with(mark: &str) -> Vec<u32> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc").unwrap().flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse::<u32>().ok()) else {
            continue;
        };
        let line = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
        let state = std::fs::read_to_string(entry.path().join("stat")).unwrap_or_default();
        let zombie =
            state.rsplit(')').next().is_some_and(|rest| rest.trim_start().starts_with('Z'));
        if !zombie && String::from_utf8_lossy(&line).contains(mark) {
            found.push(pid);
        }
    }
    found
}

/// A duration for `sleep` that no other process uses.
pub fn unique_sleep() -> String {
    static COUNT: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
    let n = COUNT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    format!("86400.{}{n:04}", std::process::id())
}

/// Waits for something of the model server's.
pub fn wait<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}

pub fn signal(child: &Child, signal: rustix::process::Signal) {
    let pid = rustix::process::Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    rustix::process::kill_process(pid, signal).unwrap();
}

/// How often the model has answered before this request. The number of messages says less: a request may begin with more
/// than the prompt.
pub fn answers(request: &Recorded) -> usize {
    request.messages().iter().filter(|message| message["role"] == "assistant").count()
}

/// Reads standard output, byte by byte so that nothing is taken too much, up to the line that holds `needle`.
pub fn read_until(child: &mut Child, needle: &str) -> String {
    use std::io::Read;
    let out = child.stdout.as_mut().unwrap();
    let (mut seen, mut byte) = (Vec::new(), [0]);
    while !(seen.ends_with(b"\n") && String::from_utf8_lossy(&seen).contains(needle)) {
        assert_eq!(out.read(&mut byte).unwrap(), 1, "the output ended without {needle}");
        seen.push(byte[0]);
    }
    String::from_utf8(seen).unwrap()
}

/// Lets a command continue that reads from this FIFO of the project.
pub fn open_gate(world: &World, name: &str) {
    use rustix::fs::{Mode, OFlags, open};
    let flags = OFlags::WRONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let mut gate = None;
    // There is no reader until the command has come so far.
    until("somebody waits at the gate", || {
        gate = open(world.project().join(name), flags, Mode::empty()).ok();
        gate.is_some()
    });
}
