//! A name of a secret, and a value that is given to it: `password = hunter22`, `"token": "abc…"`, `the pass is …`.

use super::plain_passwords;
use super::values::{bare, is_key_material, is_mixed, is_number, is_placeholder, is_quantity};

/// How surely a name is one of a secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strength {
    /// Numbers behind it are counts: tokens are counted, too.
    Token,
    Password,
    /// `key`, of which most are none; only what is random counts.
    Key,
    /// `auth`: a value must be given to it.
    Weak,
}

const PASSWORDS: [&str; 28] = [
    "storepass",
    "keypass",
    "password",
    "passwd",
    "passphrase",
    "passcode",
    "passwort",
    "kennwort",
    "contraseña",
    "pwd",
    "secret",
    "apikey",
    "api_key",
    "accesskey",
    "access_key",
    "secretkey",
    "secret_key",
    "private_key",
    "privatekey",
    "accountkey",
    "account_key",
    "signing_key",
    "encryption_key",
    "auth_key",
    "authkey",
    "master_key",
    "credential",
    "credentials",
];
/// Only as a word of their own: `bypass` and `spin` are others.
const WORDS: [&str; 7] = ["pass", "pw", "pin", "creds", "otp", "psk", "mdp"];
/// What makes the key that follows a secret one.
const QUALIFIERS: [&str; 16] = [
    "api",
    "access",
    "secret",
    "private",
    "signing",
    "encryption",
    "auth",
    "account",
    "license",
    "licence",
    "master",
    "service",
    "webhook",
    "shared",
    "deploy",
    "admin",
];
/// Values that name a secret's place or are evidently none.
const HARMLESS: [&str; 62] = [
    "",
    "is",
    "are",
    "the",
    "a",
    "an",
    "in",
    "from",
    "not",
    "none",
    "null",
    "nil",
    "true",
    "false",
    "required",
    "optional",
    "missing",
    "wrong",
    "expired",
    "invalid",
    "hashed",
    "stored",
    "string",
    "str",
    "text",
    "bool",
    "boolean",
    "number",
    "see",
    "use",
    "uses",
    "read",
    "set",
    "validated",
    "checked",
    "encrypted",
    "rotated",
    "generated",
    "redacted",
    "hidden",
    "empty",
    "unset",
    "opaque",
    "bearer",
    "basic",
    "oauth",
    "sso",
    "ldap",
    "vault",
    "env",
    "prompt",
    "stdin",
    "keychain",
    "yes",
    "no",
    "enabled",
    "disabled",
    "unknown",
    "todo",
    "bcrypt",
    "scrypt",
    "jwt",
];
const STATING: [&str; 12] =
    ["is", "was", "are", "be", "to", "as", "equals", "ist", "lautet", "now", "currently", "still"];
/// Words between such a verb and the value.
const SETTING: [&str; 5] = ["set", "changed", "reset", "updated", "rotated"];
/// Words between a name and the verb that gives it a value: "the password for the staging database is".
const BETWEEN: usize = 7;

pub fn strength(name: &str) -> Option<Strength> {
    let lower = name.to_lowercase().replace('-', "_");
    let lower = lower.trim_matches('_');
    let singular = lower.strip_suffix('s').filter(|one| !one.ends_with('s')).unwrap_or(lower);
    let last = singular.rsplit('_').next().unwrap_or(singular);
    let ends =
        |list: &[&str]| list.iter().any(|end| singular.ends_with(end) || lower.ends_with(end));
    if ends(&["token", "bearer"]) {
        return Some(Strength::Token);
    }
    if ends(&PASSWORDS) || WORDS.contains(&last) || WORDS.contains(&lower) {
        return Some(Strength::Password);
    }
    if lower.contains("public") {
        return None;
    }
    match last {
        "key" => Some(Strength::Key),
        "auth" | "authorization" | "cookie" | "session" => Some(Strength::Weak),
        _ => None,
    }
}

pub fn is_given(text: &str) -> bool {
    let mut before = "";
    for (word, after) in names(text) {
        let qualified = QUALIFIERS.contains(&before.to_lowercase().as_str());
        let strength = match strength(word) {
            Some(Strength::Key) if qualified => Some(Strength::Password),
            strength => strength,
        };
        before = word;
        let front = text.len() - after.len() - word.len();
        let front = text.get(..front).unwrap_or_default();
        if strength.is_some_and(|strength| follows(word, strength, after))
            || is_scheme(word, after)
            || (plain_passwords::is_name(word) && is_plainly_given(front, after))
        {
            return true;
        }
    }
    has_login(text)
}

