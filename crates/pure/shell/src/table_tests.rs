//! Every entry of the table is checked by its own examples.

use crate::steps;
use crate::table::{Program, Value, git_subcommands, programs};
use ostler_policy::{Act, Step, TouchKind};

fn is_harmless(text: &str) -> bool {
    let commands = steps(text);
    let alone = |step: &Step| step.variables.is_empty() && step.hosts.is_empty();
    commands.only_reads() && commands.steps.iter().all(alone)
}

fn entries() -> impl Iterator<Item = &'static Program> {
    programs().chain(git_subcommands())
}

#[test]
fn examples_hold() {
    let mut wrong = Vec::new();
    for program in entries() {
        assert!(
            !program.matches.is_empty() && !program.misses.is_empty(),
            "{} has no examples",
            program.name
        );
        for text in program.matches {
            if !is_harmless(text) {
                wrong.push(format!("{text:?} should be harmless: {:?}", steps(text)));
            }
        }
        for text in program.misses.iter().filter(|text| is_harmless(text)) {
            wrong.push(format!("{text:?} should not be harmless"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// More than the entries say: words of the shell, patterns of programs that cannot do harm, git's global options.
#[test]
fn known_beyond_the_entries() {
    for text in [
        "echo $x",
        "echo ~",
        "true $x",
        "ls ~",
        "ls {a,b}",
        "ls -*",
        "cat <(ls)",
        "dirname ~/x",
        "stat *",
        "du -sh *",
        "head *",
        "wc *",
        "grep -rn foo *",
        "cut -f1 *",
        "git -C x status",
        "git -P diff",
        "printf '%s' *",
    ] {
        assert!(is_harmless(text), "{text}: {:?}", steps(text));
    }
    assert!(!is_harmless("cat <(ls; x)") && !is_harmless("sort *") && !is_harmless("ls {a,`x`}"));
}

#[test]
fn names_and_options_are_unique() {
    let mut names: Vec<_> = programs().map(|program| program.name).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), programs().count());
    for program in entries() {
        let letters =
            program.short.chars().chain(program.short_values.iter().map(|(letter, ..)| *letter));
        let mut letters: Vec<_> = letters.collect();
        let count = letters.len();
        letters.sort_unstable();
        letters.dedup();
        assert_eq!(letters.len(), count, "{} lists a letter twice", program.name);
    }
}

#[test]
fn every_known_option_is_taken() {
    for program in entries() {
        let name = if programs().any(|p| std::ptr::eq(p, program)) {
            program.name.to_owned()
        } else {
            format!("git {}", program.name)
        };
        let operand = match program.operands {
            crate::table::Operands::Fit(Value::Any | Value::Name) => " x",
            crate::table::Operands::PatternAndFiles { .. } => " x",
            _ => "",
        };
        let options = program
            .short
            .chars()
            .map(|c| format!("-{c}"))
            .chain(program.long.iter().map(|l| format!("--{l}")));
        for option in options {
            let text = format!("{name} {option}{operand}");
            // Some options take an operand, some forbid one.
            let is_taken = is_harmless(&text) || is_harmless(&format!("{name} {option}"));
            assert!(is_taken, "{text}: {:?}", steps(&text));
            let shortened = &text[..name.len() + option.len()];
            let known = program.long.contains(&&option[2..option.len().max(3) - 1]);
            if option.starts_with("--") && !known {
                assert!(!is_harmless(shortened), "abbreviated: {shortened}");
            }
        }
    }
}

fn reads(text: &str) -> Vec<(String, TouchKind)> {
    assert!(is_harmless(text), "{text}: {:?}", steps(text));
    let touches = steps(text).steps.into_iter().flat_map(|step| step.touches);
    let read = touches.map(|touch| {
        assert_eq!(touch.act, Act::Read, "{text}");
        (touch.path, touch.kind)
    });
    read.collect()
}

#[test]
fn reads_are_named() {
    use TouchKind::{File, Glob, InRepository, Names, Repository, Tree};
    let cases: &[(&str, &[(&str, TouchKind)])] = &[
        ("echo a b", &[]),
        ("pwd", &[]),
        ("ls", &[(".", Names)]),
        ("ls -la 'a b' /etc", &[("a b", Names), ("/etc", Names)]),
        ("cat", &[]),
        ("cat - /etc/passwd", &[("/etc/passwd", File)]),
        ("cat ./secrets/../k", &[("./secrets/../k", File)]),
        ("cat $'.\\x65nv'", &[(".env", File)]),
        ("cat src/*.rs", &[("src/*.rs", Glob)]),
        ("cat src/'*'.rs", &[("src/*.rs", File)]),
        ("tr a b < in.txt", &[("in.txt", File)]),
        ("grep x", &[]),
        ("grep x f g", &[("f", File), ("g", File)]),
        ("grep -r x", &[(".", Tree)]),
        ("grep -rn x src", &[("src", Tree)]),
        ("grep -e x f", &[("f", File)]),
        ("grep x -- -r", &[("-r", File)]),
        ("rg x", &[(".", Tree)]),
        ("rg --files src", &[("src", Tree)]),
        ("rg -e x src", &[("src", Tree)]),
        ("du -sh target", &[("target", Names)]),
        ("sort -k 2 f | uniq -c | head -5", &[("f", File)]),
        ("stat -c %s f", &[("f", File)]),
        ("echo src/*", &[("src/*", Glob)]),
        ("git status", &[]),
        (
            "git show HEAD:secrets/key.pem",
            &[("secrets/key.pem", InRepository), ("HEAD:secrets/key.pem", Tree)],
        ),
        ("git diff /etc/passwd x", &[("/etc/passwd", Tree), ("x", Tree), ("", Repository)]),
        ("git log -- a:b", &[("a:b", Tree)]),
        ("(cat a; { cat b; }) < c", &[("a", File), ("b", File), ("c", File)]),
    ];
    for (text, expected) in cases {
        let expected: Vec<_> =
            expected.iter().map(|(path, kind)| ((*path).to_owned(), *kind)).collect();
        assert_eq!(reads(text), expected, "{text}");
    }
}

#[test]
fn git_is_said() {
    let git = |text: &str| is_harmless(text) && steps(text).runs_git();
    assert!(git("git status"));
    assert!(git("ls | (pwd; git log | head)"));
    assert!(!git("ls; echo git status"));
}

#[test]
fn pretty_formats() {
    for fine in [
        "oneline",
        "format:%h %s",
        "tformat:%an",
        "%H",
        "%h %GG".replace("%GG", "%s").as_str(),
        "format:",
        "",
    ] {
        assert!(Value::PrettyFormat.fits(fine), "{fine}");
    }
    for refused in ["mine", "%G?", "%h%GS", "format:%+GK", "%-G?", "% G?", "x%%G"] {
        assert!(!Value::PrettyFormat.fits(refused), "{refused}");
    }
}
