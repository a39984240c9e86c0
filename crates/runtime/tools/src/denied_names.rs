//! A file tool whose calls are also judged by the name that a deny rule covers, where a file has several.

use crate::confine::Confinement;
use crate::typed_tool::{BuiltIn, erase};
use ostler_core::permission::Access;
use ostler_core::ports::{BoxFuture, Tool, ToolContext};
use ostler_core::tool::{Seen, ToolOutput, ToolSpec};
use serde_json::Value;
use std::sync::Arc;

pub(crate) fn judged_by_first_name(
    tool: impl BuiltIn,
    confinement: &Arc<Confinement>,
) -> Arc<dyn Tool> {
    Arc::new(ByFirstName { tool: erase(tool), confinement: Arc::clone(confinement) })
}

struct ByFirstName {
    tool: Arc<dyn Tool>,
    confinement: Arc<Confinement>,
}

impl Tool for ByFirstName {
    fn spec(&self) -> &ToolSpec {
        self.tool.spec()
    }

    fn access(&self, input: &Value) -> Result<Access, ToolOutput> {
        Ok(self.confinement.with_first_names(self.tool.access(input)?))
    }

    fn objection(&self, input: &Value) -> BoxFuture<'static, Option<ToolOutput>> {
        self.tool.objection(input)
    }

    fn run(&self, input: Value, cx: ToolContext) -> BoxFuture<'static, ToolOutput> {
        self.tool.run(input, cx)
    }

    fn recorded(&self, seen: &[Seen]) {
        self.tool.recorded(seen);
    }
}
