//! Text made to exhaust the stack or the clock.

use crate::samples::is_harmless;
use ostler_policy::script::Opaque;
use ostler_shell::{parse, steps};
use std::time::{Duration, Instant};

const LEVELS: usize = 100_000;
/// Far above what is needed on a busy machine, far below a hang.
const PATIENCE: Duration = Duration::from_secs(60);

const OPENERS: &[(&str, &str)] = &[
    ("(", ")"),
    ("( ", " )"),
    ("((", "))"),
    ("{ ", "; }"),
    ("$(", ")"),
    ("$((", "))"),
    ("${a:-", "}"),
    ("${a[", "]}"),
    ("$[", "]"),
    ("\"$(", ")\""),
    ("\"", "\""),
    ("`", "`"),
    ("'", "'"),
    ("$'", "'"),
    ("<(", ")"),
    ("cat <(", ")"),
    ("! ", ""),
    ("if ", "; then ls; fi"),
    ("if ls; then ", "; fi"),
    ("while ", "; do ls; done"),
    ("for i in a; do ", "; done"),
    ("case a in a) ", ";; esac"),
    ("case a in (a) ", " ; esac"),
    ("f() { ", "; }"),
    ("function f { ", "; }"),
    ("function f() ( ", " )"),
    ("coproc ", ""),
    ("time ", ""),
    ("[[ ( ", " ) ]]"),
    ("[[ ! ", " ]]"),
    ("[[ a && ", " ]]"),
    ("x[", "]"),
    ("x[${a[", "]}]=1"),
    ("x=(", ")"),
    ("a[x[y[", "]]]=1 "),
    ("cat <<E\n", "\nE\n"),
    ("{a,", "}"),
    ("\\", ""),
    ("1>", ""),
    ("&&", ""),
    ("a=", ""),
];

fn timed(text: &str) {
    let start = Instant::now();
    let commands = steps(text);
    assert!(
        start.elapsed() < PATIENCE,
        "{:?} took {:?}",
        &text[..text.len().min(60)],
        start.elapsed()
    );
    drop(commands);
}

#[test]
fn nesting_of_any_depth_is_survived() {
    for (open, close) in OPENERS {
        for levels in [5, 12, 16, 17, 24, 200, 511, 3_000, LEVELS] {
            timed(&format!("{}ls{}", open.repeat(levels), close.repeat(levels)));
            timed(&open.repeat(levels));
            timed(&format!("{}ls;ls;ls{}", open.repeat(levels), close.repeat(levels)));
        }
    }
}

#[test]
fn mixed_nesting_is_survived() {
    for (open, close) in OPENERS {
        for (inner, end) in OPENERS {
            for levels in [3, 8] {
                timed(&format!(
                    "{}ls{}",
                    format!("{open}{inner}").repeat(levels),
                    format!("{end}{close}").repeat(levels)
                ));
            }
        }
    }
}

#[test]
fn a_small_stack_is_enough() {
    let run = || {
        for (open, close) in OPENERS {
            for levels in [1, 4, 8, 12, 16, 17, 30, 100, 300] {
                timed(&format!("{}ls{}", open.repeat(levels), close.repeat(levels)));
            }
        }
    };
    std::thread::Builder::new().stack_size(768 * 1024).spawn(run).unwrap().join().unwrap();
}

#[test]
fn length_is_bounded() {
    let long = |chars: usize| format!("ls {}", "a".repeat(chars - 3));
    assert!(is_harmless(&long(10_000)));
    assert!(!is_harmless(&long(10_001)));
    assert!(parse(&long(10_001)).is_ok());
    assert!(parse(&long(256 * 1024)).is_ok());
    assert!(matches!(parse(&long(256 * 1024 + 1)), Err(Opaque::TooLong { .. })));
    for piece in
        ["ls a b c; ", "ls && ", "ls | ", "a ", "x=1 ", "<f ", "'a' ", "case ", "( ", "a\n"]
    {
        timed(&piece.repeat(256 * 1024 / piece.len()));
    }
}

#[test]
fn ordinary_nesting_is_read() {
    for (text, levels) in
        [("{ ls; }", 20), ("if ls; then pwd; fi", 20), ("cat $(ls)", 20), ("f() { ls; }", 20)]
    {
        let mut nested = text.to_owned();
        for _ in 1..levels {
            nested = nested.replace("ls", text);
        }
        assert!(parse(&nested).is_ok(), "{nested}: {:?}", parse(&nested));
    }
    assert_eq!(
        parse(&format!("{}ls{}", "{ ".repeat(101), "; }".repeat(101))),
        Err(Opaque::TooDeep)
    );
}

#[test]
fn a_here_document_without_an_end_ends() {
    for tag in [
        "\"\"", "''", "\"\"''", "", "\\\n\"\"", " \t''", "#x", ";", "$''", "\\", "\\\n", "E$[ x",
        "E$(", "E${", "E`x`",
    ] {
        for sign in ["<<", "<<-", "<<<<<", "\\<<<"] {
            for rest in ["", "\n", " x", "\n\n", "\nx\n", " $y", " $y\n\n"] {
                timed(&format!("cat {sign}{tag}{rest}"));
                timed(&format!("cat $({sign}{tag}{rest})"));
                timed(&format!("cat ${{x:-{sign}{tag}{rest}}}"));
            }
        }
    }
}

#[test]
fn the_parser_is_kept_from_panicking() {
    for text in [
        "ls 99999999999>x",
        "ls 2147483648>&1",
        "ls 00000000000000000001>x",
        "~99999999999999999999",
        "a{1..99999999999999999999}",
        "((é<<-'E'\n\tE\n99999999999<[\t",
    ] {
        assert!(!is_harmless(text), "{text}");
    }
}
