//! The life of client and supervisor: who dies with whom.

use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};

use ostler_exec::{ExecError, ExitStatus};
use rustix::process::Signal;

use crate::support::*;

/// A command with a child in its group, one that ignores TERM, and a daemon that left it.
fn family(token: &str) -> String {
    format!(
        "(setsid sleep {token} <&- >&- 2>&- &); sleep {token} & trap '' TERM; sleep {token}; wait"
    )
}

/// A client in its own process, the number of its command and of its supervisor.
fn holder(text: &str) -> (Child, u32, u32) {
    let mut child = std::process::Command::new(HELPER)
        .args(["hold", text])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let line = lines.find_map(|line| line.ok().filter(|line| line.starts_with("started"))).unwrap();
    let numbers: Vec<u32> =
        line.split_whitespace().skip(1).map(|number| number.parse().unwrap()).collect();
    let [command, supervisor] = numbers[..] else { panic!("{line}") };
    (child, command, supervisor)
}

#[tokio::test]
async fn nothing_survives_a_client_that_is_killed() {
    let token = token();
    let (mut client, command, supervisor) = holder(&family(&token));
    until("the family is complete", || sleepers(&token) == 3).await;
    client.kill().unwrap();
    gone(&token).await;
    until("command and supervisor are gone", || is_dead(command) && is_dead(supervisor)).await;
    client.wait().unwrap();
}

#[tokio::test]
async fn a_stopped_family_dies_with_its_client_too() {
    let token = token();
    let (mut client, command, supervisor) =
        holder(&format!("sleep {token} & kill -STOP $$; sleep {token}"));
    until("the child sleeps", || sleepers(&token) == 1).await;
    client.kill().unwrap();
    gone(&token).await;
    until("command and supervisor are gone", || is_dead(command) && is_dead(supervisor)).await;
    client.wait().unwrap();
}

#[tokio::test]
async fn a_command_dies_even_if_client_and_supervisor_are_killed_together() {
    let token = token();
    let (mut client, command, supervisor) = holder(&format!("exec sleep {token}"));
    until("the command runs", || sleepers(&token) == 1).await;
    // Stopped first, so that neither can act on the death of the other.
    kill(client.id(), Signal::STOP);
    kill(supervisor, Signal::STOP);
    kill(supervisor, Signal::KILL);
    client.kill().unwrap();
    gone(&token).await;
    until("command and supervisor are gone", || is_dead(command) && is_dead(supervisor)).await;
    client.wait().unwrap();
}

#[tokio::test]
async fn the_supervisor_does_not_listen_to_signals() {
    let executor = executor();
    let token = token();
    let running = executor.spawn(script(&format!("sleep {token}"))).await.unwrap();
    until("the command runs", || sleepers(&token) == 1).await;
    let supervisor = executor.supervisor_pid().unwrap();
    for signal in [
        Signal::INT,
        Signal::TERM,
        Signal::HUP,
        Signal::QUIT,
        Signal::PIPE,
        Signal::USR1,
        Signal::ALARM,
    ] {
        kill(supervisor, signal);
    }
    assert_eq!(executor.run(script("echo on"), |_| {}).await.unwrap().output.to_text(), "on\n");
    assert_eq!(executor.supervisor_pid(), Some(supervisor));
    assert_eq!(sleepers(&token), 1);
    drop(running);
    gone(&token).await;
}

#[tokio::test]
async fn a_killed_supervisor_is_a_typed_error_and_the_next_command_works() {
    let executor = executor();
    let token = token();
    let first = executor.spawn(script(&family(&token))).await.unwrap();
    let second = executor.spawn(script(&family(&token))).await.unwrap();
    until("both families are complete", || sleepers(&token) == 6).await;
    let supervisor = executor.supervisor_pid().unwrap();
    kill(supervisor, Signal::KILL);
    let (first, second) = tokio::join!(first.wait(), second.wait());
    assert!(matches!(first, Err(ExecError::SupervisorLost)), "{first:?}");
    assert!(matches!(second, Err(ExecError::SupervisorLost)), "{second:?}");
    gone(&token).await;

    assert_eq!(executor.run(script("echo on"), |_| {}).await.unwrap().output.to_text(), "on\n");
    assert_ne!(executor.supervisor_pid(), Some(supervisor));
}

