//! Commands judged part by part: who vouches for what, and who must not.

use super::super::decide::{Verdict, decide};
use super::super::mode::Mode;
use super::super::{Access, Bound, Caution, Fallback, Policy, Rule, Source, Tier, Workspace};
use super::*;
use proptest::prelude::*;

fn workspace() -> Workspace {
    Workspace {
        cwd: "/ws".into(),
        roots: vec!["/ws".into()],
        readable: Vec::new(),
        home: "/home/u".into(),
        tools: crate::test_tools::tools(),
        ..Workspace::default()
    }
}

fn literal(line: &str) -> Vec<Word> {
    line.split(' ').map(|word| Word::Literal(word.into())).collect()
}

fn step(line: &str, effect: Effect) -> Step {
    Step { words: literal(line), folder: Some(Vec::new()), effect, ..Step::default() }
}
fn reads(line: &str) -> Step {
    step(line, Effect::Reads)
}
fn unknown(line: &str) -> Step {
    step(line, Effect::Unknown("it may do anything".into()))
}

fn touching(step: Step, act: Act, path: &str) -> Step {
    let scopes = Some(vec![PathScope::File(path.into())]);
    let touch = Touch { scopes, ..Touch::new(act, path, TouchKind::File) };
    Step { touches: [step.touches.clone(), vec![touch]].concat(), ..step }
}

fn cautioned(step: Step, word: Option<usize>) -> Step {
    Step { cautions: vec![Caution::new("odd", word)], ..step }
}

fn policy(allow: &[&str], ask: &[&str], deny: &[&str]) -> Policy {
    let parse = |texts: &[&str]| {
        texts.iter().map(|text| Rule::parse(text, &workspace()).unwrap()).collect::<Vec<_>>()
    };
    Policy { allow: parse(allow), ask: parse(ask), deny: parse(deny), ..Policy::default() }
}

fn access(commands: Commands) -> Access {
    Access { runs: Some(commands.into()), ..Access::unknown() }
}

fn judged(steps: Vec<Step>, policy: &Policy, mode: Mode) -> Verdict {
    let commands = Commands { text: "text".into(), steps, ..Commands::default() };
    decide("Bash", &access(commands), policy, mode, &workspace()).verdict
}

fn one(step: Step, allow: &[&str]) -> Verdict {
    judged(vec![step], &policy(allow, &[], &[]), Mode::Default)
}

use Verdict::{Allow, Ask, Deny};

#[test]
fn a_rule_vouches_for_plain_words() {
    let dynamic = |line: &str| {
        let why = super::super::script::Dynamic::Parameter;
        let mut step = unknown(line);
        step.words.push(Word::Dynamic { why, source: "$x".into(), parts: Vec::new() });
        step
    };
    let glob = |pattern: &str| {
        let mut step = unknown("tool run");
        step.words.push(Word::Glob(pattern.into()));
        step
    };
    let table = [
        (unknown("tool run x"), &["Bash(tool run:*)"][..], Allow),
        (unknown("tool runx"), &["Bash(tool run:*)"], Ask),
        (unknown("tool run x"), &["Bash(tool run)"], Ask),
        (unknown("tool run x"), &["Bash(tool run x)"], Allow),
        (unknown("tool run x"), &["Bash"], Allow),
        (unknown("tool run x"), &["Bash(*)"], Allow),
        (unknown("tool run x"), &["Read", "Edit(./**)"], Ask),
        (dynamic("tool run"), &["Bash(tool run:*)"], Ask),
        (dynamic("tool run"), &["Bash"], Allow),
        (glob("src/*.rs"), &["Bash(tool run:*)"], Allow),
        (glob("*.rs"), &["Bash(tool run:*)"], Ask),
        (cautioned(unknown("tool run -x"), Some(2)), &["Bash(tool run:*)"], Ask),
        (cautioned(unknown("tool run -x"), Some(2)), &["Bash(tool run -x:*)"], Allow),
        (cautioned(unknown("tool run -x"), Some(2)), &["Bash(tool * -x)"], Allow),
        (cautioned(unknown("tool run -x"), Some(1)), &["Bash(tool * -x)"], Ask),
        (cautioned(unknown("tool run -x"), None), &["Bash(tool run -x:*)"], Ask),
        (cautioned(unknown("tool run -x"), None), &["Bash(tool run -x)"], Allow),
        (
            Step { variables: vec!["PATH".into()], ..unknown("tool run") },
            &["Bash(tool run:*)"],
            Ask,
        ),
        (Step { variables: vec!["PATH".into()], ..unknown("tool run") }, &["Bash(tool run)"], Ask),
        (unknown("tool run a/b --x=c"), &["Bash(tool run:*)"], Allow),
        (unknown("tool run /etc/x"), &["Bash(tool run:*)"], Ask),
        (unknown("tool run /etc/x"), &["Bash(tool run /etc/x:*)"], Allow),
        (unknown("tool run /etc/x"), &["Bash(tool run /etc/x)"], Allow),
        (unknown("tool run a/../../x"), &["Bash(tool run:*)"], Ask),
        (unknown("tool run --out=../x"), &["Bash(tool run:*)"], Ask),
        (unknown("tool run -o/tmp/x"), &["Bash(tool run:*)"], Ask),
        (unknown("tool run .git/hooks/x"), &["Bash(tool run:*)"], Ask),
        (unknown("git commit -m /etc/x"), &["Bash(git commit:*)"], Allow),
        (unknown("git commit -F /etc/x"), &["Bash(git commit:*)"], Ask),
        (Step { hosts: vec!["h".into()], ..unknown("tool run") }, &["Bash(tool run:*)"], Allow),
        (Step { hosts: vec!["h".into()], ..reads("tool run") }, &[], Ask),
        (Step { transparent: true, ..unknown("timeout 5") }, &[], Allow),
    ];
    for (step, allow, expected) in table {
        assert_eq!(one(step.clone(), allow), expected, "{step:?} with {allow:?}");
    }
}

