//! What a decision costs: `cargo bench -p ostler --bench decide`.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a program for the terminal")]

use ostler::{Case, Mode, judge, rule_set};
use ostler_core::permission::Workspace;
use serde_json::{Value, json};
use std::path::Path;
use std::time::{Duration, Instant};

fn main() {
    let workspace = Workspace {
        cwd: "/ws".into(),
        roots: vec!["/ws".into()],
        home: "/home/dev".into(),
        tools: ostler::known_tools(),
        ..Workspace::default()
    };
    let policy = rule_set(&json!("seed"), &workspace).unwrap();
    let once = |input: &Value| {
        let begin = Instant::now();
        std::hint::black_box(judge("Bash", input, &policy, Mode::Default, &workspace));
        begin.elapsed()
    };
    let mut times: Vec<Duration> = Vec::new();
    for input in commands() {
        let mut runs: Vec<Duration> = (0..9).map(|_| once(&input)).collect();
        runs.sort_unstable();
        times.extend(runs.get(runs.len() / 2));
    }
    times.sort_unstable();
    let at = |share: usize| times.get(times.len() * share / 100).copied().unwrap_or_default();
    println!(
        "decision: median {:.1} µs, 90 % {:.1} µs, 99 % {:.1} µs over {} commands of the corpus",
        micros(at(50)),
        micros(at(90)),
        micros(at(99)),
        times.len()
    );
    for (name, text) in long() {
        let input = json!({ "command": text });
        let mut runs: Vec<Duration> = (0..9).map(|_| once(&input)).collect();
        runs.sort_unstable();
        let median = runs.get(4).copied().unwrap_or_default();
        let of = |work: &dyn Fn(&str)| {
            let mut runs: Vec<Duration> = (0..9)
                .map(|_| {
                    let begin = Instant::now();
                    work(&text);
                    begin.elapsed()
                })
                .collect();
            runs.sort_unstable();
            micros(runs.get(4).copied().unwrap_or_default()) / 1000.0
        };
        println!(
            "{name}, {} characters: {:.2} ms (reading {:.2}, read twice {:.2}, steps {:.2})",
            text.chars().count(),
            micros(median) / 1000.0,
            of(&|text| drop(std::hint::black_box(ostler_shell::parse(text)))),
            of(&|text| drop(std::hint::black_box(ostler_shell::agreed(text)))),
            of(&|text| drop(std::hint::black_box(ostler_shell::steps(text)))),
        );
    }
}

fn micros(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}

fn commands() -> Vec<Value> {
    let path =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../fixtures/corpus/permissions.jsonl");
    let text = std::fs::read_to_string(path).unwrap();
    let cases = text.lines().map(|line| serde_json::from_str::<Case>(line).unwrap());
    let short = |input: &Value| {
        input.get("command").and_then(Value::as_str).is_some_and(|text| text.len() < 1000)
    };
    cases.map(|case| case.input).filter(short).collect()
}

/// The longest texts that can still be allowed, of several kinds.
fn long() -> Vec<(&'static str, String)> {
    let fill = |text: &str| text.repeat(10_000 / text.chars().count());
    vec![
        ("a list", fill("git status; ")),
        ("a list without repetition", numbered(|n| format!("cat src/f{n}.rs; "))),
        ("a pipeline", format!("{}wc", fill("cat a.txt | "))),
        ("a pipeline without repetition", numbered(|n| format!("grep -n a{n} | ")) + "wc"),
        ("one quoted word", format!("echo '{}'", fill("x y "))),
        ("substitutions", fill("echo \"$(cat a)\"; ")),
        ("loops", fill("for f in *.rs; do wc -l \"$f\"; done; ")),
        ("a here-document", format!("cat <<'E'\n{}\nE", fill("line of text\n"))),
    ]
}

/// Commands of which no two are the same.
fn numbered(command: impl Fn(usize) -> String) -> String {
    let mut text = String::new();
    for next in (0..).map(command) {
        if text.len() + next.len() > 9_990 {
            break;
        }
        text.push_str(&next);
    }
    text
}
