//! The secret that a client of the HTTP server shows with every request.

use sha2::{Digest, Sha256};

/// The shortest token that is taken from a file.
const SHORTEST: usize = 16;

/// Only its hash is kept.
#[derive(Clone, PartialEq, Eq)]
pub struct Token([u8; 32]);

impl Token {
    /// A new one, with its text.
    pub fn random() -> (Self, String) {
        let text = format!("{}{}", ostler::new_uuid(), ostler::new_uuid()).replace('-', "");
        (Token::hashed(&text), text)
    }

    /// # Errors
    /// In words, if it is too easy to guess, or cannot stand in a header.
    pub fn given(text: &str) -> Result<Self, String> {
        let text = text.trim();
        if text.len() < SHORTEST {
            return Err(format!("a token needs at least {SHORTEST} characters"));
        }
        match text.bytes().all(|byte| byte.is_ascii_graphic()) {
            true => Ok(Token::hashed(text)),
            false => Err("a token consists of letters, digits and signs without spaces".into()),
        }
    }

    fn hashed(text: &str) -> Self {
        Token(Sha256::digest(text.as_bytes()).into())
    }

    /// The value of an `Authorization` header shows this token. Hashes are compared, so the time that takes says nothing
    /// about the token.
    pub(crate) fn is_shown_by(&self, authorization: &str) -> bool {
        let shown = authorization.split_once(' ');
        shown.is_some_and(|(scheme, token)| {
            scheme.eq_ignore_ascii_case("bearer") && Token::hashed(token.trim()) == *self
        })
    }
}

impl std::fmt::Debug for Token {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Token(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_token_itself_is_accepted() {
        let (token, text) = Token::random();
        assert!(token.is_shown_by(&format!("Bearer {text}")));
        assert!(token.is_shown_by(&format!("bearer {text}")));
        for wrong in [
            text.clone(),
            format!("Basic {text}"),
            format!("Bearer {text}x"),
            format!("Bearer {}", text.get(1..).unwrap()),
            "Bearer ".into(),
            String::new(),
        ] {
            assert!(!token.is_shown_by(&wrong), "{wrong}");
        }
        assert_ne!(Token::random().1, text);
        assert!(!format!("{token:?}").contains(&text));
    }

    #[test]
    fn a_weak_token_is_refused() {
        assert!(Token::given("short").is_err());
        assert!(Token::given("with spaces inside of it").is_err());
        let given = Token::given(" 0123456789abcdef\n").unwrap();
        assert!(given.is_shown_by("Bearer 0123456789abcdef"));
    }
}