#[test]
fn what_is_touched_must_be_covered() {
    let table = [
        (touching(reads("cat a"), Act::Read, "/ws/a"), &[][..], Allow),
        (touching(reads("cat a"), Act::Read, "/etc/a"), &[], Ask),
        (touching(reads("cat a"), Act::Read, "/etc/a"), &["Bash(cat:*)"], Ask),
        (touching(reads("cat a"), Act::Read, "/etc/a"), &["Bash(cat:*)", "Read(//etc/**)"], Allow),
        (touching(reads("cat a"), Act::Read, "/etc/a"), &["Bash(cat a)"], Allow),
        (touching(reads("cat a"), Act::Read, "/home/u/.ssh/a"), &["Bash(cat a)", "Bash"], Ask),
        (touching(reads("cat a"), Act::Read, "/home/u/.ssh/a"), &["Read(~/.ssh/a)"], Allow),
        (touching(reads("echo a"), Act::Redirect, "/ws/a"), &["Bash(echo:*)"], Ask),
        (touching(reads("echo a"), Act::Redirect, "/ws/a"), &["Bash(echo a)"], Ask),
        (touching(reads("echo a"), Act::Redirect, "/ws/a"), &["Edit(./**)"], Allow),
        (touching(reads("echo a"), Act::Redirect, "/ws/.git/a"), &["Edit(./**)", "Bash"], Ask),
        (touching(reads("echo a"), Act::Redirect, "/ws/.git/a"), &["Edit(./.git/**)"], Allow),
        (touching(step("mkdir a", Effect::Writes), Act::Write, "/ws/a"), &["Bash(mkdir:*)"], Allow),
        (touching(step("mkdir a", Effect::Writes), Act::Write, "/etc/a"), &["Bash(mkdir:*)"], Ask),
        (
            touching(step("mkdir a", Effect::Writes), Act::Write, "/etc/a"),
            &["Bash(mkdir a)"],
            Allow,
        ),
        (touching(step("mkdir a", Effect::Writes), Act::Write, "/ws/a"), &["Edit(./**)"], Allow),
        (touching(step("mkdir a", Effect::Writes), Act::Write, "/ws/a"), &["Edit(./b/**)"], Ask),
        (touching(step("mkdir a", Effect::Writes), Act::Write, "/etc/a"), &["Edit(./**)"], Ask),
        (touching(step("tee a", Effect::Writes), Act::Write, "/ws/.envrc"), &["Edit(./**)"], Ask),
        (touching(step("tee a", Effect::Writes), Act::Write, "/ws/a"), &["Edit(./**)"], Allow),
        (touching(step("rm a", Effect::Writes), Act::Write, "/ws/a"), &["Edit(./**)"], Ask),
        (touching(step("mv a", Effect::Writes), Act::Write, "/ws/a"), &["Edit(./**)"], Ask),
        (touching(unknown("sed a"), Act::Write, "/ws/a"), &["Edit(./**)"], Ask),
        (
            cautioned(touching(step("cp a", Effect::Writes), Act::Write, "/ws/a"), None),
            &["Edit(./**)"],
            Ask,
        ),
    ];
    for (step, allow, expected) in table {
        assert_eq!(one(step.clone(), allow), expected, "{step:?} with {allow:?}");
    }
    let lost =
        Step { touches: vec![Touch::new(Act::Read, "x", TouchKind::File)], ..reads("cat x") };
    assert_eq!(one(lost, &["Bash(cat:*)"]), Ask, "where it leads is not known");
}

