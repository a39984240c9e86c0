//! Lines of standard input, as they come. A line has a limit, and so has what waits to be read.

use anyhow::Result;
use std::io::{BufRead, Read};
use tokio::sync::mpsc;

/// Bytes of a line: messages hold images.
const LONGEST: u64 = 64 << 20;
/// Lines that were read and not looked at yet.
const MOST_WAITING: usize = 16;

pub enum InputLine {
    Text(String),
    /// It was read to its end and dropped.
    TooLong,
}

pub struct InputLines {
    lines: mpsc::Receiver<Result<InputLine, String>>,
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
    pub async fn next(&mut self) -> Option<Result<InputLine, String>> {
        self.lines.recv().await
    }
}

/// The next line that is not blank. Bytes that are not UTF-8 are replaced, as programs that decode with replacement do.
fn next_line(input: &mut impl BufRead) -> Option<Result<InputLine, String>> {
    let failed = |error| Some(Err(format!("standard input cannot be read: {error}")));
    loop {
        let mut bytes = Vec::new();
        match input.take(LONGEST + 1).read_until(b'\n', &mut bytes) {
            Ok(0) => return None,
            Ok(_) if bytes.len() as u64 > LONGEST => {
                let is_whole = bytes.ends_with(b"\n");
                let rest = if is_whole { Ok(0) } else { input.skip_until(b'\n') };
                return rest.map_or_else(failed, |_| Some(Ok(InputLine::TooLong)));
            }
            Ok(_) => {}
            Err(error) => return failed(error),
        }
        let line = String::from_utf8_lossy(&bytes);
        if !line.trim().is_empty() {
            return Some(Ok(InputLine::Text(line.into_owned())));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{InputLine, LONGEST, next_line};
    use std::io::{BufReader, Read};

    fn texts(mut input: impl std::io::BufRead) -> Vec<String> {
        let mut all = Vec::new();
        while let Some(line) = next_line(&mut input) {
            all.push(match line.unwrap() {
                InputLine::Text(text) => text,
                InputLine::TooLong => "too long".into(),
            });
        }
        all
    }

    #[test]
    fn lines_end_with_a_newline_or_with_the_input() {
        let input: &[u8] = b"{\"a\":1}\n\n  \n{\"b\":2}";
        assert_eq!(texts(input), ["{\"a\":1}\n", "{\"b\":2}"]);
        assert_eq!(texts(&b"\xff\n"[..]), ["\u{fffd}\n"]);
    }

    #[test]
    fn the_line_after_one_that_is_too_long_is_read() {
        let long = |length| std::io::repeat(b'x').take(length);
        let input =
            long(LONGEST + 10).chain(&b"\n{}\n"[..]).chain(long(LONGEST)).chain(&b"\n{}"[..]);
        assert_eq!(texts(BufReader::new(input)), ["too long", "{}\n", "too long", "{}"]);
    }
}
