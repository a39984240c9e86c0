//! What a newcomer reads who has no key yet.

use crate::exit::{Code, warn};
use ostler::Provider;

pub fn explain(provider: &Provider) -> Code {
    let names = provider.credential_names();
    let first = names.first().copied().unwrap_or_default();
    let others = match names.get(1..).unwrap_or_default() {
        [] => String::new(),
        others => format!(" (or {})", others.join(", ")),
    };
    let example = provider.key_example.as_deref().unwrap_or("…");
    warn(&format!("no credential: set {first}{others}, e.g. export {first}={example}"));
    if let Some(address) = &provider.base_url_env {
        let title = &provider.title;
        warn(&format!(
            "a local server that speaks {title}'s protocol works through {address}; the OpenAI protocol is not supported yet"
        ));
    }
    warn("to see it work without any key, run: ostler demo");
    Code::Config
}
