//! What went wrong, from a status and a body of any kind: one kind, one line, no markup.

use super::wire::WireError;
use crate::plain_text::{self, without_markup};
use ostler_core::model::ModelErrorKind;
use serde_json::Value;

/// The error object of a body, in one of the shapes that the API and its gateways use.
pub fn of_body(body: &[u8]) -> Option<WireError> {
    let value: Value = serde_json::from_slice(body).ok()?;
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let inner = value.get("error").unwrap_or(&value);
    let message = [inner.get("message"), Some(inner), value.get("message"), value.get("detail")]
        .into_iter()
        .flatten()
        .find_map(text);
    let kind = inner.get("type").and_then(text).filter(|kind| kind != "message");
    (message.is_some() || value.get("error").is_some())
        .then_some(WireError { r#type: kind, message })
}

/// The kind decides what the loop does, so what the error calls itself goes before the status.
pub fn kind(status: Option<u16>, error: &WireError) -> ModelErrorKind {
    let message = error.message.as_deref().unwrap_or_default().to_lowercase();
    match (error.r#type.as_deref().unwrap_or_default(), status) {
        ("overloaded_error", _) | (_, Some(529)) => ModelErrorKind::Overloaded,
        ("rate_limit_error", _) | (_, Some(429)) => ModelErrorKind::RateLimited,
        ("authentication_error" | "permission_error", _) | (_, Some(401 | 403)) => {
            ModelErrorKind::Auth
        }
        ("request_too_large", _) | (_, Some(413)) => ModelErrorKind::ContextOverflow,
        ("not_found_error", _) | (_, Some(404)) => ModelErrorKind::ModelNotFound,
        (_, Some(408 | 409 | 500..)) | ("api_error" | "timeout_error", None) => {
            ModelErrorKind::Unavailable
        }
        ("invalid_request_error", _) | (_, Some(400 | 422)) => of_invalid(&message),
        (_, Some(300..)) => ModelErrorKind::BadRequest,
        _ => ModelErrorKind::Unavailable,
    }
}

/// The API has one error type for all that is wrong with a request; only its words tell them apart.
fn of_invalid(message: &str) -> ModelErrorKind {
    let has = |words: &[&str]| words.iter().any(|word| message.contains(word));
    if has(&[
        "prompt is too long",
        "exceed context limit",
        "context window",
        "context length",
        "too many tokens",
    ]) {
        return ModelErrorKind::ContextOverflow;
    }
    let replayed = ["signature", "cannot be modified", "must remain as they were"];
    if has(&["thinking"]) && has(&replayed) {
        return ModelErrorKind::BadThinking;
    }
    let faults = [
        "exceed",
        "too large",
        "process",
        "invalid",
        "unsupported",
        "not supported",
        "dimension",
        "media",
    ];
    if has(&["image"]) && has(&faults) {
        return ModelErrorKind::BadImage;
    }
    ModelErrorKind::BadRequest
}

/// The best words a body has to offer.
pub fn words(body: &[u8]) -> String {
    match of_body(body) {
        Some(error) => without_markup(&error.message.or(error.r#type).unwrap_or_default()),
        None => plain_text::of_body(body),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ModelErrorKind::*;

    fn error(kind: &str, message: &str) -> WireError {
        let text = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        WireError { r#type: text(kind), message: text(message) }
    }

    #[test]
    fn kinds_by_status_type_and_words() {
        let invalid = "invalid_request_error";
        let table: &[(Option<u16>, &str, &str, ModelErrorKind)] = &[
            (Some(400), invalid, "messages: at least one message is required", BadRequest),
            (
                Some(400),
                invalid,
                "prompt is too long: 210000 tokens > 200000 maximum",
                ContextOverflow,
            ),
            (
                Some(400),
                invalid,
                "input length and `max_tokens` exceed context limit: 1 + 2 > 3",
                ContextOverflow,
            ),
            (Some(413), "request_too_large", "Request exceeds the maximum size", ContextOverflow),
            (Some(413), "", "", ContextOverflow),
            (
                Some(400),
                invalid,
                "messages.1.content.0: Invalid `signature` in `thinking` block",
                BadThinking,
            ),
            (
                Some(400),
                invalid,
                "messages.3.content.8: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified.",
                BadThinking,
            ),
            (Some(400), invalid, "adaptive thinking is not supported on this model", BadRequest),
            (
                Some(400),
                invalid,
                "messages.0.content.0.image.source.base64: image exceeds 5 MB maximum: 9 bytes > 5 bytes",
                BadImage,
            ),
            (Some(400), invalid, "Could not process image", BadImage),
            (Some(400), invalid, "tools.0.name: draw_image is not unique", BadRequest),
            (Some(422), "", "", BadRequest),
            (Some(402), "billing_error", "pay", BadRequest),
            (Some(401), "authentication_error", "invalid x-api-key", Auth),
            (Some(403), "permission_error", "", Auth),
            (Some(403), "", "", Auth),
            (Some(404), "not_found_error", "model: nope", ModelNotFound),
            (Some(408), "", "", Unavailable),
            (Some(409), invalid, "", Unavailable),
            (Some(429), "rate_limit_error", "", RateLimited),
            (Some(500), "api_error", "", Unavailable),
            (Some(502), "", "", Unavailable),
            (Some(503), "overloaded_error", "", Overloaded),
            (Some(504), "timeout_error", "", Unavailable),
            (Some(529), "", "", Overloaded),
            (Some(302), "", "", BadRequest),
            (None, "overloaded_error", "", Overloaded),
            (None, "rate_limit_error", "", RateLimited),
            (None, "api_error", "", Unavailable),
            (None, invalid, "prompt is too long", ContextOverflow),
            (None, invalid, "no", BadRequest),
            (None, "new_error", "", Unavailable),
            (None, "", "", Unavailable),
        ];
        for (status, name, message, expected) in table {
            assert_eq!(
                kind(*status, &error(name, message)),
                *expected,
                "{status:?} {name} {message}"
            );
        }
    }

    #[test]
    fn bodies_of_all_shapes() {
        let table: &[(&str, &str)] = &[
            (
                r#"{"type":"error","error":{"type":"api_error","message":"Internal\n server error"}}"#,
                "Internal server error",
            ),
            (r#"{"error":{"message":"from a gateway"}}"#, "from a gateway"),
            (r#"{"error":"plain"}"#, "plain"),
            (r#"{"message":"flat"}"#, "flat"),
            (r#"{"detail":"fastapi"}"#, "fastapi"),
            (r#"{"error":{"type":"odd_error"}}"#, "odd_error"),
            (
                "<html><head><title> 502 Bad\nGateway </title></head><body><h1>secret page</h1>",
                "a web page titled \"502 Bad Gateway\"",
            ),
            ("  <!DOCTYPE html><p>hi", "a web page"),
            ("<html><title>", "a web page"),
            ("upstream gone\r\n\x1b[31m", "upstream gone [31m"),
            ("", ""),
        ];
        for (body, expected) in table {
            assert_eq!(words(body.as_bytes()), *expected, "{body}");
        }
        assert_eq!(
            of_body(br#"{"type":"message","content":[]}"#),
            None,
            "a whole message is no error"
        );
    }
}
