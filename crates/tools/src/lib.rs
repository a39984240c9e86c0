//! The built-in tools, one file each, and the one door to the disk.
//!
//! Invariants
//! - **Adding a tool is one file and one line** in [`built_in`]; its description is a file under `prompts/tools/`.
//! - **File tools reach the disk only through [`workspace::Files`]**: links are resolved before anything is judged, and
//!   what was judged is what is used: it is opened from the roots' descriptors, and a link on the way is an error.
//!   Pipes and devices are refused without waiting, a file is replaced whole or not at all.
//! - **Nothing is overwritten that the model has not seen as it is now**, all of it if all of it is replaced; an edit
//!   that still fits a file changed meanwhile is made, and the other change told. What was there is kept and recorded
//!   before it is replaced, so that every change can be undone, also after a restart.
//! - **An output says when it is empty, cut or incomplete**, and how to get the rest. Nothing is read, searched or
//!   waited for without a bound.
//! - **A wrong call is an answer, not a failure**: it names what is wrong and what is expected.
//! - **A command is proved harmless or unknown.** What this crate declares for it never loosens on a guess.
//!
//! Deliberately absent: deciding whether a call may run (`core`), when it runs (`engine`), how a process is started
//! and ended (`exec`), reading our own environment, and following the model's `~` or `$HOME`.

#![allow(
    clippy::result_large_err,
    reason = "an output is the error a model reads; it is made once per call"
)]

mod bash;
mod blocking;
mod built_in;
pub mod confine;
mod edit;
mod first_names;
mod glob;
mod grep;
mod in_use;
mod input;
mod memory;
mod read;
mod recall;
mod revert;
mod schema;
mod search;
mod skill;
mod small_file;
mod tasks;
mod text;
mod todo;
pub mod workspace;
mod write;

pub use bash::{Disk, Keeping};
pub use built_in::{BuiltIn, erase};
pub use in_use::InUse;
use ostler_core::ids::SessionId;
use ostler_core::permission::Policy;
use ostler_core::ports::{MemoryStore, SessionLog, Tool};
use ostler_core::tool::Seen;
use ostler_exec::Executor;
pub use skill::skill_tool;
pub use small_file::{read_small, read_small_text};
use std::ffi::OsString;
use std::path::Path;
use std::sync::Arc;
use workspace::Files;

/// Whether the content of a file may be shown unasked. The path is absolute and free of links.
type Readable = Arc<dyn Fn(&Path) -> bool + Send + Sync>;

/// What the tools of one agent share.
#[derive(Clone)]
pub struct Setup {
    pub files: Arc<Files>,
    pub executor: Executor,
    /// The complete environment of commands, already freed of what they must not see.
    pub environment: Vec<(OsString, OsString)>,
    /// What a search must not show, and what commands must not be taken to read.
    pub policy: Arc<Policy>,
    /// How commands are held.
    pub confinement: Arc<confine::Confinement>,
    /// How the folders are kept before a command may change them.
    pub keeping: Keeping,
}

/// The names of all built-in tools.
pub const NAMES: [&str; 15] = ostler_core::permission::tool_names::OURS;

/// The tool for notes, where there is a memory. It belongs into the list of the others, by its name.
pub fn memory(store: Arc<dyn MemoryStore>, session: SessionId) -> Arc<dyn Tool> {
    erase(memory::Memory { store, session })
}

/// The tool that searches the session itself.
pub fn recall(log: Arc<dyn SessionLog>) -> Arc<dyn Tool> {
    erase(recall::Recall { log })
}

/// What is said of the files that the model works with. `seen` is what the session's log knows.
pub fn in_use(files: Arc<Files>, policy: Arc<Policy>, seen: &[Seen]) -> Arc<InUse> {
    let workspace = files.workspace().clone();
    let readable: Readable = Arc::new(move |path| policy.may_show(path, &workspace));
    Arc::new(InUse::new(files, readable, seen))
}

/// All built-in tools that need nothing else, sorted by name; [`skill_tool`], [`memory`] and [`recall`] are made apart.
pub fn built_in(setup: Setup) -> Vec<Arc<dyn Tool>> {
    let Setup { files, executor, environment, policy, confinement, keeping } = setup;
    let (rules, workspace) = (Arc::clone(&policy), files.workspace().clone());
    let (names, at) = (Arc::clone(&confinement), Arc::clone(&files));
    let readable: Readable =
        Arc::new(move |path| rules.may_show(path, &workspace) && !names.may_be_unreadable(path));
    let named = |tool| first_names::judged_by_first_name(tool, &confinement);
    let bash =
        bash::Bash::new(at, executor, environment, policy, Arc::clone(&confinement), keeping);
    vec![
        erase(bash),
        named(erase(edit::Edit { files: Arc::clone(&files) })),
        erase(glob::Glob { files: Arc::clone(&files) }),
        named(erase(grep::Grep { files: Arc::clone(&files), readable })),
        named(erase(read::Read { files: Arc::clone(&files) })),
        named(erase(revert::Revert { files: Arc::clone(&files) })),
        erase(tasks::TaskCreate),
        erase(tasks::TaskGet),
        erase(tasks::TaskList),
        erase(tasks::TaskUpdate),
        erase(todo::TodoWrite),
        named(erase(write::Write { files })),
    ]
}
