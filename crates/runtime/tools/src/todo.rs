//! TodoWrite: the whole plan of the session in one call.

use crate::ToolSetup;
use crate::typed_tool::{BuiltIn, Shipped, erase};
use ostler_core::permission::{Access, Inward};
use ostler_core::ports::{Tool, ToolContext};
use ostler_core::session::Entry;
use ostler_core::todo::{self, Plan};
use ostler_core::tool::ToolOutput;
use ostler_core::tool_facts::{ResultView, Subject, ToolFacts, ToolKind};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use std::sync::Arc;

pub struct TodoWrite;

#[derive(Deserialize, JsonSchema)]
pub struct TodoInput {
    /// The whole list; it replaces the one before
    todos: Vec<TodoItem>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct TodoItem {
    /// What is to be done, in the imperative: "Run the tests"
    content: String,
    /// The status of the task
    status: TodoStatus,
    /// The content while in progress: "Running the tests"
    active_form: Option<String>,
}

#[derive(Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TodoStatus {
    Pending,
    InProgress,
    Completed,
}

impl From<TodoStatus> for todo::Status {
    fn from(status: TodoStatus) -> Self {
        match status {
            TodoStatus::Pending => todo::Status::Pending,
            TodoStatus::InProgress => todo::Status::InProgress,
            TodoStatus::Completed => todo::Status::Completed,
        }
    }
}

impl BuiltIn for TodoWrite {
    const NAME: &'static str = "TodoWrite";
    const DESCRIPTION: &'static str = include_str!("../../../../prompts/tools/todo-write.md");
    const FACTS: ToolFacts = ToolFacts {
        kind: ToolKind::Plans,
        subject: Subject::Count { input: "todos", one: "task" },
        result: ResultView::Plan,
        ..ToolFacts::UNDECLARED
    };
    type Input = TodoInput;

    fn access(&self, _input: &TodoInput) -> Result<Access, ToolOutput> {
        Ok(Access::inward(Inward::default()))
    }

    async fn run(&self, input: TodoInput, cx: ToolContext) -> ToolOutput {
        let old = cx.recorder.plan();
        let todos = input.todos.into_iter().map(|todo| todo::Todo {
            content: todo.content,
            status: todo.status.into(),
            active_form: todo.active_form,
        });
        let new = match old.replaced(todos.collect()) {
            Ok(new) => new,
            Err(why) => return ToolOutput::misuse(why),
        };
        let said = match new.is_empty() {
            true => "The plan is empty now.".to_owned(),
            false => format!("The plan is now:\n{}", new.lines()),
        };
        let detail = json!({"oldTodos": listed(&old), "newTodos": listed(&new)});
        keep(&cx, new, said, detail)
    }
}

impl Shipped for TodoWrite {
    fn make(_: &ToolSetup) -> Option<Arc<dyn Tool>> {
        Some(erase(TodoWrite))
    }
}

fn listed(plan: &Plan) -> Vec<Value> {
    let todo = |task: &todo::Task| json!({"content": task.subject, "status": task.status, "activeForm": task.active_form});
    plan.tasks.iter().map(todo).collect()
}

/// Records the new plan; a plan that is not on record does not count.
pub fn keep(cx: &ToolContext, plan: Plan, said: String, detail: Value) -> ToolOutput {
    let advice = plan.advice();
    match cx.recorder.record(Entry::Planned { plan }) {
        Ok(()) => {
            let text = [vec![said], advice].concat().join("\n");
            ToolOutput { detail: Some(detail), ..ToolOutput::text(text) }
        }
        Err(error) => ToolOutput::error(format!(
            "The plan was not changed: the session log cannot be written ({error})."
        )),
    }
}
