//! One turn as a value that pure functions advance.

mod limits;
mod machine;
mod reason;
mod state;

pub use limits::Limits;
pub use machine::{
    Advance, Fact, Outcome, PrepareError, SampleEnd, Step, StopVerdict, ToolsEnd, advance, next,
};
pub use reason::{Continue, Terminal};
pub use state::{Phase, Recovery, State};
