//! Which hosts a program contacts.

use ostler_policy::script::Word;

/// Names, or `*` where it may be any. Empty: the program is not known to contact one.
pub(super) fn of(name: &str, words: &[Word]) -> Vec<String> {
    let rest = words.get(1..).unwrap_or_default();
    match name {
        "curl" | "wget" | "http" | "https" | "xh" | "git" => urls(rest),
        "ssh" | "scp" | "sftp" | "rsync" | "mosh" => remotes(rest, name == "ssh" || name == "mosh"),
        "nc" | "ncat" | "netcat" | "socat" | "telnet" | "ftp" | "ping" | "dig" | "nslookup"
        | "host" | "whois" | "traceroute" | "openssl" | "aria2c" | "lynx" | "w3m" => any(),
        _ => Vec::new(),
    }
}

fn any() -> Vec<String> {
    vec!["*".to_owned()]
}

/// Options that lead elsewhere than the address says.
const DETOURS: &[&str] = &[
    "-x",
    "--proxy",
    "--preproxy",
    "--socks",
    "--resolve",
    "--connect-to",
    "-K",
    "--config",
    "-i",
    "--input-file",
    "-e",
    "--execute",
    "--doh-url",
    "--dns",
    "-L",
    "--location",
    "-fsSL",
    "-sL",
    "-sSL",
    "-fL",
    "-sSfL",
];

fn urls(words: &[Word]) -> Vec<String> {
    let mut found = Vec::new();
    for word in words {
        let Some(text) = word.literal() else { return any() };
        let option = text.split('=').next().unwrap_or(text);
        let leads =
            |detour: &&str| *detour == option || detour.len() > 2 && option.starts_with(*detour);
        if DETOURS.iter().any(leads) {
            return any();
        }
        if let Some((_, rest)) = text.split_once("://") {
            match host(rest) {
                Some(host) if !found.contains(&host) => found.push(host),
                Some(_) => {}
                None => return any(),
            }
        }
    }
    if found.is_empty() { any() } else { found }
}

/// `user@host`, `host:path`.
fn remotes(words: &[Word], first: bool) -> Vec<String> {
    let mut found = Vec::new();
    for word in words {
        let Some(text) = word.literal() else { return any() };
        if text.starts_with('-') {
            // What it takes for a value is not known here.
            return any();
        }
        if first || text.contains(':') {
            match host(text.strip_prefix("ssh://").unwrap_or(text)) {
                Some(host) => found.push(host),
                None => return any(),
            }
        }
        if first {
            break;
        }
    }
    if found.is_empty() { any() } else { found }
}

fn host(text: &str) -> Option<String> {
    let authority = text.split(['/', '?', '#', '\\']).next()?;
    let host = authority.rsplit('@').next()?;
    let host = host.split(':').next()?;
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-');
    (!host.is_empty() && host.chars().all(plain)).then(|| host.to_ascii_lowercase())
}
