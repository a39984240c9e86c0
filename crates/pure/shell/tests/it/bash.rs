//! Our reading against the only judge that counts.

use crate::feed::fed;
use crate::properties::PIECES;
use crate::samples::{commands, is_harmless};
use ostler_policy::Position;
use ostler_policy::script::{PipelineStage, Word};
use ostler_shell::{parse, steps};
use proptest::prelude::*;
use proptest::sample::select;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

fn folder(name: &str) -> PathBuf {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::remove_dir_all(&dir).ok();
    std::fs::create_dir_all(&dir).unwrap();
    dir
}

/// Runs `script` in an empty directory with nothing on its `PATH`, and feeds it the texts, each ended by NUL.
fn bash(dir: &Path, script: &str, texts: &[String]) -> Vec<String> {
    let mut command = Command::new("/bin/bash");
    command.args(["--norc", "--noprofile", "-c", script]).current_dir(dir).env_clear();
    command.env("PATH", "/nonexistent").env("LC_ALL", "C.UTF-8").stderr(Stdio::null());
    let text = String::from_utf8(fed(&mut command, texts)).unwrap();
    text.split_terminator('\0').map(str::to_owned).collect()
}

/// A word in pieces, each quoted in its own way.
fn written_word() -> impl Strategy<Value = String> {
    let bare = "[a-zA-Z0-9_./:=+@%^,-]{1,5}|[a-z]~[a-z]|[a-z]#[a-z]|a!|HEAD@\\{1\\}|x\\]";
    let single = "[ -&(-~\n\t]{0,6}".prop_map(|text| format!("'{text}'"));
    let double = "([ !#%-\\[\\]-_a-~\n]|\\\\[\\\\$`\"]|\\\\[a-z]|\\\\\n){0,6}"
        .prop_map(|text| format!("\"{text}\""));
    let ansi =
        "([ -&(-\\[\\]-~]|\\\\[\\\\'\"abefnrtvq?]|\\\\x4[1-9]|\\\\10[1-7]|\\\\u004[1-9]){0,6}"
            .prop_map(|text| format!("$'{text}'"));
    let escaped = "\\\\[ -~]|\\\\\n".prop_map(|text: String| text);
    let dollar = select(&[
        "\"a$\"",
        "\"$ \"",
        "\"x$|y\"",
        "\"$'a'\"",
        "\\$'a'",
        "$\"b\"",
        "\\\\$'\\''",
        "''",
        "\"\"",
    ])
    .prop_map(str::to_owned);
    let piece =
        prop_oneof![4 => bare, 2 => single, 2 => double, 2 => ansi, 2 => escaped, 1 => dollar];
    prop::collection::vec(piece, 1..4).prop_map(|pieces| pieces.concat())
}

#[test]
fn words_are_split_and_unquoted_as_bash_does() {
    let gap = select(&[" ", "  ", "\t", " \\\n", "\\\n "]);
    let line = prop::collection::vec((gap, written_word()), 1..5).prop_map(|words| {
        words.into_iter().map(|(gap, word)| format!("{gap}{word}")).collect::<String>()
    });
    let mut runner = TestRunner::deterministic();
    let mut lines = Vec::new();
    let mut expected = Vec::new();
    for _ in 0..3_000 {
        let line = line.new_tree(&mut runner).unwrap().current();
        // What is not a literal, or opaque, claims nothing.
        let Ok(script) = parse(&format!("set --{line}")) else { continue };
        let [command] = commands(&script)[..] else { continue };
        let words: Option<Vec<&str>> = command.words.iter().skip(2).map(Word::literal).collect();
        if let Some(words) = words {
            expected.push(words.into_iter().map(str::to_owned).collect::<Vec<_>>());
            lines.push(line);
        }
    }
    assert!(lines.len() > 1_000, "only {} lines were literal", lines.len());

    let script =
        r#"while IFS= read -r -d '' line; do eval "set --$line"; printf '%s\0' "$#" "$@"; done"#;
    let mut printed = bash(&folder("bash-words"), script, &lines).into_iter();
    for (line, words) in lines.iter().zip(expected) {
        let count = printed.next().unwrap_or_default();
        let seen: Vec<String> = printed.by_ref().take(count.parse().unwrap_or(0)).collect();
        assert_eq!(seen, words, "{line:?}");
    }
}

/// Stand-ins write down what is called with which words, and nothing else can run.
const RECORDER: &str = r#"
exec 8<&0 9>&1
note() { builtin printf '%s\0' "$#" "$@" >&9; }
for name in echo printf pwd true false seq sleep ls cat head tail wc grep rg sort uniq cut tr stat du which date basename dirname git; do
  builtin eval "$name() { note $name \"\$@\"; }"
done
command_not_found_handle() { note UNKNOWN "$@"; }
while IFS= builtin read -r -d '' text <&8; do
  ( builtin eval "$text" ) </dev/null >/dev/null 2>&1
  builtin printf 'end\0' >&9
done
"#;

/// Fragments that make harmless commands likely, among those that make them go wrong.
const LIKELY: &[&str] = &[
    "ls",
    "ls -l",
    "cat a",
    "echo 'x y'",
    "echo \"a\\\"b\"",
    "git status",
    "pwd",
    "ls\\ x",
    "; ",
    " && ",
    " || ",
    " | ",
    "\n",
    " ",
    " ",
    " 2>&1",
    " >/dev/null",
    " # c",
    "\\\n",
    "( ls )",
    "{ pwd; }",
    "! ",
    "'",
    "\"",
    "\\",
    "$'\\''",
    "\\$'",
    "$",
    "evil",
    "; evil",
    "#",
    "<<'E'\nevil\nE\n",
    "<<E",
    "\nE\n",
    " <<<a",
    "<<-'E'\n\tE\n",
    "}",
    "{",
    "(",
    ")",
    "&",
    "=",
    "x=1 ",
    "2",
    ">&2",
    "!",
    "$''",
    "''",
    "\"\"",
    "\t",
    "a#b",
    "-",
    "$\"\"",
];

