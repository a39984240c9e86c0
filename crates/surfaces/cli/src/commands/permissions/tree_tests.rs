//! Trees of commands made by hand.

use super::*;
use ostler::{Caution, TouchKind};

fn step(words: &[&str], inside: Option<usize>, effect: Effect) -> Step {
    Step {
        words: words.iter().map(|word| Word::Literal((*word).to_owned())).collect(),
        inside,
        folder: Some(Vec::new()),
        effect,
        ..Step::default()
    }
}

#[test]
fn wrapped_commands_stand_inside_what_starts_them() {
    let timeout =
        Step { transparent: true, ..step(&["timeout", "5", "cat", "a b"], None, Effect::Nothing) };
    let mut cat = step(&["cat", "a b"], Some(0), Effect::Reads);
    cat.position = Position::Wrapped;
    let mut read = Touch::new(Act::Read, "a b", TouchKind::File);
    read.scopes = Some(vec![PathScope::File("/ws/a b".into())]);
    cat.touches = vec![read, Touch::new(Act::Redirect, "~x/y", TouchKind::File)];
    let mut curl = step(&["curl", ""], Some(1), Effect::Unknown("no table knows it".into()));
    curl.position = Position::Substitution;
    curl.folder = Some(vec!["src".into(), "..".into()]);
    curl.hosts = vec!["*".into(), "docs.rs".into()];
    curl.variables = vec!["PATH".into()];
    curl.cautions = vec![Caution::new("-K reads options", None)];
    let commands = Commands { steps: vec![timeout, cat, curl], ..Commands::default() };
    let expected = "  timeout 5 cat 'a b'
      only starts the commands inside
    cat 'a b'  (started by the command above)
        only reads
        reads a b → /ws/a b
        is redirected to ~x/y (where this leads is not known)
      curl ''  (in a substitution)
          may do anything: no table knows it
          in the directory src, then ..
          contacts any host
          contacts docs.rs
          sets PATH
          caution: -K reads options";
    assert_eq!(lines(&commands, Paint::none()).join("\n"), expected);
}

#[test]
fn a_tree_is_bounded_whatever_it_says() {
    let own = |n: usize| step(&["x"], Some(n), Effect::Nothing);
    let commands = Commands { steps: (0..900).map(own).collect(), ..Commands::default() };
    let shown = lines(&commands, Paint::none());
    assert_eq!(shown.last().map(String::as_str), Some("  and 700 more commands"));
    let chain = |n: usize| step(&["x"], n.checked_sub(1), Effect::Nothing);
    let commands = Commands { steps: (0..100).map(chain).collect(), ..Commands::default() };
    let widest = lines(&commands, Paint::none()).iter().map(String::len).max().unwrap();
    assert!(widest < 100, "{widest}");
}

#[test]
fn nothing_of_it_is_obeyed() {
    let evil = "a\u{1b}[2J\nb";
    let mut one = step(&[evil], None, Effect::Unknown(evil.into()));
    one.words.push(Word::Glob(evil.into()));
    one.touches = vec![Touch::new(Act::Read, evil, TouchKind::File)];
    one.hosts = vec![evil.into()];
    one.variables = vec![evil.into()];
    one.cautions = vec![Caution::new(evil, None)];
    one.folder = Some(vec![evil.into()]);
    let commands = Commands { steps: vec![one], ..Commands::default() };
    for line in lines(&commands, Paint::none()) {
        assert!(!line.contains(['\u{1b}', '\n']), "{line:?}");
    }
}
