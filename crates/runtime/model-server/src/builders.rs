//! Scripts written in Rust, so that tests read as the story they tell.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use serde_json::{Value, json};

use crate::billing::Prices;
use crate::record::Recorded;
use crate::request_match::Match;
use crate::script::{
    Cut, How, Insert, OnEnd, Part, Point, Reply, ReplyBody, Script, ScriptSource, ScriptStep,
    ScriptedAnswer, ScriptedStop, ServerRules, Times, ToolInput, UsageNumbers, Wait,
};

/// An answer of one text block.
pub fn text(text: impl Into<String>) -> Reply {
    Reply::default().say(text)
}

/// An answer that starts with a thinking block, signed by the server.
pub fn think(text: impl Into<String>) -> Reply {
    Reply::default().think(text)
}

/// An answer of tool calls.
pub fn calls<N: Into<String>>(calls: impl IntoIterator<Item = (N, Value)>) -> Reply {
    calls.into_iter().fold(Reply::default(), |reply, (tool, input)| reply.call(tool, input))
}

/// An HTTP error with the usual type and message of its status.
pub fn status(status: u16) -> Reply {
    Reply { body: ReplyBody::Error { status, kind: None, message: None }, ..Reply::default() }
}

/// Verbatim bytes of a whole response; the connection closes after them.
pub fn raw(bytes: impl Into<Bytes>) -> Reply {
    Reply { body: ReplyBody::Raw(bytes.into()), ..Reply::default() }
}

/// An event stream of exactly these parts, without the events around an answer.
pub fn sse(parts: impl IntoIterator<Item = Part>) -> Reply {
    let answer = ScriptedAnswer {
        parts: parts.into_iter().collect(),
        envelope: false,
        ..ScriptedAnswer::default()
    };
    Reply { body: ReplyBody::Answer(Box::new(answer)), ..Reply::default() }
}

/// A redirect with an empty body.
pub fn redirect(status: u16, to: impl Into<String>) -> Reply {
    let body = ReplyBody::Http { status, content_type: String::new(), bytes: Bytes::new() };
    Reply { body, ..Reply::default() }.header("location", to)
}

/// A point of the response: `request`, `headers`, `end` or the name of an event.
pub fn after(point: &str) -> At {
    At { point: Point::from(point), nth: 1, bytes: 0 }
}

#[derive(Debug, Clone)]
pub struct At {
    point: Point,
    nth: u32,
    bytes: usize,
}

impl At {
    /// Which event of that name, from 1.
    pub fn nth(self, nth: u32) -> Self {
        Self { nth, ..self }
    }

    /// Some bytes further on, inside of what follows.
    pub fn and_bytes(self, bytes: usize) -> Self {
        Self { bytes, ..self }
    }

    pub fn end(self) -> Cut {
        self.cut(How::End)
    }

    pub fn close(self) -> Cut {
        self.cut(How::Close)
    }

    pub fn reset(self) -> Cut {
        self.cut(How::Reset)
    }

    pub fn stall(self) -> Cut {
        self.cut(How::Stall)
    }

    pub fn ping(self, every: Duration) -> Cut {
        self.cut(How::Ping(every))
    }

    pub fn comment(self, every: Duration) -> Cut {
        self.cut(How::Comment(every))
    }

    fn cut(self, how: How) -> Cut {
        Cut { after: self.point, nth: self.nth, bytes: self.bytes, how }
    }
}

impl Part {
    pub fn gate(name: impl Into<String>) -> Self {
        Self::Wait(Wait::Gate(name.into()))
    }

    pub fn event(name: impl Into<String>, data: Value) -> Self {
        Self::Event { name: name.into(), data: Some(data) }
    }

    /// An event with its usual data.
    pub fn usual(name: impl Into<String>) -> Self {
        Self::Event { name: name.into(), data: None }
    }

    pub fn raw(bytes: impl Into<Bytes>) -> Self {
        Self::Raw(bytes.into())
    }

    pub(crate) fn error_event(kind: &str, message: &str) -> Self {
        let data = json!({"type": "error", "error": {"type": kind, "message": message}});
        Self::event("error", data)
    }
}

/// Content, in the order of the calls.
impl Reply {
    pub fn part(self, part: Part) -> Self {
        self.answer(|answer| answer.parts.push(part))
    }

    pub fn say(self, text: impl Into<String>) -> Self {
        self.part(Part::Text(text.into()))
    }

    pub fn think(self, text: impl Into<String>) -> Self {
        self.part(Part::Thinking { text: text.into(), signature: None })
    }

    pub fn call(self, tool: impl Into<String>, input: Value) -> Self {
        self.part(Part::Tool { name: tool.into(), input: ToolInput::Json(input), id: None })
    }

    pub fn call_as(self, id: impl Into<String>, tool: impl Into<String>, input: Value) -> Self {
        let id = Some(id.into());
        self.part(Part::Tool { name: tool.into(), input: ToolInput::Json(input), id })
    }

    /// A call whose input is sent as it is, valid JSON or not.
    pub fn call_raw(self, tool: impl Into<String>, input: impl Into<String>) -> Self {
        self.part(Part::Tool { name: tool.into(), input: ToolInput::Raw(input.into()), id: None })
    }

    /// The stream waits here for the gate.
    pub fn gate(self, name: impl Into<String>) -> Self {
        self.part(Part::gate(name))
    }

