//! The first entry of a session: what both stores ask of it, and what a fork makes of it.

use crate::files::io_error;
use ostler_core::ids::SessionId;
use ostler_core::ports::StoreError;
use ostler_core::session::{Entry, FORMAT, Fork, Session};
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

/// The entries of a copy of `source`: its own first one, which says where it came from, and all but the source's. What
/// is pending there is delivered and answered there, so the copy withdraws it.
pub(crate) fn copy(mut first: Entry, from: &SessionId, source: Vec<Entry>) -> Vec<Entry> {
    let mut rest: Vec<Entry> =
        source.into_iter().filter(|entry| !matches!(entry, Entry::Opened { .. })).collect();
    if let Entry::Opened { forked_from, .. } = &mut first {
        *forked_from = Some(Fork { session: from.clone(), entries: rest.len() as u64 });
    }
    let pending = Session::fold(rest.iter().cloned());
    let inbound: Vec<_> = pending.inbox.into_iter().map(|item| item.id).collect();
    let questions: Vec<_> = pending.questions.into_iter().map(|question| question.id).collect();
    if !(inbound.is_empty() && questions.is_empty()) {
        rest.push(Entry::Withdrawn { inbound, questions });
    }
    rest.insert(0, first);
    rest
}
