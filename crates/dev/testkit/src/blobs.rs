//! Blobs in memory, named by a count instead of a hash.

use crate::locked;
use ostler_core::ids::BlobRef;
use ostler_core::ports::{Blobs, StoreError};
use std::path::PathBuf;
use std::sync::Mutex;

#[derive(Debug, Default)]
pub struct TestBlobs {
    kept: Mutex<Vec<Vec<u8>>>,
    full: bool,
}

impl TestBlobs {
    /// Takes nothing.
    pub fn full() -> Self {
        TestBlobs { full: true, ..TestBlobs::default() }
    }

    pub fn kept(&self) -> Vec<Vec<u8>> {
        locked(&self.kept).clone()
    }
}

impl Blobs for TestBlobs {
    fn put(&self, bytes: &[u8]) -> Result<BlobRef, StoreError> {
        if self.full {
            return Err(StoreError::Io {
                doing: "write",
                path: "/blobs".into(),
                why: "the disk is full".into(),
            });
        }
        let mut kept = locked(&self.kept);
        let at = kept.iter().position(|had| had == bytes).unwrap_or_else(|| {
            kept.push(bytes.to_vec());
            kept.len() - 1
        });
        Ok(BlobRef::new(at.to_string()))
    }

    fn get(&self, blob: &BlobRef) -> Result<Vec<u8>, StoreError> {
        let at: Option<usize> = blob.as_str().parse().ok();
        let found = at.and_then(|at| locked(&self.kept).get(at).cloned());
        found.ok_or_else(|| StoreError::BlobLost(blob.to_string()))
    }

    fn spill(&self, bytes: &[u8]) -> Result<Option<PathBuf>, StoreError> {
        let blob = self.put(bytes)?;
        Ok(Some(PathBuf::from(format!("/spills/{blob}"))))
    }
}
