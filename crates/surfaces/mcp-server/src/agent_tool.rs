//! A whole agent as one tool: a prompt in, the final answer, the session and the cost out.

use crate::depth::{DEPTH_VARIABLE, Depth, MOST_DEPTH};
use crate::running_call::Reporter;
use futures_util::StreamExt;
use ostler::{
    Error, Event, Finished, Host, Input, KnownTools, Purse, Session, SessionChoice, SessionId,
    SessionOptions, Terminal,
};
use rmcp::model::{CallToolResult, ContentBlock, JsonObject, Tool, ToolAnnotations};
use serde_json::{Value, json};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

pub(crate) const AGENT_TOOL: &str = "ostler_agent";

const DESCRIPTION: &str = include_str!("../../../../prompts/tools/ostler_agent.md").trim_ascii();

/// Sessions that a client can continue; older ones are forgotten.
const MOST_SESSIONS: usize = 1_000;
/// Turns that begin with the end of a background job.
const MOST_TURNS: usize = 100;
/// How long jobs are waited for after an answer.
const PATIENCE_WITH_JOBS: Duration = Duration::from_secs(5);

/// How agents of clients work.
#[derive(Clone)]
pub struct AgentOptions {
    /// Of every one of them. Its budget is what all of them may spend together.
    pub session: SessionOptions,
}

pub(crate) struct AgentTool {
    host: Host,
    options: SessionOptions,
    /// Those that were begun here. A client must not read what a person said in a session of their own.
    begun: Mutex<Vec<SessionId>>,
    running: Arc<Semaphore>,
}

/// What a client wants.
pub(crate) struct AgentRequest {
    prompt: String,
    session: Option<String>,
    depth: Depth,
}

impl AgentRequest {
    /// # Errors
    /// In words, what is wrong with the arguments.
    pub(crate) fn of(arguments: &JsonObject, depth: Depth) -> Result<Self, String> {
        let text = |key: &str| match arguments.get(key) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.clone())),
            Some(_) => Err(format!("\"{key}\" must be a string")),
        };
        let prompt = text("prompt")?.filter(|prompt| !prompt.trim().is_empty());
        let prompt = prompt.ok_or("\"prompt\" is missing or empty")?;
        if !depth.has_room() {
            return Err(format!(
                "agents that serve each other over MCP can be {MOST_DEPTH} levels deep, and this would be one more"
            ));
        }
        Ok(AgentRequest { prompt, session: text("session_id")?, depth })
    }
}

impl AgentTool {
    pub(crate) fn new(host: &Host, options: AgentOptions, deadline: Duration) -> Self {
        let mut options = options.session;
        options.purse = Some(match options.purse.take() {
            Some(purse) => purse.child(options.max_budget_usd),
            None => Purse::new(options.max_budget_usd),
        });
        options.max_budget_usd = None;
        options.question_deadline = deadline;
        let running = Arc::new(Semaphore::new(options.max_agents.max(1)));
        AgentTool { host: host.clone(), options, begun: Mutex::default(), running }
    }

    pub(crate) fn described() -> Tool {
        let input = json!({
            "type": "object",
            "properties": {
                "prompt": { "type": "string", "description": "What the agent should do. It knows nothing of your conversation." },
                "session_id": { "type": "string", "description": "Continue this session of an earlier call instead of starting a new one." },
            },
            "required": ["prompt"],
            "additionalProperties": false,
        });
        let output = json!({
            "type": "object",
            "properties": {
                "result": { "type": "string" },
                "session_id": { "type": "string" },
                "cost_usd": { "type": ["number", "null"] },
                "turns": { "type": "integer" },
                "end": { "type": "string" },
            },
            "required": ["result", "session_id", "cost_usd", "turns", "end"],
        });
        let annotations = ToolAnnotations::new().read_only(false).open_world(true);
        Tool::new(AGENT_TOOL, DESCRIPTION, object(input))
            .with_raw_output_schema(Arc::new(object(output)))
            .with_annotations(annotations)
    }

    /// Runs one agent to its end; `interrupt` ends its turn in order.
    pub(crate) async fn run(
        &self,
        request: AgentRequest,
        reporter: &Reporter,
        interrupt: &CancellationToken,
    ) -> CallToolResult {
        let running = tokio::select! {
            biased;
            () = interrupt.cancelled() => None,
            permit = self.running.acquire() => permit.ok(),
        };
        if running.is_none() {
            return failed("the call was cancelled before the agent started");
        }
        let session = match self.open(&request) {
            Ok(session) => session,
            Err(why) => return failed(&why),
        };
        let ended = turns(&session, request.prompt, reporter, interrupt).await;
        session.close("other").await;
        match ended {
            Ok(ended) => ended.result(&session),
            Err(error) => failed(&error.to_string()),
        }
    }

