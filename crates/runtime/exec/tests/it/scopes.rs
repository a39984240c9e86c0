//! Scopes: many sessions, one supervisor.

use ostler_exec::{CommandScope, ExecError, Executor};
use rustix::process::Signal;

use crate::support::*;

/// A command, a child in its group, and a daemon that left everything, mark aside.
fn family(token: &str) -> String {
    format!(
        "( ( exec env -i setsid sh -c 'exec sleep {token}' <&- >&- 2>&- ) & ); sleep {token} & sleep {token}"
    )
}

async fn family_in(scope: &CommandScope, token: &str) -> ostler_exec::RunningCommand {
    let running = scope.executor().spawn(script(&family(token))).await.unwrap();
    until("the family is complete", || sleepers(token) == 3).await;
    running
}

/// A command that says `before`, waits for a file and says `after`.
struct Gated {
    directory: tempfile::TempDir,
    running: tokio::task::JoinHandle<Result<ostler_exec::CommandReport, ExecError>>,
}

impl Gated {
    async fn start(executor: &Executor) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let place = directory.path().display().to_string();
        let text = format!(
            "echo before; echo $$ > {place}/pid; touch {place}/begun; until [ -e {place}/gate ]; do sleep 0.01; done; echo after"
        );
        let running = executor.spawn(script(&text)).await.unwrap();
        let begun = directory.path().join("begun");
        let running = tokio::spawn(running.wait());
        until("the command has begun", || begun.exists()).await;
        Self { directory, running }
    }

    /// Of its shell.
    fn pid(&self) -> i32 {
        let text = std::fs::read_to_string(self.directory.path().join("pid")).unwrap();
        text.trim().parse().unwrap()
    }

    async fn finish(self) -> Result<ostler_exec::CommandReport, ExecError> {
        std::fs::write(self.directory.path().join("gate"), "").unwrap();
        self.running.await.unwrap()
    }
}

#[tokio::test]
async fn closing_a_scope_ends_its_commands_and_daemons_and_no_others() {
    let executor = executor();
    let (a, b) = (executor.scope(), executor.scope());
    let (of_a, of_b) = (token(), token());
    let running = family_in(&a, &of_a).await;
    let daemon_of_b = family_in(&b, &of_b).await;
    let gated = Gated::start(b.executor()).await;
    let supervisor = executor.supervisor_pid();

    a.close().await.unwrap();
    assert_eq!(alive(&of_a), Vec::<i32>::new(), "all is gone when close returns");
    let ended = running.wait().await;
    assert!(matches!(ended, Err(ExecError::Closed)), "{ended:?}");
    let refused = a.executor().run(script("echo"), |_| {}).await;
    assert!(matches!(refused, Err(ExecError::Closed)), "{refused:?}");
    a.close().await.unwrap();

    assert_eq!(sleepers(&of_b), 3, "what runs in the other scope goes on");
    let finished = gated.finish().await.unwrap();
    assert!(finished.status.success() && !finished.killed);
    assert_eq!(finished.output.to_text(), "before\nafter\n");
    let after = b.executor().run(script("echo on"), |_| {}).await.unwrap();
    assert_eq!(after.output.to_text(), "on\n");
    assert_eq!(executor.supervisor_pid(), supervisor, "all of it in one supervisor");
    drop(daemon_of_b);
    gone(&of_b).await;
}

#[tokio::test]
async fn closing_waits_for_commands_that_were_dropped_a_moment_ago() {
    let executor = executor();
    for _ in 0..20 {
        let scope = executor.scope();
        let token = token();
        let running = family_in(&scope, &token).await;
        drop(running);
        scope.close().await.unwrap();
        assert_eq!(alive(&token), Vec::<i32>::new());
    }
}

#[tokio::test]
async fn dropping_a_scope_ends_what_runs_in_it_even_if_nobody_waits() {
    let executor = executor();
    let (a, b) = (executor.scope(), executor.scope());
    let (of_a, of_b) = (token(), token());
    let held = family_in(&a, &of_a).await;
    let other = family_in(&b, &of_b).await;
    // Whoever still has its executor cannot keep it alive.
    let executor_of_a = a.executor().clone();
    drop(a);
    gone(&of_a).await;
    let refused = executor_of_a.run(script("echo"), |_| {}).await;
    assert!(matches!(refused, Err(ExecError::Closed)), "{refused:?}");
    let ended = held.wait().await;
    assert!(matches!(ended, Err(ExecError::Closed)), "{ended:?}");
    assert_eq!(sleepers(&of_b), 3);
    drop(other);
    gone(&of_b).await;
}

#[tokio::test]
async fn a_scope_that_ran_nothing_closes_without_a_supervisor() {
    let executor = executor();
    let scope = executor.scope();
    scope.close().await.unwrap();
    assert_eq!(executor.supervisor_pid(), None);
    let refused = scope.executor().run(script("echo"), |_| {}).await;
    assert!(matches!(refused, Err(ExecError::Closed)), "{refused:?}");
    assert_eq!(executor.supervisor_pid(), None);
}

