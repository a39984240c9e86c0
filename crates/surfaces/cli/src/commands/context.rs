//! `ostler context`: what fills the window of a session. Reads; asks nobody, and holds up nobody who writes.

use super::local;
use crate::args::{ContextArgs, Format, RunArgs};
use crate::environment::Environment;
use crate::exit::Code;
use crate::setup::Setup;
use crate::wire;
use anyhow::Result;
use clap::Parser;
use ostler::Provider;

#[derive(Parser)]
struct Nothing {
    #[command(flatten)]
    run: RunArgs,
}

pub fn run(init: &ostler::Init, environment: &Environment, args: &ContextArgs) -> Result<Code> {
    let setup = Setup::load(environment, &args.config)?;
    let environment = &environment.with_defaults(&setup.loaded.own_env);
    let nobody = ostler::api_key("none", "none");
    let credentials = environment.credentials(&Provider::default()).unwrap_or(nobody);
    let run = Nothing::parse_from(["ostler"]).run;
    let options = wire::options(&run, environment, &setup, credentials, None)?;
    let report = ostler::context_report(init, options, args.session.as_deref())?;
    local::print(&report, if args.json { Format::Json } else { Format::Text })
}