#[test]
fn deny_and_ask_hold_in_every_mode() {
    let steps = |line: &str| vec![reads("ls"), unknown(line)];
    for mode in Mode::ALL {
        let denied = policy(&["Bash"], &[], &["Bash(sudo:*)", "Read(./k)", "Edit(./k)"]);
        assert_eq!(judged(steps("sudo id"), &denied, mode), Deny, "{mode:?}");
        let secret = touching(reads("cat k"), Act::Read, "/ws/k");
        assert_eq!(judged(vec![secret], &denied, mode), Deny, "{mode:?}");
        let written = touching(reads("echo k"), Act::Redirect, "/ws/k");
        assert_eq!(judged(vec![written], &denied, mode), Deny, "{mode:?}");
        let ruin = step("rm -rf /", Effect::Ruin("it deletes everything".into()));
        assert_eq!(judged(vec![ruin], &policy(&["Bash"], &[], &[]), mode), Deny, "{mode:?}");
    }
    let asks = policy(&["Bash"], &["Bash(git push:*)"], &[]);
    for (mode, expected) in
        [(Mode::Default, Ask), (Mode::BypassPermissions, Ask), (Mode::DontAsk, Deny)]
    {
        assert_eq!(judged(steps("git push origin"), &asks, mode), expected, "{mode:?}");
    }
}

#[test]
fn the_fallback() {
    let of = |fallback, step: Step, mode| {
        judged(vec![step], &Policy { fallback, ..Policy::default() }, mode)
    };
    let table = [
        (Fallback::Read, reads("ls"), Allow),
        (Fallback::Ask, reads("ls"), Ask),
        (Fallback::Deny, reads("ls"), Deny),
        (Fallback::Read, unknown("make"), Ask),
        (Fallback::Deny, unknown("make"), Deny),
    ];
    for (fallback, step, expected) in table {
        assert_eq!(of(fallback, step.clone(), Mode::Default), expected, "{fallback:?} {step:?}");
        assert_eq!(of(fallback, step, Mode::BypassPermissions), Allow);
    }
    let managed = Policy { no_bypass: true, ..Policy::default() };
    assert_eq!(judged(vec![unknown("make")], &managed, Mode::BypassPermissions), Ask);
}

#[test]
fn accept_edits_accepts_edits() {
    let of = |step: Step| judged(vec![step], &Policy::default(), Mode::AcceptEdits);
    let writes = |line: &str, path: &str| touching(step(line, Effect::Writes), Act::Write, path);
    assert_eq!(of(writes("rm a", "/ws/a")), Allow);
    assert_eq!(of(writes("rm a", "/etc/a")), Ask);
    assert_eq!(of(writes("rm a", "/ws/.git/a")), Ask);
    assert_eq!(of(writes("chmod a", "/ws/a")), Ask);
    assert_eq!(of(touching(reads("echo a"), Act::Redirect, "/ws/a")), Allow);
    assert_eq!(of(touching(reads("echo a"), Act::Redirect, "/etc/a")), Ask);
    assert_eq!(of(unknown("rm a")), Ask);
    assert_eq!(of(cautioned(writes("cp -r a b", "/ws/b"), Some(1))), Ask);
    assert_eq!(of(cautioned(writes("sed -i s/a/b/ a", "/ws/a"), Some(1))), Allow);
}

