//! What a command leaves behind.

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
    for text in ["sleep TOKEN & echo done", "(setsid sleep TOKEN &); echo done", "set -m; sleep TOKEN & echo done"] {
        let token = token();
        let finished = run(&text.replace("TOKEN", &token)).await;
        assert_eq!(finished.output.to_text(), "done\n", "{text}");
        assert!(finished.wall < PATIENCE / 2, "{text}");
        gone(&token).await;
    }
}

#[tokio::test]
async fn b05_a_daemon_that_left_everything_is_found() {
    // Own session, double fork, no descriptors, no environment, no directory.
    let token = token();
    let daemon = format!("cd /; exec env -i setsid sh -c 'exec sleep {token}' <&- >&- 2>&-");
    let text = format!("( ( {daemon} ) & ) ; until pgrep -f 'sleep {token}$' >/dev/null; do sleep 0.01; done; echo up");
    let executor = executor();
    let finished = executor.run(script(&text), |_| {}).await.unwrap();
    assert_eq!(finished.output.to_text(), "up\n");
    gone(&token).await;
}

#[tokio::test]
async fn a_daemon_lives_as_long_as_its_own_command_and_no_longer() {
    let executor = executor();
    let (mine, other) = (token(), token());
    let long = executor.spawn(script(&format!("(setsid sleep {mine} &); sleep {mine}"))).await.unwrap();
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
    let text = format!("(ulimit -S -R unlimited; setsid sleep {lost} &); until pgrep -f 'sleep {lost}$'; do :; done");
    executor.run(script(&text), |_| {}).await.unwrap();
    assert_eq!(sleepers(&lost), 1, "it might belong to the running command");
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
    let text = format!("[ $1 -gt 0 ] && setsid bash {0} $(($1 - 1)) & sleep {token}", path.display());
    std::fs::write(&path, text).unwrap();
    let started = format!(
        "(setsid bash {} 5 &); until [ $(pgrep -c -f 'sleep {token}$') = 6 ]; do sleep 0.01; done",
        path.display()
    );
    let finished = run(&started).await;
    assert!(finished.status.success(), "{finished:?}");
    gone(&token).await;
    gone(path.to_str().unwrap()).await;
}
