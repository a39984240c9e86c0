//! Frames → model events. The order of the provider's events is checked: blocks come one after the other, and an
//! answer is complete with `message_stop` and not before. Types we do not know are skipped.

use super::open_block::{BLOCKS, DELTAS, OpenBlock};
use super::usage::Counter;
use super::wire::{
    BlockDelta, BlockStart, BlockStop, Delta, ErrorEvent, MessageDelta, MessageStart, StopDelta,
    WireEventKind,
};
use super::{error, limits};
use crate::plain_text::{one_line, without_markup};
use crate::sse::SseFrame;
use ostler_core::model::{ModelError, ModelErrorKind, ModelEvent, StopReason};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

/// What one answer may hold, its events counted as they were sent.
#[derive(Clone, Copy, Debug)]
pub struct ParserBounds {
    pub bytes: usize,
    pub blocks: usize,
}

impl Default for ParserBounds {
    fn default() -> Self {
        ParserBounds { bytes: 64 << 20, blocks: 10_000 }
    }
}

#[derive(Debug, Default)]
pub struct Parser {
    bounds: ParserBounds,
    raw: bool,
    request_id: Option<String>,
    phase: ParserPhase,
    open: Option<OpenMessage>,
    /// The index of the last block that was started.
    last_index: Option<u64>,
    blocks: usize,
    bytes: usize,
    usage: Counter,
    /// Bytes of a block's events were not UTF-8.
    damaged: Option<String>,
    stop: Option<StopReason>,
    last_event: String,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum ParserPhase {
    #[default]
    Fresh,
    Started,
    /// A stop reason was given: no more blocks.
    Stopping,
    Ended,
}

#[derive(Debug)]
struct OpenMessage {
    index: u64,
    block: OpenBlock,
}

impl Parser {
    pub fn new(raw_events: bool, request_id: Option<String>) -> Self {
        Parser { raw: raw_events, request_id, ..Parser::default() }
    }

    #[cfg(test)]
    #[must_use]
    pub fn within(self, bounds: ParserBounds) -> Self {
        Parser { bounds, ..self }
    }

    /// Whether the answer has begun: from here on a failure is no longer retried by us.
    pub fn is_started(&self) -> bool {
        self.phase != ParserPhase::Fresh
    }

    pub fn is_ended(&self) -> bool {
        self.phase == ParserPhase::Ended
    }

    pub fn push(&mut self, frame: &SseFrame, out: &mut Vec<ModelEvent>) -> Result<(), ModelError> {
        if self.is_ended() {
            return Ok(());
        }
        self.grow(frame.data.len())?;
        let Some(name) = known_name(frame)? else {
            self.pass_raw(frame, out);
            return Ok(());
        };
        if name == "message_start" && self.phase == ParserPhase::Fresh {
            // The raw event comes before what it means, and nothing raw before the answer has begun.
            let start: MessageStart = read(name, &frame.data)?;
            self.phase = ParserPhase::Started;
            self.pass_raw(frame, out);
            self.start_message(start, out);
        } else if name != "error" {
            self.pass_raw(frame, out);
            self.take(name, &frame.data, out)?;
            if frame.lossy {
                self.report_damage(out);
            }
        } else {
            return Err(stream_error(&frame.data));
        }
        self.last_event = name.to_owned();
        Ok(())
    }

    /// The body is over. An answer without its end is an error, never a short success.
    pub fn end(&self) -> Result<(), ModelError> {
        let message = match self.phase {
            ParserPhase::Ended => return Ok(()),
            ParserPhase::Fresh if self.last_event.is_empty() => "the answer was empty".to_owned(),
            ParserPhase::Fresh => "the stream ended before the answer began".to_owned(),
            _ => format!(
                "the stream broke off after `{}`, before the answer was complete",
                self.last_event
            ),
        };
        Err(ModelError::new(ModelErrorKind::Unavailable, message))
    }

