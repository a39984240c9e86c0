//! The scripts that the server runs.

use redis::Script;
use std::sync::Arc;

const COMMON: &str = include_str!("lua/common.lua");
const TASKS: &str = include_str!("lua/tasks.lua");
const MAIL: &str = include_str!("lua/mail.lua");
const OPEN: &str = include_str!("lua/open.lua");

/// One program for the server, known by its hash.
#[derive(Debug)]
pub(crate) struct Program {
    pub(crate) code: String,
    pub(crate) hash: String,
}

impl Program {
    fn new(code: String) -> Arc<Self> {
        let hash = Script::new(&code).get_hash().to_owned();
        Arc::new(Program { code, hash })
    }
}

#[derive(Clone, Debug)]
pub struct Scripts {
    pub(crate) open: Arc<Program>,
    pub(crate) tasks: Arc<Program>,
    pub(crate) mail: Arc<Program>,
}

impl Scripts {
    /// The scripts with one passage replaced: for tests that break a rule, to see that somebody notices.
    ///
    /// None if there is no such passage.
    pub fn with(&self, passage: &str, replacement: &str) -> Option<Scripts> {
        let replaced =
            |program: &Arc<Program>| Program::new(program.code.replace(passage, replacement));
        let is_there = [&self.tasks, &self.mail].iter().any(|one| one.code.contains(passage));
        is_there.then(|| Scripts {
            open: self.open.clone(),
            tasks: replaced(&self.tasks),
            mail: replaced(&self.mail),
        })
    }
}

impl Default for Scripts {
    fn default() -> Self {
        Scripts {
            open: Program::new(OPEN.to_owned()),
            tasks: Program::new(format!("{COMMON}\n{TASKS}")),
            mail: Program::new(format!("{COMMON}\n{MAIL}")),
        }
    }
}
