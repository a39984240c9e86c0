//! What the prompt cache did for each request.

use crate::support::{Ran, World};
use ostler_model_server::{Script, calls, text};
use serde_json::{Value, json};

/// Two requests: the second one repeats what the first one sent.
fn world() -> World {
    let look = calls([("Read", json!({"file_path": "a.txt"}))]);
    let world = World::new(Script::new().answer(look).answer(text("Done.")));
    world.file("a.txt", "a\n");
    world
}

/// Too short a prompt would not be cached.
fn run(world: &World, more: &[&str]) -> Ran {
    let prompt = "Look at the file. ".repeat(2_000);
    world.run(&[&["-p", &prompt, "--model", "opus"], more].concat())
}

#[test]
fn verbose_text_has_a_line_for_each_request() {
    let ran = run(&world(), &["--verbose"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let lines: Vec<&str> = ran
        .stderr
        .lines()
        .filter(|line| line.contains("cache ") && line.contains(" tokens "))
        .collect();
    let [miss, hit] = lines[..] else { panic!("one for each request: {}", ran.stderr) };
    assert!(miss.contains("cache miss: ") && miss.ends_with(" tokens written"), "{miss}");
    assert!(hit.contains("cache hit: ") && hit.contains(" tokens read, about $0."), "{hit}");
    let quiet = run(&world(), &[]);
    assert!(!quiet.stderr.contains("cache miss"), "{}", quiet.stderr);
}

#[test]
fn stream_json_has_it_always() {
    let ran = run(&world(), &["--output-format", "stream-json"]);
    let requests: Vec<Value> =
        ran.frames().into_iter().filter(|frame| frame["subtype"] == "request").collect();
    let states: Vec<&Value> = requests.iter().map(|frame| &frame["cache"]["state"]).collect();
    assert_eq!(states, ["miss", "hit"]);
    let number = |at: usize, name: &str| requests[at]["cache"][name].as_f64().unwrap_or_default();
    assert!(number(0, "written_tokens") > 0.0 && number(0, "read_tokens") == 0.0);
    assert!(number(1, "read_tokens") >= number(0, "written_tokens"));
    assert!(number(1, "saved_usd") > 0.0);
}
