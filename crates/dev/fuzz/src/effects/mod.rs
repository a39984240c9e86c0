//! Fuzzing by effect: lines that the gate allows without a question are run by real bash in a throw-away sandbox. Any
//! effect is a finding: a file that changed, a program that the proof does not name, a file that it does not say is
//! read, a connection, a process that stays.
//!
//! `ostler-fuzz effects --seconds 60` starts one worker per core, each in a sandbox of its own. The worker makes lines,
//! judges them on the sandbox's own disk, and runs those that are allowed. Here their reports are added up.

mod gate;
mod grammar;
mod ground;
mod minimise;
mod planted_faults;
mod programs;
mod sandbox;
mod shell;
mod watch;
pub mod worker;

use planted_faults::Planted;
use sandbox::FuzzSandbox;
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::process::{Child, ExitCode};
use std::sync::mpsc;
use std::time::Instant;
use worker::{WorkerCounts, WorkerMessage, WorkerTask};

pub const USAGE: &str = "ostler-fuzz effects [--seconds N] [--lines N] [--at-least N] [--seed N] \
                         [--planted KIND] [--workers N] [--ignore TEXT]… [--replay FILE]";

struct EffectsPlan {
    seconds: u64,
    lines: u64,
    /// Fewer lines that were run are a failure.
    at_least: u64,
    seed: u64,
    planted: Option<Planted>,
    workers: u64,
    ignored: Vec<String>,
    replay: Option<String>,
}

/// What all workers reported.
#[derive(Default)]
struct Total {
    counts: BTreeMap<usize, WorkerCounts>,
    /// By their minimised line: the effect, and how often.
    findings: BTreeMap<String, (String, u64)>,
    planted: bool,
    endless: Vec<String>,
    failures: Vec<String>,
}

pub fn main(args: impl Iterator<Item = String>) -> ExitCode {
    let plan = match plan(args) {
        Ok(plan) => plan,
        Err(why) => {
            eprintln!("{why}\nusage: {USAGE}");
            return ExitCode::from(2);
        }
    };
    let seeds = match crate::corpus::commands() {
        Ok(seeds) => seeds,
        Err(why) => {
            eprintln!("{why}");
            return ExitCode::from(2);
        }
    };
    let with_locale = plan.planted.is_none_or(|planted| planted == Planted::Locale);
    let stage = match FuzzSandbox::new(&seeds, with_locale) {
        Ok(stage) => stage,
        Err(why) => {
            println!("SKIPPED: fuzzing by effect ({why})");
            return ExitCode::SUCCESS;
        }
    };
    if plan.planted == Some(Planted::Locale) && !stage.has_locale {
        println!("SKIPPED: planted locale (localedef cannot make a GBK locale here)");
        return ExitCode::SUCCESS;
    }
    match run(&plan, &stage) {
        Ok(code) => code,
        Err(why) => {
            eprintln!("effects: {why}");
            ExitCode::FAILURE
        }
    }
}

fn plan(mut args: impl Iterator<Item = String>) -> Result<EffectsPlan, String> {
    let cores = std::thread::available_parallelism().map_or(2, |cores| cores.get() as u64);
    let mut plan = EffectsPlan {
        seconds: 60,
        lines: u64::MAX,
        at_least: 0,
        seed: 1,
        planted: None,
        workers: cores.min(8),
        ignored: Vec::new(),
        replay: None,
    };
    while let Some(arg) = args.next() {
        let value = args.next().ok_or_else(|| format!("{arg} needs a value"))?;
        let number = || value.parse::<u64>().map_err(|_| format!("{arg} needs a number"));
        match arg.as_str() {
            "--seconds" => plan.seconds = number()?,
            "--lines" => plan.lines = number()?,
            "--at-least" => plan.at_least = number()?,
            "--seed" => plan.seed = number()?,
            "--workers" => plan.workers = number()?.clamp(1, 64),
            "--ignore" => plan.ignored.push(value),
            "--replay" => plan.replay = Some(value),
            "--planted" => {
                let kinds: Vec<&str> = planted_faults::ALL.iter().map(|(name, _)| *name).collect();
                let unknown = || format!("unknown kind {value}: use {}", kinds.join(", "));
                plan.planted = Some(Planted::by_name(&value).ok_or_else(unknown)?);
            }
            _ => return Err(format!("unknown argument {arg}")),
        }
    }
    Ok(plan)
}

