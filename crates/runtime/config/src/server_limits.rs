//! Which MCP servers settings permit: `deniedMcpServers` and `allowedMcpServers`, as Claude Code reads them.

use crate::ConfigError;
use crate::located_json::Located;

/// Entries of one list.
const MOST: usize = 2000;

/// Lists only tighten: every file can add one, whether it is trusted or not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServerLimits {
    denied: Vec<ServerPattern>,
    /// One list for each file that has one; a server must be in all of them.
    allowed: Vec<Vec<ServerPattern>>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum ServerPattern {
    Name(String),
    /// The program with its arguments, exactly.
    Command(Vec<String>),
    /// `*` stands for any text.
    Url(String),
}

/// How a server is reached, as far as a list can name it.
#[derive(Clone, Copy, Debug)]
pub enum ServerAddress<'a> {
    /// A program with its arguments.
    Command(&'a [String]),
    Url(&'a str),
    /// Another program runs it.
    Tunnel,
}

impl ServerLimits {
    /// No servers of these names.
    pub fn without(names: impl IntoIterator<Item = String>) -> Self {
        let denied = names.into_iter().map(ServerPattern::Name).collect();
        ServerLimits { denied, allowed: Vec::new() }
    }

    /// The key in the settings that keeps a server out.
    pub fn refusal(&self, name: &str, address: ServerAddress<'_>) -> Option<&'static str> {
        if self.denied.iter().any(|pattern| pattern.matches(name, address)) {
            return Some("deniedMcpServers");
        }
        let is_allowed = |list: &Vec<ServerPattern>| is_in(list, name, address);
        (!self.allowed.iter().all(is_allowed)).then_some("allowedMcpServers")
    }

    pub(crate) fn add(&mut self, other: ServerLimits) {
        self.denied.extend(other.denied);
        self.allowed.extend(other.allowed);
    }

    pub(crate) fn deny(&mut self, value: Located<'_>) -> Result<(), ConfigError> {
        self.denied = patterns("deniedMcpServers", value)?;
        Ok(())
    }

    /// An empty list permits no server; no list permits all.
    pub(crate) fn allow(&mut self, value: Located<'_>) -> Result<(), ConfigError> {
        self.allowed = vec![patterns("allowedMcpServers", value)?];
        Ok(())
    }
}

/// A list with commands (or URLs) is about what servers of that kind really run (or call): a name is not enough for them.
fn is_in(list: &[ServerPattern], name: &str, address: ServerAddress<'_>) -> bool {
    let by_address = list.iter().any(|pattern| match address {
        ServerAddress::Command(_) => matches!(pattern, ServerPattern::Command(_)),
        ServerAddress::Url(_) => matches!(pattern, ServerPattern::Url(_)),
        ServerAddress::Tunnel => false,
    });
    list.iter().any(|pattern| {
        !(by_address && matches!(pattern, ServerPattern::Name(_))) && pattern.matches(name, address)
    })
}

impl ServerPattern {
    fn matches(&self, name: &str, address: ServerAddress<'_>) -> bool {
        match (self, address) {
            (ServerPattern::Name(wanted), _) => wanted == name,
            (ServerPattern::Command(words), ServerAddress::Command(command)) => words == command,
            (ServerPattern::Url(pattern), ServerAddress::Url(url)) => {
                let (pattern, url) = (plain_url(pattern), plain_url(url));
                covers(&pattern.origin, &url.origin) && covers(&pattern.path, &url.path)
            }
            _ => false,
        }
    }
}

/// # Errors
/// For an entry that is not understood: a restriction would be lost.
fn patterns(key: &str, value: Located<'_>) -> Result<Vec<ServerPattern>, ConfigError> {
    let entries = value.list(key)?;
    if entries.len() > MOST {
        return Err(value.wrong(format!("{key} has more than {MOST} entries")));
    }
    entries.into_iter().map(|entry| pattern(key, &entry)).collect()
}

fn pattern(key: &str, entry: &Located<'_>) -> Result<ServerPattern, ConfigError> {
    let wrong = || {
        entry.wrong(format!(
            "an entry of {key} is not understood, and a restriction would be lost; use {{\"serverName\": \"…\"}}, \
             {{\"serverCommand\": [\"…\"]}} or {{\"serverUrl\": \"…\"}}"
        ))
    };
    let fields = entry.object(key).map_err(|_| wrong())?;
    let [(field, value)] = fields.as_slice() else { return Err(wrong()) };
    match field.as_str() {
        "serverName" => Ok(ServerPattern::Name(value.text(field)?)),
        "serverUrl" => {
            let url = value.text(field)?;
            if !url.contains("://") {
                return Err(wrong());
            }
            Ok(ServerPattern::Url(url))
        }
        "serverCommand" => {
            let words = value.list(field)?;
            let words = words.iter().map(|word| word.text(field));
            Ok(ServerPattern::Command(words.collect::<Result<_, _>>()?))
        }
        _ => Err(wrong()),
    }
}

/// Two parts that are compared one by one, so that `*` in a host does not reach into a path.
struct PlainUrl {
    origin: String,
    path: String,
}

/// Scheme and host in small letters, without a user, the scheme's own port and a dot at the end, so that another spelling is
/// the same address.
fn plain_url(url: &str) -> PlainUrl {
    let (scheme, rest) = url.trim().split_once("://").unwrap_or_default();
    let end = rest.find(['/', '?', '#', '\\']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at(end);
    let scheme = scheme.to_ascii_lowercase();
    let host = authority.rsplit('@').next().unwrap_or_default().to_ascii_lowercase();
    let port = if scheme == "http" { ":80" } else { ":443" };
    let host = host.strip_suffix(port).unwrap_or(&host);
    let host = host.strip_suffix('.').unwrap_or(host);
    // A backslash is a slash there.
    let path = path.strip_prefix(['/', '\\']).unwrap_or(path);
    PlainUrl { origin: format!("{scheme}://{host}"), path: format!("/{path}") }
}

fn covers(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(mut rest) = parts.next().and_then(|first| text.strip_prefix(first)) else {
        return false;
    };
    let Some(last) = parts.next_back() else { return rest.is_empty() };
    for part in parts {
        match rest.find(part) {
            Some(at) => rest = rest.get(at + part.len()..).unwrap_or_default(),
            None => return false,
        }
    }
    rest.ends_with(last)
}

#[cfg(test)]
#[path = "server_limits_tests.rs"]
mod tests;
