//! Questions that the program answers: each is open until its answer comes or it is withdrawn.

use super::opening::OpenSession;
use crate::exit::warn;
use anyhow::Result;
use futures_util::StreamExt;
use futures_util::future::{AbortHandle, Abortable, BoxFuture, FutureExt};
use futures_util::stream::FuturesUnordered;
use ostler::{Input, Mode, Question, QuestionId, Reply, Rule, Session, ToolKind};
use ostler_sdk::agent_sdk::{
    Behavior, CallbackFailure, Callbacks, PermissionAnswer, PermissionChange, PermissionUpdate,
    RuleAct, can_use_tool, changed_rules, server_source, suggested_mode, suggestions,
};
use serde_json::{Map, Value, json};

/// How other surfaces know who answered.
const NAME: &str = "agent sdk";

/// Who answers questions.
#[derive(Clone)]
pub enum Prompter {
    /// The program, through its callback.
    Program(Callbacks),
    /// A tool of an MCP server.
    Tool(String),
}

/// The answer of a tool is a text with the same JSON that a program would give.
async fn ask_tool(
    session: Session,
    name: String,
    request: Value,
) -> Result<Value, CallbackFailure> {
    let mut input = Map::new();
    for field in ["tool_name", "input", "tool_use_id"] {
        input.insert(field.into(), request.get(field).cloned().unwrap_or_default());
    }
    let answer = session.ask_server(&name, input).await.map_err(CallbackFailure::Failed)?;
    serde_json::from_str(&answer)
        .map_err(|error| CallbackFailure::Failed(format!("its answer is not JSON ({error})")))
}

#[derive(Default)]
pub struct PermissionPrompts {
    waiting: FuturesUnordered<BoxFuture<'static, Option<Answered>>>,
    open: Vec<(Question, AbortHandle)>,
}

pub struct Answered {
    question: Question,
    answer: Result<Value, CallbackFailure>,
}

impl PermissionPrompts {
    pub fn is_empty(&self) -> bool {
        self.open.is_empty()
    }

    pub fn ask(&mut self, question: &Question, prompter: &Prompter, open: &OpenSession) {
        let request = request(question, open);
        let asking: BoxFuture<'static, _> = match prompter.clone() {
            Prompter::Program(callbacks) => {
                async move { callbacks.ask(request, None).await }.boxed()
            }
            Prompter::Tool(name) => ask_tool(open.session.clone(), name, request).boxed(),
        };
        let (handle, registration) = AbortHandle::new_pair();
        let asked = question.clone();
        let waiting = Abortable::new(asking, registration).map(|answer| {
            let answer = answer.ok()?;
            Some(Answered { question: asked, answer })
        });
        self.waiting.push(waiting.boxed());
        self.open.push((question.clone(), handle));
    }

    /// Never comes back while nothing is open. Cancel-safe.
    pub async fn next(&mut self) -> Option<Answered> {
        match self.waiting.next().await {
            Some(answered) => answered,
            None => std::future::pending().await,
        }
    }

    /// The question is over, whoever ended it.
    pub fn close(&mut self, id: &QuestionId) {
        self.open.retain(|(question, handle)| {
            if question.id == *id {
                handle.abort();
            }
            question.id != *id
        });
    }
}

fn request(question: &Question, open: &OpenSession) -> Value {
    let facts = open.session.known_tools().facts(&question.tool);
    let description = match facts.kind {
        ToolKind::Runs => question.input.get("description").and_then(Value::as_str),
        _ => None,
    };
    let subject = facts.subject_of(&question.input);
    // The id that hooks know the agent by.
    let asking = (!question.agent.is_root()).then(|| {
        let agents = open.session.agents();
        let known = agents.iter().find(|agent| agent.path == question.agent);
        known.map_or_else(|| question.agent.to_string(), |agent| agent.session.to_string())
    });
    let offer = &question.decision.offer;
    let accepts_edits = facts.kind == ToolKind::Edits && open.session.mode() == Mode::Default;
    let suggested = match offer.is_empty() || !accepts_edits {
        true => suggestions(offer),
        false => suggested_mode(),
    };
    let description = description.unwrap_or(&subject);
    let mut request =
        can_use_tool(question, &question.tool, description, suggested, asking.as_deref());
    if let Some(server) = server_of(&question.tool, open) {
        request["mcp_server"] = server;
    }
    request
}

/// The server of a tool, and where it was configured.
fn server_of(tool: &str, open: &OpenSession) -> Option<Value> {
    let rest = tool.strip_prefix("mcp__")?;
    let servers = open.session.mcp_status();
    let server = servers.iter().find(|server| {
        let shown = server.name.replace(['.', ' '], "_");
        rest.strip_prefix(&shown).is_some_and(|rest| rest.starts_with("__"))
    })?;
    Some(json!({ "name": server.name, "source": server_source(server) }))
}

/// Does what the program answered. The rules it adds are in force before the call runs. Some: the model reads this with
/// the next message, because the turn ends before it can read the result of the call.
pub fn settle(answered: Answered, open: &mut OpenSession) -> Result<Option<String>> {
    let Answered { question, answer } = answered;
    let read = match answer {
        Ok(answer) => PermissionAnswer::read(&answer, &question.input),
        Err(failure) => {
            let why = format!("the permission callback {failure}");
            PermissionAnswer { reply: Reply::No(why), updates: Vec::new(), interrupt: false }
        }
    };
    let PermissionAnswer { mut reply, updates, interrupt } = read;
    for update in updates {
        if let Err(why) = apply(update, open) {
            reply = Reply::No(format!("the permission callback's update was refused: {why}"));
            break;
        }
    }
    let told = match (&reply, interrupt) {
        (Reply::No(why), true) => {
            open.frames.stopped(&question.call, why);
            let (id, tool) = (question.call.as_str(), &question.tool);
            Some(format!("The call {id} ({tool}) was denied, and the turn was interrupted: {why}"))
        }
        _ => None,
    };
    let answer = Input::Answer { question: question.id, reply, by: NAME.into() };
    // It may have been withdrawn meanwhile.
    let _ = open.session.send(answer);
    if interrupt {
        open.session.send(Input::Interrupt { cancel_queued: false })?;
    }
    Ok(told)
}

fn apply(update: PermissionUpdate, open: &OpenSession) -> Result<(), String> {
    let session = &open.session;
    let input = match update.change {
        PermissionChange::Rules { act, behavior, rules } => {
            if update.keeps && act == RuleAct::Add && behavior == Behavior::Allow {
                keep(&rules, open);
            }
            let all = changed_rules(session.control().rules, act, behavior, &rules);
            Input::SetRules(all)
        }
        PermissionChange::Mode(mode) => Input::SetMode(mode),
        PermissionChange::AddDirectories(paths) => Input::AddDirs(paths),
        PermissionChange::RemoveDirectories => {
            warn("a directory cannot be removed from a running session; it stays");
            return Ok(());
        }
    };
    session.send(input).map(|_| ()).map_err(|refused| refused.to_string())
}

/// For later sessions of the project, as if a person had said so.
fn keep(rules: &[String], open: &OpenSession) {
    let workspace = open.session.workspace();
    let parsed: Vec<Rule> =
        rules.iter().filter_map(|rule| Rule::parse(rule, &workspace).ok()).collect();
    if let Err(why) = open.approvals.keep(&parsed) {
        warn(&why);
    }
}
