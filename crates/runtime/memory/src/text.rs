//! Small things about the text of an entry.

use sha2::{Digest, Sha256};

/// One entry is a sentence or a short paragraph.
pub const LONGEST: usize = 2_000;
pub const SHORTEST: usize = 8;

/// Whitespace folded, control characters gone: one line.
pub fn folded(text: &str) -> String {
    let clean: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    clean.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Two entries of the same core say the same.
pub fn core_of(text: &str) -> String {
    let lower = folded(text).to_lowercase();
    lower.trim_matches(|c: char| !c.is_alphanumeric()).to_owned()
}

/// What twins share.
pub fn hash_of(text: &str) -> String {
    hex(&Sha256::digest(core_of(text).as_bytes()))
}

pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Tokens, by a rule of thumb that errs on the safe side for English and code.
pub fn tokens(text: &str) -> usize {
    text.len().div_ceil(3)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn twins() {
        let same = ["Use pnpm.", "use  pnpm", "  Use\npnpm!", "USE PNPM…"];
        for text in same {
            assert_eq!(hash_of(text), hash_of(same[0]), "{text}");
        }
        assert_ne!(hash_of("Use npm."), hash_of(same[0]));
        assert_eq!(folded("a\u{1b}[31m\t b\r\nc"), "a [31m b c");
    }
}
