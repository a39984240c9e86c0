//! Does a text hold a credential? Such a text is not kept. Errs towards refusing: a sentence can be said otherwise,
//! a secret on disk cannot be taken back.

/// Beginnings of words that are credentials wherever they stand, and how many further characters make one.
const BEGINNINGS: [(&str, usize); 25] = [
    ("sk-", 16),
    ("sk_live_", 10),
    ("sk_test_", 10),
    ("rk_live_", 10),
    ("ghp_", 16),
    ("gho_", 16),
    ("ghs_", 16),
    ("ghu_", 16),
    ("ghr_", 16),
    ("github_pat_", 16),
    ("glpat-", 12),
    ("xoxb-", 10),
    ("xoxp-", 10),
    ("xoxa-", 10),
    ("xapp-", 10),
    ("AKIA", 12),
    ("ASIA", 12),
    ("AIza", 20),
    ("ya29.", 16),
    ("eyJ", 24),
    ("npm_", 20),
    ("pypi-", 20),
    ("dckr_pat_", 12),
    ("hf_", 20),
    ("SG.", 20),
];

/// Names of secrets. A value that follows one is taken for a secret.
const NAMES: [&str; 16] = [
    "password",
    "passwd",
    "passphrase",
    "passcode",
    "pwd",
    "secret",
    "token",
    "apikey",
    "api_key",
    "api-key",
    "access_key",
    "private_key",
    "credential",
    "client_secret",
    "auth",
    "bearer",
];

/// Values that name a secret's place or are evidently none.
const HARMLESS: [&str; 22] = [
    "", "is", "are", "the", "a", "an", "in", "from", "not", "none", "null", "true", "false",
    "required", "optional", "missing", "wrong", "expired", "invalid", "hashed", "stored", "string",
];

/// Why the text may not be kept, as the end of a sentence.
pub fn credential(text: &str) -> Option<&'static str> {
    if text.contains("-----BEGIN") && text.contains("PRIVATE KEY") {
        return Some("it holds a private key");
    }
    if has_password_in_address(text) {
        return Some("it holds an address with a password");
    }
    let words: Vec<&str> = text.split(is_boundary).filter(|word| !word.is_empty()).collect();
    if words.iter().any(|word| is_known_form(word)) {
        return Some("it holds what looks like an access token");
    }
    if words.iter().any(|word| is_random(word)) {
        return Some("it holds what looks like a random key");
    }
    assigned(text).then_some("it gives the value of a password, token or key")
}

fn is_boundary(c: char) -> bool {
    c.is_whitespace()
        || matches!(
            c,
            '"' | '\''
                | '`'
                | '('
                | ')'
                | ','
                | ';'
                | '<'
                | '>'
                | '='
                | '['
                | ']'
                | '{'
                | '}'
                | ':'
                | '|'
        )
}

fn is_known_form(word: &str) -> bool {
    BEGINNINGS.iter().any(|(beginning, more)| {
        word.match_indices(beginning).any(|(at, _)| {
            let free = word
                .get(..at)
                .and_then(|before| before.chars().next_back())
                .is_none_or(|c| !c.is_alphanumeric());
            let rest = word.get(at + beginning.len()..).unwrap_or_default();
            let body = rest
                .chars()
                .take_while(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.'));
            free && body.count() >= *more
        })
    })
}

/// `scheme://user:password@host`
fn has_password_in_address(text: &str) -> bool {
    text.split("://").skip(1).any(|rest| {
        let authority = rest
            .split(|c: char| c.is_whitespace() || matches!(c, '/' | '?' | '#'))
            .next()
            .unwrap_or(rest);
        let Some((user, _)) = authority.rsplit_once('@') else { return false };
        user.split_once(':')
            .is_some_and(|(_, password)| !password.is_empty() && !is_placeholder(password))
    })
}

/// Long, mixed and without a word in it. Hashes in hexadecimal are commits and digests, and common in such notes;
/// those are let pass up to the length of a SHA-1.
fn is_random(word: &str) -> bool {
    let body = word.trim_matches(|c: char| !c.is_ascii_alphanumeric());
    let hex = body.bytes().all(|byte| byte.is_ascii_hexdigit());
    if body.len() < 32 || (hex && body.len() <= 40) {
        return false;
    }
    let plain = body.bytes().all(|byte| {
        byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'_' | b'-' | b'=')
    });
    if !plain {
        return false;
    }
    if hex {
        // sha256 digests pin packages; a key of that form is only known by the name before it.
        return false;
    }
    // A path or an identifier has words between its marks; a key has runs of mixed case and digits.
    let longest = body.split(['/', '_', '-', '+', '=']).max_by_key(|run| run.len()).unwrap_or(body);
    let digits = longest.bytes().filter(u8::is_ascii_digit).count();
    let upper = longest.bytes().filter(u8::is_ascii_uppercase).count();
    let lower = longest.bytes().filter(u8::is_ascii_lowercase).count();
    longest.len() >= 20 && digits >= 2 && upper >= 2 && lower >= 2
}