    fn take(
        &mut self,
        name: &'static str,
        data: &str,
        out: &mut Vec<ModelEvent>,
    ) -> Result<(), ModelError> {
        match name {
            "ping" => Ok(()),
            "message_start" => Err(out_of_order(name, "the message has begun already")),
            _ if !self.is_started() => Err(out_of_order(name, "no message has begun")),
            "content_block_start" => self.start_block(name, read(name, data)?, out),
            "content_block_delta" => self.delta(name, read(name, data)?, out),
            "content_block_stop" => self.stop_block(name, read(name, data)?, out),
            _ if self.open.is_some() => Err(out_of_order(name, "a content block is still open")),
            "message_delta" => {
                self.message_delta(read(name, data)?);
                Ok(())
            }
            _ => {
                self.phase = ParserPhase::Ended;
                let stop = self.stop.take().unwrap_or(StopReason::Other(String::new()));
                out.extend(self.usage.complaint().map(ModelEvent::Note));
                out.push(ModelEvent::Ended { stop, usage: self.usage.at_end() });
                Ok(())
            }
        }
    }

    fn start_message(&mut self, start: MessageStart, out: &mut Vec<ModelEvent>) {
        let message = start.message.unwrap_or_default();
        self.usage.add(message.usage.as_ref(), false);
        out.push(ModelEvent::Started {
            message_id: message.id.unwrap_or_default(),
            request_id: self.request_id.take(),
            usage: self.usage.so_far(),
        });
    }

    fn start_block(
        &mut self,
        name: &str,
        start: BlockStart<'_>,
        out: &mut Vec<ModelEvent>,
    ) -> Result<(), ModelError> {
        if self.phase == ParserPhase::Stopping {
            return Err(out_of_order(name, "the message has stopped"));
        }
        if self.open.is_some() {
            return Err(out_of_order(name, "the block before it is still open"));
        }
        if self.last_index.is_some_and(|last| start.index <= last) {
            return Err(out_of_order(name, &format!("block {} was there before", start.index)));
        }
        self.blocks += 1;
        if self.blocks > self.bounds.blocks {
            return Err(protocol(format!(
                "the answer has more than {} blocks",
                self.bounds.blocks
            )));
        }
        self.last_index = Some(start.index);
        let block = OpenBlock::started(read_known(name, start.content_block.get(), &BLOCKS)?, out);
        self.open = Some(OpenMessage { index: start.index, block });
        Ok(())
    }

    fn delta(
        &mut self,
        name: &str,
        event: BlockDelta<'_>,
        out: &mut Vec<ModelEvent>,
    ) -> Result<(), ModelError> {
        let Some(open) = self.open.as_mut().filter(|open| open.index == event.index) else {
            return Err(out_of_order(name, &format!("block {} is not open", event.index)));
        };
        let delta: Delta = read_known(name, event.delta.get(), &DELTAS)?;
        open.block.append(delta, out).map_err(|delta| {
            protocol(format!("`{name}` of type `{delta}` does not belong to block {}", event.index))
        })
    }

    fn stop_block(
        &mut self,
        name: &str,
        event: BlockStop,
        out: &mut Vec<ModelEvent>,
    ) -> Result<(), ModelError> {
        match self.open.take() {
            Some(open) if open.index == event.index => {
                out.extend(open.block.finish());
                Ok(())
            }
            _ => Err(out_of_order(name, &format!("block {} is not open", event.index))),
        }
    }

    fn message_delta(&mut self, event: MessageDelta) {
        self.usage.add(event.usage.as_ref(), true);
        let delta = event.delta.unwrap_or_default();
        if delta.stop_reason.is_some() {
            self.phase = ParserPhase::Stopping;
            self.stop = Some(stop_reason(delta));
        }
    }

    /// A block whose bytes were replaced is not what the model wrote, and a person has to know before they trust a file
    /// that was made from it. Said once for each block.
    fn report_damage(&mut self, out: &mut Vec<ModelEvent>) {
        let what = match self.open.as_ref().map(|open| &open.block) {
            Some(OpenBlock::ToolUse { name, .. }) => format!("the input of the call {name}"),
            Some(_) => "the answer".to_owned(),
            None => return,
        };
        let key = format!("{what} {:?}", self.last_index);
        if self.damaged.as_ref() != Some(&key) {
            self.damaged = Some(key);
            out.push(ModelEvent::Note(format!(
                "{what} arrived with bytes that are not UTF-8; each is replaced by \u{fffd}"
            )));
        }
    }

