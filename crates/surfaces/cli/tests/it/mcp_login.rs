//! `ostler mcp login` and `logout` against a server on this machine, with a browser that a test plays.

use crate::support::{World, until};
use ostler_model_server::{Script, text};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;
use std::sync::{Arc, Mutex};

/// An MCP server that lets nobody in without `the-token`, and its authorization server.
struct Servers {
    base: String,
    requests: Arc<Mutex<Vec<String>>>,
}

impl Servers {
    fn start() -> Servers {
        let socket = TcpListener::bind("127.0.0.1:0").unwrap();
        let base = format!("http://{}", socket.local_addr().unwrap());
        let requests = Arc::new(Mutex::new(Vec::new()));
        let (own, seen) = (base.clone(), Arc::clone(&requests));
        std::thread::spawn(move || {
            for stream in socket.incoming() {
                let mut stream = stream.unwrap();
                let Some(request) = read(&mut stream) else { continue };
                let answer = answer(&own, &request);
                seen.lock().unwrap().push(request);
                let _ = stream.write_all(answer.as_bytes());
            }
        });
        Servers { base, requests }
    }

    /// How often a path was asked for.
    fn count(&self, path: &str) -> usize {
        let is_it =
            |request: &&String| request.split(' ').nth(1).is_some_and(|it| it.starts_with(path));
        self.requests.lock().unwrap().iter().filter(is_it).count()
    }
}

fn read(stream: &mut TcpStream) -> Option<String> {
    let mut text = String::new();
    let mut piece = [0; 4096];
    loop {
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let head = head.to_ascii_lowercase();
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
            if body.len() >= length.map_or(0, |length| length.parse().unwrap()) {
                return Some(text);
            }
        }
        let read = stream.read(&mut piece).ok().filter(|read| *read > 0)?;
        text.push_str(&String::from_utf8_lossy(&piece[..read]));
    }
}

