//! Tasks and mail that several machines share, in Redis or Valkey: the same traits and rules as in `ostler-board`.
//!
//! Invariants
//! - **Every transition is one script on the server**: nothing sees a part of it, and a connection that breaks leaves
//!   nothing half done. The scripts (`lua/`) contain the rules of `ostler-board` once more; a test performs any sequence of
//!   actions on a board in memory, in SQLite and in Redis and compares every answer.
//! - **Time is the server's.** Machines whose clocks differ agree on when a lease ends.
//! - **A request that got no answer is repeated, and happens once**: the server remembers the last request of each client.
//! - **A board that was lost is noticed**: it has an epoch, and every request names the epoch of the board that was opened.
//! - **All keys of a board are in one hash slot**, so that it works on a cluster. Names in keys are encoded.
//! - **Passwords appear in no message.**
//! - **Nothing grows without a limit**: the same limits as on a file, checked by the server.
//!
//! Deliberately absent: a runtime (calls block, as those of a file do), and a fallback to another store.

mod address;
mod failure;
mod mail_store;
mod overview;
mod redis_board;
mod reply;
mod script;
mod server;
mod task_reply;
mod task_store;
mod watch;

pub use address::Address;
pub use redis_board::{RedisBoard, RedisSetup};
pub use script::Scripts;
