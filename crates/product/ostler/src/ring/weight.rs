//! About how many bytes an envelope takes in memory. What is large or frequent is measured without being walked through
//! the serializer; the rest is small and is counted as JSON.

use ostler_core::event::{Envelope, Event};
use ostler_core::message::{Block, Image, ResultPart};
use serde::Serialize;
use serde_json::Value;
use std::io;
use std::mem::size_of;

pub(super) fn of(envelope: &Envelope) -> usize {
    size_of::<Envelope>() + event(&envelope.event)
}

fn event(event: &Event) -> usize {
    match event {
        Event::TextDelta { text } | Event::ThinkingDelta { text } => text.len(),
        Event::CallProgress { tail, .. } => tail.len(),
        Event::BlockFinished { block } => self::block(block),
        Event::CallStarted { input, .. } => value(input),
        Event::CallFinished { result, shown, decision, detail, input, .. } => {
            let values = detail.iter().chain(input.as_deref()).map(value);
            let shown = shown.as_ref().map_or(0, String::len);
            block(result) + shown + counted(decision) + values.sum::<usize>()
        }
        Event::CallAsked { decision, question, .. } => {
            let input = question.as_ref().map_or(0, |question| value(&question.input));
            // The question repeats the decision.
            2 * counted(decision) + input
        }
        Event::Finished(finished) => {
            let denials =
                finished.denials.iter().map(|one| value(&one.input) + counted(&one.decision));
            finished.text.len() + denials.sum::<usize>()
        }
        Event::Unknown(unknown) => value(unknown),
        Event::Raw(raw) => raw.get().len(),
        other => counted(other),
    }
}

fn block(block: &Block) -> usize {
    size_of::<Block>()
        + match block {
            Block::Text { text, .. } => text.len(),
            Block::Thinking { text, signature } => {
                text.len() + signature.as_ref().map_or(0, String::len)
            }
            Block::Redacted { data } => data.len(),
            Block::Provider(part) => value(&part.data),
            Block::Image(image) => self::image(image),
            Block::ToolUse { input, .. } => value(input),
            Block::ToolResult { content, .. } => content.iter().map(part).sum(),
        }
}

fn part(part: &ResultPart) -> usize {
    match part {
        ResultPart::Text { text } => text.len(),
        ResultPart::Image(image) => self::image(image),
    }
}

fn image(image: &Image) -> usize {
    image.data.len()
}

fn value(value: &Value) -> usize {
    size_of::<Value>()
        + match value {
            Value::Null | Value::Bool(_) | Value::Number(_) => 0,
            Value::String(text) => text.len(),
            Value::Array(list) => list.iter().map(self::value).sum(),
            Value::Object(fields) => {
                let field = |(key, inner): (&String, &Value)| {
                    size_of::<(String, usize)>() + key.len() + self::value(inner)
                };
                fields.iter().map(field).sum()
            }
        }
}

/// Its length as JSON.
fn counted(what: &impl Serialize) -> usize {
    struct Count(usize);
    impl io::Write for Count {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0 += bytes.len();
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let mut count = Count(0);
    // What cannot be written as JSON, such as a path that is not UTF-8, counts up to there.
    let _ = serde_json::to_writer(&mut count, what);
    count.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_an_envelope_brings_is_counted() {
        let long = "x".repeat(10_000);
        let result = |content| Event::CallFinished {
            id: "c".into(),
            name: "Bash".into(),
            outcome: ostler_core::event::CallOutcome::Succeeded,
            decision: None,
            result: Block::ToolResult { id: "c".into(), content, is_error: false },
            shown: None,
            detail: Some(json!({ "rows": [1, 2] })),
            took_ms: None,
            input: None,
        };
        let image = Image { media: "image/png".into(), data: long.as_str().into(), blob: None };
        let input = json!({ "file_path": "a", "content": long });
        let call = Block::ToolUse {
            id: "c".into(),
            name: "Write".into(),
            input: input.clone(),
            via: None,
        };
        let large = [
            Event::TextDelta { text: long.clone() },
            Event::ThinkingDelta { text: long.clone() },
            Event::CallProgress { id: "c".into(), tail: long.clone() },
            Event::BlockFinished { block: Block::text(long.clone()) },
            Event::BlockFinished { block: call },
            Event::CallStarted { id: "c".into(), name: "Write".into(), input: input.clone() },
            result(vec![ResultPart::text(long.clone())]),
            result(vec![ResultPart::Image(image)]),
            Event::notice(ostler_core::event::Notice::Hook { text: long.clone() }),
            Event::Unknown(input),
        ];
        for large in large {
            let bytes = event(&large);
            assert!((10_000..11_500).contains(&bytes), "{bytes}: {large:?}");
        }
        assert!(event(&Event::AnswerDropped) < 100);
    }
}