    pub fn pause(self, pause: Duration) -> Self {
        self.part(Part::Wait(Wait::Pause(pause)))
    }

    pub fn stop(self, reason: impl Into<String>) -> Self {
        self.answer(|answer| answer.stop = ScriptedStop::Is(Some(reason.into())))
    }

    pub fn stop_null(self) -> Self {
        self.answer(|answer| answer.stop = ScriptedStop::Is(None))
    }

    pub fn stop_details(self, details: Value) -> Self {
        self.answer(|answer| answer.stop_details = Some(details))
    }

    pub fn usage(self, usage: UsageNumbers) -> Self {
        self.answer(|answer| answer.usage = usage)
    }

    /// Content makes the reply an answer, whatever it was before.
    fn answer(mut self, change: impl FnOnce(&mut ScriptedAnswer)) -> Self {
        let mut answer = match self.body {
            ReplyBody::Answer(answer) => answer,
            _ => Box::default(),
        };
        change(&mut answer);
        self.body = ReplyBody::Answer(answer);
        self
    }
}

/// When, how and how not.
impl Reply {
    /// The reply waits for the gate before its first byte.
    pub fn due_at(mut self, gate: impl Into<String>) -> Self {
        self.due.push(Wait::Gate(gate.into()));
        self
    }

    pub fn delay(mut self, delay: Duration) -> Self {
        self.due.push(Wait::Pause(delay));
        self
    }

    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }

    /// Type and message of an error reply.
    pub fn error(mut self, kind: impl Into<String>, message: impl Into<String>) -> Self {
        if let ReplyBody::Error { kind: old_kind, message: old_message, .. } = &mut self.body {
            (*old_kind, *old_message) = (Some(kind.into()), Some(message.into()));
        }
        self
    }

    /// A body of any kind in place of what there was.
    pub fn http(status: u16, content_type: impl Into<String>, bytes: impl Into<Bytes>) -> Self {
        let body =
            ReplyBody::Http { status, content_type: content_type.into(), bytes: bytes.into() };
        Self { body, ..Self::default() }
    }

    pub fn pace(mut self, pace: Duration) -> Self {
        self.delivery.pace = Some(pace);
        self
    }

    /// Bytes per write.
    pub fn chunk(mut self, bytes: usize) -> Self {
        self.delivery.chunk = Some(bytes);
        self
    }

    /// Characters per delta.
    pub fn delta(mut self, chars: usize) -> Self {
        self.delivery.delta = Some(chars);
        self
    }

    pub fn cut(mut self, cut: Cut) -> Self {
        self.cut = Some(cut);
        self
    }

    pub fn insert(mut self, at: At, part: Part) -> Self {
        self.insert.push(Insert { after: at.point, nth: at.nth, part });
        self
    }

    /// An `error` event at that point; the stream ends with it.
    pub fn error_event(self, at: At, kind: &str, message: &str) -> Self {
        self.insert(at, Part::error_event(kind, message)).cut(after("error").end())
    }
}

impl ScriptStep {
    pub fn new(reply: Reply) -> Self {
        Self::from_source(ScriptSource::Fixed(Box::new(reply)))
    }

    /// A step answered by Rust code, which may block.
    pub fn by(compute: impl Fn(&Recorded) -> Reply + Send + Sync + 'static) -> Self {
        Self::from_source(ScriptSource::Computed(Arc::new(compute)))
    }

    fn from_source(source: ScriptSource) -> Self {
        Self { when: Match::default(), expect: Match::default(), times: Times::Count(1), source }
    }
}

/// Steps in order; `times`, `forever`, `when` and `expect` speak of the step before.
impl Script {
    pub fn new() -> Self {
        Self::default()
    }

    pub fn step(mut self, step: ScriptStep) -> Self {
        self.steps.push(step);
        self
    }

    pub fn answer(self, reply: Reply) -> Self {
        self.step(ScriptStep::new(reply))
    }

    pub fn status(self, code: u16) -> Self {
        self.answer(status(code))
    }

    pub fn by(self, compute: impl Fn(&Recorded) -> Reply + Send + Sync + 'static) -> Self {
        self.step(ScriptStep::by(compute))
    }

    pub fn times(self, times: u32) -> Self {
        self.last("times", |step| step.times = Times::Count(times))
    }

    pub fn forever(self) -> Self {
        self.last("forever", |step| step.times = Times::Forever)
    }

    pub fn when(self, when: Match) -> Self {
        self.last("when", |step| step.when = when)
    }

    pub fn expect(self, expect: Match) -> Self {
        self.last("expect", |step| step.expect = expect)
    }

    pub fn on_end(mut self, on_end: OnEnd) -> Self {
        self.on_end = on_end;
        self
    }

    /// What a token of the models whose names begin so costs.
    pub fn price(mut self, model: impl Into<String>, prices: Prices) -> Self {
        self.prices.push((model.into(), prices));
        self
    }

    pub fn rules(mut self, change: impl FnOnce(&mut ServerRules)) -> Self {
        change(&mut self.rules);
        self
    }

    fn last(mut self, word: &str, change: impl FnOnce(&mut ScriptStep)) -> Self {
        match self.steps.last_mut() {
            Some(step) => change(step),
            None => self.mistakes.push(format!("`{word}` was used before any step")),
        }
        self
    }
}
