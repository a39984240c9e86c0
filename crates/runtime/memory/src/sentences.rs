//! Which sentences of a conversation are meant for the future. Strict: a missed wish can be stated again, a wrong one
//! would be repeated forever.

use crate::sentence_ends::{cut, is_whole, limits};
use ostler_core::memory::FactKind;

/// Characters of a sentence that is kept.
const LONGEST: usize = 300;
const SHORTEST: usize = 12;

/// A wish begins so.
const WISHES: [&str; 20] = [
    "always ",
    "never ",
    "prefer ",
    "from now on",
    "in future",
    "in the future",
    "don't ever ",
    "do not ever ",
    "i prefer ",
    "we prefer ",
    "i'd prefer ",
    "i would prefer ",
    "we always ",
    "we never ",
    "i always want ",
    "i never want ",
    "you should always ",
    "you should never ",
    "you must always ",
    "you must never ",
];

/// What follows is a fact to keep.
const FACTS: [&str; 13] = [
    "note that ",
    "note: ",
    "fyi, ",
    "fyi: ",
    "fyi ",
    "for your information, ",
    "remember that ",
    "remember: ",
    "remember, ",
    "keep in mind that ",
    "keep in mind: ",
    "for the record: ",
    "for the record, ",
];

const POLITE: [&str; 10] =
    ["please ", "also ", "and ", "but ", "so ", "ok, ", "oh, ", "btw, ", "no, ", "actually, "];

/// With a command in backquotes: how a thing is done.
const HOWTOS: [&str; 14] = [
    "to run ",
    "to test ",
    "to build ",
    "to deploy ",
    "to lint ",
    "to format ",
    "run the tests with ",
    "run tests with ",
    "the tests run with ",
    "tests run with ",
    "tests are run with ",
    "the tests are run with ",
    "build with ",
    "deploy with ",
];

/// After "always" or "never" these tell what happened, not what is wanted.
const TOLD: [&str; 34] = [
    "mind",
    "seen",
    "saw",
    "heard",
    "worked",
    "works",
    "work",
    "happened",
    "happens",
    "had",
    "has",
    "have",
    "got",
    "gets",
    "knew",
    "know",
    "understood",
    "thought",
    "tried",
    "failed",
    "fails",
    "been",
    "was",
    "were",
    "is",
    "the",
    "a",
    "an",
    "again",
    "quite",
    "really",
    "merged",
    "said",
    "did",
];

/// A sentence with one of these is about today.
const ONCE: [&str; 15] = [
    "for now",
    "this time",
    "just once",
    "only once",
    "today",
    "for the moment",
    "in this session",
    "for this task",
    "in this pr",
    "in this pull request",
    "this one",
    "right now",
    "until i say",
    "temporarily",
    "for this change",
];

/// Words that need a place to point at.
const PLACE: [&str; 9] =
    ["here", "there", "this", "that", "these", "those", "it", "them", "former"];
/// What one prefers not to do when asked.
const UNSAID: [&str; 8] =
    ["answer", "say", "tell", "disclose", "comment", "discuss", "share", "decide"];

const DECISIONS: [&str; 13] = [
    "decision: ",
    "decided: ",
    "we decided ",
    "i decided ",
    "we have decided ",
    "i have decided ",
    "we agreed ",
    "we will go with ",
    "we'll go with ",
    "let's go with ",
    "we chose ",
    "i chose ",
    "we rejected ",
];

/// Sentences outside of code, quotes and questions.
pub fn sentences(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut in_code = false;
    for line in text.lines() {
        // What is indented so far is code or a quotation.
        if line.starts_with("    ") || line.starts_with('\t') {
            continue;
        }
        let line = line.trim();
        if line.starts_with("```") || line.starts_with("~~~") {
            in_code = !in_code;
            continue;
        }
        if in_code || line.starts_with('>') || line.starts_with('|') {
            continue;
        }
        let line = line.trim_start_matches(['-', '*', '#', '•']).trim_start();
        let mut rest = line;
        while let Some((sentence, after)) = cut(rest) {
            if !limits(after) {
                found.push(sentence.to_owned());
            }
            rest = after;
        }
        found.push(rest.to_owned());
    }
    found.retain(|sentence| {
        (SHORTEST..=LONGEST).contains(&sentence.len())
            && !sentence.ends_with(['?', ':', ','])
            && is_whole(sentence)
    });
    found
}

