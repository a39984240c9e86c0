//! What both benches share: the committed notes, and time on the processor, because a busy machine shows on the clock.
#![allow(dead_code, reason = "each bench uses its part")]

use rustix::time::{ClockId, clock_gettime};
use std::time::Duration;

const PAIRS: &str = include_str!("../../../../../fixtures/memory/pairs.psv");
const DISTRACTORS: &str = include_str!("../../../../../fixtures/memory/distractors.psv");

/// The installed model, if the command line names it.
pub fn model() -> Option<String> {
    std::env::args().skip(1).find(|word| !word.starts_with('-'))
}

pub fn notes() -> Vec<&'static str> {
    PAIRS.lines().chain(DISTRACTORS.lines()).filter_map(|line| line.split('|').nth(1)).collect()
}

pub fn questions() -> Vec<&'static str> {
    PAIRS.lines().filter_map(|line| line.split('|').nth(2)).collect()
}

/// Time this thread was on a processor.
fn busy() -> Duration {
    let at = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(at.tv_sec.unsigned_abs(), u32::try_from(at.tv_nsec).unwrap_or(0))
}

pub fn timed(work: impl FnOnce()) -> Duration {
    let begin = busy();
    work();
    busy() - begin
}

pub fn told(what: &str, mut times: Vec<Duration>) {
    times.sort();
    let at = |part: usize| {
        let place = (times.len() * part / 100).min(times.len() - 1);
        format!("{:.2} ms", times[place].as_secs_f64() * 1e3)
    };
    println!("{what}: least {}, median {}, 99 % {}", at(0), at(50), at(99));
}
