//! The tools of one agent, by name, in a stable order.

use ostler_core::ports::Tool;
use ostler_core::rendering::SharedList;
use ostler_core::tool::ToolSpec;
use ostler_core::tool_facts::{KnownTools, ToolKind};
use std::collections::BTreeMap;
use std::sync::Arc;

#[derive(Clone, Default)]
pub struct Toolbox {
    tools: BTreeMap<String, Arc<dyn Tool>>,
    specs: SharedList<ToolSpec>,
    known: KnownTools,
}

impl Toolbox {
    pub fn new(tools: impl IntoIterator<Item = Arc<dyn Tool>>) -> Self {
        let tools: BTreeMap<_, _> =
            tools.into_iter().map(|tool| (tool.spec().name.clone(), tool)).collect();
        let specs: SharedList<ToolSpec> = tools.values().map(|tool| tool.spec().clone()).collect();
        let known = KnownTools::new(specs.iter().map(|spec| (spec.name.clone(), spec.facts)));
        Toolbox { tools, specs, known }
    }

    /// Tools that the conversation may name, though they are not on offer.
    #[must_use]
    pub fn knowing(self, known: KnownTools) -> Self {
        Toolbox { known, ..self }
    }

    pub fn known(&self) -> &KnownTools {
        &self.known
    }

    /// The first tool on offer that does this.
    pub fn of_kind(&self, kind: ToolKind) -> Option<&ToolSpec> {
        self.specs.iter().find(|spec| spec.facts.kind == kind)
    }

    pub fn get(&self, name: &str) -> Option<&Arc<dyn Tool>> {
        self.tools.get(name)
    }

    /// As they go to the model; the same list every time, with its renderings.
    pub fn specs(&self) -> SharedList<ToolSpec> {
        self.specs.clone()
    }

    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.tools.keys().map(String::as_str)
    }
}
