//! From a session's log to rows: how the ledger is rebuilt.

use crate::row::{Days, LedgerRow};
use ostler_core::ledger::{Charge, ChargeStatus, Charged, Purpose};
use ostler_core::session::Entry;
use ostler_core::time::Timestamp;

/// The requests of one session. What a fork copied from another session belongs to that one.
pub fn rows_of<'a>(entries: impl IntoIterator<Item = &'a Entry>, days: &Days) -> Vec<LedgerRow> {
    let (mut project, mut session) = (String::new(), String::new());
    let (mut at, mut copied, mut nth) = (Timestamp(0), 0u64, 0u64);
    let mut rows = Vec::new();
    for entry in entries {
        let is_copy = copied > 0;
        match entry {
            Entry::Opened {
                session: id, workspace, at: opened, forked_from, started_by, ..
            } => {
                // What an agent spent is spent by the session that a person began.
                let root = started_by.as_ref().and_then(|link| link.root.as_ref()).unwrap_or(id);
                (project, session) = (workspace.display().to_string(), root.to_string());
                at = *opened;
                copied = forked_from.as_ref().map_or(0, |fork| fork.entries);
                continue;
            }
            Entry::Prompt { at: asked, .. } | Entry::End { at: asked, .. } if !is_copy => {
                at = *asked;
            }
            Entry::Spent { model, usage, cost, charge, .. } => {
                nth += 1;
                let charge = match charge {
                    Some(charge) => Charge::clone(charge),
                    None => of_old_log(format!("{session}#{nth}"), at),
                };
                let (model, day) = (model.clone(), days(charge.at));
                let charged = Charged { model, usage: *usage, cost: *cost, charge };
                if !is_copy {
                    rows.push(LedgerRow {
                        day,
                        project: project.clone(),
                        session: session.clone(),
                        charged,
                    });
                }
            }
            _ => {}
        }
        copied = copied.saturating_sub(1);
    }
    rows
}

/// Logs of earlier versions know tokens and cost only.
fn of_old_log(id: String, at: Timestamp) -> Charge {
    Charge {
        id,
        at,
        agent: "main".into(),
        task: None,
        tool: None,
        purpose: Purpose::Answer,
        status: ChargeStatus::Ok,
        latency_ms: 0,
        first_byte_ms: None,
        price: None,
        broken: None,
    }
}
