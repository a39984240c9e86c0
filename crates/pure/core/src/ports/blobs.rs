//! Large content by its hash.

use super::session_store::StoreError;
use crate::ids::BlobRef;
use std::path::PathBuf;

/// Blocking: implementations touch the disk for a moment.
pub trait Blobs: Send + Sync {
    /// Stores the bytes, durably, and names them by their hash. Storing the same bytes twice is free.
    fn put(&self, bytes: &[u8]) -> Result<BlobRef, StoreError>;
    fn get(&self, blob: &BlobRef) -> Result<Vec<u8>, StoreError>;
    /// Keeps the bytes where the model may read them, and says where; none if this store has no files. What [`put`]
    /// stored is never there: it may come from another project.
    ///
    /// [`put`]: Blobs::put
    fn spill(&self, bytes: &[u8]) -> Result<Option<PathBuf>, StoreError>;
}
