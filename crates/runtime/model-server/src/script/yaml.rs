//! From the file's shape to a script. Every complaint names the line of the step or part.

use std::time::Duration;

use bytes::Bytes;
use serde_json::Value;
use serde_saphyr::Spanned;

use super::file_shape::{RawCut, RawFraming, RawHow, RawPart, RawPrices, RawScript, RawStep};
use super::{
    Cut, Framing, How, Insert, ModelLimits, OnEnd, Part, Point, Reply, ReplyBody, ReplyDelivery,
    Script, ScriptSource, ScriptStep, ScriptedAnswer, ScriptedStop, ServerRules, Times, ToolInput,
    UsageRule, Wait,
};
use crate::billing::Prices;
use crate::error::ScriptError;

const MOST_REPEATS: u32 = 100_000;
const DEFAULT_TEXT: &str = "This answer is part of a script and says nothing else.";
const END_TEXT: &str = "The script is at its end.";

type Checked<T> = Result<T, ScriptError>;

impl Script {
    /// Reads a script file. JSON is a subset of the format.
    pub fn from_yaml(source: &str) -> Result<Self, ScriptError> {
        let options = serde_saphyr::options! { strict_booleans: true };
        let raw: RawScript = ostler_yaml::read(source, options)
            .map_err(|error| ScriptError::at(error.line as u64, error.what))?;
        let mut script = Self {
            model: raw.model,
            usage: UsageRule {
                input_per_byte: raw.usage.input_per_byte.unwrap_or(0.25),
                output_per_byte: raw.usage.output_per_byte.unwrap_or(0.25),
                cache: raw.usage.cache.unwrap_or(true),
                cache_minimum: raw.usage.cache_minimum,
            },
            prices: raw.prices.into_iter().map(prices).collect(),
            on_end: raw.on_end.map(on_end).transpose()?.unwrap_or_default(),
            ..Self::default()
        };
        script.rules = ServerRules {
            auth: raw.rules.auth.unwrap_or(true),
            version: raw.rules.version.unwrap_or(true),
            mid_system: raw.rules.mid_system.unwrap_or(false),
            alternate: raw.rules.alternate.unwrap_or(false),
            signatures: raw.rules.signatures.unwrap_or(true),
            signatures_per_model: raw.rules.signatures_per_model.unwrap_or(false),
            refuse_fields: raw.rules.refuse_fields,
            refuse_betas: raw.rules.refuse_betas,
            allow_fields: raw.rules.allow_fields,
            window: raw.rules.window,
        };
        let usual = ModelLimits::default();
        script.limits = ModelLimits {
            body_bytes: raw.limits.body_bytes.unwrap_or(usual.body_bytes),
            connections: raw.limits.connections.unwrap_or(usual.connections),
            hold: raw.limits.hold_ms.map_or(usual.hold, Duration::from_millis),
            idle: raw.limits.idle_ms.map_or(usual.idle, Duration::from_millis),
            record_bytes: raw.limits.record_bytes.unwrap_or(usual.record_bytes),
        };
        for (number, raw_step) in (1..).zip(raw.steps) {
            let line = raw_step.referenced.line();
            let step = step(raw_step.value).map_err(|error| error.or_at(line))?;
            super::check::step(number, &step).map_err(|error| error.or_at(line))?;
            script.steps.push(step);
        }
        script.check()?;
        Ok(script)
    }
}

fn on_end(raw: Spanned<Value>) -> Checked<OnEnd> {
    let line = raw.referenced.line();
    match &raw.value {
        Value::String(word) if word == "error" => Ok(OnEnd::Error),
        Value::String(word) if word == "repeat_last" => Ok(OnEnd::RepeatLast),
        Value::String(word) if word == "text" => Ok(OnEnd::Text(END_TEXT.into())),
        Value::Object(map) if map.len() == 1 => match map.get("text") {
            Some(Value::String(text)) => Ok(OnEnd::Text(text.clone())),
            _ => Err(ScriptError::at(line, "`on_end` as a map has one key: `text`")),
        },
        _ => Err(ScriptError::at(
            line,
            "`on_end` is `error`, `repeat_last`, `text` or a map with `text`",
        )),
    }
}

