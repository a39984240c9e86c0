//! One call from its start to its verdict: ask, record, run, bound.

use crate::agent::Agent;
use crate::gate::Gate;
use crate::hook_calls::{TaskEnd, by_hook};
use crate::hooks::messages;
use crate::signals::{CallProgress, Signal, Signals};
use crate::texts;
use futures_util::FutureExt;
use ostler_core::event::{CallOutcome, NotRun};
use ostler_core::hook::{EventName, HookEvent, Stand};
use ostler_core::ids::{CallId, QuestionId};
use ostler_core::output_bound::bound;
use ostler_core::permission::{Access, By, Decision, PersonRequest, Verdict as Ruled};
use ostler_core::ports::{Reply, StoreError, Tool, ToolContext};
use ostler_core::question::{Question, Touches};
use ostler_core::session::{Entry, Verdict as Recorded};
use ostler_core::tool::ToolOutput;
use serde_json::Value;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use tokio::sync::oneshot;
use tokio::time::Instant;

pub(crate) struct Job {
    pub(crate) id: CallId,
    pub(crate) name: String,
    /// The tool that the model named instead.
    pub(crate) via: Option<String>,
    pub(crate) input: Value,
    pub(crate) access: Access,
    pub(crate) asks: Option<PendingQuestion>,
    /// Other commands that change something may run at the same time.
    pub(crate) beside_others: bool,
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
    /// Set when somebody lets it run who had to be asked first.
    pub(crate) decision: Arc<OnceLock<Decision>>,
}

impl Job {
    fn judged_by(&self, gate: &Gate) -> Decision {
        gate.judge_via((&self.name, self.via.as_deref()), &self.input, &self.access)
    }
}

/// Why a person must say yes first, and the call's place in the row: questions come in the order of the calls, on
/// however many threads these run.
pub(crate) struct PendingQuestion {
    pub(crate) decision: Decision,
    pub(crate) before: Option<oneshot::Receiver<()>>,
    /// Dropped when this question is answered.
    pub(crate) answered: oneshot::Sender<()>,
}

/// What became of a call.
pub(crate) struct Verdict {
    pub(crate) output: ToolOutput,
    pub(crate) outcome: CallOutcome,
    /// Who refused it, and why.
    pub(crate) refusal: Option<Decision>,
    /// How long the tool itself ran; none if it did not.
    pub(crate) took: Option<Duration>,
    pub(crate) store_error: Option<StoreError>,
}

impl Verdict {
    pub(crate) fn ran(output: ToolOutput, took: Duration) -> Self {
        let outcome = if output.is_error { CallOutcome::Failed } else { CallOutcome::Succeeded };
        Verdict { output, outcome, refusal: None, took: Some(took), store_error: None }
    }

    pub(crate) fn not_run(output: ToolOutput, why: NotRun) -> Self {
        let outcome = CallOutcome::NotRun { why };
        Verdict { output, outcome, refusal: None, took: None, store_error: None }
    }

    pub(crate) fn denied(decision: Decision) -> Self {
        let text = texts::DENIED.replace("{why}", &decision.why());
        Verdict::denied_saying(text, decision)
    }

    /// The same after a question: what the person said about a call that asks them something is not about permission.
    fn refused(decision: Decision, access: &Access) -> Self {
        let text = match access.person.as_deref() {
            Some(PersonRequest::Choices { .. }) => texts::NOT_ANSWERED,
            Some(PersonRequest::Plan { .. }) => texts::PLAN_NOT_APPROVED,
            None => return Verdict::denied(decision),
        };
        let text = text.replace("{why}", &decision.why());
        Verdict::denied_saying(text, decision)
    }

    /// The same in other words.
    pub(crate) fn denied_saying(text: String, decision: Decision) -> Self {
        let outcome = CallOutcome::Denied { by: decision.by() };
        let (output, refusal) = (ToolOutput::error(text), Some(decision));
        Verdict { output, outcome, refusal, took: None, store_error: None }
    }

    /// A person said something else before it could start.
    pub(crate) fn redirected() -> Self {
        Verdict::not_run(ToolOutput::error(texts::REDIRECTED), NotRun::Redirected)
    }

