//! How commands end, and how we end them.

use std::time::Duration;

use ostler_exec::ExitStatus;

use crate::support::*;

fn signal(name: &'static str, number: i32) -> ExitStatus {
    ExitStatus::Signal { number, name }
}

#[tokio::test]
async fn b01_a_time_limit_ends_the_command_and_keeps_its_output() {
    let token = token();
    let mut command = script(&format!("echo partial; sleep {token}"));
    command.time_limit = Some(Duration::from_millis(1500));
    let finished = executor().run(command, |_| {}).await.unwrap();
    assert!(finished.timed_out && finished.killed && !finished.output_capped);
    assert_eq!(finished.status, signal("TERM", 15));
    assert_eq!(finished.output.to_text(), "partial\n");
    assert!(finished.wall >= Duration::from_millis(1500));
    gone(&token).await;
}

#[tokio::test]
async fn b02_a_command_that_ignores_term_is_killed_after_the_grace() {
    let token = token();
    let mut command = script(&format!("trap '' TERM; echo deaf; sleep {token}"));
    command.time_limit = Some(Duration::from_millis(1500));
    let finished = executor().run(command, |_| {}).await.unwrap();
    assert!(finished.timed_out && finished.killed);
    assert_eq!(finished.status, signal("KILL", 9));
    assert_eq!(finished.output.to_text(), "deaf\n");
    assert!(finished.wall >= Duration::from_millis(1800), "the grace was not given");
    gone(&token).await;
}

#[tokio::test]
async fn a_stopped_command_hears_the_term() {
    let mut command = script("kill -STOP $$; echo never");
    command.time_limit = Some(Duration::from_millis(300));
    command.grace = PATIENCE;
    let finished = executor().run(command, |_| {}).await.unwrap();
    assert_eq!(finished.status, signal("TERM", 15));
}

#[tokio::test]
async fn b12_death_by_signal_is_named() {
    for (name, number) in
        [("SEGV", 11), ("KILL", 9), ("PIPE", 13), ("ABRT", 6), ("TERM", 15), ("INT", 2)]
    {
        let finished = run(&format!("kill -{name} $$")).await;
        assert_eq!(finished.status, signal(name, number));
        assert!(!finished.killed && !finished.timed_out, "it was not us");
    }
}

#[tokio::test]
async fn b13_code_and_output_are_reported_faithfully() {
    let check = async |text: &str, code: i32, output: &str| {
        let finished = run(text).await;
        assert_eq!(finished.status, ExitStatus::Code(code), "{text}");
        assert_eq!(finished.output.to_text(), output, "{text}");
        assert_eq!(finished.status.success(), code == 0);
        assert!(!finished.killed && !finished.timed_out && !finished.output_capped);
    };
    check("echo warning >&2", 0, "warning\n").await;
    check("exit 3", 3, "").await;
    check("exit 255", 255, "").await;
    check("echo out; false", 1, "out\n").await;
    check("yes | head -1; echo ${PIPESTATUS[0]}", 0, "y\n141\n").await;
}

#[tokio::test]
async fn b14_a_killed_command_is_never_a_success() {
    let (status, killed) = stop_when_ready("trap 'exit 0' TERM").await;
    assert_eq!(status, signal("TERM", 15));
    assert!(killed);
    let (status, killed) = stop_when_ready("trap 'exit 7' TERM").await;
    assert_eq!(status, ExitStatus::Code(7));
    assert!(killed);
    let (status, killed) = stop_when_ready(":").await;
    assert_eq!(status, signal("TERM", 15));
    assert!(killed);
    let (status, killed) = stop_when_ready("trap '' TERM").await;
    assert_eq!(status, signal("KILL", 9));
    assert!(killed);
}

async fn stop_when_ready(prologue: &str) -> (ExitStatus, bool) {
    let text = format!("{prologue}; echo ready; while :; do sleep 0.02; done");
    let running = executor().spawn(script(&text)).await.unwrap();
    let stopper = running.stopper();
    let finished = running.wait_with(|_| stopper.stop()).await.unwrap();
    assert!(!finished.timed_out);
    assert!(finished.output.to_text().starts_with("ready\n"));
    (finished.status, finished.killed)
}

#[tokio::test]
async fn an_orderly_stop_lets_the_command_say_good_bye_and_a_kill_does_not() {
    let text = "trap 'echo bye; exit 1' TERM; echo ready; while :; do sleep 0.02; done";
    let stop = async |kill: bool| {
        let mut command = script(text);
        command.grace = PATIENCE;
        let running = executor().spawn(command).await.unwrap();
        let stopper = running.stopper();
        let finished = running
            .wait_with(|_| if kill { stopper.kill() } else { stopper.stop() })
            .await
            .unwrap();
        (finished.status, finished.output.to_text().contains("bye"))
    };
    assert_eq!(stop(false).await, (ExitStatus::Code(1), true));
    assert_eq!(stop(true).await, (signal("KILL", 9), false));
}

#[tokio::test]
async fn a_stop_from_another_task_wakes_the_waiting_one() {
    let token = token();
    let running = executor().spawn(script(&format!("sleep {token}"))).await.unwrap();
    let stopper = running.stopper();
    let waiting = tokio::spawn(running.wait());
    until("the command runs", || sleepers(&token) == 1).await;
    stopper.stop();
    assert_eq!(waiting.await.unwrap().unwrap().status, signal("TERM", 15));
}

#[tokio::test]
async fn dropping_a_running_command_kills_its_group() {
    let executor = executor();
    let token = token();
    let text = format!("trap '' TERM; sleep {token} & sleep {token}; wait");
    let running = executor.spawn(script(&text)).await.unwrap();
    until("both sleep", || sleepers(&token) == 2).await;
    drop(running);
    gone(&token).await;
    assert_eq!(executor.run(script("echo on"), |_| {}).await.unwrap().output.to_text(), "on\n");
}

#[tokio::test]
async fn dropping_the_future_of_a_run_kills_its_group() {
    let executor = executor();
    let token = token();
    tokio::select! {
        finished = executor.run(script(&format!("sleep {token} & sleep {token}")), |_| {}) => {
            panic!("ended by itself: {finished:?}");
        }
        () = until("both sleep", || sleepers(&token) == 2) => {}
    }
    gone(&token).await;
}
