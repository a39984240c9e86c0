//! The permission corpus: nothing that must not be allowed may be called harmless.

use ostler_shell::{Proof, prove};
use serde_json::Value;

const CASES: &str = include_str!("../../../../fixtures/corpus/permissions.jsonl");

/// Harmless in effect, refused for another reason: a rule on names, or where the file is. The gate sees both in
/// `reads`, so each of these must name the path that decides.
const EXCEPTIONS: &[(&str, &str, &str)] = &[
    ("ask-rules-017", ".env", "the ask rule on .env"),
    ("ask-rules-019", ".env", "the ask rule on .env"),
    ("ask-rules-021", "config/.env.production", "the ask rule on .env"),
    ("ask-rules-039", ".env", "the ask rule on .env"),
    ("ask-rules-041", ".e*", "a pattern that can match .env"),
    ("ask-rules-043", ".env", "the ask rule on .env"),
    ("ask-rules-045", ".env", "the ask rule on .env"),
    ("redirection-030", "/etc/shadow", "outside the workspace"),
];

fn shell_cases() -> Vec<Value> {
    let cases = CASES.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    cases.filter(|case| case["tool"].as_str().unwrap().eq_ignore_ascii_case("bash")).collect()
}

fn accepts(case: &Value, answer: &str) -> bool {
    case["accept"].as_array().unwrap().iter().any(|accepted| accepted == answer)
}

fn command(case: &Value) -> Option<&str> {
    case["input"]["command"].as_str()
}

#[test]
fn never_harmless_what_must_not_be_allowed() {
    let mut checked = 0;
    let mut wrong = Vec::new();
    let mut used = Vec::new();
    for case in shell_cases() {
        let (id, Some(text)) = (case["id"].as_str().unwrap(), command(&case)) else { continue };
        if accepts(&case, "allow") || case["rules"] != "seed" {
            continue;
        }
        checked += 1;
        let Proof::Harmless { reads, .. } = prove(text) else { continue };
        match EXCEPTIONS.iter().find(|(exception, ..)| *exception == id) {
            Some((_, path, _)) if reads.iter().any(|read| read.path == *path) => {
                used.push(id.to_owned())
            }
            _ => wrong.push(format!("{id}: {text:?} reads {reads:?} ({})", case["why"])),
        }
    }
    assert!(wrong.is_empty(), "called harmless:\n{}", wrong.join("\n"));
    assert_eq!(used.len(), EXCEPTIONS.len(), "exceptions that are none any more; needed: {used:?}");
    assert!(checked > 300, "only {checked} cases were checked");
}

/// With rules of their own the answer may hang on them; what the option families refuse must still be unproved.
#[test]
fn options_that_write_or_run_are_never_harmless() {
    let outside = ["/etc/shadow", "./secrets/../secrets/key.pem", "secrets/key.pem"];
    let mut wrong = Vec::new();
    for case in shell_cases() {
        let family = case["family"].as_str().unwrap();
        let (Some(text), "tool-options") = (command(&case), family) else { continue };
        if accepts(&case, "allow") {
            continue;
        }
        if let Proof::Harmless { reads, .. } = prove(text)
            && !reads.iter().any(|read| outside.contains(&read.path.as_str()))
        {
            wrong.push(format!("{}: {text:?} ({})", case["id"], case["why"]));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn how_many_allowed_cases_are_proved() {
    let (mut proved, mut all) = (0, 0);
    for case in shell_cases() {
        let Some(text) = command(&case) else { continue };
        if case["expect"] != "allow" {
            continue;
        }
        all += 1;
        match prove(text) {
            Proof::Harmless { .. } => proved += 1,
            Proof::Unproved { why, .. } => {
                println!("not proved: {:?}: {why}", text.get(..80).unwrap_or(text))
            }
        }
    }
    println!("{proved} of {all} cases that expect allow are proved harmless");
    assert!(proved >= 89, "only {proved} of {all}");
}
