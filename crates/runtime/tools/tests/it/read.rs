use super::desk;
use super::support::{has, text};
use ostler_core::message::ResultPart;
use ostler_core::permission::{Access, PathScope};
use serde_json::json;
use std::fs;

#[tokio::test]
async fn lines_are_numbered_and_parts_can_be_read() {
    let desk = desk();
    desk.write("a.txt", "one\ntwo\nthree\n");
    assert_eq!(
        desk.ok("Read", json!({"file_path": "a.txt"})).await,
        "1\tone\n2\ttwo\n3\tthree\n4\t"
    );
    let absolute = desk.root.join("a.txt");
    assert_eq!(
        desk.ok("Read", json!({"file_path": absolute, "offset": "2", "limit": 1})).await,
        "2\ttwo\n[Lines 2–2 of 3 are shown. Continue with offset 3.]"
    );
    let beyond = desk.ok("Read", json!({"file_path": "a.txt", "offset": 9})).await;
    assert_eq!(beyond, "[a.txt has only 3 lines; there is no line 9.]");
    desk.write("empty", "");
    assert_eq!(
        desk.ok("Read", json!({"file_path": "empty"})).await,
        "[empty exists, but is empty.]"
    );
}

#[tokio::test]
async fn two_thousand_lines_by_default() {
    let desk = desk();
    desk.write("long", "x\n".repeat(2_500));
    let text = desk.ok("Read", json!({"file_path": "long"})).await;
    has(&text, "\n2000\tx\n[Lines 1–2000 of 2500 are shown. Continue with offset 2001.]");
    let rest = desk.ok("Read", json!({"file_path": "long", "offset": 2001})).await;
    assert!(rest.starts_with("2001\tx\n") && rest.ends_with("\n2501\t"));
}

#[tokio::test]
async fn what_was_read_is_reported_by_its_hash() {
    let desk = desk();
    let path = desk.write("a", "hello\n");
    for input in [json!({"file_path": "a"}), json!({"file_path": "a", "offset": 1, "limit": 1})] {
        let output = desk.call("Read", input).await;
        assert_eq!(output.seen.len(), 1);
        assert_eq!(output.seen[0].path, path);
        let hash = "5891b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03";
        assert_eq!(output.seen[0].hash.as_deref(), Some(hash));
    }
}

#[tokio::test]
async fn large_files_are_read_in_parts() {
    let desk = desk();
    desk.write("big", "some line of text\n".repeat(20_000));
    let error = desk.err("Read", json!({"file_path": "big"})).await;
    has(&error, "too large to read at once: 351.6 KB");
    has(&error, "offset and limit");
    let part = desk.ok("Read", json!({"file_path": "big", "offset": 19_999, "limit": 5})).await;
    assert_eq!(part, "19999\tsome line of text\n20000\tsome line of text\n20001\t");
}

#[tokio::test]
async fn odd_content_is_told() {
    let desk = desk();
    desk.write("latin1.txt", b"caf\xe9\n");
    has(
        &desk.ok("Read", json!({"file_path": "latin1.txt"})).await,
        "1\tcaf\u{fffd}\n2\t\n[Some bytes are not valid UTF-8",
    );
    desk.write("crlf.txt", "a\r\nb\r\n");
    assert_eq!(
        desk.ok("Read", json!({"file_path": "crlf.txt"})).await,
        "1\ta\n2\tb\n3\t\n[Lines end with CRLF; Edit keeps that.]"
    );
    desk.write("data.bin", b"\x7fELF\0\0");
    has(
        &desk.err("Read", json!({"file_path": "data.bin"})).await,
        "data.bin is a binary file (6 bytes)",
    );
    desk.write("doc.pdf", b"%PDF-1.4\n");
    has(&desk.err("Read", json!({"file_path": "doc.pdf"})).await, "is a PDF");
    has(
        &desk.err("Read", json!({"file_path": "doc.pdf", "pages": "1-2"})).await,
        "not supported yet",
    );
    has(&desk.err("Read", json!({"file_path": "doc.pdf", "limit": 0})).await, "at least 1");
}

fn png(width: u32, height: u32, size: usize) -> Vec<u8> {
    let mut bytes = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR".to_vec();
    bytes.extend(width.to_be_bytes());
    bytes.extend(height.to_be_bytes());
    bytes.resize(size.max(bytes.len()), 0);
    bytes
}

#[tokio::test]
async fn images_are_shown_if_a_provider_takes_them() {
    let desk = desk();
    // The content decides, not the name.
    desk.write("picture.txt", png(10, 20, 100));
    let output = desk.call("Read", json!({"file_path": "picture.txt"})).await;
    let [ResultPart::Image(image)] = output.content.as_slice() else { panic!("{output:?}") };
    assert_eq!((image.media.as_str(), image.data.len()), ("image/png", 136));
    desk.write("wide.png", png(8_001, 20, 100));
    has(&desk.err("Read", json!({"file_path": "wide.png"})).await, "8001 × 20 pixels");
    desk.write("heavy.png", png(10, 20, 3_932_161));
    has(&desk.err("Read", json!({"file_path": "heavy.png"})).await, "is 3.8 MB");
    desk.write("just.png", png(8_000, 8_000, 3_932_160));
    assert!(!desk.call("Read", json!({"file_path": "just.png"})).await.is_error);
}

#[tokio::test]
async fn missing_files_come_with_a_hint() {
    let desk = desk();
    desk.write("src/main.rs", "");
    has(
        &desk.err("Read", json!({"file_path": "src/mian.rs"})).await,
        "src/mian.rs does not exist. Did you mean",
    );
    has(&desk.err("Read", json!({"file_path": "src/mian.rs"})).await, "src/main.rs?");
    has(&desk.err("Read", json!({"file_path": "sorce/main.rs"})).await, "there is no directory");
    has(&desk.err("Read", json!({"file_path": "~/x"})).await, "`~` is not expanded");
    has(&desk.err("Read", json!({"file_path": "src"})).await, "is a directory. Use Glob");
    has(&desk.err("Read", json!({"file_path": "nosuch/../src/main.rs"})).await, "does not exist");
}

#[tokio::test]
async fn access_names_the_file_behind_links() {
    let desk = desk();
    let outside = desk.root.parent().unwrap().join("secret");
    fs::write(&outside, "s").unwrap();
    std::os::unix::fs::symlink(&outside, desk.root.join("link")).unwrap();
    let reads = |path: &str| desk.access("Read", json!({"file_path": path})).unwrap();
    assert_eq!(reads("link"), Access::reading(PathScope::File(outside.clone())));
    assert_eq!(reads("../secret"), Access::reading(PathScope::File(outside)));
    for wrong in ["", "a\0b"] {
        let refused = desk.access("Read", json!({"file_path": wrong})).unwrap_err();
        assert!(text(&refused).contains("path"), "{refused:?}");
    }
}