#[tokio::test]
async fn what_ended_by_itself_is_reported_although_its_scope_was_closed() {
    let executor = executor();
    let scope = executor.scope();
    let running = scope.executor().spawn(script("echo done; exit 3")).await.unwrap();
    let pid = running.pid() as u32;
    until("it has ended", || is_dead(pid)).await;
    scope.close().await.unwrap();
    let finished = running.wait().await.unwrap();
    assert_eq!(finished.status, ostler_exec::ExitStatus::Code(3));
    assert_eq!(finished.output.to_text(), "done\n");
}

#[tokio::test]
async fn a_shutdown_ends_all_scopes() {
    let executor = executor();
    let (a, b) = (executor.scope(), executor.scope());
    let token = token();
    let first = family_in(&a, &token).await;
    let second = b.executor().spawn(script(&format!("sleep {token}"))).await.unwrap();
    executor.shutdown().await.unwrap();
    assert_eq!(alive(&token), Vec::<i32>::new());
    for ended in [first.wait().await, second.wait().await] {
        assert!(matches!(ended, Err(ExecError::Closed)), "{ended:?}");
    }
    for scope in [&a, &b] {
        let refused = scope.executor().run(script("echo"), |_| {}).await;
        assert!(matches!(refused, Err(ExecError::Closed)), "{refused:?}");
        scope.close().await.unwrap();
    }
}

#[tokio::test]
async fn a_dead_supervisor_fails_the_commands_of_all_scopes_and_the_next_one_runs() {
    let executor = executor();
    let (a, b) = (executor.scope(), executor.scope());
    let token = token();
    let first = family_in(&a, &token).await;
    let second = b.executor().spawn(script(&format!("sleep {token}"))).await.unwrap();
    let supervisor = executor.supervisor_pid().unwrap();
    kill(supervisor, Signal::KILL);
    let (first, second) = tokio::join!(first.wait(), second.wait());
    // Until its last descriptor is closed, a command can still be handed to it, and nobody knows what became of that.
    until("the supervisor is dead", || is_dead(supervisor)).await;
    for lost in [first, second] {
        let error = lost.unwrap_err();
        assert!(matches!(error, ExecError::SupervisorLost), "{error}");
        assert!(error.to_string().contains("the next command starts a new"), "{error}");
    }
    gone(&token).await;
    for scope in [&a, &b] {
        let next = scope.executor().run(script("echo on"), |_| {}).await.unwrap();
        assert_eq!(next.output.to_text(), "on\n");
    }
    assert_ne!(executor.supervisor_pid(), Some(supervisor));
}

#[tokio::test]
async fn closing_beside_a_dead_supervisor_ends_what_it_left() {
    let executor = executor();
    let scope = executor.scope();
    let token = token();
    let running = family_in(&scope, &token).await;
    let supervisor = executor.supervisor_pid().unwrap();
    kill(supervisor, Signal::KILL);
    until("the supervisor is dead", || is_dead(supervisor)).await;
    scope.close().await.unwrap();
    gone(&token).await;
    drop(running);
}

/// The races between a start and the end of its scope: each command either ran to its end or is gone.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn commands_that_start_while_their_scope_ends_do_not_escape() {
    let executor = executor();
    let token = token();
    for round in 0..30 {
        let scope = executor.scope();
        let mut starts = tokio::task::JoinSet::new();
        for _ in 0..4 {
            let (executor, text) = (scope.executor().clone(), format!("sleep {token}"));
            starts.spawn(async move { executor.run(script(&text), |_| {}).await });
        }
        // Each round is closed at another moment of the starts.
        for _ in 0..round {
            tokio::task::yield_now().await;
        }
        scope.close().await.unwrap();
        assert_eq!(alive(&token), Vec::<i32>::new(), "round {round}");
        while let Some(ended) = starts.join_next().await {
            let ended = ended.unwrap();
            assert!(matches!(ended, Err(ExecError::Closed)), "{ended:?}");
        }
    }
}

#[tokio::test]
async fn a_daemon_without_a_mark_is_not_taken_for_one_of_a_younger_command() {
    let executor = executor();
    let (a, b) = (executor.scope(), executor.scope());
    let lost = token();
    // It wipes the mark by which descendants are known.
    let text = format!(
        "(ulimit -S -R unlimited; setsid sleep {lost} <&- >&- 2>&- &); until [ -e GATE ]; do sleep 0.01; done"
    );
    let directory = tempfile::tempdir().unwrap();
    let gate = directory.path().join("gate");
    let text = text.replace("GATE", gate.to_str().unwrap());
    let first = a.executor().spawn(script(&text)).await.unwrap();
    until("the daemon runs", || sleepers(&lost) == 1).await;
    // Its shell is older. What the shell forks to wait may end while we look.
    let born = alive(&lost).into_iter().filter_map(start_time).max().unwrap();
    // The kernel counts in ticks; younger means in a later one.
    let younger = loop {
        let gated = Gated::start(b.executor()).await;
        if start_time(gated.pid()).unwrap() > born {
            break gated;
        }
        gated.finish().await.unwrap();
    };
    std::fs::write(&gate, "").unwrap();
    first.wait().await.unwrap();
    gone(&lost).await;
    let finished = younger.finish().await.unwrap();
    assert_eq!(finished.output.to_text(), "before\nafter\n", "{:?}", finished.status);
}

fn start_time(pid: i32) -> Option<u64> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let fields = stat.rsplit_once(')')?.1;
    fields.split_ascii_whitespace().nth(19)?.parse().ok()
}