#[tokio::test]
async fn what_a_killed_supervisor_left_is_ended_even_if_nobody_waits_for_it() {
    let executor = executor();
    let token = token();
    let running = executor.spawn(script(&family(&token))).await.unwrap();
    until("the family is complete", || sleepers(&token) == 3).await;
    let supervisor = executor.supervisor_pid().unwrap();
    kill(supervisor, Signal::KILL);
    until("the supervisor is dead", || is_dead(supervisor)).await;
    drop(running);
    drop(executor);
    gone(&token).await;
}

#[tokio::test]
async fn a_supervisor_that_keeps_dying_is_given_up() {
    let executor = executor();
    for _ in 0..4 {
        assert!(executor.run(script("echo on"), |_| {}).await.unwrap().status.success());
        let supervisor = executor.supervisor_pid().unwrap();
        kill(supervisor, Signal::KILL);
        until("the supervisor is dead", || is_dead(supervisor)).await;
    }
    for _ in 0..2 {
        let error = executor.run(script("echo on"), |_| {}).await.unwrap_err();
        assert!(matches!(error, ExecError::SupervisorGivenUp { deaths: 4, .. }), "{error}");
    }
}

#[tokio::test]
async fn a_shutdown_ends_everything_before_it_returns() {
    let executor = executor();
    let token = token();
    let running = executor.spawn(script(&family(&token))).await.unwrap();
    until("the family is complete", || sleepers(&token) == 3).await;
    let supervisor = executor.supervisor_pid().unwrap();
    let (finished, ended) = tokio::join!(running.wait(), executor.shutdown());
    ended.unwrap();
    assert_eq!(alive(&token), Vec::<i32>::new());
    assert!(!std::path::Path::new(&format!("/proc/{supervisor}")).exists(), "it is reaped");
    assert!(matches!(finished, Err(ExecError::Closed)), "{finished:?}");
    let refused = executor.run(script("echo"), |_| {}).await;
    assert!(matches!(refused, Err(ExecError::Closed)), "{refused:?}");
    executor.shutdown().await.unwrap();
}

#[tokio::test]
async fn the_last_handle_ends_the_supervisor_but_not_before_its_commands() {
    let executor = executor();
    let dir = tempfile::tempdir().unwrap();
    let gate = dir.path().join("gate");
    let text = format!("until [ -e {} ]; do sleep 0.01; done; echo through", gate.display());
    let running = executor.spawn(script(&text)).await.unwrap();
    let supervisor = executor.supervisor_pid().unwrap();
    drop(executor);
    std::fs::write(&gate, "").unwrap();
    assert_eq!(running.wait().await.unwrap().output.to_text(), "through\n");
    until("the supervisor is reaped", || {
        !std::path::Path::new(&format!("/proc/{supervisor}")).exists()
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_hundred_commands_at_once_each_get_their_own_end() {
    let executor = executor();
    let mut all = tokio::task::JoinSet::new();
    for number in 0..200 {
        let executor = executor.clone();
        all.spawn(async move {
            let text = format!(
                "echo begin {number}; sleep 0.1; echo end {number} >&2; exit {}",
                number % 100
            );
            (number, executor.run(script(&text), |_| {}).await.unwrap())
        });
    }
    let mut ended = 0;
    while let Some(result) = all.join_next().await {
        let (number, finished) = result.unwrap();
        assert_eq!(finished.status, ExitStatus::Code(number % 100));
        assert_eq!(finished.output.to_text(), format!("begin {number}\nend {number}\n"));
        ended += 1;
    }
    assert_eq!(ended, 200);
}

#[test]
fn three_hundred_commands_leave_no_descriptor_behind() {
    let output = std::process::Command::new(HELPER)
        .args(["leak", "300"])
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let (before, after) = text.trim().split_once(' ').unwrap();
    assert_eq!(before, after, "descriptors of client and supervisor, before and after");
}

#[test]
fn an_executor_serves_one_runtime_after_another() {
    let executor = executor();
    for _ in 0..2 {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let finished = runtime.block_on(executor.run(script("echo on"), |_| {})).unwrap();
        assert_eq!(finished.output.to_text(), "on\n");
    }
}
