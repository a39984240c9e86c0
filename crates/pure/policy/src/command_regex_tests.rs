//! Expressions as tables, and the quick look at their beginnings against the whole expression.

use super::*;
use proptest::prelude::*;

fn step(line: &str) -> Step {
    let words = line.split(' ').map(|word| Word::Literal(word.replace('_', " "))).collect();
    Step { words, ..Step::default() }
}

#[test]
fn regexes_speak_from_the_program_on_and_of_whole_words() {
    let table: &[(&str, &[&str], &[&str])] = &[
        ("sudo", &["sudo", "sudo id"], &["echo sudo", "sudoedit x", "visudo", "pseudo"]),
        ("rm -rf /", &["rm -rf /", "rm -rf / x"], &["rm -rf /tmp", "grep rm_-rf_/"]),
        ("^ls( |$|-)", &["ls", "ls -la"], &["ls-files.sh --delete", "lsx"]),
        (
            "^git (status|log)",
            &["git status", "git log -1"],
            &["git log-evil", "git statusfoo", "git show"],
        ),
        ("curl.*\\| *sh", &[], &["curl https://x/?q=a|sh"]),
        ("a.c", &["a\nc"], &[]),
    ];
    for (text, hits, misses) in table {
        let regex = CommandRegex::new(text).unwrap();
        for line in *hits {
            assert!(regex.matches(&step(line)), "{text} should match {line}");
        }
        for line in *misses {
            assert!(!regex.matches(&step(line)), "{text} should not match {line}");
        }
    }
}

#[test]
fn regexes_over_pipelines() {
    let regex = CommandRegex::new("curl.*\\| *sh|wget.*\\| *sh").unwrap();
    let meets = |lines: &[&str]| {
        let steps: Vec<Step> = lines.iter().map(|line| step(line)).collect();
        regex.matches_pipe(&steps.iter().collect::<Vec<_>>())
    };
    assert!(
        meets(&["curl x", "sh"])
            && meets(&["curl x", "cat", "sh -e"])
            && meets(&["ls", "wget x", "sh"])
    );
    assert!(
        !meets(&["curl x", "shasum -a 256"])
            && !meets(&["curl x|sh", "head"])
            && !meets(&["echo curl", "sh"])
    );
    // An expression that does not speak of pipelines is about single commands.
    assert!(!CommandRegex::new("curl.*").unwrap().matches_pipe(&[&step("curl x"), &step("sh")]));
}

#[test]
fn literal_beginnings() {
    let begin = |pattern: &str| {
        let shown = |b: &Beginning| format!("{}{}", if b.anchored { "^" } else { "" }, b.text);
        beginnings(pattern).map(|all| all.iter().map(shown).collect::<Vec<_>>().join(" or "))
    };
    let table = [
        ("sudo", Some("sudo")),
        ("^rm ", Some("^rm ")),
        ("^git (status|log)", Some("^git ")),
        ("curl.*\\| *sh|wget.*\\| *sh", Some("curl or wget")),
        ("\\.env", Some(".env")),
        ("ab*c", Some("a")),
        ("ab+c", Some("ab")),
        ("ab+??c", Some("a")),
        ("ab+{0,1}c", Some("a")),
        ("a[|]b|c", Some("a or c")),
        ("(a|b)c", Some("")),
        ("a\\d", Some("a")),
        ("(?i)a", None),
        ("a$|^b", Some("a or ^b")),
    ];
    for (pattern, expected) in table {
        assert_eq!(begin(pattern).as_deref(), expected, "{pattern}");
    }
}

proptest! {
    /// What the quick look rules out, the expression itself does not match either.
    #[test]
    fn the_quick_look_rules_out_nothing_that_matches(
        pattern in "\\^?[ab.*+?()|\\[\\]^$\\\\ {}1-]{1,8}",
        text in "[ab. |*{}1-]{0,8}",
    ) {
        let Ok(regex) = CommandRegex::new(&pattern) else { return Ok(()) };
        let plain = |made: &str| build(made).is_ok_and(|made| made.is_match(&text));
        if plain(&pattern) {
            prop_assert!(regex.mentions_text(&text), "{pattern} {text}");
        }
        if plain(&format!(r"\A(?:{pattern})(?: |\z)")) {
            prop_assert!(regex.matches_word(&text), "{pattern} {text}");
        }
    }
}

/// A file is what it leads to: `notes.md` may be a link to `.env`.
#[test]
fn an_ask_pattern_follows_links() {
    use crate::{Act, PathScope, Step, Touch, TouchKind};
    let regex = CommandRegex::new(r"\.env").unwrap();
    let step = |kind: TouchKind, leads: &str| Step {
        words: vec![Word::Literal("cat".into()), Word::Literal("notes.md".into())],
        place: Some("/home/u/.envs/ws".into()),
        touches: vec![Touch {
            scopes: Some(vec![PathScope::File(leads.into())]),
            ..Touch::new(Act::Read, "notes.md", kind)
        }],
        ..Step::default()
    };
    assert!(regex.mentions(&step(TouchKind::File, "/home/u/.envs/ws/.env")));
    assert!(regex.mentions(&step(TouchKind::Glob, "/home/u/.envs/ws/a/.env.local")));
    assert!(regex.mentions(&step(TouchKind::File, "/srv/.env")));
    // Not because of where the workspace lies, nor where only names are shown.
    assert!(!regex.mentions(&step(TouchKind::File, "/home/u/.envs/ws/notes.md")));
    assert!(!regex.mentions(&step(TouchKind::Names, "/home/u/.envs/ws/.env")));
}
