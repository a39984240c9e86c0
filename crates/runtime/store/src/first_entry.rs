//! The first entry of a session: what both stores ask of it, and what a fork makes of it.

use crate::files::io_error;
use ostler_core::ids::SessionId;
use ostler_core::ports::StoreError;
use ostler_core::session::{Entry, FORMAT, Fork, ForkPoint, SessionRecord, TurnStarts};
use ostler_core::text::counted;
use std::path::Path;

/// The name and workspace of a session that begins with `first`.
pub(crate) fn check<'a>(
    first: &'a Entry,
    store: &Path,
) -> Result<(&'a SessionId, &'a Path), StoreError> {
    match first {
        Entry::Opened { format, session, .. } if *format > FORMAT => {
            Err(StoreError::TooNew { id: session.clone(), format: *format })
        }
        Entry::Opened { session, workspace, .. } => Ok((session, workspace)),
        _ => Err(io_error("create a session in", store, "its first entry must be `Opened`")),
    }
}

/// Leaves out what comes after the point. `numbers` are those of the entries, ascending.
///
/// # Errors
/// If there is no such point.
pub(crate) fn cut(
    entries: &mut Vec<Entry>,
    numbers: &[u64],
    at: ForkPoint,
    id: &SessionId,
) -> Result<(), StoreError> {
    let (kept, there_are) = match at {
        ForkPoint::End => return Ok(()),
        ForkPoint::BeforeTurn(turn) => {
            let turns = TurnStarts::of(entries);
            (turns.start(turn), counted(u64::from(turns.count()), "turn"))
        }
        ForkPoint::AfterEntry(number) => {
            let last = numbers.last().copied().unwrap_or(0);
            let kept = numbers.partition_point(|known| *known <= number);
            (Some(kept).filter(|_| (1..=last).contains(&number)), entry_count(last))
        }
    };
    let wrong = || StoreError::NoSuchPoint { id: id.clone(), at, there_are };
    entries.truncate(kept.ok_or_else(wrong)?);
    Ok(())
}

fn entry_count(count: u64) -> String {
    format!("{count} {}", if count == 1 { "entry" } else { "entries" })
}

/// The entries of a copy of `source`: its own first one, which says where it came from, and all but the source's.
pub(crate) fn copy(mut first: Entry, from: &SessionId, source: Vec<Entry>) -> Vec<Entry> {
    // The source's jobs report to the source.
    let is_copied = |entry: &Entry| !matches!(entry, Entry::Opened { .. } | Entry::Detached { .. });
    let mut rest: Vec<Entry> = source.into_iter().filter(is_copied).collect();
    for entry in &mut rest {
        if let Entry::Boundary(boundary) = entry {
            boundary.jobs.clear();
        }
    }
    if let Entry::Opened { forked_from, .. } = &mut first {
        *forked_from = Some(Fork { session: from.clone(), entries: rest.len() as u64 });
    }
    let pending = SessionRecord::fold(rest.iter().cloned());
    let inbound: Vec<_> = pending.inbox.into_iter().map(|item| item.id).collect();
    let questions: Vec<_> = pending.questions.into_iter().map(|question| question.id).collect();
    if !(inbound.is_empty() && questions.is_empty()) {
        rest.push(Entry::Withdrawn { inbound, questions });
    }
    rest.insert(0, first);
    rest
}
