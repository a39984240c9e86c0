use super::*;
use crate::ids::BlobRef;
use crate::message::Image;
use crate::ports::StoreError;
use std::path::PathBuf;
use std::sync::Mutex;

#[derive(Default)]
struct Kept {
    bytes: Mutex<Vec<Vec<u8>>>,
    no_path: bool,
    full: bool,
}

impl Blobs for Kept {
    fn put(&self, _: &[u8]) -> Result<BlobRef, StoreError> {
        panic!("an output is spilled, not put among the blobs of every session")
    }
    fn get(&self, _: &BlobRef) -> Result<Vec<u8>, StoreError> {
        Err(StoreError::BlobLost("b".into()))
    }
    fn spill(&self, bytes: &[u8]) -> Result<Option<PathBuf>, StoreError> {
        if self.full {
            return Err(StoreError::BlobLost("disk full".into()));
        }
        self.bytes.lock().unwrap().push(bytes.to_vec());
        Ok((!self.no_path).then(|| "/spills/b".into()))
    }
}

fn text(output: &ToolOutput) -> &str {
    match &output.content[0] {
        ResultPart::Text { text } => text,
        ResultPart::Image(_) => panic!("text stands first"),
    }
}

#[test]
fn what_fits_is_left_alone() {
    let kept = Kept::default();
    for output in [
        ToolOutput::text("x".repeat(100)),
        ToolOutput::error("ä".repeat(100)),
        ToolOutput::default(),
    ] {
        assert_eq!(bound(output.clone(), 100, &kept), output);
    }
    assert!(kept.bytes.lock().unwrap().is_empty());
}

#[test]
fn what_does_not_fit_is_kept_whole_and_shown_by_its_ends() {
    let kept = Kept::default();
    let whole: String = (1..=20_000).map(|i| format!("line {i}\n")).collect();
    let output = bound(ToolOutput::error(whole.clone()), 50_000, &kept);
    assert_eq!(*kept.bytes.lock().unwrap(), [whole.as_bytes()]);
    assert!(output.is_error);
    let text = text(&output);
    assert!(text.len() < 5_000);
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[0].starts_with(
        "[The output is long (208894 characters, 20000 lines). The full output is in /spills/b: "
    ));
    assert_eq!(lines[1], "line 1");
    assert_eq!(*lines.last().unwrap(), "line 20000");
    // Every shown line is a whole one.
    let broken = lines[1..]
        .iter()
        .filter(|line| !line.starts_with('[') && !whole.contains(&format!("{line}\n")));
    assert_eq!(broken.count(), 0);
}

#[test]
fn one_endless_line_is_cut_between_characters() {
    let whole = "ü".repeat(100_000);
    let output = bound(ToolOutput::text(whole), 50_000, &Kept::default());
    let text = text(&output);
    assert_eq!(text.matches('ü').count(), HEAD + TAIL);
    assert!(text.contains("187.5 KB not shown"), "{text}");
}

#[test]
fn without_a_file_to_read_as_much_as_possible_is_shown() {
    let whole = "some line\n".repeat(10_000);
    for kept in [Kept { no_path: true, ..Kept::default() }, Kept { full: true, ..Kept::default() }]
    {
        let output = bound(ToolOutput::text(whole.clone()), 10_000, &kept);
        let length = text(&output).chars().count();
        assert!((8_000..=10_000).contains(&length), "{length}");
        assert!(text(&output).contains("stored"));
    }
}

#[test]
fn images_stay_and_texts_are_joined() {
    let image =
        ResultPart::Image(Image { media: "image/png".into(), data: "AAAA".into(), blob: None });
    let long = ResultPart::text("a\n".repeat(400));
    let output =
        ToolOutput { content: vec![image.clone(), long.clone(), long], ..ToolOutput::default() };
    let bounded = bound(output, 1_000, &Kept::default());
    assert_eq!(bounded.content.len(), 2);
    assert_eq!(bounded.content[1], image);
    assert!(text(&bounded).chars().count() <= 1_000);
}

proptest::proptest! {
    #[test]
    fn never_larger_than_the_cap(text in "(\\PC|\n){0,3000}", cap in 700usize..2000) {
        let output = bound(ToolOutput::text(text), cap, &Kept::default());
        let ResultPart::Text { text } = &output.content[0] else { panic!() };
        proptest::prop_assert!(text.chars().count() <= cap);
    }
}
