//! A call of a program that uses the tools of a session without a model. It passes through the same scheduler as every
//! other; one that may change something is in the log as a turn of its own, so that it can be undone by its name.

use crate::agent::Agent;
use crate::call::Verdict;
use crate::scheduler::{Happened, Scheduler};
use crate::signals::Signal;
use ostler_core::event::CallOutcome;
use ostler_core::ids::{CallId, ModelId};
use ostler_core::message::{Block, Message, ResultPart};
use ostler_core::model::StopReason;
use ostler_core::ports::StoreError;
use ostler_core::question::Question;
use ostler_core::session::Entry;
use ostler_core::tool::ToolOutput;
use ostler_core::turn::Terminal;
use serde_json::Value;
use std::sync::Arc;
use tokio::sync::{Mutex, MutexGuard};
use tokio_util::sync::CancellationToken;

#[derive(Clone, Debug)]
pub struct ProgramCall {
    pub id: CallId,
    pub tool: String,
    pub input: Value,
    /// What the log says about who wanted it.
    pub caller: String,
}

/// What a call says while it runs.
#[derive(Clone, Debug)]
pub enum CallNews {
    /// Nothing happens before the question is answered.
    Asked(Box<Question>),
    /// Its newest output.
    Progress(String),
}

/// What became of the call of a program.
#[derive(Clone, Debug)]
pub struct CallEnd {
    pub output: ToolOutput,
    pub outcome: CallOutcome,
}

/// Whom the log names as the author of such calls.
const PROGRAM: &str = "program";

/// Runs one call to its end; `interrupt` stops it in order. Calls that may change something run one at a time, each
/// holding `changing`.
pub async fn program_call(
    agent: &Arc<Agent>,
    call: ProgramCall,
    changing: &Mutex<()>,
    interrupt: &CancellationToken,
    mut news: impl FnMut(CallNews) + Send,
) -> CallEnd {
    let mut scheduler = Scheduler::new(agent.clone());
    scheduler.submit(call.id.clone(), call.tool.clone(), None, call.input.clone());
    let alone = match scheduler.has_changing() {
        true => uninterrupted(changing, interrupt).await,
        false => None,
    };
    if alone.is_some()
        && let Err(error) = record_request(agent, &call).await
    {
        return CallEnd::of(&Verdict::store_failed(error));
    }
    if !interrupt.is_cancelled() {
        scheduler.seal();
    }
    while scheduler.is_busy() {
        let happened = tokio::select! {
            biased;
            () = interrupt.cancelled() => break,
            happened = scheduler.happened() => happened,
        };
        match happened {
            Happened::Signal(Signal::Asked(_, question)) => news(CallNews::Asked(question)),
            Happened::Signal(Signal::Progress(_, tail)) => news(CallNews::Progress(tail)),
            _ => {}
        }
    }
    // A call that a hook deferred is not continued here.
    scheduler.deferred = false;
    scheduler.stop().await;
    let recorded = match alone {
        Some(_) => record_end(agent, &mut scheduler).await,
        None => Ok(()),
    };
    ended(&scheduler, &call.tool, recorded)
}

/// None: it was interrupted first.
async fn uninterrupted<'a>(
    changing: &'a Mutex<()>,
    interrupt: &CancellationToken,
) -> Option<MutexGuard<'a, ()>> {
    tokio::select! {
        biased;
        () = interrupt.cancelled() => None,
        alone = changing.lock() => Some(alone),
    }
}

fn ended(scheduler: &Scheduler, tool: &str, recorded: Result<(), StoreError>) -> CallEnd {
    let Some((call, verdict)) = scheduler.call(0).and_then(|call| Some((call, call.verdict()?)))
    else {
        return CallEnd::of(&Verdict::panicked(tool, None));
    };
    // The files that it showed may be changed from here on.
    if let Some(tool) = scheduler.toolbox.get(&call.name) {
        tool.recorded(&call.seen());
    }
    let mut end = CallEnd::of(verdict);
    if let Err(error) = recorded {
        let text = format!("The session log cannot be written, so this cannot be undone: {error}");
        end.output.content.push(ResultPart::text(text));
        end.output.is_error = true;
    }
    end.output.content.extend(scheduler.hook_notes().map(ResultPart::text));
    end
}

impl CallEnd {
    fn of(verdict: &Verdict) -> Self {
        CallEnd { output: verdict.output.clone(), outcome: verdict.outcome }
    }
}

/// On disk before the call can start: a prompt that says who wants it, and an answer that makes it.
async fn record_request(agent: &Agent, call: &ProgramCall) -> Result<(), StoreError> {
    let journal = &agent.journal;
    journal.try_again();
    let (message, at) = (Message::user(call.caller.as_str()), journal.clock().now());
    journal.write(Entry::Prompt { message, at, inbound: Vec::new() })?;
    let (id, name, input) = (call.id.clone(), call.tool.clone(), call.input.clone());
    let made = Block::ToolUse { id, name, input, via: None };
    let message = Message::assistant(&ModelId::new(PROGRAM), vec![made]);
    journal.write(Entry::Answer { message, stop: Some(StopReason::ToolUse) })?;
    journal.sync().await
}

/// Nothing of the conversation stays in memory: no model is going to be asked about it.
async fn record_end(agent: &Agent, scheduler: &mut Scheduler) -> Result<(), StoreError> {
    let journal = &agent.journal;
    if let Some((call, verdict, why)) = scheduler.take_decided(0) {
        journal.write(Entry::decided(call, verdict, why))?;
    }
    if let Some(call) = scheduler.call(0)
        && let Some(result) = call.result()
    {
        journal.finished(result, call.seen())?;
    }
    let ended = journal.end(Terminal::Completed).await;
    journal.forget_conversation();
    ended
}
