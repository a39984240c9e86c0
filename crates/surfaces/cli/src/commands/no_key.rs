//! What a newcomer reads who has no key yet.

use crate::exit::{Code, warn};

pub fn explain() -> Code {
    warn(
        "no credential: set ANTHROPIC_API_KEY (or ANTHROPIC_AUTH_TOKEN), e.g. export ANTHROPIC_API_KEY=sk-ant-…",
    );
    warn(
        "local servers that speak the OpenAI protocol are coming; one that speaks Anthropic's works now through ANTHROPIC_BASE_URL",
    );
    warn("to see it work without any key, run: ostler demo");
    Code::Config
}
