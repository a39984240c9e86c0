//! A second wire protocol, as different from the first as can be: a request and an answer are lines of JSON with names
//! of their own, a result names the tool that gave it, and reasoning is sealed.

use ostler_core::ledger::Usage;
use ostler_core::message::{Block, Message, ProviderPart, ResultPart};
use ostler_core::model::{
    ModelError, ModelErrorKind, ModelEvent, ProviderLimits, Request, StopReason,
};
use ostler_core::rendering::RenderKey;
use ostler_core::tool::ToolSpec;
use ostler_models::Capabilities;
use ostler_models::protocol::{
    AnswerReader, Body, Bytes, Feature, HeaderMap, Protocol, ProtocolCall, Refusal,
    RefusedFeatures, Remedy, RetryAdvice, SentFeatures,
};
use serde_json::{Value, json};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

const MOOD: Feature = Feature { name: "mood", label: "`mood`" };

pub struct ToyProtocol {
    name: &'static str,
    pub renders: AtomicUsize,
    panics: bool,
}

impl ToyProtocol {
    pub fn new(name: &'static str) -> Self {
        ToyProtocol { name, renders: AtomicUsize::new(0), panics: false }
    }

    /// Every request panics.
    pub fn panicking(name: &'static str) -> Self {
        ToyProtocol { panics: true, ..ToyProtocol::new(name) }
    }

    fn key(&self, context: u64) -> RenderKey {
        RenderKey { protocol: self.name, context }
    }

    fn lines(&self, lines: impl IntoIterator<Item = Value>) -> Bytes {
        self.renders.fetch_add(1, Ordering::Relaxed);
        lines.into_iter().map(|line| format!("{line}\n")).collect::<String>().into()
    }

    fn system(&self, parts: &[String]) -> Bytes {
        self.lines(parts.iter().map(|part| json!({"who": "house", "says": part})))
    }

    fn tools(&self, tools: &[ToolSpec]) -> Bytes {
        let line = |tool: &ToolSpec| json!({"can": tool.name, "shape": tool.input_schema});
        self.lines(tools.iter().map(line))
    }

    /// `before` holds the calls that results answer; `is_own` says whether this model wrote the message.
    fn message(&self, message: &Message, before: Option<&Message>, is_own: bool) -> Bytes {
        let who = if message.is_assistant() { "it" } else { "me" };
        let line = |block: &Block| match block {
            Block::Text { text, .. } => Some(json!({"who": who, "says": text})),
            Block::Provider(part) if is_own && part.author == self.name => {
                Some(json!({"who": who, "sealed": part.data}))
            }
            Block::ToolUse { id, name, input, via } => {
                let (name, input) = ostler::as_said(name, input, via.as_deref());
                Some(json!({"who": who, "does": name, "with": input, "mark": id.as_str()}))
            }
            Block::ToolResult { id, content, .. } => {
                let text = |part: &ResultPart| match part {
                    ResultPart::Text { text } => text.clone(),
                    ResultPart::Image(_) => "(image)".into(),
                };
                let got: Vec<String> = content.iter().map(text).collect();
                let named =
                    before.into_iter().flat_map(Message::blocks).find_map(|block| match block {
                        Block::ToolUse { id: call, name, .. } if call == id => Some(name.clone()),
                        _ => None,
                    });
                Some(json!({"who": who, "mark": id.as_str(), "of": named, "got": got.join("\n")}))
            }
            Block::Thinking { .. }
            | Block::Redacted { .. }
            | Block::Provider(_)
            | Block::Image(_) => None,
        };
        self.lines(message.blocks().iter().filter_map(line))
    }

    fn history(&self, request: &Request) -> Vec<Bytes> {
        let shared = |rendered: std::sync::Arc<Bytes>| Bytes::clone(&rendered);
        let mut all = vec![
            shared(request.system.rendered(self.key(0), |parts| self.system(parts))),
            shared(request.tools.rendered(self.key(0), |tools| self.tools(tools))),
        ];
        let mut before = None;
        for item in request.view.items() {
            let message = item.message();
            let is_own =
                matches!(message, Message::Assistant { model, .. } if *model == request.model);
            let render = |message: &Message| self.message(message, before, is_own);
            all.push(shared(item.rendered(self.key(is_own.into()), render)));
            before = Some(message);
        }
        all
    }
}

