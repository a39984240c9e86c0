//! The tree of agents as lines.

use crate::commands::sessions::age;
use crate::output::cost::dollars;
use crate::output::visible_text::visible;
use ostler::{AgentActivity, AgentInfo, AgentState, AgentsView, Blocked, MachineAgent};

/// Characters of a session's id.
const ID: usize = 13;

pub fn lines(view: &AgentsView, all: bool) -> Vec<String> {
    let mut lines = Vec::new();
    for session in &view.sessions {
        let id: String = session.session.as_str().chars().take(ID).collect();
        let place = session.workspace.as_ref().map(|path| path.display().to_string());
        let place = visible(&place.unwrap_or_default());
        lines.push(format!("{id}  {}  {place}: {}", state(session), visible(&session.task)));
        details(session, 1, &mut lines);
        session.agents.iter().for_each(|agent| add(agent, 1, &mut lines));
    }
    if view.left_out > 0 {
        lines.push(format!("agents not shown: {}", view.left_out));
    }
    if lines.is_empty() {
        let none = if all { "No sessions yet." } else { "No session is running." };
        lines.push(none.to_owned());
    }
    lines
}

fn add(agent: &MachineAgent, depth: usize, lines: &mut Vec<String>) {
    let (name, state) = (visible(name(&agent.path)), state(agent));
    let indent = "  ".repeat(depth);
    lines.push(format!("{indent}{name}  {state}  {}", visible(&agent.task)));
    details(agent, depth + 1, lines);
    agent.agents.iter().for_each(|below| add(below, depth + 1, lines));
}

/// What it waits for or why it failed, what it is running, and what it said last.
fn details(agent: &MachineAgent, depth: usize, lines: &mut Vec<String>) {
    let indent = "  ".repeat(depth);
    let blocked = agent.blocked.as_ref().map(|blocked| match blocked {
        Blocked::Question { tool, subject } => format!("waiting for an answer: {tool} {subject}"),
        Blocked::Retry { attempt, error } => {
            format!("retrying its request (attempt {attempt}): {error}")
        }
    });
    let call = agent.call.as_ref().map(|call| format!("running: {} {}", call.tool, call.subject));
    let said = agent.last_line.as_ref().map(|line| format!("says: {line}"));
    let all = [blocked, agent.why.clone(), call, said].into_iter().flatten();
    lines.extend(all.map(|text| format!("{indent}· {}", visible(text.trim()))));
}

fn state(agent: &MachineAgent) -> String {
    let in_team = agent.team.as_ref().filter(|_| agent.blocked.is_none());
    let state = match agent.state {
        _ if let Some(team) = in_team => team.phase.name(),
        AgentActivity::Working if agent.blocked.is_some() => "blocked",
        AgentActivity::Working => "working",
        AgentActivity::Idle => "idle",
        AgentActivity::Finished => "finished",
        AgentActivity::Failed => "failed",
        AgentActivity::Stopped => "stopped",
        AgentActivity::Lost => "lost",
    };
    let since = agent.since_ms.map(|since| age(ostler::now_ms().saturating_sub(since)));
    let since = since.map(|since| format!("  {since}")).unwrap_or_default();
    let cost = agent.cost_usd.map(|cost| format!("  {}", dollars(cost))).unwrap_or_default();
    format!("{state}{since}{cost}")
}

fn name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// The agents of a session, for its own terminal.
pub fn table(agents: &[AgentInfo]) -> Vec<String> {
    let line = |agent: &AgentInfo| {
        let state = match &agent.state {
            AgentState::Running => "working".to_owned(),
            AgentState::Finished => "finished".to_owned(),
            state if state.is_stopped() => "stopped".to_owned(),
            AgentState::Failed { why } => format!("failed: {}", visible(why)),
        };
        let name = visible(&agent.path.names().join("/"));
        format!("{name}  {state}  {}", visible(&agent.task))
    };
    match agents.is_empty() {
        true => vec!["No agents.".to_owned()],
        false => agents.iter().map(line).collect(),
    }
}