#[test]
fn doubts_ask_and_suspects_ask_always() {
    let of = |suspects: &[&str], allow: &[&str], mode| {
        let suspects = suspects.iter().map(|word| (*word).to_owned()).collect();
        let commands = Commands::opaque("$x", "a word is not known".into(), suspects);
        let policy = policy(allow, &["Bash(git push:*)"], &["Bash(sudo:*)"]);
        decide("Bash", &access(commands), &policy, mode, &workspace()).verdict
    };
    assert_eq!(of(&[], &["Bash(ls:*)"], Mode::Default), Ask);
    assert_eq!(of(&[], &["Bash"], Mode::Default), Allow);
    assert_eq!(of(&["ls"], &[], Mode::BypassPermissions), Allow);
    assert_eq!(of(&["sudo"], &[], Mode::BypassPermissions), Ask);
    assert_eq!(of(&["sudo"], &["Bash"], Mode::Default), Ask);
    assert_eq!(of(&["git"], &["Bash"], Mode::Default), Ask);
    assert_eq!(
        judged(Vec::new(), &Policy::default(), Mode::Default),
        Ask,
        "nothing found is not fine"
    );
}

#[test]
fn an_approval_is_bound_to_what_the_file_holds() {
    let run = |content: Option<&str>| {
        let mut step = cautioned(unknown("./x.sh a"), Some(0));
        let mut touch = Touch::new(Act::Run, "./x.sh", TouchKind::File);
        touch.scopes = Some(vec![PathScope::File("/ws/x.sh".into())]);
        touch.content = content.map(str::to_owned);
        step.touches.push(touch);
        step
    };
    let mut rule = Rule::parse("Bash(./x.sh:*)", &workspace()).unwrap();
    rule.source = Source::default();
    rule.bound =
        Some(Bound { folder: "/ws".into(), files: vec![("/ws/x.sh".into(), "h1".into())] });
    let policy = Policy { allow: vec![rule], ..Policy::default() };
    assert_eq!(judged(vec![run(Some("h1"))], &policy, Mode::Default), Allow);
    assert_eq!(judged(vec![run(Some("h2"))], &policy, Mode::Default), Ask);
    assert_eq!(judged(vec![run(None)], &policy, Mode::Default), Ask);
    let elsewhere = Step { folder: Some(vec!["sub".into()]), ..run(Some("h1")) };
    assert_eq!(judged(vec![elsewhere], &policy, Mode::Default), Ask);
}

#[test]
fn what_is_offered_is_narrow() {
    let offered = |step: Step| {
        let commands =
            Commands { text: "t".into(), steps: vec![reads("ls"), step], ..Commands::default() };
        decide("Bash", &access(commands), &Policy::default(), Mode::Default, &workspace()).offer
    };
    let table = [
        (unknown("cargo test -p core"), &["Bash(cargo test:*)"][..]),
        (unknown("npm run lint -- x"), &["Bash(npm run lint:*)"]),
        (unknown("just check"), &["Bash(just check:*)"]),
        (unknown("ruff check ."), &["Bash(ruff check .)"]),
        (unknown("pip install requests"), &["Bash(pip install requests)"]),
        (unknown("git checkout main"), &["Bash(git checkout main)"]),
        (unknown("git push origin main"), &["Bash(git push origin main)"]),
        (unknown("terraform apply"), &["Bash(terraform apply)"]),
        (unknown("terraform plan -out=p"), &["Bash(terraform plan:*)"]),
        (unknown("cargo install x"), &["Bash(cargo install x)"]),
        (unknown("npm ci"), &["Bash(npm ci)"]),
        (unknown("uv run pytest"), &["Bash(uv run pytest)"]),
        (unknown("gh pr list"), &["Bash(gh pr list)"]),
        (unknown("python3 x.py"), &[]),
        (unknown("python3.12 x.py"), &[]),
        (unknown("bash x.sh"), &[]),
        (unknown("sudo ls"), &[]),
        (unknown("rm x"), &[]),
        (cautioned(unknown("cargo test"), None), &[]),
        (
            touching(unknown("cargo test"), Act::Redirect, "/ws/log"),
            &["Bash(cargo test:*)", "Edit(./log)"],
        ),
        (touching(reads("echo x"), Act::Redirect, "/ws/log"), &["Edit(./log)"]),
        (touching(unknown("cargo test"), Act::Redirect, "/etc/log"), &[]),
        (touching(unknown("cargo test"), Act::Redirect, "/ws/.git/log"), &[]),
        // A rule that would not help is not offered.
        (Step { folder: Some(vec!["/x".into()]), ..unknown("git status") }, &[]),
        (Step { variables: vec!["X".into()], ..unknown("cargo test") }, &[]),
        (unknown("tool a*b"), &[]),
    ];
    for (step, expected) in table {
        assert_eq!(offered(step.clone()), expected, "{step:?}");
    }
}

