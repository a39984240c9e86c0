//! What a client of Ostler sees: the list of tools, and calls of them.

use crate::agent_tool::{AGENT_TOOL, AgentOptions, AgentRequest, AgentTool};
use crate::depth::Depth;
use crate::elicitation::{can_ask, form, input_request, reply};
use crate::offered_tools::{described, offered_tools, page};
use crate::open_questions::{OpenQuestions, WaitingCall};
use crate::progress_notes::ProgressNotes;
use crate::running_call::{Heard, News, Reporter, RunningCall};
use ostler::{
    Attendance, CallEnd, CallId, CallNews, Error, Host, Input, McpOptions, ProgramCall, Question,
    Reply, ResultPart, Session, SessionOptions, ToolOutput,
};
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, Implementation,
    InputRequests, InputRequiredResult, JsonObject, ListToolsResult, PaginatedRequestParams,
    ProtocolVersion, ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer, ServerHandler};
use serde_json::Value;
use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

/// How long a client has to answer a question.
const DEADLINE: Duration = Duration::from_secs(120);
/// Calls that run or wait; more are refused.
const MOST_CALLS: usize = 32;
/// The question of a call in an answer that asks for input.
const PERMISSION: &str = "permission";

const NOBODY: &str = "nobody is there to ask";
const TOO_MANY: &str = "too many questions are open";
const INSTRUCTIONS: &str = include_str!("../../../../prompts/mcp_server.md").trim_ascii();

/// What is served, and how.
pub struct ServerOptions {
    /// Of the session that runs calls of tools. Its `tools` are on offer; if it names none, see [`offered_tools`].
    pub session: SessionOptions,
    /// Offer a whole agent, too.
    pub agent: Option<AgentOptions>,
    pub depth: Depth,
}

/// A handle: copies serve the same tools.
#[derive(Clone)]
pub struct OstlerServer {
    shared: Arc<Shared>,
}

struct Shared {
    session: Session,
    _attendance: Attendance,
    agent: Option<AgentTool>,
    /// Sorted by name; it never changes.
    tools: Vec<Tool>,
    depth: Depth,
    calls: AtomicU64,
    admitted: Arc<Semaphore>,
    questions: OpenQuestions,
}

impl OstlerServer {
    /// # Errors
    /// If a session cannot be had with these options.
    pub fn open(host: &Host, options: ServerOptions) -> Result<Self, Error> {
        let mut session = options.session;
        session.tools = Some(offered_tools(&session));
        session.question_deadline = DEADLINE;
        // There is no conversation that could be remembered, and clients use other servers themselves.
        session.memory = false;
        session.mcp = McpOptions::default();
        let session = host.session(session)?;
        let agent = options.agent.map(|agent| AgentTool::new(host, agent, DEADLINE));
        let mut tools: Vec<Tool> = session.tool_specs().iter().map(described).collect();
        tools.extend(agent.as_ref().map(|_| AgentTool::described()));
        tools.sort_by(|a, b| a.name.cmp(&b.name));
        let shared = Shared {
            _attendance: session.attend(),
            session,
            agent,
            tools,
            depth: options.depth,
            calls: AtomicU64::new(0),
            admitted: Arc::new(Semaphore::new(MOST_CALLS)),
            questions: OpenQuestions::new(DEADLINE),
        };
        Ok(OstlerServer { shared: Arc::new(shared) })
    }

    /// The session that runs calls of tools: what they changed is undone there.
    pub fn session(&self) -> &Session {
        &self.shared.session
    }

    pub fn tool_names(&self) -> Vec<&str> {
        self.shared.tools.iter().map(|tool| tool.name.as_ref()).collect()
    }

    /// Stops everything that its calls left running.
    pub async fn close(&self) {
        self.shared.session.close("other").await;
    }

