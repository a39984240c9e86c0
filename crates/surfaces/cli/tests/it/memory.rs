//! What is remembered across sessions: learned at the end, brought along, kept and forgotten on request.

use crate::support::{Ran, World};
use ostler_model_server::{Script, text};
use serde_json::{Value, json};

fn said(world: &World, n: usize) -> String {
    world.server.requests()[n].json()["messages"].to_string()
}

fn lines(ran: &Ran) -> Vec<Value> {
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    ran.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn a_wish_of_one_session_is_known_in_the_next() {
    let world = World::new(Script::new().answer(text("ok")).forever());
    assert_eq!(world.run(&["-p", "Say hello. Always use pnpm in the web folder."]).code, Some(0));
    assert!(!said(&world, 0).contains("<memory>"));
    let kept = lines(&world.run(&["memory", "list", "--json"]));
    assert_eq!(kept.len(), 1);
    assert_eq!(kept[0]["text"], "Always use pnpm in the web folder.");
    assert_eq!((&kept[0]["kind"], &kept[0]["origin"]["turn"]), (&json!("preference"), &json!(1)));
    assert!(kept[0]["origin"]["session"].is_string() && kept[0]["at"].as_u64() > Some(0));

    assert_eq!(world.run(&["-p", "add a dependency"]).code, Some(0));
    let second = world.server.requests()[1].json().clone();
    let blocks = second["messages"][0]["content"].as_array().unwrap();
    let texts: Vec<&str> = blocks.iter().map(|block| block["text"].as_str().unwrap()).collect();
    let at = texts.iter().position(|text| text.starts_with("<memory>")).unwrap();
    assert!(texts[at].contains("[p1]") && texts[at].contains("Always use pnpm in the web folder."));
    assert_eq!(texts.last(), Some(&"add a dependency"), "the person's words stay last");
    // In the same session it is not repeated, and the request before stays its beginning.
    assert_eq!(world.run(&["-p", "go on with pnpm", "--continue"]).code, Some(0));
    let third = world.server.requests()[2].json().clone();
    assert_eq!(
        third["messages"][0]["content"][0]["text"],
        second["messages"][0]["content"][0]["text"]
    );
    assert_eq!(said(&world, 2).matches("<memory>").count(), 1);
    world.assert_never_rejected();
}

#[test]
fn the_model_keeps_looks_up_and_may_not_forget_unasked() {
    let script = Script::new()
        .answer(text("").call(
            "Memory",
            json!({"action": "add", "text": "The staging port is 5433.", "kind": "fact"}),
        ))
        .answer(text("").call("Memory", json!({"action": "search", "query": "staging port"})))
        .answer(text("").call("Memory", json!({"action": "forget", "id": "p1"})))
        .answer(text("").call("Memory", json!({"action": "add", "text": "password = hunter22"})))
        .answer(text("").call("Memory", json!({"action": "add"})))
        .answer(text("done"));
    let world = World::new(script);
    assert_eq!(world.run(&["-p", "go"]).code, Some(0));
    let results: Vec<String> = (1..6)
        .map(|n| world.server.requests()[n].tool_results().last().unwrap().to_string())
        .collect();
    assert!(results[0].contains("Saved as p1"), "{}", results[0]);
    assert!(results[1].contains("[p1] fact: The staging port is 5433."), "{}", results[1]);
    assert!(results[1].contains("Found by words only"), "{}", results[1]);
    assert!(results[2].contains("nobody is there to ask"), "{}", results[2]);
    assert!(results[3].contains("Not saved") && !results[3].contains("hunter22"), "{}", results[3]);
    assert!(results[4].contains("needs the property `text`"), "{}", results[4]);
    let kept = lines(&world.run(&["memory", "list", "--json"]));
    assert_eq!(kept.len(), 1);
    assert!(kept[0]["origin"]["source"].is_string(), "the call it comes from: {kept:?}");
    world.assert_never_rejected();
}

#[test]
fn the_command_line() {
    let world = World::new(Script::new());
    assert!(world.run(&["memory", "list"]).stdout.contains("Nothing is remembered"));
    let added =
        lines(&world.run(&["memory", "add", "--json", "The orders topic has 24 partitions."]));
    assert_eq!(added, [json!({"id": "p1", "new": true})]);
    assert!(
        world
            .run(&["memory", "add", "--user", "--kind", "preference", "British spelling, please."])
            .stdout
            .contains("u1")
    );
    let (old, new) = ("Always squash the commits.", "Never squash the commits.");
    let wish = |text: &str| world.run(&["memory", "add", "--user", "--kind", "preference", text]);
    assert_eq!(
        (wish(old).stdout.trim(), wish(new).stdout.trim()),
        ("Saved as u2.", "Saved as u3, replacing u2.",)
    );
    assert_eq!(world.run(&["memory", "forget", "u3"]).code, Some(0));
    let refused = world.run(&["memory", "add", "token = abc123def456"]);
    assert_eq!(refused.code, Some(1));
    assert!(refused.stderr.contains("Not saved"), "{}", refused.stderr);
    let found = world.run(&["memory", "search", "how many partitions?"]);
    assert!(
        found.stdout.contains("24 partitions") && found.stderr.contains("memory setup"),
        "{found:?}"
    );
    assert_eq!(lines(&world.run(&["memory", "search", "--json", "partitions"])).len(), 1);
    assert_eq!(world.run(&["memory", "export"]).code, Some(0));
    let exported = world.read("memory.md");
    assert!(
        exported.starts_with("<!-- Written by `ostler memory export`")
            && exported.contains("\n# Memory\n")
            && exported.contains("- The orders topic has 24 partitions.")
    );
    assert!(exported.contains("## All projects") && exported.contains("the command line"));
    let forgot = world.run(&["memory", "forget", "p1", "p9"]);
    assert_eq!(forgot.code, Some(1));
    assert!(forgot.stdout.contains("Forgotten: p1") && forgot.stderr.contains("no memory p9"));
    assert_eq!(lines(&world.run(&["memory", "list", "--json"])).len(), 1);
    let package = world.file("wrong.whl", "nothing of the kind");
    let wrong = world.run(&["memory", "setup", "--package", package.to_str().unwrap()]);
    assert_eq!(wrong.code, Some(1));
    assert!(wrong.stderr.contains("sha256") && wrong.stderr.contains("Nothing was installed"));
    assert!(!world.home().join("models").exists());
}

/// Neither stops a session: it continues, says so in one line, and what it learns is kept.
#[test]
fn a_damaged_memory_stops_no_session() {
    let world = World::new(Script::new().answer(text("ok")).forever());
    world.run(&["memory", "add", "The orders topic has 24 partitions."]);
    let folder = world.home().join("memory");
    let databases: Vec<_> = std::fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|ending| ending == "db"))
        .collect();
    for path in &databases {
        std::fs::write(path, "no database at all").unwrap();
    }
    let ran = world.run(&["-p", "Say hello. Never push on Friday."]);
    assert_eq!((ran.code, ran.stdout.trim()), (Some(0), "ok"), "{}", ran.stderr);
    let told: Vec<&str> = ran.stderr.lines().filter(|line| line.contains("was damaged")).collect();
    assert!(told.len() == 1 && told[0].contains(".db.broken-1"), "{}", ran.stderr);
    let kept = lines(&world.run(&["memory", "list", "--json"]));
    assert_eq!(kept.len(), 1);
    assert_eq!(kept[0]["text"], "Never push on Friday.");
}

