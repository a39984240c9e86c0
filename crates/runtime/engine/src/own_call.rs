//! A call that no model made: heard by hooks, judged, asked about, recorded and bounded like every other.

use crate::agent::Agent;
use crate::call::{self, Asks, Job};
use crate::heard::{aftermath, objection, raised, record, said};
use crate::hooks::messages;
use crate::signals::{CallProgress, Signals};
use ostler_core::hook::{EventName, HookEvent, Outcome, Stand};
use ostler_core::ids::CallId;
use ostler_core::message::ResultPart;
use ostler_core::permission::{Access, Decision, Mode, Verdict as Ruled};
use ostler_core::ports::Tool;
use ostler_core::session::Verdict as Recorded;
use ostler_core::tool::ToolOutput;
use serde_json::Value;
use std::sync::Arc;
use tokio::sync::oneshot;

/// # Errors
/// In words, why it was not run. Dropping the future stops everything it started.
pub async fn own_call(
    agent: &Arc<Agent>,
    id: CallId,
    name: &str,
    input: Value,
) -> Result<ToolOutput, String> {
    let tool = agent.tools.get(name).ok_or_else(|| format!("the tool {name} is not on offer"))?;
    let (mut access, mut decision) = judge(agent, tool.as_ref(), name, &input)?;
    let heard = hear(agent, &id, name, &input).await?;
    let input = heard.as_ref().and_then(|heard| heard.rewritten(&input)).unwrap_or(input);
    if let Some(heard) = &heard {
        (access, decision) = judge(agent, tool.as_ref(), name, &input)?;
        if heard.stand == Stand::Ask {
            if agent.gate.mode() == Mode::DontAsk {
                return Err(format!("{}, and nobody is to be asked", heard.why()));
            }
            decision = raised(decision, heard.why());
        }
    }
    let record = heard.as_ref().map(record).unwrap_or_default();
    let raised = heard.is_some_and(|heard| heard.stand == Stand::Ask);
    let (asks, decided) = match decision.verdict {
        Ruled::Ask => (Some(Asks { decision, before: None, answered: oneshot::channel().0 }), None),
        _ => (None, Some((Recorded::Allow, decision.why() + &record))),
    };
    let signals = Arc::<Signals>::default();
    let progress = CallProgress { index: 0, signals: signals.clone(), last: Arc::default() };
    let job = Job {
        id: id.clone(),
        name: name.to_owned(),
        input: input.clone(),
        access,
        asks,
        decided,
        raised,
        record,
        tool: tool.clone(),
        progress: Arc::new(progress),
        began: Arc::default(),
        decision: Arc::default(),
    };
    let verdict = call::perform(agent.clone(), job, 0, signals).await;
    if !verdict.has_run() {
        return Err(said(&verdict.output));
    }
    let took = verdict.took.unwrap_or_default();
    Ok(told(agent, aftermath(agent, (&id, name, &input), took, &verdict.output), verdict.output)
        .await)
}

fn judge(
    agent: &Agent,
    tool: &dyn Tool,
    name: &str,
    input: &Value,
) -> Result<(Access, Decision), String> {
    let access = tool.access(input).map_err(|misuse| said(&misuse))?;
    let decision = agent.gate.judge(name, input, &access);
    match decision.verdict {
        Ruled::Deny => Err(decision.why()),
        Ruled::Allow | Ruled::Ask => Ok((access, decision)),
    }
}

/// None: nobody listens.
async fn hear(
    agent: &Agent,
    id: &CallId,
    name: &str,
    input: &Value,
) -> Result<Option<Outcome>, String> {
    if !agent.hooks.listens(EventName::PreToolUse, Some(name)) {
        return Ok(None);
    }
    let event = HookEvent::PreToolUse {
        tool_name: name.to_owned(),
        tool_input: input.clone(),
        tool_use_id: id.to_string(),
    };
    let heard = agent.hooks.fire(event).await;
    // No turn could be resumed with it.
    if heard.stand >= Stand::Defer { Err(heard.why()) } else { Ok(Some(heard)) }
}

/// It has run: an objection stands beside its output.
async fn told(agent: &Agent, event: Option<HookEvent>, mut output: ToolOutput) -> ToolOutput {
    let Some(event) = event else { return output };
    let name = event.matched().unwrap_or_default().to_owned();
    let heard = agent.hooks.fire(event).await;
    if heard.stand >= Stand::Ask {
        output.content.push(ResultPart::text(objection(&name, &heard)));
    }
    output.notices.extend(messages(&heard));
    output
}
