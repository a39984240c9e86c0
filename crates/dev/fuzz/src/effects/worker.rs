//! Inside the sandbox: make a line, have it judged, run it if it is allowed, look for effects.

use super::gate::{Allowed, FuzzGate, GateRules};
use super::grammar::LineMaker;
use super::ground::{Ground, WORKSPACE};
use super::minimise::minimise;
use super::planted_faults::Planted;
use super::programs::copy_programs;
use super::sandbox::OWN;
use super::shell::{self, LineRun};
use super::watch::AccessWatch;
use serde::{Deserialize, Serialize};
use std::collections::HashSet;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{self, Write};
use std::net::TcpListener;
use std::path::Path;
use std::time::{Duration, Instant};

/// What a worker is to do.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct WorkerTask {
    pub seed: u64,
    pub seconds: u64,
    /// Allowed lines to run.
    pub lines: u64,
    pub planted: Option<Planted>,
    pub has_locale: bool,
    /// Begin with the seeds as they are.
    pub seeds_first: bool,
    /// Lines that contain one of these are not tried.
    pub ignored: Vec<String>,
    /// Run these, whatever the gate says, instead of generated ones.
    pub replay: Option<Vec<String>>,
}

#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct WorkerCounts {
    pub generated: u64,
    pub allowed: u64,
    pub run: u64,
    pub effects: u64,
    pub endless: u64,
}

/// One line of what a worker writes.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum WorkerMessage {
    Counts(WorkerCounts),
    Finding {
        effect: String,
        line: String,
        before: String,
        planted: bool,
        counts: WorkerCounts,
    },
    Endless(String),
    /// Of a replayed line.
    Replayed {
        line: String,
        allowed: bool,
        effects: Vec<String>,
    },
    Failed(String),
}

/// Lines that were minimised; further findings are only counted.
const MOST_MINIMISED: u64 = 12;
/// Programs that must never run: the shipped rules deny the first, our added ones the second.
const DENIED: &str = "sudo";
const DENIED_BY_RULE: [&str; 2] = ["curl", "touch"];
/// Files that the C library opens by itself; the last two are opened by git and ripgrep.
const OPEN_TO_ALL: [&str; 6] = [
    "/etc/nsswitch.conf",
    "/etc/passwd",
    "/etc/group",
    "/etc/ld.so.cache",
    "/home/dev/.gitconfig",
    "/ws/.gitignore",
];
/// Trees in which every file that is opened is noticed.
const WATCHED: [&str; 4] = ["/ws", "/home", "/etc", "/srv"];
/// Where a line could connect to.
pub const PORT: u16 = 7777;

pub fn main(task: &str) -> Result<(), String> {
    let task: WorkerTask = serde_json::from_str(task).map_err(|error| error.to_string())?;
    let mut worker = Worker::new(task).map_err(|error| format!("cannot set up: {error}"))?;
    let done = match worker.task.replay.clone() {
        Some(lines) => lines.iter().try_for_each(|line| worker.replay(line)),
        None => worker.generate(),
    };
    done.map_err(|error| error.to_string())?;
    send(&WorkerMessage::Counts(worker.counts)).map_err(|error| error.to_string())
}

struct Worker {
    task: WorkerTask,
    gate: FuzzGate,
    ground: Ground,
    watch: AccessWatch,
    listener: TcpListener,
    counts: WorkerCounts,
}

impl Worker {
    fn new(task: WorkerTask) -> Result<Self, Box<dyn std::error::Error>> {
        copy_programs()?;
        let ground = Ground::build()?;
        let watch = AccessWatch::new(&WATCHED)?;
        let listener = TcpListener::bind(("127.0.0.1", PORT))?;
        listener.set_nonblocking(true)?;
        shell::limit()?;
        Ok(Worker {
            task,
            gate: FuzzGate::new()?,
            ground,
            watch,
            listener,
            counts: WorkerCounts::default(),
        })
    }

