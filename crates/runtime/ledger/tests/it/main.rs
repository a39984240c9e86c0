//! The ledger on a real file, with real engines, processes and the model server's bill.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod bill;
mod crowd;
mod index;
mod leases;
mod reports;
mod sharing;
mod support;
mod trouble;
