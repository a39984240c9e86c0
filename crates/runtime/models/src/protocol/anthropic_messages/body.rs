//! A request as a list of byte slices. Nothing that was rendered before is rendered or copied again: cache marks
//! and left-out thinking only change where slices are cut.
//!
//! Order of keys: `model`, `stream`, `tools`, `system`, `messages`, then what may differ between requests. Without
//! its marks, each request up to its last block is a prefix of the next one.

use super::options::{BodyOptions, WireThinking};
use super::render::{self, Rendered};
use super::{KEY, cache};
use crate::protocol::Body;
use bytes::Bytes;
use ostler_core::ids::ModelId;
use ostler_core::message::Message;
use ostler_core::model::Request;
use ostler_core::view::{View, ViewItem};
use serde::Serialize;
use std::sync::Arc;

/// Tools and system prompt, rendered once per session. Either may be empty.
#[derive(Clone, Debug, Default)]
pub struct BodyPrefix {
    pub tools: Bytes,
    pub system: Bytes,
}

impl BodyPrefix {
    pub fn of(request: &Request) -> Self {
        let bytes = |rendered: Arc<Bytes>| Bytes::clone(&rendered);
        BodyPrefix {
            tools: bytes(request.tools.rendered(KEY, render::tools)),
            system: bytes(request.system.rendered(KEY, render::system)),
        }
    }
}

/// A rendered object or list of objects whose last one gets the mark.
fn push_marked(body: &mut Body, object: &Bytes, mark: &'static str) {
    let brace = object.len().saturating_sub(1);
    body.push(object.slice(..brace));
    body.word(mark);
    body.word("}");
}

/// The rendering of an item, made when it is first asked for.
pub fn rendered(item: &ViewItem) -> Arc<Rendered> {
    item.rendered(KEY, render::message)
}

