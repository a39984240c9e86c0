//! Why a server cannot be used, in a line that names what to do.

use ostler_core::ports::NeedsAuth;

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ServerError {
    #[error("{0}")]
    Start(String),
    #[error("it did not answer within {0} s")]
    Silent(u64),
    #[error("it does not speak the protocol: {0}")]
    Protocol(String),
    /// Nothing that can be read came back.
    #[error("{0}")]
    Unreachable(String),
    #[error("it ended{0}")]
    Ended(String),
    #[error("it exited too often; reconnect it to try again")]
    GivenUp,
    #[error("the call was not answered within {0} s and was cancelled")]
    CallSilent(u64),
    #[error("it answers with an error: {0}")]
    Refused(String),
    #[error(transparent)]
    NeedsAuth(#[from] NeedsAuth),
    #[error("it is switched off")]
    Disabled,
    #[error("it failed a short time ago and is not started yet; reconnect it to try now: {0}")]
    Resting(String),
}

impl ServerError {
    /// Another attempt right away would cost time and most likely fail as well.
    pub(crate) fn is_costly(&self) -> bool {
        matches!(
            self,
            ServerError::Silent(_)
                | ServerError::Protocol(_)
                | ServerError::Unreachable(_)
                | ServerError::Ended(_)
        )
    }

    /// What a stranger said, in one bounded line.
    pub(crate) fn quoted(text: &str) -> String {
        const MOST: usize = 500;
        let shown: String =
            text.chars().map(|c| if c.is_control() { ' ' } else { c }).take(MOST).collect();
        let more = if text.chars().nth(MOST).is_some() { "…" } else { "" };
        format!("{}{more}", shown.trim())
    }
}
