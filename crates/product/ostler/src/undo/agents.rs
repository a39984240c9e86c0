//! What the agents of a session changed. It is part of the call that started or resumed them, and undone with it.

use super::Desk;
use super::calls::{self, AgentCall, ChangingCall, Did};
use super::note::{self, Note};
use ostler_core::ids::{CallId, SessionId};
use ostler_core::session::{AgentRecord, Entry, TurnStarts};
use ostler_store::FileStore;
use std::collections::{HashMap, HashSet};

/// Logs of agents that are read.
const MOST: usize = 10_000;

/// The log of an agent, at any depth.
pub(crate) struct AgentLog {
    session: SessionId,
    /// As a person knows it: `general-1/explorer-1`.
    name: String,
    entries: Vec<Entry>,
    /// For each turn of the agent the session's own call that it worked for, and the turn of that.
    under: Vec<(CallId, u32)>,
}

/// The agents that a session started, and those below them. A log that is gone or cannot be read has nothing to undo.
pub(super) fn read(store: &FileStore, session: &SessionId, entries: &[Entry]) -> Vec<AgentLog> {
    let mut found =
        started(store, session, entries, "", |record, turn| Some((record.call.clone(), turn)));
    let mut next = 0;
    while let Some(log) = found.get(next).filter(|_| found.len() < MOST) {
        let under = |_: &AgentRecord, turn| top_of(&log.under, turn);
        let more = started(store, &log.session, &log.entries, &log.name, under);
        found.extend(more);
        next += 1;
    }
    found
}

fn top_of(under: &[(CallId, u32)], turn: u32) -> Option<(CallId, u32)> {
    let at = usize::try_from(turn).ok()?.checked_sub(1)?;
    under.get(at).or(under.last()).cloned()
}

fn started(
    store: &FileStore,
    session: &SessionId,
    entries: &[Entry],
    above: &str,
    under: impl Fn(&AgentRecord, u32) -> Option<(CallId, u32)>,
) -> Vec<AgentLog> {
    let mut turns = TurnStarts::default();
    let mut found: Vec<AgentLog> = Vec::new();
    for (at, entry) in entries.iter().enumerate() {
        turns.read(at, entry);
        let Entry::Agent(record) = entry else { continue };
        let Some(top) = under(record, turns.count()).filter(|_| record.state.is_running()) else {
            continue;
        };
        if let Some(had) = found.iter_mut().find(|had| had.session == record.session) {
            had.under.push(top);
            continue;
        }
        let Ok(entries) = store.read(&record.session) else { continue };
        // A fork has the records of agents that are not its own.
        let is_own = matches!(entries.first(), Some(Entry::Opened { started_by: Some(link), .. })
            if link.session == *session);
        if is_own {
            let name = format!("{above}{}{}", if above.is_empty() { "" } else { "/" }, record.name);
            let session = record.session.clone();
            found.push(AgentLog { session, name, entries, under: vec![top] });
        }
    }
    found
}

impl Desk {
    /// All calls that may have changed files, those of agents included, in the order in which they began.
    pub(super) fn changing(&self) -> Vec<ChangingCall> {
        let mut all = calls::changing(&self.entries);
        if self.agents.is_empty() {
            return all;
        }
        let mut logs = vec![std::mem::take(&mut all)];
        for log in &self.agents {
            let mut calls = calls::changing(&log.entries);
            calls.retain_mut(|call| {
                let Some((under, turn)) = top_of(&log.under, call.turn) else { return false };
                call.turn = turn;
                let (session, name) = (log.session.clone(), log.name.clone());
                call.agent = Some(AgentCall { session, name, under });
                true
            });
            logs.push(calls);
        }
        self.in_order(logs)
    }

    /// Logs have no common clock, but the snapshots and the notes about edits beside them have.
    fn in_order(&self, logs: Vec<Vec<ChangingCall>>) -> Vec<ChangingCall> {
        let taken = self.snapshots.list().unwrap_or_default();
        let taken: HashMap<u64, u64> = taken.into_iter().map(|line| (line.id, line.at)).collect();
        let edits = self.snapshots.edits_since(0);
        let date = |call: &ChangingCall| match &call.did {
            Did::Command { began, .. } => taken.get(began).map(|ms| ms.saturating_mul(1_000_000)),
            Did::Files(files) => edits
                .iter()
                .filter(|edit| {
                    files.get(&edit.path).is_some_and(|change| change.after == edit.after)
                })
                .map(|edit| edit.at)
                .min(),
        };
        let mut dated = Vec::new();
        for calls in logs {
            let mut last = 0;
            for call in calls {
                // One that nobody knows the time of came after the one before it.
                last = date(&call).unwrap_or(last).max(last);
                dated.push((last, call));
            }
        }
        dated.sort_by_key(|(at, _)| *at);
        dated.into_iter().map(|(_, call)| call).collect()
    }

    /// The log that a call is recorded in.
    pub(super) fn entries_of(&self, call: &ChangingCall) -> &[Entry] {
        let log = call
            .agent
            .as_ref()
            .and_then(|agent| self.agents.iter().find(|log| log.session == agent.session));
        log.map_or(&self.entries, |log| &log.entries)
    }

    /// What is undone already, by the names of calls: by this session, by one of its agents for itself, or by the session
    /// that this one works for.
    pub(super) fn undone(&self) -> HashSet<CallId> {
        let mut by_session: HashMap<&str, Vec<&Note>> = HashMap::new();
        for note in &self.all_notes {
            by_session.entry(&note.session).or_default().push(note);
        }
        let mut undone = HashSet::new();
        for (session, notes) in by_session {
            let is_agent = self.agents.iter().any(|log| log.session.as_str() == session);
            for call in note::standing(notes.into_iter()).into_iter().flat_map(|note| &note.calls) {
                let own = call.as_str().strip_prefix(self.session.as_str());
                match own.and_then(|rest| rest.strip_prefix('/')) {
                    Some(own) => undone.insert(CallId::new(own)),
                    None if session == self.session.as_str() => undone.insert(call.clone()),
                    None if is_agent => undone.insert(CallId::new(format!("{session}/{call}"))),
                    None => false,
                };
            }
        }
        undone
    }
}
