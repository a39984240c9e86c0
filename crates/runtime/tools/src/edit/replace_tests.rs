use super::*;
use proptest::prelude::*;

fn run(content: &str, old: &str, new: &str, all: bool) -> Result<String, NoEdit> {
    replace(content.as_bytes(), &Replacement { old, new, all })
        .map(|edited| String::from_utf8(edited.bytes).unwrap())
}

#[test]
fn replacements() {
    for (content, old, new, all, expected) in [
        ("a b c", "b", "x", false, "a x c"),
        ("a b a", "a", "x", true, "x b x"),
        ("a b", "b", "", false, "a "),
        ("aaaa", "aa", "b", true, "bb"),
        ("grüße", "ü", "ue", false, "grueße"),
        ("no newline", "newline", "end", false, "no end"),
        ("\u{feff}first\n", "first", "1", false, "\u{feff}1\n"),
        // Line ends are the file's.
        ("a\r\nz\r\n", "a", "b", false, "b\r\nz\r\n"),
        ("a\r\nb\r\nc\r\n", "a\nb", "x\ny", false, "x\r\ny\r\nc\r\n"),
        ("a\r\nb\r\nc\r\n", "a\r\nb", "x\ny", false, "x\r\ny\r\nc\r\n"),
        ("a\r\nb\r\n", "a\n", "", false, "b\r\n"),
        ("a\r\nb\r\n", "\nb", "!", false, "a!\r\n"),
        ("a\r\nb\r\n", "b", "b\nc", false, "a\r\nb\r\nc\r\n"),
        ("a\r\n\r\nb", "\n\n", "\n", false, "a\r\nb"),
        ("a\nb\n", "a\nb", "x\r\ny", false, "x\r\ny\n"),
        // Mixed: what is not replaced stays, what is new is as most lines are.
        ("a\r\nb\nc\nd\n", "a\nb", "x\ny", false, "x\ny\nc\nd\n"),
        ("a\nb\r\nc\r\nd\r\n", "a\nb\n", "x\ny\n", false, "x\r\ny\r\nc\r\nd\r\n"),
    ] {
        assert_eq!(
            run(content, old, new, all).as_deref(),
            Ok(expected),
            "{content:?} {old:?} {new:?}"
        );
    }
}

#[test]
fn refusals() {
    assert_eq!(run("abc", "x", "y", false), Err(NoEdit::NotFound));
    assert_eq!(run("a\nb\na\n", "a", "x", false), Err(NoEdit::Ambiguous(vec![1, 3])));
    // One with and one without carriage return are the same text.
    assert_eq!(run("a\nb\r\na\r\nb\r\n", "a\nb", "x", false), Err(NoEdit::Ambiguous(vec![1, 3])));
    assert_eq!(run("a\nb", "a\r\nb", "x", false), Err(NoEdit::NotFound));
}

#[test]
fn bytes_that_are_no_text_stay() {
    let wanted = Replacement { old: "b", new: "x", all: false };
    assert_eq!(replace(b"\xff\xfe a\0b\xff", &wanted).unwrap().bytes, b"\xff\xfe a\0x\xff");
}

#[test]
fn reasons() {
    for (content, old, expected) in [
        ("fn a() {\n    b();\n}\n", "fn a() {\n\tb();\n}", "at line 1"),
        ("x\n\n  y\n", "y ", "at line 3"),
        ("one\ntwo\n", "1\tone\n2\ttwo", "line numbers"),
        ("one\n", "three", "Read the file again"),
        ("one\n", "\n\n\n", "Read the file again"),
    ] {
        let reason = reason(content.as_bytes(), old);
        assert!(reason.contains(expected), "{content:?} {old:?}: {reason}");
    }
}

proptest! {
    #[test]
    fn only_the_places_change(content in "[ab\r\n]{0,40}", old in "[ab\n]{1,4}", new in "[xy\n]{0,4}") {
        if let Ok(edited) = replace(content.as_bytes(), &Replacement { old: &old, new: &new, all: true }) {
            // What stands outside the places is the same in both.
            let mut outside = Vec::new();
            let mut at = 0;
            for place in &edited.places {
                prop_assert!(place.start >= at && place.end <= content.len());
                let text = content[place.clone()].replace("\r\n", "\n");
                prop_assert_eq!(&text, &old);
                outside.push(&content[at..place.start]);
                at = place.end;
            }
            outside.push(&content[at..]);
            let mut rest = std::str::from_utf8(&edited.bytes).unwrap();
            for (i, part) in outside.iter().enumerate() {
                let found = if i == 0 { rest.starts_with(part).then_some(0) } else { rest.find(part) };
                prop_assert!(found.is_some());
                rest = &rest[found.unwrap() + part.len()..];
            }
        }
    }

    #[test]
    fn no_text_makes_it_panic(content in proptest::collection::vec(any::<u8>(), 0..60), old in "\\PC{0,5}") {
        let _ = replace(&content, &Replacement { old: &old, new: "", all: true });
        let _ = reason(&content, &old);
    }
}
