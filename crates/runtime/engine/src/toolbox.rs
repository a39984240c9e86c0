//! The tools of one iteration, by name, in a stable order: those that can be called, and the list that the model was sent.

use ostler_core::late_tools::{ToolNews, ToolOffer, USE_TOOL, use_tool_spec};
use ostler_core::ports::Tool;
use ostler_core::rendering::SharedList;
use ostler_core::tool::ToolSpec;
use ostler_core::tool_facts::{KnownTools, ToolKind};
use ostler_core::view::View;
use std::collections::BTreeMap;
use std::sync::Arc;

#[derive(Clone, Default)]
pub struct Toolbox {
    /// Those that the session began with.
    pub(crate) first: BTreeMap<String, Arc<dyn Tool>>,
    /// Those that were added and can be removed.
    pub(crate) added: BTreeMap<String, AddedTool>,
    pub(crate) specs: SharedList<ToolSpec>,
    pub(crate) known: KnownTools,
    /// The fixed tool is in the list, so tools may arrive later.
    pub(crate) late: bool,
    /// Names in the list that an earlier process sent.
    pub(crate) earlier: Arc<[String]>,
}

#[derive(Clone)]
pub(crate) struct AddedTool {
    pub(crate) tool: Arc<dyn Tool>,
    /// Its description for the model.
    pub(crate) spec: ToolSpec,
    /// The model knows only its name until it searches for it.
    pub(crate) deferred: bool,
}

impl Toolbox {
    pub fn new(tools: impl IntoIterator<Item = Arc<dyn Tool>>) -> Self {
        let first: BTreeMap<_, _> =
            tools.into_iter().map(|tool| (tool.spec().name.clone(), tool)).collect();
        let specs = first.values().map(|tool| tool.spec());
        let known = KnownTools::new(specs.map(|spec| (spec.name.clone(), spec.facts)));
        Toolbox { first, known, ..Toolbox::default() }.listing(|_| true)
    }

    /// Tools that the conversation may name, though they are not on offer.
    #[must_use]
    pub fn knowing(self, known: KnownTools) -> Self {
        Toolbox { known, ..self }
    }

    /// With the fixed tool in the list, so that tools can arrive after the first request.
    #[must_use]
    pub fn expecting_more(self) -> Self {
        let known = self.known.and(USE_TOOL, use_tool_spec().facts);
        Toolbox { late: true, known, ..self }.listing(|_| true)
    }

    /// With a new list, sorted by name: the tools of the beginning, and those of the added ones that are wanted. A
    /// list that says the same stays the very same, with its renderings.
    #[must_use]
    pub(crate) fn listing(self, wanted: impl Fn(&str) -> bool) -> Self {
        let first = self.first.values().map(|tool| tool.spec().clone());
        let added = self.added.values().filter(|added| !added.deferred);
        let added = added.map(|added| added.spec.clone());
        let added = added.filter(|spec| wanted(&spec.name));
        let fixed = self.late.then(use_tool_spec);
        let mut all: Vec<ToolSpec> = first.chain(added).chain(fixed).collect();
        all.sort_by(|a, b| a.name.cmp(&b.name));
        match self.specs.iter().eq(&all) {
            true => self,
            false => Toolbox { specs: all.into(), ..self },
        }
    }

    /// What the model has to know about tools that came and went.
    pub(crate) fn news(&self, view: &View) -> Option<ToolNews> {
        if !self.late {
            return None;
        }
        let offer = ToolOffer {
            listed: &self.specs,
            earlier: &self.earlier,
            added: self.described().collect(),
            deferred: self.deferred().map(|spec| spec.name.as_str()).collect(),
            is_callable: &|name| self.get(name).is_some(),
        };
        offer.news(view)
    }

    /// Added tools that are described to the model in full.
    fn described(&self) -> impl Iterator<Item = &ToolSpec> {
        self.added.values().filter(|added| !added.deferred).map(|added| &added.spec)
    }

    /// Added tools of which the model knows the name at most.
    pub fn deferred(&self) -> impl Iterator<Item = &ToolSpec> {
        self.added.values().filter(|added| added.deferred).map(|added| &added.spec)
    }

    /// Added tools that a search can find, described or not.
    pub fn searchable(&self) -> impl Iterator<Item = &ToolSpec> {
        self.added.values().map(|added| &added.spec)
    }

    pub fn known(&self) -> &KnownTools {
        &self.known
    }

    /// The first tool on offer that does this.
    pub fn of_kind(&self, kind: ToolKind) -> Option<&ToolSpec> {
        self.specs.iter().find(|spec| spec.facts.kind == kind)
    }

    pub fn get(&self, name: &str) -> Option<&Arc<dyn Tool>> {
        self.first.get(name).or_else(|| self.added.get(name).map(|added| &added.tool))
    }

    /// As they go to the model; the same list every time, with its renderings.
    pub fn specs(&self) -> SharedList<ToolSpec> {
        self.specs.clone()
    }

    /// Everything that can be called, sorted.
    pub fn names(&self) -> Vec<&str> {
        let mut names: Vec<&str> =
            self.first.keys().chain(self.added.keys()).map(String::as_str).collect();
        names.sort_unstable();
        names
    }

    /// Calls of the fixed tool are understood.
    pub(crate) fn is_late(&self) -> bool {
        self.late
    }
}
