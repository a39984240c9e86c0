//! The whole decision as one table, and what must hold whatever the rules say.

use super::*;
use crate::script::Word;
use crate::{Act, Commands, Effect, Rule, RuleError, Step, Touch, TouchKind};
use proptest::collection::vec;
use proptest::prelude::*;

fn workspace() -> Workspace {
    Workspace {
        cwd: "/ws".into(),
        roots: vec!["/ws".into(), "/extra".into()],
        readable: vec!["/spill".into()],
        home: "/home/u".into(),
        tools: crate::test_tools::tools(),
        ..Workspace::default()
    }
}

fn parse(texts: &[&str]) -> Result<Vec<Rule>, RuleError> {
    texts.iter().map(|text| Rule::parse(text, &workspace())).collect()
}

fn rules(allow: &[&str], deny: &[&str]) -> Policy {
    Policy { allow: parse(allow).unwrap(), deny: parse(deny).unwrap(), ..Policy::default() }
}

fn file(path: &str) -> PathScope {
    PathScope::File(path.into())
}
fn read(path: &str) -> Access {
    Access::reading(file(path))
}
fn write(path: &str) -> Access {
    Access::writing(file(path))
}
/// A command of one step that touches what the access says.
fn command(text: &str, access: Access) -> Access {
    let touch = |act: Act, scope: &PathScope| Touch {
        scopes: Some(vec![scope.clone()]),
        ..Touch::new(act, scope.path().display().to_string(), TouchKind::File)
    };
    let reads = access.reads.iter().map(|scope| touch(Act::Read, scope));
    let writes = access.writes.iter().map(|scope| touch(Act::Write, scope));
    let effect = match (access.known, access.writes.is_empty()) {
        (false, _) => Effect::Unknown("make is not known to be read-only".into()),
        (true, true) => Effect::Reads,
        (true, false) => Effect::Writes,
    };
    let step = Step {
        words: text.split(' ').map(|word| Word::Literal(word.into())).collect(),
        folder: Some(Vec::new()),
        effect,
        touches: reads.chain(writes).collect(),
        ..Step::default()
    };
    let runs = Commands { text: text.into(), steps: vec![step], ..Commands::default() };
    Access { runs: Some(runs.into()), ..access }
}
fn contacts(host: &str) -> Access {
    Access { hosts: vec![host.into()], ..Access::nothing() }
}

/// Calls of each kind.
fn calls() -> Vec<(&'static str, &'static str, Access)> {
    vec![
        ("read inside", "Read", read("/ws/a")),
        ("read added root", "Read", read("/extra/a")),
        ("read spilled", "Read", read("/spill/a")),
        ("read outside", "Read", read("/etc/hosts")),
        ("read sibling", "Read", read("/ws-evil/a")),
        ("edit inside", "Edit", write("/ws/a")),
        ("revert inside", "Revert", write("/ws/a")),
        ("edit outside", "Edit", write("/etc/hosts")),
        ("edit sibling", "Write", write("/ws-evil/a")),
        ("edit spilled", "Write", write("/spill/a")),
        ("command writes inside", "Bash", command("touch a", write("/ws/a"))),
        ("command reads inside", "Bash", command("cat a", read("/ws/a"))),
        ("command reads outside", "Bash", command("cat /etc/hosts", read("/etc/hosts"))),
        ("command unknown", "Bash", command("make", Access::unknown())),
        ("touches nothing", "Todo", Access::nothing()),
        ("unknown", "mcp__x__y", Access::unknown()),
        ("contacts a host", "WebFetch", contacts("example.org")),
    ]
}

fn verdict(tool: &str, access: &Access, policy: &Policy, mode: Mode) -> &'static str {
    name(decide(tool, access, policy, mode, &workspace()).verdict)
}

fn name(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Allow => "allow",
        Verdict::Ask => "ask",
        Verdict::Deny => "deny",
    }
}

