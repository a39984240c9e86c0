#![allow(clippy::unwrap_used)]

use super::*;

fn address(url: &str) -> Address {
    Address::parse(url, "project").unwrap()
}

#[test]
fn addresses_are_read_and_printed_without_their_secrets() {
    for (url, key, printed) in [
        ("redis://host", "ostler:{project}", "redis://host:6379?board=project"),
        ("redis://me:geheim@host:7/2", "ostler:{project}", "redis://host:7/2?board=project"),
        ("rediss://:geheim@host/?board=a%20b", "ostler:{a%20b}", "rediss://host:6379?board=a%20b"),
        ("redis://[::1]:7000", "ostler:{project}", "redis://[::1]:7000?board=project"),
        (
            "redis://host?prefix=x{y&board=%C3%A4",
            "x%7By:{%C3%A4}",
            "redis://host:6379?board=%C3%A4&prefix=x%7By",
        ),
    ] {
        let address = address(url);
        assert_eq!((address.key().as_str(), address.to_string().as_str()), (key, printed));
        assert!(!format!("{address:?}").contains("geheim"));
    }
    let with_secret = address("redis://me:ge%3Aheim@host:7/2");
    let settings = with_secret.info.redis_settings();
    assert_eq!((settings.username(), settings.password()), (Some("me"), Some("ge:heim")));
    assert_eq!(settings.db(), 2);
}

#[test]
fn a_wrong_address_is_not_repeated() {
    for url in [
        "redis://:geheim@",
        "redis://:geheim@host/zero",
        "redis://:geheim@host:99999",
        "redis://:geheim@host?x=y",
        "redis://:geheim@host?board=",
        "redis://:geheim@host?board=%zz",
        "redis://:geheim@host?board=a%0Ab",
        "redis://:gehe#im@host",
        "rediss://:geheim@host/#insecure",
    ] {
        let why = Address::parse(url, "project").unwrap_err().to_string();
        assert!(!why.contains("geheim") && !why.contains('\n'), "{why}");
        assert!(why.contains("redis://[USER:PASSWORD@]HOST"), "{why}");
    }
}
