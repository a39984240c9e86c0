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

/// The addresses of the teams of sessions that run in this project on this machine: leads and teammates.
///
/// # Errors
/// If the sessions cannot be listed.
pub fn live_addresses(home: &Path, project: &Path) -> Result<Vec<String>, Error> {
    let is_here = |session: &&MachineAgent| {
        session.workspace.as_ref().is_some_and(|place| place.starts_with(project))
    };
    let mut found = Vec::new();
    for session in machine_agents(home, false)?.sessions.iter().filter(is_here) {
        let addresses = Addresses::of(&session.session);
        let team = session.agents.iter().filter_map(|agent| agent.team.as_ref());
        let team: Vec<String> = team.map(|it| addresses.of_member(&it.name)).collect();
        if !team.is_empty() {
            found.push(addresses.lead());
            found.extend(team);
        }
    }
    Ok(found)
}