/// `name` is the model's on the wire, `model` ours: answers in the history bear it.
pub fn assemble(
    name: &str,
    model: &ModelId,
    prefix: &BodyPrefix,
    view: &View,
    options: &BodyOptions,
) -> Body {
    let mut body = Body::default();
    body.push(head(name));
    let mark = cache::mark(options.cache);
    // A mark on the system prompt covers the tools as well: they stand before it in what the provider caches.
    let tools_mark = mark.filter(|_| prefix.system.is_empty());
    list(&mut body, r#","tools":["#, &prefix.tools, tools_mark);
    list(&mut body, r#","system":["#, &prefix.system, mark);
    body.word(r#","messages":["#);
    let story = BodyStory::of(model, view, options.replay_thinking);
    let marks = match mark {
        Some(_) => cache::marks(&story.cacheable(), story.asked),
        None => Vec::new(),
    };
    story.write(&mut body, &marks, mark.unwrap_or_default());
    body.word("]");
    body.push(tail(options));
    body
}

fn list(body: &mut Body, opening: &'static str, items: &Bytes, mark: Option<&'static str>) {
    if items.is_empty() {
        return;
    }
    body.word(opening);
    match mark {
        Some(mark) => push_marked(body, items, mark),
        None => body.push(items.clone()),
    }
    body.word("]");
}

/// The blocks that are sent, in order.
struct BodyStory {
    blocks: Vec<PlacedMark>,
    /// How many of them stand before the last answer.
    asked: usize,
}

struct PlacedMark {
    message: Arc<Rendered>,
    index: usize,
}

impl PlacedMark {
    fn span(&self) -> Option<&render::RenderedSpan> {
        self.message.blocks.get(self.index)
    }
}

impl BodyStory {
    fn of(model: &ModelId, view: &View, replay_thinking: bool) -> Self {
        let mut story = BodyStory { blocks: Vec::new(), asked: 0 };
        for item in view.items() {
            let replay = match item.message() {
                Message::Assistant { model: author, .. } => replay_thinking && author == model,
                Message::User { .. } => true,
            };
            if item.message().is_assistant() {
                story.asked = story.blocks.len();
            }
            let message = rendered(item);
            for (index, span) in message.blocks.iter().enumerate() {
                if replay || !span.thinking {
                    story.blocks.push(PlacedMark { message: message.clone(), index });
                }
            }
        }
        story
    }

    fn cacheable(&self) -> Vec<bool> {
        self.blocks.iter().map(|block| block.span().is_some_and(|span| span.cacheable)).collect()
    }

    /// Blocks that lie side by side in one rendering go out as one slice; neighbours of one role as one message.
    fn write(&self, body: &mut Body, marks: &[usize], mark: &'static str) {
        let mut role = None;
        let mut at = 0;
        while let Some(first) = self.blocks.get(at) {
            let assistant = first.message.assistant;
            body.word(match (role, assistant) {
                (Some(before), now) if before == now => ",",
                (None, true) => r#"{"role":"assistant","content":["#,
                (None, false) => r#"{"role":"user","content":["#,
                (Some(_), true) => r#"]},{"role":"assistant","content":["#,
                (Some(_), false) => r#"]},{"role":"user","content":["#,
            });
            role = Some(assistant);
            let end = self.run_end(at, marks);
            let range = first.span().map_or(0, |span| span.range.start)
                ..self.blocks.get(end).and_then(PlacedMark::span).map_or(0, |span| span.range.end);
            let slice = first.message.bytes.slice(range);
            match marks.contains(&end) {
                true => push_marked(body, &slice, mark),
                false => body.push(slice),
            }
            at = end + 1;
        }
        if role.is_some() {
            body.word("]}");
        }
    }

    /// The last block of the run that starts at `at`: it ends with the rendering, before a gap, or at a mark.
    fn run_end(&self, at: usize, marks: &[usize]) -> usize {
        let mut end = at;
        while !marks.contains(&end)
            && let (Some(here), Some(next)) = (self.blocks.get(end), self.blocks.get(end + 1))
            && Arc::ptr_eq(&here.message, &next.message)
            && next.index == here.index + 1
        {
            end += 1;
        }
        end
    }
}

fn head(name: &str) -> Bytes {
    let name = serde_json::to_string(name).unwrap_or_default();
    format!(r#"{{"model":{name},"stream":true"#).into()
}

fn output_config(options: &BodyOptions) -> Option<serde_json::Value> {
    let mut fields = serde_json::Map::new();
    if let Some(effort) = options.effort {
        fields.insert("effort".into(), effort.name().into());
    }
    if let Some(total) = options.task_budget {
        let budget = serde_json::json!({ "type": "tokens", "total": total });
        fields.insert("task_budget".into(), budget);
    }
    (!fields.is_empty()).then_some(serde_json::Value::Object(fields))
}

fn tail(options: &BodyOptions) -> Bytes {
    #[derive(Serialize)]
    struct ShownThinking<'a> {
        #[serde(flatten)]
        thinking: WireThinking,
        #[serde(skip_serializing_if = "Option::is_none")]
        display: Option<&'a str>,
    }
    #[derive(Serialize)]
    struct BodyTail<'a> {
        max_tokens: u32,
        #[serde(skip_serializing_if = "Option::is_none")]
        thinking: Option<ShownThinking<'a>>,
        #[serde(skip_serializing_if = "Option::is_none")]
        context_management: Option<serde_json::Value>,
        #[serde(skip_serializing_if = "Option::is_none")]
        output_config: Option<serde_json::Value>,
        #[serde(skip_serializing_if = "Option::is_none")]
        speed: Option<&'static str>,
    }
    let keep =
        || serde_json::json!({ "edits": [{ "type": "clear_thinking_20251015", "keep": "all" }] });
    let tail = BodyTail {
        max_tokens: options.max_tokens,
        thinking: options.thinking.map(|thinking| {
            let display = options.thinking_display.as_deref();
            ShownThinking { thinking, display }
        }),
        context_management: options.keep_thinking.then(keep),
        output_config: output_config(options),
        speed: options.fast.then_some("fast"),
    };
    // The opening brace of the object becomes the comma after what stands before it.
    let text = serde_json::to_string(&tail).unwrap_or_default();
    format!(",{}", text.get(1..).unwrap_or("}")).into()
}

#[cfg(test)]
#[path = "body_tests.rs"]
mod tests;
