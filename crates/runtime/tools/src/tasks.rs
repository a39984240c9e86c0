//! TaskCreate, TaskGet, TaskList, TaskUpdate: the plan of the session, one task at a time.

use crate::ToolSetup;
use crate::todo::{TodoStatus, keep};
use crate::typed_tool::{BuiltIn, Shipped, erase};
use ostler_core::permission::{Access, Inward};
use ostler_core::ports::{Tool, ToolContext};
use ostler_core::todo::{NewTask, Plan, Task, Update};
use ostler_core::tool::ToolOutput;
use ostler_core::tool_facts::{ResultView, Subject, ToolFacts, ToolKind};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::sync::Arc;

pub struct TaskCreate;
pub struct TaskGet;
pub struct TaskList;
pub struct TaskUpdate;

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Create {
    /// What is to be done, in the imperative: "Run the tests"
    subject: String,
    /// What the task includes and when it counts as done
    description: String,
    /// The subject while in progress: "Running the tests"
    active_form: Option<String>,
    /// Anything else to be kept with it
    metadata: Option<Map<String, Value>>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Get {
    /// The task's id
    task_id: String,
}

#[derive(Deserialize, JsonSchema)]
pub struct TaskListInput {}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TaskChange {
    /// The task's id
    task_id: String,
    /// A new subject
    subject: Option<String>,
    /// A new description
    description: Option<String>,
    /// A new form of it while in progress
    active_form: Option<String>,
    /// "deleted" removes the task from the plan
    status: Option<NewStatus>,
    /// Tasks that wait for this one, by id
    add_blocks: Option<Vec<String>>,
    /// Tasks that this one waits for, by id
    add_blocked_by: Option<Vec<String>>,
    /// Who works on it; an empty string removes the owner
    owner: Option<String>,
    /// Keys to set; null removes a key
    metadata: Option<Map<String, Value>>,
}

#[derive(Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum NewStatus {
    Pending,
    InProgress,
    Completed,
    Deleted,
}

impl NewStatus {
    /// None: it goes.
    fn stays(self) -> Option<TodoStatus> {
        match self {
            NewStatus::Pending => Some(TodoStatus::Pending),
            NewStatus::InProgress => Some(TodoStatus::InProgress),
            NewStatus::Completed => Some(TodoStatus::Completed),
            NewStatus::Deleted => None,
        }
    }
}

impl BuiltIn for TaskCreate {
    const NAME: &'static str = "TaskCreate";
    const DESCRIPTION: &'static str = include_str!("../../../../prompts/tools/task-create.md");
    const FACTS: ToolFacts = ToolFacts {
        kind: ToolKind::Plans,
        subject: Subject::Inputs(&["subject"]),
        sample: &[("description", "")],
        result: ResultView::Plan,
        ..ToolFacts::UNDECLARED
    };
    type Input = Create;

    fn access(&self, _input: &Create) -> Result<Access, ToolOutput> {
        Ok(Access::inward(Inward::default()))
    }

    async fn run(&self, input: Create, cx: ToolContext) -> ToolOutput {
        let new = NewTask {
            subject: input.subject,
            description: input.description,
            active_form: input.active_form,
            metadata: input.metadata.unwrap_or_default(),
        };
        match cx.recorder.plan().with(new) {
            Ok((plan, id)) => {
                let subject = plan.get(&id).map(|task| task.subject.clone()).unwrap_or_default();
                let detail = json!({"task": {"id": id, "subject": subject}});
                keep(&cx, plan, format!("Task #{id} is in the plan: {subject}"), detail)
            }
            Err(why) => ToolOutput::misuse(why),
        }
    }
}

impl Shipped for TaskCreate {
    fn make(_: &ToolSetup) -> Option<Arc<dyn Tool>> {
        Some(erase(TaskCreate))
    }
}

impl BuiltIn for TaskGet {
    const NAME: &'static str = "TaskGet";
    const DESCRIPTION: &'static str = include_str!("../../../../prompts/tools/task-get.md");
    const FACTS: ToolFacts = ToolFacts {
        kind: ToolKind::Plans,
        subject: Subject::Inputs(&["taskId"]),
        ..ToolFacts::UNDECLARED
    };
    type Input = Get;

    fn access(&self, _input: &Get) -> Result<Access, ToolOutput> {
        Ok(Access::inward(Inward::default()))
    }

    async fn run(&self, input: Get, cx: ToolContext) -> ToolOutput {
        let plan = cx.recorder.plan();
        match plan.get(&input.task_id) {
            Ok(task) => {
                let detail = Some(json!({"task": as_json(&plan, task)}));
                ToolOutput { detail, ..ToolOutput::text(described(&plan, task)) }
            }
            Err(why) => ToolOutput::misuse(why),
        }
    }
}

