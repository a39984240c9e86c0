//! MCP servers of others on the command line: added, trusted, asked, used and ended.

use crate::support::{World, processes_with, signal, unique_sleep, until};
use ostler_model_server::{Recorded, Script, text};
use rustix::process::Signal;
use serde_json::{Value, json};
use std::os::unix::fs::PermissionsExt;

/// A server with one tool, in bash. Its arguments: what runs before it answers, and what a call does.
const SERVER: &str = r#"
eval "$1"
while IFS= read -r line; do
    id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
    [ -n "$id" ] || continue
    case $line in
        *'"method":"initialize"'*)
            result='{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"bash","version":"1"}}' ;;
        *'"method":"tools/list"'*)
            result='{"tools":[{"name":"go","description":"Goes.","inputSchema":{"type":"object"}}]}' ;;
        *'"method":"tools/call"'*)
            eval "$2"
            result='{"content":[{"type":"text","text":"went"}]}' ;;
        *)
            printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no"}}\n' "$id"
            continue ;;
    esac
    printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$result"
done
"#;

fn call() -> Script {
    Script::new().answer(text("I call.").call("mcp__one__go", json!({}))).answer(text("Done."))
}

fn world(script: Script) -> World {
    let world = World::new(script);
    world.file("server.sh", SERVER);
    world
}

fn listed(request: &Recorded) -> Vec<String> {
    let tools = request.json()["tools"].as_array().cloned().unwrap_or_default();
    tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
}

fn has_tool(request: &Recorded) -> bool {
    listed(request).contains(&"mcp__one__go".to_owned())
}

fn config(before: &str, in_call: &str, more: Value) -> String {
    let mut server = json!({"command": "bash", "args": ["server.sh", before, in_call]});
    if let (Some(server), Value::Object(more)) = (server.as_object_mut(), more) {
        server.extend(more);
    }
    json!({"mcpServers": {"one": server}}).to_string()
}

#[test]
fn servers_are_added_listed_asked_and_removed() {
    let world = world(call());
    let said = |args: &[&str]| {
        let ran = world.run(&[&["mcp"], args].concat());
        assert_eq!(ran.code, Some(0), "{args:?}: {}{}", ran.stdout, ran.stderr);
        ran.stdout
    };
    assert!(said(&["list"]).contains("No MCP servers are configured"));
    said(&["add", "one", "--env", "NAME=value", "--", "bash", "server.sh", "", ""]);
    let file = world.home().join("mcp.json");
    let mode = std::fs::metadata(&file).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode, 0o600, "it may hold secrets");
    let list = said(&["list"]);
    assert!(list.contains("one  local  not asked yet"), "{list}");
    assert!(!list.contains("value"), "values are nobody's business: {list}");
    let asked = said(&["test", "one"]);
    assert!(asked.contains("server: bash 1") && asked.contains("go: Goes."), "{asked}");
    let known = said(&["get", "one"]);
    assert!(known.contains("go: Goes."), "it is remembered: {known}");
    let ran = world.run(&["-p", "go", "--allowedTools", "mcp__one"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "Done.\n"), "{}", ran.stderr);
    let requests = world.server.requests();
    assert!(has_tool(&requests[0]), "{:?}", listed(&requests[0]));
    assert!(requests[1].json().to_string().contains("went"));
    said(&["remove", "one"]);
    assert!(said(&["list"]).contains("No MCP servers are configured"));
    assert_eq!(world.run(&["mcp", "test", "one"]).code, Some(1));
    for wrong in [&["add", "a/b", "x"][..], &["add", "one", "--transport", "http", "not-a-url"]] {
        let ran = world.run(&[&["mcp"], wrong].concat());
        assert_ne!(ran.code, Some(0), "{wrong:?}: {}", ran.stdout);
        assert_eq!(ran.stderr.lines().count(), 1, "{}", ran.stderr);
    }
}

/// D19
#[test]
fn a_server_of_the_project_starts_only_as_it_was_trusted() {
    let world = world(Script::new().answer(text("Hello.")).forever());
    let offered = |args: &[&str]| {
        let ran = world.run(&[&["-p", "hello"], args].concat());
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        (has_tool(world.server.requests().last().unwrap()), ran.stderr)
    };
    world.file(".mcp.json", &config("", "", json!({})));
    let (is_offered, told) = offered(&[]);
    assert!(!is_offered && told.contains("ignored until you trust this project"), "{told}");
    assert!(offered(&["--trust"]).0);
    assert!(offered(&[]).0);
    world.file(".mcp.json", &config("true", "", json!({})));
    let (is_offered, told) = offered(&[]);
    assert!(!is_offered && told.contains(".mcp.json"), "a change asks again: {told}");
    assert!(!offered(&["--strict-mcp-config"]).0);
}

#[test]
fn a_headless_run_has_the_tools_of_a_slow_server_in_its_first_request() {
    // Longer than a person at a terminal is kept waiting.
    let world = world(call());
    let servers = config("sleep 0.5", "", json!({}));
    let ran = world.run(&["-p", "go", "--mcp-config", &servers, "--allowedTools", "mcp__one"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "Done.\n"), "{}", ran.stderr);
    let requests = world.server.requests();
    assert!(has_tool(&requests[0]), "{:?}", listed(&requests[0]));
    assert!(requests[1].json().to_string().contains("went"));
}

#[test]
fn no_server_survives_kill_9() {
    for enabled in [true, false] {
        let world = world(call());
        let mark = unique_sleep();
        let before = format!("setsid sleep {mark} &");
        let servers = config(
            &before,
            &format!("sleep {mark}"),
            json!({"alwaysLoad": true, "sandbox": {"enabled": enabled}}),
        );
        let args = ["-p", "go", "--mcp-config", &servers, "--allowedTools", "mcp__one"];
        let mut child = world.command(&args).spawn().unwrap();
        until("its call runs", || processes_with(&format!("sleep\0{mark}")).len() >= 2);
        signal(&child, Signal::KILL);
        child.wait().unwrap();
        until("everything is gone", || processes_with(&mark).is_empty());
    }
}
