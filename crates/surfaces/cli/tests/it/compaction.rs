//! Summaries through the built program: killed, forbidden, failing, switched off.

mod crash;
mod hooks;
mod switches;
mod windows;

use std::sync::Mutex;

/// So many runs at the same time.
const PLAYERS: usize = 4;

/// Does it for all, a few at a time; the results in the order of the list.
fn at_once<T: Sync, R: Send>(all: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let next = Mutex::new(all.iter().enumerate());
    let found = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..PLAYERS {
            scope.spawn(|| {
                loop {
                    let Some((at, one)) = next.lock().unwrap().next() else { break };
                    let result = work(one);
                    found.lock().unwrap().push((at, result));
                }
            });
        }
    });
    let mut found = found.into_inner().unwrap();
    found.sort_by_key(|(at, _)| *at);
    found.into_iter().map(|(_, result)| result).collect()
}
