//! Limits of the system, and running out of things.

use std::path::Path;
use std::process::Stdio;

use ostler_exec::{Command, ExitStatus};

use crate::support::*;

/// The system applies the process limit to ordinary users only: as root, become one whom nobody
/// else is, so that its processes are ours alone.
fn bombing(text: &str, user: u32) -> Command {
    let mut command = script(text);
    if rustix::process::geteuid().is_root() {
        let shell = std::mem::replace(&mut command.program, "/usr/bin/setpriv".into());
        assert!(Path::new("/usr/bin/setpriv").exists(), "needed to leave root");
        let ids = [format!("--reuid={user}"), format!("--regid={user}"), "--clear-groups".into()];
        let head = ids.into_iter().map(Into::into).chain([shell.into_os_string()]);
        command.args = head.chain(std::mem::take(&mut command.args)).collect();
        command.limits.processes = Some(60);
    } else {
        command.limits.processes = Some(tasks_of_this_user() + 60);
    }
    command
}

fn tasks_of_this_user() -> u64 {
    use std::os::unix::fs::MetadataExt;
    let me = rustix::process::geteuid().as_raw();
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let mine = processes.filter(|entry| entry.metadata().is_ok_and(|data| data.uid() == me));
    mine.map(|entry| std::fs::read_dir(entry.path().join("task")).map_or(0, Iterator::count) as u64)
        .sum()
}

#[tokio::test]
async fn b17_a_fork_bomb_is_held_by_its_limit_and_ended() {
    let executor = executor();
    let token = token();
    let bomb = bombing(&format!("f() {{ f | f & sleep {token}; }}; f"), 64_321);
    let bomb = executor.spawn(bomb).await.unwrap();
    let stopper = bomb.stopper();
    let bomb = tokio::spawn(bomb.wait());
    until("the bomb has gone off", || alive(&token).len() > 20).await;
    let other = executor.run(script("echo responsive"), |_| {}).await.unwrap();
    assert_eq!(other.output.to_text(), "responsive\n");
    assert!(alive(&token).len() < 200, "the limit does not hold");
    stopper.stop();
    assert!(bomb.await.unwrap().unwrap().killed);
    gone(&token).await;
}

#[tokio::test]
async fn b17_a_bomb_that_leaves_its_group_at_each_step_is_ended_too() {
    let executor = executor();
    let token = token();
    let dir = tempfile::tempdir().unwrap();
    std::fs::set_permissions(dir.path(), std::os::unix::fs::PermissionsExt::from_mode(0o755))
        .unwrap();
    let path = dir.path().join("bomb");
    std::fs::write(
        &path,
        format!("setsid bash {0} & setsid bash {0} & sleep {token}", path.display()),
    )
    .unwrap();
    let bomb = bombing(&format!("bash {}; sleep {token}", path.display()), 64_322);
    let bomb = tokio::spawn(executor.spawn(bomb).await.unwrap().wait());
    until("the bomb has gone off", || alive(path.to_str().unwrap()).len() > 20).await;
    bomb.abort();
    gone(path.to_str().unwrap()).await;
    gone(&token).await;
    assert_eq!(executor.run(script("echo on"), |_| {}).await.unwrap().output.to_text(), "on\n");
}

#[tokio::test]
async fn b18_a_memory_hog_fails_alone() {
    let executor = executor();
    // One line of a gigabyte, of which `tail` has to keep the whole.
    let text = "set -o pipefail; head -c 1000000000 /dev/zero | tail -n 1 >/dev/null";
    let mut command = script(text);
    command.limits.address_space = Some(200_000_000);
    let finished = executor.run(command, |_| {}).await.unwrap();
    assert!(!finished.status.success() && !finished.killed, "{finished:?}");
    assert!(finished.output.to_text().contains("memory exhausted"), "{finished:?}");
    assert_eq!(executor.run(script("echo on"), |_| {}).await.unwrap().output.to_text(), "on\n");
}

#[tokio::test]
async fn b24_a_command_without_descriptors_says_so_itself() {
    let text = "for i in {1..30}; do exec {fd}</dev/null || exit 9; done; echo plenty";
    let mut command = script(text);
    command.limits.open_files = Some(16);
    let finished = executor().run(command, |_| {}).await.unwrap();
    assert_ne!(finished.status, ExitStatus::Code(0));
    assert!(finished.output.to_text().contains("Too many open files"), "{finished:?}");
    assert_eq!(run(text).await.output.to_text(), "plenty\n", "without the limit it works");
}

#[test]
fn b24_a_client_without_descriptors_refuses_and_recovers() {
    for limit in ["16", "40"] {
        let output = std::process::Command::new(HELPER)
            .args(["nofile", limit])
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
        let fields: Vec<_> = text.trim().splitn(3, ' ').collect();
        let [ran, refused, last] = fields[..] else { panic!("{text}") };
        let (ran, refused): (u32, u32) = (ran.parse().unwrap(), refused.parse().unwrap());
        assert_eq!(ran + refused, 60, "{text}");
        assert!(ran > 0 && refused > 0, "{text}");
        assert_eq!(last, "still here");
    }
}

#[tokio::test]
async fn a_file_stays_within_its_limit() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("file");
    let mut command = script(&format!("exec head -c 100000 /dev/zero > {}", path.display()));
    command.limits.file_size = Some(5000);
    let finished = executor().run(command, |_| {}).await.unwrap();
    assert_eq!(finished.status, ExitStatus::Signal { number: libc::SIGXFSZ, name: "XFSZ" });
    assert_eq!(std::fs::metadata(path).unwrap().len(), 5000);
}

#[tokio::test]
async fn a_limit_above_the_allowed_is_lowered_not_refused() {
    let mut command = script("ulimit -n");
    command.limits.open_files = Some(u64::MAX - 1);
    let finished = executor().run(command, |_| {}).await.unwrap();
    assert!(finished.status.success(), "{finished:?}");
    assert_eq!(finished.output.to_text(), run("ulimit -H -n").await.output.to_text());
}
