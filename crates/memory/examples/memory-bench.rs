//! Times of the memory: `cargo run --release -p ostler-memory --example memory-bench -- [model.bin]`. Figures and their machine: docs/memory.md.
//! Time on the processor is told beside the time on the clock, because a busy machine shows in the latter only.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a program for the terminal")]

use ostler_core::memory::{Fact, FactKind, Origin, Scope};
use ostler_core::ports::MemoryStore;
use ostler_core::time::SteppingClock;
use ostler_memory::embed::{EmbedError, Embedder, MiniLm};
use ostler_memory::{Meaning, Memories};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

const ENTRIES: usize = 100_000;
const DIMENSIONS: usize = 384;

/// Vectors at random, made of the text: search takes the same time whatever they mean.
struct Random;

impl Embedder for Random {
    fn name(&self) -> &str {
        "random"
    }

    fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, EmbedError> {
        let of = |text: &&str| {
            let mut state = text
                .bytes()
                .fold(7u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3));
            let mut next = || {
                state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                (state >> 40) as f32 / (1u64 << 23) as f32 - 1.0
            };
            (0..DIMENSIONS).map(|_| next()).collect()
        };
        Ok(texts.iter().map(of).collect())
    }
}

fn lines() -> Vec<&'static str> {
    let both = [
        include_str!("../../../fixtures/memory/pairs.psv"),
        include_str!("../../../fixtures/memory/distractors.psv"),
    ];
    both.iter().flat_map(|text| text.lines()).collect()
}

fn questions() -> Vec<&'static str> {
    include_str!("../../../fixtures/memory/pairs.psv")
        .lines()
        .filter_map(|line| line.split('|').nth(2))
        .collect()
}

/// Time this thread was on a processor; where that is not known, time on the clock.
fn busy(since: Instant) -> Duration {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanos = text.split(' ').next().and_then(|number| number.parse().ok());
    nanos.map_or_else(|| since.elapsed(), Duration::from_nanos)
}

/// Time on the processor and on the clock.
fn timed(work: impl FnOnce()) -> (Duration, Duration) {
    let clock = Instant::now();
    let begin = busy(clock);
    work();
    (busy(clock).saturating_sub(begin), clock.elapsed())
}

fn told(what: &str, times: Vec<(Duration, Duration)>) {
    let line = |mut times: Vec<Duration>| {
        times.sort();
        let at = |part: usize| times[(times.len() * part / 100).min(times.len() - 1)];
        format!("median {:.2?}, 95 % {:.2?}, most {:.2?}", at(50), at(95), at(100))
    };
    let (busy, clock) = times.into_iter().unzip();
    println!("{what}: {}; on the clock {}", line(busy), line(clock));
}

fn search(folder: &Path) {
    let memories = Memories::new(
        folder,
        "p",
        Meaning::Given(Arc::new(Random)),
        Arc::new(SteppingClock::default()),
    );
    let lines = lines();
    let facts: Vec<Fact> = (0..ENTRIES)
        .map(|n| {
            let text = lines[n % lines.len()].split('|').nth(1).unwrap_or_default();
            // The words of real entries in real shares, each entry different.
            let text = format!("{text} Case {n} of module m{}.", n % 977);
            Fact {
                text,
                kind: FactKind::Fact,
                scope: Scope::Project,
                origin: Origin::default(),
                key: None,
            }
        })
        .collect();
    let begin = Instant::now();
    for part in facts.chunks(5_000) {
        memories.remember(part).unwrap();
    }
    println!(
        "{ENTRIES} entries kept in {:.1?}, {} MB on disk",
        begin.elapsed(),
        std::fs::metadata(folder.join("p.db")).unwrap().len() >> 20
    );
    drop(memories);
    let memories = Memories::new(
        folder,
        "p",
        Meaning::Given(Arc::new(Random)),
        Arc::new(SteppingClock::default()),
    );
    let begin = Instant::now();
    memories.search("warm up", 5).unwrap();
    println!("first search (reads all vectors): {:.1?}", begin.elapsed());
    let times = questions()
        .into_iter()
        .map(|question| timed(|| drop(memories.search(question, 5).unwrap())));
    told(&format!("search over {ENTRIES} entries"), times.collect());
    let words = Memories::new(folder, "p", Meaning::None, Arc::new(SteppingClock::default()));
    let times =
        questions().into_iter().map(|question| timed(|| drop(words.search(question, 5).unwrap())));
    told("by words alone", times.collect());
}

fn embedding(path: &str) {
    let begin = Instant::now();
    let model = MiniLm::open(Path::new(path)).unwrap();
    println!("model opened in {:.1?}", begin.elapsed());
    let times = lines().into_iter().take(200).map(|line| {
        let text = line.split('|').nth(1).unwrap_or_default();
        timed(|| drop(model.embed(&[text]).unwrap()))
    });
    told("embedding of an entry", times.collect());
}

fn main() {
    let folder = tempfile::tempdir().unwrap();
    match std::env::args().skip(1).find(|word| !word.starts_with('-')) {
        Some(path) => embedding(&path),
        None => println!("embedding: no model given"),
    }
    search(folder.path());
}
