//! Lines of standard input, as they come. A line has a limit, and so has what waits to be read.

use anyhow::Result;
use std::io::{BufRead, Read};
use tokio::sync::mpsc;

/// Bytes of a line: messages hold images.
const LONGEST: u64 = 64 << 20;
/// Lines that were read and not looked at yet.
const MOST_WAITING: usize = 16;

pub struct InputLines {
    lines: mpsc::Receiver<Result<String, String>>,
}

impl InputLines {
    /// A thread of its own reads: nothing can interrupt reading from a pipe, and the program ends all the same.
    pub fn start() -> Result<Self> {
        let (sender, lines) = mpsc::channel(MOST_WAITING);
        std::thread::Builder::new().name("input".into()).spawn(move || {
            let mut input = std::io::stdin().lock();
            while let Some(line) = next_line(&mut input) {
                let is_over = line.is_err();
                if sender.blocking_send(line).is_err() || is_over {
                    return;
                }
            }
        })?;
        Ok(InputLines { lines })
    }

    /// None: the input has ended. Cancel-safe.
    pub async fn next(&mut self) -> Option<Result<String, String>> {
        self.lines.recv().await
    }
}

/// The next line that is not blank.
fn next_line(input: &mut impl BufRead) -> Option<Result<String, String>> {
    loop {
        let mut bytes = Vec::new();
        match input.take(LONGEST + 1).read_until(b'\n', &mut bytes) {
            Ok(0) => return None,
            Ok(_) if bytes.len() as u64 > LONGEST => {
                return Some(Err("a line of standard input is longer than 64 MB".into()));
            }
            Ok(_) => {}
            Err(error) => return Some(Err(format!("standard input cannot be read: {error}"))),
        }
        match String::from_utf8(bytes) {
            Ok(line) if line.trim().is_empty() => {}
            Ok(line) => return Some(Ok(line)),
            Err(_) => return Some(Err("a line of standard input is not UTF-8".into())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::next_line;

    #[test]
    fn lines_end_with_a_newline_or_with_the_input() {
        let mut input: &[u8] = b"{\"a\":1}\n\n  \n{\"b\":2}";
        assert_eq!(next_line(&mut input), Some(Ok("{\"a\":1}\n".into())));
        assert_eq!(next_line(&mut input), Some(Ok("{\"b\":2}".into())));
        assert_eq!(next_line(&mut input), None);
        let mut input: &[u8] = b"\xff\n";
        assert!(next_line(&mut input).unwrap().is_err());
    }
}
