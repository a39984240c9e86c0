//! Finds and ends processes that left the group of their command.
//!
//! Such a process becomes our child when its parents have ended, because we are a subreaper. A
//! number of a direct child is safe to signal: it stays reserved until we reap it. Deeper ones
//! may be reaped by their own parents at any moment, so they are held by a descriptor first and
//! checked to be still where they were found.

use std::collections::HashSet;
use std::fs;
use std::os::fd::OwnedFd;

use crate::sys::numbers_in;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open, pidfd_send_signal};

/// How many deeper processes are held at once; others come up as direct children later.
const MAX_HELD: usize = 256;

pub(super) struct ProcessTree {
    own_pid: i32,
    /// The kernel lists children; if not, all of `/proc` has to be read.
    listed: bool,
}

impl ProcessTree {
    pub(super) fn new(own_pid: i32) -> Self {
        Self {
            own_pid,
            listed: fs::metadata(format!("/proc/{own_pid}/task/{own_pid}/children")).is_ok(),
        }
    }

    /// Our children, ended ones that are not reaped included.
    pub(super) fn direct(&self) -> Vec<i32> {
        if !self.listed {
            return self.children(self.own_pid);
        }
        let list = fs::read_to_string(format!("/proc/{0}/task/{0}/children", self.own_pid));
        parse_list(&list.unwrap_or_default())
    }

    fn children(&self, pid: i32) -> Vec<i32> {
        if !self.listed {
            return numbers_in("/proc")
                .into_iter()
                .filter(|child| parent_of(*child) == Some(pid))
                .collect();
        }
        let tasks = numbers_in(&format!("/proc/{pid}/task")).into_iter();
        let lists = tasks.filter_map(|task| {
            fs::read_to_string(format!("/proc/{pid}/task/{task}/children")).ok()
        });
        lists.flat_map(|list| parse_list(&list)).collect()
    }

    /// Calls `visit` for these processes and what is below them, at most so many and until it
    /// returns false.
    pub(super) fn each(&self, roots: &[i32], most: usize, visit: &mut dyn FnMut(i32) -> bool) {
        let mut seen: HashSet<i32> = roots.iter().copied().collect();
        let mut open: Vec<i32> = roots.to_vec();
        while let Some(pid) = open.pop() {
            if seen.len() > most || !visit(pid) {
                return;
            }
            open.extend(self.children(pid).into_iter().filter(|pid| seen.insert(*pid)));
        }
    }

    /// Kills these direct children and what is below them. Everything is stopped before anything
    /// is killed: a tree that keeps forking would otherwise grow while we cut it.
    pub(super) fn end(&self, roots: &[i32]) {
        let mut seen: HashSet<i32> = roots.iter().copied().collect();
        let mut held: Vec<OwnedFd> = Vec::new();
        roots.iter().for_each(|pid| signal(*pid, Signal::STOP));
        // Each with the place of its handle, which roots do not need.
        let mut parents: Vec<(i32, Option<usize>)> = roots.iter().map(|pid| (*pid, None)).collect();
        while !parents.is_empty() && held.len() < MAX_HELD {
            let mut next = Vec::new();
            for (parent, place) in parents {
                let fresh = self.children(parent).into_iter().filter(|pid| seen.insert(*pid));
                for pid in fresh.take(MAX_HELD) {
                    let parent_handle = place.and_then(|place| held.get(place));
                    if let Some(handle) = self.hold(pid, parent, parent_handle) {
                        let _ = pidfd_send_signal(&handle, Signal::STOP);
                        next.push((pid, Some(held.len())));
                        held.push(handle);
                    }
                }
            }
            parents = next;
        }
        for handle in held {
            let _ = pidfd_send_signal(&handle, Signal::KILL);
        }
        roots.iter().for_each(|pid| signal(*pid, Signal::KILL));
    }

    /// Takes hold of a process if it is ours beyond doubt: it is our child, or the child of one
    /// that we hold and that has not ended since, so that its number means the same as before.
    fn hold(&self, pid: i32, parent: i32, parent_handle: Option<&OwnedFd>) -> Option<OwnedFd> {
        let handle = pidfd_open(Pid::from_raw(pid)?, PidfdFlags::empty()).ok()?;
        let now = parent_of(pid)?;
        let sure = now == self.own_pid || (now == parent && parent_handle.is_none_or(is_running));
        sure.then_some(handle)
    }
}

fn is_running(handle: &OwnedFd) -> bool {
    let mut fds = [PollFd::new(handle, PollFlags::IN)];
    matches!(poll(&mut fds, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })), Ok(0))
}

