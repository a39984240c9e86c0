//! What a newcomer reads who has no key yet.

use crate::args::RunArgs;
use crate::exit::{Code, warn};
use ostler::Provider;
use ostler_profile::Profile;

/// A directory without a session is named before a missing key is: a key would not help.
pub fn check_continue(profile: &Profile, args: &RunArgs) -> Result<(), ostler::Error> {
    match args.continue_ && !args.fork_session {
        true => ostler::check_continue(&profile.places.ostler_home, &profile.places.cwd),
        false => Ok(()),
    }
}

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
