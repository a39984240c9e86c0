//! The rules of a mail: what may happen to it. Pure, like those of tasks.

use crate::mail::MailStatus;

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct MailState {
    pub status: MailStatus,
    /// Of the last delivery; 0 before the first.
    pub token: u64,
    pub lease_until: u64,
    pub deliveries: u32,
    pub why: Option<String>,
}

impl MailState {
    pub fn new() -> Self {
        let status = MailStatus::Unread;
        MailState { status, token: 0, lease_until: 0, deliveries: 0, why: None }
    }

    /// Delivered, but its reader has not settled it in time.
    pub fn has_lapsed(&self, now: u64) -> bool {
        self.status == MailStatus::Delivered && self.lease_until <= now
    }
}

impl Default for MailState {
    fn default() -> Self {
        MailState::new()
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MailChange {
    Deliver {
        token: u64,
        until: u64,
    },
    Acknowledge {
        token: u64,
    },
    /// The reader says that it cannot handle it.
    Fail {
        token: u64,
        why: String,
        most: u32,
    },
    /// The reader has said nothing in time.
    Expire {
        most: u32,
    },
    /// The reader has been started again, so whoever had the mail is gone.
    Reclaim,
    /// The recipient has finished.
    Bounce {
        why: String,
    },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MailStep {
    To(MailState),
    /// The same was recorded before.
    Recorded,
}

/// The delivery is not the current one, or its time is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotYours;

/// # Errors
/// If the mail is not in a state for it, or the delivery is not the current one.
pub fn step(state: &MailState, change: &MailChange, now: u64) -> Result<MailStep, NotYours> {
    let mut to = state.clone();
    to.lease_until = 0;
    match change {
        MailChange::Deliver { token, until } => {
            if state.status != MailStatus::Unread {
                return Err(NotYours);
            }
            to.status = MailStatus::Delivered;
            (to.token, to.lease_until) = (*token, *until);
            to.deliveries = state.deliveries.saturating_add(1);
        }
        MailChange::Acknowledge { token } => {
            let is_same = *token != 0 && state.token == *token;
            if is_same && state.status == MailStatus::Acknowledged {
                return Ok(MailStep::Recorded);
            }
            held(state, *token, now)?;
            to.status = MailStatus::Acknowledged;
        }
        MailChange::Fail { token, why, most } => {
            held(state, *token, now)?;
            failed(&mut to, why, *most);
        }
        MailChange::Expire { most } => {
            if !state.has_lapsed(now) {
                return Err(NotYours);
            }
            failed(&mut to, "its reader did not settle it in time", *most);
        }
        MailChange::Reclaim => {
            if state.status != MailStatus::Delivered {
                return Err(NotYours);
            }
            to.status = MailStatus::Unread;
        }
        MailChange::Bounce { why } => {
            if state.status.is_settled() {
                return Err(NotYours);
            }
            (to.status, to.why) = (MailStatus::Bounced, Some(why.clone()));
        }
    }
    Ok(MailStep::To(to))
}

fn failed(to: &mut MailState, why: &str, most: u32) {
    if to.deliveries < most {
        to.status = MailStatus::Unread;
        return;
    }
    to.status = MailStatus::Dead;
    to.why = Some(format!("given up after {} deliveries: {why}", to.deliveries));
}

fn held(state: &MailState, token: u64, now: u64) -> Result<(), NotYours> {
    let is_held = state.status == MailStatus::Delivered
        && state.token == token
        && token != 0
        && state.lease_until > now;
    if is_held { Ok(()) } else { Err(NotYours) }
}

#[cfg(test)]
#[path = "mail_rules_tests.rs"]
mod tests;
