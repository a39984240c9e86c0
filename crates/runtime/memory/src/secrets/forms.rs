//! Credentials that are known by their form, whatever stands around them.

use super::values::{is_placeholder, is_random};

/// Beginnings of words that are credentials wherever they stand, and how many further characters make one.
const BEGINNINGS: [(&str, usize); 46] = [
    ("sk-", 16),
    ("sk_live_", 10),
    ("sk_test_", 10),
    ("rk_live_", 10),
    ("rk_test_", 10),
    ("whsec_", 16),
    ("ghp_", 16),
    ("gho_", 16),
    ("ghs_", 16),
    ("ghu_", 16),
    ("ghr_", 16),
    ("github_pat_", 16),
    ("glpat-", 12),
    ("gldt-", 12),
    ("glrt-", 12),
    ("xoxb-", 10),
    ("xoxp-", 10),
    ("xoxa-", 10),
    ("xoxr-", 10),
    ("xoxs-", 10),
    ("xoxe-", 10),
    ("xapp-", 10),
    ("AKIA", 12),
    ("ASIA", 12),
    ("AIza", 20),
    ("ya29.", 16),
    ("GOCSPX-", 16),
    ("eyJ", 24),
    ("npm_", 20),
    ("pypi-", 20),
    ("dckr_pat_", 12),
    ("hf_", 20),
    ("SG.", 20),
    ("dop_v1_", 20),
    ("shpat_", 16),
    ("shpss_", 16),
    ("lin_api_", 16),
    ("sntrys_", 16),
    ("tskey-", 12),
    ("hvs.", 16),
    ("hvb.", 16),
    ("pscale_", 16),
    ("AGE-SECRET-KEY-", 16),
    ("PMAK-", 16),
    ("dapi", 28),
    ("ATATT", 20),
];

pub fn has_private_key(text: &str) -> bool {
    (text.contains("-----BEGIN") && text.contains("PRIVATE KEY"))
        || text.contains("PuTTY-User-Key-File")
}

pub fn has_token(text: &str) -> bool {
    words(text).any(is_known)
}

pub fn has_random(text: &str) -> bool {
    // In an address names of objects are long and random; what is secret in one has a name.
    words(text).any(|word| !word.starts_with("//") && is_random(word))
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(is_boundary).filter(|word| !word.is_empty())
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
                | '&'
                | '?'
        )
}

fn is_known(word: &str) -> bool {
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
            // A name such as `sk-learn-extension-helpers` has no digit and no capital.
            let made = rest.chars().any(|c| c.is_ascii_digit() || c.is_ascii_uppercase());
            free && made && body.count() >= *more
        })
    })
}

/// Users that are no users: `npm:react-dom@18`, `mailto:…`, an image with its digest.
const SCHEMES: [&str; 10] =
    ["npm", "mailto", "workspace", "file", "link", "patch", "git", "portal", "email", "https"];

/// `scheme://user:password@host`, and `user:passw0rd@host` without a scheme.
pub fn has_password_in_address(text: &str) -> bool {
    let with_scheme = text.split("://").skip(1).any(|rest| {
        let authority = rest
            .split(|c: char| c.is_whitespace() || matches!(c, '/' | '?' | '#' | '"' | '\'' | '`'))
            .next()
            .unwrap_or(rest);
        let Some((user, _)) = authority.rsplit_once('@') else { return false };
        user.split_once(':')
            .is_some_and(|(_, password)| !password.is_empty() && !is_placeholder(password))
    });
    with_scheme
        || text
            .split(|c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '`' | '='))
            .any(is_login)
}

fn is_login(word: &str) -> bool {
    let Some((login, host)) = word.rsplit_once('@') else { return false };
    let Some((user, password)) = login.split_once(':') else { return false };
    let user_is_one = !user.is_empty()
        && !user.contains('/')
        && !SCHEMES.contains(&user.to_ascii_lowercase().as_str());
    let host_is_one =
        host.starts_with(|c: char| c.is_ascii_alphanumeric()) && !host.starts_with("sha");
    user_is_one && host_is_one && !password.contains('@') && super::values::is_mixed(password)
}
