//! Whom a server can turn to while a call of this session runs.

use super::form::Form;
use super::sampling::{CallSamples, SamplingAllowance};
use crate::session::{Session, SessionShared};
use crate::system::{SystemIds, now_ms};
use ostler_core::event::Event;
use ostler_core::ids::{CallId, IdSource, QuestionId};
use ostler_core::permission::{By, ChoiceQuestion, Decision, PersonRequest, Verdict};
use ostler_core::ports::{Approver, BoxFuture, Reply};
use ostler_core::question::{Question, Touches};
use ostler_core::time::Timestamp;
use ostler_mcp::{Counterpart, Elicitation, ElicitationAnswer, SamplingAnswer, SamplingRequest};
use serde_json::{Map, Value};
use std::path::PathBuf;
use std::sync::{Arc, Weak};

/// How often a form is shown to somebody who fills it in wrongly.
const MOST_ATTEMPTS: usize = 3;

#[derive(Clone)]
pub(super) struct SessionCounterpart {
    session: Weak<SessionShared>,
    call: Option<RunningCall>,
    /// The server may use the model.
    sampling: Option<Arc<SamplingAllowance>>,
}

/// The call in whose name a server asks.
#[derive(Clone)]
pub(super) struct RunningCall {
    id: CallId,
    tool: String,
    input: Value,
    pub(super) samples: Arc<CallSamples>,
}

impl SessionCounterpart {
    pub(super) fn of(
        session: &Session,
        sampling: Option<Arc<SamplingAllowance>>,
    ) -> Arc<dyn Counterpart> {
        let session = Arc::downgrade(&session.shared);
        Arc::new(SessionCounterpart { session, call: None, sampling })
    }

    async fn ask(self, asked: Elicitation) -> ElicitationAnswer {
        let (Some(call), Some(mut form)) = (self.call, Form::of(&asked)) else {
            return ElicitationAnswer::Cancelled;
        };
        let mut asked = asked;
        for _ in 0..MOST_ATTEMPTS {
            let Some(shared) = self.session.upgrade() else { break };
            let (reply, session) = (shared.desk.clone(), Session { shared });
            let reply = match reply.is_attended() {
                true => ask_person(&session, reply.as_ref(), &call, form.questions()).await,
                false => break,
            };
            let input = match reply {
                Reply::YesWithInput(input) => input,
                Reply::No(_) => return ElicitationAnswer::Declined,
                // A yes without answers is none.
                Reply::Yes | Reply::YesForSession | Reply::YesForProject | Reply::Unanswered(_) => {
                    break;
                }
            };
            let Some(answers) = input.get(PersonRequest::ANSWERS).and_then(Value::as_object) else {
                break;
            };
            match form.content(answers) {
                Ok(content) => return ElicitationAnswer::Accepted(content),
                Err(wrong) => asked.message = format!("{wrong}. {}", asked.message),
            }
            let Some(again) = Form::of(&asked) else { break };
            form = again;
        }
        ElicitationAnswer::Cancelled
    }
}

/// Asks the people who attend the session, in the name of the call.
pub(super) async fn ask_person(
    session: &Session,
    desk: &dyn Approver,
    call: &RunningCall,
    questions: Vec<ChoiceQuestion>,
) -> Reply {
    let request = PersonRequest::Choices { questions };
    let decision = Decision::of(Verdict::Ask, By::BuiltIn, "the MCP server asks you");
    let patience = desk.patience().and_then(|patience| u64::try_from(patience.as_millis()).ok());
    let mut input = call.input.clone();
    match input.as_object_mut() {
        // Answers are what the person gives, not what the model wrote.
        Some(fields) => drop(fields.remove(PersonRequest::ANSWERS)),
        None => input = Value::Object(Map::new()),
    }
    let question = Question {
        id: QuestionId::new(SystemIds.uuid()),
        agent: session.shared().agent.meter.path.clone(),
        call: call.id.clone(),
        tool: call.tool.clone(),
        input,
        touches: Touches::default(),
        request: Some(Arc::new(request)),
        decision: decision.clone(),
        deadline: patience.map(|patience| Timestamp(now_ms().saturating_add(patience))),
    };
    let answered = desk.ask(question.clone());
    session.events().emit(Event::CallAsked {
        id: call.id.clone(),
        name: call.tool.clone(),
        decision: Box::new(decision),
        question: Some(Box::new(question)),
    });
    answered.await
}

impl Counterpart for SessionCounterpart {
    fn of_call(&self, id: &CallId, tool: &str, input: &Value) -> Option<Arc<dyn Counterpart>> {
        let (id, tool, input) = (id.clone(), tool.to_owned(), input.clone());
        let call = Some(RunningCall { id, tool, input, samples: Arc::default() });
        let (session, sampling) = (self.session.clone(), self.sampling.clone());
        Some(Arc::new(SessionCounterpart { session, call, sampling }))
    }

    fn elicit(&self, form: Elicitation) -> BoxFuture<'static, ElicitationAnswer> {
        Box::pin(self.clone().ask(form))
    }

    fn sample(
        &self,
        request: SamplingRequest,
    ) -> BoxFuture<'static, Result<SamplingAnswer, String>> {
        let SessionCounterpart { session, call, sampling } = self.clone();
        Box::pin(async move {
            let allowance = sampling.ok_or("this session does not let you use its model")?;
            let call = call.ok_or("none of your calls is running")?;
            let shared = session.upgrade().ok_or("the session is closed")?;
            allowance.sample(&Session { shared }, &call, request).await
        })
    }

    fn roots(&self) -> Vec<PathBuf> {
        let shared = self.session.upgrade();
        shared.map(|shared| shared.workspace.now().roots.clone()).unwrap_or_default()
    }
}
