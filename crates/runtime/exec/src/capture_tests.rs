use super::*;
use proptest::prelude::*;

fn capture(head: usize, tail: usize, chunks: &[&[u8]]) -> Captured {
    let mut capture = Capture::new(head, tail);
    chunks.iter().for_each(|chunk| capture.push(chunk));
    capture.finish()
}

#[test]
fn around_the_caps_exactly_the_right_bytes_are_kept() {
    let check = |input: &str, head: &str, tail: &str, dropped: u64| {
        let kept = capture(4, 3, &[input.as_bytes()]);
        assert_eq!(kept.head(), head.as_bytes(), "{input}");
        assert_eq!(kept.tail(), tail.as_bytes(), "{input}");
        assert_eq!(kept.dropped(), dropped, "{input}");
        assert_eq!(kept.total(), input.len() as u64);
    };
    check("", "", "", 0);
    check("abc", "abc", "", 0);
    check("abcd", "abcd", "", 0);
    check("abcde", "abcd", "e", 0);
    check("abcdefg", "abcd", "efg", 0);
    check("abcdefgh", "abcd", "fgh", 1);
    check("abcdefghijkl", "abcd", "jkl", 5);
}

#[test]
fn text_says_what_is_missing_on_a_line_of_its_own() {
    let text = |head, tail, input: &[u8]| capture(head, tail, &[input]).to_text();
    assert_eq!(text(4, 3, b"abcdefghi"), "abcd\n[… 2 bytes dropped …]\nghi");
    assert_eq!(text(4, 3, b"abc\ndefghi"), "abc\n[… 3 bytes dropped …]\nghi");
    assert_eq!(text(0, 3, b"abcdefghi"), "[… 6 bytes dropped …]\nghi");
    assert_eq!(text(4, 0, b"abcdefghi"), "abcd\n[… 5 bytes dropped …]\n");
    assert_eq!(text(4, 3, b"abcdefg"), "abcdefg");
    assert_eq!(text(9, 0, b"a\0b\xffc"), "a\u{2400}b\u{fffd}c");
}

#[test]
fn a_character_across_the_seam_survives_and_one_at_the_cut_goes() {
    // Four bytes each; the seam is inside the second one.
    assert_eq!(capture(6, 6, &["😀😁😂".as_bytes()]).to_text(), "😀😁😂");
    let cut = capture(6, 6, &["😀😁😂😃".as_bytes()]).to_text();
    assert_eq!(cut, "😀\n[… 8 bytes dropped …]\n😃");
}

#[test]
fn bytes_that_only_look_cut_are_not_taken_away() {
    // A complete character before the cut, and invalid bytes that are not a cut character.
    assert_eq!(whole_back("aé".as_bytes()), "aé".as_bytes());
    assert_eq!(whole_back(b"a\xff"), b"a\xff");
    assert_eq!(whole_back(b"a\xe2\x82"), b"a");
    assert_eq!(whole_back(b"\x80\x80\x80\x80"), b"\x80\x80\x80\x80");
    assert_eq!(whole_front(b"\x80\x80\x80\x80a"), b"\x80a");
}

#[test]
fn memory_does_not_follow_the_input() {
    let mut capture = Capture::new(1000, 1000);
    let chunk = vec![b'x'; 65_536];
    for _ in 0..2000 {
        capture.push(&chunk);
    }
    assert!(capture.head.capacity() + capture.tail.capacity() < 10_000);
    assert_eq!(capture.total(), 2000 * 65_536);
}

proptest! {
    #[test]
    fn any_split_gives_the_same_result(
        input in prop::collection::vec(any::<u8>(), 0..400),
        cuts in prop::collection::vec(0usize..400, 0..12),
        head in 0usize..120,
        tail in 0usize..120,
    ) {
        let mut cuts: Vec<_> = cuts.into_iter().map(|cut| cut.min(input.len())).collect();
        cuts.extend([0, input.len()]);
        cuts.sort_unstable();
        let chunks: Vec<_> = cuts.windows(2).map(|pair| &input[pair[0]..pair[1]]).collect();
        let split = capture(head, tail, &chunks);

        // The definition, written down independently of the ring buffer.
        let first = &input[..input.len().min(head)];
        let rest = &input[first.len()..];
        let last = &rest[rest.len() - rest.len().min(tail)..];
        prop_assert_eq!(split.head(), first);
        prop_assert_eq!(split.tail(), last);
        prop_assert_eq!(split.total(), input.len() as u64);
        if split.dropped() == 0 {
            prop_assert_eq!([split.head(), split.tail()].concat(), input);
        }
        prop_assert!(!split.to_text().contains('\0'));
    }

    #[test]
    fn valid_text_never_gains_a_replacement_character(
        input in "[a-zé漢😀\n]{0,120}",
        head in 0usize..60,
        tail in 0usize..60,
    ) {
        let text = capture(head, tail, &[input.as_bytes()]).to_text();
        prop_assert!(!text.contains('\u{fffd}'), "{text:?}");
        if head + tail >= input.len() {
            prop_assert_eq!(text, input);
        }
    }
}
