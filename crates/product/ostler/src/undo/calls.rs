//! Which calls of a session changed files, and between which states.

use ostler_core::ids::{BlobRef, CallId, SessionId};
use ostler_core::message::Block;
use ostler_core::session::{Entry, TurnStarts};
use std::collections::{BTreeMap, HashSet};
use std::path::PathBuf;

/// A call that may have changed files.
#[derive(Clone, Debug, PartialEq)]
pub struct ChangingCall {
    pub id: CallId,
    /// The turn in which it was made, counted from 1.
    pub turn: u32,
    pub tool: String,
    /// The command, or the file.
    pub what: String,
    /// The agent that made it, if it was not the session itself.
    pub agent: Option<AgentCall>,
    pub(crate) did: Did,
}

/// A call that an agent made for a call of the session.
#[derive(Clone, Debug, PartialEq)]
pub struct AgentCall {
    pub session: SessionId,
    /// As in `general-1/explorer-1`.
    pub name: String,
    pub(crate) under: CallId,
}

/// Characters of a command in the name of a call.
const NAME: usize = 200;

impl ChangingCall {
    /// A command, of which only is known what differs between before and after.
    pub fn is_command(&self) -> bool {
        matches!(self.did, Did::Command { .. })
    }

    /// It is a command for which this state was kept.
    pub(crate) fn began_at(&self, snapshot: u64) -> bool {
        matches!(self.did, Did::Command { began, .. } if began == snapshot)
    }

    /// The call of the session itself that it is a part of.
    pub(crate) fn top(&self) -> &CallId {
        self.agent.as_ref().map_or(&self.id, |agent| &agent.under)
    }

    /// Its name in the notes of the session: ids of calls are unique in one log only.
    pub(crate) fn key(&self) -> CallId {
        match &self.agent {
            None => self.id.clone(),
            Some(agent) => CallId::new(format!("{}/{}", agent.session, self.id)),
        }
    }

    /// On one line.
    pub(crate) fn name(&self) -> String {
        let words: Vec<&str> = self.what.split_whitespace().collect();
        let what: String = words.join(" ").chars().take(NAME).collect();
        format!("{}: {what}", self.tool)
    }
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Did {
    Command {
        /// The state that was kept before it began.
        began: u64,
        /// From where its changes count.
        before: u64,
        /// None: nobody saw it end.
        after: Option<u64>,
        /// The files that it could change, where it ran beside other commands; empty: any.
        only: Vec<PathBuf>,
        /// Files that the file tools changed while it ran.
        others: HashSet<PathBuf>,
    },
    Files(BTreeMap<PathBuf, FileChange>),
}

/// What a file tool did to one file.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct FileChange {
    pub before: Option<BlobRef>,
    pub mode: Option<u32>,
    pub after: Option<String>,
}

#[derive(Default)]
struct Reader {
    calls: Vec<ChangingCall>,
    /// What the answers asked for: tool and subject.
    asked: BTreeMap<CallId, (String, String)>,
    turns: TurnStarts,
    /// Commands that have begun and not ended.
    running: HashSet<CallId>,
}

/// In the order in which they began. What was copied from another session belongs to that one.
pub(crate) fn changing(entries: &[Entry]) -> Vec<ChangingCall> {
    let mut reader = Reader::default();
    let mut copied = 0;
    for (at, entry) in entries.iter().enumerate() {
        if let Entry::Opened { forked_from: Some(fork), .. } = entry {
            copied = usize::try_from(fork.entries).unwrap_or(usize::MAX);
        }
        reader.turns.read(at, entry);
        reader.read(entry, at > copied);
    }
    reader.calls
}

impl Reader {
    fn read(&mut self, entry: &Entry, ours: bool) {
        match entry {
            Entry::Answer { message, .. } => {
                for block in message.blocks() {
                    if let Block::ToolUse { id, name, input, .. } = block {
                        let text = |key: &str| input.get(key).and_then(|value| value.as_str());
                        let subject = text("command").or_else(|| text("file_path"));
                        let subject = subject.unwrap_or_default().to_owned();
                        self.asked.insert(id.clone(), (name.clone(), subject));
                    }
                }
            }
            Entry::Checkpoint { call, before, after, only, .. } if ours => {
                self.checkpoint(call, *before, *after, only);
            }
            Entry::Snapshot { call, path, before, mode, after } if ours => {
                let change =
                    FileChange { before: before.clone(), mode: *mode, after: after.clone() };
                self.file(call, path.clone(), change);
            }
            _ => {}
        }
    }

    fn call(&mut self, id: &CallId, did: Did) -> usize {
        let (tool, what) = self.asked.get(id).cloned().unwrap_or_default();
        let turn = self.turns.count();
        self.calls.push(ChangingCall { id: id.clone(), turn, tool, what, agent: None, did });
        self.calls.len() - 1
    }

    fn checkpoint(&mut self, id: &CallId, from: u64, to: Option<u64>, files: &[PathBuf]) {
        let known = self.calls.iter_mut().rev().find(|call| call.id == *id);
        match known.map(|call| &mut call.did) {
            Some(Did::Command { before, after, only, .. }) => {
                (*before, *after, *only) = (from, to, files.to_vec());
            }
            _ => {
                let (only, others) = (files.to_vec(), HashSet::new());
                let (began, before, after) = (from, from, to);
                self.call(id, Did::Command { began, before, after, only, others });
            }
        }
        match to {
            Some(_) => self.running.remove(id),
            None => self.running.insert(id.clone()),
        };
    }

    fn file(&mut self, id: &CallId, path: PathBuf, change: FileChange) {
        for call in &mut self.calls {
            if let Did::Command { others, .. } = &mut call.did
                && self.running.contains(&call.id)
            {
                others.insert(path.clone());
            }
        }
        let at = self.calls.iter().rposition(|call| call.id == *id);
        let at = at.unwrap_or_else(|| self.call(id, Did::Files(BTreeMap::new())));
        if let Some(ChangingCall { did: Did::Files(files), .. }) = self.calls.get_mut(at) {
            // Several of one call are steps: from the first one's before to the last one's after.
            let after = change.after.clone();
            files.entry(path).or_insert(change).after = after;
        }
    }
}

/// Those of the newest calls of the session itself, newest first.
pub(super) fn newest(mut calls: Vec<ChangingCall>, steps: usize) -> Vec<ChangingCall> {
    let mut tops: Vec<CallId> = Vec::new();
    for call in &calls {
        if !tops.contains(call.top()) {
            tops.push(call.top().clone());
        }
    }
    tops.truncate(steps);
    calls.retain(|call| tops.contains(call.top()));
    calls
}

/// All calls that the answers from this entry on asked for, changing or not, with their turns.
pub(super) fn requested_calls(entries: &[Entry], from: usize) -> Vec<(u32, CallId)> {
    let (mut turns, mut all) = (TurnStarts::default(), Vec::new());
    for (at, entry) in entries.iter().enumerate() {
        turns.read(at, entry);
        if let Entry::Answer { message, .. } = entry
            && at >= from
        {
            all.extend(message.calls().map(|id| (turns.count(), id.clone())));
        }
    }
    all
}
