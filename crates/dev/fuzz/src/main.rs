//! A fuzz driver that runs on stable Rust: `cargo run --release -p ostler-fuzz -- shell --seconds 60`.
//!
//! It changes known texts at random, hands them to a target, and keeps those on which the target behaves in a way not
//! seen before (each target says in a word how it went). A panic, a broken law or a text that takes too long is a
//! finding: it is written to `findings/` and the run ends with 1. Texts worth keeping go to `corpus/`, which is
//! replayed first in every run.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a program for the terminal")]

mod corpus;
mod effects;
mod mutate;
mod random;
mod targets;

use random::Random;
use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// A text must not take longer than this, in a debug build on a busy machine.
const TOO_LONG: Duration = Duration::from_secs(2);
/// Texts in memory to start from.
const MAX_POOL: usize = 4000;

struct FuzzPlan {
    target: &'static targets::Target,
    seconds: u64,
    seed: u64,
    /// Write what is new to the corpus.
    keep: bool,
}

fn main() -> ExitCode {
    let mut args = std::env::args().skip(1).peekable();
    match args.peek().map(String::as_str) {
        Some("effects") => return effects::main(args.skip(1)),
        Some("effects-worker") => return worker(args.nth(1).as_deref().unwrap_or_default()),
        _ => {}
    }
    let plan = match plan(args) {
        Ok(plan) => plan,
        Err(why) => {
            eprintln!(
                "{why}\nusage: ostler-fuzz shell|rules [--seconds N] [--seed N] [--keep]\n       {}",
                effects::USAGE
            );
            return ExitCode::from(2);
        }
    };
    match run(&plan) {
        Ok(line) => {
            println!("{line}");
            ExitCode::SUCCESS
        }
        Err(finding) => {
            eprintln!("{finding}");
            ExitCode::FAILURE
        }
    }
}

/// A part of `effects`, inside its sandbox.
fn worker(task: &str) -> ExitCode {
    match effects::worker::main(task) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("effects-worker: {why}");
            ExitCode::FAILURE
        }
    }
}

fn plan(mut args: impl Iterator<Item = String>) -> Result<FuzzPlan, String> {
    let name = args.next().ok_or("which target?")?;
    let target = targets::ALL.iter().find(|target| target.name == name);
    let target = target.ok_or_else(|| format!("there is no target {name}"))?;
    let mut plan = FuzzPlan { target, seconds: 60, seed: 1, keep: false };
    while let Some(arg) = args.next() {
        let mut number = || {
            let text = args.next().unwrap_or_default();
            text.parse::<u64>().map_err(|_| format!("{arg} wants a number"))
        };
        match arg.as_str() {
            "--seconds" => plan.seconds = number()?,
            "--seed" => plan.seed = number()?,
            "--keep" => plan.keep = true,
            _ => return Err(format!("unknown argument {arg}")),
        }
    }
    Ok(plan)
}

fn run(plan: &FuzzPlan) -> Result<String, String> {
    let (name, begin) = (plan.target.name, Instant::now());
    let mut random = Random::new(plan.seed);
    let mut ways: BTreeSet<String> = BTreeSet::new();
    let mut pool = corpus::seeds(name)?;
    for text in &pool {
        ways.insert(attempt(plan, text)?);
    }
    let (replayed, mut tried, mut kept) = (pool.len(), 0_u64, 0_u64);
    while begin.elapsed() < Duration::from_secs(plan.seconds) {
        for _ in 0..64 {
            let text = mutate::mutate(&pool, plan.target.words, &mut random);
            let way = attempt(plan, &text)?;
            tried += 1;
            if ways.insert(way) {
                if plan.keep {
                    corpus::keep(name, &text)?;
                }
                kept += 1;
                if pool.len() < MAX_POOL {
                    pool.push(text);
                }
            }
        }
    }
    Ok(format!(
        "fuzz {name}: {replayed} replayed, {tried} texts tried in {} s, {} ways, {kept} new, 0 findings",
        begin.elapsed().as_secs(),
        ways.len()
    ))
}

/// How it went, in a word.
fn attempt(plan: &FuzzPlan, text: &str) -> Result<String, String> {
    let begin = Instant::now();
    let done = catch_unwind(AssertUnwindSafe(|| (plan.target.run)(text)));
    let why = match done {
        Ok(Ok(way)) if begin.elapsed() <= TOO_LONG => return Ok(way),
        Ok(Ok(_)) => format!("it took {} ms", begin.elapsed().as_millis()),
        Ok(Err(broken)) => broken,
        Err(_) => "it panicked".to_owned(),
    };
    let path = corpus::finding(plan.target.name, text)?;
    Err(format!("fuzz {}: {why}\n{text:?}\nkept in {path}", plan.target.name))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every text that was ever worth keeping, in the ordinary test run.
    #[test]
    fn the_corpus_is_replayed() {
        for target in targets::ALL {
            let plan = FuzzPlan { target, seconds: 0, seed: 1, keep: false };
            println!("{}", run(&plan).unwrap_or_else(|why| panic!("{why}")));
        }
    }

    /// A driver that finds nothing in a broken target would be worth nothing.
    #[test]
    fn a_planted_fault_is_found() {
        static PLANTED: targets::Target = targets::Target {
            name: "shell",
            words: &["a"],
            run: |text| if text.contains("''") { Err("planted".into()) } else { Ok("".into()) },
        };
        let plan = FuzzPlan { target: &PLANTED, seconds: 20, seed: 1, keep: false };
        let found = run(&plan).unwrap_err();
        assert!(found.contains("planted"), "{found}");
        let path = found.rsplit("kept in ").next().unwrap_or_default();
        std::fs::remove_file(path).unwrap_or_else(|why| panic!("{path}: {why}"));
    }
}
