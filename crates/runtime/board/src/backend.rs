//! What a store outside of this crate needs: checks that do not depend on the state of a board.

pub use crate::limits::clipped;
pub use crate::mail_store::{check as check_mail, named as check_agent};
pub use crate::registry::Registry;
pub use crate::rules::Objection;
pub use crate::task_changes::{check_batch, has_twins};
