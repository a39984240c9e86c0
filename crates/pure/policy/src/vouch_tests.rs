//! What a rule vouches for beyond plain words: what it spells out in front of the program, and what the sandbox and undo
//! stand behind.

use super::super::commands::{Caution, Commands, Position};
use super::super::decide::{Decision, Verdict, decide};
use super::super::{Access, Backing, Concern, PathScope, Policy, Workspace};
use super::*;
use Verdict::{Allow, Ask, Deny};

fn workspace() -> Workspace {
    Workspace {
        cwd: "/ws".into(),
        roots: vec!["/ws".into()],
        home: "/home/u".into(),
        ..Workspace::default()
    }
}

fn literal(line: &str) -> Vec<Word> {
    line.split(' ').map(|word| Word::Literal(word.into())).collect()
}

fn unknown(line: &str) -> Step {
    let effect = Effect::Unknown("it may do anything".into());
    Step { words: literal(line), folder: Some(Vec::new()), effect, ..Step::default() }
}

fn of(rules: &[&str]) -> Vec<Rule> {
    rules.iter().map(|rule| Rule::parse(rule, &workspace()).unwrap()).collect()
}

fn decided(access: Access, allow: &[&str], deny: &[&str]) -> Decision {
    let policy = Policy { allow: of(allow), deny: of(deny), ..Policy::default() };
    decide("Bash", &access, &policy, Mode::Default, &workspace())
}

fn running(text: &str, steps: Vec<Step>) -> Access {
    let hosts = steps.iter().flat_map(|step| step.hosts.clone()).collect();
    let commands = Commands { text: text.into(), steps, ..Commands::default() };
    Access { runs: Some(commands.into()), hosts, ..Access::unknown() }
}

fn assigned(assigned: &[&str], line: &str) -> Step {
    let name = |text: &&str| text.split('=').next().unwrap_or_default().to_owned();
    let variables = assigned.iter().map(name).collect();
    let assigned = assigned.iter().map(|text| Word::Literal((*text).into())).collect();
    Step { assigned, variables, ..unknown(line) }
}

#[test]
fn variables_must_be_spelled_out_with_their_values() {
    for (step, rule, expected) in [
        (assigned(&["P=."], "pytest tests"), "Bash(P=. pytest:*)", Allow),
        (assigned(&["P=."], "pytest"), "Bash(P=. pytest)", Allow),
        (assigned(&["P=.", "Q=1"], "pytest"), "Bash(P=. Q=1 pytest:*)", Allow),
        (assigned(&["P=."], "pytest"), "Bash(pytest:*)", Ask),
        (assigned(&["P=./x"], "pytest"), "Bash(P=. pytest:*)", Ask),
        (assigned(&["P=.", "Q=1"], "pytest"), "Bash(P=. pytest:*)", Ask),
        (assigned(&["Q=1", "P=."], "pytest"), "Bash(P=. Q=1 pytest:*)", Ask),
        (assigned(&["P=."], "make"), "Bash(P=. pytest:*)", Ask),
        (assigned(&["P=."], "pytest"), "Bash(P=.:*)", Ask),
        (assigned(&["P=."], "pytest"), "Bash(P=* pytest)", Ask),
        // The rule says with the variable, the command comes without.
        (unknown("pytest"), "Bash(P=. pytest:*)", Ask),
        (unknown("echo P=. pytest"), "Bash(P=. pytest:*)", Ask),
    ] {
        let found = decided(running("text", vec![step.clone()]), &[rule], &[]);
        assert_eq!(found.verdict, expected, "{rule} {step:?}: {}", found.why());
    }
}

#[test]
fn a_denial_with_a_variable_holds_where_it_is_set() {
    let step = || assigned(&["Q=1", "P=."], "rm x");
    for (deny, expected) in [
        ("Bash(P=. rm:*)", Deny),
        ("Bash(P=.:*)", Deny),
        ("Bash(P=./y rm:*)", Ask),
        ("Bash(P=. mv:*)", Ask),
        ("Bash(rm:*)", Deny),
    ] {
        let found = decided(running("text", vec![step()]), &[], &[deny]);
        assert_eq!(found.verdict, expected, "{deny}: {}", found.why());
    }
    let plain =
        decided(running("text", vec![unknown("rm x")]), &["Bash(rm:*)"], &["Bash(P=. rm:*)"]);
    assert_eq!(plain.verdict, Allow);
}

