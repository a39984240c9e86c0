//! The body of a request as a list of shared slices.

use bytes::Bytes;

#[derive(Clone, Debug, Default)]
pub struct Body {
    pub slices: Vec<Bytes>,
    pub length: u64,
}

impl Body {
    pub fn push(&mut self, slice: Bytes) {
        if !slice.is_empty() {
            self.length += slice.len() as u64;
            self.slices.push(slice);
        }
    }

    pub fn word(&mut self, word: &'static str) {
        self.push(Bytes::from_static(word.as_bytes()));
    }
}
