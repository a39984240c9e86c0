use super::*;
use crate::test_ground::ConfigGround;

fn refusal(limits: &ServerLimits, name: &str, address: &str) -> Option<&'static str> {
    let words: Vec<String> = address.split(' ').map(str::to_owned).collect();
    let address = match address {
        "tunnel" => ServerAddress::Tunnel,
        url if url.contains("://") => ServerAddress::Url(url),
        _ => ServerAddress::Command(&words),
    };
    limits.refusal(name, address)
}

fn limits(settings: &str) -> ServerLimits {
    let ground = ConfigGround::new();
    ground.write("home/.claude/settings.json", settings);
    let loaded = ground.load();
    assert_eq!(loaded.warnings, [] as [&str; 0]);
    loaded.server_limits
}

#[test]
fn a_denied_server_is_recognized_by_name_command_or_address() {
    let denied = limits(
        r#"{"deniedMcpServers": [{"serverName": "a"}, {"serverCommand": ["npx", "bad"]},
            {"serverUrl": "https://*.evil.com/*"}, {"serverUrl": "http://one.com"}]}"#,
    );
    for (name, address, is_denied) in [
        ("a", "anything", true),
        ("a", "https://good.com/", true),
        ("a", "tunnel", true),
        ("b", "npx bad", true),
        ("b", "npx bad more", false),
        ("b", "npx", false),
        ("b", "https://x.evil.com/mcp", true),
        ("b", "HTTPS://X.Evil.COM:443/mcp", true),
        ("b", "https://user@x.evil.com./mcp", true),
        ("b", "https://x.evil.com", true),
        ("b", "https://good.com/?https://x.evil.com/mcp", false),
        ("b", "https://x.evil.com@good.com/", false),
        ("b", "https://good.com/.evil.com/", false),
        ("b", "https://x.evil.com\\@good.com/", true),
        ("b", "http://one.com/", true),
        ("b", "http://one.com:80", true),
        ("b", "http://one.com/more", false),
        ("b", "tunnel", false),
        ("A", "anything", false),
    ] {
        let expected = is_denied.then_some("deniedMcpServers");
        assert_eq!(refusal(&denied, name, address), expected, "{name} {address}");
    }
    assert_eq!(limits("{}"), ServerLimits::default());
}

#[test]
fn a_list_of_allowed_servers_leaves_out_the_others() {
    let none = limits(r#"{"allowedMcpServers": []}"#);
    assert_eq!(refusal(&none, "a", "x"), Some("allowedMcpServers"));
    let names = limits(r#"{"allowedMcpServers": [{"serverName": "a"}]}"#);
    for (name, address, is_allowed) in
        [("a", "x", true), ("a", "https://x.com", true), ("b", "x", false), ("b", "tunnel", false)]
    {
        assert_eq!(refusal(&names, name, address).is_none(), is_allowed, "{name} {address}");
    }
    // With commands in it, a program that only has the right name is not enough.
    let commands = limits(
        r#"{"allowedMcpServers": [{"serverName": "a"}, {"serverCommand": ["npx", "good"]}],
            "deniedMcpServers": [{"serverName": "c"}]}"#,
    );
    for (name, address, is_allowed) in [
        ("a", "x", false),
        ("a", "npx good", true),
        ("b", "npx good", true),
        ("a", "https://x.com", true),
        ("a", "tunnel", true),
        ("b", "https://x.com", false),
        ("c", "npx good", false),
    ] {
        assert_eq!(refusal(&commands, name, address).is_none(), is_allowed, "{name} {address}");
    }
}

#[test]
fn every_file_tightens_and_none_widens() {
    let ground = ConfigGround::new();
    let allowed = |names: &str| format!(r#"{{"allowedMcpServers": [{names}]}}"#);
    let (a, b) = (r#"{"serverName": "a"}"#, r#"{"serverName": "b"}"#);
    ground.write("etc/managed-settings.json", &allowed(&format!("{a}, {b}")));
    ground.write("home/.claude/settings.json", &allowed(&format!(r#"{a}, {{"serverName": "c"}}"#)));
    // Not trusted, and still in effect.
    ground.write(
        "ws/.claude/settings.json",
        r#"{"deniedMcpServers": [{"serverName": "d"}], "allowedMcpServers": null, "hooks": {"Stop": []}}"#,
    );
    let limits = ground.load().server_limits;
    for (name, expected) in [
        ("a", None),
        ("b", Some("allowedMcpServers")),
        ("c", Some("allowedMcpServers")),
        ("d", Some("deniedMcpServers")),
    ] {
        assert_eq!(refusal(&limits, name, "x"), expected, "{name}");
    }
}

/// Whoever restricts servers and makes a mistake is told, instead of having no restriction.
#[test]
fn what_is_not_understood_is_an_error_with_its_line() {
    for wrong in [
        r#"{"deniedMcpServers": "a"}"#,
        r#"{"deniedMcpServers": ["a"]}"#,
        r#"{"deniedMcpServers": [{}]}"#,
        r#"{"deniedMcpServers": [{"name": "a"}]}"#,
        r#"{"deniedMcpServers": [{"serverName": "a", "serverUrl": "b"}]}"#,
        r#"{"deniedMcpServers": [{"serverName": 7}]}"#,
        r#"{"deniedMcpServers": [{"serverCommand": "npx bad"}]}"#,
        r#"{"deniedMcpServers": [{"serverUrl": "*.evil.com"}]}"#,
        r#"{"allowedMcpServers": {"serverName": "a"}}"#,
    ] {
        let ground = ConfigGround::new();
        ground.write("home/.claude/settings.json", wrong);
        let error = ground.error();
        assert!(error.contains("settings.json:1: "), "{error}");
    }
}
