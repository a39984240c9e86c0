//! Every entry of the table is checked by its own examples.

use crate::table::{Program, Value, programs};
use crate::{Proof, ReadKind, ReadPath, prove, table_git};

fn entries() -> impl Iterator<Item = &'static Program> {
    programs().chain(table_git::SUBCOMMANDS)
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
            if let Proof::Unproved { why, .. } = prove(text) {
                wrong.push(format!("{text:?} should be harmless: {why}"));
            }
        }
        for text in program.misses.iter().filter(|text| prove(text).is_harmless()) {
            wrong.push(format!("{text:?} should not be harmless"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
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
            assert!(prove(&text).is_harmless(), "{text}: {:?}", prove(&text));
            let shortened = &text[..name.len() + option.len()];
            let known = program.long.contains(&&option[2..option.len().max(3) - 1]);
            if option.starts_with("--") && !known {
                assert!(!prove(shortened).is_harmless(), "abbreviated: {shortened}");
            }
        }
    }
}

fn reads(text: &str) -> Vec<(String, ReadKind)> {
    match prove(text) {
        Proof::Harmless { reads, .. } => {
            reads.into_iter().map(|ReadPath { path, kind }| (path, kind)).collect()
        }
        Proof::Unproved { why, .. } => panic!("{text}: {why}"),
    }
}

#[test]
fn reads_are_named() {
    use ReadKind::{File, Glob, Tree};
    let cases: &[(&str, &[(&str, ReadKind)])] = &[
        ("echo a b", &[]),
        ("pwd", &[]),
        ("ls", &[(".", Tree)]),
        ("ls -la 'a b' /etc", &[("a b", Tree), ("/etc", Tree)]),
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
        ("du -sh target", &[("target", Tree)]),
        ("sort -k 2 f | uniq -c | head -5", &[("f", File)]),
        ("stat -c %s f", &[("f", File)]),
        ("echo src/*", &[("src/*", Glob)]),
        ("git status", &[(".", Tree)]),
        (
            "git show HEAD:secrets/key.pem",
            &[(".", Tree), ("HEAD:secrets/key.pem", Tree), ("secrets/key.pem", Tree)],
        ),
        ("git diff /etc/passwd x", &[(".", Tree), ("/etc/passwd", Tree), ("x", Tree)]),
        ("git log -- a:b", &[(".", Tree), ("a:b", Tree)]),
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
    let git = |text: &str| matches!(prove(text), Proof::Harmless { git: true, .. });
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
