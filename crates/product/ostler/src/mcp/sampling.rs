//! Requests of a server to the model: a person decides about each, and all of them together have a limit.

use super::counterpart::{RunningCall, ask_person};
use crate::session::Session;
use ostler_core::ledger::{Purpose, Purse};
use ostler_core::message::{Block, Message};
use ostler_core::model::{Request, StopReason, Thinking};
use ostler_core::permission::{Choice, ChoiceQuestion, PersonRequest};
use ostler_core::ports::Reply;
use ostler_core::rendering::SharedList;
use ostler_core::view::View;
use ostler_engine::{Agent, OwnBudget, side_request_within};
use ostler_mcp::{SampledText, SamplingAnswer, SamplingRequest, SamplingTerms, ServerConfig};
use serde_json::Value;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// Requests in the name of one call.
const MOST_REQUESTS: usize = 20;
/// Tokens of an answer.
const MOST_TOKENS: u32 = 8_000;
/// For an answer of the model.
const TIME: Duration = Duration::from_secs(120);
const RETRIES: u32 = 2;
const ALLOW: &str = "Allow once";
const REFUSE: &str = "Refuse";

/// What a server may spend in a session.
pub(super) struct SamplingAllowance {
    server: String,
    terms: SamplingTerms,
    purse: OnceLock<Purse>,
}

/// What became of the requests in the name of one call.
#[derive(Default)]
pub(super) struct CallSamples {
    count: AtomicUsize,
    /// The person said no once. Nobody is asked again.
    is_refused: AtomicBool,
}

impl SamplingAllowance {
    pub(super) fn of(config: &ServerConfig) -> Option<Arc<Self>> {
        let (server, terms) = (config.name.clone(), config.sampling?);
        Some(Arc::new(SamplingAllowance { server, terms, purse: OnceLock::new() }))
    }

    /// # Errors
    /// In words for the server, why there is no answer.
    pub(super) async fn sample(
        &self,
        session: &Session,
        call: &RunningCall,
        request: SamplingRequest,
    ) -> Result<SamplingAnswer, String> {
        let agent = &session.shared().agent;
        if agent.meter.purpose == Purpose::Subagent {
            // Each of them would have the whole budget, and the person sees the least of what they do.
            return Err("calls of agents cannot use the model".into());
        }
        if call.samples.count.fetch_add(1, Ordering::SeqCst) >= MOST_REQUESTS {
            return Err(format!("a call can use the model {MOST_REQUESTS} times"));
        }
        let most = request.max_tokens.clamp(1, MOST_TOKENS);
        if !self.terms.approve {
            self.approved(session, call, &request, most).await?;
        }
        let purse = self.purse.get_or_init(|| agent.budget.child(Some(self.terms.max_usd)));
        let answering = answer(agent, OwnBudget { purse, of: "server" }, request, most);
        let answered = tokio::time::timeout(TIME, answering).await;
        answered.map_err(|_| format!("the model did not answer within {} s", TIME.as_secs()))?
    }

    async fn approved(
        &self,
        session: &Session,
        call: &RunningCall,
        request: &SamplingRequest,
        most: u32,
    ) -> Result<(), String> {
        let desk = session.shared().desk.clone();
        if call.samples.is_refused.load(Ordering::SeqCst) {
            return Err("the user has refused".into());
        }
        if !desk.is_attended() {
            return Err("nobody is there who could allow it".into());
        }
        let question = self.question(request, most);
        let text = question.question.clone();
        let allows = |input: &Value| {
            let answers = input.get(PersonRequest::ANSWERS);
            answers.and_then(|answers| answers.get(&text)).and_then(Value::as_str) == Some(ALLOW)
        };
        match ask_person(session, desk.as_ref(), call, vec![question]).await {
            Reply::YesWithInput(input) if allows(&input) => Ok(()),
            Reply::Unanswered(_) => Err("the user has not answered".into()),
            _ => {
                call.samples.is_refused.store(true, Ordering::SeqCst);
                Err("the user has refused".into())
            }
        }
    }

    fn question(&self, request: &SamplingRequest, most: u32) -> ChoiceQuestion {
        let (server, shown) = (&self.server, request.shown());
        let choice = |label: &str, description: &str| Choice {
            label: label.to_owned(),
            description: description.to_owned(),
        };
        ChoiceQuestion {
            question: format!(
                "The MCP server {server} wants to send this to the model, for an answer of up to {most} tokens. Allow it?\n{shown}"
            ),
            header: format!("MCP server {server}"),
            options: vec![
                choice(ALLOW, "The server gets the answer of the model; you pay for it"),
                choice(REFUSE, "The server gets an error, for all requests of this call"),
            ],
            multi_select: false,
        }
    }
}

/// Without tools, and without anything of the conversation.
async fn answer(
    agent: &Arc<Agent>,
    budget: OwnBudget<'_>,
    asked: SamplingRequest,
    most: u32,
) -> Result<SamplingAnswer, String> {
    let model = agent.choice().primary;
    let message = |SampledText { is_assistant, text }: SampledText| match is_assistant {
        true => Message::assistant(&model, vec![Block::text(text)]),
        false => Message::user(text),
    };
    let request = Request {
        model: model.clone(),
        system: asked.system.into_iter().collect(),
        tools: SharedList::default(),
        view: View::from_messages(asked.messages.into_iter().map(message)),
        max_output: most,
        thinking: Thinking::Disabled,
        retries: RETRIES,
        retries_before_fallback: None,
        raw_events: false,
        source: Purpose::Sampling,
        agent: agent.meter.path.clone(),
    };
    let answer = side_request_within(agent, budget, request).await;
    let answer = answer.map_err(|error| error.to_string())?;
    Ok(SamplingAnswer {
        text: answer.message.map(|message| message.text()).unwrap_or_default(),
        model: model.to_string(),
        is_cut: answer.stop == StopReason::MaxTokens,
    })
}