#[test]
fn the_rules_own_text_is_allowed_whatever_is_in_it() {
    let text = "P=. npm run build && npm test | tee x";
    let steps = || vec![assigned(&["P=."], "npm run build"), unknown("npm test"), unknown("tee x")];
    let rule = format!("Bash({text})");
    let found = |text: &str, deny: &[&str]| decided(running(text, steps()), &[&rule], deny).verdict;
    assert_eq!(found(text, &[]), Allow);
    assert_eq!(found("P=. npm run build && npm test | tee y", &[]), Ask);
    assert_eq!(found(text, &["Bash(npm test:*)"]), Deny);
    // Names that need a yes do so here, too.
    let scopes = Some(vec![PathScope::File("/ws/.git/config".into())]);
    let touch = Touch { scopes, ..Touch::new(Act::Redirect, ".git/config", TouchKind::File) };
    let step = Step { touches: vec![touch], ..unknown("npm test") };
    let access = running("npm test > .git/config", vec![step]);
    assert_eq!(decided(access, &["Bash(npm test > .git/config)"], &[]).verdict, Ask);
    let ruin = Step { effect: Effect::Ruin("all of it".into()), ..unknown("rm -rf /") };
    assert_eq!(decided(running("rm -rf /", vec![ruin]), &["Bash(rm -rf /)"], &[]).verdict, Deny);
}

/// `timeout 8 npm run dev`: the wrapper, and what it starts.
fn wrapped(outer: &str, inner: &str) -> Vec<Step> {
    let transparent = Step { transparent: true, ..unknown(&format!("{outer} {inner}")) };
    let inner = Step { inside: Some(0), position: Position::Wrapped, ..unknown(inner) };
    vec![transparent, inner]
}

#[test]
fn a_rule_may_spell_out_a_wrapper_with_what_it_starts() {
    for (outer, inner, rule, expected) in [
        ("timeout 8", "npm run dev -x", "Bash(timeout 8 npm run dev:*)", Allow),
        ("timeout 8", "npm run dev", "Bash(timeout 8 npm run dev)", Allow),
        ("timeout 8", "npm run dev", "Bash(npm run dev)", Allow),
        ("timeout 9", "npm run dev", "Bash(timeout 8 npm run dev:*)", Ask),
        ("timeout 8", "npm run devil", "Bash(timeout 8 npm run dev:*)", Ask),
        ("timeout 8", "npm run dev", "Bash(timeout * npm run dev)", Ask),
        ("timeout 8", "npm run dev", "Bash(timeout:*)", Ask),
        ("timeout 8", "npm run dev", "Bash(timeout 8:*)", Ask),
        ("timeout 8", "npm run dev", "Bash(timeout 8 *)", Ask),
    ] {
        let found = decided(running("text", wrapped(outer, inner)), &[rule], &[]);
        assert_eq!(found.verdict, expected, "{rule} {outer} {inner}: {}", found.why());
    }
    let found =
        decided(running("text", wrapped("timeout 8", "npm test")), &["Bash(timeout:*)"], &[]);
    assert!(found.why().ends_with("the rule Bash(timeout:*) does not cover what timeout starts"));
    // It speaks of the command behind the wrapper, not of one elsewhere in the text.
    let mut steps = wrapped("timeout 8", "npm run dev");
    steps.push(unknown("npm run dev"));
    let found = decided(running("text", steps), &["Bash(timeout 8 npm run dev:*)"], &[]);
    assert_eq!(found.verdict, Ask);
}

fn cautioned(step: Step, concern: Concern, word: Option<usize>) -> Step {
    Step { cautions: vec![Caution::new("odd", word).about(concern)], ..step }
}

fn writing(step: Step, act: Act, path: &str) -> Step {
    let scopes = Some(vec![PathScope::File(path.into())]);
    let touch = Touch { scopes, ..Touch::new(act, path, TouchKind::File) };
    Step { touches: vec![touch], ..step }
}

