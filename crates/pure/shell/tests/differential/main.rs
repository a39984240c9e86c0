//! Generated command lines, read by us and run by bash with recording stand-ins: whatever bash runs, we must have seen.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout)]

mod bash;
mod benign;
#[path = "../shared/feed.rs"]
mod feed;
mod nasty;
mod predict;
mod random;

use ostler_policy::script::Opaque;
use predict::{Family, Prediction};
use random::Random;
use std::collections::BTreeMap;

const BENIGN: usize = 9_000;
const NASTY: usize = 14_000;
const REAL: usize = 250;
const BATCH: usize = 500;

/// Texts on which a reading was wrong once. NUL stands between them as a line of its own: `---`.
const MISSES: &str = include_str!("misses.txt");

/// One text a line, with `\n`, `\t` and `\\` for a line end, a tab and a backslash; nothing is escaped where `$'` is.
const TRICKY: &str = include_str!("tricky.txt");

const CLEAR: Family = Family { dynamic: true, unknown: true };
const SOUP: Family = Family { dynamic: false, unknown: true };

#[derive(Default)]
struct Tally {
    lines: usize,
    opaque: usize,
    reasons: BTreeMap<String, usize>,
    /// Not agreed on by the second parser, though we read it.
    disagreed: usize,
    calls: usize,
    exact: usize,
    /// We have a script, bash says the text is wrong.
    refused_by_bash: Vec<String>,
    misses: Vec<String>,
}

/// What the lines of one family say about our reading.
fn compare(
    texts: Vec<String>,
    family: Family,
    run: fn(&[String]) -> Vec<Vec<Vec<String>>>,
) -> Tally {
    let mut tally = Tally { lines: texts.len(), ..Tally::default() };
    let mut read = Vec::new();
    for text in texts {
        match ostler_shell::parse(&text) {
            Ok(script) => {
                tally.disagreed += usize::from(ostler_shell::agreed(&text).is_err());
                read.push((text, Prediction::of(&script)));
            }
            Err(why) => {
                tally.opaque += 1;
                *tally.reasons.entry(why.to_string()).or_default() += 1;
            }
        }
    }
    for batch in read.chunks(BATCH) {
        let lines: Vec<String> = batch.iter().map(|(text, _)| text.clone()).collect();
        let runs = run(&lines);
        for ((text, prediction), calls) in batch.iter().zip(runs) {
            judge(text, prediction, &calls, family, &mut tally);
        }
    }
    tally
}

fn judge(
    text: &str,
    prediction: &Prediction,
    calls: &[Vec<String>],
    family: Family,
    tally: &mut Tally,
) {
    tally.calls += calls.len();
    for call in calls {
        if !prediction.covers(call) {
            tally.misses.push(format!("{text:?} runs {call:?}"));
            return;
        }
    }
    if prediction.must_match(calls, family) == Some(false) {
        if bash::is_valid(text) {
            tally.misses.push(format!("{text:?} runs only {calls:?}"));
        } else {
            tally.refused_by_bash.push(text.to_owned());
        }
    }
    tally.exact += usize::from(prediction.must_match(calls, family).is_some());
}

fn report(name: &str, tally: &Tally) {
    println!(
        "{name}: {} lines, {} opaque, {} more without agreement, {} calls seen, {} lines exact, {} refused by bash, {} misses",
        tally.lines,
        tally.opaque,
        tally.disagreed,
        tally.calls,
        tally.exact,
        tally.refused_by_bash.len(),
        tally.misses.len()
    );
    for text in tally.refused_by_bash.iter().take(5) {
        println!("  refused by bash: {text:?}");
    }
    for (why, count) in tally.reasons.iter().filter(|_| !name.ends_with("nasty")) {
        println!("  {count} opaque: {why}");
    }
    let shown: Vec<_> = tally.misses.iter().take(25).cloned().collect();
    assert!(tally.misses.is_empty(), "{name}: {} misses\n{}", tally.misses.len(), shown.join("\n"));
}

fn lines(seed: u64, count: usize, line: fn(&mut Random) -> String) -> Vec<String> {
    // Another number finds other lines; what it finds belongs into `misses.txt`.
    let other: u64 = std::env::var("OSTLER_DIFF_SEED").map_or(0, |seed| seed.parse().unwrap());
    let mut random = Random::new(seed + 1000 * other);
    (0..count).map(|_| line(&mut random)).collect()
}

#[test]
fn old_misses_stay_found() {
    let texts =
        MISSES.split("\n---\n").filter(|text| !text.is_empty()).map(str::to_owned).collect();
    report("differential, old misses", &compare(texts, SOUP, bash::evaluated));
}

#[test]
fn what_a_hasty_reader_gets_wrong() {
    let texts: Vec<String> = TRICKY.lines().map(unescaped).collect();
    let tally = compare(texts, CLEAR, bash::evaluated);
    report("differential, tricky", &tally);
    assert!(tally.opaque * 5 < tally.lines, "{} of {} are opaque", tally.opaque, tally.lines);
}

fn unescaped(line: &str) -> String {
    if line.contains("$'") {
        return line.to_owned();
    }
    line.replace("\\\\", "\u{1}").replace("\\n", "\n").replace("\\t", "\t").replace('\u{1}', "\\")
}

#[test]
fn what_agents_write() {
    let tally = compare(lines(1, BENIGN, benign::line), CLEAR, bash::evaluated);
    report("differential, benign", &tally);
    assert!(tally.calls > BENIGN, "bash ran only {} commands", tally.calls);
    assert!(tally.exact > BENIGN / 5, "only {} lines were compared exactly", tally.exact);
    let unclear = tally.opaque + tally.disagreed;
    assert!(unclear * 10 < tally.lines, "{unclear} of {} lines are opaque", tally.lines);
}

#[test]
fn what_nobody_writes() {
    let tally = compare(lines(2, NASTY, nasty::line), SOUP, bash::evaluated);
    report("differential, nasty", &tally);
    assert!(
        tally.lines - tally.opaque > NASTY / 20,
        "{} of {} are opaque",
        tally.opaque,
        tally.lines
    );
}

#[test]
fn real_programs_see_the_same() {
    report(
        "real, benign",
        &compare(lines(3, REAL, benign::line), Family { unknown: false, ..CLEAR }, bash::executed),
    );
    report(
        "real, nasty",
        &compare(lines(4, REAL, nasty::line), Family { unknown: false, ..SOUP }, bash::executed),
    );
}

#[test]
fn the_recorders_see_what_they_must() {
    let texts = ["prog a 'b c' \"$(alpha x)\"".to_owned(), "unknown >made".to_owned()];
    for run in [bash::evaluated, bash::executed] {
        let runs = run(&texts[..1]);
        assert_eq!(runs[0], [vec!["alpha", "x"], vec!["prog", "a", "b c", ""]]);
    }
    assert_eq!(bash::evaluated(&texts)[1], [vec!["unknown"]]);
    let empty = Prediction::of(&ostler_shell::parse("beta").unwrap());
    assert!(!empty.covers(&["prog".to_owned()]));
    assert!(matches!(ostler_shell::parse("prog '"), Err(Opaque::Syntax(_))));
}
