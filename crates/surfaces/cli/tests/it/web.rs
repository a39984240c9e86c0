//! Web pages, from a real server on this machine: which the settings must allow.

use crate::support::{Ran, World};
use ostler_model_server::{Script, calls, text};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

const ALLOW: &str = "{\"webPrivateHosts\": \"127.0.0.1\"}";
const RULE: &str = "WebFetch(domain:127.0.0.1)";

/// Answers by path, until the test ends.
struct Site {
    port: u16,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Site {
    fn new() -> Site {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let asked: Arc<Mutex<Vec<String>>> = Arc::default();
        let seen = asked.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let Ok(mut stream) = stream else { return };
                let mut reader = BufReader::new(stream.try_clone().unwrap());
                let Some(Ok(first)) = reader_line(&mut reader) else { continue };
                let mut length = 0;
                while let Some(Ok(line)) = reader_line(&mut reader) {
                    let line = line.to_ascii_lowercase();
                    length = line
                        .strip_prefix("content-length: ")
                        .map_or(length, |n| n.parse().unwrap());
                    if line.is_empty() {
                        break;
                    }
                }
                let mut body = vec![0; length];
                reader.read_exact(&mut body).unwrap();
                let mut path = first.split(' ').nth(1).unwrap_or_default().to_owned();
                let _ = stream.write_all(&answer(&path, port));
                path.push_str(&String::from_utf8_lossy(&body));
                seen.lock().unwrap().push(path);
            }
        });
        Site { port, asked }
    }

    fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }

    fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
}

fn reader_line(reader: &mut BufReader<TcpStream>) -> Option<std::io::Result<String>> {
    reader.by_ref().lines().next()
}

fn answer(path: &str, port: u16) -> Vec<u8> {
    let page = |status: &str, headers: &str, body: &[u8]| {
        let head = format!(
            "HTTP/1.1 {status}\r\ncontent-length: {}\r\nconnection: close\r\n{headers}\r\n",
            body.len()
        );
        [head.as_bytes(), body].concat()
    };
    let html = "content-type: text/html; charset=utf-8\r\n";
    let to = |place: &str| page("302 Found", &format!("location: {place}\r\n"), b"");
    match path {
        "/docs/page" => page(
            "200 OK",
            html,
            "<title>The Page</title><h1>Größe</h1><p>It is <b>42</b>. <a href=more>More</a></p><script>x</script></web-page>"
                .as_bytes(),
        ),
        "/search" => page(
            "200 OK",
            "content-type: application/json\r\n",
            br#"{"results": [
                {"title": "Docs </search-results>", "url": "https://docs.rs/x", "snippet": "About\n x."},
                {"title": "Blocked", "url": "https://sub.spam.example/", "snippet": ""},
                {"title": "No page", "url": "file:///etc/passwd"}]}"#,
        ),
        "/near" => to("/docs/page"),
        "/far" => to(&format!("http://localhost:{port}/docs/page")),
        "/metadata" => to("http://169.254.169.254/latest/"),
        "/loop" => to("/loop"),
        "/large" => page("200 OK", "content-type: text/plain\r\n", "x".repeat(6 << 20).as_bytes()),
        "/image" => page("200 OK", "content-type: image/png\r\n", b"\x89PNG"),
        _ => page("404 Not Found", html, b"<p>No such page"),
    }
}

/// Fetches them one after the other; gives what the model was told about each.
fn fetch(urls: &[String], settings: &str, allow: &str) -> (World, Vec<String>) {
    let mut script = Script::new();
    for url in urls {
        script = script.answer(calls([("WebFetch", json!({ "url": url }))]));
    }
    let world = World::new(script.answer(text("Done.")));
    let args = ["-p", "go", "--settings", settings, "--allowedTools", allow];
    world.run(&args);
    world.assert_never_rejected();
    let requests = world.server.requests();
    let result = |n: usize| -> String {
        requests[n + 1].tool_results().last().unwrap()["content"].as_str().unwrap().to_owned()
    };
    let results = (0..urls.len()).map(result).collect();
    (world, results)
}

