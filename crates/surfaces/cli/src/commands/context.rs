//! `ostler context`: what fills the window of a session. Reads; asks nobody, and holds up nobody who writes.

use super::local;
use crate::args::{ContextArgs, Format};
use crate::exit::Code;
use anyhow::Result;
use ostler::Provider;
use ostler_profile::{Environment, Profile};

pub fn run(init: &ostler::Init, environment: &Environment, args: &ContextArgs) -> Result<Code> {
    let profile = Profile::load(environment, args.config.flags())?;
    let nobody = ostler::api_key("none", "none");
    let credentials = profile.environment.credentials(&Provider::default()).unwrap_or(nobody);
    let options = profile.options(credentials)?;
    let host = ostler::Host::open(init, options.host)?;
    let report = ostler::context_report(&host, options.session, args.session.as_deref())?;
    local::print(&report, if args.json { Format::Json } else { Format::Text })
}
