//! The tools of a session: which there are, and how they come and go.

use crate::error::Error;
use crate::session::Session;
use ostler_core::late_tools::{ToolRefusal, ToolRefused};
use ostler_core::permission::Decision;
use ostler_core::ports::Tool;
use ostler_core::tool::ToolSpec;
use ostler_core::tool_facts::KnownTools;
use ostler_engine::{CallEnd, CallNews, ProgramCall, program_call};
use serde_json::Value;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

impl Session {
    /// Adds tools of the calling program. Before the first request they are in the tool list. Later ones are announced
    /// to the model before its next request and called through one fixed tool, so that the list stays as it was sent;
    /// that takes the option `late_tools`. Gives the tools that were refused; the others are added.
    #[must_use = "tools may be refused"]
    pub fn add_tools(&self, tools: Vec<Arc<dyn Tool>>) -> Vec<ToolRefused> {
        let choice = &self.shared().tool_choice;
        let (offered, denied): (Vec<_>, Vec<_>) =
            tools.into_iter().partition(|tool| choice.offers(&tool.spec().name));
        let why = ToolRefusal::NotOffered;
        let denied = denied.iter().map(|tool| ToolRefused { name: tool.spec().name.clone(), why });
        denied.chain(self.shared().agent.add_tools(offered)).collect()
    }

    /// The same for tools that the model finds by a search.
    pub(crate) fn add_deferred_tools(&self, tools: Vec<Arc<dyn Tool>>) -> Vec<ToolRefused> {
        let choice = &self.shared().tool_choice;
        let (offered, denied): (Vec<_>, Vec<_>) =
            tools.into_iter().partition(|tool| choice.offers(&tool.spec().name));
        let why = ToolRefusal::NotOffered;
        let denied = denied.iter().map(|tool| ToolRefused { name: tool.spec().name.clone(), why });
        denied.chain(self.shared().agent.add_deferred_tools(offered)).collect()
    }

    /// Removes tools that were added, and gives the names that name none of them. Calls of the answer that is being
    /// worked on still find them; before its next request the model learns that they are gone.
    pub fn remove_tools(&self, names: &[String]) -> Vec<String> {
        self.shared().agent.remove_tools(names)
    }

    /// What tools declare, also those that are not on offer.
    pub fn known_tools(&self) -> KnownTools {
        self.shared().agent.tools.current().known().clone()
    }

    /// The tools that can be called.
    pub fn tool_names(&self) -> Vec<String> {
        self.shared().agent.tools.current().names().into_iter().map(str::to_owned).collect()
    }

    /// The tools as they are described to a model, sorted by name.
    pub fn tool_specs(&self) -> Vec<ToolSpec> {
        self.shared().agent.tools.current().specs().iter().cloned().collect()
    }

    /// Runs one call that no model made, in a session that nobody drives: judged, asked about, shown to hooks, recorded
    /// and bounded like every other. Without anybody who attends, what needs approval is denied. `interrupt` stops it.
    ///
    /// # Errors
    /// If the session is driven, or closed.
    pub async fn call(
        &self,
        call: ProgramCall,
        interrupt: &CancellationToken,
        news: impl FnMut(CallNews) + Send,
    ) -> Result<CallEnd, Error> {
        let shared = self.shared();
        if self.is_closed() {
            return Err(Error::Input(crate::input::InputRefused::Closed.to_string()));
        }
        if shared.events.is_driven() {
            return Err(Error::AlreadyDriven);
        }
        Ok(program_call(&shared.agent, call, &shared.changing, interrupt, news).await)
    }

    /// What the session would say to a call now, tools that arrived later included; nothing runs. None: there is no such
    /// tool, or it does not understand the input.
    pub fn judge_call(&self, tool: &str, input: &Value) -> Option<Decision> {
        self.shared().agent.judge_call(tool, input)
    }
}