#[test]
fn with_the_sandbox_and_undo_a_rule_covers_ordinary_changes() {
    let tool = || unknown("tool -i x");
    let host = |step: Step| Step { hosts: vec!["h".into()], ..step };
    for (step, rule, expected) in [
        (cautioned(tool(), Concern::Writes, Some(1)), "Bash(tool:*)", Allow),
        (cautioned(tool(), Concern::Writes, None), "Bash(tool *)", Allow),
        (cautioned(tool(), Concern::Code, None), "Bash(tool:*)", Allow),
        (cautioned(tool(), Concern::Other, Some(1)), "Bash(tool:*)", Ask),
        (cautioned(tool(), Concern::Writes, Some(1)), "Bash(other:*)", Ask),
        (cautioned(tool(), Concern::Writes, Some(1)), "Bash(to*)", Ask),
        (cautioned(unknown("tool -i /etc/x"), Concern::Writes, Some(1)), "Bash(tool:*)", Ask),
        (cautioned(unknown("tool -i .envrc"), Concern::Writes, Some(1)), "Bash(tool:*)", Ask),
        // Code that may reach a host is not kept to the workspace.
        (host(cautioned(tool(), Concern::Writes, Some(1))), "Bash(tool:*)", Allow),
        (host(cautioned(tool(), Concern::Code, Some(1))), "Bash(tool:*)", Ask),
        (writing(tool(), Act::Redirect, "/ws/x"), "Bash(tool:*)", Allow),
        (writing(tool(), Act::Redirect, "/ws/x"), "Bash(tool -i x)", Allow),
        (writing(tool(), Act::Redirect, "/etc/x"), "Bash(tool:*)", Ask),
        (writing(tool(), Act::Redirect, "/ws/.git/hooks/x"), "Bash(tool:*)", Ask),
        (writing(tool(), Act::Redirect, "/ws/x"), "Read(./**)", Ask),
    ] {
        let access = running("text", vec![step.clone()]);
        let held = Access { backing: Backing::Whole, ..access.clone() };
        let found = decided(held, &[rule], &[]);
        assert_eq!(found.verdict, expected, "{rule} {step:?}: {}", found.why());
        if expected == Allow {
            assert!(found.why().ends_with("undo can revert it"), "{}", found.why());
            let missing = Backing::Missing("undo is off".into());
            let found = decided(Access { backing: missing, ..access.clone() }, &[rule], &[]);
            assert_eq!(found.verdict, Ask, "{rule} {step:?}");
            assert!(found.why().ends_with("but undo is off"), "{}", found.why());
            // Nothing is known of a sandbox: the same.
            assert_eq!(decided(access, &[rule], &[]).verdict, Ask, "{rule} {step:?}");
        }
    }
}

/// A broad rule that does not cover all of it does not stand in the way of a narrow one.
#[test]
fn every_rule_is_heard() {
    let set = assigned(&["P=."], "pytest");
    let found = decided(running("text", vec![set]), &["Bash(pytest:*)", "Bash(P=. pytest:*)"], &[]);
    assert_eq!(found.verdict, Allow, "{}", found.why());
    let script = || cautioned(unknown("python3 /opt/x.py"), Concern::Code, Some(1));
    for narrow in ["Bash(python3 /opt/x.py)", "Bash(python3 /opt/x.py:*)"] {
        let held = Access { backing: Backing::Whole, ..running("text", vec![script()]) };
        let found = decided(held, &["Bash(python3:*)", narrow], &[]);
        assert_eq!(found.verdict, Allow, "{narrow}: {}", found.why());
    }
}

#[test]
fn a_rule_that_names_no_program_allows_none() {
    for (line, rule, expected) in [
        ("evil --help", "Bash(* --help)", Ask),
        ("evil --help", "Bash(evil --help)", Allow),
        ("evil --help", "Bash(*)", Allow),
        ("evil x", "Bash(* --help)", Ask),
    ] {
        let found = decided(running("text", vec![unknown(line)]), &[rule], &[]);
        assert_eq!(found.verdict, expected, "{rule} {line}: {}", found.why());
    }
}

/// A regular expression does not say which program it is about, and what ships was written by nobody here.
#[test]
fn only_a_persons_rule_on_a_program_is_backed() {
    let step = cautioned(unknown("tool -i x"), Concern::Writes, Some(1));
    let held = || Access { backing: Backing::Whole, ..running("text", vec![step.clone()]) };
    let verdict = |rule: Rule| {
        let policy = Policy { allow: vec![rule], ..Policy::default() };
        decide("Bash", &held(), &policy, Mode::Default, &workspace()).verdict
    };
    let source = || super::super::Source::default();
    assert_eq!(verdict(Rule::regex("Bash", "^tool", source()).unwrap()), Ask);
    let mut shipped = Rule::parse("Bash(tool:*)", &workspace()).unwrap();
    assert_eq!(verdict(shipped.clone()), Allow);
    shipped.source.tier = Tier::BuiltIn;
    assert_eq!(verdict(shipped), Ask);
}

/// The text behind `-c` is no path, and what follows a file that was read into the shell may run anywhere in the sandbox.
#[test]
fn code_goes_where_it_likes_in_the_sandbox() {
    let mut code = unknown("python3 -c x");
    code.words.pop();
    code.words.push(Word::Literal("//comment; open('/etc/x')".into()));
    let code = cautioned(code, Concern::Code, Some(1));
    let script = cautioned(unknown("python3 /etc/x.py"), Concern::Code, Some(1));
    let after = Step { folder: None, ..cautioned(unknown("python3"), Concern::Code, None) };
    let lost = Step { folder: None, ..unknown("python3 x") };
    for (step, expected) in [(code, Allow), (script, Ask), (after, Allow), (lost, Ask)] {
        let held = Access { backing: Backing::Whole, ..running("text", vec![step.clone()]) };
        let found = decided(held, &["Bash(python3:*)"], &[]);
        assert_eq!(found.verdict, expected, "{step:?}: {}", found.why());
    }
}
