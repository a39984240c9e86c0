//! A call that no model made: judged, asked about, recorded and bounded like every other.

use crate::agent::Agent;
use crate::call::{self, Asks, Job};
use crate::signals::{CallProgress, Signals};
use ostler_core::ids::CallId;
use ostler_core::permission::Verdict as Ruled;
use ostler_core::session::Verdict as Recorded;
use ostler_core::tool::ToolOutput;
use serde_json::Value;
use std::sync::{Arc, OnceLock};
use tokio::sync::oneshot;

/// # Errors
/// In words, why it was not run. Dropping the future stops everything it started.
pub async fn aside(
    agent: &Arc<Agent>,
    id: CallId,
    name: &str,
    input: Value,
) -> Result<ToolOutput, String> {
    let tool = agent.tools.get(name).ok_or_else(|| format!("the tool {name} is not on offer"))?;
    let access = tool.access(&input).map_err(|misuse| said(&misuse))?;
    let decision = agent.gate.judge(name, &input, &access);
    let (asks, decided) = match decision.verdict {
        Ruled::Deny => return Err(decision.why()),
        Ruled::Allow => (None, Some((Recorded::Allow, decision.why()))),
        Ruled::Ask => (Some(Asks { decision, before: None, answered: oneshot::channel().0 }), None),
    };
    let signals = Arc::<Signals>::default();
    let progress = CallProgress { index: 0, signals: signals.clone(), last: Arc::default() };
    let job = Job {
        id,
        name: name.to_owned(),
        input,
        access,
        asks,
        decided,
        tool: tool.clone(),
        progress: Arc::new(progress),
        began: Arc::new(OnceLock::new()),
    };
    let verdict = call::perform(agent.clone(), job, 0, signals).await;
    if verdict.ran { Ok(verdict.output) } else { Err(said(&verdict.output)) }
}

fn said(output: &ToolOutput) -> String {
    let text = |part: &ostler_core::message::ResultPart| match part {
        ostler_core::message::ResultPart::Text { text } => Some(text.clone()),
        ostler_core::message::ResultPart::Image(_) => None,
    };
    output.content.iter().filter_map(text).collect::<Vec<_>>().join("\n")
}
