//! Sessions and blobs on files, and the same in memory.
//!
//! ```text
//! <home>/sessions/<project>/<session>.log         one checked line per entry
//!                          /<session>.lock        exists while a process has the session open
//!                          /<session>.torn-<seq>  bytes that were cut off the end of a log
//! <home>/blobs/<2 hex>/<sha256>                   images and old contents of files, of every session
//! <home>/spills/<session>/<sha256>.txt            outputs too long to show, for the model of this session to read
//! <home>/jobs/<session>/<job>/                    a background job: what it is, its output, its end, and a lock while it runs
//! ```
//!
//! Invariants
//! - **One write per entry, no buffer of ours**: after a kill at most the last line is torn.
//! - **What was acknowledged is found again, in order, unchanged**; what cannot be read is reported, never guessed.
//! - **Nothing in the middle of a log is ever rewritten.** Only bytes after the last readable record are cut, and kept.
//! - **One writer per session; readers need no lock.**
//! - **Private**: directories 0700, files 0600, whatever the umask; links, pipes, other users' directories and
//!   directories that others can write to are refused.
//! - **A spill directory contains what one session wrote for itself**; blobs are for this program only.
//!
//! Deliberately absent: the environment, the location of the home directory, the wall clock, random names, async, retention
//! (nothing here deletes a session), an index (a listing reads the logs).

mod blobs;
mod fault;
mod files;
mod first_entry;
mod home_check;
mod images;
mod job_folder;
mod layout;
mod line;
mod listing;
mod lock;
mod log;
mod log_glimpse;
mod log_reader;
mod losses;
mod memory_store;
mod process_mark;
mod repair;
mod scan;
mod session_import;
mod session_search;
mod sessions;
mod state_directory;

pub use blobs::{FileBlobs, snapshot_folder, spill_folder};
pub use fault::{Fault, FaultPlan};
pub use home_check::check_home;
pub use job_folder::{
    FoundJob, JobDescription, JobFolder, JobFolders, UnreadableJob, found_jobs, job_folder,
    kept_end as end_of_kept_job, prune_jobs, unreadable_jobs,
};
pub use layout::project_name;
pub use listing::beginning_of_prompt;
pub use log_glimpse::LogGlimpse;
pub use memory_store::{MemoryBlobs, SessionsInMemory};
pub use process_mark::{ProcessMark, parents, process_mark, process_words};
pub use session_search::{FindError, FoundSession};
pub use sessions::FileStore;
pub use state_directory::check_state_directory;