/// Said once, though it is met when a prompt is read and when it is learned from.
#[test]
fn a_memory_that_cannot_be_used_is_told_once() {
    let world = World::new(Script::new().answer(text("ok")).forever());
    world.run(&["memory", "add", "The orders topic has 24 partitions."]);
    let folder = world.home().join("memory");
    let all: Vec<_> =
        std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    let database = all.iter().find(|path| path.extension().is_some_and(|end| end == "db")).unwrap();
    all.iter().for_each(|path| std::fs::remove_file(path).unwrap());
    std::fs::create_dir(database).unwrap();
    for prompt in ["Say hello.", "Say hello. Never push on Friday."] {
        let ran = world.run(&["-p", prompt]);
        assert_eq!((ran.code, ran.stdout.trim()), (Some(0), "ok"), "{}", ran.stderr);
        assert_eq!(ran.stderr.matches("memory cannot be used").count(), 1, "{}", ran.stderr);
    }
}

#[test]
fn memory_can_be_switched_off() {
    let world = World::new(Script::new().answer(text("ok")).forever());
    world.run(&["memory", "add", "--kind", "preference", "Always answer in German."]);
    let mut command = world.command(&["-p", "hello. Never push on Friday."]);
    let ran = crate::support::finish(command.env("OSTLER_MEMORY", "off").spawn().unwrap());
    assert_eq!(ran.code, Some(0));
    let request = world.server.requests()[0].json().clone();
    assert!(!request["messages"].to_string().contains("German"));
    assert!(request["tools"].as_array().unwrap().iter().all(|tool| tool["name"] != "Memory"));
    assert_eq!(lines(&world.run(&["memory", "list", "--json"])).len(), 1);
}