    pub(crate) fn has_run(&self) -> bool {
        self.took.is_some()
    }

    /// `took`: none if the tool itself had not begun.
    pub(crate) fn panicked(name: &str, took: Option<Duration>) -> Self {
        let effect = match took {
            Some(_) => "what it did until then is unknown",
            None => "nothing was run",
        };
        let output = ToolOutput::error(format!(
            "The tool {name} failed inside the harness. This is a defect of the harness, not of the call; {effect}."
        ));
        let outcome = CallOutcome::Panicked;
        Verdict { output, outcome, refusal: None, took, store_error: None }
    }

    pub(crate) fn store_failed(error: StoreError) -> Self {
        let output =
            ToolOutput::error(format!("Not run: the session log cannot be written ({error})."));
        // The turn ends with it, so nobody is shown this outcome.
        Verdict { store_error: Some(error), ..Verdict::not_run(output, NotRun::Interrupted) }
    }
}

/// Whatever panics on the way is the call's result; the calls behind it go on.
pub(crate) async fn perform(
    agent: Arc<Agent>,
    job: Job,
    index: usize,
    signals: Arc<Signals>,
) -> TaskEnd {
    let (name, began) = (job.name.clone(), job.began.clone());
    let performed = AssertUnwindSafe(performed(agent, job, index, signals)).catch_unwind().await;
    performed.unwrap_or_else(|_| {
        TaskEnd::ran(Verdict::panicked(&name, began.get().map(Instant::elapsed)))
    })
}

async fn performed(
    agent: Arc<Agent>,
    mut job: Job,
    index: usize,
    signals: Arc<Signals>,
) -> TaskEnd {
    let (inbox, asks) = (agent.inbox(), job.asks.is_some());
    let asked = tokio::select! {
        biased;
        asked = ask(&agent, &mut job, index, &signals) => asked,
        // Who says something else does not want to be asked about this.
        () = inbox.steered(), if asks => return TaskEnd::ran(Verdict::redirected()),
    };
    match asked {
        Ok(None) => {}
        Ok(Some(Answer::Decided(decision))) if decision.verdict == Ruled::Allow => {
            let _ = job.decision.set(decision);
        }
        Ok(Some(Answer::Decided(denied))) => {
            return TaskEnd::ran(Verdict::refused(denied, &job.access));
        }
        Ok(Some(Answer::Changed(input, question))) => {
            return TaskEnd::InputChanged(input, question);
        }
        Ok(Some(Answer::Pointless(output))) => {
            return TaskEnd::ran(Verdict::not_run(*output, NotRun::BadInput));
        }
        Err(error) => return TaskEnd::ran(Verdict::store_failed(error)),
    }
    if !job.access.is_harmless()
        && let Err(error) = record_start(&agent, &mut job).await
    {
        return TaskEnd::ran(Verdict::store_failed(error));
    }
    let since = *job.began.get_or_init(Instant::now);
    signals.send(Signal::Started(index));
    let cx = ToolContext {
        call: job.id,
        judged: job.access,
        beside_others: job.beside_others,
        progress: job.progress,
        recorder: Arc::new(agent.journal.clone()),
        blobs: agent.journal.blobs(),
        arrivals: Arc::new(agent.journal.clone()),
    };
    let output = job.tool.run(job.input, cx).await;
    let took = since.elapsed();
    let output = bound(output, agent.settings.result_cap, agent.journal.blobs().as_ref());
    TaskEnd::ran(Verdict::ran(output, took))
}

/// How a question ended.
enum Answer {
    Decided(Decision),
    /// Not this call, but one with another input.
    Changed(Value, QuestionId),
    /// Nobody was asked, because the call would fail anyway.
    Pointless(Box<ToolOutput>),
}