fn check(rules: &Policy, table: &[(&str, [&str; 5])]) {
    let calls = calls();
    assert_eq!(calls.len(), table.len(), "the table names every call");
    for ((name, tool, access), (row, expected)) in calls.iter().zip(table) {
        assert_eq!(name, row, "the table follows the list of calls");
        let found = Mode::ALL.map(|mode| verdict(tool, access, rules, mode));
        assert_eq!(found, *expected, "{name}");
    }
}

#[test]
fn without_rules() {
    let table = [
        // default, acceptEdits, plan, dontAsk, bypassPermissions
        ("read inside", ["allow", "allow", "allow", "allow", "allow"]),
        ("read added root", ["allow", "allow", "allow", "allow", "allow"]),
        ("read spilled", ["allow", "allow", "allow", "allow", "allow"]),
        ("read outside", ["ask", "ask", "ask", "deny", "allow"]),
        ("read sibling", ["ask", "ask", "ask", "deny", "allow"]),
        ("edit inside", ["ask", "allow", "deny", "deny", "allow"]),
        ("revert inside", ["ask", "allow", "deny", "deny", "allow"]),
        ("edit outside", ["ask", "ask", "deny", "deny", "allow"]),
        ("edit sibling", ["ask", "ask", "deny", "deny", "allow"]),
        ("edit spilled", ["ask", "ask", "deny", "deny", "allow"]),
        ("command writes inside", ["ask", "allow", "deny", "deny", "allow"]),
        ("command reads inside", ["allow", "allow", "allow", "allow", "allow"]),
        ("command reads outside", ["ask", "ask", "ask", "deny", "allow"]),
        ("command unknown", ["ask", "ask", "deny", "deny", "allow"]),
        ("touches nothing", ["allow", "allow", "allow", "allow", "allow"]),
        ("unknown", ["ask", "ask", "deny", "deny", "allow"]),
        ("contacts a host", ["ask", "ask", "ask", "deny", "allow"]),
    ];
    check(&rules(&[], &[]), &table);
}

/// Whole tools and files are allowed; plan mode holds all the same.
#[test]
fn with_allow_rules() {
    let table = [
        ("read inside", ["allow", "allow", "allow", "allow", "allow"]),
        ("read added root", ["allow", "allow", "allow", "allow", "allow"]),
        ("read spilled", ["allow", "allow", "allow", "allow", "allow"]),
        ("read outside", ["allow", "allow", "allow", "allow", "allow"]),
        ("read sibling", ["ask", "ask", "ask", "deny", "allow"]),
        ("edit inside", ["allow", "allow", "deny", "allow", "allow"]),
        ("revert inside", ["allow", "allow", "deny", "allow", "allow"]),
        ("edit outside", ["ask", "ask", "deny", "deny", "allow"]),
        ("edit sibling", ["ask", "ask", "deny", "deny", "allow"]),
        ("edit spilled", ["ask", "ask", "deny", "deny", "allow"]),
        ("command writes inside", ["allow", "allow", "deny", "allow", "allow"]),
        ("command reads inside", ["allow", "allow", "allow", "allow", "allow"]),
        ("command reads outside", ["allow", "allow", "allow", "allow", "allow"]),
        ("command unknown", ["allow", "allow", "deny", "allow", "allow"]),
        ("touches nothing", ["allow", "allow", "allow", "allow", "allow"]),
        ("unknown", ["ask", "ask", "deny", "deny", "allow"]),
        ("contacts a host", ["allow", "allow", "allow", "allow", "allow"]),
    ];
    check(&rules(&["Bash", "WebFetch", "Edit(./**)", "Read(//etc/hosts)"], &[]), &table);
}

