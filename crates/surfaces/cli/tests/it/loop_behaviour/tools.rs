//! Calls: which run, when, and how their results go back.

use super::row::{Row, shape};
use crate::support::{Ran, World, finish, processes_with, until};
use ostler_model_server::{Script, calls, text};
use serde_json::{Value, json};
use std::fs::OpenOptions;
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

const ORDERED: &str = "Results are sent in the order of their calls, so the same work always gives the same bytes. The cache and replays depend on that.";

pub fn rows() -> Vec<Row> {
    [alone(), together(), in_the_stream(), misused()].into_iter().flatten().collect()
}

fn bash(command: &str) -> (&'static str, Value) {
    ("Bash", json!({ "command": command }))
}

fn then_text(reply: ostler_model_server::Reply) -> Script {
    Script::new().answer(reply).answer(text("done"))
}

fn alone() -> Vec<Row> {
    vec![
        Row::new("one_bash", "text and a call, then text", then_text(text("I look.").call("Bash", json!({"command": "echo 1"}))))
            .claude(2, "num_turns 2", 0)
            .look(|_, ran| format!("num_turns {}", ran.result()["num_turns"])),
        Row::new("tool_use_but_end_turn", "a call with stop `end_turn`, then text", then_text(calls([bash("echo 1")]).stop("end_turn")))
            .claude(2, "", 0),
        Row::new("stop_tool_use_no_tool", "text with stop `tool_use`, then text", then_text(text("I look.").stop("tool_use")))
            .claude(2, "", 0)
            .because("There is nothing to run, so the text is the answer. A second request would only cost money."),
        Row::new(
            "relative_path",
            "Read and Write with relative paths, then text",
            then_text(calls([("Read", json!({"file_path": "a.txt"})), ("Write", json!({"file_path": "new.txt", "content": "x"}))])),
        )
        .file("a.txt", "alpha\n")
        .claude(2, "", 0),
    ]
}

fn together() -> Vec<Row> {
    let stamp = |i| bash(&format!("echo begin {i} >> log; sleep 0.1; echo end {i} >> log"));
    let meeting = |guests: usize| {
        then_text(calls((0..guests).map(|_| bash(&format!("cat {}", pipe(guests))))))
    };
    let reads = || {
        calls((0..12).map(|i| ("Read", json!({"file_path": "a.txt", "offset": i + 1, "limit": 1}))))
    };
    let mixed = [
        bash("sleep 0.3 && echo a"),
        bash("exit 3"),
        bash("echo b"),
        ("Read", json!({"file_path": "missing.txt"})),
    ];
    vec![
        Row::new("par_bash_rw", "3 calls that write, then text", then_text(calls((0..3).map(stamp))))
            .claude(2, "one after the other; num_turns 4", 0)
            .look(|world, ran| format!("{}; num_turns {}", in_turn(&world.read("log")), ran.result()["num_turns"]))
            .because("`num_turns` counts the model's answers, which is what `--max-turns` limits, not results."),
        Row::new("par_bash_ro", "3 calls that only read and wait for each other, then text", meeting(3))
            .acting(|world, command| meet(world, command, 3))
            .look(|world, _| world.read("met"))
            .claude(2, "3 at once", 0),
        Row::new("conc12", "12 calls that only read and wait for each other, then text", meeting(12))
            .acting(|world, command| meet(world, command, 12))
            .look(|world, _| world.read("met"))
            .claude(2, "12 at once", 0),
        batch_mix(),
        Row::new("par_reads12", "12 × Read, then text", then_text(reads()))
            .file("a.txt", "line\n".repeat(20))
            .look(|world, _| order_of_results(world))
            .claude(2, "results in the order of completion", 0)
            .because(ORDERED),
        Row::new("par_mixed_err", "Bash, Bash with exit 3, Bash, Read of a missing file, then text", then_text(calls(mixed)))
            .look(|world, _| order_of_results(world))
            .claude(2, "results in the order of completion", 0)
            .because(ORDERED),
        Row::new("par_bash_fail_sibling", "a slow call, a failing one, a slow one, then text", then_text(calls([bash("sleep 0.2 && echo a"), bash("false"), bash("sleep 0.2 && echo b")])))
            .look(|world, _| {
                let results = world.server.requests()[1].json().to_string();
                if results.contains("\"a\"") && results.contains("\"b\"") { "the others finish".into() } else { "the others are stopped".into() }
            })
            .claude(2, "the others finish", 0),
    ]
}

