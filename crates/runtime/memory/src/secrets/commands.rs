//! Commands that are learned unasked: in doubt they are not.

use super::credential;
use super::values::{bare, is_hex, is_mixed, is_number, is_placeholder};

/// Parts of words that speak of secrets.
const SPEAKS: [&str; 16] = [
    "passw",
    "passphrase",
    "passcode",
    "secret",
    "credential",
    "apikey",
    "api_key",
    "api-key",
    "access_key",
    "access-key",
    "private_key",
    "bearer",
    "authorization",
    "cookie",
    "sshpass",
    "htpasswd",
];
/// Parts of the name of a variable that holds one.
const NAMES: [&str; 12] = [
    "PASS",
    "PASSWORD",
    "PASSWD",
    "PWD",
    "PW",
    "SECRET",
    "TOKEN",
    "KEY",
    "AUTH",
    "CREDENTIALS",
    "COOKIE",
    "PIN",
];
/// Second words after which a secret often stands.
const ENTRIES: [&str; 4] = ["login", "auth", "secret", "secrets"];

/// May hold a secret, or is about one.
pub fn is_doubtful(command: &str) -> bool {
    if credential(command).is_some() || command.contains("<<") {
        return true;
    }
    let words: Vec<&str> = command.split_whitespace().collect();
    let feeds =
        ["--password-stdin", "-S", "--stdin", "--with-token", "chpasswd", "--passphrase-fd"];
    if words.iter().any(|word| feeds.contains(word)) && command.contains('|') {
        return true;
    }
    let configures = words.iter().any(|word| word.starts_with("config")) && words.contains(&"set");
    if configures || words.get(1).is_some_and(|second| ENTRIES.contains(second)) {
        return true;
    }
    let mut before = "";
    words.iter().any(|word| {
        let previous = std::mem::replace(&mut before, word);
        is_about_secrets(word) || is_value_of(previous, word) || is_strange(word)
    })
}

/// The word names a secret and is neither a file nor a variable.
fn is_about_secrets(word: &str) -> bool {
    let lower = bare(word).to_lowercase();
    let speaks = SPEAKS.iter().any(|part| lower.contains(part))
        || (lower.contains("token") && (lower.starts_with('-') || lower.contains('=')));
    let place = (lower.contains('/') || lower.contains("::") || lower.contains(".rs"))
        && !lower.contains('=');
    let assigned = word.split_once('=').is_some_and(|(name, value)| {
        let name = name.trim_start_matches('-').to_ascii_uppercase();
        let parts = || name.split(['_', '-', '.']);
        parts().any(|part| NAMES.contains(&part)) && !is_place(value)
    });
    let stands = word.split_once('=').is_some_and(|(_, value)| is_place(value));
    (speaks && !place && !stands) || assigned
}

fn is_place(value: &str) -> bool {
    let value = value.trim_start_matches(['"', '\'']);
    value.is_empty()
        || value.starts_with(['$', '/', '.', '~'])
        || (is_number(value) && value.len() < 4)
}

/// `-p X`, `-pX`, `-a X`, `-w X`, `-k X`, `-u X:Y` of whatever program, where X could be a secret.
fn is_value_of(option: &str, word: &str) -> bool {
    let short = |option: &str| {
        matches!(option, "-p" | "-P" | "-a" | "-w" | "-W" | "-k" | "-u" | "-U" | "-A" | "-b")
    };
    let could = |value: &str| is_mixed(value) || (value.contains([':', '%']) && !is_ports(value));
    let glued = word
        .split_at_checked(2)
        .is_some_and(|(option, value)| short(option) && !value.is_empty() && could(value));
    glued || (short(option) && !word.starts_with('-') && !is_placeholder(word) && could(word))
}

/// `8080:80`
fn is_ports(value: &str) -> bool {
    value.chars().all(|c| c.is_ascii_digit() || matches!(c, ':' | '.' | '/'))
        || value.contains("::")
}

/// Long, with letters and digits, without a mark in it, and no commit.
fn is_strange(word: &str) -> bool {
    let body = bare(word);
    let longest = body
        .split(['/', '-', '_', '.', '=', ':', '@', ','])
        .max_by_key(|run| run.len())
        .unwrap_or(body);
    let digits = longest.bytes().filter(u8::is_ascii_digit).count();
    let letters = longest.bytes().filter(u8::is_ascii_alphabetic).count();
    longest.len() >= 12 && digits >= 2 && letters >= 2 && !(is_hex(longest) && longest.len() <= 40)
}
