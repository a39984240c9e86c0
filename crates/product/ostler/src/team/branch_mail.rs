//! A branch of a teammate that could not be merged: the teammate and its lead get mail.

use super::addresses::Addresses;
use crate::log_choice::started_by;
use crate::worker::FailedMerge;
use crate::worker::merge_task::{id_of, words};
use ostler_board::{BoardError, MailId, NewMail, SharedBoard};
use ostler_core::ids::SessionId;
use ostler_core::session::{AgentRecord, Entry};
use ostler_store::FileStore;
use ostler_worktrees::{Owner, OwnerKind};
use std::path::Path;

const SENDER: &str = "merge-queue";

/// Sends it once for each commit of the branch and target, and says to whom. Nobody, if the branch was merged, or is not that
/// of a teammate: then the board is not opened.
///
/// # Errors
/// If the board cannot be used.
pub fn mail_failed_merge<E: From<BoardError>>(
    home: &Path,
    open: impl FnOnce() -> Result<Box<dyn SharedBoard>, E>,
    owner: &Owner,
    failed: &FailedMerge<'_>,
) -> Result<Vec<String>, E> {
    let Some((_, text)) = words(failed) else { return Ok(Vec::new()) };
    let Some((name, addresses)) = teammate_of(home, owner) else { return Ok(Vec::new()) };
    let (mut board, mut told) = (open()?, Vec::new());
    for (to, text) in [
        (addresses.of_member(&name), format!("Your branch could not be merged. {text}")),
        (addresses.lead(), format!("The branch of {name} could not be merged. {text}")),
    ] {
        let id = MailId(format!("{}-{}", id_of(failed), told.len()));
        board.send(&NewMail::new(id, SENDER, to.clone(), text))?;
        told.push(to);
    }
    Ok(told)
}

/// The name of the teammate who works in a tree, as the log of its lead has it.
fn teammate_of(home: &Path, owner: &Owner) -> Option<(String, Addresses)> {
    let (session, call) = owner.id.split_once('/').filter(|_| owner.kind == OwnerKind::Session)?;
    let session = SessionId::new(session);
    let entries = FileStore::new(home).and_then(|store| store.read(&session)).ok()?;
    let is_owner = |record: &AgentRecord| {
        let link = started_by(home, &record.session).ok().flatten();
        link.is_some_and(|link| link.call.as_str() == call)
    };
    let agent = entries.iter().rev().find_map(|entry| match entry {
        Entry::Agent(record) if is_owner(record) => Some(record.name.clone()),
        _ => None,
    })?;
    let is_teammate =
        |entry: &Entry| matches!(entry, Entry::Teammate { status, .. } if status.name == agent);
    entries.iter().any(is_teammate).then(|| (agent, Addresses::of(&session)))
}
