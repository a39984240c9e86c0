//! Where spending is recorded, with the totals that several processes share.

use crate::ledger::{Ask, Charged, Grant, Sum};

/// Bound to one session when it is made.
pub trait Ledger: Send + Sync {
    /// Whether any shared sum has a limit. Without one nothing is reserved here.
    fn is_limited(&self) -> bool;

    /// Reserves in every shared sum what the request may cost. Blocks for the disk.
    ///
    /// # Errors
    /// If no answer can be had: the request is then not sent.
    fn reserve(&self, id: &str, agent: &str, ask: &Ask) -> Result<Reserved, LedgerError>;

    /// Gives a reservation back whose request was not sent. Never waits.
    fn release(&self, id: &str);

    /// The shared sums that limit this agent, by name. Blocks for the disk. None that can be read: none.
    fn sums(&self, _agent: &str) -> Vec<(String, Sum)> {
        Vec::new()
    }

    /// What went wrong with it since this was last asked, for a person to read. Blocks for the disk.
    fn trouble(&self) -> Vec<String> {
        Vec::new()
    }

    /// A request is over; its reservation is replaced by what it cost. Never waits: the durable record is the log.
    fn record(&self, charged: Charged);
}

#[derive(Clone, Debug, PartialEq)]
pub struct Reserved {
    pub grant: Grant,
    /// The sum that was too small, in words: "the budget of the day, $5.00".
    pub short: Option<String>,
}

impl Reserved {
    /// Whether something is held now.
    pub fn holds(&self) -> bool {
        matches!(self.grant, Grant::Yes { .. })
    }
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the ledger {path} cannot be used: {why}")]
pub struct LedgerError {
    pub path: String,
    pub why: String,
}

/// Keeps nothing and limits nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoLedger;

impl Ledger for NoLedger {
    fn is_limited(&self) -> bool {
        false
    }

    fn reserve(&self, _: &str, _: &str, ask: &Ask) -> Result<Reserved, LedgerError> {
        let grant = Grant::Yes { output: ask.wanted, amount: ask.amount(ask.wanted) };
        Ok(Reserved { grant, short: None })
    }

    fn release(&self, _: &str) {}

    fn record(&self, _: Charged) {}
}
