//! Messages, one per line, from a program that may write anything.

use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncRead, BufReader};

/// Bytes of one message.
pub(crate) const LONGEST_LINE: usize = 16 << 20;
/// Bytes that are kept of both ends of a longer one.
const ENDS: usize = 512;

pub(crate) struct LineReader<R> {
    reader: BufReader<R>,
    line: Vec<u8>,
    /// Bytes of the line so far, also those that were not kept.
    length: usize,
    /// The end of a line that is too long.
    tail: Vec<u8>,
}

/// One line of a server.
pub(crate) enum Line {
    Message(Value),
    /// Not a message: a banner, half a line.
    Noise,
    /// Too long to be read; with the id of the call that it seems to answer.
    TooLong(Option<u64>),
    /// A message that is nested too deeply or otherwise broken, with the id of the call that it seems to answer.
    Broken(u64),
    End,
}

impl<R: AsyncRead + Unpin> LineReader<R> {
    pub(crate) fn new(reader: R) -> Self {
        let reader = BufReader::with_capacity(64 * 1024, reader);
        LineReader { reader, line: Vec::new(), length: 0, tail: Vec::new() }
    }

    pub(crate) async fn next(&mut self) -> Line {
        loop {
            let Ok(available) = self.reader.fill_buf().await else { return Line::End };
            if available.is_empty() {
                return Line::End;
            }
            let newline = available.iter().position(|byte| *byte == b'\n');
            let taken = newline.map_or(available.len(), |at| at + 1);
            let piece = &available[..newline.unwrap_or(taken)];
            let room = LONGEST_LINE.saturating_sub(self.line.len()).min(piece.len());
            self.line.extend_from_slice(&piece[..room]);
            self.length += piece.len();
            if self.length > LONGEST_LINE {
                self.line.truncate(ENDS);
                let end = &piece[piece.len().saturating_sub(ENDS)..];
                self.tail.extend_from_slice(end);
                let surplus = self.tail.len().saturating_sub(ENDS);
                self.tail.drain(..surplus);
            }
            self.reader.consume(taken);
            if newline.is_some() {
                return self.finished();
            }
        }
    }

    fn finished(&mut self) -> Line {
        let (line, tail) = (std::mem::take(&mut self.line), std::mem::take(&mut self.tail));
        if std::mem::take(&mut self.length) > LONGEST_LINE {
            return Line::TooLong(id_in(&tail).or_else(|| id_in(&line)));
        }
        match serde_json::from_slice::<Value>(&line) {
            Ok(message) if message.is_object() => Line::Message(message),
            Err(error) if !error.is_eof() && line.starts_with(b"{\"") => {
                let ends =
                    [&line[line.len().saturating_sub(ENDS)..], &line[..line.len().min(ENDS)]];
                ends.into_iter().find_map(id_in).map_or(Line::Noise, Line::Broken)
            }
            _ => Line::Noise,
        }
    }
}

/// The last `"id": 7` in the bytes.
fn id_in(bytes: &[u8]) -> Option<u64> {
    let text = String::from_utf8_lossy(bytes);
    let (_, after) = text.rsplit_once("\"id\"")?;
    let digits = after.trim_start().strip_prefix(':')?.trim_start();
    let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
    digits[..end].parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn lines(text: &[u8]) -> Vec<String> {
        let mut reader = LineReader::new(text);
        let mut found = Vec::new();
        loop {
            found.push(match reader.next().await {
                Line::Message(value) => value.to_string(),
                Line::Noise => "noise".to_owned(),
                Line::TooLong(id) => format!("too long {id:?}"),
                Line::Broken(id) => format!("broken {id}"),
                Line::End => return found,
            });
        }
    }

    #[tokio::test]
    async fn banners_and_half_lines_are_noise_and_lose_nothing_else() {
        let text = b"Server ready on stdio\n{\"id\":1}\r\n\n[1]\nContent-Length: 9\n{\"a\":\n{\"id\":2}\n{\"id\":3";
        let expected = ["noise", "{\"id\":1}", "noise", "noise", "noise", "noise", "{\"id\":2}"];
        assert_eq!(lines(text).await, expected);
    }

    #[tokio::test]
    async fn a_message_that_is_nested_too_deeply_is_an_answer_that_failed() {
        let deep = "[".repeat(10_000) + &"]".repeat(10_000);
        let text = format!("{{\"jsonrpc\":\"2.0\",\"id\":4,\"result\":{deep}}}\n{{\"id\":5}}\n");
        assert_eq!(lines(text.as_bytes()).await, ["broken 4", "{\"id\":5}"]);
    }

    #[tokio::test]
    async fn a_line_that_is_too_long_names_its_call_and_the_next_one_is_read() {
        let long = "x".repeat(LONGEST_LINE);
        for text in [
            format!("{{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":\"{long}\"}}\n{{\"id\":8}}\n"),
            format!("{{\"result\":\"{long}\",\"jsonrpc\":\"2.0\",\"id\": 7}}\n{{\"id\":8}}\n"),
        ] {
            assert_eq!(lines(text.as_bytes()).await, ["too long Some(7)", "{\"id\":8}"]);
        }
        let nameless = format!("{long}{long}\n");
        assert_eq!(lines(nameless.as_bytes()).await, ["too long None"]);
    }
}
