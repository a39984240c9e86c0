//! What mailboxes do, whatever keeps them.

use crate::bell::Bell;
use crate::board::Board;
use crate::error::BoardError;
use crate::mail::{
    AgentChange, Delivery, Lag, Mail, MailId, MailQuery, MailReceipt, NewMail, Outcome,
};
use crate::overview::BoardOverview;
use std::sync::Arc;
use std::time::Duration;

/// One handle of the mailboxes of a board. Every backend passes the same suite (`tests/it/mail_cases.rs`).
pub trait Mailbox: Send {
    /// # Errors
    /// If it is refused, or the store cannot be used; so for all functions here. A mail that bounces is no error: the
    /// receipt says so.
    fn send(&mut self, mail: &NewMail) -> Result<MailReceipt, BoardError>;

    /// The oldest unread mail of this agent, leased: unless it is settled in time, it is delivered again.
    fn receive(&mut self, who: &str, lease: Duration) -> Result<Option<Delivery>, BoardError>;

    /// Settling the same delivery twice changes nothing.
    fn settle(&mut self, delivery: &Delivery, outcome: &Outcome) -> Result<(), BoardError>;

    /// Changes nothing: what is unread stays unread.
    fn peek(&mut self, query: &MailQuery) -> Result<Vec<Mail>, BoardError>;

    fn lag(&mut self, from: &str, to: &str) -> Result<Lag, BoardError>;

    fn set_agent(&mut self, name: &str, change: &AgentChange) -> Result<(), BoardError>;
}

/// A board with its mailboxes, wherever it is kept.
pub trait SharedBoard: Board + Mailbox {
    /// Rings whenever something on this board changes, whoever changes it.
    fn bell(&self) -> Arc<Bell>;

    /// Who works on what, how much waits, and how much was done lately.
    ///
    /// # Errors
    /// If the board cannot be used.
    fn overview(&mut self) -> Result<BoardOverview, BoardError>;
}

/// The next mail that its reader has not recorded yet. Mail that the reader recorded before it died without settling it
/// is acknowledged here, so that it is read once.
///
/// # Errors
/// If the store cannot be used.
pub fn receive_new(
    mailbox: &mut dyn Mailbox,
    who: &str,
    lease: Duration,
    is_recorded: &mut dyn FnMut(&MailId) -> bool,
) -> Result<Option<Delivery>, BoardError> {
    while let Some(delivery) = mailbox.receive(who, lease)? {
        if !is_recorded(&delivery.mail.id) {
            return Ok(Some(delivery));
        }
        mailbox.settle(&delivery, &Outcome::Handled)?;
    }
    Ok(None)
}
