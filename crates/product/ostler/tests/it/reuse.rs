//! How much of what could come from the provider's cache does: over a long session with summaries, as the server bills it.

use crate::replay::{asked_again, only_newest_marked, only_system_marked, with_a_clock};
use crate::support::{World, open, until};
use ostler::{Event, Notice, Session, Terminal};
use ostler_model_server::{Bill, Match, Recorded, Reply, Script, calls, text, think};
use serde_json::{Value, json};
use std::sync::Arc;

const TURNS: usize = 200;
const WINDOW: u64 = 100_000;
/// Requests that a client with a fault asks again.
const ASKED_AGAIN: usize = 120;

/// What tells a request for a summary from the others.
pub const SUMMARISE: &str = "is about to be replaced by a summary that you write now";

pub fn is_summary(request: &Recorded) -> bool {
    request.messages().last().is_some_and(|last| last.to_string().contains(SUMMARISE))
}

/// The answers of one turn, the last one ends it. Now and then there are more calls at once than the provider looks
/// back over blocks; files are read, searched, written and changed, a plan is kept, a command is run.
fn turn(n: usize) -> Vec<Reply> {
    let words = |count: usize| format!("Step {n} of the work, told at some length. ").repeat(count);
    let file = |k: usize| format!("src/part-{:02}.txt", k % 40);
    let read = |k: usize| ("Read", json!({ "file_path": file(k), "offset": 1 + k, "limit": 25 }));
    let write = || {
        let content = format!("made in turn {n}\n").repeat(60);
        ("Write", json!({ "file_path": format!("made/{n}.txt"), "content": content }))
    };
    let todo = || {
        let todos = json!([{ "content": format!("finish {n}"), "status": "in_progress" }]);
        ("TodoWrite", json!({ "todos": todos }))
    };
    let mut answers = match n % 10 {
        0 => vec![calls((0..30).map(|k| read(n + k)))],
        1 | 6 => {
            vec![think("Where is it?").call("Grep", json!({ "pattern": format!("line {n}") }))]
        }
        2 => vec![calls([todo()]), calls([read(n), read(n + 1)])],
        3 | 8 => vec![calls([write()])],
        4 => vec![think("A look.").say(words(3)).call("Glob", json!({ "pattern": "src/*" }))],
        5 if n % 50 == 25 => vec![calls([("Bash", json!({ "command": "seq 1 400" }))])],
        7 => vec![calls([read(n)]), calls([read(n + 1)]), calls([read(n + 2)])],
        _ => Vec::new(),
    };
    answers.push(text(words(20 + n % 7)));
    answers
}

fn session() -> Script {
    let summary = "# Summary\nMuch was done, step by step, and more is to do.\n".repeat(4);
    let asked = Match { contains: vec![SUMMARISE.into()], ..Match::default() };
    let script = Script::new().answer(text(summary)).when(asked).forever();
    (0..TURNS).flat_map(turn).fold(script, Script::answer)
}

fn project(world: &World) {
    let source = world.project().join("src");
    std::fs::create_dir(&source).unwrap();
    for part in 0..40 {
        let lines = (1..400).map(|n| format!("part {part} has a line {n} of its own\n"));
        std::fs::write(source.join(format!("part-{part:02}.txt")), lines.collect::<String>())
            .unwrap();
    }
    std::fs::write(world.project().join("AGENTS.md"), "Say what you do. ".repeat(300)).unwrap();
}

/// What the stages did while it continued.
#[derive(Default)]
struct Played {
    summaries: usize,
    shortened: usize,
}

async fn play(session: &Session) -> Played {
    let mut played = Played::default();
    for n in 0..TURNS {
        let prompt = format!("turn {n}: {}", "please go on with the next part of it. ".repeat(22));
        let mut turn = session.ask(prompt).unwrap();
        let end = until(&mut turn, |event| {
            match event {
                Event::Compacted { .. } => played.summaries += 1,
                Event::Notice { notice: Notice::RoomMade { .. }, .. } => played.shortened += 1,
                _ => {}
            }
            matches!(event, Event::Finished(_))
        });
        let Event::Finished(finished) = end.await else { unreachable!() };
        assert_eq!(finished.terminal, Terminal::Completed, "turn {n}: {:?}", finished.error);
    }
    played
}

