//! The Messages API of Anthropic, which many gateways speak as well.

mod body;
mod cache;
mod error;
mod limits;
mod open_block;
mod options;
mod parser;
mod reader;
mod refusal;
mod render;
mod usage;
mod wire;

use super::{
    AnswerReader, Feature, Protocol, ProtocolCall, Refusal, RefusedFeatures, Remedy, RetryAdvice,
    SentFeatures,
};
use crate::capabilities::Capabilities;
use body::BodyPrefix;
use http::{HeaderMap, HeaderValue};
use options::BodyOptions;
use ostler_core::model::Request;
use ostler_core::rendering::RenderKey;
use reader::MessagesReader;
use render::Weight;

const NAME: &str = "anthropic_messages";
const KEY: RenderKey = RenderKey::of(NAME);

/// Which agent of a session asks, where it is not the session's own.
const AGENT: &str = "x-claude-code-agent-id";
const VERSION: &str = "2023-06-01";
const LONGEST_REQUEST_ID: usize = 128;

#[derive(Clone, Copy, Debug, Default)]
pub struct AnthropicMessages;

impl Protocol for AnthropicMessages {
    fn name(&self) -> &'static str {
        NAME
    }

    fn media_type(&self) -> &'static str {
        "text/event-stream"
    }

    fn features(&self) -> Vec<Feature> {
        options::BetaFeature::ALL.map(options::BetaFeature::public).into()
    }

    fn call(
        &self,
        request: &Request,
        capabilities: &Capabilities,
        refused: &RefusedFeatures,
    ) -> ProtocolCall {
        let options =
            BodyOptions::decide(request.max_output, request.thinking, capabilities, refused);
        let mut headers = HeaderMap::new();
        headers.insert("anthropic-version", HeaderValue::from_static(VERSION));
        let wanted = capabilities.extras.betas.iter().map(String::as_str);
        let betas: Vec<&str> = options.betas.iter().copied().chain(wanted).collect();
        if let Ok(betas) = HeaderValue::from_str(&betas.join(","))
            && !betas.is_empty()
        {
            headers.insert("anthropic-beta", betas);
        }
        if let Ok(agent) = HeaderValue::from_str(&request.agent.to_string())
            && !request.agent.is_root()
        {
            headers.insert(AGENT, agent);
        }
        let (name, prefix) = (&capabilities.model, BodyPrefix::of(request));
        let features = options.features().into_iter().map(options::BetaFeature::public).collect();
        ProtocolCall {
            path: "/v1/messages".into(),
            headers,
            body: body::assemble(name, &request.model, &prefix, &request.view, &options),
            sent: SentFeatures { features, max_output: options.max_tokens },
        }
    }

    fn reader(&self, request: &Request, headers: &HeaderMap) -> Box<dyn AnswerReader> {
        let id = headers.get("request-id").and_then(|id| id.to_str().ok());
        let id = id.map(|id| id.chars().take(LONGEST_REQUEST_ID).collect());
        Box::new(MessagesReader::new(request.raw_events, id))
    }

    fn classify(&self, status: u16, headers: &HeaderMap, body: &[u8]) -> Refusal {
        let found = error::of_body(body).unwrap_or_default();
        let words = error::words(body);
        let worthwhile = match headers.get("x-should-retry").and_then(|said| said.to_str().ok()) {
            Some("true") => Some(true),
            Some("false") => Some(false),
            _ => None,
        };
        let failed = !(200..300).contains(&status);
        let kind = error::kind(failed.then_some(status), &found);
        Refusal {
            status,
            kind,
            limits: limits::of_refusal(kind, &words),
            words,
            is_error: found.r#type.is_some(),
            retry: RetryAdvice { after: None, worthwhile: worthwhile.filter(|_| failed) },
        }
    }

    fn remedy(&self, refusal: &Refusal, sent: &SentFeatures) -> Option<Remedy> {
        (refusal.status == 400).then(|| refusal::remedy(refusal, sent)).flatten()
    }

    fn weigh(&self, request: &Request, capabilities: &Capabilities) -> u64 {
        let prefix = BodyPrefix::of(request);
        let bytes = (prefix.tools.len() + prefix.system.len()) as u64;
        let mut weight = Weight { bytes, images: 0 };
        for item in request.view.items() {
            weight.add(body::rendered(item).weight);
        }
        weight.tokens(capabilities.bytes_per_token)
    }
}