fn batch_mix() -> Row {
    let batch = [
        bash("cat state.txt"),
        bash("echo 1 > state.txt"),
        bash("cat state.txt"),
        bash("cat state.txt"),
        ("Write", json!({"file_path": "new.txt", "content": "2"})),
        bash("cat new.txt"),
    ];
    Row::new(
        "batch_mix",
        "reads, a write, 2 reads, Write, a read, then text",
        then_text(calls(batch)),
    )
    .file("state.txt", "0\n")
    .claude(2, "each call sees what those before it did", 0)
    .look(|world, _| {
        let request = world.server.requests().pop().unwrap();
        let seen: Vec<&str> = request
            .tool_results()
            .iter()
            .map(|result| result["content"].as_str().unwrap_or_default())
            .collect();
        match [seen[0], seen[2], seen[3], seen[5]] {
            ["0", "1", "1", "2"] => "each call sees what those before it did".into(),
            other => format!("they saw {other:?}"),
        }
    })
}

/// Whether each began after the one before had ended.
fn in_turn(log: &str) -> &'static str {
    let words: Vec<&str> = log.lines().collect();
    let begun_and_ended = |pair: &[&str]| pair[0].replace("begin", "end") == pair[1];
    if words.len() == 6 && words.chunks(2).all(begun_and_ended) {
        "one after the other"
    } else {
        "at the same time"
    }
}

fn order_of_results(world: &World) -> String {
    let request = world.server.requests().pop().unwrap();
    let ids = |message: &Value, key: &str| -> Vec<String> {
        message["content"]
            .as_array()
            .unwrap()
            .iter()
            .filter_map(|block| Some(block[key].as_str()?.to_owned()))
            .collect()
    };
    let (made, answered) =
        (ids(&request.messages()[1], "id"), ids(&request.messages()[2], "tool_use_id"));
    if made == answered {
        "results in the order of the calls".into()
    } else {
        "results in another order".into()
    }
}

/// The name of the pipe at which that many calls meet.
fn pipe(guests: usize) -> String {
    format!("pipe-{}-{guests}", std::process::id())
}

fn make_pipe(world: &World, name: &str) -> PathBuf {
    let path = world.project().join(name);
    rustix::fs::mknodat(
        rustix::fs::CWD,
        &path,
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::from(0o600),
        0,
    )
    .unwrap();
    path
}

/// Each call reads from a pipe that nobody writes to, until all of them have been seen to run. Writes down how many.
fn meet(world: &World, mut command: Command, guests: usize) -> Ran {
    let name = pipe(guests);
    let path = make_pipe(world, &name);
    let child = command.spawn().unwrap();
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let (deadline, mut most) = (Instant::now() + Duration::from_secs(20), 0);
            while most < guests && Instant::now() < deadline {
                most = most.max(readers(&name));
                std::thread::sleep(Duration::from_millis(5));
            }
            world.file("met", &format!("{most} at once"));
            // Whoever opens the pipe a little later must not wait forever.
            while !over.load(Ordering::SeqCst) {
                let _ = OpenOptions::new().write(true).custom_flags(NONBLOCK).open(&path);
                std::thread::sleep(Duration::from_millis(5));
            }
        });
        let ran = finish(child);
        over.store(true, Ordering::SeqCst);
        ran
    })
}

const NONBLOCK: i32 = rustix::fs::OFlags::NONBLOCK.bits().cast_signed();