fn signal(pid: i32, signal: Signal) {
    // A negative number would mean a group.
    if let Some(pid) = Pid::from_raw(pid).filter(|_| pid > 1) {
        let _ = kill_process(pid, signal);
    }
}

fn parse_list(list: &str) -> Vec<i32> {
    list.split_ascii_whitespace().filter_map(|number| number.parse().ok()).collect()
}

fn parent_of(pid: i32) -> Option<i32> {
    parse_parent(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
}

/// When a process was started, in ticks of the kernel's clock. No process is older than one it descends from.
pub(super) fn start_of(pid: i32) -> Option<u64> {
    parse_start(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
}

fn parse_parent(stat: &str) -> Option<i32> {
    after_name(stat)?.nth(1)?.parse().ok()
}

fn parse_start(stat: &str) -> Option<u64> {
    after_name(stat)?.nth(19)?.parse().ok()
}

/// The fields behind the name. The name in parentheses may itself hold anything, parentheses included.
fn after_name(stat: &str) -> Option<std::str::SplitAsciiWhitespace<'_>> {
    Some(stat.rsplit_once(')')?.1.split_ascii_whitespace())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{Duration, Instant};

    #[test]
    fn the_parent_is_found_behind_any_name() {
        assert_eq!(parse_parent("12 (bash) S 7 12 12 0"), Some(7));
        assert_eq!(parse_parent("12 (a) R 99 (b)) S 7 12"), Some(7));
        assert_eq!(parse_parent("12 (bash"), None);
        assert_eq!(parse_parent(""), None);
        let stat = "12 (a) b) S 7 12 12 0 -1 4194304 1 2 3 4 5 6 7 8 20 0 1 0 4711 99";
        assert_eq!(parse_start(stat), Some(4711));
        assert!(start_of(1) <= start_of(std::process::id() as i32), "the first one is not younger");
    }

    #[test]
    fn both_ways_of_listing_children_agree() {
        let mut child = std::process::Command::new("/bin/sleep").arg("60").spawn().unwrap();
        let own_pid = std::process::id() as i32;
        let pid = child.id() as i32;
        for listed in [true, false] {
            let tree = ProcessTree { own_pid, listed };
            assert!(tree.children(own_pid).contains(&pid), "listed: {listed}");
            assert_eq!(tree.children(pid), Vec::<i32>::new());
            assert!(tree.hold(pid, own_pid, None).is_some());
            assert!(
                tree.hold(pid, 1, None).is_some(),
                "our own child may be held whoever was its parent"
            );
            assert!(tree.hold(own_pid, pid, None).is_none(), "not where it was found");
        }
        let handle = pidfd_open(Pid::from_raw(pid).unwrap(), PidfdFlags::empty()).unwrap();
        assert!(is_running(&handle));
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(!is_running(&handle));
        // What a number below an ended process means is not known any more.
        let stranger = ProcessTree { own_pid: 1, listed: true };
        let mut other = std::process::Command::new("/bin/sleep").arg("60").spawn().unwrap();
        assert!(stranger.hold(other.id() as i32, own_pid, None).is_some());
        assert!(stranger.hold(other.id() as i32, own_pid, Some(&handle)).is_none());
        other.kill().unwrap();
        other.wait().unwrap();
    }

    #[test]
    fn a_tree_is_felled_in_one_go_whatever_sessions_it_spans() {
        // Here nobody adopts orphans, so what is not reached at once is not reached at all.
        let text = "setsid bash -c 'setsid sleep 60 & sleep 60 & wait' & sleep 60 & wait";
        let mut root = std::process::Command::new("/bin/bash").args(["-c", text]).spawn().unwrap();
        let tree = ProcessTree::new(std::process::id() as i32);
        let below = |pid: i32| -> Vec<i32> {
            let children = tree.children(pid);
            let deeper: Vec<_> = children.iter().flat_map(|child| tree.children(*child)).collect();
            [children, deeper].concat()
        };
        let is_sleep = |pid: &i32| {
            fs::read(format!("/proc/{pid}/cmdline")).is_ok_and(|line| line.starts_with(b"sleep\0"))
        };
        let deadline = Instant::now() + Duration::from_secs(30);
        let root_pid = root.id() as i32;
        while below(root_pid).iter().filter(|pid| is_sleep(pid)).count() < 3 {
            assert!(Instant::now() < deadline, "the tree did not grow");
            std::thread::sleep(Duration::from_millis(5));
        }
        let all = below(root_pid);
        tree.end(&[root_pid]);
        root.wait().unwrap();
        while all.iter().any(is_sleep) {
            assert!(Instant::now() < deadline, "some of it survived");
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}
