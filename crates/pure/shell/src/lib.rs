//! Shell text to a small, judged form: a `Script`, or a reason why there is none; and the steps it would take, every
//! command in every position and inside every wrapper, with what it touches. Pure: no process is started, no file is
//! looked at.
//!
//! Invariants
//! - **Unknown is not harmless.** The tables list what is known to be read-only, option by option. A word, option,
//!   redirection or construct that is not in them leaves the step unknown; what the readers reject is a doubt of the
//!   whole text.
//! - **Two readings must agree.** `read` is ours and whole; `second_parser` asks a parser made by others whether it sees the
//!   same commands, words, operators and nesting. Where they differ, the text is opaque to every decision.
//! - **No substitution is skipped.** What a word, an index, an expression or a here-document runs is in the script.
//! - **Bounded in time and memory.** Length and nesting are counted while we read, the other parser's retries before
//!   it runs.
//! - **Limits only tighten**: beyond one, the answer is "opaque", "unknown" or a doubt, never "it only reads".
//!
//! That a step only reads is said of `bash` as it starts for `bash --norc --noprofile -c`, under this contract:
//! - the text is run by that bash, with [`CLEARED_ENV`] removed from its environment, no exported functions
//!   (`BASH_FUNC_*`), no preloaded libraries (`LD_*`) and a `PATH` whose directories the agent cannot write;
//! - with `git: true`, [`GIT_OVERRIDES`] are set and the text runs behind [`GIT_PRELUDE`];
//! - `touches` names files as written. Whether one is inside the workspace, a link, a pipe or a secret is for the gate
//!   to see. A pattern must not match names that begin with `-`;
//! - with `git: true`, the repository that git finds from the step's directory is one the agent may read and is plain: its
//!   configuration has no filters (git runs them when it compares files with the index) and includes nothing. That
//!   takes looking at files, so whoever runs the text sees to it.
//!
//! What remains: filters of the user's own configuration run, and `git diff` may refresh the times kept in the index.
//! So git configuration must be protected against writes, and even commands that only read belong into the sandbox.
//!
//! Deliberately absent: rules and decisions (`core`) and running anything (`exec`).

mod options;
mod read;
mod screen;
mod second_parser;
mod steps;
mod table;

use ostler_policy::script::{Opaque, Script};
pub use steps::{is_harmless_git_setting, steps, steps_of};
pub use table::git::{GIT_OVERRIDES, GIT_PRELUDE};

/// Reads a shell text as bash would, with everything its substitutions run.
///
/// # Errors
/// When the text is no shell, or cannot be read with certainty and within bounds.
pub fn parse(text: &str) -> Result<Script, Opaque> {
    screen::check(text)?;
    read::read(text).map(|reading| reading.script)
}

/// As [`parse`], and a second parser, made by others, reads the same. Decisions are made on this.
///
/// # Errors
/// As [`parse`], and [`Opaque::Ambiguous`] where the two differ.
pub fn agreed(text: &str) -> Result<Script, Opaque> {
    second_parser::agreed(text).map(|reading| reading.script)
}

/// Variables that would change what a command does that is known to be read-only. They must not reach it.
pub const CLEARED_ENV: &[&str] = &[
    "BASH_ENV",
    "ENV",
    "SHELLOPTS",
    "BASHOPTS",
    "POSIXLY_CORRECT",
    "GLOBIGNORE",
    "CDPATH",
    "TEXTDOMAIN",
    "TEXTDOMAINDIR",
    "RIPGREP_CONFIG_PATH",
    "GREP_OPTIONS",
    "TAR_OPTIONS",
    "LESS",
    "LESSOPEN",
    "LESSCLOSE",
    "LESSKEY",
    "LESSKEYIN",
    "LESSKEY_SYSTEM",
    "LESSKEYIN_SYSTEM",
    "LESSKEY_CONTENT",
    "LESSHISTFILE",
    "MORE",
    "GZIP",
    "BZIP",
    "BZIP2",
    "XZ_OPT",
    "XZ_DEFAULTS",
    "UNZIP",
    "UNZIPOPT",
    "ZIPINFO",
    "ZIPINFOOPT",
    "NODE_OPTIONS",
    "GIT_CONFIG_PARAMETERS",
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_EXEC_PATH",
    "GIT_COMMON_DIR",
    "GIT_OBJECT_DIRECTORY",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_EXTERNAL_DIFF",
    "GIT_DIFF_OPTS",
    "GIT_TRACE",
    "GIT_TRACE2",
    "GIT_TRACE2_EVENT",
    "GIT_TRACE2_PERF",
];

#[cfg(test)]
#[path = "table_tests.rs"]
mod table_tests;
