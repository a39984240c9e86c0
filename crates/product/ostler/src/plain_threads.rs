//! Work beside the turns, on a few plain threads for the whole process. The end of the program does not wait for it.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// What a turn would like to have soon: memories, the layers of the sandbox.
pub(crate) static SEARCHES: PlainThreads = PlainThreads::new(4);
/// What nobody waits for: removing what is old.
pub(crate) static CHORES: PlainThreads = PlainThreads::new(1);

type Work = Box<dyn FnOnce() + Send>;

/// A thread starts with work and ends when there is none.
pub(crate) struct PlainThreads {
    most: usize,
    queue: Mutex<WorkQueue>,
}

struct WorkQueue {
    waiting: VecDeque<Work>,
    threads: usize,
}

impl PlainThreads {
    const fn new(most: usize) -> Self {
        let queue = WorkQueue { waiting: VecDeque::new(), threads: 0 };
        PlainThreads { most, queue: Mutex::new(queue) }
    }

    /// Does it as soon as a thread is free. It is dropped if no thread can be had.
    pub(crate) fn run(&'static self, work: impl FnOnce() + Send + 'static) {
        let mut queue = self.queue();
        queue.waiting.push_back(Box::new(work));
        if queue.threads < self.most {
            queue.threads += 1;
            if std::thread::Builder::new().spawn(|| self.work()).is_err() {
                queue.threads -= 1;
                if queue.threads == 0 {
                    queue.waiting.clear();
                }
            }
        }
    }

    fn work(&self) {
        while let Some(work) = self.next() {
            // A caller that waits for it learns of a panic because no answer comes.
            let _ = catch_unwind(AssertUnwindSafe(work));
        }
    }

    fn next(&self) -> Option<Work> {
        let mut queue = self.queue();
        let next = queue.waiting.pop_front();
        queue.threads -= usize::from(next.is_none());
        next
    }

    fn queue(&self) -> MutexGuard<'_, WorkQueue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::mpsc::channel;
    use std::sync::{Arc, Barrier};

    #[test]
    fn all_is_done_on_no_more_threads_than_there_may_be() {
        static POOL: PlainThreads = PlainThreads::new(2);
        static NOW: AtomicUsize = AtomicUsize::new(0);
        let (done, all) = channel();
        // Two at a time pass; with one thread none would.
        let together = Arc::new(Barrier::new(2));
        for n in 0..100 {
            let (done, together) = (done.clone(), together.clone());
            POOL.run(move || {
                let now = NOW.fetch_add(1, Ordering::SeqCst) + 1;
                together.wait();
                NOW.fetch_sub(1, Ordering::SeqCst);
                assert!(n != 50, "a panic ends nothing else");
                done.send((n, now)).unwrap();
            });
        }
        drop(done);
        let (mut numbers, at_once): (Vec<_>, Vec<_>) = all.iter().unzip();
        numbers.sort_unstable();
        assert_eq!(numbers, (0..100).filter(|n| *n != 50).collect::<Vec<_>>());
        assert_eq!(at_once.into_iter().max(), Some(2));
    }
}
