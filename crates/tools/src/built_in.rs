//! A tool with a typed input, and its erased form for the registry.

use crate::{input, schema};
use ostler_core::permission::Access;
use ostler_core::ports::{BoxFuture, Tool, ToolContext};
use ostler_core::tool::{Seen, ToolOutput, ToolSpec};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::future::Future;
use std::sync::Arc;

pub trait BuiltIn: Send + Sync + 'static {
    const NAME: &'static str;
    /// When to use it and when not, from `prompts/tools/`.
    const DESCRIPTION: &'static str;
    /// Its doc comments are the descriptions of the properties.
    type Input: DeserializeOwned + JsonSchema + Send;

    /// What the call would touch, or what to tell the model. Changes nothing.
    fn access(&self, input: &Self::Input) -> Result<Access, ToolOutput>;

    /// Dropping the future stops everything it started.
    fn run(&self, input: Self::Input, cx: ToolContext) -> impl Future<Output = ToolOutput> + Send;

    /// What a recorded result showed; see [`Tool::recorded`].
    fn recorded(&self, _seen: &[Seen]) {}
}

pub fn erase<T: BuiltIn>(tool: T) -> Arc<dyn Tool> {
    let spec = ToolSpec {
        name: T::NAME.to_owned(),
        description: T::DESCRIPTION.trim().to_owned(),
        input_schema: schema::of::<T::Input>(),
    };
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
