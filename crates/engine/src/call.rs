//! One call from its start to its verdict: ask, record, run, bound.

use crate::agent::Agent;
use crate::signals::{CallProgress, Signal, Signals};
use crate::{spill, texts};
use futures_util::FutureExt;
use ostler_core::ids::CallId;
use ostler_core::permission::Access;
use ostler_core::ports::{Question, Reply, StoreError, Tool, ToolContext};
use ostler_core::session::{Entry, Verdict as Recorded};
use ostler_core::tool::ToolOutput;
use serde_json::Value;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

pub(crate) struct Job {
    pub(crate) id: CallId,
    pub(crate) name: String,
    pub(crate) input: Value,
    pub(crate) access: Access,
    pub(crate) asks: Option<String>,
    pub(crate) tool: Arc<dyn Tool>,
    pub(crate) progress: Arc<CallProgress>,
}

/// What became of a call.
pub(crate) struct Verdict {
    pub(crate) output: ToolOutput,
    pub(crate) denied: bool,
    pub(crate) ran: bool,
    pub(crate) store_failed: bool,
}

impl Verdict {
    pub(crate) fn not_run(output: ToolOutput) -> Self {
        Verdict { output, denied: false, ran: false, store_failed: false }
    }

    pub(crate) fn denied(why: &str) -> Self {
        let output = ToolOutput::error(texts::DENIED.replace("{why}", why));
        Verdict { denied: true, ..Verdict::not_run(output) }
    }

    fn store_failed(error: &StoreError) -> Self {
        let output = ToolOutput::error(format!("Not run: the session log cannot be written ({error})."));
        Verdict { store_failed: true, ..Verdict::not_run(output) }
    }
}

pub(crate) async fn perform(agent: Arc<Agent>, job: Job, index: usize, signals: Arc<Signals>) -> Verdict {
    match ask(&agent, &job, index, &signals).await {
        Ok(None) => {}
        Ok(Some(denied)) => return denied,
        Err(error) => return Verdict::store_failed(&error),
    }
    if !job.access.is_harmless()
        && let Err(error) = record_start(&agent, &job.id).await
    {
        return Verdict::store_failed(&error);
    }
    signals.send(Signal::Started(index));
    let cx = ToolContext {
        call: job.id,
        progress: job.progress,
        recorder: Arc::new(agent.journal.clone()),
        blobs: agent.journal.blobs(),
    };
    let run = AssertUnwindSafe(async { job.tool.run(job.input, cx).await });
    let output = match run.catch_unwind().await {
        Ok(output) => output,
        Err(_) => ToolOutput::error(format!(
            "The tool {} failed inside the harness. This is a defect of the harness, not of the call; what it did \
             until then is unknown.",
            job.name
        )),
    };
    let output = spill::bound(output, agent.settings.result_cap, agent.journal.blobs().as_ref());
    Verdict { output, denied: false, ran: true, store_failed: false }
}

/// Nothing runs before a person said yes, where one must.
async fn ask(agent: &Agent, job: &Job, index: usize, signals: &Signals) -> Result<Option<Verdict>, StoreError> {
    let Some(why) = &job.asks else { return Ok(None) };
    signals.send(Signal::Asked(index, why.clone()));
    let question = Question {
        call: job.id.clone(),
        tool: job.name.clone(),
        input: job.input.clone(),
        access: job.access.clone(),
        why: why.clone(),
    };
    let (verdict, why, denied) = match agent.gate.ask(question).await {
        Reply::Yes => (Recorded::Allow, "the user said yes".to_owned(), None),
        Reply::YesForSession => (Recorded::Allow, "the user said yes for this session".to_owned(), None),
        Reply::No(why) => (Recorded::Deny, why.clone(), Some(Verdict::denied(&why))),
    };
    agent.journal.write(&Entry::Decided { call: job.id.clone(), verdict, why })?;
    Ok(denied)
}

/// On the disk before the call changes anything: after a crash the model must learn that it had started.
async fn record_start(agent: &Agent, id: &CallId) -> Result<(), StoreError> {
    agent.journal.write(&Entry::CallStarted { id: id.clone() })?;
    agent.journal.sync().await
}