    fn start(
        &self,
        request: &CallToolRequestParams,
        context: &RequestContext<RoleServer>,
    ) -> Result<RunningCall, ErrorData> {
        let shared = &self.shared;
        if !shared.tools.iter().any(|tool| tool.name == request.name) {
            let name: String = request.name.chars().take(80).collect();
            return Err(ErrorData::invalid_params(format!("unknown tool: {name}"), None));
        }
        let admitted = shared.admitted.clone().try_acquire_owned().map_err(|_| {
            let why = format!("{MOST_CALLS} calls are running or waiting; try again later");
            ErrorData::internal_error(why, None)
        })?;
        let tool = request.name.to_string();
        let arguments = request.arguments.clone().unwrap_or_default();
        if tool == AGENT_TOOL && shared.agent.is_some() {
            let depth = shared.depth.of_request(&context.meta);
            return Ok(self.start_agent(tool, arguments, depth, admitted));
        }
        let nth = shared.calls.fetch_add(1, Ordering::Relaxed);
        let client = context.client_info().map_or_else(|| "A client".to_owned(), |info| info.name);
        let client: String = ostler::strip_terminal(&client).chars().take(80).collect();
        let call = ProgramCall {
            id: CallId::new(format!("mcp_{nth}")),
            caller: format!("{client} called {tool} over MCP"),
            tool: tool.clone(),
            input: Value::Object(arguments.clone()),
        };
        let server = self.clone();
        Ok(RunningCall::start(tool, arguments, |reporter, stop| async move {
            let result = server.run(call, &reporter, &stop).await;
            drop(admitted);
            result
        }))
    }

    fn start_agent(
        &self,
        tool: String,
        arguments: JsonObject,
        depth: Depth,
        admitted: tokio::sync::OwnedSemaphorePermit,
    ) -> RunningCall {
        let (server, request) = (self.clone(), AgentRequest::of(&arguments, depth));
        RunningCall::start(tool, arguments, |reporter, stop| async move {
            let result = match (request, &server.shared.agent) {
                (Ok(request), Some(agent)) => agent.run(request, &reporter, &stop).await,
                (Err(why), _) => CallToolResult::error(vec![ContentBlock::text(why)]),
                (_, None) => CallToolResult::error(Vec::new()),
            };
            drop(admitted);
            result
        })
    }

    async fn run(
        &self,
        call: ProgramCall,
        reporter: &Reporter,
        stop: &CancellationToken,
    ) -> CallToolResult {
        let session = &self.shared.session;
        let ended = session.call(call, stop, |news| match news {
            CallNews::Asked(question) => reporter.asked(question, session),
            CallNews::Progress(tail) => reporter.progress(tail),
        });
        match ended.await {
            Ok(CallEnd { output, .. }) => result_of(output),
            Err(error) => CallToolResult::error(vec![ContentBlock::text(error.to_string())]),
        }
    }

    /// Passes on what a call says until it is done, or waits for an answer that comes with another request.
    async fn follow(
        &self,
        mut call: RunningCall,
        context: &RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let mut told = ProgressNotes::default();
        loop {
            let heard = tokio::select! {
                biased;
                // Dropping the call stops it.
                () = context.ct.cancelled() => return Err(cancelled()),
                heard = call.next() => heard,
            };
            match heard {
                None => {
                    return Err(ErrorData::internal_error("the call ended without a result", None));
                }
                Some(Heard::Progress(text)) => told.progress(context, &text).await,
                Some(Heard::News(News::Done(result))) => return Ok((*result).into()),
                Some(Heard::News(News::Asked(question, session))) => {
                    match self.put(call, question, session, context).await? {
                        Put::Answered(same) => call = same,
                        Put::Waits(asked) => return Ok((*asked).into()),
                    }
                }
            }
        }
    }

