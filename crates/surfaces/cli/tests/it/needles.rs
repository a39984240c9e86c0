//! Forty facts stated early, three summaries that keep none of them: each is asked for again and comes back, by the
//! carry-over, by the memory or by Recall. Checked in the bytes of the requests.

use crate::support::{World, walk};
use ostler_model_server::{Recorded, Script, calls, text};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::Path;

const FACTS: u32 = 40;

fn value(n: u32) -> String {
    format!("amber-{}", (n + 3) * 7919)
}

fn stated(n: u32) -> String {
    format!("the code of needle-{n:02} is {}.", value(n))
}

/// Ten stand in the first prompt, fifteen behind many words of a later one, fifteen in what a command wrote.
fn prompts() -> [String; 2] {
    let first: Vec<String> = (0..10).map(stated).collect();
    let later: Vec<String> = (10..25).map(|n| format!("Remember that {}", stated(n))).collect();
    [
        format!("learn these: {}", first.join(" ")),
        format!("Some words first. {}\n{}", "Nothing of note. ".repeat(40), later.join("\n")),
    ]
}

/// How a value got into a request.
fn way(request: &Recorded, value: &str) -> Option<&'static str> {
    let all = request.messages();
    let mut found = None;
    for block in all.iter().filter_map(|message| message["content"].as_array()).flatten() {
        if !block.to_string().contains(value) {
            continue;
        }
        let text = block["text"].as_str().unwrap_or_default();
        found = Some(match () {
            () if block["type"] == "tool_result" => "recall",
            () if text.starts_with("<summary>") => "carry-over",
            () if text.starts_with("<memory>") => "memory",
            () => "still in view",
        });
    }
    found
}

fn copied(from: &Path, to: &Path) {
    let _ = std::fs::remove_dir_all(to);
    for file in walk(from) {
        let target = to.join(file.strip_prefix(from).unwrap());
        std::fs::create_dir_all(target.parent().unwrap()).unwrap();
        std::fs::copy(&file, target).unwrap();
    }
}

fn script() -> Script {
    Script::new()
        .by(|request| {
            let last = request.messages().last().map(Value::to_string).unwrap_or_default();
            let all = String::from_utf8_lossy(&request.body).into_owned();
            if all.contains("is about to be replaced by a summary that you write now") {
                return text("# Summary\nFacts were stated; their values are in the log.");
            }
            let asked = last.split("which code has needle-").nth(1).and_then(|n| n.get(..2));
            match asked {
                _ if last.contains("tool_result") => text("noted"),
                _ if last.contains("learn these") => {
                    calls([("Bash", json!({ "command": "cat facts.txt" }))])
                }
                Some(n) if !all.contains(&value(n.parse().unwrap())) => {
                    calls([("Recall", json!({ "query": format!("needle-{n}") }))])
                }
                Some(_) => text("I know it."),
                None => text("a longer answer without any fact ".repeat(40)),
            }
        })
        .forever()
}

#[test]
fn what_was_summed_up_is_found_again() {
    let world = World::new(script());
    let go = |prompt: &str, more: &[&str]| {
        let args = [
            "-p",
            prompt,
            "--output-format",
            "stream-json",
            "--permission-mode",
            "bypassPermissions",
        ];
        let ran = world.run(&[&args, more].concat());
        assert_eq!(ran.code, Some(0), "{prompt}: {ran:?}");
    };
    world.file("facts.txt", &(25..FACTS).map(|n| stated(n) + "\n").collect::<String>());
    let [first, later] = prompts();
    go(&first, &[]);
    go(&later, &["--continue"]);
    for _ in 0..3 {
        for _ in 0..3 {
            go(&format!("go on. {}", "filler words ".repeat(100)), &["--continue"]);
        }
        go("/compact", &["--continue"]);
    }
    let boundaries = world.entries().iter().filter(|fact| fact["fact"] == "boundary").count();
    assert_eq!(boundaries, 3);

    // Each question meets the session as it is now.
    let kept = tempfile::tempdir().unwrap();
    copied(&world.home(), kept.path());
    let mut ways: BTreeMap<&str, Vec<u32>> = BTreeMap::new();
    for n in 0..FACTS {
        copied(kept.path(), &world.home());
        let before = world.server.requests().len();
        go(&format!("which code has needle-{n:02}?"), &["--continue"]);
        let requests = world.server.requests();
        let asked = requests.get(before..).unwrap();
        let by = asked.iter().find_map(|request| way(request, &value(n)));
        ways.entry(by.unwrap_or("lost")).or_default().push(n);
    }
    let count = |way: &str| ways.get(way).map_or(0, Vec::len);
    println!(
        "needles: {} by carry-over, {} by memory, {} by Recall, {} lost",
        count("carry-over"),
        count("memory"),
        count("recall"),
        count("lost"),
    );
    assert_eq!(ways.get("carry-over").map(Vec::len), Some(10), "{ways:?}");
    assert_eq!(ways.get("memory").map(Vec::len), Some(15), "{ways:?}");
    assert_eq!(ways.get("recall").map(Vec::len), Some(15), "{ways:?}");
    world.assert_never_rejected();
}
