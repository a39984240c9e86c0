//! The steps of a text: the corpus, and what does not depend on how a text is written.

use crate::samples::reads;
use ostler_policy::{Act, Commands, Effect, Lexical, Places, Step, TouchKind, Workspace};
use ostler_shell::steps;
use proptest::prelude::*;
use proptest::sample::select;
use proptest::strategy::ValueTree;
use serde_json::Value;

const CASES: &str = include_str!("../../../../../fixtures/corpus/permissions.jsonl");

/// Only a rule of the case refuses these: what they do is read, inside the workspace. A rule on files can do so only if
/// the steps name the path it is about.
const BY_A_RULE: &[(&str, Option<&str>, &str)] = &[
    ("ask-rules-017", Some(".env"), "the ask rule on .env"),
    ("ask-rules-019", Some(".env"), "the ask rule on .env"),
    ("ask-rules-021", Some("config/.env.production"), "the ask rule on .env"),
    ("ask-rules-039", Some(".env"), "the ask rule on .env"),
    ("ask-rules-041", Some(".e*"), "the ask rule on .env"),
    ("ask-rules-043", Some(".env"), "the ask rule on .env"),
    ("ask-rules-045", Some(".env"), "the ask rule on .env"),
    ("claude-rules-012", None, "the default of a set of rules that names only pwd"),
    ("claude-rules-034", None, "the default of a set of rules that asks"),
    ("tool-options-059", Some("./secrets/../secrets/key.pem"), "a deny rule on reading secrets"),
    ("tool-options-061", Some("secrets/key.pem"), "a deny rule on reading secrets"),
];

fn workspace() -> Workspace {
    Workspace {
        cwd: "/ws".into(),
        roots: vec!["/ws".into()],
        home: "/home/dev".into(),
        ..Workspace::default()
    }
}

/// It only reads, and everything it reads is in the workspace, git's repository included.
fn unasked(commands: &Commands) -> bool {
    let workspace = workspace();
    let places = Lexical { workspace: &workspace };
    let inside = |step: &Step, path: &str, kind: TouchKind| {
        let scopes = step.folder.as_ref().and_then(|folder| places.look_up(folder, path, kind));
        scopes.is_some_and(|scopes| scopes.iter().all(|scope| workspace.contains(scope.path())))
    };
    let fine = |step: &Step| {
        step.touches
            .iter()
            .all(|touch| touch.act == Act::Read && inside(step, &touch.path, touch.kind))
            && (!step.git || inside(step, "", TouchKind::Repository))
            && step.hosts.is_empty()
            && step.cautions.is_empty()
            && step.variables.is_empty()
    };
    commands.only_reads() && commands.steps.iter().all(fine)
}

fn shell_cases() -> Vec<(String, String, Value)> {
    let cases = CASES.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let parts = |case: Value| {
        let text = case["input"]["command"].as_str()?.to_owned();
        Some((case["id"].as_str()?.to_owned(), text, case))
    };
    cases.filter_map(parts).collect()
}

fn accepts(case: &Value, answer: &str) -> bool {
    case["accept"].as_array().unwrap().iter().any(|accepted| accepted == answer)
}

