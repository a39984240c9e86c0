//! Contents that the model has seen, by hash: what a file that changed meanwhile is compared with.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};

/// The largest content that is kept.
pub const MAX_ONE: usize = 1 << 20;
/// Of all together; the oldest goes first.
const MAX_ALL: usize = 16 << 20;

#[derive(Default)]
pub struct SeenContents(Mutex<Contents>);

#[derive(Default)]
struct Contents {
    by_hash: HashMap<String, Arc<[u8]>>,
    /// Oldest first.
    order: VecDeque<String>,
    bytes: usize,
}

impl SeenContents {
    pub fn put(&self, hash: &str, bytes: &[u8]) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if bytes.len() > MAX_ONE || kept.by_hash.contains_key(hash) {
            return;
        }
        kept.bytes += bytes.len();
        kept.by_hash.insert(hash.to_owned(), bytes.into());
        kept.order.push_back(hash.to_owned());
        // Many small ones count for more than their bytes.
        while kept.bytes > MAX_ALL || kept.order.len() > MAX_ALL >> 10 {
            let Some(oldest) = kept.order.pop_front() else { break };
            kept.bytes -= kept.by_hash.remove(&oldest).map_or(0, |bytes| bytes.len());
        }
    }

    pub fn forget(&self, hash: &str) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(bytes) = kept.by_hash.remove(hash) {
            kept.bytes -= bytes.len();
            kept.order.retain(|kept| kept != hash);
        }
    }

    pub fn get(&self, hash: &str) -> Option<Arc<[u8]>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).by_hash.get(hash).cloned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_forgotten_takes_no_room() {
        let kept = SeenContents::default();
        for i in 0..100 {
            kept.put(&i.to_string(), &vec![0; MAX_ONE]);
            kept.forget(&i.to_string());
        }
        kept.forget("never there");
        let contents = kept.0.lock().unwrap();
        assert_eq!((contents.bytes, contents.order.len(), contents.by_hash.len()), (0, 0, 0));
    }

    #[test]
    fn the_oldest_goes_when_there_is_too_much() {
        let kept = SeenContents::default();
        let megabyte = vec![0; MAX_ONE];
        for i in 0..17 {
            kept.put(&i.to_string(), &megabyte);
        }
        kept.put("large", &vec![0; MAX_ONE + 1]);
        assert!(kept.get("0").is_none() && kept.get("large").is_none());
        assert!((1..17).all(|i| kept.get(&i.to_string()).is_some()));
        for i in 0..20_000 {
            kept.put(&format!("small {i}"), b"");
        }
        assert!(kept.get("16").is_none() && kept.get("small 19999").is_some());
    }
}
