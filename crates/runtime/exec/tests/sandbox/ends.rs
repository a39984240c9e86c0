//! What the supervisor promises about ends holds inside the sandbox too.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use ostler_exec::{Command, ExecError};

use crate::ordinary_user;
use crate::world::{HELPER, PATIENCE, World, combinations, write_program};

/// Living processes with the token in their command line.
fn alive(token: &str) -> Vec<PathBuf> {
    let processes = std::fs::read_dir("/proc").unwrap().flatten().map(|entry| entry.path());
    let own = PathBuf::from(format!("/proc/{}", std::process::id()));
    let bears = |path: &PathBuf| {
        let line = std::fs::read(path.join("cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&line).contains(token)
    };
    processes.filter(|path| *path != own && bears(path)).collect()
}

/// How many of them are `sleep` itself, not on the way to it.
fn sleepers(token: &str) -> usize {
    let is_sleep = |path: &PathBuf| {
        std::fs::read(path.join("cmdline")).is_ok_and(|line| line.starts_with(b"sleep\0"))
    };
    alive(token).iter().filter(|path| is_sleep(path)).count()
}

async fn until(what: &str, mut condition: impl FnMut() -> bool) {
    let deadline = std::time::Instant::now() + PATIENCE;
    while !condition() {
        assert!(std::time::Instant::now() < deadline, "still not so: {what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test]
async fn codes_and_signals_are_what_they_were() {
    let Some(base) = ordinary_user::folder("ends::codes_and_signals_are_what_they_were") else {
        return;
    };
    let world = World::new(&base);
    for (name, layers) in combinations(&world).await {
        let sandbox = world.sandbox(layers);
        for (script, expected) in [
            ("exit 0", "exit code 0"),
            ("exit 7", "exit code 7"),
            ("exit 137", "exit code 137"),
            ("kill -9 $$", "signal KILL (9)"),
            ("kill -SEGV $$", "signal SEGV (11)"),
            ("kill -TERM $$", "signal TERM (15)"),
            ("(sleep 0; kill -9 $BASHPID); exit 3", "exit code 3"),
        ] {
            let finished = world.run(script, Some(&sandbox)).await;
            assert_eq!(finished.status.to_string(), expected, "{name}: {script}");
            assert!(!finished.killed);
        }
        let input = "cat; cat >&2; exec 3</dev/null; ls /proc/self/fd | wc -l";
        let mut command = world.command(input, Some(&sandbox));
        command.input = Some(b"given".to_vec());
        command.separate_errors = true;
        let finished = world.executor.run(command, |_| {}).await.unwrap();
        assert_eq!(finished.output.to_text(), "given5\n", "{name}");
        assert_eq!(finished.errors.unwrap().to_text(), "", "{name}");
        // Its parent inside is ours, and what that has open might lead outside.
        let parent = "for x in fd/1 root cwd; do readlink /proc/$PPID/$x && echo SEEN; done; ls /proc/$PPID/cwd/ && echo SEEN; \
            cat /proc/$PPID/maps && echo SEEN; (exec 3<>/proc/$PPID/mem) && echo SEEN";
        let text = world.run(parent, Some(&sandbox)).await.output.to_text();
        assert!(!text.contains("SEEN"), "{name}: {text}");
        let finished = world.run("echo err >&2", Some(&sandbox)).await;
        assert_eq!(finished.output.to_text(), "err\n", "{name}");
    }
}

#[tokio::test]
async fn a_command_is_asked_before_it_is_killed_and_then_all_of_it_is_gone() {
    let name = "ends::a_command_is_asked_before_it_is_killed_and_then_all_of_it_is_gone";
    let Some(base) = ordinary_user::folder(name) else { return };
    let world = World::new(&base);
    for (number, (name, layers)) in combinations(&world).await.into_iter().enumerate() {
        let sandbox = world.sandbox(layers);
        let token = format!("86400.{}{number}", std::process::id());
        let polite = format!(
            "trap 'echo asked; exit 5' TERM; (setsid sleep {token} &); sleep {token} & wait"
        );
        let mut command = world.command(&polite, Some(&sandbox));
        command.grace = PATIENCE;
        let running = world.executor.spawn(command).await.unwrap();
        let stopper = running.stopper();
        let ask = async {
            until("both sleep", || sleepers(&token) == 2).await;
            stopper.stop();
        };
        let (finished, ()) = tokio::join!(running.wait(), ask);
        let finished = finished.unwrap();
        assert_eq!(finished.output.to_text(), "asked\n", "{name}");
        assert_eq!(finished.status.to_string(), "exit code 5", "{name}");
        assert!(finished.killed && !finished.timed_out, "{name}");
        until("nothing is left", || alive(&token).is_empty()).await;

        let stubborn = format!("trap '' TERM; (setsid sleep {token} &); sleep {token} & wait");
        let mut command = world.command(&stubborn, Some(&sandbox));
        command.time_limit = Some(Duration::from_millis(300));
        command.grace = Duration::from_millis(50);
        let finished = world.executor.run(command, |_| {}).await.unwrap();
        assert!(finished.timed_out, "{name}: {}", finished.status);
        assert!(!finished.status.success(), "{name}");
        until("nothing is left", || alive(&token).is_empty()).await;

        let running = world.executor.spawn(world.command(&stubborn, Some(&sandbox))).await.unwrap();
        until("it runs", || sleepers(&token) == 2).await;
        drop(running);
        until("dropping is killing", || alive(&token).is_empty()).await;
    }
}

/// Without a process namespace of its own, a daemon of the command would survive this.
#[tokio::test]
async fn with_bubblewrap_nothing_survives_even_if_client_and_supervisor_die_together() {
    let name = "ends::with_bubblewrap_nothing_survives_even_if_client_and_supervisor_die_together";
    let Some(base) = ordinary_user::folder(name) else { return };
    let world = World::new(&base);
    if let Err(reason) = world.executor.probe().await.bubblewrap {
        println!("SKIPPED: {reason}");
        return;
    }
    let token = format!("86400.{}99", std::process::id());
    let client =
        Client::hold(&world, &format!("(setsid setsid sleep {token} &); sleep {token}"), &[]);
    until("command and daemon run", || sleepers(&token) == 2).await;
    client.die_with_supervisor();
    until("the daemon is gone too", || sleepers(&token) == 0).await;
}

/// A client in a process of its own, with its supervisor.
struct Client {
    process: std::process::Child,
    supervisor: i32,
}

impl Client {
    fn hold(world: &World, script: &str, more: &[&Path]) -> Self {
        let mut process = std::process::Command::new(HELPER)
            .args(["hold-inside", script])
            .args([&world.root, &world.temp])
            .args(more)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(process.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        let supervisor = line.trim().strip_prefix("supervisor ").unwrap().parse().unwrap();
        Client { process, supervisor }
    }

    /// Stopped first, so that neither sees the other die.
    fn die_with_supervisor(self) {
        let pid = |number: i32| rustix::process::Pid::from_raw(number).unwrap();
        for signal in [rustix::process::Signal::STOP, rustix::process::Signal::KILL] {
            rustix::process::kill_process(pid(self.process.id() as i32), signal).unwrap();
            rustix::process::kill_process(pid(self.supervisor), signal).unwrap();
        }
        // A signal is sent before it has its effect.
        let lives = |number: i32| {
            let stat = std::fs::read_to_string(format!("/proc/{number}/stat")).unwrap_or_default();
            let state = stat.rsplit_once(") ").and_then(|(_, rest)| rest.chars().next());
            !matches!(state, None | Some('Z' | 'X'))
        };
        while [self.process.id() as i32, self.supervisor].into_iter().any(lives) {
            std::thread::yield_now();
        }
    }
}

/// What a failed test leaves would keep its output open.
impl Drop for Client {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// The living processes of a group.
fn members(group: &str) -> Vec<PathBuf> {
    let processes = std::fs::read_dir("/proc").unwrap().flatten().map(|entry| entry.path());
    let is_member = |path: &PathBuf| {
        let stat = std::fs::read_to_string(path.join("stat")).unwrap_or_default();
        let fields: Vec<&str> =
            stat.rsplit_once(") ").map_or(Vec::new(), |(_, rest)| rest.split(' ').collect());
        fields.get(2) == Some(&group) && fields.first() != Some(&"Z")
    };
    processes.filter(is_member).collect()
}

/// Bubblewrap is held in the middle of its start, where its first process is not yet bound to the
/// life of anybody, and client and supervisor die in that moment.
#[tokio::test]
async fn a_command_that_is_still_being_started_is_not_run_after_both_are_dead() {
    let name = "ends::a_command_that_is_still_being_started_is_not_run_after_both_are_dead";
    let Some(base) = ordinary_user::folder(name) else { return };
    let world = World::new(&base);
    let real = match world.executor.probe().await.bubblewrap {
        Ok(real) => real,
        Err(reason) => return println!("SKIPPED: {reason}"),
    };
    let place = world.base.join("held");
    std::fs::create_dir(&place).unwrap();
    assert!(quiet_run("mkfifo", &place.join("gate")));
    // The first run is the one that tries whether it works.
    let wrapper = format!(
        "#!/bin/bash\nplace={place:?}; real={real:?}\n\
         [ \"$1\" = --help ] && exec \"$real\" \"$@\"\n\
         [ -e \"$place/tried\" ] || {{ touch \"$place/tried\"; exec \"$real\" \"$@\"; }}\n\
         exec {{gate}}<>\"$place/gate\"\n\
         echo $$ > \"$place/new\" && mv \"$place/new\" \"$place/pid\"\n\
         exec \"$real\" --block-fd $gate \"$@\"\n"
    );
    write_program(&place.join("bwrap"), &wrapper);
    let mut gate = std::fs::OpenOptions::new();
    let mut gate = gate.read(true).write(true).open(place.join("gate")).unwrap();

    let script = format!("touch {:?}; exec sleep 1000", world.root.join("ran"));
    let client = Client::hold(&world, &script, &[&place]);
    let group = || std::fs::read_to_string(place.join("pid")).unwrap_or_default().trim().to_owned();
    until("bubblewrap has made its first process", || {
        !group().is_empty() && members(&group()).len() == 2
    })
    .await;
    client.die_with_supervisor();
    // It continues only now.
    std::io::Write::write_all(&mut gate, b"x").unwrap();
    until("nothing of it is left", || members(&group()).is_empty()).await;
    assert!(!world.root.join("ran").exists(), "it has run although nobody was left");

    // Let through while both live, the same command runs, so the test can fail.
    std::fs::remove_file(place.join("pid")).unwrap();
    std::io::Write::write_all(&mut gate, b"xx").unwrap();
    let client = Client::hold(&world, &script, &[&place]);
    until("it runs", || world.root.join("ran").exists()).await;
    client.die_with_supervisor();
    until("nothing of it is left", || members(&group()).is_empty()).await;
}

fn quiet_run(program: &str, argument: &Path) -> bool {
    std::process::Command::new(program).arg(argument).status().is_ok_and(|status| status.success())
}

#[tokio::test]
async fn what_cannot_be_started_inside_is_said_as_precisely_as_outside() {
    let name = "ends::what_cannot_be_started_inside_is_said_as_precisely_as_outside";
    let Some(base) = ordinary_user::folder(name) else { return };
    let world = World::new(&base);
    for (name, layers) in combinations(&world).await {
        let sandbox = std::sync::Arc::new(world.sandbox(layers));
        let start = async |program: &Path, cwd: &Path| {
            let mut command = Command::new(program, cwd);
            command.sandbox = Some(sandbox.clone());
            world.executor.run(command, |_| {}).await.unwrap_err()
        };
        let (root, here) = (Path::new("/"), world.root.as_path());
        let error = start(Path::new("/nonexistent/program"), root).await;
        assert!(matches!(error, ExecError::NotFound { .. }), "{name}: {error}");
        let error = start(Path::new("/etc/passwd"), here).await;
        assert!(matches!(error, ExecError::NotExecutable { .. }), "{name}: {error}");
        let error = start(Path::new("/bin/true"), &here.join("nowhere")).await;
        assert!(matches!(error, ExecError::Directory { .. }), "{name}: {error}");

        // A root that is a link, or is not there, is no root.
        std::os::unix::fs::symlink(&world.outside, world.root.join("src/link")).unwrap();
        for (wrong, word) in [("src/link", "link"), ("src/missing", "cannot be opened")] {
            let mut sandbox = world.sandbox(layers);
            sandbox.writable.push(world.root.join(wrong));
            let mut command = Command::new("/bin/true", "/");
            command.sandbox = Some(sandbox.into());
            let error = world.executor.run(command, |_| {}).await.unwrap_err();
            assert!(matches!(error, ExecError::Sandbox { .. }), "{name}: {error}");
            assert!(error.to_string().contains(word), "{name}: {error}");
        }
        world.reset();
        let finished = world.run("echo the next works", Some(&sandbox)).await;
        assert_eq!(finished.output.to_text(), "the next works\n", "{name}");
    }
}
