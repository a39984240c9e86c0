//! Sessions are named by their ids, or by a beginning that fits no other.

use crate::TranscriptError;
use std::path::PathBuf;

/// A shorter beginning names nothing.
const SHORTEST_PREFIX: usize = 8;

/// The session of this name among those whose ids begin with it. Of several with the same id the first counts.
pub(crate) fn the_one(
    mut found: Vec<(String, PathBuf)>,
    name: &str,
) -> Result<Option<(String, PathBuf)>, TranscriptError> {
    if let Some(exact) = found.iter().position(|(id, _)| id == name) {
        return Ok(Some(found.swap_remove(exact)));
    }
    if name.len() < SHORTEST_PREFIX {
        return Ok(None);
    }
    match found.len() {
        0 | 1 => Ok(found.pop()),
        _ => {
            let ids = found.into_iter().map(|(id, _)| id).take(10).collect();
            Err(TranscriptError::Ambiguous { prefix: name.to_owned(), ids })
        }
    }
}
