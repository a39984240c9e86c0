//! Which addresses a name may lead to. A server on the internet must not send us into the local network, so names are
//! resolved first, every address is checked, and only the checked addresses are connected to.

use reqwest::Url;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

/// How long a name may take to resolve.
const RESOLVING: Duration = Duration::from_secs(10);
/// More addresses of one name are not looked at.
const MOST_ADDRESSES: usize = 16;

/// Where an address leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AddressKind {
    Public,
    /// A local network: 10.0.0.0/8, 100.64.0.0/10, fc00::/7 and the like.
    Private,
    /// This machine.
    Loopback,
    /// Never a server to talk to: link-local (cloud metadata services), unspecified, multicast, reserved.
    Reserved,
}

/// How near an address may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reach {
    /// Only addresses on the internet.
    Public,
    /// Also local networks.
    Private,
    /// Also this machine.
    Loopback,
}

impl Reach {
    pub fn allows(self, address: IpAddr) -> bool {
        match AddressKind::of(address) {
            AddressKind::Public => true,
            AddressKind::Private => self >= Reach::Private,
            AddressKind::Loopback => self >= Reach::Loopback,
            AddressKind::Reserved => false,
        }
    }

    /// What a server at this address may lead us to: nothing nearer than itself. A name that does not resolve counts
    /// as public, the strictest answer.
    pub async fn of_server(url: &Url) -> Reach {
        let addresses = resolve(url).await.unwrap_or_default();
        let kinds = addresses.iter().map(|address| AddressKind::of(address.ip()));
        let nearness = |kind| match kind {
            AddressKind::Loopback => Reach::Loopback,
            AddressKind::Private => Reach::Private,
            AddressKind::Public | AddressKind::Reserved => Reach::Public,
        };
        kinds.map(nearness).min().unwrap_or(Reach::Public)
    }
}

impl AddressKind {
    pub fn of(address: IpAddr) -> AddressKind {
        match address {
            IpAddr::V4(address) => of_v4(address),
            IpAddr::V6(address) => of_v6(address),
        }
    }
}

/// A metadata service of a cloud, in the middle of public addresses.
const METADATA: Ipv4Addr = Ipv4Addr::new(168, 63, 129, 16);

fn of_v4(address: Ipv4Addr) -> AddressKind {
    if address == METADATA {
        return AddressKind::Reserved;
    }
    let [a, b, c, _] = address.octets();
    match (a, b, c) {
        (127, ..) => AddressKind::Loopback,
        (10, ..) | (192, 168, _) | (172, 16..=31, _) | (100, 64..=127, _) => AddressKind::Private,
        // Benchmarks between networks.
        (198, 18..=19, _) => AddressKind::Private,
        // This network, link-local, protocol assignments, documentation, multicast and above.
        (0, ..)
        | (169, 254, _)
        | (192, 0, 0 | 2)
        | (192, 88, 99)
        | (198, 51, 100)
        | (203, 0, 113)
        | (224.., ..) => AddressKind::Reserved,
        _ => AddressKind::Public,
    }
}

fn of_v6(address: Ipv6Addr) -> AddressKind {
    if address.is_loopback() {
        return AddressKind::Loopback;
    }
    if let Some(inner) = embedded(address) {
        return of_v4(inner);
    }
    match address.segments() {
        [first, ..] if first & 0xfe00 == 0xfc00 => AddressKind::Private,
        // Old site-local addresses.
        [first, ..] if first & 0xffc0 == 0xfec0 => AddressKind::Private,
        // Documentation.
        [0x2001, 0xdb8, ..] | [0x3fff, ..0x1000, ..] => AddressKind::Reserved,
        // Teredo hides its IPv4 address; 2001::/23 is for protocols.
        [0x2001, second, ..] if second < 0x200 => AddressKind::Reserved,
        // Global unicast; everything else is unspecified, link-local, multicast or unassigned.
        [first, ..] if first & 0xe000 == 0x2000 => AddressKind::Public,
        _ => AddressKind::Reserved,
    }
}

/// The IPv4 address that a translator would connect to.
fn embedded(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let join = |high: u16, low: u16| Ipv4Addr::from_bits(u32::from(high) << 16 | u32::from(low));
    match address.segments() {
        // Mapped, and translated by NAT64.
        [0, 0, 0, 0, 0, 0xffff, high, low] | [0x64, 0xff9b, 0, 0, 0, 0, high, low] => {
            Some(join(high, low))
        }
        // 6to4.
        [0x2002, high, low, ..] => Some(join(high, low)),
        _ => None,
    }
}

/// All addresses of the host, if each is within reach. Connect to these and to no others: the name may resolve
/// differently a moment later.
///
/// # Errors
/// If the name does not resolve, or one address is nearer than `reach`.
pub async fn resolve_within(url: &Url, reach: Reach) -> Result<Vec<SocketAddr>, String> {
    let addresses = resolve(url).await?;
    match addresses.iter().find(|address| !reach.allows(address.ip())) {
        Some(_) => Err(format!(
            "{} leads to an address that is not on the internet",
            url.host_str().unwrap_or_default()
        )),
        None => Ok(addresses),
    }
}

/// For a host that a proxy will resolve: only what can be judged without a lookup.
///
/// # Errors
/// If the host is an address, or a name of this machine, that is out of reach.
pub fn check_unresolved(url: &Url, reach: Reach) -> Result<(), String> {
    let host = url.host_str().unwrap_or_default();
    let literal = host.trim_matches(['[', ']']).parse::<IpAddr>().ok();
    let name = host.trim_end_matches('.');
    let is_here = name == "localhost" || name.ends_with(".localhost");
    let is_allowed = match literal {
        Some(address) => reach.allows(address),
        None => !is_here || reach == Reach::Loopback,
    };
    match is_allowed {
        true => Ok(()),
        false => Err(format!("{host} is not an address on the internet")),
    }
}

