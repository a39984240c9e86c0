//! What the system says of a process: whether it is the one that is meant, what started it, and whether it is suspended.

use serde::{Deserialize, Serialize};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::OsStrExt;

/// Parents above a process that are looked at.
const MOST_PARENTS: usize = 64;

/// A process and when it started, in ticks since the machine did: a number that was given to another one is noticed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessMark {
    pub pid: i32,
    pub started: u64,
}

/// A line of `/proc/PID/stat`, as far as it matters here.
struct ProcessState {
    letter: char,
    parent: i32,
    started: u64,
}

fn state(pid: i32) -> Option<ProcessState> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name in brackets may hold anything.
    let (_, rest) = stat.rsplit_once(')')?;
    let words: Vec<&str> = rest.split_whitespace().take(20).collect();
    let number = |at: usize| words.get(at).copied();
    Some(ProcessState {
        letter: number(0)?.chars().next()?,
        parent: number(1)?.parse().ok()?,
        started: number(19)?.parse().ok()?,
    })
}

/// The start of a process, if it runs.
pub fn process_mark(pid: i32) -> Option<ProcessMark> {
    Some(ProcessMark { pid, started: state(pid)?.started })
}

/// The words that a process was started with.
pub fn process_words(pid: i32) -> Vec<OsString> {
    let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    line.split(|byte| *byte == 0).map(|word| OsStr::from_bytes(word).to_owned()).collect()
}

/// The processes above one, nearest first.
pub fn parents(pid: i32) -> Vec<i32> {
    let above = |pid: &i32| state(*pid).map(|state| state.parent).filter(|parent| *parent > 1);
    std::iter::successors(above(&pid), above).take(MOST_PARENTS).collect()
}

impl ProcessMark {
    /// A signal or a debugger has suspended it.
    pub fn is_suspended(self) -> bool {
        state(self.pid)
            .is_some_and(|state| state.started == self.started && "Tt".contains(state.letter))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn a_process_is_known_by_its_start_its_words_and_its_parents() {
        let own = i32::try_from(std::process::id()).unwrap();
        let mark = process_mark(own).unwrap();
        assert!(mark.started > 0 && process_mark(own) == Some(mark) && !mark.is_suspended());
        assert_eq!(process_mark(i32::MAX), None);
        let mut child = Command::new("/bin/sleep").arg("600").spawn().unwrap();
        let pid = i32::try_from(child.id()).unwrap();
        assert_eq!(parents(pid).first(), Some(&own));
        // It may not have become the program yet.
        while process_words(pid).get(1).is_none_or(|word| word != "600") {}
        let mark = process_mark(pid).unwrap();
        Command::new("/bin/kill").args(["-STOP", &pid.to_string()]).status().unwrap();
        while !mark.is_suspended() {}
        assert!(!ProcessMark { started: mark.started + 1, ..mark }.is_suspended());
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(parents(pid).is_empty() && process_words(pid).iter().all(|word| word.is_empty()));
    }
}
