//! What can be changed about what a running session may do: its rules, and the environment of its commands.

use crate::error::Error;
use crate::input::{InputReceipt, InputRefused};
use crate::kit;
use crate::session::Session;
use crate::undo;
use ostler_core::event::SessionRules;
use ostler_core::permission::{Live, Policy, Workspace};
use ostler_engine::Agent;
use ostler_tools::confine::Confinement;
use ostler_tools::{CommandVariables, Keeping, may_set_variable};
use std::ffi::OsStr;
use std::sync::Arc;

/// The rules that tools and the sandbox go by. The gate has its own copy, with what a person approved.
pub(crate) struct RulesInForce {
    /// From files and flags: no input changes them.
    base: Arc<Policy>,
    now: Live<Policy>,
    confinement: Arc<Confinement>,
    keeping: Keeping,
    late_tools: bool,
}

impl RulesInForce {
    pub(crate) fn new(
        base: &Arc<Policy>,
        now: &Live<Policy>,
        confinement: &Arc<Confinement>,
        keeping: &Keeping,
        late_tools: bool,
    ) -> Self {
        RulesInForce {
            base: base.clone(),
            now: now.clone(),
            confinement: confinement.clone(),
            keeping: keeping.clone(),
            late_tools,
        }
    }

    /// These replace what the session had before. Everybody knows them before a call is judged by them.
    pub(crate) fn set(
        &self,
        agent: &Agent,
        workspace: &Workspace,
        rules: SessionRules,
    ) -> Result<(), Error> {
        let of_session = kit::session_policy(&rules, workspace, self.late_tools)?;
        let mut all = Policy::clone(&self.base);
        all.add(of_session.clone());
        undo::remember_denied(&self.keeping, &all)?;
        self.confinement.deny(&all);
        self.now.set(all);
        agent.gate.set_session_rules(rules, of_session);
        Ok(())
    }
}

impl Session {
    pub(crate) fn set_rules(&self, rules: SessionRules) -> Result<InputReceipt, InputRefused> {
        let shared = self.shared();
        let set = shared.parts.rules.set(&shared.agent, &shared.workspace.now(), rules.clone());
        let set = set.and_then(|()| shared.parts.subagents.set_rules(&rules));
        set.map_err(|error| InputRefused::Rules(error.to_string()))?;
        self.controlled()
    }

    pub(crate) fn set_environment(
        &self,
        changes: Vec<(String, Option<String>)>,
    ) -> Result<InputReceipt, InputRefused> {
        let refused = |(name, value): &&(String, Option<String>)| {
            !may_set_variable(name, value.as_deref().unwrap_or_default())
        };
        if let Some((name, _)) = changes.iter().find(refused) {
            return Err(InputRefused::Variable(name.clone()));
        }
        let environment = &self.shared().parts.environment;
        let mut all = CommandVariables::clone(&environment.now());
        for (name, value) in changes {
            all.retain(|(had, _)| had != OsStr::new(&name));
            all.extend(value.map(|value| (name.into(), value.into())));
        }
        environment.set(all);
        Ok(InputReceipt::Done)
    }
}
