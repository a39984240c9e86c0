//! Whom a server can turn to while a call of this session runs.

use super::form::Form;
use crate::session::{Session, SessionShared};
use crate::system::{SystemIds, now_ms};
use ostler_core::event::Event;
use ostler_core::ids::{CallId, IdSource, QuestionId};
use ostler_core::permission::{By, Decision, PersonRequest, Verdict};
use ostler_core::ports::{Approver, BoxFuture, Reply};
use ostler_core::question::{Question, Touches};
use ostler_core::time::Timestamp;
use ostler_mcp::{Counterpart, Elicitation, ElicitationAnswer};
use serde_json::{Map, Value};
use std::path::PathBuf;
use std::sync::{Arc, Weak};

/// How often a form is shown to somebody who fills it in wrongly.
const MOST_ATTEMPTS: usize = 3;

#[derive(Clone)]
pub(super) struct SessionCounterpart {
    session: Weak<SessionShared>,
    call: Option<RunningCall>,
}

/// The call in whose name a server asks.
#[derive(Clone)]
struct RunningCall {
    id: CallId,
    tool: String,
    input: Value,
}

impl SessionCounterpart {
    pub(super) fn of(session: &Session) -> Arc<dyn Counterpart> {
        Arc::new(SessionCounterpart { session: Arc::downgrade(&session.shared), call: None })
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
                true => answer(&session, reply.as_ref(), &call, &form).await,
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

/// Asks the people who attend the session to fill in the form.
async fn answer(session: &Session, desk: &dyn Approver, call: &RunningCall, form: &Form) -> Reply {
    let request = PersonRequest::Choices { questions: form.questions() };
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
        let call = RunningCall { id: id.clone(), tool: tool.to_owned(), input: input.clone() };
        Some(Arc::new(SessionCounterpart { session: self.session.clone(), call: Some(call) }))
    }

    fn elicit(&self, form: Elicitation) -> BoxFuture<'static, ElicitationAnswer> {
        Box::pin(self.clone().ask(form))
    }

    fn roots(&self) -> Vec<PathBuf> {
        let shared = self.session.upgrade();
        shared.map(|shared| shared.workspace.now().roots.clone()).unwrap_or_default()
    }
}