fn recorded(printed: Vec<String>) -> Vec<Vec<Vec<String>>> {
    let mut runs = vec![];
    let mut calls = vec![];
    let mut printed = printed.into_iter();
    while let Some(first) = printed.next() {
        match first.parse::<usize>() {
            Ok(count) => calls.push(printed.by_ref().take(count).collect()),
            Err(_) => runs.push(std::mem::take(&mut calls)),
        }
    }
    runs
}

/// It may still run when its shell has ended, and then be written down too late.
fn is_left_running(text: &str) -> bool {
    let apart = |position| matches!(position, Position::Background);
    text.contains("<(")
        || text.contains(">(")
        || steps(text).steps.iter().any(|step| apart(step.position))
}

#[test]
fn what_only_reads_is_what_bash_runs() {
    let mut runner = TestRunner::deterministic();
    let likely = prop::collection::vec(select(LIKELY), 1..9).prop_map(|pieces| pieces.concat());
    let mixed = (
        select(LIKELY),
        prop::collection::vec(prop_oneof![3 => select(LIKELY), 2 => select(PIECES)], 1..9),
    )
        .prop_map(|(first, rest)| format!("{first}{}", rest.concat()));
    let strategy = prop_oneof![2 => likely, 1 => mixed];
    let mut texts: Vec<String> = Vec::new();
    for _ in 0..12_000 {
        let text = strategy.new_tree(&mut runner).unwrap().current();
        if is_harmless(&text) && !is_left_running(&text) {
            texts.push(text);
        }
    }
    assert!(texts.len() > 500, "only {} texts only read", texts.len());

    let dir = folder("bash-runs");
    let runs = recorded(bash(&dir, RECORDER, &texts));
    assert_eq!(runs.len(), texts.len());
    let mut called = 0;
    for (text, calls) in texts.iter().zip(runs) {
        let known = steps(text).steps;
        let open = known.iter().any(|step| step.words.iter().any(|word| word.literal().is_none()));
        let mut predicted: Vec<Vec<&str>> = known
            .iter()
            .map(|step| step.words.iter().filter_map(Word::literal).collect())
            .collect();
        called += calls.len();
        for call in calls {
            assert_ne!(call[0], "UNKNOWN", "{text:?} runs {call:?}");
            let at = predicted.iter().position(|words| *words == call);
            assert!(at.is_some() || open, "{text:?} runs {call:?}, predicted {predicted:?}");
            at.map(|at| predicted.remove(at));
        }
    }
    assert!(called > texts.len() / 2, "bash ran only {called} commands");
    let left: Vec<_> =
        std::fs::read_dir(&dir).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert!(left.is_empty(), "files were made: {left:?}");
}

#[test]
fn the_recorder_sees_what_it_must() {
    let texts = ["ls a; evil 'b c'", "echo >made"].map(str::to_owned);
    let dir = folder("bash-recorder");
    let runs = recorded(bash(&dir, RECORDER, &texts));
    assert_eq!(runs[0], [vec!["ls", "a"], vec!["UNKNOWN", "evil", "b c"]]);
    assert!(dir.join("made").exists());
}

/// Texts on which a reader that is nearly right would see one harmless command, and bash sees another.
#[test]
fn near_misses() {
    let texts = [
        "echo \\$'\\' ; evil #'",
        "echo $$'\\' ; evil #'",
        "ls $'\\'' ; evil #'",
        "echo \"${x:-'}\" ; evil; echo \"'}\"",
        "echo @(')') ; evil #')",
        "ls \\\n; evil",
        "ls\\\n\\\n; evil",
        "ls # \\\nevil",
        "ls a#\\\n; evil",
        "cat <<'E'\nE \nE\nevil",
        "cat <<-'E'\n\tE\nevil",
        "cat <<E'F'\nEF\nevil",
        "cat <<'E' <<F\nE\n$(evil)\nF",
        "echo 'a'\\'';evil;'b'",
        "ls;#\nevil",
        "{ ls; } && { evil; }",
        "ls $\n(evil)",
        "ls $\\\n(evil)",
        "echo \"$\\\n(evil)\"",
        "( ( evil ) )",
        "ls &\\\n& evil",
        "ls <\\\n(evil)",
        "ls x=(evil)",
        "ls () { evil; }",
        "! evil",
        "ls |& evil",
        "ls\n\n\nevil",
        "ls 2>&1|evil",
        "echo \"a\nb\" <<'E'\nE\nevil",
        "echo `evil`",
        "echo \"\\\\\"; evil; \"\"",
        "[[ 'a[$(evil)]' -eq 0 ]]",
        "printf '%n' 'a[$(evil)]'",
        "printf -v 'a[$(evil)]' x",
        "echo {fd}>x",
        "{fd}>x ls",
    ];
    for text in texts {
        assert!(!is_harmless(text), "{text:?}");
    }
    assert!(is_harmless("echo a{,\";evil\"}"), "words, and no command");
    let stages = |text: &str| {
        parse(text).unwrap().items[0]
            .first
            .stages
            .iter()
            .map(|s| matches!(s, PipelineStage::Simple(_)))
            .collect::<Vec<_>>()
    };
    assert_eq!(stages("ls | (pwd) | wc"), [true, false, true]);
}
