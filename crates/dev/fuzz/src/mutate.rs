//! A new text out of old ones.

use crate::random::Random;

const MAX: usize = 4096;

const PAIRS: [(&str, &str); 8] = [
    ("$(", ")"),
    ("'", "'"),
    ("\"", "\""),
    ("{ ", "; }"),
    ("( ", ")"),
    ("`", "`"),
    ("${x:-", "}"),
    ("[", "]"),
];

pub fn mutate(pool: &[String], words: &[&str], random: &mut Random) -> String {
    let any = |random: &mut Random| {
        pool.get(random.below(pool.len())).map(String::as_str).unwrap_or_default().to_owned()
    };
    let mut text: Vec<char> = any(random).chars().collect();
    for _ in 0..=random.below(6) {
        let at = random.below(text.len() + 1);
        let to = (at + random.below(12)).min(text.len());
        match random.below(8) {
            0 => drop(text.splice(at..to, None)),
            1 => {
                let word = random.pick(words).unwrap_or_default();
                drop(text.splice(at..at, word.chars()));
            }
            2 => {
                let word = random.pick(words).unwrap_or_default();
                drop(text.splice(at..to, word.chars()));
            }
            3 => {
                let copy: Vec<char> = text.get(at..to).unwrap_or_default().to_vec();
                let again = random.below(text.len() + 1);
                drop(text.splice(again..again, copy));
            }
            4 => {
                let other: Vec<char> = any(random).chars().collect();
                let from = random.below(other.len() + 1);
                let part = other.get(from..).unwrap_or_default().iter().copied().take(60);
                drop(text.splice(at..to, part));
            }
            5 => {
                // Wrapped in a pair, as nesting is where readers go wrong.
                let (open, close) =
                    PAIRS.get(random.below(PAIRS.len())).copied().unwrap_or_default();
                drop(text.splice(to..to, close.chars()));
                drop(text.splice(at..at, open.chars()));
            }
            6 => {
                let c = char::from(u8::try_from(random.below(128)).unwrap_or(b' '));
                text.insert(at, c);
            }
            _ => {
                let other: Vec<char> = any(random).chars().take(200).collect();
                let joins = ["; ", " && ", " | ", "\n", " || ", " & ", " "];
                text.extend(joins.get(random.below(joins.len())).copied().unwrap_or(" ").chars());
                text.extend(other);
            }
        }
    }
    text.truncate(MAX);
    text.into_iter().collect()
}
