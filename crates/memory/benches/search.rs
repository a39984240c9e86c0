//! What a search over 100 000 entries costs: `cargo bench -p ostler-memory --bench search`. Bound: 20 ms after the first.
//! Figures and their machine: docs/memory.md.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a program for the terminal")]

mod common;

use common::{notes, questions, timed, told};
use ostler_core::memory::{Fact, FactKind, Origin, Scope};
use ostler_core::ports::MemoryStore;
use ostler_core::time::SteppingClock;
use ostler_memory::embed::{EmbedError, Embedder, MiniLm};
use ostler_memory::{Meaning, Memories};
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

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

fn search(folder: &Path) {
    let memories = Memories::new(
        folder,
        "p",
        Meaning::Given(Arc::new(Random)),
        Arc::new(SteppingClock::default()),
    );
    let notes = notes();
    let facts: Vec<Fact> = (0..ENTRIES)
        .map(|n| {
            let text = notes[n % notes.len()];
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

