//! Text as the tools need it: core's, and hashes.

pub use ostler_core::text::*;
use sha2::{Digest, Sha256};
use std::fmt::Write;

pub fn sha256(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

pub fn hex(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        let _ = write!(out, "{byte:02x}");
    }
    out
}

/// How many lines end in `\r\n`, and how many in `\n` alone.
pub fn line_ends(content: &[u8]) -> (usize, usize) {
    let crlf = content.windows(2).filter(|pair| pair == b"\r\n").count();
    (crlf, content.iter().filter(|byte| **byte == b'\n').count() - crlf)
}

#[cfg(test)]
mod tests {
    use super::sha256;

    #[test]
    fn hashes_are_hex() {
        assert_eq!(sha256(b""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    }
}