/// The same allow rules, and deny rules over them: no mode lifts them.
#[test]
fn with_deny_rules() {
    let table = [
        ("read inside", ["deny", "deny", "deny", "deny", "deny"]),
        ("read added root", ["allow", "allow", "allow", "allow", "allow"]),
        ("read spilled", ["allow", "allow", "allow", "allow", "allow"]),
        ("read outside", ["deny", "deny", "deny", "deny", "deny"]),
        ("read sibling", ["ask", "ask", "ask", "deny", "allow"]),
        ("edit inside", ["deny", "deny", "deny", "deny", "deny"]),
        ("revert inside", ["deny", "deny", "deny", "deny", "deny"]),
        ("edit outside", ["ask", "ask", "deny", "deny", "allow"]),
        ("edit sibling", ["ask", "ask", "deny", "deny", "allow"]),
        ("edit spilled", ["ask", "ask", "deny", "deny", "allow"]),
        ("command writes inside", ["deny", "deny", "deny", "deny", "deny"]),
        ("command reads inside", ["deny", "deny", "deny", "deny", "deny"]),
        ("command reads outside", ["deny", "deny", "deny", "deny", "deny"]),
        ("command unknown", ["allow", "allow", "deny", "allow", "allow"]),
        ("touches nothing", ["allow", "allow", "allow", "allow", "allow"]),
        ("unknown", ["deny", "deny", "deny", "deny", "deny"]),
        ("contacts a host", ["deny", "deny", "deny", "deny", "deny"]),
    ];
    let allow = ["Bash", "WebFetch", "Edit(./**)", "Read(//etc/hosts)"];
    let deny = ["Read(./a)", "Read(//etc/hosts)", "Edit(./a)", "WebFetch", "mcp__x__y"];
    check(&rules(&allow, &deny), &table);
}

#[test]
fn a_reason_names_the_rule_or_the_thing() {
    let say = |tool, access, rules: &Policy, mode| decide(tool, &access, rules, mode, &workspace());
    let denied = rules(&["Edit(./src/**)"], &["Read(.env)"]);
    let none = Policy::default();
    let table = [
        (
            say("Read", read("/ws/.env"), &denied, Mode::Default),
            "deny the deny rule Read(.env) covers it",
        ),
        (
            say("Edit", write("/ws/src/a"), &denied, Mode::Default),
            "allow the allow rule Edit(./src/**) covers it",
        ),
        (say("Edit", write("/ws/a"), &none, Mode::Plan), "deny plan mode allows no changes"),
        (say("Upload", contacts("a.org"), &none, Mode::Plan), "deny plan mode allows no changes"),
        (say("WebFetch", contacts("a.org"), &none, Mode::Plan), "ask it would contact a.org"),
        (
            say("Edit", write("/ws/a"), &none, Mode::BypassPermissions),
            "allow permissions are bypassed",
        ),
        (
            say("Edit", write("/ws/a"), &none, Mode::AcceptEdits),
            "allow edits inside the workspace are accepted",
        ),
        (
            say("Read", read("/ws/a"), &none, Mode::Default),
            "allow it only reads inside the workspace",
        ),
        (
            say("Read", read("/x"), &none, Mode::Default),
            "ask it would read /x outside the workspace",
        ),
        (say("Edit", write("/x"), &none, Mode::Default), "ask it would change /x"),
        (
            say("Edit", write("/x"), &none, Mode::DontAsk),
            "deny it would change /x, and this mode does not ask",
        ),
        (say("WebFetch", contacts("h"), &none, Mode::Default), "ask it would contact h"),
        (say("T", Access::unknown(), &none, Mode::Default), "ask what it would touch is not known"),
        (
            say("Bash", command("make", Access::unknown()), &none, Mode::Default),
            "ask make is not known to be read-only",
        ),
    ];
    for (decision, expected) in table {
        assert_eq!(format!("{} {}", name(decision.verdict), decision.why()), expected);
    }
}

