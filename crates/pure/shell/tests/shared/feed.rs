//! A bash that is fed texts, each ended by NUL, and what it printed.

use std::io::Write;
use std::process::{Command, Stdio};

pub fn fed(command: &mut Command, texts: &[String]) -> Vec<u8> {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("bash is needed for this test");
    let input: Vec<u8> = texts.iter().flat_map(|text| text.bytes().chain([0])).collect();
    let mut stdin = child.stdin.take().unwrap();
    let writer = std::thread::spawn(move || stdin.write_all(&input));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap().ok();
    output.stdout
}