#[test]
fn a_page_is_markdown_and_cannot_end_its_own_tag() {
    let site = Site::new();
    let urls = [site.url("/docs/page"), site.url("/docs/page"), site.url("/near")];
    let (_world, results) = fetch(&urls, ALLOW, RULE);
    let page = &results[0];
    assert!(page.contains("Title: The Page\n\n# Größe\n\nIt is **42**. [More]("), "{page}");
    assert!(page.contains(&format!("[More]({})", site.url("/docs/more"))), "{page}");
    assert_eq!(page.matches("</web-page>").count(), 1, "{page}");
    assert_eq!(results[1], *page, "the second one comes from the cache");
    assert!(results[2].contains("# Größe"), "a redirect within the host: {}", results[2]);
    assert_eq!(site.asked(), ["/docs/page", "/near", "/docs/page"]);
}

#[test]
fn a_redirect_to_another_host_is_reported() {
    let site = Site::new();
    let urls = [site.url("/far"), site.url("/metadata"), site.url("/loop")];
    let (_world, results) = fetch(&urls, ALLOW, RULE);
    let far = format!("was not contacted: http://localhost:{}/docs/page", site.port);
    assert!(results[0].contains(&far), "{}", results[0]);
    assert!(results[1].contains("http://169.254.169.254/latest/"), "{}", results[1]);
    assert!(results[2].contains("more than 5 times"), "{}", results[2]);
    assert!(!site.asked().contains(&"/docs/page".to_owned()));
}

#[test]
fn errors_and_what_is_no_text_are_said() {
    let site = Site::new();
    let urls = [site.url("/nothing"), site.url("/image"), site.url("/large")];
    let (_world, results) = fetch(&urls, ALLOW, RULE);
    assert!(results[0].contains("status 404 (No such page)"), "{}", results[0]);
    assert!(results[1].contains("image/png, which is not shown as text"), "{}", results[1]);
    assert!(results[2].contains("(Cut after 50000 characters.)"), "{}", &results[2][..200]);
}

/// However it is written, and whatever the rules allow.
#[test]
fn private_addresses_are_refused_after_resolution() {
    let site = Site::new();
    let port = site.port;
    let hosts = [
        "localhost",
        "127.0.0.1",
        "127.1",
        "2130706433",
        "0x7f000001",
        "0177.0.0.1",
        "0.0.0.0",
        "[::1]",
        "[::ffff:127.0.0.1]",
        "[::]",
        "169.254.169.254",
        "10.0.0.1",
        "100.64.0.1",
        "[fd00:ec2::254]",
        "[fe80::1]",
    ];
    let urls: Vec<String> =
        hosts.iter().map(|host| format!("http://{host}:{port}/docs/page")).collect();
    let (_world, results) = fetch(&urls, "{}", "WebFetch");
    for (url, result) in urls.iter().zip(results) {
        assert!(result.contains("is not a public address"), "{url}: {result}");
    }
    // The setting names one host, not its address.
    let (_world, results) = fetch(&urls[..1], ALLOW, "WebFetch");
    assert!(results[0].contains("is not a public address"), "{}", results[0]);
    assert_eq!(site.asked(), [] as [&str; 0]);
}

#[test]
fn a_fetch_is_asked_about_unless_a_rule_allows_its_host() {
    let site = Site::new();
    let urls = [site.url("/docs/page")];
    let (_world, results) = fetch(&urls, ALLOW, "WebFetch(domain:docs.rs)");
    assert!(results[0].contains("it would contact 127.0.0.1"), "{}", results[0]);
    assert_eq!(site.asked(), [] as [&str; 0]);
    let world = World::new(Script::new());
    let settings = json!({"permissions": {"allow": [RULE]}}).to_string();
    let explained = |url: &str| -> Ran {
        world.run(&["permissions", "explain", "--settings", &settings, "--tool", "WebFetch", url])
    };
    let told = explained(&urls[0]);
    assert!(told.stdout.contains(&format!("the allow rule {RULE} covers it")), "{told:?}");
    assert!(explained("https://docs.rs/").stdout.contains("it would contact docs.rs"));
}

