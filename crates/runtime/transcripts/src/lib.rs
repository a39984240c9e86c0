//! Conversations that other coding agents wrote to disk: found, listed, read, and turned into the entries of a new session.
//!
//! ```text
//! <claude home>/projects/<directory, other characters as ->/<uuid>.jsonl    one entry per line, linked by parentUuid
//! <codex home>/sessions/<year>/<month>/<day>/rollout-<time>-<uuid>.jsonl     one item per line
//! <opencode data>/opencode.db, or storage/…                                 sessions, messages and their parts
//! ```
//!
//! Invariants
//! - **A file that another program wrote is only read**: it is opened read-only, never locked, never followed through a link.
//! - **An import is a conversation and nothing else**: no rules, trust, approvals, modes, settings or working directories.
//! - **What cannot be read is counted**, never guessed, and never the end of the import.
//! - **Everything is bounded**: the size of a file, a line, an image, a listing, and the number of entries.
//! - **No path of a transcript is ever opened**: what it says about files stays text.
//!
//! Deliberately absent: the environment, the location of the home directory, the clock.

mod claude;
mod codex;
mod conversation;
mod error;
mod foreign_text;
mod id_prefix;
mod iso_time;
mod json_lines;
mod opencode;
mod opencode_database;
mod opencode_files;
mod step_builder;
mod wire_blocks;

pub use claude::{ClaudeTranscripts, project_directory_name};
pub use codex::CodexTranscripts;
pub use conversation::{Conversation, Program, Step};
pub use error::TranscriptError;
pub use iso_time::{iso_time, parse_iso_time};
pub use opencode::OpencodeTranscripts;

use ostler_core::time::Timestamp;
use std::path::PathBuf;

/// A conversation that can be imported, as a listing shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TranscriptInfo {
    pub program: Program,
    pub id: String,
    /// What a person called it, or its first prompt. It may contain anything.
    pub title: String,
    /// Prompts, answers and results.
    pub messages: u64,
    pub branch: Option<String>,
    /// Where it was begun.
    pub cwd: Option<PathBuf>,
    pub created: Option<Timestamp>,
    pub modified: Timestamp,
    pub bytes: u64,
    pub path: PathBuf,
}
