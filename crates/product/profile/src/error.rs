//! Why a session cannot start.

/// One line that says what is wrong and what to do about it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProfileError {
    /// A flag cannot be used.
    #[error("{0}")]
    Usage(String),
    /// A settings file or an environment variable cannot be used.
    #[error("{0}")]
    Config(String),
    /// Others can change the state directory, so nothing in it is read.
    #[error("{0}")]
    State(ostler::StoreError),
}
