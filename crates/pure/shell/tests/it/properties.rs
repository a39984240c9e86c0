//! What applies to every text, however its parts are joined and spelled.

use crate::samples::{HARMLESS, UNPROVED, is_harmless, only_reads};
use ostler_policy::{Commands, Step};
use ostler_shell::{parse, steps};
use proptest::prelude::*;
use proptest::sample::select;
use proptest::strategy::ValueTree;

#[test]
fn the_samples_are_what_they_say() {
    for text in HARMLESS {
        assert!(is_harmless(text), "{text}: {:?}", steps(text));
    }
    for text in UNPROVED {
        assert!(!is_harmless(text), "{text}");
    }
}

const JOINS: &[&str] =
    &[";", " ; ", "&&", " || ", "|", " |& ", "\n", "\n\n", " \\\n&& ", " & ", "; ! ", " |\n"];

/// Both in one script, joined and wrapped in some way.
fn joined(first: &str, second: &str, join: &str, wrap: usize) -> String {
    // A here-document ends with its line.
    let gap = if first.contains("<<") { "\n" } else { "" };
    let text = format!("{first}{gap}{join}{second}\n");
    match wrap {
        0 => text,
        1 => format!("( {text} )"),
        2 => format!("{{ {text}\n}}"),
        3 => format!("ls\n{text}"),
        4 => format!("{{ ( {text} )\n}} 2>/dev/null"),
        5 => format!("pwd # quiet\n{text}"),
        _ => format!("echo \"$(\n{text})\""),
    }
}

/// Words as a shell would take them in many spellings.
fn spelled(word: &str, style: usize) -> String {
    let single = word.replace('\'', "'\\''");
    match style {
        0 => format!("'{single}'"),
        1 => format!(
            "\"{}\"",
            word.replace('\\', "\\\\").replace('"', "\\\"").replace('$', "\\$").replace('`', "\\`")
        ),
        2 => word.chars().flat_map(|c| ['\\', c]).collect(),
        3 => format!("$'{}'", word.bytes().map(|b| format!("\\x{b:02x}")).collect::<String>()),
        4 => format!("''{single:?}").replace(&format!("{single:?}"), &format!("'{single}'")),
        5 => {
            let mut chars = word.chars();
            let first = chars.next().map_or(String::new(), |c| format!("\\{c}"));
            format!("{first}\"\"'{}'", chars.as_str().replace('\'', "'\\''"))
        }
        _ => format!("'{single}'\\\n"),
    }
}

const COMMANDS: &[(&[&str], bool)] = &[
    (&["ls", "-la", "src"], true),
    (&["grep", "-rn", "a b", "."], true),
    (&["grep", "-e", "x;y|z", "--", "-f"], true),
    (&["cat", ".env", "it's", "$HOME", "`x`", "*"], true),
    (&["git", "log", "--format=%h %s", "-n", "5"], true),
    (&["sort", "-t", ":", "-k1,1", "f"], true),
    (&["head", "-20", "f"], true),
    (&["printf", "%s\\n", "a", "-v"], true),
    (&["echo", "~", "{a,b}", "\\"], true),
    (&["sort", "-o", "f", "f"], false),
    (&["git", "diff", "--output=x"], false),
    (&["git", "-c", "a=b", "status"], false),
    (&["printf", "-v", "x", "y"], false),
    (&["rm", "x"], false),
    (&["tail", "-f", "x"], false),
    (&["uniq", "a", "b"], false),
    (&["rg", "--pre=./x", "y"], false),
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn one_bad_part_spoils_all(
        good in select(HARMLESS), bad in select(UNPROVED), join in select(JOINS), wrap in 0_usize..7, swap: bool,
    ) {
        let (first, second) = if swap { (bad, good) } else { (good, bad) };
        let text = joined(first, second, join, wrap);
        prop_assert!(!is_harmless(&text), "{text}");
    }

    #[test]
    fn good_parts_stay_good(first in select(HARMLESS), second in select(HARMLESS), join in 0_usize..5, wrap in 0_usize..6) {
        // `!` may not follow a pipe, and two opening parentheses are arithmetic.
        prop_assume!(!(wrap == 1 || wrap == 4) || !first.starts_with('('));
        let text = joined(first, second, JOINS[join], wrap);
        let pipe_then_bang = JOINS[join] == "|" && second.starts_with('!');
        prop_assert_eq!(is_harmless(&text), !pipe_then_bang, "{}", text);
    }

    #[test]
    fn spelling_does_not_matter(
        command in select(COMMANDS), styles in prop::collection::vec(0_usize..7, 10), gaps in prop::collection::vec(0_usize..5, 10),
    ) {
        let (words, harmless) = command;
        let plain: Vec<String> = words.iter().map(|word| spelled(word, 0)).collect();
        let expected = steps(&plain.join(" "));
        prop_assert_eq!(only_reads(&expected), harmless, "{:?}", words);
        let mut text = String::new();
        for ((word, style), gap) in words.iter().zip(&styles).zip(&gaps) {
            text.push_str([" ", "\t", "   ", " \\\n", " \t "][*gap]);
            text.push_str(&spelled(word, *style));
        }
        prop_assert_eq!(judged(steps(&text)), judged(expected), "{}", text);
    }

    #[test]
    fn any_text_gets_an_answer(text in ".*") {
        check(&text);
    }
}

/// All but the text.
fn judged(commands: Commands) -> (Vec<Step>, Vec<String>) {
    (commands.steps, commands.doubts)
}

/// What must hold for every text at all.
fn check(text: &str) {
    if is_harmless(text) {
        let script = parse(text).expect("what does not parse is never harmless");
        assert!(!script.items.is_empty(), "no command was found in {text:?}");
        assert!(!text.contains(['\0', '\r']), "{text:?}");
    }
}

/// Pieces that meet each other badly.
pub const PIECES: &[&str] = &[
    " ",
    " ",
    " ",
    "ls",
    "cat",
    "echo",
    "git",
    "status",
    "log",
    "evil",
    "a",
    "-l",
    "'",
    "'",
    "\"",
    "\"",
    "\\",
    "$",
    "$'",
    "$\"",
    "${",
    "$(",
    "$((",
    "`",
    "(",
    ")",
    "((",
    "))",
    "{",
    "}",
    "[",
    "]",
    "[[",
    "]]",
    ";",
    ";;",
    "&",
    "&&",
    "|",
    "||",
    "|&",
    "\n",
    "\n",
    "#",
    "!",
    "=",
    "~",
    "*",
    "?",
    ",",
    "..",
    "<",
    ">",
    ">>",
    "<<",
    "<<-",
    "<<<",
    "<(",
    ">&",
    "&>",
    "2>&1",
    ">/dev/null",
    "2>/dev/null",
    "< f",
    "<<'E'",
    "E",
    "\nE\n",
    "\\\n",
    "if",
    "then",
    "fi",
    "for",
    "in",
    "do",
    "done",
    "case",
    "esac",
    "while",
    "function",
    "coproc",
    "time",
    "x=",
    "x[",
    "1",
    "99999999999",
    "\t",
    "-",
    "--",
    "é",
    "\u{1F600}",
    "\0",
    "\r",
    "%n",
    "printf",
    "\"\"",
    "''",
    "<<\"\"",
    "<<-''",
    "\\<<<",
];

#[test]
fn many_random_texts() {
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let strategy = prop::collection::vec(select(PIECES), 1..24);
    for _ in 0..20_000 {
        let text = strategy.new_tree(&mut runner).unwrap().current().concat();
        check(&text);
    }
}