    fn open(&self, request: &AgentRequest) -> Result<Session, String> {
        let mut options = self.options.clone();
        options.log = match &request.session {
            None => SessionChoice::New,
            Some(id) if self.has_begun(id) => SessionChoice::Resume(id.clone()),
            Some(id) => {
                let id: String = id.chars().take(80).collect();
                return Err(format!("no call of this server started the session \"{id}\""));
            }
        };
        options.environment.retain(|(name, _)| name != DEPTH_VARIABLE);
        options.environment.push((DEPTH_VARIABLE.into(), request.depth.below().into()));
        let session = self.host.session(options).map_err(|error| error.to_string())?;
        let mut begun = self.begun.lock().unwrap_or_else(PoisonError::into_inner);
        if !begun.contains(session.id()) {
            if begun.len() >= MOST_SESSIONS {
                begun.remove(0);
            }
            begun.push(session.id().clone());
        }
        Ok(session)
    }

    fn has_begun(&self, id: &str) -> bool {
        let begun = self.begun.lock().unwrap_or_else(PoisonError::into_inner);
        begun.iter().any(|begun| begun.as_str() == id)
    }
}

/// What became of all turns of one call.
#[derive(Default)]
struct Ended {
    last: Option<Box<Finished>>,
    cost: Option<f64>,
    turns: u32,
}

async fn turns(
    session: &Session,
    prompt: String,
    reporter: &Reporter,
    interrupt: &CancellationToken,
) -> Result<Ended, Error> {
    let _attendance = session.attend();
    let mut driver = session.ask(prompt)?.until_quiet(PATIENCE_WITH_JOBS);
    let (mut ended, mut calls, known) = (Ended::default(), 0, session.known_tools());
    let mut is_stopping = false;
    loop {
        let envelope = tokio::select! {
            biased;
            () = interrupt.cancelled(), if !is_stopping => {
                is_stopping = true;
                session.send(Input::Interrupt { cancel_queued: true }).map_err(|refused| Error::Input(refused.to_string()))?;
                continue;
            }
            envelope = driver.next() => envelope,
        };
        let Some(envelope) = envelope else { break };
        match &envelope.event {
            Event::CallAsked { question: Some(question), .. } => {
                reporter.asked(question.clone(), session);
            }
            Event::CallStarted { name, input, .. } => {
                calls += 1;
                reporter.progress(started(&known, calls, name, input));
            }
            Event::Finished(finished) if envelope.agent.is_root() => {
                ended.add(finished.clone());
                if is_stopping || ended.turns as usize > MOST_TURNS {
                    break;
                }
            }
            _ => {}
        }
    }
    Ok(ended)
}

fn started(known: &KnownTools, nth: u32, tool: &str, input: &Value) -> String {
    format!("{nth}. {tool} {}", known.facts(tool).subject_of(input))
}

impl Ended {
    fn add(&mut self, finished: Box<Finished>) {
        self.turns += 1;
        self.cost = match (self.cost, finished.cost) {
            (Some(before), Some(cost)) => Some(before + cost),
            (before, cost) => before.or(cost),
        };
        self.last = Some(finished);
    }

    fn result(self, session: &Session) -> CallToolResult {
        let Some(last) = self.last else { return failed("the agent ended without an answer") };
        let text = match &last.error {
            Some(error) if last.text.is_empty() => error.clone(),
            Some(error) => format!("{}\n\n{error}", last.text),
            None => last.text.clone(),
        };
        let data = json!({
            "result": text,
            "session_id": session.id().as_str(),
            "cost_usd": self.cost,
            "turns": self.turns,
            "end": last.terminal.name(),
        });
        let mut result = CallToolResult::success(vec![ContentBlock::text(text)]);
        result.structured_content = Some(data);
        result.is_error = Some(last.terminal != Terminal::Completed);
        result
    }
}

fn failed(why: &str) -> CallToolResult {
    CallToolResult::error(vec![ContentBlock::text(why)])
}

fn object(value: Value) -> JsonObject {
    match value {
        Value::Object(object) => object,
        _ => JsonObject::new(),
    }
}