/// `password = hunter22`, `"token": "abc123…"`, `API_KEY is 5f3…`
fn assigned(text: &str) -> bool {
    let lower = text.to_ascii_lowercase();
    NAMES.iter().any(|name| {
        lower.match_indices(name).any(|(at, _)| {
            let end = at + name.len();
            let after = text.get(end..).unwrap_or_default();
            let tail = after.trim_start_matches(|c: char| c.is_ascii_alphanumeric() || c == '_');
            // `tokenizer` and `authors` are other words.
            let same_word = after.len() - tail.len() <= 1 || after.starts_with('_');
            same_word && value_follows(tail)
        })
    })
}

fn value_follows(tail: &str) -> bool {
    let rest = tail.trim_start_matches(['"', '\'', '`', ' ']);
    let stated = match rest.strip_prefix([':', '=']) {
        Some(rest) => Some((rest.trim_start_matches(['=', '>']), 4)),
        None => ["is ", "was ", "Bearer "]
            .iter()
            .find_map(|word| rest.strip_prefix(word))
            .map(|rest| (rest, 8)),
    };
    // After a mere "is" only what no word looks like is a value.
    let Some((rest, least)) = stated else { return false };
    let value: String = rest
        .trim_start_matches(|c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '`'))
        .chars()
        .take_while(|c| !c.is_whitespace() && !matches!(c, '"' | '\'' | '`' | ',' | ';' | ')'))
        .collect();
    let mixed = value.chars().any(|c| c.is_ascii_digit())
        || value.chars().any(|c| !c.is_alphanumeric() && c != '.' && c != '_');
    let harmless = HARMLESS.contains(&value.trim_end_matches('.').to_ascii_lowercase().as_str());
    let number =
        value.trim_end_matches(|c: char| c.is_alphabetic() || c == '.').parse::<u64>().is_ok()
            && value.len() < 6;
    value.len() >= least && (mixed || least == 4) && !harmless && !number && !is_placeholder(&value)
}

/// `<token>`, `$TOKEN`, `***`, `op://vault/item`, `env.TOKEN`, `config/secrets.toml`.
fn is_placeholder(value: &str) -> bool {
    value.starts_with(['<', '$', '{', '%', '*', '.', '/', '~'])
        || value.contains("://")
        || value.contains("::")
        || value.contains('(')
        || value.bytes().all(|byte| matches!(byte, b'x' | b'X' | b'*' | b'.' | b'-'))
        || value.split_once('/').is_some_and(|(folder, _)| {
            folder.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'.')
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_are_refused() {
        let made_up = format!("the key is sk-ant-{}", "a1B2".repeat(8));
        for text in [
            made_up.as_str(),
            "use ghp_abcdefghijklmnopqrstuvwxyz012345 for the bot",
            "AWS: AKIAIOSFODNN7EXAMPLE",
            "connect with postgres://app:hunter2@db.internal/shop",
            "proxy http://ann:secret9@proxy:3128",
            "-----BEGIN RSA PRIVATE KEY----- MIIE",
            "password = hunter22",
            "DB_PASSWORD=hunter22",
            "\"api_key\": \"f00baa-1234\"",
            "the admin password is Tr0ub4dor&3",
            "export GITHUB_TOKEN=abc123def456",
            "Authorization: Bearer eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.e30.abc",
            "signing key 9aF3kQz7Lw2XbN8vRt5YcJ1mHs6Pd4Ge",
            "token: xoxb-123456789012-abcdef",
            "the passphrase is correct-horse-battery",
        ] {
            assert!(credential(text).is_some(), "{text}");
        }
    }

    #[test]
    fn ordinary_notes_are_kept() {
        for text in [
            "Passwords are hashed with argon2id, memory 64 MiB, three passes.",
            "Authentication tokens are opaque and looked up.",
            "The token is read from the environment variable SHOP_TOKEN.",
            "password: required",
            "The password reset link is valid for 20 minutes.",
            "token = $TOKEN",
            "api_key = \"<your key>\"",
            "Secrets come from 1password: op run --env-file .env.tpl -- just dev.",
            "Pinned to 182cbf5a0c1d2e3f4a5b6c7d8e9f0a1b2c3d4e5f.",
            "sha256 b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54",
            "The tokenizer: wordpiece with 30522 entries.",
            "Authors: Ann and Bob",
            "crates/core/src/permission/step_verdict_tests_and_more.rs holds them",
            "Rotate the API key of the shipping provider in Vault.",
            "The cookie shop_sid is HttpOnly.",
            "max_tokens = 8000",
            "The clone URL is https://github.com/a/b and ssh://git@host/a.git",
            "auth: see docs/auth.md",
        ] {
            assert_eq!(credential(text), None, "{text}");
        }
    }

    #[test]
    fn the_fixtures_are_ordinary_notes() {
        for line in include_str!("../../../fixtures/memory/pairs.psv").lines() {
            let text = line.split('|').nth(1).unwrap();
            assert_eq!(credential(text), None, "{text}");
        }
    }
}
