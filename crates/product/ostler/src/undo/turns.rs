//! The turns of a session, for a rewind to one of them.

use super::calls::{ChangingCall, Did};
use super::{Desk, UndoChoice};
use crate::error::Error;
use ostler_core::ids::SessionId;
use ostler_core::job;
use ostler_core::message::{Block, Message};
use ostler_core::session::{Entry, SessionRecord, TurnStarts};
use ostler_snapshots::{RecordedChange, What};
use std::collections::HashSet;
use std::path::PathBuf;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TurnLine {
    /// Counted from 1, as `rewind` takes it.
    pub turn: u32,
    /// Milliseconds since 1970.
    pub at: u64,
    /// The first line of the prompt.
    pub prompt: String,
    /// Calls that may have changed files and are not undone.
    pub calls: usize,
    /// The files that they changed; none if that is no longer known.
    pub files: Option<usize>,
    /// The conversation can go back there. Otherwise it was summarized since, and only files can.
    pub conversation: bool,
}

/// The turns that a session has now, oldest first.
///
/// # Errors
/// If there is no such session, or it cannot be read.
pub fn turns(choice: &UndoChoice) -> Result<(SessionId, Vec<TurnLine>), Error> {
    let desk = Desk::look(choice)?;
    let session = SessionRecord::fold(desk.entries.iter().cloned());
    let starts = TurnStarts::of(&desk.entries);
    let prompts = starts.positions().iter().copied();
    let prompts = prompts.filter_map(|at| desk.entries.get(at));
    let mut lines: Vec<TurnLine> = (1..).zip(prompts).filter_map(line).collect();
    let calls = desk.calls();
    for line in &mut lines {
        line.conversation = session.can_rewind(line.turn);
        let of_turn: Vec<&ChangingCall> = calls.iter().filter(|c| c.turn == line.turn).collect();
        line.calls = of_turn.len();
        line.files = files(&desk, &of_turn);
    }
    Ok((desk.session.clone(), lines))
}

fn line((turn, entry): (u32, &Entry)) -> Option<TurnLine> {
    let Entry::Prompt { message, at, .. } = entry else { return None };
    let own: String = message.own_words().collect();
    let text = if own.trim().is_empty() { message.text() } else { own };
    let first = text.lines().map(str::trim).find(|line| !line.is_empty());
    let prompt = first.map(str::to_owned).unwrap_or_else(|| started_by(message));
    Some(TurnLine { turn, at: at.0, prompt, calls: 0, files: None, conversation: true })
}

/// A turn without a prompt began with the end of a background job.
fn started_by(message: &Message) -> String {
    let mut reports = message.blocks().iter().filter_map(|block| match block {
        Block::Text { text, .. } => job::summary_of(text),
        _ => None,
    });
    reports.next().map_or("(started by Ostler)".to_owned(), |summary| format!("({summary})"))
}

pub(super) fn files(desk: &Desk, calls: &[&ChangingCall]) -> Option<usize> {
    let mut paths: HashSet<PathBuf> = HashSet::new();
    let mut pairs = Vec::new();
    for call in calls {
        match &call.did {
            Did::Files(files) => paths.extend(files.keys().cloned()),
            Did::Command { before, after, .. } => pairs.push((*before, (*after)?)),
        }
    }
    if !pairs.is_empty() {
        for changes in desk.snapshots.diffs(&pairs).ok()? {
            paths.extend(changes.ok()?.into_iter().filter(is_file).map(|change| change.path));
        }
    }
    Some(paths.len())
}

fn is_file(change: &RecordedChange) -> bool {
    let sides = [&change.before, &change.after];
    !sides.into_iter().flatten().any(|item| item.what == What::Folder)
}