    fn generate(&mut self) -> io::Result<()> {
        let begin = Instant::now();
        let seeds: Vec<String> = serde_json::from_slice(&fs::read(format!("{OWN}/seeds.json"))?)?;
        let mut first = if self.task.seeds_first { seeds.clone() } else { Vec::new() };
        let mut maker = LineMaker::new(self.task.seed, seeds, self.task.has_locale);
        let mut known = HashSet::new();
        let most = Duration::from_secs(self.task.seconds);
        while self.counts.run < self.task.lines && begin.elapsed() < most {
            let line = first.pop().unwrap_or_else(|| maker.line());
            self.counts.generated += 1;
            if self.counts.generated.is_multiple_of(256) {
                send(&WorkerMessage::Counts(self.counts))?;
            }
            let rules = if maker.percent(25) { GateRules::WithDenials } else { GateRules::Shipped };
            let ignored = self.task.ignored.iter().any(|text| line.contains(text));
            if ignored
                || line.trim().is_empty()
                || line.contains('\0')
                || !known.insert(hash(&line))
            {
                continue;
            }
            let judged = self.gate.judge(&line, rules, self.task.planted);
            maker.learn(judged.is_some());
            let Some(allowed) = judged else { continue };
            self.counts.allowed += 1;
            let ran = self.attempt(&line, rules, &allowed);
            let ran = ran.map_err(|error| io::Error::other(format!("{line:?}: {error}")));
            let Some(effect) = ran? else {
                maker.keep(line);
                continue;
            };
            self.report(&line, rules, &effect)?;
            if self.task.planted.is_some_and(|planted| planted.rewrite(&line) != line) {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Runs an allowed line. The first of its effects.
    fn attempt(
        &mut self,
        line: &str,
        rules: GateRules,
        allowed: &Allowed,
    ) -> io::Result<Option<String>> {
        // What the gate opened to judge is not the line's doing.
        self.watch.take();
        let ran = shell::run(&allowed.script, WORKSPACE, &allowed.environment)?;
        self.counts.run += 1;
        if ran.endless {
            self.counts.endless += 1;
            send(&WorkerMessage::Endless(line.to_owned()))?;
        }
        let effects = self.effects(&ran, rules, allowed)?;
        Ok(effects.into_iter().next())
    }

    fn effects(
        &mut self,
        ran: &LineRun,
        rules: GateRules,
        allowed: &Allowed,
    ) -> io::Result<Vec<String>> {
        let mut effects = self.ground.changes();
        let seen = self.watch.take();
        if !seen.changes.is_empty() {
            copy_programs()?;
        }
        effects.extend(seen.changes);
        if !effects.is_empty() {
            self.ground.restore()?;
            // A directory that was replaced is watched no longer.
            self.watch = AccessWatch::new(&WATCHED)?;
        }
        effects.retain(|change| !allowed.may_change(change));
        for program in &seen.programs {
            let denied = program == DENIED
                || (rules == GateRules::WithDenials && DENIED_BY_RULE.contains(&program.as_str()));
            if denied {
                effects.push(format!("denied program {program}"));
            } else if !allowed.may_start(program) {
                effects.push(format!("program {program}"));
            }
        }
        for file in &seen.files {
            if is_secret(file) && !allowed.reads_all_around(file) {
                effects.push(format!("secret {}", file.display()));
            } else if !allowed.reads(file)
                && !OPEN_TO_ALL.iter().any(|open| file == Path::new(open))
            {
                effects.push(format!("undeclared read of {}", file.display()));
            }
        }
        while self.listener.accept().is_ok() {
            effects.push("network connection".to_owned());
        }
        if ran.left_behind && !allowed.may_leave_processes() {
            effects.push("process left behind".to_owned());
        }
        Ok(effects)
    }

    fn report(&mut self, line: &str, rules: GateRules, effect: &str) -> io::Result<()> {
        self.counts.effects += 1;
        let counts = self.counts;
        let mut shortest = line.to_owned();
        if counts.effects <= MOST_MINIMISED {
            let planted = self.task.planted;
            let class = class(effect);
            let hidden = |text: &str| planted.is_none_or(|planted| planted.rewrite(text) != text);
            let has_to_be_hidden = hidden(line);
            shortest = minimise(line, |text| {
                if text.trim().is_empty() || (has_to_be_hidden && !hidden(text)) {
                    return false;
                }
                let Some(allowed) = self.gate.judge(text, rules, planted) else { return false };
                let found = self.attempt(text, rules, &allowed);
                found.is_ok_and(|found| found.is_some_and(|other| class == self::class(&other)))
            });
            // Runs of a minimisation are not lines of their own.
            self.counts = counts;
        }
        let planted = self.task.planted.is_some_and(|planted| planted.rewrite(line) != line);
        send(&WorkerMessage::Finding {
            effect: effect.to_owned(),
            line: shortest,
            before: line.to_owned(),
            planted,
            counts: self.counts,
        })
    }

    fn replay(&mut self, line: &str) -> io::Result<()> {
        let judged = self.gate.judge(line, GateRules::Shipped, self.task.planted);
        let is_allowed = judged.is_some();
        let allowed = judged.unwrap_or_else(|| Allowed::everything(line));
        self.watch.take();
        let ran = shell::run(&allowed.script, WORKSPACE, &allowed.environment)?;
        let mut effects = self.effects(&ran, GateRules::Shipped, &allowed)?;
        if ran.endless {
            effects.push("endless".to_owned());
        }
        send(&WorkerMessage::Replayed { line: line.to_owned(), allowed: is_allowed, effects })
    }
}

/// The kind of an effect, without its object.
pub fn class(effect: &str) -> &str {
    effect.split(" /").next().unwrap_or(effect)
}

fn is_secret(file: &Path) -> bool {
    file == Path::new("/ws/.env")
        || file.starts_with("/home/dev/.ssh")
        || file.starts_with("/home/dev/.aws")
}

fn hash(line: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    line.hash(&mut hasher);
    hasher.finish()
}

fn send(message: &WorkerMessage) -> io::Result<()> {
    let mut out = io::stdout().lock();
    serde_json::to_writer(&mut out, message)?;
    out.write_all(b"\n")?;
    out.flush()
}
