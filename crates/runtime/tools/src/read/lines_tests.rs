use super::*;
use proptest::prelude::*;

fn read(bytes: &[u8], first: u64, count: u64) -> NumberedLines {
    number(bytes, &LineRange { first, count }, Some(Sha256::new()), &TaskStop::never()).unwrap()
}

#[test]
fn numbering() {
    for (content, first, count, expected, more, total) in [
        ("a\nb", 1, 9, "1\ta\n2\tb", false, 2),
        ("a\nb\n", 1, 9, "1\ta\n2\tb\n3\t", false, 2),
        ("a\nb\n", 1, 2, "1\ta\n2\tb", false, 2),
        ("a\nb\nc\n", 1, 2, "1\ta\n2\tb", true, 3),
        ("a\nb\nc\n", 2, 1, "2\tb", true, 3),
        ("a\nb\nc\n", 3, 9, "3\tc\n4\t", false, 3),
        ("a\nb\nc\n", 4, 9, "", false, 3),
        ("a\n\n\nb", 2, 2, "2\t\n3\t", true, 4),
        ("\n", 1, 9, "1\t\n2\t", false, 1),
        ("", 1, 9, "", false, 0),
        ("a\n\n", 1, 1, "1\ta", true, 2),
        ("x", 1, 1, "1\tx", false, 1),
        ("\u{feff}mark\n", 1, 1, "1\tmark", false, 1),
        ("x", u64::MAX, u64::MAX, "", false, 1),
    ] {
        let lines = read(content.as_bytes(), first, count);
        let got = (lines.text.as_str(), lines.more, lines.total);
        assert_eq!(got, (expected, more, Some(total)), "{content:?} {first} {count}");
    }
}

#[test]
fn line_ends_and_odd_bytes() {
    let lines = read(b"a\r\nb\r\n", 1, 9);
    assert_eq!((lines.text.as_str(), lines.crlf, lines.lossy), ("1\ta\n2\tb\n3\t", true, false));
    // A carriage return that ends no line stays.
    let lines = read(b"a\rb", 1, 9);
    assert_eq!((lines.text.as_str(), lines.crlf), ("1\ta\rb", false));
    let lines = read(b"caf\xe9\na\0b\n", 1, 9);
    assert_eq!((lines.text.as_str(), lines.lossy), ("1\tcaf\u{fffd}\n2\ta\u{fffd}b\n3\t", true));
    let lines = read("grüße\n".as_bytes(), 1, 9);
    assert!(!lines.lossy);
}

#[test]
fn a_long_line_is_cut_and_says_so() {
    for unit in ["a", "ü", "€", "🦀"] {
        let lines = read(unit.repeat(100_000).as_bytes(), 1, 9);
        let expected = format!("1\t{}… [line cut]", unit.repeat(MAX_LINE));
        assert_eq!(lines.text, expected);
        assert!(!lines.lossy, "{unit}");
    }
    let fits = read("ü".repeat(MAX_LINE).as_bytes(), 1, 9);
    assert!(!fits.text.contains("cut"));
}

#[test]
fn much_text_stops_at_a_line_and_goes_on_from_there() {
    let content: String = (1..=20_000).map(|i| format!("line number {i}\n")).collect();
    let (mut first, mut got) = (1, Vec::new());
    loop {
        let lines = read(content.as_bytes(), first, 20_000);
        assert!(lines.text.chars().count() <= MAX_CHARS);
        got.extend(
            lines
                .text
                .lines()
                .take(lines.shown as usize)
                .map(|line| line.split_once('\t').unwrap().1.to_owned()),
        );
        first += lines.shown;
        if !lines.more {
            break;
        }
    }
    assert_eq!(got, content.lines().map(str::to_owned).collect::<Vec<_>>());
}

/// Counts what is read of it, and would never end.
struct Endless(u64);

impl Read for Endless {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        buffer.fill(b'x');
        buffer[0] = b'\n';
        self.0 += buffer.len() as u64;
        Ok(buffer.len())
    }
}

#[test]
fn without_a_hash_only_the_needed_part_is_read() {
    let mut endless = Endless(0);
    let lines =
        number(&mut endless, &LineRange { first: 3, count: 2 }, None, &TaskStop::never()).unwrap();
    assert_eq!((lines.shown, lines.more, lines.total), (2, true, None));
    assert!(endless.0 <= 6 * (64 << 10));
}

/// One line that never ends.
struct OneLine(u64);

impl Read for OneLine {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        buffer.fill(b'x');
        self.0 += buffer.len() as u64;
        Ok(buffer.len())
    }
}

#[test]
fn the_rest_of_a_line_that_is_cut_anyway_is_not_read() {
    let mut endless = OneLine(0);
    let lines =
        number(&mut endless, &LineRange { first: 1, count: 1 }, None, &TaskStop::never()).unwrap();
    assert_eq!((lines.shown, lines.more), (1, true));
    assert!(endless.0 <= 64 << 10);
}

#[test]
fn time_runs_out() {
    let error =
        number(Endless(0), &LineRange { first: 3, count: 2 }, None, &TaskStop::now()).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::TimedOut);
}

/// Hands out its bytes in pieces of the given sizes.
struct Pieces<'a>(&'a [u8], Vec<usize>);

impl Read for Pieces<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = self.1.pop().unwrap_or(usize::MAX).clamp(1, buffer.len()).min(self.0.len());
        let (now, later) = self.0.split_at(n);
        buffer[..n].copy_from_slice(now);
        self.0 = later;
        Ok(n)
    }
}

proptest! {
    #[test]
    fn how_the_bytes_arrive_makes_no_difference(
        bytes in proptest::collection::vec(prop_oneof![Just(b'\n'), Just(b'\r'), Just(b'a'), any::<u8>()], 0..200),
        sizes in proptest::collection::vec(1usize..9, 0..60),
        first in 1u64..6, count in 1u64..6,
    ) {
        let request = LineRange { first, count };
        let whole = number(&bytes[..], &request, Some(Sha256::new()), &TaskStop::never()).unwrap();
        let pieces = number(Pieces(&bytes, sizes.clone()), &request, Some(Sha256::new()), &TaskStop::never()).unwrap();
        prop_assert_eq!(&whole, &pieces);
        let short = number(Pieces(&bytes, sizes), &request, None, &TaskStop::never()).unwrap();
        prop_assert_eq!((&whole.text, whole.shown, whole.more), (&short.text, short.shown, short.more));
    }
}
