//! Teammates of running sessions: what they do between their turns, and where their mail goes.

use super::{AgentActivity, MachineAgent, machine_agents};
use crate::error::Error;
use crate::team::Addresses;
use ostler_core::event::AgentPath;
use ostler_core::ids::SessionId;
use ostler_core::session::AgentRecord;
use ostler_core::teammate::TeammateStatus;
use std::path::Path;

/// One that is not in a turn has no open session, but its lead knows it.
pub(super) fn add(
    agents: &mut Vec<MachineAgent>,
    team: Vec<TeammateStatus>,
    (lead, path): (&SessionId, &AgentPath),
    records: &[AgentRecord],
) {
    for status in team {
        let own = path.child(status.name.as_str()).to_string();
        if let Some(agent) = agents.iter_mut().find(|agent| agent.path == own) {
            agent.team = Some(status);
            continue;
        }
        let session = records.iter().rev().find(|record| record.name == status.name);
        agents.push(MachineAgent {
            path: own,
            session: session.map_or_else(|| lead.clone(), |record| record.session.clone()),
            workspace: None,
            kind: status.name.clone(),
            task: status.task.clone().unwrap_or_default(),
            state: AgentActivity::Idle,
            why: status.why.clone(),
            team: Some(status),
            blocked: None,
            since_ms: None,
            call: None,
            cost_usd: None,
            last_line: None,
            agents: Vec::new(),
        });
    }
}

/// The addresses of teammates with this name, of sessions that run in this project on this machine.
///
/// # Errors
/// If the sessions cannot be listed.
pub fn live_addresses(home: &Path, project: &Path, name: &str) -> Result<Vec<String>, Error> {
    let is_here = |session: &MachineAgent| {
        session.workspace.as_ref().is_some_and(|place| place.starts_with(project))
    };
    let is_meant = |agent: &MachineAgent| agent.team.as_ref().is_some_and(|it| it.name == name);
    let sessions = machine_agents(home, false)?.sessions;
    let with_it = sessions.iter().filter(|it| is_here(it) && it.agents.iter().any(is_meant));
    Ok(with_it.map(|session| Addresses::of(&session.session).of_member(name)).collect())
}
