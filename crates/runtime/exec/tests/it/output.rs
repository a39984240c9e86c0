//! What is kept of the output.

use std::process::Stdio;
use std::time::Duration;

use ostler_exec::strip_terminal;

use crate::support::*;

#[tokio::test]
async fn output_around_the_caps_is_exactly_what_was_written() {
    let executor = executor();
    for size in
        [0, 1, 14_999, 15_000, 15_001, 29_999, 30_000, 30_001, 65_535, 65_536, 65_537, 300_000]
    {
        let text = format!("i=0; seq 1 1000000 | tr '\\n' ' ' | head -c {size}");
        let mut expected: Vec<u8> =
            (1..60_000).flat_map(|n| format!("{n} ").into_bytes()).collect();
        expected.truncate(size);
        let mut seen = Vec::new();
        let finished =
            executor.run(script(&text), |bytes| seen.extend_from_slice(bytes)).await.unwrap();
        assert_eq!(seen, expected, "{size}");
        let output = finished.output;
        assert_eq!(output.total(), size as u64);
        assert_eq!(output.dropped(), size.saturating_sub(30_000) as u64);
        assert_eq!(output.head(), &expected[..size.min(15_000)]);
        assert_eq!(output.tail(), &expected[size.min(15_000).max(size.saturating_sub(15_000))..]);
    }
}

#[tokio::test]
async fn both_streams_keep_the_order_in_which_they_were_written() {
    let finished = run("for i in {1..300}; do echo o$i; echo e$i >&2; done").await;
    let expected: String = (1..=300).map(|i| format!("o{i}\ne{i}\n")).collect();
    assert_eq!(finished.output.to_text(), expected);
}

#[tokio::test]
async fn b07_endless_output_is_bounded_and_ended() {
    let mut command = script("yes");
    command.output.total = 20_000_000;
    let finished = executor().run(command, |_| {}).await.unwrap();
    assert!(finished.output_capped && finished.killed && !finished.timed_out);
    assert!(!finished.status.success());
    assert!(finished.output.total() > 20_000_000);
    assert_eq!(finished.output.head().len() + finished.output.tail().len(), 30_000);
    let text = finished.output.to_text();
    let line = format!("[… {} bytes dropped …]", finished.output.dropped());
    assert!(text.starts_with("y\ny\n") && text.contains(&line));
}

#[tokio::test]
async fn b07_a_flood_does_not_keep_the_time_limit_from_coming() {
    let mut command = script("trap '' TERM; yes");
    command.time_limit = Some(Duration::from_millis(1500));
    command.output.total = u64::MAX;
    let finished = executor().run(command, |_| {}).await.unwrap();
    assert!(finished.timed_out && finished.killed && !finished.output_capped);
    assert_eq!(finished.status.to_string(), "signal KILL (9)");
    assert!(finished.output.dropped() > 0);
}

#[tokio::test]
async fn b08_stderr_alone_and_both_together_do_not_deadlock() {
    for text in ["yes >&2", "yes out & yes err >&2"] {
        let mut command = script(text);
        command.output.total = 10_000_000;
        let finished = executor().run(command, |_| {}).await.unwrap();
        assert!(finished.output_capped, "{text}");
        assert_eq!(finished.output.head().len() + finished.output.tail().len(), 30_000);
    }
}

#[test]
fn b09_one_line_of_a_gigabyte_takes_no_memory() {
    let output = std::process::Command::new(HELPER)
        .args(["flood", "head -c 1000000000 /dev/zero"])
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let numbers: Vec<u64> = text.split_whitespace().map(|number| number.parse().unwrap()).collect();
    let [total, dropped, peak] = numbers[..] else { panic!("{text}") };
    assert_eq!((total, dropped), (1_000_000_000, 1_000_000_000 - 30_000));
    assert!(peak < 64_000, "the client took {peak} kB");
}

#[tokio::test]
async fn b10_binary_output_becomes_valid_text_with_its_losses_marked() {
    let finished = run(r"printf 'a\0b\377c\303\251'").await;
    assert_eq!(finished.output.head(), b"a\0b\xffc\xc3\xa9");
    assert_eq!(finished.output.to_text(), "a\u{2400}b\u{fffd}cé");

    let mut command = script("for i in {1..400}; do printf 漢字; done");
    (command.output.head, command.output.tail) = (100, 100);
    let text = executor().run(command, |_| {}).await.unwrap().output.to_text();
    // 100 is not a multiple of three: one byte at each edge belongs to a character that was cut.
    assert_eq!(text.matches(['漢', '字']).count(), 66);
    assert!(text.contains("[… 2202 bytes dropped …]") && !text.contains('\u{fffd}'), "{text}");
}

#[tokio::test]
async fn b11_terminal_sequences_reach_the_model_but_not_the_terminal() {
    let finished =
        run(r"printf '\033]0;owned\007\033[31mred\033[0m\r\nload 1%%\rload 2%%\n\033[2J'").await;
    let text = finished.output.to_text();
    assert!(text.contains("\x1b]0;owned\x07") && text.contains("load 1%\rload 2%"));
    assert_eq!(strip_terminal(&text), "red\nload 2%\n");
}