    /// Puts a question to whoever is behind the client.
    async fn put(
        &self,
        call: RunningCall,
        question: Box<Question>,
        session: Session,
        context: &RequestContext<RoleServer>,
    ) -> Result<Put, ErrorData> {
        let shows = can_ask(context.client_capabilities().as_ref());
        let Some(asked) = input_request(&question).filter(|_| shows) else {
            answer(&session, &question, Reply::Unanswered(NOBODY.into()));
            return Ok(Put::Answered(call));
        };
        if !is_stateless(context) {
            ask(context, &session, &question).await?;
            return Ok(Put::Answered(call));
        }
        match self.shared.questions.keep(call, question, session) {
            Ok(state) => {
                let asked = InputRequests::from([(PERMISSION.into(), asked)]);
                Ok(Put::Waits(Box::new(InputRequiredResult::new(Some(asked), Some(state)))))
            }
            Err(kept) => {
                let WaitingCall { call, question, session, .. } = *kept;
                answer(&session, &question, Reply::Unanswered(TOO_MANY.into()));
                Ok(Put::Answered(call))
            }
        }
    }
}

/// What became of a question.
enum Put {
    /// The call goes on.
    Answered(RunningCall),
    /// The answer comes with another request.
    Waits(Box<InputRequiredResult>),
}

/// Asks the person behind a client that keeps its connection open.
async fn ask(
    context: &RequestContext<RoleServer>,
    session: &Session,
    question: &Question,
) -> Result<(), ErrorData> {
    let Some(form) = form(question) else { return Ok(()) };
    let asked = context.peer.create_elicitation_with_timeout(form, Some(DEADLINE));
    let answered = tokio::select! {
        biased;
        () = context.ct.cancelled() => return Err(cancelled()),
        answered = asked => answered,
    };
    let said = answered.ok().and_then(|result| serde_json::to_value(result).ok());
    answer(session, question, reply(said.as_ref()));
    Ok(())
}

fn answer(session: &Session, question: &Question, reply: Reply) {
    let (question, by) = (question.id.clone(), "mcp".to_owned());
    // If the question is over, the call knows its answer.
    let _ = session.send(Input::Answer { question, reply, by });
}

fn cancelled() -> ErrorData {
    ErrorData::internal_error("the call was cancelled", None)
}

/// Requests of this client stand alone; nothing can be sent to it but answers.
fn is_stateless(context: &RequestContext<RoleServer>) -> bool {
    let version = context.protocol_version();
    version.is_some_and(|version| version.as_str() >= ProtocolVersion::V_2026_07_28.as_str())
}

fn result_of(output: ToolOutput) -> CallToolResult {
    let block = |part: ResultPart| match part {
        ResultPart::Text { text } => ContentBlock::text(text),
        ResultPart::Image(image) => ContentBlock::image(image.data.to_string(), image.media),
    };
    let content: Vec<ContentBlock> = output.content.into_iter().map(block).collect();
    match output.is_error {
        true => CallToolResult::error(content),
        false => CallToolResult::success(content),
    }
}

impl ServerHandler for OstlerServer {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder().enable_tools().build();
        ServerConfig::new(capabilities)
            .with_protocol_version(ProtocolVersion::V_2025_11_25)
            .with_server_info(Implementation::new("ostler", env!("CARGO_PKG_VERSION")))
            .with_instructions(INSTRUCTIONS)
    }

    fn supported_protocol_versions(&self) -> Cow<'static, [ProtocolVersion]> {
        Cow::Borrowed(ProtocolVersion::KNOWN_VERSIONS)
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        self.shared.tools.iter().find(|tool| tool.name == name).cloned()
    }

    async fn list_tools(
        &self,
        request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        page(&self.shared.tools, request)
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let call = match &request.request_state {
            None => self.start(&request, &context)?,
            Some(state) => {
                let kept = self.shared.questions.take(state, &request);
                let WaitingCall { call, question, session, .. } = kept.ok_or_else(|| {
                    let why = "requestState names no call that waits for an answer to this request";
                    ErrorData::invalid_params(why, None)
                })?;
                let said = request.input_responses.as_ref().and_then(|all| all.get(PERMISSION));
                answer(&session, &question, reply(said));
                call
            }
        };
        self.follow(call, &context).await
    }
}