/// Each identifier with the text behind it.
fn names(text: &str) -> impl Iterator<Item = (&str, &str)> {
    let part = |c: char| c.is_alphanumeric() || c == '_' || c == '-';
    let mut at = 0;
    std::iter::from_fn(move || {
        let rest = text.get(at..)?;
        let begin = at + rest.find(part)?;
        let word = text.get(begin..)?;
        let end = begin + word.find(|c| !part(c)).unwrap_or(word.len());
        at = end;
        Some((text.get(begin..end)?, text.get(end..)?))
    })
}

fn follows(name: &str, strength: Strength, after: &str) -> bool {
    let tail = after.trim_start_matches(['"', '\'', '`', ']', ')']);
    let spaced = tail.starts_with(char::is_whitespace);
    let rest = tail.trim_start();
    if rest.starts_with("::") || rest.starts_with("://") {
        return false;
    }
    let given =
        ["=>", "->", "→", ":=", "==", "=", ":"].iter().find_map(|mark| rest.strip_prefix(mark));
    if let Some(rest) = given {
        return assigned(name, strength, rest, spaced || rest.starts_with(' '));
    }
    if !spaced || strength == Strength::Weak {
        return false;
    }
    let words: Vec<&str> = sentence(rest).split_whitespace().collect();
    adjacent(name, strength, words.first().copied().unwrap_or_default()) || stated(strength, &words)
}

/// Up to the end of the sentence.
fn sentence(text: &str) -> &str {
    let line = text.lines().next().unwrap_or_default();
    let end = line.match_indices(". ").map(|(at, _)| at).next();
    end.and_then(|end| line.get(..end)).unwrap_or(line)
}

/// `password = hunter22`. A plain word of a sentence that continues is no value: `Token: refreshed every hour`.
fn assigned(name: &str, strength: Strength, rest: &str, loose: bool) -> bool {
    let rest = rest.trim_start();
    let quote = rest.chars().next().filter(|c| matches!(c, '"' | '\'' | '`'));
    let inner = rest.trim_start_matches(['"', '\'', '`']);
    let stop = |c: char| match quote {
        Some(quote) => c == quote,
        None => c.is_whitespace() || matches!(c, '"' | '\'' | '`' | ',' | ';' | ')' | '}' | '|'),
    };
    let end = inner.find(stop).unwrap_or(inner.len());
    let value = inner.get(..end).unwrap_or_default();
    let more = inner.get(end..).unwrap_or_default().trim_start_matches(['"', '\'', '`']).trim();
    let body = value.trim_end_matches(['.', '!', '?', ':']);
    let lower = body.to_lowercase();
    if body.len() < 3
        || HARMLESS.contains(&lower.as_str())
        || is_placeholder(body)
        || body.contains('<')
    {
        return false;
    }
    match strength {
        Strength::Key => is_key_material(body),
        Strength::Token | Strength::Weak if is_quantity(body) && body.len() < 8 => false,
        Strength::Weak => is_mixed(body) && body.len() >= 6,
        Strength::Password if is_number(body) => body.len() >= 4,
        _ if is_quantity(body) && !is_number(body) => false,
        _ if lower == name.to_lowercase() => false,
        _ if body.chars().all(char::is_alphabetic) => {
            // `passphrase: correct horse battery staple`
            let phrase = name.to_lowercase().starts_with("pass")
                && plain_passwords::is_name(name)
                && plain_passwords::is_value(body);
            let typed = body.chars().filter(|c| c.is_uppercase()).count() >= 2 && body.len() < 20;
            quote.is_some() || (!typed && body.len() >= 4 && (!loose || more.is_empty() || phrase))
        }
        _ => is_mixed(body) || (!loose && body.len() >= 4) || quote.is_some(),
    }
}

