//! Where metadata is looked for, in which order (RFC 9728, RFC 8414, OpenID Connect Discovery).

use crate::error::OAuthError;
use std::net::IpAddr;
use url::{Host, Url};

/// The identifier of an authorization server: compared byte by byte, never normalised.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Issuer {
    text: String,
    url: Url,
}

impl Issuer {
    /// # Errors
    /// If it is not a https URL (or http on this machine) without query and fragment.
    pub fn parse(text: &str) -> Result<Issuer, OAuthError> {
        let url = endpoint("an authorization server", text)?;
        if url.query().is_some() {
            return Err(address_error("an authorization server", text, "it contains a query"));
        }
        Ok(Issuer { text: text.to_owned(), url })
    }

    pub fn text(&self) -> &str {
        &self.text
    }

    pub fn url(&self) -> &Url {
        &self.url
    }

    /// Where its metadata may be. All three forms are tried for an issuer with a path.
    pub fn metadata_urls(&self) -> Vec<Url> {
        let path = self.url.path().trim_end_matches('/');
        let mut urls = vec![
            at(&self.url, &format!("/.well-known/oauth-authorization-server{path}")),
            at(&self.url, &format!("/.well-known/openid-configuration{path}")),
        ];
        if !path.is_empty() {
            urls.push(at(&self.url, &format!("{path}/.well-known/openid-configuration")));
        }
        urls
    }
}

/// Where a server's own metadata may be when its challenge does not say.
pub fn resource_metadata_urls(server: &Url) -> Vec<Url> {
    const ROOT: &str = "/.well-known/oauth-protected-resource";
    let path = server.path().trim_end_matches('/');
    let root = at(server, ROOT);
    match path {
        "" => vec![root],
        path => vec![at(server, &format!("{ROOT}{path}")), root],
    }
}

/// The same origin, another path.
fn at(url: &Url, path: &str) -> Url {
    let mut other = url.clone();
    other.set_query(None);
    other.set_fragment(None);
    other.set_path(path);
    other
}

/// An address that something secret is sent to, or that a browser is sent to: https, or http on this machine.
///
/// # Errors
/// If it is not.
pub fn endpoint(what: &'static str, text: &str) -> Result<Url, OAuthError> {
    let wrong = |why| address_error(what, text, why);
    let url = Url::parse(text).map_err(|_| wrong("it is not a URL"))?;
    if url.host().is_none() {
        return Err(wrong("it names no host"));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(wrong("it contains a user name"));
    }
    if url.fragment().is_some() {
        return Err(wrong("it contains a fragment"));
    }
    match url.scheme() {
        "https" => Ok(url),
        "http" if is_this_machine(&url) => Ok(url),
        _ => Err(wrong("it does not use https")),
    }
}

fn address_error(what: &'static str, text: &str, why: &'static str) -> OAuthError {
    OAuthError::Address { what, url: crate::error::printable(text), why }
}

/// By its name alone.
pub fn is_this_machine(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => name == "localhost",
        Some(Host::Ipv4(address)) => IpAddr::V4(address).is_loopback(),
        Some(Host::Ipv6(address)) => IpAddr::V6(address).is_loopback(),
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(urls: &[Url]) -> Vec<&str> {
        urls.iter().map(Url::as_str).collect()
    }

    #[test]
    fn metadata_of_an_authorization_server_is_tried_in_order() {
        let check = |issuer: &str, expected: &[&str]| {
            assert_eq!(
                texts(&Issuer::parse(issuer).unwrap().metadata_urls()),
                expected,
                "{issuer}"
            );
        };
        let root = [
            "https://auth.example/.well-known/oauth-authorization-server",
            "https://auth.example/.well-known/openid-configuration",
        ];
        check("https://auth.example", &root);
        check("https://auth.example/", &root);
        let tenant = [
            "https://auth.example:8443/.well-known/oauth-authorization-server/t/1",
            "https://auth.example:8443/.well-known/openid-configuration/t/1",
            "https://auth.example:8443/t/1/.well-known/openid-configuration",
        ];
        check("https://auth.example:8443/t/1", &tenant);
        check("https://auth.example:8443/t/1/", &tenant);
    }

    #[test]
    fn metadata_of_a_server_is_tried_at_its_path_first() {
        let check = |server: &str, expected: &[&str]| {
            assert_eq!(texts(&resource_metadata_urls(&Url::parse(server).unwrap())), expected);
        };
        let root = "https://s.example/.well-known/oauth-protected-resource";
        check("https://s.example", &[root]);
        check("https://s.example/?key=1", &[root]);
        let mcp = "https://s.example/.well-known/oauth-protected-resource/public/mcp";
        check("https://s.example/public/mcp", &[mcp, root]);
        check("https://s.example/public/mcp/?key=1#x", &[mcp, root]);
    }

    #[test]
    fn endpoints_are_encrypted_or_on_this_machine() {
        let good = [
            "https://a.example/token",
            "http://localhost:1/token",
            "http://127.0.0.1/token",
            "http://[::1]:9/token?x=1",
        ];
        for text in good {
            assert!(endpoint("x", text).is_ok(), "{text}");
        }
        let bad = [
            "http://a.example/token",
            "http://localhost.a.example/",
            "http://10.0.0.1/",
            "ftp://a.example/",
            "javascript:alert(1)",
            "file:///etc/passwd",
            "https://user:password@a.example/",
            "https://a.example/#x",
            "a.example",
            "-oProxyCommand=x",
            "",
        ];
        for text in bad {
            assert!(endpoint("x", text).is_err(), "{text}");
        }
        assert!(Issuer::parse("https://a.example/?x").is_err());
    }

    #[test]
    fn issuers_are_compared_byte_by_byte() {
        let plain = Issuer::parse("https://a.example").unwrap();
        for other in ["https://a.example/", "https://A.example", "https://a.example:443"] {
            assert_ne!(Issuer::parse(other).unwrap().text(), plain.text());
        }
    }
}