/// What a client reads that changes nothing it has sent but where a stage says so: at least the whole request before.
/// The server's ideal goes by the requests as they are, and would forgive a client that changes them for nothing.
fn unbroken(bill: &Bill, log: &[Value]) -> u64 {
    let mut rows = bill.rows();
    let (mut sum, mut before) = (0, 0);
    for fact in log {
        let stage = fact["stage"].as_str().unwrap_or_default();
        match fact["fact"].as_str().unwrap_or_default() {
            // What goes beside before it is sent changes no request.
            "elided" if stage == "budget" => {}
            "elided" | "collapsed" | "boundary" => before = 0,
            "spent" => {
                let row = rows.next().expect("each request is in the log");
                let asked_aside = fact["charge"]["purpose"] == "compaction";
                sum += row.ideal_read.max(if asked_aside { 0 } else { before });
                before = row.billed.prompt();
            }
            _ => {}
        }
    }
    assert!(rows.next().is_none(), "a request is not in the log");
    sum
}

fn share(read: u64, of: u64) -> f64 {
    read as f64 / of as f64
}

/// 0.99 of what an ideal client would read from the same cache, in 200 turns with three summaries.
pub async fn a_long_session_is_served_from_the_cache() {
    let world = World::new(session());
    project(&world);
    let mut options = world.on_disk();
    options.session.settings.context.window = Some(WINDOW);
    options.session.instructions = Some(world.instructions());
    let session = open(options);
    let played = play(&session).await;
    session.close("other").await;
    drop(session);
    world.assert_never_rejected();
    let (bill, requests) = (world.server.bill(), world.server.requests());
    let summaries = requests.iter().filter(|request| is_summary(request)).count();
    let (read, count) = (bill.total().cache_read, requests.len());
    let unbroken = unbroken(&bill, &world.log());
    println!(
        "cache reuse: {read} read of {} ideal = {:.4} over {count} requests, {summaries} compactions, {} shortenings; of {unbroken} if nothing had changed: {:.4}",
        bill.ideal_read(),
        bill.reuse(),
        played.shortened,
        share(read, unbroken)
    );
    assert_eq!((played.summaries, summaries), (3, 3), "{} shortened", played.shortened);
    assert!(bill.reuse() >= 0.99 && share(read, unbroken) >= 0.99);
    assert!(bill.reuse() <= 1.0, "the ideal is no bound: {}", bill.reuse());
    faults_are_seen(&bill, &requests);
}

/// The figure falls for a client with a fault, and not for the same requests asked again.
fn faults_are_seen(bill: &Bill, requests: &[Arc<Recorded>]) {
    let requests = &requests[..ASKED_AGAIN];
    let sums = |bill: &Bill| {
        let rows = bill.rows().take(ASKED_AGAIN);
        rows.fold((0, 0), |sum, row| (sum.0 + row.billed.cache_read, sum.1 + row.ideal_read))
    };
    let (read, ideal) = sums(bill);
    assert_eq!(sums(&asked_again(requests, |_, _| {})), (read, ideal), "asking again is the same");
    for (name, fault, most) in [
        ("only the system text marked", only_system_marked as fn(usize, &mut Value), 0.5),
        ("only the newest block marked", only_newest_marked, 0.99),
    ] {
        let faulty = asked_again(requests, fault);
        println!("cache reuse, {name}: {:.4}", faulty.reuse());
        assert_eq!(faulty.ideal_read(), ideal, "the ideal does not depend on marks");
        assert!(faulty.reuse() < most, "{name}: {:.4}", faulty.reuse());
    }
    // The server's ideal falls with such a client; what it could have read does not.
    let told = share(asked_again(requests, with_a_clock).total().cache_read, ideal);
    println!("cache reuse, the time in the system text: {told:.4} of what could be read");
    assert!(told < 0.5, "{told}");
}
