//! What the benchmarks of boards have in common: processes that begin together, and what they print.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

pub fn since_epoch() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap()
}

/// This program once more, in another role. It begins when its input ends.
pub fn start(mode: &str, place: &str) -> Child {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.arg(mode).arg(place).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap()
}

/// The numbers that a process prints, one per line.
pub fn numbers(child: &mut Child) -> Vec<u64> {
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    lines.map(|line| line.unwrap().parse().unwrap()).collect()
}

pub fn percentiles(mut micros: Vec<u64>) -> String {
    micros.sort_unstable();
    let at = |part: usize| micros[(micros.len() - 1) * part / 100] as f64 / 1000.0;
    format!("p50 {:.2} ms, p99 {:.2} ms, most {:.2} ms", at(50), at(99), at(100))
}

/// Several processes that begin together. What they did per second, and how long each took.
pub fn together(processes: usize, mode: &str, place: &str) -> (f64, String) {
    let mut children: Vec<Child> = (0..processes).map(|_| start(mode, place)).collect();
    std::thread::sleep(Duration::from_millis(500));
    let begin = Instant::now();
    children.iter_mut().for_each(|child| drop(child.stdin.take()));
    let took: Vec<u64> = children.iter_mut().flat_map(numbers).collect();
    (took.len() as f64 / begin.elapsed().as_secs_f64(), percentiles(took))
}
