//! Every entry of the table is checked by its own examples.

use crate::steps;
use crate::table::{Operands, Program, Takes, Value, git_subcommands, programs};
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

/// How the program is called.
fn called(program: &Program) -> String {
    match programs().any(|other| std::ptr::eq(other, program)) {
        true => program.name.to_owned(),
        false => format!("git {}", program.name),
    }
}

/// An operand that every program takes that takes one.
fn operand(program: &Program) -> &'static str {
    match program.operands {
        Operands::Fit(Value::Any | Value::Name) | Operands::PatternAndFiles { .. } => " x",
        _ => "",
    }
}

/// A name behind these makes a branch or a tag.
const WITHOUT_NAME: [&str; 13] = [
    "git branch -a",
    "git branch -i",
    "git branch -r",
    "git branch -v",
    "git branch --all",
    "git branch --ignore-case",
    "git branch --no-color",
    "git branch --no-column",
    "git branch --remotes",
    "git branch --show-current",
    "git branch --verbose",
    "git tag -i",
    "git tag --no-column",
];

#[test]
fn every_known_option_is_taken() {
    let mut seen = 0;
    for program in entries() {
        let name = called(program);
        let short = program.short.chars().map(|letter| format!("-{letter}"));
        for option in short.chain(program.long.iter().map(|long| format!("--{long}"))) {
            let bare = format!("{name} {option}");
            let text = format!("{bare}{}", operand(program));
            let without_name = WITHOUT_NAME.contains(&bare.as_str());
            assert_eq!(is_harmless(&text), !without_name, "{text}: {:?}", steps(&text));
            assert!(!without_name || is_harmless(&bare), "{bare}: {:?}", steps(&bare));
            seen += 1;
        }
    }
    assert!(seen > 700, "{seen}");
}

/// A value of the right shape, and one of another; none where every value will do.
fn values(value: Value) -> (&'static str, Option<&'static str>) {
    match value {
        Value::Any => ("x", None),
        Value::Number => ("5", Some("five")),
        Value::Size => ("10K", Some("10X")),
        Value::Decimal => ("1.5", Some("1.5.5")),
        Value::Duration => ("0.5s", Some("0.5d")),
        Value::Fields => ("1,3-5", Some("1;3")),
        Value::SortKey => ("2,2nr", Some("n2")),
        Value::OneOf(choices) => (choices[0], Some("none-of-them")),
        Value::DateFormat => ("+%Y", Some("%Y")),
        Value::Name => ("name", Some("a/b")),
        Value::PrintfFormat => ("%s", Some("%n")),
        Value::PrettyFormat => ("%h", Some("%G?")),
        Value::RefFormat => ("%(refname)", Some("%(signature)")),
        Value::LineRange => ("1,5:f", Some("f")),
        Value::Variable => ("HOME", Some("TOKEN")),
        Value::Step => ("0.5", Some("0.00005")),
    }
}

/// Every option of the program that takes a value: as it is written, and the sign before a value that is glued to it.
fn with_values(program: &Program) -> impl Iterator<Item = (String, &'static str, Takes, Value)> {
    let short = program.short_values.iter();
    let short = short.map(|(letter, takes, value)| (format!("-{letter}"), "", *takes, *value));
    let long = program.long_values.iter();
    short.chain(long.map(|(long, takes, value)| (format!("--{long}"), "=", *takes, *value)))
}

#[test]
fn every_known_option_takes_its_value_and_no_other() {
    let mut seen = 0;
    for program in entries() {
        let name = called(program);
        let operand = match name.as_str() {
            "git branch" | "git tag" => "",
            _ => operand(program),
        };
        for (option, sign, takes, value) in with_values(program) {
            let (fits, other) = values(value);
            let taken = |text: String, expected: bool| {
                assert_eq!(is_harmless(&text), expected, "{text}: {:?}", steps(&text));
            };
            let glued = |value: &str| format!("{name} {option}{sign}'{value}'{operand}");
            let apart = |value: &str| format!("{name} {option} '{value}'{operand}");
            taken(glued(fits), true);
            other.into_iter().for_each(|other| taken(glued(other), false));
            match takes {
                Takes::Always => {
                    taken(apart(fits), true);
                    other.into_iter().for_each(|other| taken(apart(other), false));
                    taken(format!("{name} {option}"), false);
                }
                Takes::Maybe => taken(format!("{name} {option}{operand}"), true),
                Takes::Glued => taken(format!("{name} {option}"), false),
            }
            seen += 1;
        }
    }
    assert!(seen > 200, "{seen}");
}

/// Neither a letter that is not listed nor the beginning of a name.
#[test]
fn no_other_option_is_taken() {
    let takes_any =
        |program: &&Program| matches!(program.operands, Operands::Words | Operands::Format);
    for program in entries().filter(|program| !takes_any(program)) {
        let (name, operand) = (called(program), operand(program));
        let longs = || {
            let values = program.long_values.iter().map(|(long, ..)| *long);
            program.long.iter().copied().chain(values)
        };
        let known = |part: &str| {
            // Every program has these two.
            longs().chain(["help", "version"]).any(|long| long == part)
        };
        let parts = longs().flat_map(|long| (1..long.len()).filter_map(move |end| long.get(..end)));
        let shortened = parts.filter(|part| !known(part)).map(|part| format!("--{part}"));
        let letters = ('a'..='z').chain('A'..='Z').filter(|letter| {
            let mut values = program.short_values.iter();
            !program.short.contains(*letter) && values.all(|(known, ..)| known != letter)
        });
        for option in shortened.chain(letters.map(|letter| format!("-{letter}"))) {
            let text = format!("{name} {option}{operand}");
            assert!(!is_harmless(&text), "{text}: {:?}", steps(&text));
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
