//! Which server, and which board on it.

use ostler_board::BoardError;
use redis::{ConnectionAddr, ConnectionInfo, IntoConnectionInfo};
use std::fmt;

const PREFIX: &str = "ostler";
const FORMS: &str =
    "Write redis://[USER:PASSWORD@]HOST[:PORT][/DATABASE][?board=NAME], or rediss:// for TLS";

/// `redis://[user:password@]host[:port][/database][?board=NAME&prefix=NAME]`. Printed without user and password.
#[derive(Clone)]
pub struct Address {
    pub(crate) info: ConnectionInfo,
    board: String,
    prefix: String,
}

impl Address {
    /// `board` is the name of the board, unless the address has one.
    ///
    /// # Errors
    /// If it is no address of a server. The message does not repeat it: it may contain a password.
    pub fn parse(url: &str, board: &str) -> Result<Self, BoardError> {
        let (server, query) = url.split_once('?').unwrap_or((url, ""));
        if server.contains('#') || query.contains('#') {
            return Err(wrong("it contains \"#\"; write %23 in a password"));
        }
        let is_ours = server.starts_with("redis://") || server.starts_with("rediss://");
        if !is_ours {
            return Err(wrong("it does not begin with redis:// or rediss://"));
        }
        let mut address = Address {
            info: server.into_connection_info().map_err(|_| wrong("it cannot be read"))?,
            board: board.to_owned(),
            prefix: PREFIX.to_owned(),
        };
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            match (name, decoded(value)) {
                ("board", Some(value)) if !value.is_empty() => address.board = value,
                ("prefix", Some(value)) if !value.is_empty() => address.prefix = value,
                ("board" | "prefix", _) => return Err(wrong("a name in it cannot be read")),
                _ => return Err(wrong("only board=NAME and prefix=NAME can follow the \"?\"")),
            }
        }
        let tcp = address.info.tcp_settings().clone().set_nodelay(true);
        address.info = address.info.set_tcp_settings(tcp);
        Ok(address)
    }

    /// What all keys of the board begin with. The braces make them one hash slot of a cluster.
    pub(crate) fn key(&self) -> String {
        format!("{}:{{{}}}", encoded(&self.prefix), encoded(&self.board))
    }

    /// The same board on another node of the cluster.
    pub(crate) fn at_node(&self, host: &str, port: u16) -> ConnectionInfo {
        let mut addr = self.info.addr().clone();
        match &mut addr {
            ConnectionAddr::TcpTls { host: own_host, port: own_port, .. } => {
                (*own_host, *own_port) = (host.to_owned(), port);
            }
            other => *other = ConnectionAddr::Tcp(host.to_owned(), port),
        }
        self.info.clone().set_addr(addr)
    }

    pub(crate) fn host_and_port(&self) -> (&str, u16) {
        match self.info.addr() {
            ConnectionAddr::Tcp(host, port) | ConnectionAddr::TcpTls { host, port, .. } => {
                (host, *port)
            }
            _ => ("", 0),
        }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = match self.info.addr() {
            ConnectionAddr::TcpTls { .. } => "rediss",
            _ => "redis",
        };
        match self.host_and_port() {
            (host, port) if host.contains(':') => write!(f, "{scheme}://[{host}]:{port}")?,
            (host, port) => write!(f, "{scheme}://{host}:{port}")?,
        }
        match self.info.redis_settings().db() {
            0 => {}
            database => write!(f, "/{database}")?,
        }
        write!(f, "?board={}", encoded(&self.board))?;
        match self.prefix.as_str() {
            PREFIX => Ok(()),
            prefix => write!(f, "&prefix={}", encoded(prefix)),
        }
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

fn wrong(why: &str) -> BoardError {
    let address = "at the given address".to_owned();
    BoardError::Server { address, why: why.to_owned(), hint: FORMS }
}

/// Letters, digits, `_`, `.` and `-` stay as they are. `lua/common.lua` does the same.
pub(crate) fn encoded(name: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'-');
    name.bytes().fold(String::new(), |mut all, byte| {
        match is_plain(byte) {
            true => all.push(char::from(byte)),
            false => all.push_str(&format!("%{byte:02X}")),
        }
        all
    })
}

fn decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((first, tail)) = rest.split_first() {
        rest = tail;
        if *first != b'%' {
            bytes.push(*first);
            continue;
        }
        let digits = std::str::from_utf8(rest.get(..2)?).ok()?;
        bytes.push(u8::from_str_radix(digits, 16).ok()?);
        rest = rest.get(2..)?;
    }
    String::from_utf8(bytes).ok().filter(|text| !text.chars().any(char::is_control))
}

#[cfg(test)]
#[path = "address_tests.rs"]
mod tests;
