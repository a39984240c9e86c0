use super::*;

fn entry(call: &str, before: Option<&str>, after: Option<&str>) -> Snapshot {
    Snapshot {
        call: call.into(),
        path: "/f".into(),
        before: before.map(BlobRef::new),
        mode: None,
        after: after.map(str::to_owned),
    }
}

/// What remains, newest last, as `before>after`.
fn left(entries: Vec<Snapshot>) -> Vec<String> {
    let word = |word: Option<String>| word.unwrap_or_else(|| "-".into());
    let levels = UndoLevels::new(entries).levels(Path::new("/f"));
    levels
        .into_iter()
        .map(|level| format!("{}>{}", word(level.before.map(|b| b.to_string())), word(level.after)))
        .collect()
}

#[test]
fn entries_of_one_call_are_a_change_or_steps_back() {
    let a = entry("1", None, Some("a"));
    let b = entry("2", Some("a"), Some("b"));
    let c = entry("3", Some("b"), Some("c"));
    let opening = |call: &str| entry(call, Some("c"), Some("c"));
    let changes = vec![a.clone(), b.clone(), c.clone()];
    assert_eq!(left(changes.clone()), ["->a", "a>b", "b>c"]);

    let one_back = [changes.clone(), vec![opening("4"), entry("4", Some("c"), Some("b"))]].concat();
    assert_eq!(left(one_back.clone()), ["->a", "a>b"]);

    let again = [
        one_back.clone(),
        vec![entry("5", Some("b"), Some("b")), entry("5", Some("b"), Some("a"))],
    ]
    .concat();
    assert_eq!(left(again), ["->a"]);

    let three_back = vec![
        opening("4"),
        entry("4", Some("c"), Some("b")),
        entry("4", Some("b"), Some("a")),
        entry("4", Some("a"), None),
    ];
    assert_eq!(left([changes.clone(), three_back].concat()), Vec::<String>::new());

    // A change that happens to restore the former content is a change.
    let by_hand = [changes.clone(), vec![entry("4", Some("c"), Some("b"))]].concat();
    assert_eq!(left(by_hand), ["->a", "a>b", "b>c", "c>b"]);

    // The process died after the first entry of a step back.
    let torn = [changes, vec![opening("4")]].concat();
    assert_eq!(left(torn), ["->a", "a>b", "b>c", "c>c"]);
}

#[test]
fn levels_are_bounded() {
    let entries: Vec<_> = (0..MAX_LEVELS + 5).map(|i| entry(&i.to_string(), None, None)).collect();
    assert_eq!(left(entries).len(), MAX_LEVELS);
}

fn content(text: &str) -> FileContent {
    FileContent {
        bytes: text.into(),
        mode: 0o644,
        hash: sha256(text.as_bytes()),
        stamp: Default::default(),
    }
}

/// Levels and steps as words; a blob's name is its content.
#[test]
fn plans() {
    let level = |before: Option<&str>, after: Option<&str>| UndoLevel {
        before: before.map(BlobRef::new),
        mode: None,
        after: after.map(|text| sha256(text.as_bytes())),
    };
    let three = [level(None, Some("a")), level(Some("a"), Some("b")), level(Some("b"), Some("c"))];
    let interrupted =
        [level(None, Some("a")), level(Some("a"), Some("b")), level(Some("b"), Some("never"))];
    let foreign = [level(None, Some("a")), level(Some("x"), Some("b"))];
    let cases = [
        (&three[..], Some("c"), 1, "1 step, 1 undone → b"),
        (&three[..], Some("c"), 2, "2 step, 2 undone → a"),
        (&three[..], Some("c"), 9, "3 step, 3 undone → gone"),
        // Changed since.
        (&three[..], Some("other"), 1, "0 step, 0 undone, blocked"),
        // Deleted since.
        (&three[..], None, 1, "1 step, 1 undone → b"),
        (&three[..1], None, 1, "1 step, 0 undone → gone"),
        // The last level is not on disk, and costs no step.
        (&interrupted[..], Some("b"), 1, "2 step, 1 undone → a"),
        // Somebody wrote `x` between our two changes.
        (&foreign[..], Some("b"), 1, "1 step, 1 undone → x"),
        (&foreign[..], Some("b"), 2, "1 step, 1 undone → x, blocked"),
    ];
    for (levels, current, wanted, expected) in cases {
        let current = current.map(content);
        let plan = plan(levels, current.as_ref(), wanted, |blob| Ok(blob.as_str().into())).unwrap();
        let to = match (&plan.content, plan.steps.is_empty()) {
            (_, true) => String::new(),
            (Some(bytes), _) => format!(" → {}", String::from_utf8_lossy(bytes)),
            (None, _) => " → gone".into(),
        };
        let blocked = if plan.blocked { ", blocked" } else { "" };
        let got = format!("{} step, {} undone{to}{blocked}", plan.steps.len(), plan.undone);
        assert_eq!(got, expected, "{levels:?} {current:?} {wanted}");
    }
}