/// Nothing runs before a person said yes, where one must. None: nobody had to be asked.
async fn ask(
    agent: &Agent,
    job: &mut Job,
    index: usize,
    signals: &Signals,
) -> Result<Option<Answer>, StoreError> {
    // Until the end of this function the next question waits.
    let Some(PendingQuestion { decision, before, answered: _answered }) = job.asks.take() else {
        return Ok(None);
    };
    if let Some(before) = before {
        // An error says the same as a message: the question before this one is over.
        let _ = before.await;
    }
    // The question before this one may have settled it.
    let now = job.judged_by(&agent.gate);
    let mut question = None;
    let mut decided = if now.verdict == Ruled::Allow && !job.raised {
        Decision::of(Ruled::Allow, By::Person, "the user said yes for this session")
    } else {
        match hear(agent, job, &decision, signals).await {
            Some(decided) => decided,
            None => {
                if let Some(objection) = job.tool.objection(&job.input).await {
                    return Ok(Some(Answer::Pointless(Box::new(objection))));
                }
                let id = QuestionId::new(agent.meter.ids.uuid());
                question = Some(id.clone());
                match ask_person(agent, job, id, decision, index, signals).await? {
                    Answer::Decided(decided) => decided,
                    other => return Ok(Some(other)),
                }
            }
        }
    };
    if decided.verdict == Ruled::Allow && !is_still_the_same(job) {
        let why = "what it touches changed while the question was open";
        decided = Decision::of(Ruled::Deny, By::BuiltIn, why);
    }
    // The mode or the rules may have become stricter meanwhile.
    let now = job.judged_by(&agent.gate);
    if now.verdict == Ruled::Deny {
        decided = now;
    }
    let verdict = if decided.verdict == Ruled::Allow { Recorded::Allow } else { Recorded::Deny };
    let why = decided.why() + &job.record;
    let call = job.id.clone();
    agent.journal.write(Entry::Decided { call, verdict, why, input: None, question })?;
    Ok(Some(Answer::Decided(decided)))
}

/// The question is on record before anybody sees it, so that it survives us.
async fn ask_person(
    agent: &Agent,
    job: &Job,
    id: QuestionId,
    decision: Decision,
    index: usize,
    signals: &Signals,
) -> Result<Answer, StoreError> {
    let question = Question {
        id: id.clone(),
        agent: agent.meter.path.clone(),
        call: job.id.clone(),
        tool: job.name.clone(),
        input: job.input.clone(),
        touches: Touches::from(&job.access),
        request: job.access.person.clone(),
        decision,
        deadline: agent.gate.question_deadline(agent.journal.clock()),
    };
    let opened = |question: &Question| {
        let at = agent.journal.clock().now();
        let open = Box::new(question.clone());
        agent.journal.write(Entry::Asked { question: open.clone(), at })?;
        signals.send(Signal::Asked(index, open));
        tell_of_question(agent, &job.name);
        Ok(())
    };
    let decided = match agent.gate.ask(question, &job.access, opened).await? {
        Reply::YesWithInput(input) if input != job.input => {
            return Ok(Answer::Changed(input, id));
        }
        Reply::Yes | Reply::YesWithInput(_) => yes(By::Person, "the user said yes"),
        Reply::YesForSession => yes(By::Person, "the user said yes for this session"),
        Reply::YesForProject => yes(By::Person, "the user said yes for this project"),
        Reply::No(why) => Decision::of(Ruled::Deny, By::Person, why),
        Reply::Unanswered(why) => Decision::of(Ruled::Deny, By::Nobody, why),
    };
    Ok(Answer::Decided(decided))
}

fn yes(by: By, why: impl Into<String>) -> Decision {
    Decision::of(Ruled::Allow, by, why)
}

/// A hook may answer in the person's place. None: the person is asked.
async fn hear(
    agent: &Agent,
    job: &Job,
    decision: &Decision,
    signals: &Signals,
) -> Option<Decision> {
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
    for notice in messages(&heard) {
        signals.send(Signal::Notice(notice));
    }
    match heard.says_yes() {
        // A hook can say no to such a call, but it cannot answer for the person.
        Some(_) if job.access.person.is_some() => None,
        Some(hook) => Some(yes(By::Hook, format!("the hook {hook} said yes"))),
        None if heard.stand >= Stand::Block => Some(by_hook(heard.why(), heard.feedback())),
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
    agent.hooks.fire_without_waiting(event);
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
        agent.journal.write(Entry::decided(id.clone(), verdict, why))?;
    }
    agent.journal.write(Entry::CallStarted { id })?;
    agent.journal.sync().await
}
