//! Two notes about the same thing: does the newer one replace the older, or only come before it?
//!
//! Replaced is only what is plainly taken back: the same wish with the other sign, or another number for the same
//! thing. Whatever else is much alike stays, and the newer is read first.

use std::collections::BTreeSet;

const YES: [&str; 6] = ["always", "do", "prefer", "should", "must", "want"];
const NO: [&str; 9] =
    ["never", "don't", "dont", "not", "avoid", "stop", "shouldn't", "mustn't", "without"];
/// Words that say nothing about what a note is about.
const EMPTY: [&str; 24] = [
    "a", "an", "the", "in", "on", "at", "of", "for", "to", "is", "are", "it", "and", "or", "we",
    "i", "you", "please", "now", "from", "ever", "here", "this", "that",
];
/// Of the words of the longer note, in tenths, that two notes about the same thing share.
const SHARED: usize = 6;

/// What a note is about, and whether it says no.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gist {
    words: BTreeSet<String>,
    no: bool,
}

impl Gist {
    pub fn of(text: &str) -> Self {
        let mut gist = Gist { words: BTreeSet::new(), no: false };
        for word in text.to_lowercase().split_whitespace() {
            let word = word.trim_matches(|c: char| !c.is_alphanumeric());
            match word {
                _ if NO.contains(&word) => gist.no = !gist.no,
                _ if YES.contains(&word) || EMPTY.contains(&word) || word.is_empty() => {}
                _ => drop(gist.words.insert(word.to_owned())),
            }
        }
        gist
    }

    pub fn words(&self) -> impl Iterator<Item = &str> {
        self.words.iter().map(String::as_str)
    }

    /// Much the same words, so that one may have been said instead of the other.
    pub fn is_like(&self, other: &Gist) -> bool {
        let shared = self.words.intersection(&other.words).count();
        shared >= 2 && shared * 10 >= self.words.len().max(other.words.len()) * SHARED
    }
}

/// The older note is plainly taken back by the newer.
pub fn replaces(newer: &str, older: &str) -> bool {
    let (new, old) = (Gist::of(newer), Gist::of(older));
    let opposite = new.no != old.no && new.words == old.words && !new.words.is_empty();
    opposite || another_number(newer, older)
}

/// `The staging port is 5434.` after `The staging port is 5433.`
fn another_number(newer: &str, older: &str) -> bool {
    match (thing_and_number(newer), thing_and_number(older)) {
        (Some((thing, new)), Some((other, old))) => thing == other && new != old,
        _ => false,
    }
}

/// Worth looking for what it takes back: a thing with its number.
pub fn is_a_number(text: &str) -> bool {
    thing_and_number(text).is_some()
}

fn thing_and_number(text: &str) -> Option<(String, String)> {
    let lower = text.to_lowercase();
    let (thing, value) = [" is ", " are ", " = "].iter().find_map(|is| lower.split_once(is))?;
    let value = value.trim_end_matches(['.', '!']);
    let number = !value.contains(' ') && value.chars().any(|c| c.is_ascii_digit());
    number.then(|| (thing.to_owned(), value.to_owned()))
}

/// Of two notes much alike the newer comes directly before the older; all else stays in its order.
pub fn newer_first<T>(all: Vec<T>, gist: impl Fn(&T) -> Gist, at: impl Fn(&T) -> u64) -> Vec<T> {
    let mut sorted: Vec<(Gist, T)> = Vec::with_capacity(all.len());
    for one in all {
        let own = gist(&one);
        let before = sorted.iter().position(|(other, it)| own.is_like(other) && at(&one) > at(it));
        sorted.insert(before.unwrap_or(sorted.len()), (own, one));
    }
    sorted.into_iter().map(|(_, one)| one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_plainly_taken_back() {
        for (newer, older, expected) in [
            ("Never use pnpm in web/.", "Always use pnpm in web/.", true),
            ("Don't add comments to tests.", "Add comments to tests.", true),
            ("The staging port is 5434.", "The staging port is 5433.", true),
            ("The version is v2.1", "The version is v2.0.", true),
            ("The production port is 5434.", "The staging port is 5433.", false),
            ("Always use npm in web/.", "Always use pnpm in web/.", false),
            ("The user is on Linux.", "The user is from Graz.", false),
            ("The module is owned by Ann.", "The module is 300 lines long.", false),
            ("Always use pnpm in web/.", "Always use pnpm in web/.", false),
            ("Never ever.", "Always.", false),
        ] {
            assert_eq!(replaces(newer, older), expected, "{newer} / {older}");
        }
    }

    #[test]
    fn of_two_alike_the_newer_is_first() {
        let all = vec![
            ("Always use pnpm in web/.", 1),
            ("Tests run on Fridays.", 2),
            ("Always use npm in web/.", 9),
            ("The tax module is Ann's.", 7),
        ];
        let sorted = newer_first(all, |one| Gist::of(one.0), |one| one.1);
        let times: Vec<u64> = sorted.iter().map(|one| one.1).collect();
        assert_eq!(times, [9, 1, 2, 7]);
    }
}