/// The programs themselves, not the shells that start them.
fn readers(name: &str) -> usize {
    let line = |pid: &u32| std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    processes_with(name).iter().filter(|pid| line(pid).starts_with(b"cat\0")).count()
}

fn in_the_stream() -> Vec<Row> {
    let first = |at: usize| {
        let look = json!({ "command": format!("cat {}", pipe(at)) });
        text("I look.").call("Bash", look).gate("hold")
    };
    vec![
        Row::new("overlap", "text, a call, a pause that lasts until the call has ended, text; then text", then_text(first(901).say("It runs.")))
            .env("OSTLER_IDLE_TIMEOUT_MS", "20000")
            .acting(held_until_the_call_ends::<901>)
            .look(|world, _| format!("the call runs during the pause; sent back as {}", shape(&world.server.requests()[1])))
            .claude(2, "the call runs during the pause; sent back as `u:[go] a:[T,T,U] u:[res]`", 0)
            .because("An answer is sent back unchanged. Reordering its blocks would change what the model said."),
        Row::new("overlap2", "a call, a pause that lasts until it has ended, a call; then text", then_text(first(902).call("Bash", json!({"command": "echo 2"}))))
            .env("OSTLER_IDLE_TIMEOUT_MS", "20000")
            .acting(held_until_the_call_ends::<902>)
            .look(|_, _| "the first is done before the second arrives".into())
            .claude(2, "the first is done before the second arrives", 0),
    ]
}

/// The stream continues only after the call was seen to run and to end; if it does not, this fails. Rows run side by
/// side, so each has a pipe of its own.
fn held_until_the_call_ends<const AT: usize>(world: &World, mut command: Command) -> Ran {
    let name = pipe(AT);
    let path = make_pipe(world, &name);
    let child = command.spawn().unwrap();
    until("the call runs", || readers(&name) == 1);
    until("the call ends", || {
        // Opened and closed: the end of what it reads.
        let _ = OpenOptions::new().write(true).custom_flags(NONBLOCK).open(&path);
        readers(&name) == 0
    });
    world.server.gate("hold").release();
    finish(child)
}

fn misused() -> Vec<Row> {
    let inputs =
        [json!({"cmd": "echo 1"}), json!({"command": 5}), json!({"command": "echo 1", "extra": 1})];
    let invalid = inputs
        .into_iter()
        .fold(Script::new(), |script, input| script.answer(calls([("Bash", input)])));
    let raw = ["{\"comm", "{\"command\": \"echo 1\"} junk", ""];
    let unreadable = raw
        .into_iter()
        .fold(Script::new(), |script, raw| script.answer(text("").call_raw("Bash", raw)));
    let coerced = [
        ("Bash", json!({"command": "echo 1", "timeout": "5000"})),
        ("Read", json!({"file_path": "a.txt", "offset": "2"})),
    ];
    let twins = text("Twice.").call_as("same", "Bash", json!({"command": "echo 1"})).call_as(
        "same",
        "Bash",
        json!({"command": "echo 2"}),
    );
    vec![
        Row::new("unknown_tool", "a call to a tool that does not exist, then text", then_text(calls([("Nope", json!({}))]))).claude(2, "", 0),
        Row::new("invalid_input", "three calls, one after the other, with a wrong name, a wrong type, an extra key; then text", invalid.answer(text("done")))
            .claude(4, "", 0),
        Row::new("bad_json_input", "three calls, one after the other, with input that is cut off, followed by junk, or empty; then text", unreadable.answer(text("done")))
            .claude(4, "", 0),
        Row::new("string_coerce", "numbers given as strings, then text", then_text(calls(coerced))).file("a.txt", "alpha\nbeta\n").claude(2, "", 0),
        Row::new("dup_ids", "two calls with one id, then text", then_text(twins))
            .look(|world, _| format!("both run; results sent back: {}", world.server.requests()[1].tool_results().len()))
            .claude(2, "both run; results sent back: 1", 0)
            .because("Everything that ran gets a result: the second call is given its own id."),
    ]
}