/// Answers every request with one vector per text: towards the north if it speaks of shipping, else to the east.
fn endpoint() -> (String, std::sync::mpsc::Receiver<String>) {
    use std::io::{Read, Write};
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/v1/embeddings", listener.local_addr().unwrap());
    let (tell, told) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let (mut request, mut byte) = (Vec::new(), [0u8; 4096]);
            let body = loop {
                let n = stream.read(&mut byte).unwrap();
                request.extend_from_slice(&byte[..n]);
                let text = String::from_utf8_lossy(&request).into_owned();
                let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
                let size =
                    head.to_lowercase().split("content-length: ").nth(1).unwrap_or("0").to_owned();
                if body.len() >= size.lines().next().unwrap().parse().unwrap() || n == 0 {
                    break body.to_owned();
                }
            };
            let asked: Value = serde_json::from_str(&body).unwrap();
            let vector = |text: &Value| match text.as_str().unwrap().contains("ship") {
                true => json!({"embedding": [0.0, 1.0]}),
                false => json!({"embedding": [1.0, 0.0]}),
            };
            let rows: Vec<Value> = asked["input"].as_array().unwrap().iter().map(vector).collect();
            let answer = json!({"data": rows}).to_string();
            let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close";
            write!(stream, "{head}\r\ncontent-length: {}\r\n\r\n{answer}", answer.len()).unwrap();
            if tell.send(String::from_utf8_lossy(&request).into_owned()).is_err() {
                return;
            }
        }
    });
    (url, told)
}

#[test]
fn a_providers_endpoint_gives_the_meaning() {
    let world = World::new(Script::new());
    let (url, told) = endpoint();
    let run = |args: &[&str], url: &str| {
        let mut command = world.command(args);
        command.env("OSTLER_EMBEDDING_URL", url).env("OSTLER_EMBEDDING_MODEL", "tiny");
        crate::support::finish(command.env("OSTLER_EMBEDDING_KEY", "k-1").spawn().unwrap())
    };
    assert_eq!(run(&["memory", "add", "Parcels are shipped on Tuesday."], &url).code, Some(0));
    assert_eq!(run(&["memory", "add", "The css lives in web/."], &url).code, Some(0));
    let found = run(&["memory", "search", "--json", "--limit", "1", "when do we ship?"], &url);
    assert_eq!(lines(&found)[0]["text"], "Parcels are shipped on Tuesday.", "no word in common");
    assert!(!found.stderr.contains("by words only"), "{}", found.stderr);
    let request = told.recv().unwrap().to_lowercase();
    assert!(
        request.starts_with("post /v1/embeddings") && request.contains("authorization: bearer k-1")
    );
    assert!(request.contains(r#""model":"tiny""#));
    // Nobody listens there: by words, and it says why.
    let lost = run(&["memory", "search", "css"], "http://127.0.0.1:9/v1/embeddings");
    assert!(lost.stdout.contains("css lives") && lost.stderr.contains("by words only"), "{lost:?}");
    assert_eq!(run(&["memory", "list"], "ftp://x").code, Some(3));
}
