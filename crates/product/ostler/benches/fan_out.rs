//! What observers cost a turn: none, ten that read and ten that never do, one after the other in each round.
//! `cargo bench -p ostler --bench fan_out [-- ROUNDS]`
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a program for the terminal")]

use futures_util::StreamExt;
use ostler::{Event, Host, Init, Options, Session, SessionObserver, Terminal};
use ostler_model_server::{ModelServer, Script, calls, text};
use serde_json::json;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

const OBSERVERS: usize = 10;
const DELTAS: usize = 2_000;
const ROUNDS: usize = 15;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Watched {
    Nobody,
    Readers,
    Stuck,
}

const ALL: [Watched; 3] = [Watched::Nobody, Watched::Readers, Watched::Stuck];

/// Of one turn.
#[derive(Clone, Copy)]
struct Cost {
    wall: Duration,
    /// Of all threads but the model's.
    cpu: Duration,
}

fn main() {
    let init = ostler::init();
    let rounds = std::env::args().find_map(|word| word.parse().ok()).unwrap_or(ROUNDS);
    let place = tempfile::tempdir().unwrap();
    println!(
        "a turn of {DELTAS} deltas and a command, {OBSERVERS} observers, {rounds} rounds: median (least–most)"
    );
    // A model is far slower than the second pace.
    for pace in [None, Some(Duration::from_millis(1))] {
        let costs = measure(&init, place.path(), pace, rounds);
        let speed = pace.map_or("as fast as it can".into(), |pace| format!("{pace:?} a delta"));
        println!("{speed}:");
        let alone = median(&costs[0], |cost| cost.wall);
        let alone_cpu = median(&costs[0], |cost| cost.cpu);
        for (watched, costs) in ALL.iter().zip(&costs) {
            let (wall, cpu) = (median(costs, |cost| cost.wall), median(costs, |cost| cost.cpu));
            let least = costs.iter().map(|cost| cost.wall).min().unwrap();
            let most = costs.iter().map(|cost| cost.wall).max().unwrap();
            println!(
                "  {:12} {wall:8.1?} ({least:.1?}–{most:.1?}) {:+5.1} %   CPU {cpu:8.1?} {:+5.1} %",
                format!("{watched:?}"),
                more(wall, alone),
                more(cpu, alone_cpu),
            );
        }
    }
}

fn more(than: Duration, base: Duration) -> f64 {
    (than.as_secs_f64() / base.as_secs_f64() - 1.0) * 100.0
}

fn median(costs: &[Cost], of: impl Fn(&Cost) -> Duration) -> Duration {
    let mut all: Vec<_> = costs.iter().map(of).collect();
    all.sort_unstable();
    all[all.len() / 2]
}

/// The costs of each way of being watched, in the order of `ALL`.
fn measure(init: &Init, place: &Path, pace: Option<Duration>, rounds: usize) -> [Vec<Cost>; 3] {
    let words = || {
        let words = text("word ".repeat(DELTAS / 2)).delta(5);
        pace.map_or(words.clone(), |pace| words.pace(pace))
    };
    let turn = |script: Script| {
        let looks = calls([("Bash", json!({ "command": "pwd" }))]);
        script
            .answer(looks)
            .answer(words().call("Bash", json!({ "command": "pwd" })))
            .answer(words())
    };
    let script = (0..=rounds * ALL.len()).fold(Script::new(), |script, _| turn(script));
    let server = ModelServer::start(script).unwrap();
    let mut options = Options::new(place, ostler::api_key("the bench", "key"));
    options.host.base_url = Some(server.url());
    options.session.model = "scripted".into();
    options.session.memory = false;
    let mut costs = [const { Vec::new() }; 3];
    ostler::block_on(async {
        let host = Host::open(init, options.host).unwrap();
        let new = || host.session(options.session.clone()).unwrap();
        // The first one brings what all of them share.
        one(&new(), Watched::Nobody).await;
        for _ in 0..rounds {
            for (watched, costs) in ALL.into_iter().zip(&mut costs) {
                costs.push(one(&new(), watched).await);
            }
        }
        host.close().await;
    })
    .unwrap();
    costs
}

async fn one(session: &Session, watched: Watched) -> Cost {
    let observe = || session.observe(&session.state().1);
    let count = if watched == Watched::Nobody { 0 } else { OBSERVERS };
    let observers: Vec<SessionObserver> = (0..count).map(|_| observe()).collect();
    let (readers, stuck) = match watched {
        Watched::Readers => (observers, Vec::new()),
        _ => (Vec::new(), observers),
    };
    let readers: Vec<_> = readers
        .into_iter()
        .map(|mut reader| tokio::spawn(async move { while reader.next().await.is_some() {} }))
        .collect();
    let (began, used) = (Instant::now(), cpu());
    let mut turn = session.ask("go").unwrap();
    let mut terminal = None;
    while let Some(envelope) = turn.next().await {
        if let Event::Finished(finished) = &envelope.event {
            terminal = Some(finished.terminal);
        }
    }
    let cost = Cost { wall: began.elapsed(), cpu: cpu() - used };
    assert_eq!(terminal, Some(Terminal::Completed));
    drop((turn, stuck));
    session.close("other").await;
    for reader in readers {
        reader.await.unwrap();
    }
    cost
}

/// What this process has used so far, without the threads of the model server.
fn cpu() -> Duration {
    let threads = fs::read_dir("/proc/self/task").unwrap().flatten().map(|thread| thread.path());
    let ours = threads.filter(|thread| {
        let name = fs::read_to_string(thread.join("comm")).unwrap_or_default();
        !name.starts_with("model-server")
    });
    let used = ours.filter_map(|thread| {
        let times = fs::read_to_string(thread.join("schedstat")).ok()?;
        times.split(' ').next()?.parse::<u64>().ok()
    });
    Duration::from_nanos(used.sum())
}