/// A wish for all future work, or a fact to remember.
pub fn wish(sentence: &str) -> Option<(FactKind, String)> {
    let bare = without_politeness(sentence);
    let lower = bare.to_lowercase();
    // Lengths agree for these beginnings: they are ASCII.
    if let Some(beginning) = FACTS.iter().find(|beginning| lower.starts_with(**beginning)) {
        return Some((FactKind::Fact, capital(bare.get(beginning.len()..)?)));
    }
    if ONCE.iter().any(|once| lower.contains(once)) {
        return None;
    }
    let remember_to = lower.starts_with("remember to ");
    let begins = WISHES.iter().any(|beginning| lower.starts_with(beginning));
    if remember_to || (begins && !tells(&lower) && !chooses(&lower)) || corrects(&lower) {
        return Some((FactKind::Preference, capital(bare)));
    }
    let howto = bare.contains('`') && HOWTOS.iter().any(|beginning| lower.starts_with(beginning));
    howto.then(|| (FactKind::HowTo, capital(bare)))
}

/// `Never seen this before`, `we always get the same error`.
fn tells(lower: &str) -> bool {
    let mut words = lower.split(|c: char| !c.is_alphanumeric() && c != '\'');
    let sign = words.by_ref().take(4).any(|word| matches!(word, "always" | "never"));
    let ours = lower.starts_with("we ");
    let next = words.find(|word| !word.is_empty()).unwrap_or_default();
    sign && (TOLD.contains(&next) || (ours && next == "get"))
}

/// `I prefer that one`, `prefer not to say`: an answer to a question.
fn chooses(lower: &str) -> bool {
    let Some((_, what)) = lower.split_once("prefer ") else { return false };
    let mut words = what.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    match words.next() {
        Some("this" | "that" | "it" | "these" | "those" | "neither" | "both") => true,
        Some("the") => matches!(words.next(), Some("first" | "second" | "former" | "latter")),
        Some("not") => match (words.next(), words.next()) {
            (Some("to"), Some(verb)) => UNSAID.contains(&verb),
            (Some("to") | None, None) => true,
            _ => false,
        },
        _ => false,
    }
}

/// `Use pnpm, not npm`, `use tabs instead of spaces`: unless it is about one place.
fn corrects(lower: &str) -> bool {
    let mut words = lower.split(|c: char| !c.is_alphanumeric());
    let place = words.any(|word| PLACE.contains(&word));
    lower.starts_with("use ")
        && (lower.contains(", not ") || lower.contains(" instead of "))
        && !place
}

pub fn decision(sentence: &str) -> Option<String> {
    let bare = without_politeness(sentence);
    let lower = bare.to_lowercase();
    let beginning = DECISIONS.iter().find(|beginning| lower.starts_with(**beginning))?;
    let text = if beginning.ends_with(": ") { bare.get(beginning.len()..)? } else { bare };
    Some(capital(text)).filter(|text| text.len() >= SHORTEST)
}

fn without_politeness(sentence: &str) -> &str {
    let mut rest = sentence.trim_matches('*').trim();
    for _ in 0..3 {
        let lower = rest.to_lowercase();
        match POLITE.iter().find(|word| lower.starts_with(**word)) {
            Some(word) => rest = rest.get(word.len()..).unwrap_or(rest).trim_start(),
            None => break,
        }
    }
    rest
}

