use super::*;
use crate::Workspace;
use crate::script::{Dynamic, Form};

fn dynamic(parts: &[&str]) -> Word {
    let part = |text: &&str| match *text {
        "$" => WordPart::Parameter {
            name: "x".into(),
            form: Form::Value,
            quoted: false,
            scripts: Vec::new(),
        },
        text => WordPart::Literal(text.to_owned()),
    };
    Word::Dynamic {
        why: Dynamic::Parameter,
        source: parts.concat(),
        parts: parts.iter().map(part).collect(),
    }
}

fn covers(policy: &Policy, first: Word) -> bool {
    let words = vec![first, Word::Literal("x".into())];
    covered(policy, &Step { words, ..Step::default() }).is_some()
}

#[test]
fn a_program_that_may_be_a_denied_one() {
    let tools = crate::test_tools::tools();
    let workspace = Workspace { tools, ..Workspace::default() };
    let rule = Rule::parse("Bash(curl:*)", &workspace).unwrap();
    let source = rule.source.clone();
    let policy = Policy { deny: vec![rule], ..Policy::default() };
    let regex = Rule::regex("Bash", "sudo", source).unwrap();
    let patterns = Policy { deny: vec![regex], ..Policy::default() };
    let glob = |text: &str| Word::Glob(text.into());
    for word in [
        dynamic(&["$"]),
        dynamic(&["c", "$", "url"]),
        dynamic(&["$", "l"]),
        dynamic(&["/usr/bin/", "$"]),
        dynamic(&["$", "/curl"]),
        glob("/usr/bin/cur?"),
        glob("/usr/bin/cu[r]l"),
        glob("c*"),
    ] {
        assert!(covers(&policy, word.clone()), "{word:?}");
    }
    for word in [
        Word::Literal("curl".into()),
        dynamic(&["w", "$"]),
        dynamic(&["$", "/wget"]),
        glob("/usr/bin/wge?"),
        glob("./cur"),
    ] {
        assert!(!covers(&policy, word.clone()), "{word:?}");
    }
    assert!(covers(&patterns, dynamic(&["s", "$", "udo"])));
    assert!(covers(&patterns, glob("/usr/bin/sud?")) && covers(&patterns, glob("s*")));
    assert!(!covers(&patterns, glob("/usr/bin/su?")) && !covers(&patterns, dynamic(&["x", "$"])));
    assert!(!covers(&Policy::default(), dynamic(&["$"])));
}