#[test]
fn what_must_not_be_allowed_is_never_unasked() {
    let (mut wrong, mut excepted, mut checked) = (Vec::new(), Vec::new(), 0);
    for (id, text, case) in shell_cases() {
        if accepts(&case, "allow") {
            continue;
        }
        checked += 1;
        let commands = steps(&text);
        if !unasked(&commands) {
            continue;
        }
        let reads = reads(&commands);
        match BY_A_RULE.iter().find(|(known, ..)| *known == id) {
            Some((_, path, _)) if path.is_none_or(|path| reads.contains(&path)) => {
                excepted.push(id)
            }
            _ => wrong.push(format!("{id} {text:?} reads {reads:?} ({})", case["why"])),
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert_eq!(excepted.len(), BY_A_RULE.len(), "exceptions that are none: {excepted:?}");
    assert!(checked > 400, "{checked}");
}

/// What the corpus denies must be there to be denied: as a step, or as a suspect of a text with a doubt.
#[test]
fn what_is_denied_is_found() {
    let mut wrong = Vec::new();
    for (id, text, case) in shell_cases() {
        if case["rules"] != "seed" || case["accept"] != serde_json::json!(["deny"]) {
            continue;
        }
        let found = steps(&text);
        let named = |step: &Step| {
            matches!(step.effect, Effect::Ruin(_))
                || step.compared().first().and_then(|word| word.literal()) == Some("sudo")
        };
        let piped = found.pipes.iter().any(|pipe| pipe.len() > 1);
        let suspect = |word: &String| matches!(word.as_str(), "sudo" | "rm" | "curl");
        let seen = found.steps.iter().any(named) || piped || found.suspects.iter().any(suspect);
        if !seen {
            wrong.push(format!("{id} {text:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn how_many_allowed_cases_only_read() {
    let (mut unasked_ones, mut all) = (0, 0);
    for (id, text, case) in shell_cases() {
        if case["expect"] != "allow" {
            continue;
        }
        all += 1;
        match unasked(&steps(&text)) {
            true => unasked_ones += 1,
            false => {
                println!("{id} {:?}: {:?}", text.get(..80).unwrap_or(&text), steps(&text).doubts)
            }
        }
    }
    println!("{unasked_ones} of {all} cases that expect allow only read inside the workspace");
    assert!(unasked_ones >= 122, "only {unasked_ones} of {all}");
}

const TEXTS: &[&str] = &[
    "ls -la src",
    "cat a b",
    "echo 'a; b' \"c | d\"",
    "rm -rf x",
    "sudo -n id",
    "timeout 5 grep -r x .",
    "bash -c 'ls; pwd'",
    "git -P log -3",
    "find . -name '*.rs' -exec wc -l {} +",
    "(ls; pwd)",
    "{ ls; rm a; } > out",
    "if test -f a; then ls; fi",
    "for i in 1 2; do ls; done",
    "FOO=1 make",
    "sed -i p f",
    "curl -o x https://a.example",
    "./run.sh",
    "python3 x.py",
    "xargs rm",
    "eval 'ls; rm b'",
    "cat < in > out",
    "mkdir -p a/b",
    "env -C a ls",
    "! true",
    "[ -d a ]",
    "head -5 *.txt",
];

/// Effects of one text as if the other were not there.
fn moved(step: &Step, by: usize) -> Step {
    Step { inside: step.inside.map(|inside| inside + by), ..step.clone() }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn joined_texts_have_the_steps_of_both(first in select(TEXTS), second in select(TEXTS), join in select(&["; ", " && ", " || ", "\n", " | "][..])) {
        prop_assume!(join != " | " || !second.starts_with('!'));
        let (a, b, both) = (steps(first), steps(second), steps(&format!("{first}{join}{second}")));
        let by = a.steps.len();
        let expected: Vec<Step> = a.steps.iter().cloned().chain(b.steps.iter().map(|step| moved(step, by))).collect();
        prop_assert_eq!(both.steps, expected);
        let pipe = usize::from(join == " | ");
        prop_assert_eq!(both.pipes.len(), a.pipes.len() + b.pipes.len() + pipe);
        prop_assert!(both.doubts.is_empty());
    }

    #[test]
    fn quotes_do_not_matter(words in prop::collection::vec(select(&["ls", "-la", "rm", "-rf", "/", "src", "git", "diff", "--output=x", "sudo", "timeout", "5", "sed", "-i", "s/a/b/", "cat"][..]), 1..6), styles in prop::collection::vec(0_usize..4, 6)) {
        let spelled = |(word, style): (&&str, &usize)| match style {
            0 => (*word).to_owned(),
            1 => format!("'{word}'"),
            2 => format!("\"{word}\""),
            _ => word.chars().flat_map(|c| ['\\', c]).collect(),
        };
        let text: Vec<String> = words.iter().zip(&styles).map(spelled).collect();
        let (plain, quoted) = (steps(&words.join(" ")), steps(&text.join(" ")));
        prop_assert_eq!(plain.steps, quoted.steps);
    }

    #[test]
    fn a_part_that_does_not_only_read_spoils_all(first in select(TEXTS), second in select(TEXTS), wrap in 0_usize..6) {
        let text = format!("{first}\n{second}");
        let text = match wrap {
            0 => text,
            1 => format!("( {text}\n)"),
            2 => format!("{{ {text}\n}}"),
            3 => format!("if true; then {text}\nfi"),
            4 => format!("while ls; do {text}\ndone"),
            _ => format!("bash -c '{}'", text.replace('\'', "'\\''")),
        };
        let both = steps(first).only_reads() && steps(second).only_reads();
        prop_assert!(both || !steps(&text).only_reads(), "{}", text);
    }

    #[test]
    fn any_text_gets_steps(text in "[a-z '\"$(){};|&<>!*\\[\\]=\\\\`~/-]{0,60}") {
        let found = steps(&text);
        prop_assert!(!found.steps.is_empty() || !found.doubts.is_empty());
        for (index, step) in found.steps.iter().enumerate() {
            prop_assert!(step.inside.is_none_or(|inside| inside < index));
            for caution in &step.cautions {
                prop_assert!(caution.word.is_none_or(|word| word < step.compared().len()), "{}", text);
            }
        }
    }
}

/// Long texts of many kinds get an answer, too.
#[test]
fn long_texts_are_survived() {
    for piece in [
        "ls a b c; ",
        "f() { :; }; ",
        "cd a && ",
        "x=1; ",
        "for f in a; do cat f; done; ",
        "eval ls; ",
        "nice ls | ",
        "A=1 ",
        "git log -1; ",
        "sed s/a/b/ f; ",
        "find . -exec ls {} + ; ",
        "echo a > b; ",
        "PATH=x; ",
        "bash -c 'ls; ls'; ",
    ] {
        for bytes in [9_000, 60_000] {
            let found = steps(&piece.repeat(bytes / piece.len()));
            assert!(!found.steps.is_empty() || !found.doubts.is_empty());
        }
    }
}

/// GNU sed has a mode that refuses to write, read other files or run anything. What is called reading must pass it.
#[test]
fn sed_itself_agrees() {
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let script = "[spwWreRaicdyqbt:{};/,$!1 0-9\\\\\n#gIMe|xv=]{1,14}";
    let edits = "(1|[$]|/a/|/a/,/b/|)(p|d|q|[{]p;|[}]|s/a/b/g?e?w?p?|y/a/b/|b|a x|w|e|r|#|:a|[|]|;|\n| ){1,3}";
    let mut accepted = 0;
    for pattern in [script, edits] {
        let strategy = proptest::string::string_regex(&format!("({pattern}){{1,3}}")).unwrap();
        for _ in 0..3_000 {
            let script = strategy.new_tree(&mut runner).unwrap().current();
            if !steps(&format!("sed '{script}' f")).only_reads() {
                continue;
            }
            accepted += 1;
            if accepted % 8 != 0 && accepted > 400 {
                continue;
            }
            let mut sed = std::process::Command::new("sed");
            let output = sed.args(["--sandbox", &script, "/dev/null"]).output().unwrap();
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            assert!(!said.contains("sandbox"), "{script:?}: {said}");
        }
    }
    assert!(accepted > 100, "{accepted}");
}

/// Deep and long texts, as hostile as they come, get an answer on a small stack.
#[test]
fn a_small_stack_is_enough() {
    let run = || {
        for (open, close) in [
            ("{ ", "; }"),
            ("( ", " )"),
            ("if ls; then ", "; fi"),
            ("eval ", ""),
            ("nice ", ""),
            ("bash -c \"", "\""),
            ("$(", ")"),
            ("f() { ", "; }"),
            ("xargs ", ""),
            ("find . -exec ", ""),
            ("env ", ""),
            ("while ls; do ", "; done"),
            ("! ", ""),
            ("[[ ( ", " ) ]]"),
        ] {
            for levels in [1, 8, 16, 40, 200, 5_000] {
                let text = format!("{}ls{}", open.repeat(levels), close.repeat(levels));
                let found = steps(&text);
                assert!(!found.steps.is_empty() || !found.doubts.is_empty());
            }
        }
    };
    std::thread::Builder::new().stack_size(1024 * 1024).spawn(run).unwrap().join().unwrap();
}
