//! How a tool changes the permission mode of its session, after a person agreed or to a stricter one.

use crate::permission::Mode;

pub trait ModeSwitch: Send + Sync {
    fn mode(&self) -> Mode;

    /// Recorded, and reported to every surface. Calls that have not started are judged again.
    ///
    /// # Errors
    /// In words, why the mode is what it was.
    fn switch(&self, mode: Mode) -> Result<(), String>;
}