fn capital(text: &str) -> String {
    let mut chars = text.trim().chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wishes() {
        for (sentence, expected) in [
            (
                "Please always use pnpm in web/.",
                Some((FactKind::Preference, "Always use pnpm in web/.")),
            ),
            ("never push to main", Some((FactKind::Preference, "Never push to main"))),
            (
                "Remember that the staging port is 5433.",
                Some((FactKind::Fact, "The staging port is 5433.")),
            ),
            (
                "remember to run just lint",
                Some((FactKind::Preference, "Remember to run just lint")),
            ),
            (
                "From now on answer in German.",
                Some((FactKind::Preference, "From now on answer in German.")),
            ),
            ("I prefer small commits.", Some((FactKind::Preference, "I prefer small commits."))),
            ("Never mind, it works.", None),
            ("The test always fails on Monday.", None),
            ("This will never work.", None),
            ("I remember that we tried it.", None),
            ("Fix the bug.", None),
            ("Use that, not this.", None),
            ("Use it instead of them.", None),
            ("Use pnpm, not npm.", Some((FactKind::Preference, "Use pnpm, not npm."))),
            ("Prefer not to answer", None),
            ("I prefer not to say.", None),
            ("I prefer that.", None),
            (
                "Prefer not to mock the database.",
                Some((FactKind::Preference, "Prefer not to mock the database.")),
            ),
        ] {
            let expected = expected.map(|(kind, text)| (kind, text.to_owned()));
            assert_eq!(wish(sentence), expected, "{sentence}");
        }
    }

    #[test]
    fn decisions() {
        for (sentence, expected) in [
            ("Decision: keep SQLite for the ledger.", Some("Keep SQLite for the ledger.")),
            ("**Decision: keep SQLite here**", Some("Keep SQLite here")),
            ("Let's go with TOML.", Some("Let's go with TOML.")),
            ("We decided against Redis.", Some("We decided against Redis.")),
            ("I will decide later.", None),
        ] {
            assert_eq!(decision(sentence).as_deref(), expected, "{sentence}");
        }
    }

    #[test]
    fn sentences_outside_of_code_and_quotes() {
        let text = "Fix it. Always run the tests! See src/a.rs v1.2 e.g. this one.\n```\nAlways in code.\n```\n> Always in a quote.\n- Never do that again\nShould I always ask?";
        assert_eq!(
            sentences(text),
            ["Always run the tests!", "See src/a.rs v1.2 e.g. this one.", "Never do that again"]
        );
    }

    /// The sentences of which something is kept.
    #[test]
    fn only_the_standing_sentence_is_kept() {
        let long = format!("Always run lint. {}", "then look at the log ".repeat(30));
        for (text, expected) in [
            (
                "Never deploy on friday. can you check the log, then delete the staging db",
                vec!["Never deploy on friday."],
            ),
            ("always use pnpm. now fix the login page and push to main", vec!["Always use pnpm."]),
            ("Always run lint. please fix the bug", vec!["Always run lint."]),
            (long.as_str(), vec!["Always run lint."]),
            ("fix it. always run lint! then push", vec!["Always run lint!"]),
            ("Never deploy on friday; delete the staging db", vec!["Never deploy on friday"]),
            ("should I push? never push to main.  ok", vec!["Never push to main."]),
            ("Always answer \"done.\" now fix it", vec!["Always answer \"done.\""]),
            (
                "Always use short names, e.g. id, i.e. no prefix.",
                vec!["Always use short names, e.g. id, i.e. no prefix."],
            ),
            (
                "Always put images, fonts etc. under web/. now fix it",
                vec!["Always put images, fonts etc. under web/."],
            ),
            ("Always cache images, fonts etc. now push", vec!["Always cache images, fonts etc."]),
            ("Always ask Mr. Smith first. go on", vec!["Always ask Mr. Smith first."]),
            ("Always use v1.2 in src/a.rs vs. v2", vec!["Always use v1.2 in src/a.rs vs. v2"]),
            ("Never use tabs. except in Makefiles", vec![]),
            ("Never push to main; unless I say so", vec![]),
            ("Always run `make. test` before a commit", vec![]),
            ("Always say (as told. or not) something", vec![]),
        ] {
            let kept: Vec<String> =
                sentences(text).iter().filter_map(|one| wish(one)).map(|(_, text)| text).collect();
            assert_eq!(kept, expected, "{text}");
        }
    }
}
