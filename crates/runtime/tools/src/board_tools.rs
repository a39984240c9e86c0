//! BoardAdd, BoardList, BoardNext, BoardUpdate: the task board that people, workers and other sessions share.
//!
//! Reading it is harmless. Everything else changes what others see and do, so it asks where no rule allows it, and plan
//! mode refuses it. The model passes no fence and renews no lease: its session does.

use crate::ToolSetup;
use crate::hypothetical_calls::Paper;
use crate::typed_tool::{BuiltIn, Shipped, erase};
use ostler_core::permission::Access;
use ostler_core::ports::{BoardChange, BoardLook, BoardOrder, TaskBoard, Tool, ToolContext};
use ostler_core::tool::ToolOutput;
use ostler_core::tool_facts::{Subject, ToolFacts, ToolKind};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use std::sync::Arc;

pub struct BoardAdd(Arc<dyn TaskBoard>);
pub struct BoardList(Arc<dyn TaskBoard>);
pub struct BoardNext(Arc<dyn TaskBoard>);
pub struct BoardUpdate(Arc<dyn TaskBoard>);

#[derive(Deserialize, JsonSchema)]
pub struct AddInput {
    /// What is to be done, in one line
    title: String,
    /// What the task includes and when it counts as done
    description: Option<String>,
    /// "medium" if not given
    #[schemars(extend("enum" = ["high", "medium", "low"]))]
    priority: Option<String>,
    /// Ids of tasks that have to be done first
    depends_on: Option<Vec<String>>,
    /// Globs of the files that it will change; tasks that overlap are not worked on at the same time
    touches: Option<Vec<String>>,
}

#[derive(Deserialize, JsonSchema)]
pub struct ListInput {
    /// Everything about this task instead of the list
    id: Option<String>,
    /// Only tasks with this status
    #[schemars(extend("enum" = ["pending", "in_progress", "done", "failed", "parked", "cancelled"]))]
    status: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
pub struct NextInput {
    /// This task instead of the next one
    id: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
pub struct UpdateInput {
    /// The task's id
    id: String,
    /// "pending" returns a task that you claimed, or lets a failed, parked or cancelled one be claimed again
    #[schemars(extend("enum" = ["done", "failed", "pending", "cancelled"]))]
    status: String,
    /// The result, or why it failed, is returned or is cancelled
    note: Option<String>,
}

/// Beside its name and input, all four are alike.
const FACTS: ToolFacts = ToolFacts { kind: ToolKind::Coordinates, ..ToolFacts::UNDECLARED };

fn required(name: &str, value: &str) -> Result<(), ToolOutput> {
    match value.trim() {
        "" => Err(ToolOutput::misuse(format!("`{name}` is empty."))),
        _ => Ok(()),
    }
}

fn words(text: Option<String>) -> Option<String> {
    text.map(|text| text.trim().to_owned()).filter(|text| !text.is_empty())
}

impl BuiltIn for BoardAdd {
    const NAME: &'static str = "BoardAdd";
    const DESCRIPTION: &'static str = include_str!("../../../../prompts/tools/board-add.md");
    const FACTS: ToolFacts = ToolFacts { subject: Subject::Inputs(&["title"]), ..FACTS };
    type Input = AddInput;

    fn access(&self, input: &AddInput) -> Result<Access, ToolOutput> {
        required("title", &input.title)?;
        Ok(Access::changing_board())
    }

    fn access_on_paper(_: &Value, _: &Paper<'_>) -> Result<Access, String> {
        Ok(Access::changing_board())
    }

    async fn run(&self, input: AddInput, _: ToolContext) -> ToolOutput {
        let order = BoardOrder {
            title: input.title.trim().to_owned(),
            description: input.description.unwrap_or_default(),
            priority: input.priority,
            depends_on: input.depends_on.unwrap_or_default(),
            touches: input.touches.unwrap_or_default(),
        };
        self.0.add(order).await
    }
}

impl BuiltIn for BoardList {
    const NAME: &'static str = "BoardList";
    const DESCRIPTION: &'static str = include_str!("../../../../prompts/tools/board-list.md");
    const FACTS: ToolFacts = ToolFacts { subject: Subject::Inputs(&["id", "status"]), ..FACTS };
    type Input = ListInput;

