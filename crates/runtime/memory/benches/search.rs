//! What a search over 100 000 entries costs: `cargo bench -p ostler-memory --bench search -- [model.bin]`. Bound: 20 ms after the first.
//! Figures and their machine: docs/memory.md.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a program for the terminal")]

mod common;

use common::{notes, questions, timed, told};
use ostler_core::memory::{FactKind, MemoryFact, Origin, Scope};
use ostler_core::ports::MemoryStore;
use ostler_core::time::SteppingClock;
use ostler_memory::embed::{EmbedError, Embedder, MiniLm};
use ostler_memory::{Meaning, Memories};
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

const ENTRIES: usize = 100_000;
const DIMENSIONS: usize = 384;

/// Entries get vectors at random, made of the text: search takes the same time whatever they mean. A question is
/// embedded by the model, if there is one.
struct Mixed(Option<MiniLm>);

impl Embedder for Mixed {
    fn name(&self) -> &str {
        "mixed"
    }

    fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, EmbedError> {
        if let (Some(model), [_]) = (&self.0, texts) {
            return model.embed(texts);
        }
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

fn memories(folder: &Path, meaning: Meaning) -> Memories {
    Memories::new(folder, "p", meaning, Arc::new(SteppingClock::default()))
}

fn fill(folder: &Path) {
    let memories = memories(folder, Meaning::Given(Arc::new(Mixed(None))));
    let notes = notes();
    let facts: Vec<MemoryFact> = (0..ENTRIES)
        .map(|n| {
            // The words of real entries in real shares, each entry different.
            let text = format!("{} Case {n} of module m{}.", notes[n % notes.len()], n % 977);
            let (kind, scope, origin) = (FactKind::Fact, Scope::Project, Origin::default());
            MemoryFact { text, kind, scope, origin, key: None }
        })
        .collect();
    let begin = Instant::now();
    facts.chunks(5_000).for_each(|part| drop(memories.remember(part).unwrap()));
    let size = std::fs::metadata(folder.join("p.db")).unwrap().len() >> 20;
    println!("{ENTRIES} entries kept in {:.1?}, {size} MB on disk", begin.elapsed());
}

fn main() {
    let folder = tempfile::tempdir().unwrap();
    fill(folder.path());
    let model = common::model().map(|path| MiniLm::open(Path::new(&path)).unwrap());
    let with_model = model.is_some();
    // A question of no words that are looked for has its meaning only, and without a model it has its words only.
    let both = memories(folder.path(), Meaning::Given(Arc::new(Mixed(None))));
    let first = timed(|| drop(both.search("warm up", 5).unwrap()));
    println!("first search, reads all vectors: {first:.1?}");
    let words = memories(folder.path(), Meaning::None);
    let times = questions().into_iter().map(|one| timed(|| drop(words.search(one, 5).unwrap())));
    told("lexical", times.collect());
    let times = questions().into_iter().map(|_| timed(|| drop(both.search("??!", 5).unwrap())));
    told("vector", times.collect());
    let times = questions().into_iter().map(|one| timed(|| drop(both.search(one, 5).unwrap())));
    told("hybrid", times.collect());
    if with_model {
        let asked = memories(folder.path(), Meaning::Given(Arc::new(Mixed(model))));
        asked.search("warm up", 5).unwrap();
        let times =
            questions().into_iter().map(|one| timed(|| drop(asked.search(one, 5).unwrap())));
        told("hybrid with the question's embedding", times.collect());
    }
}
