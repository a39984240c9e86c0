//! Secrets among the words of a command: after an option that takes one, glued to it, or as `user:secret`.

use super::named_secrets::{Strength, strength};
use super::values::{bare, is_key_material, is_mixed, is_number, is_placeholder};

/// Words that follow the name of an option where a sentence speaks of it.
const FOLLOWERS: [&str; 56] = [
    "option",
    "options",
    "flag",
    "flags",
    "switch",
    "argument",
    "arguments",
    "parameter",
    "parameters",
    "value",
    "file",
    "field",
    "is",
    "was",
    "are",
    "and",
    "or",
    "for",
    "to",
    "from",
    "in",
    "on",
    "with",
    "without",
    "instead",
    "if",
    "when",
    "must",
    "should",
    "can",
    "cannot",
    "which",
    "that",
    "as",
    "at",
    "by",
    "not",
    "only",
    "takes",
    "reads",
    "asks",
    "prompts",
    "prompt",
    "works",
    "does",
    "has",
    "will",
    "may",
    "needs",
    "because",
    "but",
    "then",
    "there",
    "so",
    "the",
    "a",
];

/// Programs whose short option takes a secret: program, option, and whether the secret may be a word of its own.
const PROGRAMS: [(&str, &str, bool); 37] = [
    ("sshpass", "-p", true),
    ("mysql", "-p", false),
    ("mariadb", "-p", false),
    ("mysqldump", "-p", false),
    ("mysqladmin", "-p", false),
    ("mysqlimport", "-p", false),
    ("mycli", "-p", false),
    ("redis-cli", "-a", true),
    ("mongo", "-p", true),
    ("mongosh", "-p", true),
    ("mongodump", "-p", true),
    ("mongorestore", "-p", true),
    ("ldapsearch", "-w", true),
    ("ldapmodify", "-w", true),
    ("ldapadd", "-w", true),
    ("ldapwhoami", "-w", true),
    ("zip", "-P", true),
    ("unzip", "-P", true),
    ("7z", "-p", false),
    ("7za", "-p", false),
    ("login", "-p", true),
    ("az", "-p", true),
    ("sqlcmd", "-P", true),
    ("bcp", "-P", true),
    ("rdesktop", "-p", true),
    ("xfreerdp", "/p:", false),
    ("mosquitto_pub", "-P", true),
    ("mosquitto_sub", "-P", true),
    ("ipmitool", "-P", true),
    ("evil-winrm", "-p", true),
    ("ncftp", "-p", true),
    ("openssl", "-k", true),
    ("enc", "-k", true),
    ("proxychains", "-p", true),
    ("isql", "-P", true),
    ("snmpwalk", "-A", true),
    ("impala-shell", "-w", true),
];

/// Options that take `user:secret`.
const LOGINS: [&str; 9] = [
    "-u",
    "--user",
    "-U",
    "--proxy-user",
    "--auth",
    "-a",
    "--basic-auth",
    "--creds",
    "--http-user",
];

/// Programs whose `--user` names a user and a group.
const GROUPS: [&str; 8] =
    ["docker", "podman", "compose", "kubectl", "chown", "setpriv", "nerdctl", "buildah"];

pub fn has_secret(text: &str) -> bool {
    let words: Vec<&str> = text
        .split_whitespace()
        .map(|word| word.trim_start_matches(['`', '"', '\'', '(']))
        .collect();
    let of_groups = words.iter().any(|word| GROUPS.iter().any(|group| word.contains(group)));
    let mut program: Vec<&str> = Vec::new();
    for (at, word) in words.iter().enumerate() {
        let next = words.get(at + 1).copied();
        if matches!(*word, "|" | "||" | "&&" | ";" | "&") {
            program.clear();
            continue;
        }
        if !word.starts_with('-') {
            program.push(word.rsplit('/').next().unwrap_or(word));
        }
        if after_long_option(word, next)
            || after_short_option(&program, word, next)
            || is_login(word, next, of_groups)
        {
            return true;
        }
    }
    false
}

/// `--password X`, `--password=X`, `-passin pass:X`
fn after_long_option(word: &str, next: Option<&str>) -> bool {
    if !word.starts_with('-') || word.len() < 4 {
        return false;
    }
    let word = word.trim_end_matches(['`', '"', '\'', ',', ')']);
    let (name, glued) =
        word.split_once('=').map_or((word, None), |(name, value)| (name, Some(value)));
    let name = name.trim_start_matches('-');
    if matches!(name, "passin" | "passout" | "pass")
        && next.is_some_and(|next| next.starts_with("pass:"))
    {
        return true;
    }
    let Some(value) = glued.or(next) else { return false };
    let value = value.trim_start_matches(['"', '\'', '`']);
    let body = bare(value);
    if body.is_empty() || value.starts_with('-') || is_placeholder(body) {
        return false;
    }
    match strength(name) {
        None => false,
        Some(Strength::Key) => is_key_material(value) || (is_mixed(body) && body.len() >= 8),
        Some(Strength::Token) if is_number(body) && body.len() < 6 => false,
        Some(_) if glued.is_some() => !same_as(body, name),
        Some(_) => !FOLLOWERS.contains(&body.to_lowercase().as_str()) && !same_as(body, name),
    }
}

/// `--token=TOKEN`, `--password password` where it stands for itself.
fn same_as(value: &str, name: &str) -> bool {
    value.chars().all(char::is_uppercase) && value.to_lowercase().ends_with(name)
}

fn after_short_option(program: &[&str], word: &str, next: Option<&str>) -> bool {
    PROGRAMS.iter().filter(|(name, ..)| program.contains(name)).any(|(_, option, apart)| {
        let Some(glued) = word.strip_prefix(option) else { return false };
        let value = match (glued.is_empty(), apart) {
            (true, true) => next.filter(|next| !next.starts_with('-')).unwrap_or_default(),
            (true, false) => "",
            (false, _) => glued.trim_start_matches('='),
        };
        let body = bare(value);
        body.chars().any(char::is_alphabetic)
            && body.len() >= 3
            && !is_placeholder(value)
            && !FOLLOWERS.contains(&body.to_lowercase().as_str())
    })
}

/// `-u admin:S3cret9`, `-uadmin:S3cret9`, `--user=admin:S3cret9`, `-U admin%S3cret9`
fn is_login(word: &str, next: Option<&str>, of_groups: bool) -> bool {
    let word = word.trim_end_matches(['`', '"', '\'']);
    let value = match LOGINS.iter().find(|option| word.starts_with(**option)) {
        None => return false,
        Some(option) if word == *option => next,
        Some(option) if option.starts_with("--") => {
            word.strip_prefix(option).and_then(|rest| rest.strip_prefix('='))
        }
        Some(option) => word.strip_prefix(option),
    };
    let value = value.unwrap_or_default().trim_start_matches(['"', '\'', '`']);
    let Some((user, secret)) = value.split_once([':', '%']) else { return false };
    let secret = bare(secret);
    let plain = user
        .bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-' | b'@'));
    if user.is_empty()
        || !plain
        || secret.len() < 3
        || is_placeholder(secret)
        || value.contains("//")
    {
        return false;
    }
    let ids = is_number(user) && is_number(secret);
    !ids && (!of_groups || is_mixed(secret))
}
