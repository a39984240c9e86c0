//! How one event is written down, in every style the event-stream rules allow.

use bytes::Bytes;
use serde_json::Value;

use crate::script::{Framing, Newline};

pub(super) const BOM: &str = "\u{feff}";

impl Framing {
    fn end(&self) -> &'static str {
        match self.newline {
            Newline::Lf => "\n",
            Newline::Crlf => "\r\n",
            Newline::Cr => "\r",
        }
    }

    fn field(&self, out: &mut String, name: &str, value: &str) {
        out.push_str(name);
        out.push(':');
        if self.space {
            out.push(' ');
        }
        out.push_str(value);
        out.push_str(self.end());
    }

    pub(super) fn event(&self, name: &str, data: &Value) -> Bytes {
        let json = if self.split_data { format!("{data:#}") } else { data.to_string() };
        let mut out = String::with_capacity(json.len() + name.len() + 20);
        self.field(&mut out, "event", name);
        if self.extra_fields {
            self.field(&mut out, "id", "7");
            self.field(&mut out, "retry", "3000");
            self.field(&mut out, "x-unknown", name);
        }
        for line in json.lines() {
            self.field(&mut out, "data", line);
        }
        out.push_str(self.end());
        out.into()
    }

    pub(super) fn comment(&self, text: &str) -> Bytes {
        format!(":{}{text}{}", if self.space { " " } else { "" }, self.end().repeat(2)).into()
    }

    /// The bytes before and after the place of `mark` inside an event's data.
    pub(super) fn around(&self, name: &str, data: &Value, mark: &str) -> (Bytes, Bytes) {
        let whole = Self { split_data: false, ..*self }.event(name, data);
        let text = String::from_utf8_lossy(&whole);
        let (head, tail) = text.split_once(mark).unwrap_or((&text, ""));
        (head.to_owned().into(), tail.to_owned().into())
    }

    /// The start of a data line that nobody ends.
    pub(super) fn open_line(&self) -> Bytes {
        if self.space { "data: ".into() } else { "data:".into() }
    }
}
