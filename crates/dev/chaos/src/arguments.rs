//! What `run` is told.

use crate::plan::{Plan, Planted, Store};
use std::path::PathBuf;

pub const USAGE: &str = "usage: ostler-chaos run --dir DIR [--workers N] [--tasks N] [--seed N] \
[--redis] [--hosts N] [--real OSTLER] [--planted no-fencing] [--limit SECONDS]\n       ostler-chaos check DIR";

/// Real workers take longer for everything.
const REAL_LEASE_MS: u64 = 5_000;

/// A run, and where its files go.
pub struct Order {
    pub plan: Plan,
    pub directory: PathBuf,
}

pub fn read(words: &[&str]) -> Result<Order, String> {
    let mut plan = Plan::default();
    let mut directory = None;
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let mut value =
            || words.next().copied().ok_or_else(|| format!("{word} wants a value\n{USAGE}"));
        let number =
            |text: &str| text.parse::<u64>().map_err(|_| format!("{word} wants a number\n{USAGE}"));
        let count = |text: &str| number(text).map(|n| usize::try_from(n).unwrap_or(usize::MAX));
        match *word {
            "--dir" => directory = Some(PathBuf::from(value()?)),
            "--workers" => plan.workers = count(value()?)?.clamp(1, 1_000),
            "--tasks" => plan.tasks = count(value()?)?.clamp(1, 100_000),
            "--seed" => plan.seed = number(value()?)?,
            "--limit" => plan.limit_seconds = number(value()?)?,
            "--hosts" => {
                (plan.store, plan.hosts) = (Store::Redis, count(value()?)?.clamp(1, 100));
            }
            "--real" => (plan.real, plan.lease_ms) = (value()?.to_owned(), REAL_LEASE_MS),
            "--redis" => plan.store = Store::Redis,
            "--planted" => {
                value().ok().filter(|name| *name == "no-fencing").ok_or(USAGE)?;
                (plan.store, plan.planted) = (Store::Redis, Some(Planted::NoFencing));
            }
            _ => return Err(format!("unknown argument {word}\n{USAGE}")),
        }
    }
    if !plan.real.is_empty() && plan.hosts > 0 {
        return Err(format!("--real and --hosts do not go together\n{USAGE}"));
    }
    let directory = directory.ok_or_else(|| format!("--dir is missing\n{USAGE}"))?;
    Ok(Order { plan, directory })
}
