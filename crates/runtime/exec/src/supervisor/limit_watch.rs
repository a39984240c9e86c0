//! Keeps the memory and the processes of a command within limits where no control group does.
//!
//! The kernel tells nobody how much a tree of processes uses, so this is the one thing here that is
//! looked at again and again: first a quarter of a second after the start, so that short commands
//! cost nothing, and more often when a command comes near its limit.

use std::fs;
use std::time::{Duration, Instant};

use super::strays::ProcessTree;
use crate::command::ProcessLimits;
use crate::limits::Exceeded;

const PAUSE: Duration = Duration::from_millis(250);
const PAUSE_WHEN_NEAR: Duration = Duration::from_millis(50);
/// After a look that had to add up what processes share, which takes longer.
const PAUSE_AFTER_SHARED: Duration = Duration::from_secs(1);

/// Processes looked at; the limit of tasks is far below it by default.
const MOST: usize = 20_000;

#[derive(Debug)]
pub(super) struct LimitWatch {
    memory: Option<u64>,
    tasks: Option<u64>,
    pub next: Instant,
}

/// What processes use.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
struct Used {
    /// Bytes that belong to no file, in memory or swapped out.
    memory: u64,
    tasks: u64,
}

impl LimitWatch {
    /// None if there is nothing to watch.
    pub(super) fn new(limits: &ProcessLimits) -> Option<Self> {
        let ProcessLimits { memory, tasks, .. } = *limits;
        let next = Instant::now() + PAUSE;
        (memory.is_some() || tasks.is_some()).then_some(Self { memory, tasks, next })
    }

    /// Looks at these processes and all below them.
    pub(super) fn look(&mut self, tree: &ProcessTree, roots: &[i32]) -> Option<Exceeded> {
        let most_tasks = self.tasks.unwrap_or(u64::MAX);
        let mut used = Used::default();
        let mut seen = Vec::new();
        tree.each(roots, MOST, &mut |pid| {
            let of = fs::read_to_string(format!("/proc/{pid}/status"));
            let of = parse_status(&of.unwrap_or_default());
            used.memory += of.memory;
            used.tasks += of.tasks;
            seen.push(pid);
            used.tasks <= most_tasks
        });
        if used.tasks > most_tasks {
            return Some(Exceeded::Tasks);
        }
        let Some(limit) = self.memory else {
            self.next = Instant::now() + PAUSE;
            return None;
        };
        let pause = match used.memory {
            // Children share what they have not changed with their parents: the plain sum counts it
            // for each of them.
            memory if memory > limit => {
                if shared_sum(&seen) > limit {
                    return Some(Exceeded::Memory);
                }
                PAUSE_AFTER_SHARED
            }
            memory if memory > limit / 2 => PAUSE_WHEN_NEAR,
            _ => PAUSE,
        };
        self.next = Instant::now() + pause;
        None
    }
}

/// What the processes use together, each shared page counted once. Where the kernel does not say it
/// for a process, all of its memory counts.
fn shared_sum(pids: &[i32]) -> u64 {
    let of = |pid: &i32| {
        let text = fs::read_to_string(format!("/proc/{pid}/smaps_rollup"));
        text.ok().and_then(|text| parse_rollup(&text)).unwrap_or_else(|| {
            let status = fs::read_to_string(format!("/proc/{pid}/status"));
            parse_status(&status.unwrap_or_default()).memory
        })
    };
    pids.iter().map(of).sum()
}

fn parse_status(text: &str) -> Used {
    let number = |line: &str| {
        let word = line.split_ascii_whitespace().nth(1);
        word.and_then(|word| word.parse::<u64>().ok()).unwrap_or(0)
    };
    let mut used = Used::default();
    for line in text.lines() {
        match line.split(':').next() {
            Some("RssAnon" | "RssShmem" | "VmSwap") => used.memory += number(line) * 1024,
            Some("Threads") => used.tasks = number(line),
            _ => {}
        }
    }
    used
}

/// None if a line is missing: kernels before 5.9 do not part it by kind.
fn parse_rollup(text: &str) -> Option<u64> {
    let of = |key: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(':'))?;
        Some(line.split_ascii_whitespace().next()?.parse::<u64>().ok()? * 1024)
    };
    Some(of("Pss_Anon")? + of("Pss_Shmem")? + of("SwapPss")?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_used_is_read_from_the_kernels_texts() {
        let status = "Name:\tx\nVmRSS:\t  900 kB\nRssAnon:\t   100 kB\nRssFile:\t 700 kB\n\
                      RssShmem:\t  20 kB\nVmSwap:\t   3 kB\nThreads:\t4\n";
        assert_eq!(parse_status(status), Used { memory: 123 * 1024, tasks: 4 });
        assert_eq!(parse_status("Name:\tkthread\nThreads:\t1\n"), Used { memory: 0, tasks: 1 });
        let rollup = "Rss: 5000 kB\nPss: 900 kB\nPss_Anon: 70 kB\nPss_File: 800 kB\n\
                      Pss_Shmem: 5 kB\nSwap: 9 kB\nSwapPss: 2 kB\n";
        assert_eq!(parse_rollup(rollup), Some(77 * 1024));
        assert_eq!(parse_rollup("Pss: 900 kB\nSwapPss: 2 kB\n"), None);
        let own = fs::read_to_string("/proc/self/status").unwrap();
        assert!(parse_status(&own).memory > 0 && parse_status(&own).tasks > 0);
        assert!(shared_sum(&[std::process::id() as i32]) > 0);
    }
}
