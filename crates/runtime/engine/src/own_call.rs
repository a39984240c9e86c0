//! A call that no model made, such as a command in a skill. It passes through the same scheduler as every other: judged,
//! heard by hooks, asked about, recorded and bounded there.

use crate::agent::Agent;
use crate::hook_calls::text_of;
use crate::scheduler::{Happened, Scheduler};
use crate::signals::Signal;
use ostler_core::ids::CallId;
use ostler_core::message::ResultPart;
use ostler_core::tool::ToolOutput;
use serde_json::Value;
use std::sync::Arc;

/// Runs one call to its end. What hooks add for the model follows its output.
///
/// # Errors
/// In words, why it was not run. Dropping the future stops everything it started.
pub async fn own_call(
    agent: &Arc<Agent>,
    id: CallId,
    name: &str,
    input: Value,
) -> Result<ToolOutput, String> {
    let mut scheduler = Scheduler::new(agent.clone());
    scheduler.submit(id, name.to_owned(), None, input);
    scheduler.seal();
    let mut notices = Vec::new();
    while scheduler.is_busy() {
        match scheduler.happened().await {
            Happened::Notice(notice) | Happened::Signal(Signal::Notice(notice)) => {
                notices.push(notice);
            }
            Happened::Signal(_) | Happened::Finished(_) | Happened::Idle => {}
        }
    }
    let verdict = scheduler.call(0).and_then(|call| call.verdict());
    let verdict = verdict.ok_or("the call was stopped")?;
    if !verdict.has_run() {
        let refusal = verdict.refusal.as_ref().map(|refusal| refusal.why());
        return Err(refusal.unwrap_or_else(|| text_of(&verdict.output)));
    }
    let mut output = verdict.output.clone();
    output.content.extend(scheduler.hook_notes().map(ResultPart::text));
    output.notices.extend(notices);
    Ok(output)
}
