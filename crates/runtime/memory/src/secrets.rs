//! Detects texts that contain a credential; they are not saved. Errs towards refusing: a sentence can be reworded, a
//! secret on disk cannot be taken back.
//!
//! A credential is recognized in five ways: by its form (`forms`), by the address that contains it, by the name before it
//! (`named`, and `plain` for values that are ordinary words), by the option before it (`options`), and by its randomness
//! (`values`). A commit, a digest or an id is ordinary, but not after `key =`. Commands that are learned automatically are
//! judged more strictly (`commands`).

mod commands;
mod forms;
mod named_secrets;
mod options;
mod plain_passwords;
mod values;

pub use commands::is_doubtful;

/// Why the text may not be kept, as the end of a sentence.
pub fn credential(text: &str) -> Option<&'static str> {
    if forms::has_private_key(text) {
        return Some("it contains a private key");
    }
    if forms::has_password_in_address(text) {
        return Some("it contains an address with a password");
    }
    if forms::has_token(text) {
        return Some("it contains what looks like an access token");
    }
    if forms::has_random(text) {
        return Some("it contains what looks like a random key");
    }
    if options::has_secret(text) {
        return Some("it passes a secret to a command");
    }
    named_secrets::is_given(text).then_some("it contains the value of a password, token or key")
}

#[cfg(test)]
#[path = "secrets_tests.rs"]
mod tests;
