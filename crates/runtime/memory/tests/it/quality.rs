//! Retrieval quality on 200 questions: by words, by meaning, by both. The weight of the fusion is the best on every second
//! question (the tune half), and tried on the others. That scores are added rather than ranks was chosen having seen both.
//!
//! Among the entries are 186 notes written one by one, many about the same things as the questions, and 1 150 from
//! templates.

use crate::support::{fact, memories};
use ostler_core::memory::FactKind;
use ostler_core::ports::MemoryStore as _;
use ostler_memory::embed::{EmbedError, Embedder, MiniLm};
use ostler_memory::{BY_WORDS, Meaning, Memories, MemoryKey, Rankings, fuse};
use std::path::PathBuf;
use std::sync::Arc;

const PAIRS: &str = include_str!("../../../../../fixtures/memory/pairs.psv");
const WRITTEN: &str = include_str!("../../../../../fixtures/memory/written.psv");
const FROM_TEMPLATES: &str = include_str!("../../../../../fixtures/memory/distractors.psv");

fn entries() -> impl Iterator<Item = &'static str> {
    PAIRS.lines().chain(WRITTEN.lines()).chain(FROM_TEMPLATES.lines())
}

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
    let facts: Vec<_> = entries()
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

fn found(memories: &Memories, pairs: &[Pair]) -> Vec<Rankings> {
    pairs.iter().map(|pair| memories.rankings(&pair.question).unwrap()).collect()
}

type Ranking = Vec<(MemoryKey, f64)>;

#[derive(Clone, Copy, PartialEq)]
enum Half {
    Tune,
    HeldOut,
    Both,
}

/// Questions of a hundred whose memory is among the first five, and the mean of the reciprocal ranks. Entries are
/// numbered as they were kept: the memory of question `n` is row `n + 1`.
fn hits(all: &[Rankings], half: Half, order: impl Fn(&Rankings) -> Ranking) -> (f64, f64) {
    let (mut hits, mut ranks, mut count) = (0.0, 0.0, 0.0);
    for (n, found) in all.iter().enumerate() {
        if half == Half::Both || (n % 2 == 0) == (half == Half::Tune) {
            let place = order(found).iter().position(|((_, row), _)| *row == n as i64 + 1);
            count += 1.0;
            hits += place.map_or(0.0, |place| f64::from(place < 5));
            ranks += place.map_or(0.0, |place| 1.0 / (place as f64 + 1.0));
        }
    }
    (hits * 100.0 / count, ranks / count)
}

fn hybrid(weight: f64) -> impl Fn(&Rankings) -> Ranking {
    move |found| fuse(&found.by_words, &found.by_meaning, weight)
}

/// The best weight for the tune half: most hits, then the better ranks.
fn tuned(all: &[Rankings]) -> (f64, (f64, f64)) {
    let grid = [0.001, 0.002_5, 0.005, 0.007_5, 0.01, 0.015, 0.02, 0.03, 0.05];
    grid.map(|weight| (weight, hits(all, Half::Tune, hybrid(weight))))
        .into_iter()
        .reduce(|best, other| if other.1 > best.1 { other } else { best })
        .unwrap()
}

#[test]
fn hybrid_is_not_worse_than_either() {
    let pairs = pairs();
    assert_eq!(pairs.len(), 200);
    let Some(path) = installed() else {
        let (plain, _folder) = filled(Meaning::None);
        let (lexical, _) = hits(&found(&plain, &pairs), Half::Both, |found| found.by_words.clone());
        println!("memory hit@5: lexical {lexical} %");
        assert!(lexical >= 34.0, "by words {lexical} %");
        return println!(
            "SKIPPED: memory hit@5 by meaning and hybrid (no embedding model; set OSTLER_TEST_MODEL)"
        );
    };
    let model = Arc::new(Once { model: MiniLm::open(&path).unwrap(), known: Default::default() });
    let (memories, _folder) = filled(Meaning::Given(model));
    let all = found(&memories, &pairs);
    let mut hybrids = Vec::new();
    for (half, name) in
        [(Half::Tune, "tune half"), (Half::HeldOut, "held-out half"), (Half::Both, "all 200")]
    {
        let (lexical, _) = hits(&all, half, |found| found.by_words.clone());
        let (vector, _) = hits(&all, half, |found| found.by_meaning.clone());
        let (both, rank) = hits(&all, half, hybrid(BY_WORDS));
        println!(
            "memory hit@5, {name}: lexical {lexical} %, vector {vector} %, hybrid {both} % (mean reciprocal rank {rank:.3})"
        );
        assert!(both >= lexical && both >= vector, "{name}");
        hybrids.push(both);
    }
    let (weight, (best, rank)) = tuned(&all);
    println!("memory fusion, best of the tune half: {weight} ({best} %, {rank:.3})");
    assert_eq!(weight, BY_WORDS, "what is in force was chosen on the tune half");
    assert!(hybrids[2] >= 68.0, "{} %", hybrids[2]);
    // The search itself does the same.
    let searched = pairs.iter().filter(|pair| {
        let found = memories.search(&pair.question, 5).unwrap().memories;
        found.iter().any(|memory| memory.text == pair.memory)
    });
    assert!((searched.count() as f64 / 2.0 - hybrids[2]).abs() <= 0.5);
}

/// A question asks in its own words: it never repeats three words of its memory in a row, and few share most of their
/// words with it (those that name a thing by its name).
#[test]
fn questions_do_not_copy_their_memories() {
    let words = |text: &str| -> Vec<String> {
        text.to_lowercase()
            .split(|c: char| !c.is_alphanumeric() && !"_-.:".contains(c))
            .filter(|word| !word.is_empty())
            .map(str::to_owned)
            .collect()
    };
    let mut close = 0;
    for Pair { memory, question } in pairs() {
        let (memory, question) = (words(&memory), words(&question));
        let copied = question.windows(3).find(|three| {
            let long = three.iter().filter(|word| word.len() > 3).count();
            long >= 2 && memory.windows(3).any(|other| other == *three)
        });
        assert_eq!(copied, None);
        let long: Vec<_> = question.iter().filter(|word| word.len() > 3).collect();
        let shared = long.iter().filter(|word| memory.contains(word)).count();
        close += usize::from(2 * shared > long.len());
    }
    println!("memory questions that share most of their words with the memory: {close} of 200");
    assert!(close <= 30, "{close}");
}

#[test]
fn the_notes_written_one_by_one_are_varied() {
    let begins = |text: &str| text.split(' ').take(3).collect::<Vec<_>>().join(" ");
    let texts: Vec<String> = WRITTEN.lines().map(|line| fields(line)[1].clone()).collect();
    let beginnings: std::collections::HashSet<String> =
        texts.iter().map(|text| begins(text)).collect();
    assert!(beginnings.len() * 100 >= texts.len() * 95, "{} of {}", beginnings.len(), texts.len());
}
