//! What tools of a session reach besides files and commands: the web, and the person.

use crate::host::Host;
use crate::session_mode::SessionMode;
use crate::session_options::SessionOptions;
use crate::session_web::SessionWeb;
use std::sync::Arc;

pub(crate) struct SessionReach {
    pub(crate) web: Arc<SessionWeb>,
    /// For tools that ask a person; none where nobody can be asked.
    pub(crate) mode: Option<Arc<SessionMode>>,
}

impl SessionReach {
    /// An agent below another one has no mode of its own to leave.
    pub(crate) fn new(host: &Host, options: &SessionOptions, is_below: bool) -> Self {
        let mode = (options.asks_person && !is_below).then(Arc::default);
        SessionReach { web: SessionWeb::new(host, options), mode }
    }
}
