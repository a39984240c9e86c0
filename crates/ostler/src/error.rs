//! What can go wrong before a turn begins. What goes wrong in a turn is told by its events.

use ostler_core::permission::RuleError;
use ostler_core::ports::StoreError;
use ostler_store::FindError;
use std::path::PathBuf;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("{path} is not a folder that can be worked in: {why}")]
    Workspace { path: PathBuf, why: String },
    #[error(transparent)]
    Rule(#[from] RuleError),
    #[error("\"{rule}\": the tool is spelled {name}")]
    RuleCase { rule: String, name: String },
    #[error(
        "\"{0}\": a pattern that begins with / is meant from the working folder. Write // for an absolute path"
    )]
    RuleRoot(String),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Find(#[from] FindError),
    #[error("there is no session in this folder to fork")]
    NothingToFork,
    #[error("there is no session in this folder to look at")]
    NothingToLookAt,
    #[error("there is no tool named \"{name}\"; the tools are {known}")]
    UnknownTool { name: String, known: String },
    #[error(
        "a budget needs a price, and none is known for the model \"{0}\". Leave the budget out, or choose another model"
    )]
    NoPrice(String),
    #[error("{0}")]
    Model(String),
    #[error("{0}")]
    Exec(String),
    #[error("the async runtime cannot start: {0}")]
    Runtime(String),
}
