//! What fills the window of a session.

use crate::assembly;
use crate::error::Error;
use crate::host::Host;
use crate::log_choice::look;
use crate::session_options::SessionOptions;
use ostler_core::context::report::{Share, report};
use ostler_core::view::View;
use ostler_engine::Agent;
use serde::Serialize;

/// The window and who fills it. Tokens are estimates, calibrated by what the provider last reported.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ContextReport {
    pub model: String,
    pub window: u64,
    /// The next request.
    pub tokens: u64,
    /// Above this, Ostler compacts.
    pub threshold: u64,
    pub messages: usize,
    pub shares: Vec<Share>,
}

/// What fills the window of a session that need not be open here. None means the newest of the directory.
///
/// # Errors
/// If the options cannot be used or there is no such session.
pub fn context_report(
    host: &Host,
    mut options: SessionOptions,
    session: Option<&str>,
) -> Result<ContextReport, Error> {
    // Nothing runs, so nothing needs to be kept.
    options.undo = false;
    let session = assembly::session(host, options, |host, _, cwd| look(host, cwd, session))?;
    Ok(session.context())
}

pub(crate) fn of(agent: &Agent, view: &View) -> ContextReport {
    let model = &agent.choice().primary;
    let (pressure, gauge) = (agent.pressure(view, model), agent.gauge(model));
    let shares =
        report(&agent.system, &agent.tools.current().specs(), view, |bytes| gauge.share(bytes));
    ContextReport {
        model: model.to_string(),
        window: pressure.window,
        tokens: pressure.tokens,
        threshold: pressure.threshold,
        messages: view.items().len(),
        shares,
    }
}
