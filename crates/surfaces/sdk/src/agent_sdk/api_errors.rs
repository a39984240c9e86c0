//! How a turn that failed is told: as an answer that no model wrote.

use ostler::{Finished, ModelErrorKind, StopReason, Terminal, words};

/// The word for what went wrong; none: nothing did, or it is told otherwise.
pub(crate) fn error_word(finished: &Finished) -> Option<&'static str> {
    Some(match finished.terminal {
        Terminal::ModelError(kind) => match kind {
            ModelErrorKind::Auth => "authentication_failed",
            ModelErrorKind::RateLimited => "rate_limit",
            ModelErrorKind::Overloaded => "overloaded",
            ModelErrorKind::Unavailable | ModelErrorKind::Protocol => "server_error",
            ModelErrorKind::ModelNotFound => "model_not_found",
            ModelErrorKind::ContextOverflow
            | ModelErrorKind::BadRequest
            | ModelErrorKind::BadImage
            | ModelErrorKind::BadThinking => "invalid_request",
        },
        Terminal::MaxOutputTokens => "max_output_tokens",
        Terminal::PromptTooLong
        | Terminal::BlockingLimit
        | Terminal::ImageError
        | Terminal::Refusal
        | Terminal::RapidRefill => "invalid_request",
        _ => return None,
    })
}

/// What such an answer says, and the result too.
pub(crate) fn error_text(finished: &Finished) -> Option<String> {
    let status = finished.error_status.map(|status| format!("{status} ")).unwrap_or_default();
    match (&finished.error, finished.terminal) {
        (Some(error), Terminal::ModelError(_)) => Some(format!("API Error: {status}{error}")),
        _ => words::failure(finished),
    }
}

/// The stop reason of such an answer.
pub(crate) fn error_stop(finished: &Finished) -> &'static str {
    match finished.stop {
        Some(StopReason::Refusal { .. }) => "refusal",
        _ => "stop_sequence",
    }
}

/// The same words for a request that is tried again.
pub(crate) fn retry_word(kind: ModelErrorKind) -> &'static str {
    match kind {
        ModelErrorKind::Auth => "authentication_failed",
        ModelErrorKind::RateLimited => "rate_limit",
        ModelErrorKind::Overloaded => "overloaded",
        ModelErrorKind::Unavailable => "server_error",
        ModelErrorKind::ModelNotFound => "model_not_found",
        _ => "unknown",
    }
}
