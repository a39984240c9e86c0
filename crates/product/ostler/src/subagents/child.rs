//! One agent at work: it is driven by the call that started it, so dropping the call ends it.

use super::relay::Relay;
use super::slots::Slot;
use crate::session::Session;
use futures_util::StreamExt;
use ostler_core::event::{Event, Finished, words};
use ostler_core::message::Message;
use ostler_core::tool::ToolOutput;
use ostler_core::turn::Terminal;
use serde_json::json;

pub(super) struct Child {
    /// Goes first, so that everybody who reads knows of the end of the agent.
    pub(super) relay: Relay,
    pub(super) session: Session,
    pub(super) _slot: Slot,
}

impl Child {
    pub(super) async fn work(mut self, prompt: String) -> ToolOutput {
        let mut driver = match self.session.ask(Message::user(prompt)) {
            Ok(driver) => driver,
            Err(error) => return ToolOutput::error(format!("The agent did not start: {error}.")),
        };
        let mut end = None;
        while let Some(envelope) = driver.next().await {
            if let (true, Event::Finished(finished)) = (envelope.agent.is_root(), &envelope.event) {
                end = Some(finished.clone());
            }
            self.relay.pass(&envelope).await;
        }
        drop(driver);
        for envelope in self.session.close("other").await {
            self.relay.pass(&envelope).await;
        }
        let name = self.relay.name();
        let detail = json!({ "agent": name, "session": self.session.id().as_str() });
        ToolOutput { detail: Some(detail), ..output(name, end.as_deref()) }
    }
}

fn output(name: &str, end: Option<&Finished>) -> ToolOutput {
    let Some(end) = end else {
        return ToolOutput::error(format!("The agent {name} ended without an answer."));
    };
    match words::failure(end) {
        None if end.text.trim().is_empty() => {
            ToolOutput::error(format!("The agent {name} ended with an empty answer."))
        }
        None => ToolOutput::text(end.text.as_str()),
        Some(why) => {
            let said = match end.text.trim() {
                "" => String::new(),
                text => format!("\n\nIts last text:\n{text}"),
            };
            ToolOutput::error(format!("The agent {name} failed: {}{said}", reason(end, &why)))
        }
    }
}

/// What a person could do about it is not for the one who asked.
fn reason(end: &Finished, why: &str) -> String {
    match (end.terminal, &end.error) {
        (Terminal::Completed, _) => why.to_owned(),
        (terminal, Some(error)) => {
            format!("{}: {}.", terminal.words(), error.trim_end_matches('.'))
        }
        (terminal, None) => format!("{}.", terminal.words()),
    }
}
