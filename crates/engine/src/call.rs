//! One call from its start to its verdict: ask, record, run, bound.

use crate::agent::Agent;
use crate::signals::{CallProgress, Signal, Signals};
use crate::texts;
use futures_util::FutureExt;
use ostler_core::bound::bound;
use ostler_core::ids::CallId;
use ostler_core::permission::Access;
use ostler_core::ports::{Question, Reply, StoreError, Tool, ToolContext};
use ostler_core::session::{Entry, Verdict as Recorded};
use ostler_core::tool::ToolOutput;
use serde_json::Value;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, OnceLock};
use tokio::sync::oneshot;
use tokio::time::Instant;

pub(crate) struct Job {
    pub(crate) id: CallId,
    pub(crate) name: String,
    pub(crate) input: Value,
    pub(crate) access: Access,
    pub(crate) asks: Option<Asks>,
    pub(crate) tool: Arc<dyn Tool>,
    pub(crate) progress: Arc<CallProgress>,
    /// Set when the tool itself begins.
    pub(crate) began: Arc<OnceLock<Instant>>,
}

/// Why a person must say yes first, and the call's place in the row: questions come in the order of the calls, on
/// however many threads these run.
pub(crate) struct Asks {
    pub(crate) why: String,
    pub(crate) before: Option<oneshot::Receiver<()>>,
    /// Dropped when this question is answered.
    pub(crate) answered: oneshot::Sender<()>,
}

/// What became of a call.
pub(crate) struct Verdict {
    pub(crate) output: ToolOutput,
    pub(crate) denied: bool,
    pub(crate) ran: bool,
    pub(crate) store_error: Option<StoreError>,
}

impl Verdict {
    pub(crate) fn ran(output: ToolOutput) -> Self {
        Verdict { output, denied: false, ran: true, store_error: None }
    }

    pub(crate) fn not_run(output: ToolOutput) -> Self {
        Verdict { ran: false, ..Verdict::ran(output) }
    }

    pub(crate) fn denied(why: &str) -> Self {
        let output = ToolOutput::error(texts::DENIED.replace("{why}", why));
        Verdict { denied: true, ..Verdict::not_run(output) }
    }

    pub(crate) fn panicked(name: &str, began: bool) -> Self {
        let effect = if began { "what it did until then is unknown" } else { "nothing was run" };
        let output = ToolOutput::error(format!(
            "The tool {name} failed inside the harness. This is a defect of the harness, not of the call; {effect}."
        ));
        Verdict { ran: began, ..Verdict::ran(output) }
    }

    fn store_failed(error: StoreError) -> Self {
        let output =
            ToolOutput::error(format!("Not run: the session log cannot be written ({error})."));
        Verdict { store_error: Some(error), ..Verdict::not_run(output) }
    }
}

/// Whatever panics on the way is the call's result; the calls behind it go on.
pub(crate) async fn perform(
    agent: Arc<Agent>,
    job: Job,
    index: usize,
    signals: Arc<Signals>,
) -> Verdict {
    let (name, began) = (job.name.clone(), job.began.clone());
    let performed = AssertUnwindSafe(performed(agent, job, index, signals)).catch_unwind().await;
    performed.unwrap_or_else(|_| Verdict::panicked(&name, began.get().is_some()))
}

async fn performed(
    agent: Arc<Agent>,
    mut job: Job,
    index: usize,
    signals: Arc<Signals>,
) -> Verdict {
    match ask(&agent, &mut job, index, &signals).await {
        Ok(None) => {}
        Ok(Some(denied)) => return denied,
        Err(error) => return Verdict::store_failed(error),
    }
    if !job.access.is_harmless()
        && let Err(error) = record_start(&agent, &job.id).await
    {
        return Verdict::store_failed(error);
    }
    let _ = job.began.set(Instant::now());
    signals.send(Signal::Started(index));
    let cx = ToolContext {
        call: job.id,
        judged: job.access,
        progress: job.progress,
        recorder: Arc::new(agent.journal.clone()),
        blobs: agent.journal.blobs(),
    };
    let output = job.tool.run(job.input, cx).await;
    Verdict::ran(bound(output, agent.settings.result_cap, agent.journal.blobs().as_ref()))
}

/// Nothing runs before a person said yes, where one must.
async fn ask(
    agent: &Agent,
    job: &mut Job,
    index: usize,
    signals: &Signals,
) -> Result<Option<Verdict>, StoreError> {
    // Until the end of this function the next question waits.
    let Some(Asks { why, before, answered: _answered }) = job.asks.take() else { return Ok(None) };
    if let Some(before) = before {
        // An error says the same as a message: the question before this one is over.
        let _ = before.await;
    }
    let reply = if agent.gate.is_allowed(&job.name, &job.access) {
        Reply::YesForSession
    } else {
        signals.send(Signal::Asked(index, why.clone()));
        let question = Question {
            call: job.id.clone(),
            tool: job.name.clone(),
            input: job.input.clone(),
            access: job.access.clone(),
            why,
        };
        agent.gate.ask(question).await
    };
    let (verdict, why, denied) = match reply {
        Reply::Yes => (Recorded::Allow, "the user said yes".to_owned(), None),
        Reply::YesForSession => {
            (Recorded::Allow, "the user said yes for this session".to_owned(), None)
        }
        Reply::No(why) => (Recorded::Deny, why.clone(), Some(Verdict::denied(&why))),
    };
    agent.journal.write(Entry::Decided { call: job.id.clone(), verdict, why })?;
    Ok(denied)
}

/// On the disk before the call changes anything: after a crash the model must learn that it had started.
async fn record_start(agent: &Agent, id: &CallId) -> Result<(), StoreError> {
    agent.journal.write(Entry::CallStarted { id: id.clone() })?;
    agent.journal.sync().await
}
