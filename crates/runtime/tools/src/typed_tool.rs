//! A tool with a typed input, and its erased form for the registry.

use crate::hypothetical_calls::Paper;
use crate::{ToolSetup, input, schema};
use ostler_core::permission::Access;
use ostler_core::ports::{BoxFuture, Tool, ToolContext};
use ostler_core::tool::{Seen, ToolOutput, ToolSpec};
use ostler_core::tool_facts::ToolFacts;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::future::Future;
use std::sync::Arc;

pub trait BuiltIn: Send + Sync + 'static {
    const NAME: &'static str;
    /// When to use it and when not, from `prompts/tools/`.
    const DESCRIPTION: &'static str;
    /// What everybody else has to know of it.
    const FACTS: ToolFacts;
    /// It may have an objection.
    const OBJECTS: bool = false;
    /// Its doc comments are the descriptions of the properties.
    type Input: DeserializeOwned + JsonSchema + Send;

    /// What the call would touch, or what to tell the model. Changes nothing.
    fn access(&self, input: &Self::Input) -> Result<Access, ToolOutput>;

    /// The same for a call that nobody is going to run, in a directory that may not be here. The input fits the schema.
    /// Unless the tool knows better, it is what its facts say of files.
    fn access_on_paper(input: &Value, paper: &Paper<'_>) -> Result<Access, String> {
        paper.files(&Self::FACTS, input)
    }

    /// See [`Tool::objection`]. It may block.
    fn objection(&self, _input: &Self::Input) -> Option<ToolOutput> {
        None
    }

    /// Dropping the future stops everything it started.
    fn run(&self, input: Self::Input, cx: ToolContext) -> impl Future<Output = ToolOutput> + Send;

    /// What a recorded result showed; see [`Tool::recorded`].
    fn recorded(&self, _seen: &[Seen]) {}
}

/// One that ships: it takes what it needs from what all of them share.
pub(crate) trait Shipped: BuiltIn {
    /// None where it has no place, as the memory's tool without a memory.
    fn make(setup: &ToolSetup) -> Option<Arc<dyn Tool>>;
}

/// One line of the list of tools.
pub(crate) struct ListedTool {
    pub(crate) name: &'static str,
    pub(crate) facts: ToolFacts,
    pub(crate) spec: fn() -> ToolSpec,
    pub(crate) make: fn(&ToolSetup) -> Option<Arc<dyn Tool>>,
    pub(crate) on_paper: fn(&Value, &Paper<'_>) -> Result<Access, String>,
}

pub(crate) const fn listed<T: Shipped>() -> ListedTool {
    ListedTool {
        name: T::NAME,
        facts: T::FACTS,
        spec: spec::<T>,
        make: T::make,
        on_paper: T::access_on_paper,
    }
}

fn spec<T: BuiltIn>() -> ToolSpec {
    ToolSpec {
        name: T::NAME.to_owned(),
        description: T::DESCRIPTION.trim().to_owned(),
        input_schema: schema::of::<T::Input>(),
        facts: T::FACTS,
    }
}

pub fn erase<T: BuiltIn>(tool: T) -> Arc<dyn Tool> {
    Arc::new(Erased { tool: Arc::new(tool), spec: spec::<T>() })
}

/// The same with a description that goes on, for what only this session has.
pub fn erase_with<T: BuiltIn>(tool: T, more: &str) -> Arc<dyn Tool> {
    let mut spec = spec::<T>();
    spec.description.push_str(more);
    Arc::new(Erased { tool: Arc::new(tool), spec })
}

struct Erased<T> {
    tool: Arc<T>,
    spec: ToolSpec,
}

impl<T: BuiltIn> Tool for Erased<T> {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn access(&self, input: &Value) -> Result<Access, ToolOutput> {
        self.tool.access(&input::parse(&self.spec, input)?)
    }

    fn objection(&self, input: &Value) -> BoxFuture<'static, Option<ToolOutput>> {
        let tool = Arc::clone(&self.tool);
        match T::OBJECTS.then(|| input::parse(&self.spec, input)) {
            Some(Ok(input)) => Box::pin(async move {
                // A panic here is met again when the call runs.
                let look = tokio::task::spawn_blocking(move || tool.objection(&input));
                look.await.ok().flatten()
            }),
            _ => Box::pin(std::future::ready(None)),
        }
    }

    fn run(&self, input: Value, cx: ToolContext) -> BoxFuture<'static, ToolOutput> {
        let tool = Arc::clone(&self.tool);
        match input::parse(&self.spec, &input) {
            Ok(input) => Box::pin(async move { tool.run(input, cx).await }),
            Err(misuse) => Box::pin(std::future::ready(misuse)),
        }
    }

    fn recorded(&self, seen: &[Seen]) {
        self.tool.recorded(seen);
    }
}