/// Nothing is compared with a path that may lead elsewhere than it says.
#[test]
fn a_path_that_was_not_resolved_is_denied_in_every_mode() {
    for path in ["/ws/../etc/passwd", "/ws/src/../../etc", "src/a", ""] {
        for access in [read(path), write(path), Access::reading(PathScope::Tree(path.into()))] {
            for mode in Mode::ALL {
                let rules = rules(&["Edit(./**)", "Edit", "Read"], &[]);
                assert_eq!(verdict("Edit", &access, &rules, mode), "deny", "{path} {mode:?}");
            }
        }
    }
}

#[test]
fn all_that_an_edit_touches_must_be_inside() {
    let reads_outside = Access { reads: vec![file("/etc/hosts")], ..write("/ws/a") };
    let writes_two =
        Access { writes: vec![file("/ws/a"), file("/etc/hosts")], ..Access::nothing() };
    let not_all_known = Access { known: false, ..write("/ws/a") };
    for access in [reads_outside, writes_two, not_all_known] {
        assert_eq!(
            verdict("Edit", &access, &Policy::default(), Mode::AcceptEdits),
            "ask",
            "{access:?}"
        );
    }
}

const RULES: [&str; 14] = [
    "Bash",
    "Read",
    "Edit",
    "WebFetch",
    "mcp__x__y",
    "Read(./a)",
    "Read(**)",
    "Read(//etc/**)",
    "Edit(./a)",
    "Edit(./**)",
    "Edit(//**)",
    "Write(./**)",
    "Grep(./**)",
    "Glob(.)",
];

fn any_rules() -> impl Strategy<Value = Policy> {
    let some = || vec(prop::sample::select(RULES.to_vec()), 0..4);
    (some(), some()).prop_map(|(allow, deny)| rules(&allow, &deny))
}

fn any_scope() -> impl Strategy<Value = PathScope> {
    let paths =
        vec!["/ws", "/ws/a", "/ws/b/c", "/ws-evil/a", "/etc", "/etc/hosts", "/", "/spill/x"];
    (prop::sample::select(paths), any::<bool>()).prop_map(|(path, tree)| match tree {
        true => PathScope::Tree(path.into()),
        false => PathScope::File(path.into()),
    })
}

fn any_access() -> impl Strategy<Value = Access> {
    let hosts = prop_oneof![3 => Just(vec![]), 1 => Just(vec!["h".to_owned()])];
    (vec(any_scope(), 0..3), vec(any_scope(), 0..2), hosts, any::<bool>()).prop_map(
        |(reads, writes, hosts, known)| Access { reads, writes, hosts, known, ..Access::default() },
    )
}

fn any_tool() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        "Read",
        "Edit",
        "Write",
        "Revert",
        "Glob",
        "Grep",
        "Bash",
        "WebFetch",
        "mcp__x__y",
    ])
}

fn any_mode() -> impl Strategy<Value = Mode> {
    prop::sample::select(Mode::ALL.to_vec())
}

/// Few words, few files, so that steps repeat in whole and in part.
fn any_step() -> impl Strategy<Value = Step> {
    let words = prop::sample::select(vec!["ls", "cat a", "rm b", "npm test"]);
    let effects = vec![Effect::Reads, Effect::Writes, Effect::Unknown("x".into())];
    let act = prop::sample::select(vec![Act::Read, Act::Write, Act::Redirect]);
    let touches = vec((act, any_scope()), 0..2).prop_map(|touches| {
        let touch = |(act, scope): (Act, PathScope)| Touch {
            scopes: Some(vec![scope.clone()]),
            ..Touch::new(act, scope.path().display().to_string(), TouchKind::File)
        };
        touches.into_iter().map(touch).collect()
    });
    let moved = prop::sample::select(vec![None, Some(vec![]), Some(vec!["d".to_owned()])]);
    (words, prop::sample::select(effects), touches, moved).prop_map(
        |(words, effect, touches, folder)| Step {
            words: words.split(' ').map(|word| Word::Literal(word.into())).collect(),
            effect,
            touches,
            folder,
            ..Step::default()
        },
    )
}