fn any_step() -> impl Strategy<Value = Step> {
    prop::sample::select(vec![
        reads("ls"),
        reads("git status"),
        unknown("make test"),
        unknown("sudo id"),
        unknown("git push"),
        touching(reads("cat k"), Act::Read, "/etc/k"),
        touching(reads("echo k"), Act::Redirect, "/ws/k"),
        touching(step("rm k", Effect::Writes), Act::Write, "/ws/k"),
        step("rm -rf /", Effect::Ruin("all".into())),
        Step { transparent: true, ..unknown("timeout 5") },
    ])
}

fn any_policy() -> impl Strategy<Value = Policy> {
    let rules = [
        "Bash",
        "Bash(ls:*)",
        "Bash(make:*)",
        "Bash(git push:*)",
        "Bash(sudo:*)",
        "Edit(./**)",
        "Read(//etc/**)",
    ];
    let some = move || prop::collection::vec(prop::sample::select(rules.to_vec()), 0..3);
    (some(), some(), some()).prop_map(|(allow, ask, deny)| policy(&allow, &ask, &deny))
}

proptest! {
    /// Together never more lenient than each alone.
    #[test]
    fn the_strictest_part_decides(
        steps in prop::collection::vec(any_step(), 1..5),
        policy in any_policy(),
        mode in prop::sample::select(Mode::ALL.to_vec()),
    ) {
        let alone = steps.iter().map(|step| judged(vec![step.clone()], &policy, mode)).max().unwrap();
        prop_assert_eq!(judged(steps, &policy, mode), alone);
    }

    #[test]
    fn one_more_deny_or_ask_rule_never_loosens(
        steps in prop::collection::vec(any_step(), 1..4),
        policy in any_policy(),
        more in any_policy(),
        mode in prop::sample::select(Mode::ALL.to_vec()),
    ) {
        let before = judged(steps.clone(), &policy, mode);
        let stricter = Policy { allow: Vec::new(), ..more };
        let mut both = policy;
        both.add(stricter);
        prop_assert!(judged(steps, &both, mode) >= before);
    }

    /// Whatever the rules say, a decision says why.
    #[test]
    fn there_is_always_a_reason(steps in prop::collection::vec(any_step(), 0..4), policy in any_policy()) {
        let commands = Commands { text: "t".into(), steps, ..Commands::default() };
        let decision = decide("Bash", &access(commands), &policy, Mode::Default, &workspace());
        prop_assert!(!decision.why().is_empty());
    }
}

/// As the shell crate describes `echo a > b`: the redirection makes it a write.
#[test]
fn accept_edits_accepts_output() {
    let of = |step: Step, policy: &Policy, mode| judged(vec![step], policy, mode);
    let plain = Policy::default();
    let output = |line: &str, path: &str| {
        let words = if line.is_empty() { Vec::new() } else { literal(line) };
        Step { words, ..touching(step("x", Effect::Writes), Act::Redirect, path) }
    };
    for (step, expected) in [
        (output("echo a", "/ws/b"), Allow),
        (output("", "/ws/b"), Allow),
        (touching(output("cat a", "/ws/b"), Act::Read, "/ws/a"), Allow),
        (touching(output("cat a", "/ws/b"), Act::Read, "/etc/a"), Ask),
        (output("echo a", "/etc/b"), Ask),
        (output("echo a", "/ws/.envrc"), Ask),
        (touching(output("tee c", "/ws/b"), Act::Write, "/ws/c"), Allow),
        (touching(output("shred c", "/ws/b"), Act::Write, "/ws/c"), Ask),
        (touching(output("./tool", "/ws/b"), Act::Run, "/ws/tool"), Ask),
        (cautioned(output("echo a", "/ws/b"), None), Ask),
        (Step { git: true, ..output("git log", "/ws/b") }, Ask),
        (Step { hosts: vec!["h".into()], ..output("echo a", "/ws/b") }, Ask),
        (Step { variables: vec!["PATH".into()], ..output("echo a", "/ws/b") }, Ask),
    ] {
        assert_eq!(of(step.clone(), &plain, Mode::AcceptEdits), expected, "{step:?}");
        assert_eq!(of(step.clone(), &plain, Mode::Default), Ask, "{step:?}");
    }
    let careful = Policy { fallback: Fallback::Ask, ..Policy::default() };
    assert_eq!(of(output("echo a", "/ws/b"), &careful, Mode::AcceptEdits), Ask);
    assert_eq!(of(output(": a", "/ws/b"), &careful, Mode::AcceptEdits), Allow);
    let asked = policy(&[], &["Bash(echo:*)"], &[]);
    assert_eq!(of(output("echo a", "/ws/b"), &asked, Mode::AcceptEdits), Ask);
}

