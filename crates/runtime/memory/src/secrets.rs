//! Does a text hold a credential? Such a text is not kept. Errs towards refusing: a sentence can be said otherwise,
//! a secret on disk cannot be taken back.
//!
//! Five ways to know one: its form (`forms`), an address that holds it, the name before it (`named`, and `plain` for
//! values that are ordinary words), the option before it (`options`), and that nobody would write such a word (`values`). A commit, a digest or an id is ordinary; the same
//! behind `key =` is not. Commands that are learnt unasked are judged more strictly (`commands`).

mod commands;
mod forms;
mod named;
mod options;
mod plain;
mod values;

pub use commands::is_doubtful;

/// Why the text may not be kept, as the end of a sentence.
pub fn credential(text: &str) -> Option<&'static str> {
    if forms::has_private_key(text) {
        return Some("it holds a private key");
    }
    if forms::has_password_in_address(text) {
        return Some("it holds an address with a password");
    }
    if forms::has_token(text) {
        return Some("it holds what looks like an access token");
    }
    if forms::has_random(text) {
        return Some("it holds what looks like a random key");
    }
    if options::has_secret(text) {
        return Some("it gives a secret to a command");
    }
    named::is_given(text).then_some("it gives the value of a password, token or key")
}

#[cfg(test)]
#[path = "secrets_tests.rs"]
mod tests;
