//! Which board a session uses, and for what.

use std::path::PathBuf;
use std::time::Duration;

#[derive(Clone)]
pub struct BoardOptions {
    pub place: BoardPlace,
    /// The project whose board it is; none: the working directory.
    pub project: Option<PathBuf>,
    /// The model has the tools for the board, also without a team. A session with a team always has them.
    pub tools: bool,
    /// How long a claim outlives a process that dies. While the process lives, it renews its claims.
    pub lease: Duration,
}

impl Default for BoardOptions {
    fn default() -> Self {
        let (place, lease) = (BoardPlace::Project, Duration::from_secs(120));
        BoardOptions { place, project: None, tools: false, lease }
    }
}

#[derive(Clone, Default, PartialEq, Eq)]
pub enum BoardPlace {
    /// The project's file in our state directory.
    #[default]
    Project,
    File(PathBuf),
    /// A Redis server. The address may contain a password, so it is never shown.
    Server {
        url: String,
        /// If the server cannot be used at the start of the session, the project's file takes its place, with a warning.
        falls_back: bool,
    },
}
