//! The background jobs of sessions: the table of a session, and what `ostler jobs` sees of all of them.
//!
//! Invariants
//! - **Whether a job runs is what the system says**: the exit that the supervisor reported, or the lock that a living
//!   process holds. Nothing is believed of a process number.
//! - **One notice per job.** The item of the inbox is the record of the end; a job without one is reported when its session
//!   is opened again.
//! - **Jobs die with the process**, and with their session. Only a kept job outlives both: a keeper runs it.
//! - **A kept job is on record before it may outlive us**, and its end is on disk before its lock is free.
//!
//! A kind of job is whatever implements [`JobWork`](ostler_core::ports::JobWork).

mod keeper;
mod kept_jobs;
mod machine_jobs;
mod owed_inspections;
mod stop_requests;
mod table;

pub(crate) use keeper::{ROLE as KEEPER_ROLE, keep_job};
pub use machine_jobs::{
    MachineJob, damaged_jobs, inspect_lost_jobs, machine_jobs, stop_machine_job,
};
pub(crate) use table::JobTable;

use std::time::Duration;

/// What background jobs may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JobOptions {
    /// How long a job runs if its call does not say.
    pub limit: Duration,
    /// How many run at the same time.
    pub most: usize,
    /// The end of a job starts a turn if none runs. Otherwise the next prompt brings the report.
    pub start_turns: bool,
    /// Commands that are started in the background outlive the process, under a supervisor of their own each.
    pub keep: bool,
    /// A command that does not end within the time limit of its call becomes a job, as long as there is room for one.
    /// Otherwise it is ended.
    pub take_late_commands: bool,
}

impl Default for JobOptions {
    fn default() -> Self {
        JobOptions {
            limit: Duration::from_secs(300),
            most: 16,
            start_turns: false,
            keep: false,
            take_late_commands: false,
        }
    }
}
