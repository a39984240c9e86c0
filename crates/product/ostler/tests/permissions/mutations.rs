//! Allowed texts, written differently: quoting and spacing change nothing, and no company makes a denied command fine.

use crate::{named, published};
use ostler::{Decision, Mode, Policy, Verdict, Workspace};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::sync::Arc;

/// What no rule set of the corpus allows.
const STRANGERS: [&str; 3] = ["sudo id", "rm -rf /", "./evil --all"];

/// `{a}` is the allowed text, `{b}` the other one.
const JOINS: &[&str] = &[
    "{a}; {b}",
    "{b}; {a}",
    "{a} && {b}",
    "{b} && {a}",
    "{a} || {b}",
    "{a} | {b}",
    "{b} | {a}",
    "{a} |& {b}",
    "{a} & {b}",
    "{b} & {a}",
    "{a}\n{b}",
    "{b}\n{a}",
    "{a} $({b})",
    "{a} \"$({b})\"",
    "{a} `{b}`",
    "{a} <({b})",
    "{a} ${x:-$({b})}",
    "{a} > >({b})",
    "{a} 2> $({b})",
    "{a} <<< \"$({b})\"",
    "x=$({b}) {a}",
    "({a}; {b})",
    "{ {a}; {b}; }",
    "! {b} || {a}",
    "if {b}; then {a}; fi",
    "if {a}; then {b}; fi",
    "if {a}; then :; else {b}; fi",
    "while {a}; do {b}; done",
    "until {b}; do {a}; done",
    "for i in 1 2; do {a}; {b}; done",
    "for i in $({b}); do {a}; done",
    "case x in x) {b};; esac; {a}",
    "f() { {b}; }; {a}; f",
    "{a}; coproc {b}",
    "{a}; eval '{b}'",
    "{a}; bash -c '{b}'",
    "{a}; env {b}",
    "{a}; command {b}",
    "{a}; timeout 5 {b}",
    "{a}; nohup nice {b}",
    "{a} | xargs {b}",
    "{a}; find . -exec {b} \\;",
    "{a}; trap '{b}' EXIT",
    "{a}; [[ -n $({b}) ]]",
    "{a}; ((x[$({b})]))",
    "{a}\nbash <<E\n{b}\nE",
    "{a}\ncat <<E\n$({b})\nE",
    "{a}; time {b}",
    "bash -c '{b}'; {a}",
];

/// Wrappers that change nothing of what runs.
const WRAPS: &[&str] = &[
    "timeout 5 {a}",
    "env {a}",
    "nice {a}",
    "nohup {a}",
    "command {a}",
    "( {a} )",
    "{ {a}; }",
    "  {a}  ",
    "{a}\n",
    "{a} # said",
    "if true; then {a}; fi",
    "! {a}",
];

fn workspace() -> Workspace {
    Workspace {
        cwd: "/ws".into(),
        roots: vec!["/ws".into()],
        home: "/home/dev".into(),
        tools: ostler::known_tools(),
        ..Workspace::default()
    }
}

fn judged(policy: &Policy, command: &str) -> Decision {
    let input = json!({ "command": command });
    ostler::judge("Bash", &input, policy, Mode::Default, &workspace()).decision
}

struct Allowed {
    id: String,
    command: String,
    policy: Arc<Policy>,
}

fn allowed() -> Vec<Allowed> {
    let mut sets: HashMap<String, Arc<Policy>> = HashMap::new();
    let mut found = Vec::new();
    for published in published() {
        let input = &published.case.input;
        let Some(command) = input.get("command").and_then(Value::as_str) else { continue };
        let rules = &published.case.rules;
        let Ok(policy) = ostler::rule_set(rules, &workspace()) else { continue };
        let policy = sets.entry(rules.to_string()).or_insert_with(|| Arc::new(policy)).clone();
        let is_bash = published.case.tool.eq_ignore_ascii_case("bash");
        if is_bash && judged(&policy, command).verdict == Verdict::Allow {
            found.push(Allowed { id: published.id(), command: command.to_owned(), policy });
        }
    }
    found
}

/// A comment or a here-document would swallow what follows on its line.
fn can_be_followed(command: &str) -> bool {
    !command.contains(" #") && !command.contains("<<") && !command.trim_end().contains('\n')
}

#[test]
fn in_company_nothing_is_allowed_that_is_not_alone() {
    let cases = allowed();
    assert!(cases.len() > 100, "{} allowed cases", cases.len());
    let mut tried = 0;
    for Allowed { id, command, policy } in &cases {
        if !can_be_followed(command) {
            continue;
        }
        for stranger in STRANGERS {
            for join in JOINS {
                let text = join.replace("{a}", command.trim()).replace("{b}", stranger);
                let found = judged(policy, &text);
                assert_ne!(found.verdict, Verdict::Allow, "{id}: {text}");
                tried += 1;
            }
        }
    }
    println!("permission mutations: {tried} joins of {} allowed cases, 0 allowed", cases.len());
}

/// A deny that is reached by a plain spelling is a deny, not a question: the model must not ask for it.
#[test]
fn a_denied_command_stays_denied_in_company() {
    let seed = ostler::rule_set(&json!("seed"), &workspace()).unwrap();
    for join in JOINS {
        let text = join.replace("{a}", "ls -la").replace("{b}", "sudo id");
        let found = judged(&seed, &text);
        assert_eq!(named(found.verdict), "deny", "{text}: {}", found.why());
    }
}

#[test]
fn wrapped_it_is_still_not_denied() {
    for Allowed { id, command, policy } in allowed() {
        if !can_be_followed(&command) {
            continue;
        }
        for wrap in WRAPS {
            let text = wrap.replace("{a}", command.trim());
            let found = judged(&policy, &text);
            assert_ne!(found.verdict, Verdict::Deny, "{id}: {text}: {}", found.why());
        }
    }
}

/// Every way to quote the words of a simple command gives the same words, so the same verdict.
#[test]
fn quoting_and_spacing_change_nothing() {
    let single = |word: &str| format!("'{}'", word.replace('\'', "'\\''"));
    let double = |word: &str| {
        let escaped = word.replace('\\', "\\\\").replace('"', "\\\"").replace('$', "\\$");
        format!("\"{}\"", escaped.replace('`', "\\`"))
    };
    let ansi = |word: &str| format!("$'{}'", word.replace('\\', "\\\\").replace('\'', "\\'"));
    let split = |word: &str| word.chars().map(|c| format!("\"{c}\"")).collect::<String>();
    let mut tried = 0;
    for Allowed { id, command, policy } in allowed() {
        let plain = command.chars().all(|c| c.is_ascii_alphanumeric() || " -_./=:,+".contains(c));
        let assigns = command.split(' ').next().is_some_and(|word| word.contains('='));
        if !plain || assigns || command.split_whitespace().next().is_none() {
            continue;
        }
        let keyword = ["time", "!", "if", "for", "while"];
        if keyword.contains(&command.split_whitespace().next().unwrap_or_default()) {
            continue;
        }
        for quote in [&single as &dyn Fn(&str) -> String, &double, &ansi, &split] {
            for gap in [" ", "  ", "\t", " \\\n "] {
                let words: Vec<String> = command.split_whitespace().map(quote).collect();
                let text = words.join(gap);
                let found = judged(&policy, &text);
                assert_eq!(found.verdict, Verdict::Allow, "{id}: {text}: {}", found.why());
                tried += 1;
            }
        }
    }
    assert!(tried > 500, "{tried}");
    println!("permission mutations: {tried} other spellings of allowed cases, all allowed");
}
