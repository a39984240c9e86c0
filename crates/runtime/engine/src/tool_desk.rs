//! The tools of a session while they come and go.
//!
//! An iteration holds one [`Toolbox`] from its request to the end of its calls, so a tool that is removed in between can
//! still be called there. The list that is sent stays as it is from the first request on. It is made again only where the
//! cache is lost in any case: after a summary, and with another model.

use crate::agent::Agent;
use crate::toolbox::{AddedTool, Toolbox};
use ostler_core::late_tools::{ToolRefusal, ToolRefused, USE_TOOL, inner_call, presentable};
use ostler_core::permission::Decision;
use ostler_core::ports::Tool;
use ostler_core::tool::ToolSpec;
use ostler_core::tool_facts::KnownTools;
use serde_json::Value;
use std::sync::{Arc, PoisonError, RwLock, RwLockWriteGuard};

/// Bytes of all declarations that were added.
const MOST_BYTES: usize = 512_000;
/// The same for those of which the model knows only the name.
const MOST_DEFERRED_BYTES: usize = 32 << 20;

pub struct ToolDesk(RwLock<DeskState>);

struct DeskState {
    toolbox: Arc<Toolbox>,
    /// A request was sent with the list.
    fixed: bool,
    /// The next request begins with a new list.
    relist: bool,
    /// Names of the newest list that an earlier process sent; none if this session has sent no request.
    earlier: Option<Arc<[String]>>,
    /// Names that nobody can take.
    reserved: KnownTools,
}

impl ToolDesk {
    /// `earlier` names the tools in the list of the newest request, where a session goes on.
    pub fn new(mut toolbox: Toolbox, earlier: Option<Vec<String>>) -> Self {
        let earlier: Option<Arc<[String]>> = earlier.map(Arc::from);
        toolbox.earlier = earlier.clone().unwrap_or_default();
        let reserved = toolbox.known.clone();
        let toolbox = Arc::new(toolbox);
        ToolDesk(RwLock::new(DeskState { toolbox, fixed: false, relist: false, earlier, reserved }))
    }

    /// The tools as they are now.
    pub fn current(&self) -> Arc<Toolbox> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).toolbox.clone()
    }

    /// The tools of the request that is being prepared. From here on its list is fixed.
    pub(crate) fn for_request(&self) -> Arc<Toolbox> {
        let mut state = self.state();
        state.fixed = true;
        if std::mem::take(&mut state.relist) {
            state.list_all();
        }
        state.toolbox.clone()
    }

    /// What was sent before does not count any more: every tool moves into the list.
    pub(crate) fn relisted(&self) -> Arc<Toolbox> {
        let mut state = self.state();
        state.list_all();
        state.toolbox.clone()
    }

    /// The same before the next request.
    pub(crate) fn relist_later(&self) {
        self.state().relist = true;
    }

    fn state(&self) -> RwLockWriteGuard<'_, DeskState> {
        self.0.write().unwrap_or_else(PoisonError::into_inner)
    }
}

impl DeskState {
    fn list_all(&mut self) {
        self.earlier = None;
        let toolbox = Toolbox { earlier: Arc::default(), ..(*self.toolbox).clone() };
        self.toolbox = Arc::new(toolbox.listing(|_| true));
    }

    /// Before the first request everything is in the list; where a session goes on, what was in it before.
    fn changed(&mut self, toolbox: Toolbox) {
        let toolbox = match &self.earlier {
            _ if self.fixed => toolbox,
            None => toolbox.listing(|_| true),
            Some(names) => toolbox.listing(|name| names.iter().any(|had| had == name)),
        };
        self.toolbox = Arc::new(toolbox);
    }

    fn check(
        &self,
        spec: &ToolSpec,
        toolbox: &Toolbox,
        deferred: bool,
    ) -> Result<ToolSpec, ToolRefusal> {
        let spec = presentable(spec)?;
        let name = spec.name.as_str();
        if name == USE_TOOL || self.reserved.knows(name) || toolbox.get(name).is_some() {
            return Err(ToolRefusal::NameTaken);
        }
        if self.fixed && !toolbox.late {
            return Err(ToolRefusal::ListIsFixed);
        }
        let alike = toolbox.added.values().filter(|added| added.deferred == deferred);
        let all = alike.map(|added| &added.spec).chain([&spec]);
        let most = if deferred { MOST_DEFERRED_BYTES } else { MOST_BYTES };
        let size = |spec: &ToolSpec| spec.description.len() + spec.input_schema.to_string().len();
        match all.map(size).sum::<usize>() > most {
            true => Err(ToolRefusal::TooMany),
            false => Ok(spec),
        }
    }
}

impl Agent {
    /// Adds tools. Before the first request they are in the list; later ones are announced to the model. Gives those
    /// that were refused.
    pub fn add_tools(&self, tools: Vec<Arc<dyn Tool>>) -> Vec<ToolRefused> {
        self.add(tools, false)
    }

    /// The same for tools that the model finds by searching. They can be called by their names.
    pub fn add_deferred_tools(&self, tools: Vec<Arc<dyn Tool>>) -> Vec<ToolRefused> {
        self.add(tools, true)
    }

    /// The model has found these: their descriptions are kept like those of others.
    pub fn found_tools(&self, names: &[String]) {
        let mut state = self.tools.state();
        let mut toolbox = (*state.toolbox).clone();
        for name in names {
            if let Some(added) = toolbox.added.get_mut(name) {
                added.deferred = false;
            }
        }
        // The list stays as it was sent; the next one that is made has them.
        state.toolbox = Arc::new(toolbox);
    }

    fn add(&self, tools: Vec<Arc<dyn Tool>>, deferred: bool) -> Vec<ToolRefused> {
        let mut refused = Vec::new();
        let mut state = self.tools.state();
        let mut toolbox = (*state.toolbox).clone();
        for tool in tools {
            let name = tool.spec().name.clone();
            match state.check(tool.spec(), &toolbox, deferred) {
                Ok(spec) => {
                    // The rules know it before it can be called.
                    self.gate.learn_tool(&name, spec.facts);
                    toolbox.known = toolbox.known.and(&name, spec.facts);
                    toolbox.added.insert(name, AddedTool { tool, spec, deferred });
                }
                Err(why) => refused.push(ToolRefused { name, why }),
            }
        }
        self.journal.know_tools(toolbox.known.clone());
        state.changed(toolbox);
        refused
    }

    /// What would be said to a call now. None: there is no such tool, or it does not understand the input.
    pub fn judge_call(&self, name: &str, input: &Value) -> Option<Decision> {
        let inner = inner_call(name, input);
        let (name, input, via) = match &inner {
            Some((inner, input)) => (inner.as_str(), input, Some(name)),
            None => (name, input, None),
        };
        let access = self.tools.current().get(name)?.access(input).ok()?;
        Some(self.gate.judge_via((name, via), input, &access))
    }

    /// Removes tools that were added, and gives the names of those that were not there. A running iteration keeps them.
    pub fn remove_tools(&self, names: &[String]) -> Vec<String> {
        let mut state = self.tools.state();
        let mut toolbox = (*state.toolbox).clone();
        let unknown = names.iter().filter(|name| toolbox.added.remove(*name).is_none());
        let unknown = unknown.cloned().collect();
        state.changed(toolbox);
        unknown
    }
}
