//! One call from its start to its verdict: ask, record, run, bound.

use crate::agent::Agent;
use crate::signals::{CallProgress, Signal, Signals};
use crate::texts;
use futures_util::FutureExt;
use ostler_core::bound::bound;
use ostler_core::hook::{EventName, HookEvent, Stand};
use ostler_core::ids::CallId;
use ostler_core::permission::{Access, Decision, Verdict as Ruled};
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
    /// Decided without a person; to be on record before the call begins.
    pub(crate) decided: Option<(Recorded, String)>,
    /// A hook wants a person to look: no rule answers for that.
    pub(crate) raised: bool,
    /// What hooks said, for the record of the decision.
    pub(crate) record: String,
    pub(crate) tool: Arc<dyn Tool>,
    pub(crate) progress: Arc<CallProgress>,
    /// Set when the tool itself begins.
    pub(crate) began: Arc<OnceLock<Instant>>,
}

/// Why a person must say yes first, and the call's place in the row: questions come in the order of the calls, on
/// however many threads these run.
pub(crate) struct Asks {
    pub(crate) decision: Decision,
    pub(crate) before: Option<oneshot::Receiver<()>>,
    /// Dropped when this question is answered.
    pub(crate) answered: oneshot::Sender<()>,
}

/// What became of a call.
pub(crate) struct Verdict {
    pub(crate) output: ToolOutput,
    pub(crate) denied: bool,
    /// Why a rule refused it.
    pub(crate) refused: Option<String>,
    pub(crate) ran: bool,
    pub(crate) store_error: Option<StoreError>,
}

impl Verdict {
    pub(crate) fn ran(output: ToolOutput) -> Self {
        Verdict { output, denied: false, refused: None, ran: true, store_error: None }
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
        && let Err(error) = record_start(&agent, &mut job).await
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
    let Some(Asks { decision, before, answered: _answered }) = job.asks.take() else {
        return Ok(None);
    };
    if let Some(before) = before {
        // An error says the same as a message: the question before this one is over.
        let _ = before.await;
    }
    // The question before this one may have settled it.
    let now = agent.gate.judge(&job.name, &job.input, &job.access);
    let said = if now.verdict == Ruled::Allow && !job.raised {
        Ok("the user said yes for this session".to_owned())
    } else {
        match hear(agent, job, &decision, signals).await {
            Some(said) => said,
            None => ask_person(agent, job, decision, index, signals).await,
        }
    };
    let said = said.and_then(|yes| match is_still_the_same(job) {
        true => Ok(yes),
        false => Err("what it touches changed while the question was open".to_owned()),
    });
    let (verdict, why, denied) = match said {
        Ok(yes) => (Recorded::Allow, yes + &job.record, None),
        Err(why) => (Recorded::Deny, why.clone() + &job.record, Some(Verdict::denied(&why))),
    };
    agent.journal.write(Entry::Decided { call: job.id.clone(), verdict, why })?;
    Ok(denied)
}

async fn ask_person(
    agent: &Agent,
    job: &Job,
    decision: Decision,
    index: usize,
    signals: &Signals,
) -> Result<String, String> {
    let why = decision.why();
    signals.send(Signal::Asked(index, why.clone()));
    tell_of_question(agent, &job.name);
    let Decision { reasons, offer, .. } = decision;
    let (call, tool) = (job.id.clone(), job.name.clone());
    let (input, access) = (job.input.clone(), job.access.clone());
    let question = Question { call, tool, input, access, why, reasons, offer };
    match agent.gate.ask(question).await {
        Reply::Yes => Ok("the user said yes".into()),
        Reply::YesForSession => Ok("the user said yes for this session".into()),
        Reply::YesForProject => Ok("the user said yes for this project".into()),
        Reply::No(why) => Err(why),
    }
}

/// A hook may answer in the person's place. None: the person is asked.
async fn hear(
    agent: &Agent,
    job: &Job,
    decision: &Decision,
    signals: &Signals,
) -> Option<Result<String, String>> {
    if !agent.hooks.listens(EventName::PermissionRequest, Some(&job.name)) {
        return None;
    }
    let event = HookEvent::PermissionRequest {
        tool_name: job.name.clone(),
        tool_input: job.input.clone(),
        tool_use_id: job.id.to_string(),
        permission_suggestions: decision.offer.clone(),
    };
    let heard = agent.hooks.fire(event).await;
    for notice in &heard.notices {
        signals.send(Signal::Notice(notice.clone()));
    }
    match heard.says_yes() {
        Some(hook) => Some(Ok(format!("the hook {hook} said yes"))),
        None if heard.stand >= Stand::Block => Some(Err(heard.why())),
        None => None,
    }
}

/// Somebody may want to be called to the screen. Nothing waits for that.
fn tell_of_question(agent: &Agent, tool: &str) {
    const TYPE: &str = "permission_prompt";
    if !agent.hooks.listens(EventName::Notification, Some(TYPE)) {
        return;
    }
    let event = HookEvent::Notification {
        message: format!("Ostler needs your permission to use {tool}"),
        title: None,
        notification_type: TYPE.to_owned(),
    };
    agent.hooks.fire_aside(event);
}

/// A yes was given to what was shown: the same files behind the same names, and the same content in what is run.
fn is_still_the_same(job: &Job) -> bool {
    let now = std::panic::catch_unwind(AssertUnwindSafe(|| job.tool.access(&job.input).ok()));
    matches!(now, Ok(Some(access)) if access == job.access)
}

/// On the disk before the call changes anything: after a crash the model must learn that it had started.
async fn record_start(agent: &Agent, job: &mut Job) -> Result<(), StoreError> {
    let id = job.id.clone();
    if let Some((verdict, why)) = job.decided.take() {
        agent.journal.write(Entry::Decided { call: id.clone(), verdict, why })?;
    }
    agent.journal.write(Entry::CallStarted { id })?;
    agent.journal.sync().await
}
