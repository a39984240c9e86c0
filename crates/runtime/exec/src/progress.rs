//! The latest output of a running command, for "last output: …".

/// How many bytes of the newest output are shown.
const KEPT: usize = 2048;

/// A snapshot a reader can wait for; memory is bounded whatever the command writes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OutputProgress {
    /// All bytes written so far.
    pub total: u64,
    tail: Vec<u8>,
}

impl OutputProgress {
    pub(crate) fn push(&mut self, chunk: &[u8]) {
        self.total += chunk.len() as u64;
        let new = &chunk[chunk.len().saturating_sub(KEPT)..];
        let surplus = (self.tail.len() + new.len()).saturating_sub(KEPT);
        self.tail.drain(..surplus.min(self.tail.len()));
        self.tail.extend_from_slice(new);
    }

    /// The newest bytes as text; a character cut in two at the front is left out.
    pub fn text(&self) -> String {
        let whole = self.total == self.tail.len() as u64;
        let tail = if whole { &self.tail[..] } else { crate::capture::whole_front(&self.tail) };
        crate::capture::readable(tail)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_the_newest_bytes_and_counts_all() {
        let mut progress = OutputProgress::default();
        progress.push(b"old ");
        progress.push(&[b'x'; 10_000]);
        progress.push(b"new");
        assert_eq!(progress.total, 10_007);
        assert_eq!(progress.tail.len(), KEPT);
        assert!(progress.text().ends_with("xxxnew"));
        assert!(!progress.text().contains("old"));
    }

    #[test]
    fn a_character_cut_at_the_front_is_left_out() {
        let mut progress = OutputProgress::default();
        progress.push("é".repeat(KEPT).as_bytes());
        progress.push(b"!");
        assert_eq!(progress.text(), format!("{}!", "é".repeat((KEPT - 1) / 2)));
    }
}