#[tokio::test]
async fn the_sink_gets_all_bytes_up_to_its_bound_and_none_after() {
    let mut command = script("seq 1 100000");
    command.output.sink = 1000;
    let mut seen = Vec::new();
    let finished = executor().run(command, |bytes| seen.extend_from_slice(bytes)).await.unwrap();
    let expected: String = (1..1000).map(|n| format!("{n}\n")).collect();
    assert_eq!(seen, expected.as_bytes()[..1000]);
    assert_eq!(finished.output.total(), 588_895);
    assert!(finished.status.success() && !finished.output_capped);
}

#[tokio::test]
async fn the_newest_output_is_seen_while_the_command_runs() {
    let dir = tempfile::tempdir().unwrap();
    let gate = dir.path().join("gate");
    let text = format!("echo one; until [ -e {} ]; do sleep 0.01; done; echo two", gate.display());
    let mut running = executor().spawn(script(&text)).await.unwrap();
    let mut progress = running.progress();
    let watching = async {
        progress.changed().await.unwrap();
        let seen = progress.borrow_and_update().clone();
        assert_eq!((seen.total, seen.text().as_str()), (4, "one\n"));
        std::fs::write(&gate, "").unwrap();
        progress.changed().await.unwrap();
        assert_eq!(progress.borrow().text(), "one\ntwo\n");
    };
    let (finished, ()) = tokio::join!(running.wait(), watching);
    assert_eq!(finished.unwrap().output.to_text(), "one\ntwo\n");
}

#[tokio::test]
async fn nothing_written_before_the_exit_is_lost() {
    let executor = executor();
    // The last bytes and the exit race each other to us.
    for round in 0..50 {
        let finished =
            executor.run(script("head -c 60000 /dev/zero; printf end"), |_| {}).await.unwrap();
        assert_eq!(finished.output.total(), 60_003, "round {round}");
        assert!(finished.output.tail().ends_with(b"end"));
    }
}

#[tokio::test]
async fn input_given_beforehand_is_read_to_its_end_and_by_nobody_changed() {
    let mut command = script("cat; echo x >/dev/fd/0 || echo sealed; exec head -c 3 /dev/fd/0");
    command.input = Some(b"{\"a\": 1}\n\0".to_vec());
    let text = executor().run(command, |_| {}).await.unwrap().output.to_text();
    assert!(text.starts_with("{\"a\": 1}\n\u{2400}"), "{text}");
    assert!(text.ends_with("sealed\n{\"a"), "{text}");

    // More than a pipe holds; and a command that does not read it is not waited for.
    for (text, expected) in [("wc -c", "8388608\n"), ("echo no", "no\n")] {
        let mut command = script(text);
        command.input = Some(vec![b'x'; ostler_exec::MAX_INPUT]);
        assert_eq!(executor().run(command, |_| {}).await.unwrap().output.to_text(), expected);
    }
    let mut command = script("cat");
    command.input = Some(vec![b'x'; ostler_exec::MAX_INPUT + 1]);
    let error = executor().run(command, |_| {}).await.unwrap_err();
    assert!(matches!(error, ostler_exec::ExecError::Invalid { .. }), "{error}");

    // Together with a long script, which has a descriptor of its own, and a long environment.
    let mut command = script(&format!("cat # {}", "x".repeat(150_000)));
    command.env.extend((0..20).map(|n| (format!("V{n}").into(), "v".repeat(5000).into())));
    command.input = Some(b"both".to_vec());
    command.separate_errors = true;
    let finished = executor().run(command, |_| {}).await.unwrap();
    assert_eq!(finished.output.to_text(), "both");
    assert_eq!(finished.errors.unwrap().total(), 0);
}

#[tokio::test]
async fn errors_are_apart_only_if_asked_for_and_bounded_like_the_output() {
    let merged = run("echo out; echo err >&2").await;
    assert_eq!((merged.output.to_text().as_str(), merged.errors), ("out\nerr\n", None));

    let mut command = script("echo out; echo err >&2; exit 3");
    command.separate_errors = true;
    let mut shown = Vec::new();
    let finished = executor().run(command, |bytes| shown.extend_from_slice(bytes)).await.unwrap();
    assert_eq!(finished.output.to_text(), "out\n");
    assert_eq!(finished.errors.unwrap().to_text(), "err\n");
    assert_eq!(
        (finished.status.to_string().as_str(), shown.as_slice()),
        ("exit code 3", &b"out\n"[..])
    );

    let mut command = script("exec 1>&-; yes >&2");
    command.separate_errors = true;
    command.output.head = 10;
    command.output.tail = 20;
    command.output.total = 1 << 20;
    let finished = executor().run(command, |_| {}).await.unwrap();
    assert!(finished.killed && finished.output_capped);
    let errors = finished.errors.unwrap();
    assert_eq!((errors.head().len(), errors.tail().len()), (10, 20));
    assert!(errors.total() > 1 << 20);
}