    fn access(&self, _: &ListInput) -> Result<Access, ToolOutput> {
        Ok(Access::nothing())
    }

    fn access_on_paper(_: &Value, _: &Paper<'_>) -> Result<Access, String> {
        Ok(Access::nothing())
    }

    async fn run(&self, input: ListInput, _: ToolContext) -> ToolOutput {
        let look = match words(input.id) {
            Some(id) => BoardLook::Task { id },
            None => BoardLook::List { status: input.status },
        };
        self.0.look(look).await
    }
}

impl BuiltIn for BoardNext {
    const NAME: &'static str = "BoardNext";
    const DESCRIPTION: &'static str = include_str!("../../../../prompts/tools/board-next.md");
    const FACTS: ToolFacts = ToolFacts { subject: Subject::Inputs(&["id"]), ..FACTS };
    type Input = NextInput;

    fn access(&self, _: &NextInput) -> Result<Access, ToolOutput> {
        Ok(Access::changing_board())
    }

    fn access_on_paper(_: &Value, _: &Paper<'_>) -> Result<Access, String> {
        Ok(Access::changing_board())
    }

    async fn run(&self, input: NextInput, _: ToolContext) -> ToolOutput {
        self.0.claim(words(input.id)).await
    }
}

impl UpdateInput {
    fn change(&self) -> Result<BoardChange, ToolOutput> {
        let note = words(self.note.clone());
        match (self.status.as_str(), note) {
            ("done", result) => Ok(BoardChange::Done { result }),
            ("failed", Some(error)) => Ok(BoardChange::Failed { error }),
            ("failed", None) => Err(ToolOutput::misuse("`note` has to say why it failed.")),
            ("cancelled", reason) => Ok(BoardChange::Cancelled { reason }),
            ("pending", why) => Ok(BoardChange::Returned { why }),
            (other, _) => Err(ToolOutput::misuse(format!("There is no status {other}."))),
        }
    }
}

impl BuiltIn for BoardUpdate {
    const NAME: &'static str = "BoardUpdate";
    const DESCRIPTION: &'static str = include_str!("../../../../prompts/tools/board-update.md");
    const FACTS: ToolFacts =
        ToolFacts { subject: Subject::Inputs(&["id"]), sample: &[("status", "done")], ..FACTS };
    type Input = UpdateInput;

    fn access(&self, input: &UpdateInput) -> Result<Access, ToolOutput> {
        required("id", &input.id)?;
        input.change().map(|_| Access::changing_board())
    }

    fn access_on_paper(_: &Value, _: &Paper<'_>) -> Result<Access, String> {
        Ok(Access::changing_board())
    }

    async fn run(&self, input: UpdateInput, _: ToolContext) -> ToolOutput {
        match input.change() {
            Ok(change) => self.0.update(input.id.trim().to_owned(), change).await,
            Err(misuse) => misuse,
        }
    }
}

impl Shipped for BoardAdd {
    fn make(setup: &ToolSetup) -> Option<Arc<dyn Tool>> {
        Some(erase(BoardAdd(setup.session.board.clone()?)))
    }
}

impl Shipped for BoardList {
    fn make(setup: &ToolSetup) -> Option<Arc<dyn Tool>> {
        Some(erase(BoardList(setup.session.board.clone()?)))
    }
}

impl Shipped for BoardNext {
    fn make(setup: &ToolSetup) -> Option<Arc<dyn Tool>> {
        Some(erase(BoardNext(setup.session.board.clone()?)))
    }
}

impl Shipped for BoardUpdate {
    fn make(setup: &ToolSetup) -> Option<Arc<dyn Tool>> {
        Some(erase(BoardUpdate(setup.session.board.clone()?)))
    }
}