proptest! {
    /// As if each of them were judged by itself.
    #[test]
    fn repeated_steps_come_to_the_same(
        pool in vec(any_step(), 1..12), order in vec(any::<prop::sample::Index>(), 60..120), asks: bool, denies: bool, piped: bool, mode in any_mode(),
    ) {
        let mut policy = rules(&["Bash(npm test)", "Bash(rm:*)"], if denies { &["Bash(cat:*)"] } else { &[] });
        policy.ask = parse(if asks { &["Bash(ls)", "Read(//etc/**)"] } else { &[] }).unwrap();
        policy.deny.extend(piped.then(|| Rule::regex("Bash", r"rm b \| cat", Default::default()).unwrap()));
        let steps: Vec<Step> = order.iter().map(|index| index.get(&pool).clone()).collect();
        let pipes = vec![vec![vec![0], vec![steps.len() - 1]], vec![vec![steps.len() - 2], vec![1, 2]]];
        let commands = std::sync::Arc::new(Commands { steps, pipes, ..Commands::default() });
        let access = Access { runs: Some(commands.clone()), ..Access::nothing() };
        let workspace = workspace();
        let scene = DecisionScene::of(&access, &policy, mode, &workspace);
        let each = settle(scene, judge_commands(scene, "Bash", &access, &commands), Vec::new());
        prop_assert_eq!(decide("Bash", &access, &policy, mode, &workspace), each);
    }

    #[test]
    fn one_more_deny_rule_never_allows_more(
        tool in any_tool(), access in any_access(), rules in any_rules(), mode in any_mode(), more in prop::sample::select(RULES.to_vec()),
    ) {
        let mut stricter = rules.clone();
        stricter.deny.push(Rule::parse(more, &workspace()).unwrap());
        let (before, after) = (verdict(tool, &access, &rules, mode), verdict(tool, &access, &stricter, mode));
        // A rule about something below a directory asks about the directory.
        let stricter = after == "deny" || (after == "ask" && before == "allow");
        prop_assert!(stricter || after == before, "{before} became {after}");
    }

    #[test]
    fn no_mode_and_no_allow_rule_lifts_a_deny_rule(
        tool in any_tool(), access in any_access(), rules in any_rules(), mode in any_mode(), more in prop::sample::select(RULES.to_vec()),
    ) {
        let full = |rule: &Rule| rule.is_whole_tool(tool) || rule.touches(tool, &access) == Reach::Full;
        let denied = rules.deny.iter().any(full);
        let mut laxer = rules.clone();
        laxer.allow.push(Rule::parse(more, &workspace()).unwrap());
        if denied {
            prop_assert_eq!(verdict(tool, &access, &laxer, mode), "deny");
        }
    }

    #[test]
    fn plan_mode_changes_nothing(tool in any_tool(), access in any_access(), rules in any_rules()) {
        if verdict(tool, &access, &rules, Mode::Plan) == "allow" {
            let fetches = tool == "WebFetch" && access.changes_nothing();
            prop_assert!(access.is_harmless() || fetches);
        }
    }

    /// A file rule, whatever it says, lets nothing pass that it does not name.
    #[test]
    fn file_rules_allow_no_more_than_their_files(tool in any_tool(), access in any_access()) {
        let rules = rules(&["Read(./a)", "Edit(./a)", "Write(./a)", "Grep(./a)", "Glob(./a)"], &[]);
        let allowed = verdict(tool, &access, &rules, Mode::Default) == "allow";
        let allowed_anyway = verdict(tool, &access, &Policy::default(), Mode::Default) == "allow";
        if allowed && !allowed_anyway {
            let mut scopes = access.reads.iter().chain(&access.writes);
            prop_assert!(access.known && access.hosts.is_empty() && scopes.all(|scope| scope.path() == "/ws/a"));
        }
    }
}

