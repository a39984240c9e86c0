//! What a command leaves behind.

use ostler_exec::{CommandReport, Executor};

use crate::support::*;

#[tokio::test]
async fn b03_a_background_child_ends_with_its_command() {
    let token = token();
    let finished = run(&format!("sleep {token} & echo done")).await;
    assert!(finished.status.success());
    assert!(!finished.killed, "the command itself ended by itself");
    assert_eq!(finished.output.to_text(), "done\n");
    assert!(finished.wall < PATIENCE / 2, "waited for the end of the pipe");
    assert_eq!(alive(&token), Vec::<i32>::new(), "an exit is reported when the rest is gone");
}

#[tokio::test]
async fn b06_a_holder_of_the_pipe_does_not_hold_us() {
    for text in [
        "sleep TOKEN & echo done",
        "(setsid sleep TOKEN &); echo done",
        "set -m; sleep TOKEN & echo done",
    ] {
        let token = token();
        let finished = run(&text.replace("TOKEN", &token)).await;
        assert_eq!(finished.output.to_text(), "done\n", "{text}");
        assert!(finished.wall < PATIENCE / 2, "{text}");
        gone(&token).await;
    }
}

/// Runs a script that is not finished before the condition holds.
async fn run_until(
    executor: &Executor,
    text: &str,
    condition: impl FnMut() -> bool,
) -> CommandReport {
    let dir = tempfile::tempdir().unwrap();
    let gate = dir.path().join("gate");
    let text = format!("{text}\nuntil [ -e {} ]; do sleep 0.01; done; echo done", gate.display());
    let open = async {
        until("what the command starts is there", condition).await;
        std::fs::write(&gate, "").unwrap();
    };
    let (finished, ()) = tokio::join!(executor.run(script(&text), |_| {}), open);
    let finished = finished.unwrap();
    assert_eq!(finished.output.to_text(), "done\n");
    finished
}

#[tokio::test]
async fn b05_a_daemon_that_left_everything_is_found() {
    // Own session, double fork, no descriptors, no environment.
    let token = token();
    let daemon = format!("exec env -i setsid sh -c 'exec sleep {token}' <&- >&- 2>&-");
    let executor = executor();
    run_until(&executor, &format!("( ( {daemon} ) & )"), || sleepers(&token) == 1).await;
    gone(&token).await;
}

#[tokio::test]
async fn a_daemon_lives_as_long_as_its_own_command_and_no_longer() {
    let executor = executor();
    let (mine, other) = (token(), token());
    let long =
        executor.spawn(script(&format!("(setsid sleep {mine} &); sleep {mine}"))).await.unwrap();
    until("daemon and command run", || sleepers(&mine) == 2).await;

    executor.run(script(&format!("(setsid sleep {other} &); :")), |_| {}).await.unwrap();
    gone(&other).await;
    // Something of the other command has been swept by now; a third one settles after it.
    executor.run(script(":"), |_| {}).await.unwrap();
    assert_eq!(sleepers(&mine), 2, "the daemon of a running command was ended");

    drop(long);
    gone(&mine).await;
}

#[tokio::test]
async fn a_daemon_nobody_can_be_asked_about_ends_when_nothing_runs() {
    let executor = executor();
    let (long, lost) = (token(), token());
    let running = executor.spawn(script(&format!("sleep {long}"))).await.unwrap();
    // It wipes the mark by which descendants are known.
    let text = format!("(ulimit -S -R unlimited; setsid sleep {lost} <&- >&- 2>&- &)");
    run_until(&executor, &text, || sleepers(&lost) == 1).await;
    assert_eq!(sleepers(&lost), 1, "it might belong to the running command");
    // In the group there is no doubt.
    let member = token();
    let text = format!("(ulimit -S -R unlimited; exec sleep {member}) &");
    run_until(&executor, &text, || sleepers(&member) == 1).await;
    gone(&member).await;
    drop(running);
    gone(&lost).await;
    gone(&long).await;
}

#[tokio::test]
async fn a_tree_of_daemons_is_felled_whole() {
    let token = token();
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("tree");
    // Each level in a session of its own, each alive, so that only the top is our child.
    let text =
        format!("[ $1 -gt 0 ] && setsid bash {0} $(($1 - 1)) & sleep {token}", path.display());
    std::fs::write(&path, text).unwrap();
    let text = format!("(setsid bash {} 5 <&- >&- 2>&- &)", path.display());
    run_until(&executor(), &text, || sleepers(&token) == 6).await;
    gone(&token).await;
    gone(path.to_str().unwrap()).await;
}
