//! The facts of the log. One line each, never rewritten; old formats are read forever.

use super::agent_record::AgentRecord;
use crate::agent_definition::AgentDefinition;
use crate::context::{Boundary, Elision, Saved, StageName, Story};
use crate::event::{AgentPath, Control};
use crate::ids::{BlobRef, CallId, InboundId, ModelId, QuestionId, SessionId};
use crate::inbox::Inbound;
use crate::job::JobRecord;
use crate::ledger::{Charge, Front, Usage};
use crate::message::{Block, Message};
use crate::model::StopReason;
use crate::question::Question;
use crate::teammate::{PlanRecord, TeammateStatus};
use crate::time::Timestamp;
use crate::todo::Plan;
use crate::tool::Seen;
use crate::turn::{Continue, Terminal};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::path::PathBuf;

/// The format this program writes. A log with a higher one is refused untouched.
pub const FORMAT: u16 = 2;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "fact", rename_all = "snake_case")]
pub enum Entry {
    Opened {
        format: u16,
        session: SessionId,
        workspace: PathBuf,
        at: Timestamp,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        forked_from: Option<Fork>,
        /// The call of another session that this one works for.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        started_by: Option<Box<StartedBy>>,
    },
    /// A person's message: on disk before anything follows from it.
    Prompt {
        message: Message,
        at: Timestamp,
        /// The items of the inbox that it is made of.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        inbound: Vec<InboundId>,
    },
    Answer {
        message: Message,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        stop: Option<StopReason>,
    },
    /// A message the harness added, or items of the inbox that entered the conversation during a turn.
    Note {
        message: Message,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        inbound: Vec<InboundId>,
    },
    /// Something arrived for the session. It is pending until a prompt or a note names it, or it is withdrawn.
    Inbound(Box<Inbound>),
    /// A person has to decide about a call. It is open until the call is decided about, or the question is withdrawn.
    Asked {
        question: Box<Question>,
        at: Timestamp,
    },
    /// Items that will not be delivered, and questions that need no answer any more.
    Withdrawn {
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        inbound: Vec<InboundId>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        questions: Vec<QuestionId>,
    },
    /// The mode, the model, the thinking or the rules were changed in the running session.
    Control(Control),
    Went {
        why: Continue,
    },
    /// Written only for calls that may change something, before they do.
    CallStarted {
        id: CallId,
    },
    CallFinished {
        result: Block,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        seen: Vec<Seen>,
    },
    /// What the call started goes on in the background. It does until an item of the inbox is its notice.
    Detached {
        job: Box<JobRecord>,
    },
    Decided {
        call: CallId,
        verdict: Verdict,
        why: String,
        /// What runs instead, where the answer changed it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        input: Option<Value>,
        /// The question that this answers.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        question: Option<QuestionId>,
    },
    /// The content a file had before a call changed it; none if there was no file.
    Snapshot {
        call: CallId,
        path: PathBuf,
        before: Option<BlobRef>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        mode: Option<u32>,
        /// Hash of what the call wrote; none if it removed the file.
        after: Option<String>,
    },
    /// The state of the directories before and after a command, by the numbers of their snapshots. Written before it
    /// starts, and again when it has ended.
    Checkpoint {
        call: CallId,
        before: u64,
        /// None: it has not ended, or nobody saw it end.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        after: Option<u64>,
        #[serde(default)]
        cost: SnapshotCost,
        /// The files that the kernel let it write, if it ran beside other commands between the same snapshots: other
        /// differences are not its work. Empty: everything that differs is its work.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        only: Vec<PathBuf>,
    },
    /// The conversation continues as it was before the prompt of this number, counted from 1.
    Rewound {
        turn: u32,
        at: Timestamp,
    },
    /// The last rewind is taken back: the conversation continues as if it had not been.
    RewindUndone {
        at: Timestamp,
    },
    /// The whole plan as a call left it.
    Planned {
        plan: Plan,
    },
    Spent {
        model: ModelId,
        usage: Usage,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cost: Option<f64>,
        /// What it was for; logs of earlier versions do not have it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        charge: Option<Box<Charge>>,
        /// What stood in front of the messages, where it was not known already.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        front: Option<Box<Front>>,
    },
    /// Results were shortened permanently: these texts replace them in every later request.
    Elided {
        stage: StageName,
        results: Vec<Elision>,
        #[serde(default)]
        saved: Saved,
    },
    /// Exchanges of finished turns were replaced by a few lines. Counted in the view as it was.
    Collapsed {
        stories: Vec<Story>,
        #[serde(default)]
        saved: Saved,
    },
    /// What came before was summarized; everything that still matters is in this entry.
    Boundary(Box<Boundary>),
    End {
        terminal: Terminal,
        at: Timestamp,
    },
    /// An agent was started, or came to its end.
    Agent(Box<AgentRecord>),
    /// A teammate does something else in its team from now on.
    Teammate {
        status: Box<TeammateStatus>,
        at: Timestamp,
    },
    /// A teammate has sent a plan, or somebody has decided about it.
    TeammatePlan {
        plan: Box<PlanRecord>,
        at: Timestamp,
    },
}

impl Entry {
    /// A prompt that nobody had queued.
    pub fn prompt(message: Message, at: Timestamp) -> Self {
        Entry::Prompt { message, at, inbound: Vec::new() }
    }

    pub fn note(message: Message) -> Self {
        Entry::Note { message, inbound: Vec::new() }
    }

    pub fn decided(call: CallId, verdict: Verdict, why: String) -> Self {
        Entry::Decided { call, verdict, why, input: None, question: None }
    }
}

/// What looking at the directories took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SnapshotCost {
    pub ms: u64,
    /// How many files were looked at.
    pub files: u64,
    /// How much had to be stored that was not stored before.
    pub bytes: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    Allow,
    Deny,
}

/// Why there is a session that no person began.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StartedBy {
    pub session: SessionId,
    pub call: CallId,
    /// Its place below the session that a person began.
    pub agent: AgentPath,
    /// The session that a person began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub root: Option<SessionId>,
    /// What it was started as, for when it is resumed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub definition: Option<AgentDefinition>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fork {
    pub session: SessionId,
    /// How many entries of it were copied.
    pub entries: u64,
}
