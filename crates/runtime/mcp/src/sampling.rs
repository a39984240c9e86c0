//! A server asks for a text of the model. What it asks for is checked here; whether it gets it is for the session to say.
#![expect(deprecated, reason = "sampling is part of the 2025 revisions")]

use crate::metadata;
use rmcp::model::{
    CreateMessageRequestParams, CreateMessageResult, ErrorCode, ErrorData, Role, SamplingMessage,
    SamplingMessageContentBlock,
};
use serde::Deserialize;

/// Bytes of the texts of one request.
const MOST_BYTES: usize = 100_000;
/// Characters of a request that a person is shown.
const MOST_SHOWN: usize = 2_000;

/// A person lets a server use the model.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SamplingTerms {
    /// What its requests may cost in a session.
    pub max_usd: f64,
    /// They are answered without asking anybody.
    pub approve: bool,
}

/// The same as people write it.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct WrittenSampling {
    max_usd: f64,
    #[serde(default)]
    approve: bool,
}

impl WrittenSampling {
    pub(crate) fn terms(self) -> Result<SamplingTerms, String> {
        let WrittenSampling { max_usd, approve } = self;
        match max_usd.is_finite() && max_usd > 0.0 {
            true => Ok(SamplingTerms { max_usd, approve }),
            false => Err("maxUsd of sampling must be more than 0".into()),
        }
    }
}

/// What a server wants the model to answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SamplingRequest {
    pub system: Option<String>,
    /// The first and the last one are of the user, and roles alternate.
    pub messages: Vec<SampledText>,
    pub max_tokens: u32,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SampledText {
    pub is_assistant: bool,
    pub text: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SamplingAnswer {
    pub text: String,
    pub model: String,
    /// It is as long as it may be.
    pub is_cut: bool,
}

impl SamplingRequest {
    pub(crate) fn of(params: CreateMessageRequestParams) -> Result<Self, String> {
        if params.tools.is_some_and(|tools| !tools.is_empty()) {
            return Err("this client gives the model no tools for servers".into());
        }
        let mut messages: Vec<SampledText> = Vec::new();
        for message in params.messages {
            let is_assistant = message.role == Role::Assistant;
            let text = text_of(message)?;
            match messages.last_mut() {
                Some(last) if last.is_assistant == is_assistant => {
                    last.text += "\n\n";
                    last.text += &text;
                }
                _ => messages.push(SampledText { is_assistant, text }),
            }
        }
        let is_users = |text: Option<&SampledText>| text.is_some_and(|text| !text.is_assistant);
        if !is_users(messages.first()) || !is_users(messages.last()) {
            return Err("the first and the last message must be of the user".into());
        }
        let system = params.system_prompt.filter(|text| !text.trim().is_empty());
        let texts = messages.iter().map(|message| &message.text).chain(&system);
        if texts.map(String::len).sum::<usize>() > MOST_BYTES {
            return Err(format!("the messages have more than {MOST_BYTES} bytes"));
        }
        Ok(SamplingRequest { system, messages, max_tokens: params.max_tokens })
    }

    /// What the server wants, for a person: bounded, and without characters that are not shown.
    pub fn shown(&self) -> String {
        let system = self.system.iter().map(|text| format!("system: {text}"));
        let messages = self.messages.iter().map(|message| {
            format!("{}: {}", if message.is_assistant { "model" } else { "user" }, message.text)
        });
        metadata::text(&system.chain(messages).collect::<Vec<_>>().join("\n"), MOST_SHOWN)
    }
}

fn text_of(message: SamplingMessage) -> Result<String, String> {
    let text = |block: SamplingMessageContentBlock| match block {
        SamplingMessageContentBlock::Text(text) if !text.text.trim().is_empty() => Ok(text.text),
        _ => Err("only messages with text are answered".to_owned()),
    };
    let texts: Vec<String> =
        message.content.into_vec().into_iter().map(text).collect::<Result<_, _>>()?;
    match texts.is_empty() {
        true => Err("a message is empty".into()),
        false => Ok(texts.join("\n\n")),
    }
}

pub(crate) fn result(answer: SamplingAnswer) -> CreateMessageResult {
    let reason = match answer.is_cut {
        true => CreateMessageResult::STOP_REASON_END_MAX_TOKEN,
        false => CreateMessageResult::STOP_REASON_END_TURN,
    };
    let message = SamplingMessage::assistant_text(answer.text);
    CreateMessageResult::new(message, answer.model).with_stop_reason(reason)
}

pub(crate) const NO_SAMPLING: &str = "this client does not let this server use its model";

pub(crate) fn no_sampling() -> ErrorData {
    ErrorData::new(ErrorCode::METHOD_NOT_FOUND, NO_SAMPLING, None)
}

/// With the code that the protocol has for a person's refusal.
pub(crate) fn refused(why: String) -> ErrorData {
    ErrorData::new(ErrorCode(-1), why, None)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn read(messages: Value, more: Value) -> Result<SamplingRequest, String> {
        let mut params = json!({"messages": messages, "maxTokens": 10});
        params.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        SamplingRequest::of(serde_json::from_value(params).unwrap())
    }

    fn said(role: &str, text: &str) -> Value {
        json!({"role": role, "content": {"type": "text", "text": text}})
    }

    #[test]
    fn roles_alternate_and_the_user_has_the_last_word() {
        let (user, model) = (said("user", "u"), said("assistant", "a"));
        let request = read(json!([user, user, model, user]), json!({"systemPrompt": "s"})).unwrap();
        let texts: Vec<&str> = request.messages.iter().map(|it| it.text.as_str()).collect();
        assert_eq!((texts, request.system.as_deref()), (vec!["u\n\nu", "a", "u"], Some("s")));
        for wrong in [json!([]), json!([model]), json!([user, model]), json!([model, user])] {
            assert!(read(wrong.clone(), json!({})).is_err(), "{wrong}");
        }
    }

    #[test]
    fn only_text_of_a_bounded_size_is_taken() {
        let picture = json!({"type": "image", "mimeType": "image/png", "data": "AAAA"});
        let wrong = [
            (json!([{"role": "user", "content": picture}]), json!({})),
            (json!([said("user", " ")]), json!({})),
            (json!([said("user", &"x".repeat(MOST_BYTES + 1))]), json!({})),
            (json!([said("user", "x")]), json!({"systemPrompt": "x".repeat(MOST_BYTES)})),
            (
                json!([said("user", "x")]),
                json!({"tools": [{"name": "t", "inputSchema": {"type": "object"}}]}),
            ),
        ];
        for (messages, more) in wrong {
            assert!(read(messages, more).is_err());
        }
        assert!(read(json!([said("user", &"x".repeat(MOST_BYTES))]), json!({"tools": []})).is_ok());
    }

    #[test]
    fn what_a_person_is_shown_is_bounded_and_plain() {
        let text = format!("\u{1b}[2Jhello\u{202e} {}", "x".repeat(5_000));
        let shown =
            read(json!([said("user", &text)]), json!({"systemPrompt": "s"})).unwrap().shown();
        assert!(shown.starts_with("system: s\nuser: [2Jhello x"), "{shown}");
        assert!(shown.ends_with('…') && shown.chars().count() <= MOST_SHOWN + 1);
    }
}