fn answer(base: &str, request: &str) -> String {
    let path = request.split(' ').nth(1).unwrap();
    let reply = |status: &str, headers: &str, body: &str| {
        let length = body.len();
        format!(
            "HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {length}\r\nconnection: close\r\n{headers}\r\n{body}"
        )
    };
    match path {
        "/mcp" => reply("401 x", "www-authenticate: Bearer scope=\"read\"\r\n", ""),
        "/.well-known/oauth-protected-resource/mcp" => {
            let body = format!(r#"{{"resource":"{base}/mcp","authorization_servers":["{base}"]}}"#);
            reply("200 x", "", &body)
        }
        "/.well-known/oauth-authorization-server" => {
            let body = format!(
                r#"{{"issuer":"{base}","authorization_endpoint":"{base}/authorize","token_endpoint":"{base}/token",
                "registration_endpoint":"{base}/register","code_challenge_methods_supported":["S256"]}}"#
            );
            reply("200 x", "", &body)
        }
        "/register" => reply("201 x", "", r#"{"client_id":"me"}"#),
        "/token" => reply("200 x", "", r#"{"access_token":"the-token","token_type":"Bearer"}"#),
        _ => reply("404 x", "", ""),
    }
}

/// What the browser is sent back to by somebody who agrees.
fn agreed(address: &str) -> String {
    let value = |name: &str| {
        let (_, rest) = address.split_once(&format!("{name}=")).unwrap();
        rest.split('&').next().unwrap().replace("%3A", ":").replace("%2F", "/")
    };
    format!("{}?code=c&state={}", value("redirect_uri"), value("state"))
}

/// The page that the browser shows there.
fn visited(address: &str) -> String {
    let (host, target) = address.strip_prefix("http://").unwrap().split_once('/').unwrap();
    let mut stream = TcpStream::connect(host).unwrap();
    write!(stream, "GET /{target} HTTP/1.1\r\nhost: {host}\r\n\r\n").unwrap();
    let mut page = String::new();
    stream.read_to_string(&mut page).unwrap();
    page
}

fn world(servers: &Servers) -> World {
    let world = World::new(Script::new().answer(text("ok")).forever());
    world.has_chosen();
    let list =
        format!(r#"{{"mcpServers":{{"tracker":{{"type":"http","url":"{}/mcp"}}}}}}"#, servers.base);
    std::fs::write(world.home().join("mcp.json"), list).unwrap();
    world
}

fn login_files(world: &World) -> Vec<std::path::PathBuf> {
    let folder = std::fs::read_dir(world.home().join("oauth"));
    let all = folder.into_iter().flatten().map(|entry| entry.unwrap().path());
    all.filter(|path| path.extension().is_some_and(|kind| kind == "json")).collect()
}

#[test]
fn a_person_logs_in_with_a_browser_and_out_again() {
    let servers = Servers::start();
    let world = world(&servers);
    let pipe = world.project().join("pipe");
    rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, rustix::fs::Mode::from_raw_mode(0o600)).unwrap();
    let browser =
        world.file("browser", &format!("#!/bin/sh\nprintf %s \"$1\" > '{}'\n", pipe.display()));
    std::fs::set_permissions(&browser, std::fs::Permissions::from_mode(0o700)).unwrap();
    let mut command = world.command(&["mcp", "login", "tracker"]);
    let child = command.env("BROWSER", &browser).spawn().unwrap();
    let address = std::fs::read_to_string(&pipe).unwrap();
    assert!(address.contains("scope=read"), "{address}");
    let back = agreed(&address);
    let page = visited(&back);
    assert!(page.contains("You can close this tab."), "{page}");
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
    assert!(said.contains("Logged in to tracker") && !said.contains("the-token"), "{said}");
    let files = login_files(&world);
    assert_eq!(files.len(), 1);
    assert_eq!(files[0].metadata().unwrap().permissions().mode() & 0o777, 0o600);

    let out = world.run(&["mcp", "logout", "tracker"]);
    assert_eq!((out.code, login_files(&world).len()), (Some(0), 0), "{}", out.stderr);
    assert!(world.run(&["mcp", "logout", "tracker"]).stdout.contains("no login"));
}

#[test]
fn without_a_browser_the_address_is_pasted() {
    let servers = Servers::start();
    let world = world(&servers);
    let mut command =
        world.command(&["mcp", "login", "tracker", "--no-browser", "--scopes", "write"]);
    let mut child = command.stdin(std::process::Stdio::piped()).spawn().unwrap();
    let mut output = std::io::BufReader::new(child.stdout.take().unwrap());
    let mut lines = std::io::BufRead::lines(&mut output).map(Result::unwrap);
    let address = lines.find(|line| line.contains("/authorize?")).unwrap();
    assert!(address.contains("scope=write"), "{address}");
    writeln!(child.stdin.take().unwrap(), "{}", agreed(address.trim())).unwrap();
    assert!(lines.any(|line| line.contains("Logged in to tracker")));
    assert!(child.wait().unwrap().success());
    assert_eq!(servers.count("/token"), 1);
}

#[test]
fn a_program_gets_the_address_that_its_user_logs_in_at() {
    let servers = Servers::start();
    let world = world(&servers);
    let flags = ["--input-format", "stream-json", "--output-format", "stream-json"];
    let mut child = world.command(&flags).stdin(Stdio::piped()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let frames = lines.map(|line| serde_json::from_str::<Value>(&line.unwrap()).unwrap());
    let mut answers = frames.filter(|frame| frame["type"] == "control_response");
    let mut ask = |subtype: &str| {
        let request = json!({"subtype": subtype, "serverName": "tracker"});
        let frame = json!({"type": "control_request", "request_id": "r", "request": request});
        writeln!(input, "{frame}").unwrap();
        answers.next().unwrap()["response"].clone()
    };
    let status = ask("mcp_status");
    assert_eq!(status["response"]["mcpServers"][0]["status"], "needs-auth", "{status}");
    assert_eq!(ask("mcp_reconnect")["subtype"], "error");
    let login = ask("mcp_authenticate")["response"].clone();
    assert_eq!(login["requiresUserAction"], true, "{login}");
    let address = login["authUrl"].as_str().unwrap();
    assert!(visited(&agreed(address)).contains("You can close this tab."));
    until("the login is kept", || login_files(&world).len() == 1);
    drop(input);
    assert!(child.wait().unwrap().success());
}

#[test]
fn names_that_cannot_be_logged_in_to_are_refused() {
    let servers = Servers::start();
    let world = world(&servers);
    let unknown = world.run(&["mcp", "login", "other"]);
    assert_eq!(unknown.code, Some(2));
    assert!(
        unknown.stderr.contains("\"other\"") && unknown.stderr.contains("tracker"),
        "{}",
        unknown.stderr
    );
    let local = r#"{"mcpServers":{"local":{"command":"/bin/true"}}}"#;
    let program = world.run(&["mcp", "login", "local", "--mcp-config", local]);
    assert_eq!(program.code, Some(2));
    assert!(program.stderr.contains("only servers on the network"), "{}", program.stderr);
}

#[test]
fn a_headless_run_says_which_server_needs_a_login_and_goes_on() {
    let servers = Servers::start();
    let world = world(&servers);
    let ran = world.run(&["-p", "hello"]);
    assert_eq!((ran.code, ran.stdout.trim()), (Some(0), "ok"), "{}", ran.stderr);
    assert!(ran.stderr.contains("ostler mcp login tracker"), "{}", ran.stderr);
    // Nobody was sent to a browser, and nobody was registered.
    assert_eq!((servers.count("/authorize"), servers.count("/register")), (0, 0));
}
