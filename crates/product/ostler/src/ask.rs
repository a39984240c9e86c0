//! One question, one stream.

use crate::driver::Driver;
use crate::error::Error;
use crate::host::Host;
use crate::init::Init;
use crate::input::Prompt;
use crate::options::Options;

/// Opens a session and sends it one prompt. The driver keeps the session alive until it ends or is dropped.
///
/// # Errors
/// If the session cannot be opened.
pub fn ask(init: &Init, options: Options, prompt: impl Into<Prompt>) -> Result<Driver, Error> {
    Host::open(init, options.host)?.session(options.session)?.ask(prompt)
}
