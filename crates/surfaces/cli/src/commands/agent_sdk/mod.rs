//! `ostler --input-format stream-json`: a program drives a session through pipes, as the Claude Agent SDKs do.

mod conversation;
mod further_requests;
mod input_lines;
mod opening;
mod permission_prompts;
mod requests;
mod server_requests;
mod session_variables;
mod transcript_file;

use super::signals::Signals;
use crate::args::{Format, RunArgs};
use crate::exit::{self, Code, Wrong};
use anyhow::Result;
use conversation::Conversation;
use input_lines::InputLines;
use opening::Opener;
use ostler::SystemIds;
use ostler_profile::Environment;
use ostler_sdk::agent_sdk::{Callbacks, LiveFacts};
use std::sync::Arc;
use tokio::sync::mpsc;

/// Programs that drive us know one code for everything that went wrong.
pub fn run(init: &ostler::Init, environment: &Environment, args: &RunArgs) -> Result<Code> {
    let code = match serve(init, environment, args) {
        Ok(code) => code,
        Err(error) => exit::report(&error),
    };
    Ok(match code {
        Code::Done | Code::Terminated => code,
        _ => Code::Failed,
    })
}

fn serve(init: &ostler::Init, environment: &Environment, args: &RunArgs) -> Result<Code> {
    if args.output_format != Format::StreamJson {
        let wrong = "--input-format stream-json needs --output-format stream-json";
        return Err(Wrong::Usage(wrong.into()).into());
    }
    if let Some(prompt) = args.prompt.as_deref().filter(|prompt| !prompt.is_empty()) {
        let wrong = format!(
            "with --input-format stream-json prompts come from standard input, not from the command line: \"{prompt}\""
        );
        return Err(Wrong::Usage(wrong).into());
    }
    ostler::block_on(async {
        let mut signals = Signals::new()?;
        let (out, callback_lines) = mpsc::unbounded_channel();
        let callbacks = Callbacks::new(Arc::new(SystemIds), out.clone());
        let facts = Arc::new(LiveFacts::default());
        let opener = Opener { init, environment, args, callbacks, facts, out };
        let mut conversation = Conversation::new(opener, InputLines::start()?, callback_lines);
        let code = conversation.run(&mut signals).await;
        conversation.close().await;
        Ok(signals.end(code).await)
    })?
}