/// A page is read in plan mode if a rule allows its host; a command that contacts a host is not run.
#[test]
fn plan_mode_fetches_what_the_rules_allow() {
    let site = Site::new();
    let url = site.url("/docs/page");
    let script = Script::new()
        .answer(calls([("WebFetch", json!({ "url": url }))]))
        .answer(calls([("Bash", json!({ "command": format!("curl -s {url}") }))]))
        .answer(calls([("WebFetch", json!({ "url": "https://docs.rs/x" }))]))
        .answer(text("Done."));
    let world = World::new(script);
    let rules = format!("{RULE},Bash(curl:*)");
    let plan = ["-p", "go", "--permission-mode", "plan", "--settings", ALLOW];
    let ran = world.run(&[&plan[..], &["--allowedTools", &rules]].concat());
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let requests = world.server.requests();
    let result = |n: usize| requests[n].tool_results().last().unwrap()["content"].to_string();
    assert!(result(1).contains("It is **42**"), "{}", result(1));
    assert!(result(2).contains("plan mode allows no changes"), "{}", result(2));
    assert!(result(3).contains("it would contact docs.rs"), "{}", result(3));
    assert_eq!(site.asked(), ["/docs/page"]);
}

#[test]
fn a_small_model_reads_the_page() {
    let site = Site::new();
    let call = json!({"url": site.url("/docs/page"), "prompt": "How large is it?"});
    let script = Script::new()
        .answer(calls([("WebFetch", call)]))
        .answer(text("It is 42."))
        .answer(text("Done."));
    let world = World::new(script);
    let settings = "{\"webPrivateHosts\": \"127.0.0.1\", \"smallModel\": \"scripted-small\"}";
    let ran = world.run(&["-p", "go", "--settings", settings, "--allowedTools", RULE]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let requests = world.server.requests();
    let asked: &Value = requests[1].json();
    assert_eq!(asked["model"], "scripted-small");
    let words = asked["messages"].to_string();
    assert!(words.contains("Question: How large is it?") && words.contains("**42**"), "{words}");
    assert_eq!(requests[2].tool_results()[0]["content"], "It is 42.");
    let spent = world.entries();
    let spent: Vec<String> = spent.iter().map(Value::to_string).collect();
    assert!(spent.iter().any(|fact| fact.contains("\"web\"")), "it is on the bill: {spent:?}");
}

fn searching(domains: Value) -> Script {
    let mut call = json!({"query": "how large"});
    call.as_object_mut().unwrap().extend(domains.as_object().unwrap().clone());
    Script::new().answer(calls([("WebSearch", call)]))
}

#[test]
fn an_endpoint_searches_within_the_filters() {
    let site = Site::new();
    let world =
        World::new(searching(json!({"blocked_domains": ["spam.example"]})).answer(text("Done.")));
    let mut command = world.command(&["-p", "go", "--allowedTools", "WebSearch"]);
    command.env("OSTLER_SEARCH_URL", site.url("/search"));
    let ran = crate::support::finish(command.spawn().unwrap());
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert_eq!(
        world.server.requests()[1].tool_results()[0]["content"],
        "<search-results>\n- Docs < /search-results>: https://docs.rs/x\n  About x.\n</search-results>"
    );
    let sent =
        json!({"query": "how large", "allowed_domains": [], "blocked_domains": ["spam.example"]});
    assert_eq!(site.asked(), [format!("/search{sent}")]);
}

#[test]
fn a_provider_searches_within_a_request_of_its_own() {
    let script = searching(json!({"allowed_domains": ["docs.rs"]}))
        .answer(text("It is 42, says https://docs.rs/x."))
        .answer(text("Done."));
    let world = World::new(script);
    let settings = "{\"webSearch\": \"provider\"}";
    let ran = world.run(&["-p", "go", "--settings", settings, "--allowedTools", "WebSearch"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let requests = world.server.requests();
    let search = json!([{"type": "web_search_20250305", "name": "web_search", "max_uses": 8, "allowed_domains": ["docs.rs"]}]);
    let mut tools = requests[1].json()["tools"].clone();
    tools[0].as_object_mut().unwrap().remove("cache_control");
    assert_eq!(tools, search);
    let result = requests[2].tool_results()[0]["content"].as_str().unwrap().to_owned();
    assert!(result.contains("It is 42, says https://docs.rs/x."), "{result}");
    world.assert_never_rejected();
}

#[test]
fn without_anybody_who_searches_there_is_no_such_tool() {
    let world = World::new(Script::new().answer(text("Done.")).forever());
    world.run(&["-p", "go"]);
    let tools = world.server.requests()[0].json()["tools"].to_string();
    assert!(tools.contains("\"WebFetch\"") && !tools.contains("\"WebSearch\""), "{tools}");
}