fn step(mut raw: RawStep) -> Checked<ScriptStep> {
    let times = match (raw.forever, raw.times) {
        (true, None) => Times::Forever,
        (true, Some(_)) => {
            return Err(ScriptError::new("`times` and `forever` exclude each other"));
        }
        (false, times) => Times::Count(repeats(times)?),
    };
    let due = raw.delay_ms.map(pause).into_iter().chain(raw.gate.take().map(Wait::Gate)).collect();
    let (when, expect) = (std::mem::take(&mut raw.when), std::mem::take(&mut raw.expect));
    let delivery = ReplyDelivery {
        pace: raw.pace_ms.map(Duration::from_millis),
        chunk: positive("chunk", raw.chunk)?,
        delta: positive("delta", raw.delta)?,
        framing: raw.framing.take().map(framing).unwrap_or_default(),
    };
    let mut headers: Vec<_> = std::mem::take(&mut raw.headers).into_iter().collect();
    let (insert, cut) = breaks(&mut raw)?;
    let broken = cut.is_some() || !insert.is_empty();
    let body = body(raw, broken, &mut headers)?;
    let reply = Reply { due, headers, body, delivery, insert, cut };
    Ok(ScriptStep { when, expect, times, source: ScriptSource::Fixed(Box::new(reply)) })
}

fn breaks(raw: &mut RawStep) -> Checked<(Vec<Insert>, Option<Cut>)> {
    let mut inserts = Vec::new();
    for raw_part in std::mem::take(&mut raw.insert) {
        let line = raw_part.referenced.line();
        let after = raw_part.value.after.clone();
        let nth = positive("nth", raw_part.value.nth)?.unwrap_or(1);
        let Some(after) = after else {
            return Err(ScriptError::at(line, "an inserted part needs `after`"));
        };
        let parts = part(raw_part.value, true).map_err(|error| error.or_at(line))?;
        let place = |part| Insert { after: Point::from(after.as_str()), nth, part };
        inserts.extend(parts.into_iter().map(place));
    }
    let mut cut = raw.cut.take().map(cut_of).transpose()?;
    if let Some(event) = raw.error_event.take() {
        if cut.is_some() {
            return Err(ScriptError::new("`error_event` ends the stream; `cut` cannot be added"));
        }
        let message = event.message.as_deref().unwrap_or("Scripted error");
        inserts.push(Insert {
            after: Point::from(event.after.as_deref().unwrap_or("headers")),
            nth: positive("nth", event.nth)?.unwrap_or(1),
            part: Part::error_event(&event.kind, message),
        });
        cut = Some(Cut { after: Point::from("error"), nth: 1, bytes: 0, how: How::End });
    }
    Ok((inserts, cut))
}

fn cut_of(raw: Spanned<RawCut>) -> Checked<Cut> {
    let line = raw.referenced.line();
    let raw = raw.value;
    let every = Duration::from_millis(raw.every_ms.unwrap_or(1000).max(1));
    let how = match raw.how {
        RawHow::End => How::End,
        RawHow::Close => How::Close,
        RawHow::Reset => How::Reset,
        RawHow::Stall => How::Stall,
        RawHow::Ping => How::Ping(every),
        RawHow::Comment => How::Comment(every),
    };
    if raw.every_ms.is_some() && !matches!(raw.how, RawHow::Ping | RawHow::Comment) {
        return Err(ScriptError::at(line, "`every_ms` belongs to `how: ping` and `how: comment`"));
    }
    let nth = positive("nth", raw.nth).map_err(|error| error.or_at(line))?.unwrap_or(1);
    Ok(Cut { after: Point::from(raw.after.as_str()), nth, bytes: raw.bytes, how })
}

fn body(raw: RawStep, broken: bool, headers: &mut Vec<(String, String)>) -> Checked<ReplyBody> {
    let http = raw.status.is_some()
        || raw.error.is_some()
        || raw.body.is_some()
        || raw.json.is_some()
        || raw.content_type.is_some();
    let content = raw.think.is_some()
        || raw.say.is_some()
        || raw.calls.is_some()
        || raw.blocks.is_some()
        || raw.events.is_some();
    let tail = raw.stop.is_some()
        || raw.stop_sequence.is_some()
        || raw.stop_details.is_some()
        || raw.usage.is_some();
    let verbatim = raw.raw.is_some() || raw.raw_hex.is_some();
    let kinds = [http, content || tail, verbatim, raw.redirect.is_some()];
    match kinds.iter().filter(|kind| **kind).count() {
        0 if broken => Ok(ReplyBody::Answer(Box::new(ScriptedAnswer {
            parts: vec![Part::Text(DEFAULT_TEXT.into())],
            ..ScriptedAnswer::default()
        }))),
        0 => Err(ScriptError::new(
            "the step is empty; give it `say`, `calls`, `blocks`, `events`, `status`, `raw`, `redirect` or `cut`",
        )),
        1 if http => http_body(raw),
        1 if verbatim => Ok(ReplyBody::Raw(verbatim_bytes(raw.raw, raw.raw_hex)?)),
        1 if content || tail => answer(raw).map(|answer| ReplyBody::Answer(Box::new(answer))),
        1 => {
            let redirect = raw.redirect.ok_or_else(|| ScriptError::new("`redirect` is empty"))?;
            headers.push(("location".into(), redirect.to));
            let (status, content_type) = (redirect.status, String::new());
            Ok(ReplyBody::Http { status, content_type, bytes: Bytes::new() })
        }
        _ => Err(ScriptError::new(
            "the step mixes kinds: an answer, an HTTP body, `raw` and `redirect` exclude each other",
        )),
    }
}