/// The addresses of the host.
///
/// # Errors
/// If it has none, or the name server says nothing in time.
pub async fn resolve(url: &Url) -> Result<Vec<SocketAddr>, String> {
    let host = url.host_str().ok_or_else(|| "its address names no host".to_owned())?;
    let port = url.port_or_known_default().unwrap_or(443);
    let bare = host.trim_matches(['[', ']']);
    if let Ok(address) = bare.parse::<IpAddr>() {
        return Ok(vec![SocketAddr::new(address, port)]);
    }
    let found = tokio::time::timeout(RESOLVING, tokio::net::lookup_host((bare, port)))
        .await
        .map_err(|_| format!("{host} does not resolve in time"))?;
    let addresses: Vec<SocketAddr> =
        found.map_err(|_| format!("{host} does not resolve"))?.take(MOST_ADDRESSES).collect();
    match addresses.is_empty() {
        true => Err(format!("{host} does not resolve")),
        false => Ok(addresses),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn kind(text: &str) -> AddressKind {
        AddressKind::of(text.parse().unwrap())
    }

    #[test]
    fn each_address_has_its_kind() {
        use AddressKind::{Loopback, Private, Public, Reserved};
        let table = [
            ("8.8.8.8", Public),
            ("172.32.0.1", Public),
            ("100.128.0.1", Public),
            ("192.0.1.1", Public),
            ("2606:4700::1111", Public),
            ("10.1.2.3", Private),
            ("172.16.0.1", Private),
            ("172.31.255.255", Private),
            ("192.168.1.1", Private),
            ("100.64.0.1", Private),
            ("198.18.0.1", Private),
            ("fd00::1", Private),
            ("fec0::1", Private),
            ("127.0.0.1", Loopback),
            ("127.9.9.9", Loopback),
            ("::1", Loopback),
            ("169.254.169.254", Reserved),
            ("0.0.0.0", Reserved),
            ("224.0.0.1", Reserved),
            ("255.255.255.255", Reserved),
            ("192.0.2.1", Reserved),
            ("192.88.99.1", Reserved),
            ("168.63.129.16", Reserved),
            ("168.63.129.17", Public),
            ("::127.0.0.1", Reserved),
            ("64:ff9b:1::1", Reserved),
            ("100::1", Reserved),
            ("3fff::1", Reserved),
            ("5f00::1", Reserved),
            ("::", Reserved),
            ("fe80::1", Reserved),
            ("ff02::1", Reserved),
            ("2001:db8::1", Reserved),
            ("2001::1", Reserved),
            // The same IPv4 addresses, wrapped.
            ("::ffff:127.0.0.1", Loopback),
            ("::ffff:169.254.169.254", Reserved),
            ("64:ff9b::10.0.0.1", Private),
            ("64:ff9b::8.8.8.8", Public),
            ("2002:7f00:1::", Loopback),
            ("2002:a00:1::1", Private),
        ];
        for (text, expected) in table {
            assert_eq!(kind(text), expected, "{text}");
        }
    }

    #[test]
    fn nothing_nearer_than_the_reach_is_allowed() {
        let table = [
            (Reach::Public, "8.8.8.8", true),
            (Reach::Public, "10.0.0.1", false),
            (Reach::Public, "127.0.0.1", false),
            (Reach::Private, "10.0.0.1", true),
            (Reach::Private, "127.0.0.1", false),
            (Reach::Loopback, "127.0.0.1", true),
            (Reach::Loopback, "10.0.0.1", true),
            // Not even for a server on this machine.
            (Reach::Loopback, "169.254.169.254", false),
        ];
        for (reach, address, expected) in table {
            assert_eq!(reach.allows(address.parse().unwrap()), expected, "{reach:?} {address}");
        }
    }

    #[tokio::test]
    async fn a_name_is_judged_by_what_it_resolves_to() {
        let local = Url::parse("http://localhost:1234/x").unwrap();
        assert!(resolve_within(&local, Reach::Public).await.is_err());
        let found = resolve_within(&local, Reach::Loopback).await.unwrap();
        assert!(found.iter().all(|address| address.ip().is_loopback() && address.port() == 1234));
        assert_eq!(Reach::of_server(&local).await, Reach::Loopback);
        let literal = Url::parse("https://[fd00::1]/x").unwrap();
        assert_eq!(Reach::of_server(&literal).await, Reach::Private);
        assert!(resolve_within(&literal, Reach::Public).await.is_err());
    }

    #[test]
    fn behind_a_proxy_literal_addresses_and_local_names_are_refused() {
        let table = [
            ("https://example.com/", Reach::Public, true),
            ("https://10.0.0.1/", Reach::Public, false),
            ("https://[::1]/", Reach::Public, false),
            ("http://localhost/", Reach::Private, false),
            ("http://a.localhost./", Reach::Public, false),
            ("http://localhost/", Reach::Loopback, true),
            // Written as a number; the parser of URLs turns it into an address.
            ("http://2130706433/", Reach::Public, false),
        ];
        for (url, reach, expected) in table {
            let judged = check_unresolved(&Url::parse(url).unwrap(), reach);
            assert_eq!(judged.is_ok(), expected, "{url}");
        }
    }

    proptest! {
        #[test]
        fn a_wrapped_address_is_the_address(bits in any::<u32>()) {
            let plain = Ipv4Addr::from_bits(bits);
            let wrapped = plain.to_ipv6_mapped();
            prop_assert_eq!(AddressKind::of(wrapped.into()), AddressKind::of(plain.into()));
        }
    }
}
