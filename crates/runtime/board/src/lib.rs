//! Tasks and mail that several processes share: what they are, their rules, and a store in one SQLite file. A store in
//! Redis is the crate `ostler-board-redis`.
//!
//! Invariants
//! - **Every transition is decided by [`rules`] or [`mail_rules`]**: pure functions without I/O and clock. The store reads
//!   a state, asks them and writes the answer, in one transaction.
//! - **A claim is a lease with a fence.** Fences only grow. Whoever lost the lease cannot renew, finish or fail the task.
//! - **Tasks whose `touches` overlap are never in progress at the same time**, and a task starts only after everything it
//!   depends on is done.
//! - **No dependency points at nothing, and none comes back to its own task**: such tasks are refused when they are added.
//! - **Mail is delivered at least once and read once**: it is leased, not removed, and acknowledged in the transaction
//!   that records the reply. Mail that cannot be delivered goes back to its sender.
//! - **What was reported as added, finished or sent is synced.** Claims and renewals are not: after a power failure no
//!   worker of this machine is left to hold one.
//! - **Threads that write at the same time share one transaction and one sync** (`group_commit.rs`), each with a savepoint
//!   of its own. Nobody gets an answer before the commit.
//! - **Nothing grows without a limit** ([`Limits`]).
//! - **A damaged file is refused, never replaced**: it is the only record.
//!
//! Deliberately absent: the clock, the place of the file (the caller gives them), and any decision by a model.

pub mod backend;
mod bell;
mod board;
mod board_file;
mod error;
mod group_commit;
mod limits;
mod mail;
mod mail_rows;
pub mod mail_rules;
mod mail_store;
mod mailbox;
mod overview;
mod overview_rows;
pub mod protocol;
mod registry;
pub mod rules;
mod task;
mod task_action;
mod task_changes;
mod task_rows;
mod task_store;
pub mod touches;

pub use bell::{Bell, Ringer, Ticket};
pub use board::{Board, Claimed, TaskList, TaskQuery};
pub use board_file::{BoardFile, Setup};
pub use error::{BoardError, Refusal};
pub use limits::Limits;
pub use mail::{
    AgentChange, Delivery, Lag, Mail, MailId, MailKind, MailQuery, MailReceipt, MailStatus,
    NewMail, Outcome, POSTMASTER,
};
pub use mailbox::{Mailbox, SharedBoard, receive_new};
pub use overview::{
    BoardOverview, DamagedEntry, MINUTE_MS, MOST_SHOWN, MailBacklog, ServerState, TaskCounts,
    Throughput, WorkerClaim,
};
pub use task::{Blocker, HistoryEntry, NewTask, Priority, Status, Task, TaskEvent, TaskId};
pub use task_action::TaskAction;