/// The sandbox may only raise, and only bypassing gives up the question about a layer that is missing.
#[test]
fn a_weak_or_lifted_sandbox_asks() {
    let weak = || Hold::Weak("bubblewrap is missing".into());
    for (hold, expected) in [
        (Hold::Whole, ["allow", "allow", "allow", "allow", "allow"]),
        (weak(), ["ask", "ask", "ask", "deny", "allow"]),
        (Hold::Lifted, ["ask", "ask", "ask", "deny", "ask"]),
    ] {
        let access = Access { hold: hold.clone(), ..command("cat a", read("/ws/a")) };
        let found = Mode::ALL.map(|mode| verdict("Bash", &access, &Policy::default(), mode));
        assert_eq!(found, expected, "{hold:?}");
        let decision = decide("Bash", &access, &Policy::default(), Mode::Default, &workspace());
        assert!(hold == Hold::Whole || decision.reasons.iter().all(|r| r.by == By::Sandbox));
        assert!(decision.offer.is_empty(), "no rule helps against {hold:?}");
    }
    let lost = Access { unkept: Some("/ws/target".into()), ..command("cat a", read("/ws/a")) };
    let found = Mode::ALL.map(|mode| verdict("Bash", &lost, &Policy::default(), mode));
    assert_eq!(found, ["ask", "ask", "ask", "deny", "allow"], "what undo does not cover");
    let no_bypass = Policy { no_bypass: true, ..Policy::default() };
    let access = Access { hold: weak(), ..command("cat a", read("/ws/a")) };
    assert_eq!(verdict("Bash", &access, &no_bypass, Mode::BypassPermissions), "ask");
    for (name, tool, access) in calls() {
        for hold in [weak(), Hold::Lifted] {
            for mode in Mode::ALL {
                let raised = Access { hold: hold.clone(), ..access.clone() };
                let verdict =
                    |access| decide(tool, access, &Policy::default(), mode, &workspace()).verdict;
                assert!(verdict(&raised) >= verdict(&access), "{name} {hold:?} {mode:?}");
            }
        }
    }
}

/// A call that changes the session itself touches nothing; one that would loosen its rules needs a yes.
#[test]
fn loosening_asks() {
    use crate::Inward;
    let plan = Access::inward(Inward::default());
    let skill = |loosens: &[&str]| {
        let loosens = loosens.iter().map(|rule| (*rule).to_owned()).collect();
        Access::inward(Inward { skill: Some("x".into()), loosens })
    };
    let none = rules(&[], &[]);
    for (access, policy, mode, expected) in [
        (&plan, &none, Mode::Default, Verdict::Allow),
        (&plan, &none, Mode::Plan, Verdict::Allow),
        (&plan, &none, Mode::DontAsk, Verdict::Allow),
        (&skill(&[]), &none, Mode::Default, Verdict::Allow),
        (&skill(&["Bash"]), &none, Mode::Default, Verdict::Ask),
        (&skill(&["Bash"]), &none, Mode::AcceptEdits, Verdict::Ask),
        (&skill(&["Bash"]), &none, Mode::Plan, Verdict::Ask),
        (&skill(&["Bash"]), &none, Mode::DontAsk, Verdict::Deny),
        (&skill(&["Bash"]), &none, Mode::BypassPermissions, Verdict::Allow),
        (&skill(&["Bash"]), &rules(&["Skill(x)"], &[]), Mode::Default, Verdict::Allow),
        (&skill(&["Bash"]), &rules(&["Skill(y)"], &[]), Mode::Default, Verdict::Ask),
        (&skill(&[]), &rules(&["Skill"], &["Skill(x *)"]), Mode::Default, Verdict::Deny),
        (&skill(&[]), &rules(&[], &["Skill(y)"]), Mode::Default, Verdict::Allow),
    ] {
        let decision = decide("Skill", access, policy, mode, &workspace());
        assert_eq!(decision.verdict, expected, "{access:?} {mode:?} {}", decision.why());
        assert_eq!(decision.offer, Vec::<String>::new(), "only this very call can be allowed");
    }
}