fn http_body(raw: RawStep) -> Checked<ReplyBody> {
    let status = raw.status.unwrap_or(200);
    let (bytes, usual) = match (raw.body, raw.json) {
        (Some(_), Some(_)) => {
            return Err(ScriptError::new("`body` and `json` exclude each other"));
        }
        (Some(body), None) => (Bytes::from(body), "text/plain"),
        (None, Some(json)) => (Bytes::from(json.to_string()), "application/json"),
        (None, None) if matches!(status, 204 | 304) => (Bytes::new(), ""),
        (None, None) if status < 400 => {
            return Err(ScriptError::new(format!("status {status} needs `body` or `json`")));
        }
        (None, None) => {
            let (kind, message) = raw.error.map(|error| (error.kind, error.message)).unzip();
            let (kind, message) = (kind.flatten(), message.flatten());
            return Ok(ReplyBody::Error { status, kind, message });
        }
    };
    if raw.error.is_some() {
        return Err(ScriptError::new(
            "`error` describes the usual body; `body` or `json` replaces it",
        ));
    }
    let content_type = raw.content_type.unwrap_or_else(|| usual.into());
    Ok(ReplyBody::Http { status, content_type, bytes })
}

fn answer(raw: RawStep) -> Checked<ScriptedAnswer> {
    let simple = raw.think.is_some() || raw.say.is_some() || raw.calls.is_some();
    if [simple, raw.blocks.is_some(), raw.events.is_some()].iter().filter(|kind| **kind).count() > 1
    {
        return Err(ScriptError::new(
            "`blocks`, `events` and the short form (`think`, `say`, `calls`) exclude each other",
        ));
    }
    let mut parts = Vec::new();
    if let Some(think) = raw.think {
        let thinking = |text| Part::Thinking { text, signature: think.signature };
        parts.extend(think.text.map(thinking));
        parts.extend(think.redacted.map(Part::Redacted));
    }
    parts.extend(raw.say.map(Part::Text));
    let envelope = raw.events.is_none();
    for list in [raw.calls, raw.blocks, raw.events].into_iter().flatten() {
        for raw_part in list {
            let line = raw_part.referenced.line();
            parts.extend(part(raw_part.value, false).map_err(|error| error.or_at(line))?);
        }
    }
    Ok(ScriptedAnswer {
        parts,
        envelope,
        stop: raw.stop.map(ScriptedStop::Is).unwrap_or_default(),
        stop_sequence: raw.stop_sequence,
        stop_details: raw.stop_details,
        usage: raw.usage.unwrap_or_default(),
    })
}

