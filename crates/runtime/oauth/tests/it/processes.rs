//! One refresh token, many processes.

use crate::world::{HOUR, START, TestClock, World, browse, oauth};
use ostler_oauth::ClientSettings;
use std::future::pending;
use std::io::{BufRead, BufReader, Lines, Write};
use std::path::PathBuf;
use std::process::ChildStdout;
use std::process::{Child, Command, Stdio};
use url::Url;

const HOME: &str = "OAUTH_TEST_CHILD_HOME";
const SERVER: &str = "OAUTH_TEST_CHILD_SERVER";
const PROCESSES: usize = 8;

/// When the tokens of the login have ended.
const LATER: u64 = START + 2 * HOUR;

/// One of the processes: waits for a line, then asks for the token.
#[tokio::test]
#[allow(clippy::print_stdout, reason = "the parent reads it")]
async fn child() {
    let (Some(home), Ok(server)) = (std::env::var_os(HOME), std::env::var(SERVER)) else { return };
    let oauth = oauth(&PathBuf::from(home), TestClock::at(LATER));
    println!("\nready");
    std::io::stdin().lock().read_line(&mut String::new()).unwrap();
    println!("\nasking");
    let token = oauth.access(&Url::parse(&server).unwrap(), &ClientSettings::default()).await;
    println!("\ntoken {}", token.unwrap().unwrap().expose());
}

struct Process {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Process {
    fn start(home: &std::path::Path, server: &Url) -> Process {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["processes::child", "--exact", "--nocapture", "--test-threads=1"])
            .env(HOME, home)
            .env(SERVER, server.as_str())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Process { child, lines }
    }

    /// The rest of the next line that begins so.
    fn line(&mut self, start: &str) -> String {
        let mut lines = self.lines.by_ref().map(Result::unwrap);
        lines.find_map(|line| line.strip_prefix(start).map(|rest| rest.trim().to_owned())).unwrap()
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_rotating_refresh_token_is_spent_once_by_eight_processes() {
    let (world, home) = (World::start().await, tempfile::tempdir().unwrap());
    let oauth = oauth(home.path(), TestClock::at(START));
    let login = oauth.begin_login(&world.server(), &ClientSettings::default(), None).await.unwrap();
    let url = login.url();
    let (record, _) = tokio::join!(login.finish(pending()), browse(&url));
    record.unwrap();

    // The token endpoint answers only when all processes are asking.
    world.answers.forget_permits(world.answers.available_permits());
    let (path, server) = (home.path().to_owned(), world.server());
    let all = tokio::task::spawn_blocking(move || {
        let mut all: Vec<Process> =
            (0..PROCESSES).map(|_| Process::start(&path, &server)).collect();
        for process in &mut all {
            process.line("ready");
        }
        for process in &mut all {
            process.child.stdin.take().unwrap().write_all(b"go\n").unwrap();
        }
        for process in &mut all {
            process.line("asking");
        }
        all
    });
    let mut all = all.await.unwrap();
    world.answers.add_permits(1000);
    let tokens = tokio::task::spawn_blocking(move || {
        let tokens: Vec<String> = all.iter_mut().map(|process| process.line("token ")).collect();
        for process in &mut all {
            assert!(process.child.wait().unwrap().success());
        }
        tokens
    });
    let tokens = tokens.await.unwrap();
    assert_eq!(tokens, vec!["access-2"; PROCESSES]);
    world.get(|state| assert_eq!((state.refreshes, state.reuses), (1, 0)));
    assert!(world.accepts("access-2"));
}
