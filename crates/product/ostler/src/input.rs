//! Everything a surface can ask of a session.

use crate::error::Error;
use crate::mcp::McpInput;
use crate::session_agents::AgentInput;
use crate::session_rewind::{Rewind, Undo};
use crate::undo::Undone;
use ostler_core::event::{AgentPath, SessionRules};
use ostler_core::ids::{CallId, InboundId, JobId, QuestionId};
use ostler_core::inbox::QueuedItem;
use ostler_core::message::{Block, Message};
use ostler_core::model::Thinking;
use ostler_core::permission::Mode;
use ostler_core::ports::Reply;
use std::path::PathBuf;

#[derive(Clone, Debug)]
pub enum Input {
    /// Starts a turn, or waits for its turn behind the one that runs.
    Prompt(Prompt),
    /// Reaches the model at the next safe point of the running turn. Without one it is a prompt.
    Steer(Message),
    /// Reaches the model with the next results of calls, without cancelling or skipping anything. If the turn ends before
    /// that, or none runs, it is a prompt.
    Join(Message),
    /// Takes back what was not delivered yet; none means all of it.
    CancelQueued(Option<InboundId>),
    /// Starts what is queued and was held back: after an interrupt, a limit, or when the session was opened again.
    RunQueued,
    /// Ends the running turn in order: everything done is kept, every open call is answered. What is queued is not
    /// started by itself afterwards.
    Interrupt {
        cancel_queued: bool,
    },
    /// The running commands and agents of the turn go on in the background, or the one of this call: each call is
    /// answered, and the turn goes on.
    Background {
        call: Option<CallId>,
    },
    /// Ends a job.
    StopJob(JobId),
    /// `by` names the surface, for the others.
    Answer {
        question: QuestionId,
        reply: Reply,
        by: String,
    },
    SetMode(Mode),
    /// As `--model` takes it.
    SetModel(String),
    SetThinking(Thinking),
    /// Rules of the session, instead of those it was given before. Rules from files and flags stay. What they forbid is
    /// forbidden for every call that has not started.
    SetRules(SessionRules),
    /// Variables of the environment of later commands; none removes one. Credentials and what changes how programs start
    /// are refused. A resumed session has the environment it is opened with.
    SetEnv(Vec<(String, Option<String>)>),
    /// Further directories to work in, as `--add-dir` takes them. While calls run they are used from the next request on.
    /// A resumed session keeps them.
    AddDirs(Vec<PathBuf>),
    /// Changes the MCP servers of the session, or how one of them is. What takes time goes on in the background.
    Mcp(McpInput),
    /// Goes back to before a turn. Only while no turn runs.
    Rewind(Rewind),
    /// Takes back what calls changed in files, or redoes that. Only while no turn runs.
    Undo(Undo),
    /// For an agent below this session, by its path.
    Agent {
        agent: AgentPath,
        input: AgentInput,
    },
    /// Sums up the conversation. `focus` is what the summary should concentrate on.
    Compact {
        focus: Option<String>,
    },
}

/// What became of an input.
#[derive(Clone, Debug, PartialEq)]
pub enum InputReceipt {
    /// It happened.
    Done,
    /// It waits for its turn under this name.
    Queued(InboundId),
    /// The turn is being ended, and this still waits.
    Interrupted { queued: Vec<QueuedItem> },
    /// What was done to files, or would be; none: no file was changed since.
    Rewound(Option<Box<Undone>>),
    /// The same for an undo or a redo.
    Undone(Box<Undone>),
}

/// Why an input was not taken. Nothing has changed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InputRefused {
    #[error("the session is closed")]
    Closed,
    #[error("that question is no longer open")]
    NoSuchQuestion,
    #[error("no command or agent is running that could move to the background")]
    NothingToMove,
    #[error("the limit of background jobs is reached; stop one first")]
    TooManyJobs,
    #[error("no job of that name is running")]
    NoSuchJob,
    #[error("nothing with that name is queued")]
    NotQueued,
    #[error("no price is known for {0}, so the budget cannot be kept with it")]
    NoPrice(String),
    #[error("a turn is running; wait for it to end, or interrupt it")]
    TurnRuns,
    #[error("there is no running agent \"{0}\"")]
    NoSuchAgent(String),
    #[error(
        "bypassPermissions was not allowed when the session started; start it with --permission-mode bypassPermissions or --allow-dangerously-skip-permissions"
    )]
    NoBypass,
    /// No call changed a file that could be taken back. The sentence says where one may have.
    #[error("{0}")]
    NothingToUndo(String),
    #[error("{0}")]
    Undo(String),
    #[error("{0}")]
    Rules(String),
    #[error("{0}")]
    Directory(String),
    #[error("{0}")]
    Mcp(String),
    #[error("cannot set {0} for commands: it is a credential, or changes how programs start")]
    Variable(String),
    #[error("{0}")]
    Store(ostler_core::ports::StoreError),
}

impl InputRefused {
    pub(crate) fn of(error: Error) -> Self {
        match error {
            Error::Store(error) => InputRefused::Store(error),
            nothing @ (Error::NothingToUndo
            | Error::NothingCovered(_)
            | Error::UndoableElsewhere { .. }) => InputRefused::NothingToUndo(nothing.to_string()),
            other => InputRefused::Undo(other.to_string()),
        }
    }
}

/// What a turn begins with.
#[derive(Clone, Debug)]
pub struct Prompt {
    pub(crate) message: Message,
    /// What a person typed, where it may name a skill.
    pub(crate) typed: Option<String>,
    /// What was piped in: not the person's word.
    pub(crate) piped: String,
}

impl Prompt {
    /// What a person typed: `/name arguments` uses a skill.
    pub fn typed(text: impl Into<String>) -> Self {
        let text = text.into();
        let message = Message::user(text.as_str());
        Prompt { message, typed: Some(text), piped: String::new() }
    }

    /// The same with what was piped in. Without typed words the piped text is all there is.
    #[must_use]
    pub fn with_piped(self, piped: impl Into<String>) -> Self {
        Prompt { piped: piped.into(), ..self }
    }

    /// What may name a skill: what was typed, or all there is.
    pub(crate) fn command(&self) -> Option<&str> {
        let typed = self.typed.as_deref()?;
        Some(if typed.is_empty() { &self.piped } else { typed })
    }

    /// A message made of the command, with what was piped in marked as such.
    pub(crate) fn marked(&self, message: Message) -> Message {
        let typed = self.typed.as_deref().unwrap_or_default();
        match (typed.is_empty(), self.piped.is_empty()) {
            (_, true) => message,
            (false, false) => message.with_piped(self.piped.as_str()),
            (true, false) => {
                let Message::User { mut content } = message else { return message };
                let own = |block: &Block| matches!(block, Block::Text { meta: false, .. });
                let text = content.iter().position(own).map(|at| content.remove(at));
                let rest = Message::User { content };
                match text {
                    Some(Block::Text { text, .. }) => rest.with_piped(text),
                    _ => rest,
                }
            }
        }
    }
}

impl Prompt {
    /// A prompt that waited in the inbox: what a person typed may name a skill.
    pub(crate) fn queued(message: Message) -> Self {
        let typed: String = message.own_words().collect();
        let is_plain = matches!(message.blocks(), [Block::Text { meta: false, .. }]);
        match is_plain && typed.starts_with('/') {
            true => Prompt::typed(typed),
            false => message.into(),
        }
    }
}

/// For the model as it is, also if it begins with a slash.
impl<M: Into<Message>> From<M> for Prompt {
    fn from(message: M) -> Self {
        Prompt { message: message.into(), typed: None, piped: String::new() }
    }
}