impl Protocol for ToyProtocol {
    fn name(&self) -> &'static str {
        self.name
    }

    fn media_type(&self) -> &'static str {
        "application/x-toy-lines"
    }

    fn features(&self) -> Vec<Feature> {
        vec![MOOD]
    }

    fn call(
        &self,
        request: &Request,
        capabilities: &Capabilities,
        refused: &RefusedFeatures,
    ) -> ProtocolCall {
        assert!(!self.panics, "as the test wants");
        let mut body = Body::default();
        self.history(request).into_iter().for_each(|lines| body.push(lines));
        let most = request.max_output.min(refused.max_output.unwrap_or(u32::MAX));
        let is_calm = !refused.contains(MOOD.name);
        let mut go = json!({"go": capabilities.model, "most": most});
        if is_calm {
            go["mood"] = "calm".into();
        }
        body.push(format!("{go}\n").into());
        let mut headers = HeaderMap::new();
        headers.insert("x-toy", "1".parse().unwrap());
        let features = if is_calm { vec![MOOD] } else { Vec::new() };
        let path = format!("/say/{}", capabilities.model);
        ProtocolCall { path, headers, body, sent: SentFeatures { features, max_output: most } }
    }

    fn reader(&self, _: &Request, _: &HeaderMap) -> Box<dyn AnswerReader> {
        Box::new(ToyReader { author: self.name, ..ToyReader::default() })
    }

    fn classify(&self, status: u16, _: &HeaderMap, body: &[u8]) -> Refusal {
        let body: Value = serde_json::from_slice(body).unwrap_or_default();
        let number = |name: &str| body[name].as_u64();
        Refusal {
            status,
            kind: kind(body["no"].as_str().unwrap_or_default()),
            words: body["say"].as_str().unwrap_or_default().to_owned(),
            is_error: !body["no"].is_null(),
            retry: RetryAdvice {
                after: number("again_ms").map(Duration::from_millis),
                worthwhile: None,
            },
            limits: ProviderLimits {
                prompt: number("have"),
                window: number("room"),
                max_output: number("most"),
            },
        }
    }

    fn remedy(&self, refusal: &Refusal, sent: &SentFeatures) -> Option<Remedy> {
        match refusal.limits.max_output {
            Some(most) => Some(Remedy::MaxOutput(most.try_into().ok()?)),
            None => (refusal.words.contains("mood") && sent.features.contains(&MOOD))
                .then_some(Remedy::Without(MOOD)),
        }
    }

    fn weigh(&self, request: &Request, _: &Capabilities) -> u64 {
        self.history(request).iter().map(|lines| lines.len() as u64 / 4).sum()
    }
}

fn kind(code: &str) -> ModelErrorKind {
    match code {
        "full" => ModelErrorKind::ContextOverflow,
        "busy" => ModelErrorKind::Overloaded,
        _ => ModelErrorKind::BadRequest,
    }
}

#[derive(Default)]
struct ToyReader {
    author: &'static str,
    pending: Vec<u8>,
    text: String,
    is_started: bool,
    is_ended: bool,
}

impl ToyReader {
    fn line(&mut self, line: &[u8], out: &mut Vec<ModelEvent>) -> Result<(), ModelError> {
        let broken = |why| ModelError::new(ModelErrorKind::Protocol, format!("{why}"));
        let line: Value = serde_json::from_slice(line).map_err(broken)?;
        if let Some(error) = line.get("oops") {
            let words = error["say"].as_str().unwrap_or_default();
            return Err(ModelError::new(kind(error["code"].as_str().unwrap_or_default()), words));
        }
        let text = |name: &str| line[name].as_str().unwrap_or_default().to_owned();
        if !line["w"].is_null() {
            self.text.push_str(&text("w"));
            out.push(ModelEvent::Text(text("w")));
            return Ok(());
        }
        if !self.text.is_empty() {
            out.push(ModelEvent::Block(Block::text(std::mem::take(&mut self.text))));
        }
        if !line["hello"].is_null() {
            self.is_started = true;
            let usage = Usage::default();
            out.push(ModelEvent::Started { message_id: text("hello"), request_id: None, usage });
        } else if let Some(data) = line.get("sealed") {
            let part = ProviderPart { author: self.author.into(), data: data.clone() };
            out.push(ModelEvent::Block(Block::Provider(part)));
        } else if !line["do"].is_null() {
            let (id, input) = (text("mark").as_str().into(), line["with"].clone());
            out.push(ModelEvent::Block(Block::ToolUse { id, name: text("do"), input, via: None }));
        } else if !line["bye"].is_null() {
            self.is_ended = true;
            let stop =
                if line["bye"] == "work" { StopReason::ToolUse } else { StopReason::EndTurn };
            let count = |name: &str| line[name].as_u64().unwrap_or_default();
            let usage = Usage { input: count("in"), output: count("out"), ..Usage::default() };
            out.push(ModelEvent::Ended { stop, usage });
        }
        Ok(())
    }
}

impl AnswerReader for ToyReader {
    fn push(&mut self, bytes: &[u8], out: &mut Vec<ModelEvent>) -> Result<(), ModelError> {
        self.pending.extend_from_slice(bytes);
        while let Some(end) = self.pending.iter().position(|byte| *byte == b'\n')
            && !self.is_ended
        {
            let line: Vec<u8> = self.pending.drain(..=end).collect();
            self.line(&line, out)?;
        }
        Ok(())
    }

    fn end(&self) -> Result<(), ModelError> {
        match self.is_ended {
            true => Ok(()),
            false => Err(ModelError::new(ModelErrorKind::Unavailable, "no bye was said")),
        }
    }

    fn is_started(&self) -> bool {
        self.is_started
    }

    fn is_ended(&self) -> bool {
        self.is_ended
    }

    fn is_alive(&self) -> bool {
        true
    }
}
