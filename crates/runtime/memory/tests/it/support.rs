//! A memory in a directory of its own, and an embedder that knows a few words.

use ostler_core::memory::{FactKind, MemoryFact, Origin, Scope};
use ostler_core::time::{Clock, Timestamp};
use ostler_memory::embed::{EmbedError, Embedder};
use ostler_memory::{Meaning, Memories};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

pub const DAY: u64 = 86_400_000;

/// Stands still unless it is moved.
#[derive(Default)]
pub struct Hand(pub AtomicU64);

impl Clock for Hand {
    fn now(&self) -> Timestamp {
        Timestamp(self.0.load(Ordering::Relaxed))
    }
}

pub fn fact(text: &str, kind: FactKind) -> MemoryFact {
    let origin =
        Origin { session: Some("s1".into()), turn: Some(3), source: Some("the user".into()) };
    MemoryFact { text: text.into(), kind, scope: Scope::Project, origin, key: None }
}

pub fn memories(folder: &Path, meaning: Meaning) -> (Memories, Arc<Hand>) {
    let hand = Arc::new(Hand::default());
    (Memories::new(folder, "p", meaning, hand.clone()), hand)
}

/// Groups of words that mean the same.
const TOPICS: [&[&str]; 4] = [
    &["ship", "deploy", "release", "rollout"],
    &["database", "postgres", "sql", "schema"],
    &["colour", "style", "css", "design"],
    &["test", "pytest", "check", "suite"],
];

pub struct Topics;

impl Embedder for Topics {
    fn name(&self) -> &str {
        "topics"
    }

    fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, EmbedError> {
        let of = |text: &&str| {
            let lower = text.to_lowercase();
            let mut vector: Vec<f32> = TOPICS
                .iter()
                .map(|words| words.iter().filter(|word| lower.contains(**word)).count() as f32)
                .collect();
            vector.push(0.01);
            let length = vector.iter().map(|x| x * x).sum::<f32>().sqrt();
            vector.iter().map(|x| x / length).collect()
        };
        Ok(texts.iter().map(of).collect())
    }
}

pub struct Fails;

impl Embedder for Fails {
    fn name(&self) -> &str {
        "fails"
    }

    fn embed(&self, _: &[&str]) -> Result<Vec<Vec<f32>>, EmbedError> {
        Err(EmbedError::Endpoint { url: "https://e.test".into(), why: "status 500".into() })
    }
}

pub fn with_topics(folder: &Path) -> (Memories, Arc<Hand>) {
    memories(folder, Meaning::Given(Arc::new(Topics)))
}
