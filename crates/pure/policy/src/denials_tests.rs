//! What the decision leaves to the kernel, and what it does not.

use super::super::decide::{Verdict, decide};
use super::super::mode::Mode;
use super::super::{Access, Denials, Policy, Rule, Workspace};
use super::*;

fn workspace() -> Workspace {
    Workspace {
        cwd: "/ws".into(),
        roots: vec!["/ws".into()],
        home: "/home/u".into(),
        tools: crate::test_tools::tools(),
        ..Workspace::default()
    }
}

fn policy(ask: &[&str], deny: &[&str]) -> Policy {
    let parse = |texts: &[&str]| {
        texts.iter().map(|text| Rule::parse(text, &workspace()).unwrap()).collect::<Vec<_>>()
    };
    Policy { ask: parse(ask), deny: parse(deny), ..Policy::default() }
}

/// A command that reads what a touch leads to.
fn reading(line: &str, kind: TouchKind, path: &str, scopes: &[PathScope]) -> Step {
    let touch = Touch { scopes: Some(scopes.to_vec()), ..Touch::new(Act::Read, path, kind) };
    Step {
        words: line.split(' ').map(|word| Word::Literal(word.into())).collect(),
        folder: Some(Vec::new()),
        place: Some("/ws".into()),
        effect: Effect::Reads,
        touches: vec![touch],
        git: line.starts_with("git"),
        ..Step::default()
    }
}

fn verdict(step: Step, policy: &Policy, denials: Denials, mode: Mode) -> Verdict {
    let commands = Commands { text: "text".into(), steps: vec![step], ..Commands::default() };
    let access = Access { runs: Some(commands.into()), denials, known: true, ..Access::default() };
    decide("Bash", &access, policy, mode, &workspace()).verdict
}

const KERNEL: Denials = Denials::Kernel { tracked: false };
const TRACKED: Denials = Denials::Kernel { tracked: true };

use Verdict::{Allow, Ask, Deny};

#[test]
fn what_lies_below_is_left_to_the_kernel_and_what_is_named_is_denied() {
    let tree = || vec![PathScope::Tree("/ws".into())];
    let env = || vec![PathScope::Tree("/ws/.env".into()), PathScope::Tree("/ws/src".into())];
    let denied = policy(&[], &["Read(.env)"]);
    for (step, by_text, by_kernel, tracked) in [
        (reading("grep -r x .", TouchKind::Tree, ".", &tree()), Ask, Allow, Allow),
        (reading("git diff", TouchKind::Repository, "", &tree()), Ask, Allow, Ask),
        (reading("cat .env", TouchKind::File, ".env", &env()), Deny, Deny, Deny),
        (reading("cat .*", TouchKind::Glob, ".*", &env()), Deny, Deny, Deny),
        (
            reading("cat a", TouchKind::File, "a", &[PathScope::File("/ws/a".into())]),
            Allow,
            Allow,
            Allow,
        ),
    ] {
        for (denials, expected) in
            [(Denials::Decision, by_text), (KERNEL, by_kernel), (TRACKED, tracked)]
        {
            let found = verdict(step.clone(), &denied, denials.clone(), Mode::Default);
            assert_eq!(found, expected, "{:?} {denials:?}", step.words);
        }
    }
}

#[test]
fn a_bare_star_names_nothing() {
    let step = |pattern: &str, path: &str| {
        reading(
            &format!("cat {pattern}"),
            TouchKind::Glob,
            pattern,
            &[PathScope::Tree(path.into())],
        )
    };
    let denied = policy(&[], &["Read(./secrets/**)", "Read(*.pem)"]);
    for (pattern, path, expected) in [
        ("*", "/ws/secrets", Allow),
        ("*", "/ws/a.pem", Allow),
        ("src/*", "/ws/src/a.pem", Allow),
        ("*.pem", "/ws/a.pem", Deny),
        ("s*", "/ws/secrets", Deny),
        ("secrets/k*", "/ws/secrets/key", Deny),
    ] {
        assert_eq!(
            verdict(step(pattern, path), &denied, KERNEL, Mode::Default),
            expected,
            "{pattern} {path}"
        );
        let by_text = verdict(step(pattern, path), &denied, Denials::Decision, Mode::Default);
        assert_eq!(by_text, Deny, "{pattern} {path}: without the kernel a match counts");
    }
}

#[test]
fn ask_rules_are_nothing_the_kernel_knows() {
    let tree = [PathScope::Tree("/ws".into())];
    let step = || reading("grep -r x .", TouchKind::Tree, ".", &tree);
    assert_eq!(verdict(step(), &policy(&["Read(.env)"], &[]), KERNEL, Mode::Default), Ask);
    assert_eq!(
        verdict(step(), &policy(&["Read(.env)"], &["Read(.env)"]), KERNEL, Mode::Default),
        Ask
    );
}

#[test]
fn a_deny_rule_that_cannot_be_enforced_asks_in_every_mode() {
    let step = || reading("cat a", TouchKind::File, "a", &[PathScope::File("/ws/a".into())]);
    let denials = || Denials::Unenforced("no layer".into());
    for mode in Mode::ALL {
        let expected = if mode == Mode::DontAsk { Deny } else { Ask };
        assert_eq!(
            verdict(step(), &policy(&[], &["Read(.env)"]), denials(), mode),
            expected,
            "{mode:?}"
        );
    }
}

#[test]
fn patterns_of_unknown_programs_are_left_to_the_kernel() {
    let step = |words: &[Word]| Step {
        words: words.to_vec(),
        folder: Some(Vec::new()),
        place: Some("/ws".into()),
        effect: Effect::Unknown("it may do anything".into()),
        ..Step::default()
    };
    let word = |text: &str| Word::Literal(text.into());
    let denied = policy(&[], &["Read(.env)"]);
    let glob = || step(&[word("prog"), Word::Glob(".e*".into())]);
    let named = || step(&[word("prog"), word("-d"), word("@.env")]);
    let bypass = Mode::BypassPermissions;
    assert_eq!(verdict(glob(), &denied, Denials::Decision, bypass), Ask);
    assert_eq!(verdict(glob(), &denied, KERNEL, bypass), Allow);
    assert_eq!(verdict(named(), &denied, KERNEL, bypass), Ask, "it names the file");
}