/// `pw Zebra99!`, `use token abcdef1234567890`
fn adjacent(name: &str, strength: Strength, word: &str) -> bool {
    let body = bare(word);
    let digits = body.bytes().filter(u8::is_ascii_digit).count();
    let letters = body.chars().filter(|c| c.is_alphabetic()).count();
    match strength {
        Strength::Key => is_key_material(word),
        _ if name.eq_ignore_ascii_case("pin") => is_number(body) && (4..=8).contains(&body.len()),
        // Also a verb.
        _ if name.eq_ignore_ascii_case("pass") => is_mixed(body) && digits >= 2 && letters >= 3,
        Strength::Password => is_mixed(body) && digits >= 1 && letters >= 2 && body.len() >= 5,
        Strength::Token => {
            (is_mixed(body) && digits >= 2 && body.len() >= 8) || is_key_material(word)
        }
        Strength::Weak => false,
    }
}

/// `the password for staging is Zebra99!`
fn stated(strength: Strength, words: &[&str]) -> bool {
    let Some(verb) = words.iter().take(BETWEEN).position(|word| is_verb(word)) else {
        return false;
    };
    let Some(value) = words.get(verb..).and_then(value_of) else { return false };
    let body = bare(value);
    match strength {
        Strength::Key => is_key_material(value),
        Strength::Password if verb == 0 && is_number(body) => body.len() >= 4,
        _ => is_mixed(body) && body.len() >= 5,
    }
}

/// `the password is swordfish`, `set the password to swordfish`, `user bob and password swordfish`
fn is_plainly_given(before: &str, after: &str) -> bool {
    let tail = after.trim_start_matches(['"', '\'', '`', ')']);
    if !tail.starts_with(char::is_whitespace) {
        return false;
    }
    let words: Vec<&str> = sentence(tail).split_whitespace().collect();
    if plain_passwords::is_handed_over(before, &words) {
        return true;
    }
    let Some(verb) = words.iter().take(BETWEEN).position(|word| is_verb(word)) else {
        return false;
    };
    let (between, rest) = words.split_at(verb);
    if !plain_passwords::is_of_the_name(between) {
        return false;
    }
    let moved = rest.first().is_some_and(|verb| matches!(*verb, "to" | "as" | "be"));
    if moved && !(between.is_empty() && plain_passwords::is_set(before)) {
        return false;
    }
    value_of(rest).is_some_and(plain_passwords::is_value)
}

fn is_verb(word: &str) -> bool {
    STATING.contains(&word.to_lowercase().as_str()) || word.ends_with([':', '='])
}

/// The first word behind the verb that is no part of it.
fn value_of<'a>(words: &[&'a str]) -> Option<&'a str> {
    let part =
        |word: &str| STATING.contains(&word.to_lowercase().as_str()) || SETTING.contains(&word);
    words.iter().skip(1).find(|word| !part(word)).copied()
}

/// `Authorization: Basic dXNlcjpw…`, `Bearer abc123…`
fn is_scheme(word: &str, after: &str) -> bool {
    if !matches!(word, "Basic" | "Bearer" | "bearer" | "Digest" | "ApiKey")
        || !after.starts_with(' ')
    {
        return false;
    }
    let value = after.split_whitespace().next().unwrap_or_default();
    let made = value.chars().any(|c| c.is_ascii_digit() || c == '=')
        && value.chars().any(char::is_alphabetic);
    bare(value).len() >= 8 && made && is_mixed(value)
}

/// `log in as admin / hunter22`, `credentials admin:S3cret9`
fn has_login(text: &str) -> bool {
    let lower = text.to_lowercase();
    let speaks = ["login", "log in", "logon", "sign in", "credentials", "creds", "basic auth"]
        .iter()
        .any(|word| lower.contains(word));
    let pair = |word: &str| {
        let Some((user, secret)) = word.split_once(['/', ':']) else { return false };
        let name = !user.is_empty()
            && user
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-' | '@'));
        let secret = bare(secret);
        name && secret.len() >= 6
            && !secret.contains('/')
            && is_mixed(secret)
            && !is_placeholder(secret)
    };
    let text = text.replace(" / ", "/");
    let words: Vec<&str> = text.split_whitespace().collect();
    let plain =
        |two: &[&str]| matches!(two, [before, word] if plain_passwords::is_pair(before, word));
    speaks && (words.iter().any(|word| pair(word)) || words.windows(2).any(plain))
}
