//! What a process uses, and the most of it.

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

/// Memory in use, in KB.
pub fn memory() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

fn entries(folder: &str) -> usize {
    fs::read_dir(folder).map_or(0, Iterator::count)
}

/// Threads of this process with this name.
pub fn threads_named(name: &str) -> usize {
    let threads = fs::read_dir("/proc/self/task").unwrap().flatten();
    let names = threads.filter_map(|thread| fs::read_to_string(thread.path().join("comm")).ok());
    names.filter(|found| found.trim() == name).count()
}

/// Processes that this one has started.
pub fn children() -> usize {
    let threads = fs::read_dir("/proc/self/task").unwrap().flatten();
    let of = |path: std::path::PathBuf| fs::read_to_string(path.join("children")).ok();
    let lists = threads.filter_map(|thread| of(thread.path()));
    lists.map(|list| list.split_whitespace().count()).sum()
}

/// Looks again and again for the most threads and descriptors, from a thread that is not counted.
pub struct Peak {
    over: Arc<AtomicBool>,
    threads: Arc<AtomicUsize>,
    descriptors: Arc<AtomicUsize>,
    watcher: JoinHandle<()>,
}

impl Peak {
    pub fn watch() -> Self {
        let (over, threads, descriptors): (Arc<AtomicBool>, Arc<AtomicUsize>, Arc<AtomicUsize>) =
            Default::default();
        let (ends, most_threads, most_descriptors) =
            (over.clone(), threads.clone(), descriptors.clone());
        let watcher = std::thread::spawn(move || {
            while !ends.load(Ordering::Relaxed) {
                most_threads.fetch_max(entries("/proc/self/task") - 1, Ordering::Relaxed);
                most_descriptors.fetch_max(entries("/proc/self/fd") - 1, Ordering::Relaxed);
                std::thread::sleep(Duration::from_micros(500));
            }
        });
        Peak { over, threads, descriptors, watcher }
    }

    /// The most threads and the most descriptors.
    pub fn end(self) -> (usize, usize) {
        self.over.store(true, Ordering::Relaxed);
        self.watcher.join().unwrap();
        (self.threads.load(Ordering::Relaxed), self.descriptors.load(Ordering::Relaxed))
    }
}
