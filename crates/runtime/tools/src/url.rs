//! The host of an address, read strictly: what two parsers could read differently has none.

/// The host in lower case. None unless it is a plain `http` or `https` address without a user's name.
pub fn host(url: &str) -> Option<String> {
    let visible = |c: char| c.is_ascii_graphic() && c != '\\';
    if url.len() > MOST || !url.chars().all(visible) {
        return None;
    }
    let (scheme, rest) = url.split_once("://")?;
    if !scheme.eq_ignore_ascii_case("http") && !scheme.eq_ignore_ascii_case("https") {
        return None;
    }
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let (host, port) = match authority.strip_prefix('[') {
        Some(inner) => {
            let (address, after) = inner.split_once(']')?;
            let port = if after.is_empty() { None } else { Some(after.strip_prefix(':')?) };
            address.parse::<std::net::Ipv6Addr>().ok()?;
            (format!("[{address}]"), port)
        }
        None => match authority.split_once(':') {
            Some((host, port)) => (name(host)?, Some(port)),
            None => (name(authority)?, None),
        },
    };
    let is_port = |port: &str| {
        port.bytes().all(|b| b.is_ascii_digit()) && port.parse::<u16>().is_ok_and(|port| port > 0)
    };
    port.is_none_or(is_port).then(|| host.to_ascii_lowercase())
}

const MOST: usize = 8 * 1024;

/// Labels of letters, digits and inner hyphens.
fn name(host: &str) -> Option<String> {
    let label = |label: &str| {
        let legal = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        !label.is_empty()
            && label.chars().all(legal)
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    (host.len() <= 253 && host.split('.').all(label)).then(|| host.to_owned())
}

#[cfg(test)]
mod tests {
    use super::host;

    #[test]
    fn only_plain_addresses_have_a_host() {
        for (url, expected) in [
            ("https://docs.rs/", Some("docs.rs")),
            ("HTTP://Docs.RS", Some("docs.rs")),
            ("https://docs.rs:8443/a?b#c", Some("docs.rs")),
            ("https://docs.rs?x=@evil.example", Some("docs.rs")),
            ("https://docs.rs#@evil.example", Some("docs.rs")),
            ("http://[::1]:80/x", Some("[::1]")),
            ("http://127.0.0.1/", Some("127.0.0.1")),
            ("https://docs.rs@evil.example/", None),
            ("https://user:pw@docs.rs/", None),
            ("https://docs.rs\\@evil.example/", None),
            ("https://docs.rs\t.evil.example/", None),
            (" https://docs.rs/", None),
            ("https://docs.rs%2eevil.example/", None),
            ("https://d\u{f6}cs.rs/", None),
            ("https://docs.rs./", None),
            ("https://.docs.rs/", None),
            ("https://-docs.rs/", None),
            ("https://docs.rs:/", None),
            ("https://docs.rs:0/", None),
            ("https://docs.rs:99999/", None),
            ("https://docs.rs:+1/", None),
            ("https://[::1]x/", None),
            ("https://[::1/", None),
            ("https:///x", None),
            ("https:/docs.rs", None),
            ("https:docs.rs", None),
            ("file:///etc/passwd", None),
            ("ftp://docs.rs/", None),
            ("javascript://docs.rs/", None),
            ("docs.rs", None),
            ("", None),
        ] {
            assert_eq!(host(url).as_deref(), expected, "{url:?}");
        }
    }
}
