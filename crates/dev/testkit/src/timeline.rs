//! What happened, in the order it happened, whoever did it.

use crate::locked;
use crate::render::entry_line;
use ostler_core::ids::CallId;
use ostler_core::ledger::{Charge, ChargeStatus};
use ostler_core::permission::Access;
use ostler_core::session::Entry;
use std::sync::Mutex;

#[derive(Clone, Debug, PartialEq)]
pub enum TimelineMoment {
    /// The log took the entry.
    Entry(Entry),
    /// Everything before it survives a loss of power.
    Synced,
    /// The log refused to append or to sync.
    Refused(&'static str),
    Requested(usize),
    Asked(CallId),
    Replied(CallId),
    /// The question went away before it was answered.
    Withdrawn(CallId),
    /// The tool itself began to run.
    Began {
        id: CallId,
        access: Access,
    },
    Ended(CallId),
    /// The tool was dropped, or it panicked, before it gave an output.
    Stopped(CallId),
}

#[derive(Debug, Default)]
pub struct Timeline(Mutex<Vec<TimelineMoment>>);

impl Timeline {
    pub(crate) fn add(&self, moment: TimelineMoment) {
        locked(&self.0).push(moment);
    }

    pub fn moments(&self) -> Vec<TimelineMoment> {
        locked(&self.0).clone()
    }

    /// The log's content.
    pub fn entries(&self) -> Vec<Entry> {
        let entry = |moment: &TimelineMoment| match moment {
            TimelineMoment::Entry(entry) => Some(entry.clone()),
            _ => None,
        };
        locked(&self.0).iter().filter_map(entry).collect()
    }

    /// Tools that began to run, in that order.
    pub fn began(&self) -> Vec<String> {
        let began = |moment: &TimelineMoment| match moment {
            TimelineMoment::Began { id, .. } => Some(id.to_string()),
            _ => None,
        };
        locked(&self.0).iter().filter_map(began).collect()
    }

    /// Calls whose tool has begun and neither ended nor been stopped.
    pub fn running(&self) -> Vec<CallId> {
        let mut running = Vec::new();
        for moment in locked(&self.0).iter() {
            match moment {
                TimelineMoment::Began { id, .. } => running.push(id.clone()),
                TimelineMoment::Ended(id) | TimelineMoment::Stopped(id) => {
                    running.retain(|had| had != id)
                }
                _ => {}
            }
        }
        running
    }

    /// One line per moment.
    pub fn render(&self) -> String {
        let lines: Vec<_> =
            locked(&self.0).iter().filter(|moment| is_told(moment)).map(moment_line).collect();
        lines.join("\n")
    }

    /// One line per entry of the log.
    pub fn render_log(&self) -> String {
        let entries = self.entries();
        let lines: Vec<_> =
            entries.iter().filter(|entry| !is_failed_request(entry)).map(entry_line).collect();
        lines.join("\n")
    }
}

fn is_told(moment: &TimelineMoment) -> bool {
    !matches!(moment, TimelineMoment::Entry(entry) if is_failed_request(entry))
}

/// It is in the log for the ledger; nothing follows from it.
fn is_failed_request(entry: &Entry) -> bool {
    let failed =
        |charge: &Charge| matches!(charge.status, ChargeStatus::Failed | ChargeStatus::Cancelled);
    matches!(entry, Entry::Spent { charge: Some(charge), .. } if failed(charge))
}

fn moment_line(moment: &TimelineMoment) -> String {
    match moment {
        TimelineMoment::Entry(entry) => format!("log {}", entry_line(entry)),
        TimelineMoment::Synced => "sync".into(),
        TimelineMoment::Refused(what) => format!("refused {what}"),
        TimelineMoment::Requested(n) => format!("request {n}"),
        TimelineMoment::Asked(id) => format!("ask {id}"),
        TimelineMoment::Replied(id) => format!("reply {id}"),
        TimelineMoment::Withdrawn(id) => format!("withdraw {id}"),
        TimelineMoment::Began { id, .. } => format!("run {id}"),
        TimelineMoment::Ended(id) => format!("done {id}"),
        TimelineMoment::Stopped(id) => format!("stopped {id}"),
    }
}