fn run(plan: &EffectsPlan, stage: &FuzzSandbox) -> Result<ExitCode, String> {
    let begin = Instant::now();
    let replay = match &plan.replay {
        Some(path) => {
            let text = std::fs::read_to_string(path).map_err(|why| format!("{path}: {why}"))?;
            let lines = text.lines().map(serde_json::from_str);
            let lines: Result<Vec<String>, _> = lines.collect();
            Some(lines.map_err(|why| format!("{path} is not one JSON string a line: {why}"))?)
        }
        None => None,
    };
    let workers = if replay.is_some() { 1 } else { plan.workers };
    let mut children = Vec::new();
    let (sender, receiver) = mpsc::channel();
    for number in 0..workers {
        let task = WorkerTask {
            seed: plan.seed.wrapping_mul(1_000_003).wrapping_add(number),
            seconds: plan.seconds,
            lines: plan.lines.div_ceil(workers),
            planted: plan.planted,
            has_locale: stage.has_locale,
            seeds_first: number == 0 && plan.planted.is_none(),
            ignored: plan.ignored.clone(),
            replay: replay.clone(),
        };
        let mut child = stage.start(&task).map_err(|why| format!("cannot start bwrap: {why}"))?;
        let output = child.stdout.take().ok_or("a worker has no output")?;
        children.push(child);
        let (sender, number) = (sender.clone(), children.len());
        std::thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                let message = serde_json::from_str(&line).unwrap_or(WorkerMessage::Failed(line));
                if sender.send((number, message)).is_err() {
                    return;
                }
            }
        });
    }
    drop(sender);
    let mut total = Total::default();
    for (number, message) in receiver {
        total.add(number, message);
        if total.planted {
            break;
        }
    }
    finish(children, &mut total);
    Ok(total.result(plan, begin.elapsed().as_secs()))
}

/// A worker that died by itself was killed by a line: that is a failure of its own.
fn finish(children: Vec<Child>, total: &mut Total) {
    for mut child in children {
        if total.planted {
            let _ = child.kill();
        }
        let status = child.wait();
        let ended = total.planted || status.as_ref().is_ok_and(std::process::ExitStatus::success);
        if !ended {
            total.failures.push(format!("a worker ended with {status:?}"));
        }
    }
}

impl Total {
    fn add(&mut self, number: usize, message: WorkerMessage) {
        match message {
            WorkerMessage::Counts(counts) => drop(self.counts.insert(number, counts)),
            WorkerMessage::Endless(line) => self.endless.push(line),
            WorkerMessage::Failed(why) => self.failures.push(why),
            WorkerMessage::Replayed { line, allowed, effects } => {
                let verdict = if allowed { "allowed" } else { "not allowed" };
                println!("{verdict}\t{}\t{line:?}", effects.join(", "));
            }
            WorkerMessage::Finding { effect, line, before, planted, counts } => {
                self.counts.insert(number, counts);
                self.planted |= planted;
                let known = self.findings.entry(line.clone()).or_insert((effect.clone(), 0));
                known.1 += 1;
                if known.1 == 1 {
                    eprintln!("effect: {effect}\n  {line:?}\n  from {before:?}");
                }
            }
        }
    }

    fn result(&self, plan: &EffectsPlan, seconds: u64) -> ExitCode {
        let mut sum = WorkerCounts::default();
        for counts in self.counts.values() {
            sum.generated += counts.generated;
            sum.allowed += counts.allowed;
            sum.run += counts.run;
            sum.effects += counts.effects;
            sum.endless += counts.endless;
        }
        for failure in &self.failures {
            eprintln!("effects: {failure}");
        }
        for line in self.endless.iter().take(10) {
            println!("endless: {line:?}");
        }
        println!(
            "effects: {} generated, {} allowed, {} run, {} effects, {} endless, in {seconds} s",
            sum.generated, sum.allowed, sum.run, sum.effects, sum.endless
        );
        let failed = !self.failures.is_empty();
        if let Some(kind) = plan.planted {
            let kind = kind.name();
            match self.planted {
                true => println!("planted {kind}: found after {} allowed lines", sum.allowed),
                false => println!("planted {kind}: NOT found in {} allowed lines", sum.allowed),
            }
            return if self.planted && !failed { ExitCode::SUCCESS } else { ExitCode::FAILURE };
        }
        for line in self.findings.keys() {
            match crate::corpus::finding("effects", line) {
                Ok(path) => eprintln!("kept in {path}"),
                Err(why) => eprintln!("cannot keep a finding: {why}"),
            }
        }
        let enough = plan.replay.is_some() || sum.run >= plan.at_least;
        if !enough {
            eprintln!("effects: {} lines run, {} wanted", sum.run, plan.at_least);
        }
        match failed || !self.findings.is_empty() || !enough {
            true => ExitCode::FAILURE,
            false => ExitCode::SUCCESS,
        }
    }
}
