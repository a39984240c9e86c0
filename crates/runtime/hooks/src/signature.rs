//! Signatures of webhooks: HMAC with SHA-256 over the timestamp, a dot and the body.

use sha2::{Digest, Sha256};
use std::fmt::Write;

const BLOCK: usize = 64;

/// RFC 2104.
pub fn hmac_sha256(key: &[u8], message: &[&[u8]]) -> [u8; 32] {
    let mut padded = [0u8; BLOCK];
    if key.len() > BLOCK {
        let short: [u8; 32] = Sha256::digest(key).into();
        padded.iter_mut().zip(short).for_each(|(to, from)| *to = from);
    } else {
        padded.iter_mut().zip(key).for_each(|(to, from)| *to = *from);
    }
    let mut inner = Sha256::new_with_prefix(padded.map(|byte| byte ^ 0x36));
    for part in message {
        inner.update(part);
    }
    let inner: [u8; 32] = inner.finalize().into();
    Sha256::new_with_prefix(padded.map(|byte| byte ^ 0x5c)).chain_update(inner).finalize().into()
}

/// The value of `X-Ostler-Signature`.
pub fn signature(secret: &str, timestamp: &str, body: &[u8]) -> String {
    let mut text = "sha256=".to_owned();
    for byte in hmac_sha256(secret.as_bytes(), &[timestamp.as_bytes(), b".", body]) {
        let _ = write!(text, "{byte:02x}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hex(bytes: &[u8]) -> String {
        bytes.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// RFC 4231, cases 1, 2, 6.
    #[test]
    fn the_published_vectors() {
        for (key, message, expected) in [
            (
                &[0x0b; 20][..],
                &b"Hi There"[..],
                "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7",
            ),
            (
                b"Jefe",
                b"what do ya want for nothing?",
                "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843",
            ),
            (
                &[0xaa; 131],
                b"Test Using Larger Than Block-Size Key - Hash Key First",
                "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54",
            ),
        ] {
            assert_eq!(hex(&hmac_sha256(key, &[message])), expected);
            let (front, back) = message.split_at(3);
            assert_eq!(hex(&hmac_sha256(key, &[front, back])), expected);
        }
    }

    #[test]
    fn the_timestamp_is_signed_with_the_body() {
        let one = signature("s", "1", b"{}");
        assert!(one.starts_with("sha256=") && one.len() == 71);
        assert_ne!(one, signature("s", "2", b"{}"));
        assert_ne!(one, signature("s", "1", b"{ }"));
        assert_ne!(one, signature("t", "1", b"{}"));
    }
}
