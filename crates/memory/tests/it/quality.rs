//! Retrieval quality on 200 questions among 1 350 entries: by words, by meaning, by both.

use crate::support::{fact, memories};
use ostler_core::memory::FactKind;
use ostler_core::ports::MemoryStore;
use ostler_memory::embed::{EmbedError, Embedder, MiniLm};
use ostler_memory::{Meaning, Memories};
use std::path::PathBuf;
use std::sync::Arc;

const PAIRS: &str = include_str!("../../../../fixtures/memory/pairs.psv");
const DISTRACTORS: &str = include_str!("../../../../fixtures/memory/distractors.psv");

struct Pair {
    memory: String,
    question: String,
}

fn fields(line: &str) -> Vec<String> {
    line.split('|').map(str::to_owned).collect()
}

fn pairs() -> Vec<Pair> {
    let pair = |line: &str| match fields(line).as_slice() {
        [_, memory, question] => Pair { memory: memory.clone(), question: question.clone() },
        other => panic!("{other:?}"),
    };
    PAIRS.lines().map(pair).collect()
}

fn filled(meaning: Meaning) -> (Memories, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let (memories, _) = memories(folder.path(), meaning);
    let facts: Vec<_> = PAIRS
        .lines()
        .chain(DISTRACTORS.lines())
        .map(|line| {
            let fields = fields(line);
            fact(&fields[1], FactKind::named(&fields[0]).unwrap())
        })
        .collect();
    assert!(facts.len() >= 1_200);
    let remembered = memories.remember(&facts).unwrap();
    assert_eq!((remembered.new, remembered.refused), (facts.len(), vec![]));
    (memories, folder)
}

/// Questions of a hundred whose memory is among the first five.
fn hits(pairs: &[Pair], find: impl Fn(&str) -> Vec<String>) -> f64 {
    let hit = |pair: &&Pair| find(&pair.question).iter().take(5).any(|text| *text == pair.memory);
    pairs.iter().filter(hit).count() as f64 * 100.0 / pairs.len() as f64
}

fn searched(memories: &Memories, question: &str) -> Vec<String> {
    memories.search(question, 5).unwrap().memories.into_iter().map(|memory| memory.text).collect()
}

/// Where `scripts/test` installed the model.
fn installed() -> Option<PathBuf> {
    let path = std::env::var_os("OSTLER_TEST_MODEL").map(PathBuf::from)?;
    path.exists().then_some(path)
}

/// Each text is embedded once, whoever asks.
struct Once {
    model: MiniLm,
    known: std::sync::Mutex<std::collections::HashMap<String, Vec<f32>>>,
}

impl Embedder for Once {
    fn name(&self) -> &str {
        self.model.name()
    }

    fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, EmbedError> {
        let mut known = self.known.lock().unwrap();
        let mut all = Vec::new();
        for text in texts {
            if !known.contains_key(*text) {
                known.insert((*text).to_owned(), self.model.embed(&[text])?.remove(0));
            }
            all.push(known[*text].clone());
        }
        Ok(all)
    }
}

#[test]
fn hybrid_is_not_worse_than_either() {
    let pairs = pairs();
    assert_eq!(pairs.len(), 200);
    let (plain, _folder) = filled(Meaning::None);
    let lexical = hits(&pairs, |question| searched(&plain, question));
    assert!(lexical >= 40.0, "by words {lexical} %");
    let Some(path) = installed() else {
        println!("memory hit@5: lexical {lexical} %");
        println!(
            "SKIPPED: memory hit@5 by meaning and hybrid (no embedding model; set OSTLER_TEST_MODEL)"
        );
        return;
    };
    let model = Arc::new(Once { model: MiniLm::open(&path).unwrap(), known: Default::default() });
    let (both, _folder) = filled(Meaning::Given(model.clone()));
    let hybrid = hits(&pairs, |question| searched(&both, question));
    let texts: Vec<String> =
        PAIRS.lines().chain(DISTRACTORS.lines()).map(|line| fields(line)[1].clone()).collect();
    let vectors = model.embed(&texts.iter().map(String::as_str).collect::<Vec<_>>()).unwrap();
    let vector = hits(&pairs, |question| {
        let wanted = model.embed(&[question]).unwrap().remove(0);
        let mut ranked: Vec<(f32, &String)> = vectors
            .iter()
            .zip(&texts)
            .map(|(vector, text)| (vector.iter().zip(&wanted).map(|(a, b)| a * b).sum(), text))
            .collect();
        ranked.sort_by(|a, b| b.0.total_cmp(&a.0));
        ranked.into_iter().take(5).map(|(_, text)| text.clone()).collect()
    });
    println!("memory hit@5: lexical {lexical} %, vector {vector} %, hybrid {hybrid} %");
    assert!(
        hybrid >= lexical && hybrid >= vector,
        "hybrid {hybrid} %, vector {vector} %, lexical {lexical} %"
    );
    assert!(hybrid >= 70.0, "{hybrid} %");
}
