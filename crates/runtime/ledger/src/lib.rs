//! What every request cost, and sums that several processes share, in one SQLite file.
//!
//! Invariants
//! - **The session logs are the record, this is an index**: everything except reservations, open or lost, can be rebuilt from them
//!   ([`rows_of`], [`Db::index`]). A row has the same id in both, so indexing twice changes nothing.
//! - **No request waits for a row**: a separate thread writes rows after the answer. The end of a turn waits a moment, to
//!   report what could not be written.
//! - **One thread and one connection per file and process**: any number of sessions share a [`SharedLedger`].
//! - **Reserved before spent**: a shared sum is read and the reservation written in one transaction, so that any number of
//!   processes together never promise more than is left.
//! - **A reservation outlives its process as spending**: it is a lease, renewed while the request is on its way. One that
//!   expired counts at the reserved amount until the actual cost is known.
//! - **A new file is completed from the logs before its totals are used**; otherwise it would limit nothing.
//! - **A damaged file stops nobody**: it is set aside.
//! - **A session that ended badly is remembered**: its log may contain more than this file.
//! - **Unknown is not zero**: a request of a model without a price has no cost.
//!
//! Deliberately absent: the clock, time zones, the place of the file (the caller gives them), and prices.

mod budget_status;
mod completeness;
mod damaged_file;
mod db;
mod error;
mod file_ledger;
mod ledger_warnings;
mod logs;
mod report;
mod reserve;
mod row;
mod shared_ledger;
mod writer;

pub use budget_status::BudgetStatus;
pub use completeness::Fill;
pub use db::Db;
pub use error::{Error, Trouble};
pub use file_ledger::{FileLedger, LedgerSetup};
pub use logs::rows_of;
pub use report::{CostReport, ReportKey, ReportLine};
pub use reserve::{LEASE_MS, Owner, SharedLimits};
pub use row::{Days, LedgerRow};
pub use shared_ledger::{Binding, SharedLedger};
