//! The turns of a session, for a rewind to one of them.

use super::calls::{ChangingCall, Did};
use super::{Desk, UndoChoice};
use crate::error::Error;
use ostler_core::ids::{InboundId, SessionId};
use ostler_core::inbox::InboundSource;
use ostler_core::job;
use ostler_core::message::{Block, Message};
use ostler_core::session::{Entry, SessionRecord, TurnStarts};
use ostler_snapshots::{RecordedChange, What};
use std::collections::{HashMap, HashSet};
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
    let reports = job_reports(&desk.entries);
    let line = |(turn, entry)| line(turn, entry, &reports);
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

/// How jobs ended, by the items of the inbox that report it.
type JobReports<'a> = HashMap<&'a InboundId, &'a str>;

fn job_reports(entries: &[Entry]) -> JobReports<'_> {
    let items = entries.iter().filter_map(|entry| match entry {
        Entry::Inbound(item) => Some(item),
        _ => None,
    });
    items
        .filter_map(|item| match &item.source {
            InboundSource::Job { summary: Some(summary), .. } => Some((&item.id, summary.as_str())),
            _ => None,
        })
        .collect()
}

fn line(turn: u32, entry: &Entry, reports: &JobReports<'_>) -> Option<TurnLine> {
    let Entry::Prompt { message, at, inbound } = entry else { return None };
    let own: String = message.own_words().collect();
    let text = if own.trim().is_empty() { message.text() } else { own };
    let first = text.lines().map(str::trim).find(|line| !line.is_empty());
    let report = || inbound.iter().find_map(|id| reports.get(id).copied());
    let prompt = match first {
        Some(first) => first.to_owned(),
        None => started_by(report().or_else(|| old_report(message))),
    };
    Some(TurnLine { turn, at: at.0, prompt, calls: 0, files: None, conversation: true })
}

/// A turn without a prompt began with the end of a background job.
fn started_by(summary: Option<&str>) -> String {
    summary.map_or("(started by Ostler)".to_owned(), |summary| format!("({summary})"))
}

/// A log of an older version has the summary only in the text that the model read.
fn old_report(message: &Message) -> Option<&str> {
    message.blocks().iter().find_map(|block| match block {
        Block::Text { text, .. } => job::summary_of(text),
        _ => None,
    })
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

#[cfg(test)]
mod tests {
    use super::*;
    use ostler_core::inbox::{Delivery, Inbound};
    use ostler_core::time::Timestamp;

    fn line_of(entries: &[Entry], message: &str) -> String {
        let inbound = vec![InboundId::new("i1")];
        let prompt = Entry::Prompt { message: Message::meta(message), at: Timestamp(0), inbound };
        line(1, &prompt, &job_reports(entries)).unwrap().prompt
    }

    /// What the item says counts, not what the text for the model says; only without the item the text has to do.
    #[test]
    fn a_report_is_named_by_its_item() {
        let text = "<task-notification><summary>another</summary></task-notification>";
        let arrived = |summary: Option<&str>| {
            let summary = summary.map(str::to_owned);
            vec![Entry::Inbound(Box::new(Inbound {
                id: "i1".into(),
                source: InboundSource::Job { id: "b1".into(), summary },
                when: Delivery::NextBoundary,
                body: Message::meta(text),
                at: Timestamp(0),
            }))]
        };
        assert_eq!(line_of(&arrived(Some("it completed")), text), "(it completed)");
        assert_eq!(line_of(&arrived(None), text), "(another)");
        assert_eq!(line_of(&[], "anything"), "(started by Ostler)");
    }
}
