use super::*;
use proptest::prelude::*;

/// Does what the operations say.
fn applied(old: &[&[u8]], new: &[&[u8]], ops: &[DiffOp]) -> Vec<u8> {
    let mut out = Vec::new();
    for op in ops {
        let from = match op {
            DiffOp::Equal { .. } => &old[op.old_range()],
            _ => &new[op.new_range()],
        };
        out.extend(from.concat());
    }
    out
}

proptest! {
    #[test]
    fn operations_lead_from_one_text_to_the_other(
        old in "[abc\n]{0,60}",
        new in "[abc\n]{0,60}",
    ) {
        let (old, new) = (split(old.as_bytes()), split(new.as_bytes()));
        let ops = lines(&old, &new, None);
        prop_assert_eq!(applied(&old, &new, &ops), new.concat());
        let covered: usize = ops.iter().map(|op| op.old_range().len()).sum();
        prop_assert_eq!(covered, old.len());
        for op in &ops {
            if let DiffOp::Equal { .. } = op {
                prop_assert_eq!(&old[op.old_range()], &new[op.new_range()]);
            }
        }
    }

    #[test]
    fn a_late_answer_is_right_too(old in "[ab\n]{0,200}", new in "[ab\n]{0,200}") {
        let (old, new) = (split(old.as_bytes()), split(new.as_bytes()));
        let ops = lines(&old, &new, Some(Instant::now()));
        prop_assert_eq!(applied(&old, &new, &ops), new.concat());
    }
}

#[test]
fn few_lines_are_told_apart() {
    let (old, new) = (split(b"a\nb\nc\n"), split(b"a\nx\nc\n"));
    let ops = lines(&old, &new, None);
    let changed = |op: &&DiffOp| !matches!(op, DiffOp::Equal { .. });
    let changed: Vec<_> = ops.iter().filter(changed).collect();
    assert_eq!(changed, [&DiffOp::Replace { old_index: 1, old_len: 1, new_index: 1, new_len: 1 }]);
}

#[test]
fn unified_as_diff_writes_it() {
    let names = ("old", "new");
    assert_eq!(unified("a\n", "a\n", names, 3), "");
    assert_eq!(unified("", "a\n", names, 3), "--- old\n+++ new\n@@ -0,0 +1 @@\n+a\n");
    assert_eq!(
        unified("a\nb\nc", "a\nB\nc", names, 1),
        "--- old\n+++ new\n@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n\\ No newline at end of file\n"
    );
    let long: String = (1..=20).map(|number| format!("{number}\n")).collect();
    let changed = long.replace("\n3\n", "\nthree\n").replace("\n18\n", "\neighteen\n");
    assert_eq!(
        unified(&long, &changed, names, 1),
        "--- old\n+++ new\n@@ -2,3 +2,3 @@\n 2\n-3\n+three\n 4\n@@ -17,3 +17,3 @@\n 17\n-18\n+eighteen\n 19\n"
    );
}

#[test]
fn names_that_look_alike() {
    assert_eq!(likeness("", ""), 1.0);
    assert_eq!(likeness("main.rs", "main.rs"), 1.0);
    assert_eq!(likeness("abc", "xyz"), 0.0);
    assert!(likeness("mian.rs", "main.rs") > 0.75);
    assert!(likeness("lib.rs", "main.rs") < 0.75);
}
