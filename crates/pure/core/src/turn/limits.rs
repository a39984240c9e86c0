//! All limits of the loop.

/// Each limit belongs to one reason to continue; there is no shared count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Iterations with tool calls in one turn; none means as many as the model asks for.
    pub max_iterations: Option<u32>,
    /// An answer cut off at the default output limit may be asked again with the higher one.
    /// False when the caller set a limit of its own.
    pub may_escalate: bool,
    pub has_fallback: bool,
    pub max_resumes: u8,
    pub max_stop_blocks: u8,
    pub max_nudges: u8,
    pub max_cut_calls: u8,
    pub max_stream_retries: u8,
    pub max_pauses: u8,
    pub max_empty_retries: u8,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            max_iterations: None,
            may_escalate: true,
            has_fallback: false,
            max_resumes: 3,
            max_stop_blocks: 8,
            max_nudges: 3,
            max_cut_calls: 3,
            max_stream_retries: 3,
            max_pauses: 10,
            max_empty_retries: 1,
        }
    }
}