impl Shipped for TaskGet {
    fn make(_: &ToolSetup) -> Option<Arc<dyn Tool>> {
        Some(erase(TaskGet))
    }
}

impl BuiltIn for TaskList {
    const NAME: &'static str = "TaskList";
    const DESCRIPTION: &'static str = include_str!("../../../../prompts/tools/task-list.md");
    const FACTS: ToolFacts =
        ToolFacts { kind: ToolKind::Plans, subject: Subject::Inputs(&[]), ..ToolFacts::UNDECLARED };
    type Input = TaskListInput;

    fn access(&self, _input: &TaskListInput) -> Result<Access, ToolOutput> {
        Ok(Access::inward(Inward::default()))
    }

    async fn run(&self, _input: TaskListInput, cx: ToolContext) -> ToolOutput {
        let plan = cx.recorder.plan();
        let text = if plan.is_empty() { "The plan is empty.".to_owned() } else { plan.lines() };
        let tasks: Vec<Value> = plan.tasks.iter().map(|task| as_json(&plan, task)).collect();
        ToolOutput { detail: Some(json!({"tasks": tasks})), ..ToolOutput::text(text) }
    }
}

impl Shipped for TaskList {
    fn make(_: &ToolSetup) -> Option<Arc<dyn Tool>> {
        Some(erase(TaskList))
    }
}

impl BuiltIn for TaskUpdate {
    const NAME: &'static str = "TaskUpdate";
    const DESCRIPTION: &'static str = include_str!("../../../../prompts/tools/task-update.md");
    const FACTS: ToolFacts = ToolFacts {
        kind: ToolKind::Plans,
        subject: Subject::Inputs(&["subject", "taskId"]),
        sample: &[("taskId", "1")],
        result: ResultView::Plan,
        ..ToolFacts::UNDECLARED
    };
    type Input = TaskChange;

    fn access(&self, _input: &TaskChange) -> Result<Access, ToolOutput> {
        Ok(Access::inward(Inward::default()))
    }

    async fn run(&self, input: TaskChange, cx: ToolContext) -> ToolOutput {
        let old = cx.recorder.plan();
        let id = input.task_id.clone();
        let goes = input.status.is_some_and(|status| status.stays().is_none());
        let changed = if goes { old.without(&id) } else { old.updated(&id, update(input)) };
        match changed {
            Ok(plan) => {
                let line = match plan.get(&id) {
                    Ok(task) => format!("Task #{} is now {}.", task.id, task.status.name()),
                    Err(_) => format!("Task {id} was removed from the plan."),
                };
                let said = format!("{line}\n{}", plan.lines());
                let detail = json!({"taskId": id, "success": true});
                keep(&cx, plan, said.trim_end().to_owned(), detail)
            }
            Err(why) => ToolOutput::misuse(why),
        }
    }
}

impl Shipped for TaskUpdate {
    fn make(_: &ToolSetup) -> Option<Arc<dyn Tool>> {
        Some(erase(TaskUpdate))
    }
}

fn update(input: TaskChange) -> Update {
    Update {
        subject: input.subject,
        description: input.description,
        active_form: input.active_form,
        status: input.status.and_then(NewStatus::stays).map(Into::into),
        owner: input.owner,
        add_blocks: input.add_blocks.unwrap_or_default(),
        add_blocked_by: input.add_blocked_by.unwrap_or_default(),
        metadata: input.metadata.unwrap_or_default(),
    }
}

fn as_json(plan: &Plan, task: &Task) -> Value {
    json!({
        "id": task.id, "subject": task.subject, "description": task.description, "status": task.status,
        "owner": task.owner, "blocks": plan.blocks(&task.id), "blockedBy": task.blocked_by,
    })
}

fn described(plan: &Plan, task: &Task) -> String {
    let mut lines = vec![format!("#{} [{}] {}", task.id, task.status.name(), task.subject)];
    let mut add = |name: &str, text: String| {
        if !text.is_empty() {
            lines.push(format!("{name}: {text}"));
        }
    };
    let ids = |ids: Vec<&str>| match ids.is_empty() {
        true => String::new(),
        false => format!("#{}", ids.join(", #")),
    };
    add("Description", task.description.clone());
    add("Owner", task.owner.clone().unwrap_or_default());
    add("Waits for", ids(task.blocked_by.iter().map(String::as_str).collect()));
    add("Blocks", ids(plan.blocks(&task.id)));
    if !task.metadata.is_empty() {
        add("Metadata", Value::Object(task.metadata.clone()).to_string());
    }
    lines.join("\n")
}
