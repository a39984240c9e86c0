//! An answer with everything settled: ids, signatures, stop reason and usage.

use std::collections::HashSet;

use serde_json::{Value, json};

use crate::script::{Part, ScriptedAnswer, ScriptedStop, ToolInput, UsageNumbers};

/// Counters of the ids a server gives out.
#[derive(Debug, Default)]
pub(crate) struct Ids {
    messages: u64,
    tools: u64,
}

impl Ids {
    fn message(&mut self) -> String {
        self.messages += 1;
        format!("msg_{:012}", self.messages)
    }

    /// Passes over ids in use: a conversation may come from another server, or from before a restart.
    fn tool(&mut self, taken: &HashSet<String>) -> String {
        loop {
            self.tools += 1;
            let id = format!("toolu_{:012}", self.tools);
            if !taken.contains(&id) {
                return id;
            }
        }
    }
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct ReplyUsage {
    pub input: u64,
    pub cache_read: u64,
    pub cache_write_5m: u64,
    pub cache_write_1h: u64,
}

pub(crate) struct Resolved {
    pub id: String,
    pub model: String,
    /// Tools have ids, thinking has signatures.
    pub parts: Vec<Part>,
    pub envelope: bool,
    pub stop: Option<String>,
    pub stop_sequence: Option<String>,
    pub stop_details: Option<Value>,
    pub usage: ReplyUsage,
    pub output_tokens: u64,
}

pub(crate) fn resolve(
    answer: &ScriptedAnswer,
    ids: &mut Ids,
    taken: &HashSet<String>,
    model: &str,
    usage: ReplyUsage,
    output_per_byte: f64,
) -> Resolved {
    let parts: Vec<Part> =
        answer.parts.iter().map(|part| settled(part.clone(), ids, taken)).collect();
    let calls = parts.iter().any(|part| matches!(part, Part::Tool { .. }));
    let stop = match &answer.stop {
        ScriptedStop::ByContent => Some(if calls { "tool_use" } else { "end_turn" }.to_owned()),
        ScriptedStop::Is(stop) => stop.clone(),
    };
    let output = (parts.iter().map(written).sum::<u64>() as f64 * output_per_byte) as u64;
    Resolved {
        id: ids.message(),
        model: model.to_owned(),
        parts,
        envelope: answer.envelope,
        stop,
        stop_sequence: answer.stop_sequence.clone(),
        stop_details: answer.stop_details.clone(),
        usage: replaced(usage, &answer.usage),
        output_tokens: answer.usage.output_tokens.unwrap_or(output.max(1)),
    }
}

/// A resolution for checking only.
pub(super) fn dry(answer: &ScriptedAnswer) -> Resolved {
    resolve(answer, &mut Ids::default(), &HashSet::new(), "", ReplyUsage::default(), 0.0)
}

fn settled(part: Part, ids: &mut Ids, taken: &HashSet<String>) -> Part {
    match part {
        Part::Tool { name, input, id: None } => {
            Part::Tool { name, input, id: Some(ids.tool(taken)) }
        }
        Part::Thinking { text, signature: None } => {
            let signature = Some(signature(&text));
            Part::Thinking { text, signature }
        }
        part => part,
    }
}

/// The server's own signature: a hash of the text, so that a restarted server knows it again.
pub(crate) fn signature(text: &str) -> String {
    const BASIS: u64 = 0xcbf2_9ce4_8422_2325;
    const PRIME: u64 = 0x0100_0000_01b3;
    let hash = text.bytes().fold(BASIS, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(PRIME));
    format!("scripted-{hash:016x}")
}

fn written(part: &Part) -> u64 {
    let bytes = match part {
        Part::Text(text) | Part::Redacted(text) | Part::Thinking { text, .. } => text.len(),
        Part::Tool { name, input, .. } => name.len() + input.text().len(),
        Part::Block { block, .. } => block.to_string().len(),
        Part::Flood { bytes, .. } => return *bytes,
        _ => 0,
    };
    bytes as u64
}

fn replaced(usage: ReplyUsage, numbers: &UsageNumbers) -> ReplyUsage {
    ReplyUsage {
        input: numbers.input_tokens.unwrap_or(usage.input),
        cache_read: numbers.cache_read_input_tokens.unwrap_or(usage.cache_read),
        cache_write_5m: numbers.cache_creation_input_tokens.unwrap_or(usage.cache_write_5m),
        cache_write_1h: match numbers.cache_creation_input_tokens {
            Some(_) => 0,
            None => usage.cache_write_1h,
        },
    }
}

impl ToolInput {
    pub(crate) fn text(&self) -> String {
        match self {
            Self::Json(value) => value.to_string(),
            Self::Raw(text) => text.clone(),
        }
    }

    /// The object a plain (not streamed) message shows; broken JSON shows as an empty object.
    pub(crate) fn object(&self) -> Value {
        match self {
            Self::Json(value) => value.clone(),
            Self::Raw(text) => serde_json::from_str(text)
                .ok()
                .filter(Value::is_object)
                .unwrap_or_else(|| json!({})),
        }
    }
}

impl Resolved {
    pub(crate) fn usage_json(&self, output_tokens: u64) -> Value {
        let ReplyUsage { input, cache_read, cache_write_5m, cache_write_1h } = self.usage;
        json!({
            "input_tokens": input,
            "cache_creation_input_tokens": cache_write_5m + cache_write_1h,
            "cache_read_input_tokens": cache_read,
            "cache_creation": {
                "ephemeral_5m_input_tokens": cache_write_5m,
                "ephemeral_1h_input_tokens": cache_write_1h,
            },
            "output_tokens": output_tokens,
            "service_tier": "standard",
        })
    }
}
