//! What can be done to one task after it was added.

use std::time::Duration;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TaskAction {
    /// The lease ends this much later than now.
    Renew {
        fence: u64,
        lease: Duration,
    },
    Finish {
        fence: u64,
        result: Option<String>,
    },
    Fail {
        fence: u64,
        error: String,
    },
    /// Gives the task back: it can be claimed again at once.
    Return {
        fence: u64,
        reason: String,
    },
    /// Makes a failed, parked or cancelled task pending again.
    Retry,
    Cancel {
        reason: Option<String>,
    },
}
