//! Sleep: lets time pass until something arrives.

use crate::ToolSetup;
use crate::typed_tool::{BuiltIn, Shipped, erase};
use ostler_core::inbox::{InboundSource, QueuedItem};
use ostler_core::permission::{Access, Inward};
use ostler_core::ports::{Tool, ToolContext};
use ostler_core::tool::ToolOutput;
use ostler_core::tool_facts::{Subject, ToolFacts, ToolKind};
use schemars::JsonSchema;
use serde::Deserialize;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

/// The longest wait. Longer ones are several calls, so that nobody waits for hours without a word.
const LONGEST: u64 = 600;

pub struct Sleep;

#[derive(Deserialize, JsonSchema)]
pub struct Input {
    /// From 1 to 600
    seconds: u64,
}

impl BuiltIn for Sleep {
    const NAME: &'static str = "Sleep";
    const DESCRIPTION: &'static str = include_str!("../../../../prompts/tools/sleep.md");
    const FACTS: ToolFacts =
        ToolFacts { kind: ToolKind::Waits, subject: Subject::Inputs(&[]), ..ToolFacts::UNDECLARED };
    type Input = Input;

    fn access(&self, input: &Input) -> Result<Access, ToolOutput> {
        match input.seconds {
            1..=LONGEST => Ok(Access::inward(Inward::default())),
            other => Err(ToolOutput::misuse(format!(
                "seconds must be between 1 and {LONGEST}, not {other}."
            ))),
        }
    }

    async fn run(&self, input: Input, cx: ToolContext) -> ToolOutput {
        let since = Instant::now();
        tokio::select! {
            biased;
            item = cx.arrivals.next() => {
                let seconds = since.elapsed().as_secs();
                ToolOutput::text(format!("Ended after {seconds} s because of {}. It follows.", name(&item)))
            }
            () = tokio::time::sleep(Duration::from_secs(input.seconds)) => {
                ToolOutput::text(format!("{} s have passed. Nothing arrived.", input.seconds))
            }
        }
    }
}

impl Shipped for Sleep {
    fn make(_: &ToolSetup) -> Option<Arc<dyn Tool>> {
        Some(erase(Sleep))
    }
}

fn name(item: &QueuedItem) -> &'static str {
    match item.source {
        InboundSource::Person => "a message from the user",
        InboundSource::Agent { .. } => "a message from another agent",
        InboundSource::Job { .. } => "a report from a background job",
        InboundSource::Tools { .. } => "a change in the available tools",
        InboundSource::Harness => "a notice",
    }
}

#[cfg(test)]
#[path = "sleep_tests.rs"]
mod tests;