/// What ships gives way to what a person said, by a rule or by a mode; what a person asked to be asked does not.
#[test]
fn shipped_asks_give_way() {
    let shipped = |allow: &[&str], own: &[&str]| {
        let tier = |mut rule: Rule| {
            rule.source.tier = Tier::BuiltIn;
            rule
        };
        let built_in = policy(&["Bash(ls:*)"], &["Bash(rm:*)", "Bash(ls .env)"], &[]);
        let mut all = Policy {
            allow: built_in.allow.into_iter().map(tier).collect(),
            ask: built_in.ask.into_iter().map(tier).collect(),
            ..Policy::default()
        };
        all.add(policy(allow, own, &[]));
        all
    };
    let rm = || vec![touching(step("rm a", Effect::Writes), Act::Write, "/ws/a")];
    let ls = || vec![reads("ls .env")];
    let none = shipped(&[], &[]);
    assert_eq!(judged(rm(), &none, Mode::Default), Ask);
    assert_eq!(judged(rm(), &none, Mode::AcceptEdits), Allow);
    assert_eq!(judged(rm(), &none, Mode::BypassPermissions), Allow);
    assert_eq!(judged(rm(), &none, Mode::DontAsk), Deny);
    assert_eq!(
        judged(ls(), &none, Mode::Default),
        Ask,
        "a shipped allow does not beat a shipped ask"
    );
    assert_eq!(judged(vec![reads("ls")], &none, Mode::Default), Allow);
    let allowed = shipped(&["Bash(rm:*)", "Bash(ls:*)"], &[]);
    assert_eq!(judged(rm(), &allowed, Mode::Default), Allow);
    assert_eq!(judged(ls(), &allowed, Mode::Default), Allow);
    let asked = shipped(&["Bash(rm:*)"], &["Bash(rm:*)"]);
    for mode in [Mode::Default, Mode::AcceptEdits, Mode::BypassPermissions] {
        assert_eq!(judged(rm(), &asked, mode), Ask, "{mode:?}");
    }
}

/// The whole workspace is not something to be deleted along with an edit.
#[test]
fn the_whole_workspace_needs_a_yes() {
    let tree = |path: &str| {
        let mut step = touching(step("rm -r x", Effect::Writes), Act::Write, path);
        step.touches[0].scopes = Some(vec![PathScope::Tree(path.into())]);
        step
    };
    let of = |path: &str, mode| judged(vec![tree(path)], &policy(&["Bash(rm:*)"], &[], &[]), mode);
    for mode in [Mode::Default, Mode::AcceptEdits, Mode::BypassPermissions] {
        assert_eq!(of("/ws", mode), Ask, "{mode:?}");
        assert_eq!(of("/", mode), Ask, "{mode:?}");
        assert_eq!(of("/ws/build", mode), Allow, "{mode:?}");
    }
}

/// Options before the rule's words do not hide it.
#[test]
fn a_denied_subcommand_behind_options_asks_in_every_mode() {
    let denied = policy(&["Bash(kubectl:*)"], &[], &["Bash(kubectl delete:*)"]);
    let of = |line: &str, mode| judged(vec![unknown(line)], &denied, mode);
    assert_eq!(of("kubectl delete pod", Mode::BypassPermissions), Deny);
    assert_eq!(of("kubectl -n prod delete pod", Mode::BypassPermissions), Ask);
    assert_eq!(of("kubectl -n prod delete pod", Mode::Default), Ask);
    assert_eq!(of("kubectl -n prod get pod", Mode::Default), Allow);
}
