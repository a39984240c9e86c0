//! Which proxy, if any, stands between us and a host. Decided once, because one model talks to one host.

use reqwest::Url;
use std::net::IpAddr;

/// Proxies as the environment names them; read by whoever starts us.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProxySettings {
    pub http: Option<String>,
    pub https: Option<String>,
    /// Hosts reached directly: names, name endings, addresses, networks such as `10.0.0.0/8`, or `*`.
    pub no_proxy: Option<String>,
}

impl ProxySettings {
    /// The proxy for this address.
    pub(crate) fn proxy_for(&self, url: &Url) -> Option<&str> {
        let proxy = if url.scheme() == "https" { &self.https } else { &self.http };
        let proxy = proxy.as_deref().map(str::trim).filter(|proxy| !proxy.is_empty())?;
        let host = url.host_str()?.trim_matches(['[', ']']);
        let direct = self.no_proxy.as_deref().unwrap_or_default();
        let listed =
            direct.split([',', ' ']).map(str::trim).any(|entry| matches(entry, host, url.port()));
        (!listed).then_some(proxy)
    }
}

fn matches(entry: &str, host: &str, port: Option<u16>) -> bool {
    if entry.is_empty() {
        return false;
    }
    if entry == "*" {
        return true;
    }
    if let Ok(address) = host.parse::<IpAddr>() {
        return in_network(entry, address);
    }
    let (name, wanted) = match entry.rsplit_once(':') {
        Some((name, digits)) => (name, digits.parse().ok()),
        None => (entry, None),
    };
    let name = name.trim_start_matches("*.").trim_start_matches('.').to_ascii_lowercase();
    let host = host.to_ascii_lowercase();
    let ends =
        host.strip_suffix(name.as_str()).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'));
    ends && !name.is_empty() && (wanted.is_none() || wanted == port)
}

fn in_network(entry: &str, address: IpAddr) -> bool {
    let (network, bits) = match entry.split_once('/') {
        Some((network, bits)) => (network, bits.parse::<u32>().ok()),
        None => (entry, Some(128)),
    };
    let (Ok(network), Some(bits)) = (network.trim_matches(['[', ']']).parse::<IpAddr>(), bits)
    else {
        return false;
    };
    match (network, address) {
        (IpAddr::V4(a), IpAddr::V4(b)) => {
            same_start(a.to_bits().into(), b.to_bits().into(), 32, bits)
        }
        (IpAddr::V6(a), IpAddr::V6(b)) => same_start(a.to_bits(), b.to_bits(), 128, bits),
        _ => false,
    }
}

fn same_start(a: u128, b: u128, width: u32, bits: u32) -> bool {
    let ignored = width.saturating_sub(bits);
    a.checked_shr(ignored).unwrap_or(0) == b.checked_shr(ignored).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_is_asked_through_a_proxy() {
        let table: &[(&str, &str, bool)] = &[
            ("https://api.example.com/v1", "", true),
            ("https://api.example.com/v1", "*", false),
            ("https://api.example.com/v1", "example.com", false),
            ("https://api.example.com/v1", ".example.com", false),
            ("https://api.example.com/v1", "*.Example.com", false),
            ("https://notexample.com/v1", "example.com", true),
            ("https://api.example.com/v1", "other.com, localhost , api.example.com", false),
            ("http://127.0.0.1:8080/v1", "127.0.0.1", false),
            ("http://127.0.0.1:8080/v1", "127.0.0.0/8", false),
            ("http://127.0.0.1:8080/v1", "10.0.0.0/8", true),
            ("http://127.0.0.1:8080/v1", "0.0.0.0/0", false),
            ("http://[::1]:8080/v1", "::1", false),
            ("http://[fd00::5]/v1", "fd00::/8", false),
            ("http://localhost:8080/v1", "localhost", false),
            ("http://localhost:8080/v1", "localhost:8080", false),
            ("http://localhost:8080/v1", "localhost:9", true),
            ("http://localhost:8080/v1", ",,  ,", true),
        ];
        for (url, no_proxy, through) in table {
            let settings = ProxySettings {
                http: Some("http://proxy:3128".into()),
                https: Some("http://proxy:3128".into()),
                no_proxy: Some((*no_proxy).into()),
            };
            let url = Url::parse(url).expect("a URL");
            assert_eq!(settings.proxy_for(&url).is_some(), *through, "{url} {no_proxy}");
        }
    }

    #[test]
    fn each_scheme_has_its_own() {
        let settings = ProxySettings {
            http: Some("http://a:1".into()),
            https: Some(" ".into()),
            no_proxy: None,
        };
        assert_eq!(
            settings.proxy_for(&Url::parse("http://x/").expect("a URL")),
            Some("http://a:1")
        );
        assert_eq!(settings.proxy_for(&Url::parse("https://x/").expect("a URL")), None);
    }
}