    fn grow(&mut self, size: usize) -> Result<(), ModelError> {
        self.bytes = self.bytes.saturating_add(size);
        match self.bytes > self.bounds.bytes {
            true => Err(protocol(format!("the answer is larger than {} bytes", self.bounds.bytes))),
            false => Ok(()),
        }
    }

    fn pass_raw(&self, frame: &SseFrame, out: &mut Vec<ModelEvent>) {
        if self.raw && self.is_started() {
            out.extend(raw_value(&frame.data).map(ModelEvent::Raw));
        }
    }
}

fn stop_reason(delta: StopDelta) -> StopReason {
    let reason = delta.stop_reason.unwrap_or_default();
    match reason.as_str() {
        "end_turn" => StopReason::EndTurn,
        "tool_use" => StopReason::ToolUse,
        "max_tokens" => StopReason::MaxTokens,
        "stop_sequence" => StopReason::StopSequence,
        "pause_turn" => StopReason::PauseTurn,
        "model_context_window_exceeded" => StopReason::WindowExceeded,
        "refusal" => {
            let details = delta.stop_details.unwrap_or_default();
            StopReason::Refusal { category: details.category, explanation: details.explanation }
        }
        _ => StopReason::Other(reason),
    }
}

const KNOWN: [&str; 8] = [
    "content_block_delta",
    "content_block_start",
    "content_block_stop",
    "message_start",
    "message_delta",
    "message_stop",
    "ping",
    "error",
];

/// The event's name: as the frame says, or as its data says. None for events that are not ours.
fn known_name(frame: &SseFrame) -> Result<Option<&'static str>, ModelError> {
    let known = |name: &str| KNOWN.into_iter().find(|known| *known == name);
    if let Some(name) = known(&frame.event) {
        return Ok(Some(name));
    }
    match serde_json::from_str::<WireEventKind>(&frame.data) {
        Ok(WireEventKind { r#type: Some(name) }) => Ok(known(&name)),
        Err(why) if frame.event.is_empty() => {
            Err(protocol(format!("an event of the stream without a name cannot be read: {why}")))
        }
        _ => Ok(None),
    }
}

fn read<'a, T: Deserialize<'a>>(name: &str, data: &'a str) -> Result<T, ModelError> {
    serde_json::from_str(data)
        .map_err(|why| protocol(format!("the event `{name}` of the stream cannot be read: {why}")))
}

/// What has a type we do not know counts as empty, whatever else it holds.
fn read_known<'a, T: Deserialize<'a> + Default>(
    name: &str,
    data: &'a str,
    known: &[&str],
) -> Result<T, ModelError> {
    let kind: WireEventKind = read(name, data)?;
    match kind.r#type {
        Some(kind) if known.contains(&kind.as_str()) => read(name, data),
        _ => Ok(T::default()),
    }
}

fn stream_error(data: &str) -> ModelError {
    let event: Option<ErrorEvent> = serde_json::from_str(data).ok();
    let error = event.and_then(|event| event.error).unwrap_or_default();
    let kind = error::kind(None, &error);
    let words = error.message.or(error.r#type).unwrap_or_else(|| "no reason given".into());
    let message = format!("the provider broke off the answer: {}", without_markup(&words));
    ModelError { limits: limits::of_refusal(kind, &words), ..ModelError::new(kind, message) }
}

fn out_of_order(name: &str, why: &str) -> ModelError {
    protocol(format!("the event `{name}` of the stream is out of order: {why}"))
}

fn protocol(message: String) -> ModelError {
    ModelError::new(ModelErrorKind::Protocol, one_line(&message))
}

/// Raw events are printed one per line, so none may hold a line end.
fn raw_value(data: &str) -> Option<Box<RawValue>> {
    if data.contains(['\n', '\r']) {
        let value: Value = serde_json::from_str(data).ok()?;
        return serde_json::value::to_raw_value(&value).ok();
    }
    RawValue::from_string(data.to_owned()).ok()
}

#[cfg(test)]
#[path = "parser_tests.rs"]
mod tests;

#[cfg(test)]
#[path = "damage_tests.rs"]
mod damage;
