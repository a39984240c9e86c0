//! A hook as someone configured it.

use super::event::EventName;
use super::matcher::HookMatcher;
use super::program::HookProgram;
use crate::permission::Source;
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HookSpec {
    pub event: EventName,
    pub matcher: HookMatcher,
    pub action: HookAction,
    pub time_limit: Option<Duration>,
    /// Heard once in a session.
    pub once: bool,
    /// Started and not waited for; its answer is ignored.
    pub in_background: bool,
    /// Granted to run outside the sandbox.
    pub outside: bool,
    /// What it runs that lies in the project.
    pub programs: Vec<HookProgram>,
    pub source: Source,
    /// The directory of the plugin that it belongs to: its commands find it in a variable and can read it.
    pub plugin: Option<PathBuf>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HookAction {
    /// A line for bash, or a program with its arguments.
    Command { command: String, args: Option<Vec<String>> },
    Http {
        url: String,
        secret: Option<HookSecret>,
        /// The name of the variable that contains the secret, until it has been looked up.
        secret_env: Option<String>,
        blocking: bool,
    },
    /// One that cannot be run here: a type that is known and not available yet, or an invalid hook.
    Unavailable { what: String, why: String },
}

/// What signs a webhook. Never shown.
#[derive(Clone, PartialEq, Eq)]
pub struct HookSecret(String);

impl HookSecret {
    pub fn new(text: impl Into<String>) -> Self {
        HookSecret(text.into())
    }

    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for HookSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

impl HookSpec {
    /// What it runs or calls, in one line: its name in messages.
    pub fn what(&self) -> String {
        let text = match &self.action {
            HookAction::Command { command, args } => {
                let words = args.iter().flatten().map(String::as_str);
                std::iter::once(command.as_str()).chain(words).collect::<Vec<_>>().join(" ")
            }
            HookAction::Http { url, .. } => url.clone(),
            HookAction::Unavailable { what, .. } => what.clone(),
        };
        shown(&text)
    }

    /// It can decide something, so that its failing decides, too.
    pub fn decides(&self) -> bool {
        let waits = match &self.action {
            HookAction::Http { blocking, .. } => *blocking,
            // Keeping the model at work does not make the check happen.
            HookAction::Unavailable { .. } => {
                !matches!(self.event, EventName::Stop | EventName::SubagentStop)
            }
            HookAction::Command { .. } => true,
        };
        waits && !self.in_background && self.event.can_block()
    }

    pub fn limit(&self) -> Duration {
        let default = self.event.time_limit();
        match self.event {
            EventName::SessionEnd => self.time_limit.unwrap_or(default).min(default),
            _ => self.time_limit.unwrap_or(default),
        }
    }

    /// The same thing for the same event: run once.
    pub fn is_twin_of(&self, other: &HookSpec) -> bool {
        self.event == other.event && self.action == other.action
    }
}

/// Characters of a name.
const MOST: usize = 120;

fn shown(text: &str) -> String {
    let mut shown: String =
        text.chars().map(|c| if c.is_control() { ' ' } else { c }).take(MOST).collect();
    if text.chars().nth(MOST).is_some() {
        shown.push('…');
    }
    shown
}

/// Whether events may be sent there.
///
/// # Errors
/// In words: only `https`, or `http` to this machine itself, without a user's name in it.
pub fn check_url(url: &str) -> Result<(), &'static str> {
    if url.len() > 2000 || !url.chars().all(|c| c.is_ascii_graphic() && c != '\\') {
        return Err("it is not a plain URL");
    }
    let (scheme, rest) = url.split_once("://").ok_or("it is not a URL, write https://…")?;
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    if authority.is_empty() || authority.contains('@') {
        return Err("it must name a host and no user");
    }
    let host = match authority.strip_prefix('[') {
        Some(inner) => inner.split(']').next().unwrap_or_default(),
        None => authority.split(':').next().unwrap_or_default(),
    };
    let loopback = host == "localhost"
        || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback());
    match scheme {
        "https" => Ok(()),
        "http" if loopback => Ok(()),
        _ => Err("write https:// (http:// is allowed for this machine only)"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_go_out_encrypted_or_stay_here() {
        for (url, fine) in [
            ("https://hooks.example/x?y=1", true),
            ("http://127.0.0.1:8080/x", true),
            ("http://127.9.9.9/", true),
            ("http://localhost:1/", true),
            ("http://[::1]:9/x", true),
            ("http://hooks.example/", false),
            ("http://127.0.0.1.example/", false),
            ("http://localhost.example/", false),
            ("http://127.0.0.1@example.com/", false),
            ("https://user:word@example.com/", false),
            ("http://10.0.0.1/", false),
            ("http://0.0.0.0/", false),
            ("ftp://127.0.0.1/", false),
            ("https:///x", false),
            ("https://a b/", false),
            ("file:///etc/passwd", false),
            ("127.0.0.1:80", false),
            ("", false),
        ] {
            assert_eq!(check_url(url).is_ok(), fine, "{url}");
        }
    }

    #[test]
    fn a_secret_is_never_shown() {
        assert_eq!(format!("{:?}", HookSecret::new("hush")), "Secret(…)");
    }
}