/// One entry of a list of parts; `times` and `ping` make several of it.
fn part(raw: RawPart, placed: bool) -> Checked<Vec<Part>> {
    if !placed && (raw.after.is_some() || raw.nth.is_some()) {
        return Err(ScriptError::new("`after` and `nth` belong to `insert`"));
    }
    let stray = [
        (raw.signature.is_some() && raw.think.is_none(), "signature", "think"),
        (raw.input.is_some() && raw.tool.is_none(), "input", "tool"),
        (raw.input_raw.is_some() && raw.tool.is_none(), "input_raw", "tool"),
        (raw.id.is_some() && raw.tool.is_none(), "id", "tool"),
        (raw.deltas.is_some() && raw.block.is_none(), "deltas", "block"),
        (raw.data.is_some() && raw.event.is_none(), "data", "event"),
        (raw.every_ms.is_some() && raw.ping.is_none(), "every_ms", "ping"),
    ];
    if let Some((_, key, owner)) = stray.iter().find(|(stray, ..)| *stray) {
        return Err(ScriptError::new(format!("`{key}` belongs to `{owner}`")));
    }
    if raw.input.is_some() && raw.input_raw.is_some() {
        return Err(ScriptError::new("`input` and `input_raw` exclude each other"));
    }
    let times = repeats(raw.times)?;
    let input = match raw.input_raw {
        Some(text) => ToolInput::Raw(text),
        None => ToolInput::Json(Value::Object(raw.input.unwrap_or_default())),
    };
    let verbatim = match (raw.raw, raw.raw_hex) {
        (None, None) => None,
        (text, hex) => Some(Part::Raw(verbatim_bytes(text, hex)?)),
    };
    let (signature, id, deltas, data) =
        (raw.signature, raw.id, raw.deltas.unwrap_or_default(), raw.data);
    let kinds = [
        raw.text.map(Part::Text),
        raw.think.map(|text| Part::Thinking { text, signature }),
        raw.redacted.map(Part::Redacted),
        raw.tool.map(|name| Part::Tool { name, input, id }),
        raw.block.map(|block| Part::Block { block, deltas }),
        raw.event.map(|name| Part::Event { name, data }),
        raw.comment.map(Part::Comment),
        verbatim,
        raw.pause_ms.map(|ms| Part::Wait(pause(ms))),
        raw.gate.map(|name| Part::Wait(Wait::Gate(name))),
        raw.flood.map(|flood| Part::Flood { bytes: flood.bytes, kind: flood.kind }),
    ];
    let mut given = kinds.into_iter().flatten();
    match (given.next(), given.next(), raw.ping) {
        (Some(part), None, None) => Ok(vec![part; times as usize]),
        (None, None, Some(count)) => Ok(pings(repeats(Some(count))?, raw.every_ms)),
        _ => Err(ScriptError::new(
            "a part is exactly one of text, think, redacted, tool, block, event, ping, comment, raw, raw_hex, pause_ms, gate, flood",
        )),
    }
}

fn pings(count: u32, every_ms: Option<u64>) -> Vec<Part> {
    let ping = Part::Event { name: "ping".into(), data: None };
    let wait = every_ms.map(|ms| Part::Wait(pause(ms)));
    (0..count).flat_map(|_| wait.clone().into_iter().chain([ping.clone()])).collect()
}

fn framing(raw: RawFraming) -> Framing {
    let usual = Framing::default();
    Framing {
        newline: raw.newline.unwrap_or(usual.newline),
        space: raw.space.unwrap_or(usual.space),
        split_data: raw.split_data.unwrap_or(usual.split_data),
        extra_fields: raw.extra_fields.unwrap_or(usual.extra_fields),
        bom: raw.bom.unwrap_or(usual.bom),
    }
}

fn pause(ms: u64) -> Wait {
    Wait::Pause(Duration::from_millis(ms))
}

fn repeats(times: Option<u32>) -> Checked<u32> {
    match positive("times", times)?.unwrap_or(1) {
        times if times <= MOST_REPEATS => Ok(times),
        times => Err(ScriptError::new(format!("{times} repeats are more than {MOST_REPEATS}"))),
    }
}

fn positive<T: PartialEq + From<u8>>(key: &str, value: Option<T>) -> Checked<Option<T>> {
    match value {
        Some(zero) if zero == T::from(0) => {
            Err(ScriptError::new(format!("`{key}` must be at least 1")))
        }
        value => Ok(value),
    }
}

fn verbatim_bytes(text: Option<String>, hex: Option<String>) -> Checked<Bytes> {
    match (text, hex) {
        (Some(text), None) => Ok(Bytes::from(text)),
        (None, Some(hex)) => {
            let digits: Vec<u32> = hex
                .chars()
                .filter(|c| !c.is_ascii_whitespace())
                .map(|c| c.to_digit(16))
                .collect::<Option<_>>()
                .filter(|digits: &Vec<u32>| digits.len().is_multiple_of(2))
                .ok_or_else(|| ScriptError::new("`raw_hex` holds pairs of hexadecimal digits"))?;
            let byte = |pair: &[u32]| pair.iter().fold(0, |byte, digit| byte * 16 + *digit as u8);
            Ok(digits.chunks(2).map(byte).collect())
        }
        _ => Err(ScriptError::new("`raw` and `raw_hex` exclude each other")),
    }
}

fn prices((model, raw): (String, RawPrices)) -> (String, Prices) {
    let usual = Prices::new(raw.input, raw.output);
    let prices = Prices {
        cache_write: raw.cache_write.unwrap_or(usual.cache_write),
        cache_write_1h: raw.cache_write_1h.unwrap_or(usual.cache_write_1h),
        cache_read: raw.cache_read.unwrap_or(usual.cache_read),
        ..usual
    };
    (model, prices)
}
