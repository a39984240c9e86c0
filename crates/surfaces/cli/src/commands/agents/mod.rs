//! `ostler agents`: what the agents of all sessions are doing, from any terminal.

mod definitions;
mod tree;
mod watch;

pub use tree::{lines, table};

use crate::args::agents::AgentsArgs;
use crate::exit::Code;
use anyhow::Result;
use ostler::AgentsView;
use ostler_profile::Environment;
use ostler_sdk::escaped;
use std::io::Write;

pub fn run(environment: &Environment, args: &AgentsArgs) -> Result<Code> {
    if args.definitions {
        return definitions::run(environment, args.json);
    }
    let home = environment.home()?;
    if args.watch {
        return watch::run(&home, args);
    }
    let view = ostler::machine_agents(&home, args.all)?;
    let mut out = std::io::stdout().lock();
    write!(out, "{}", shown(&view, args)?)?;
    out.flush()?;
    Ok(Code::Done)
}

fn shown(view: &AgentsView, args: &AgentsArgs) -> Result<String> {
    match args.json {
        true => Ok(escaped(&serde_json::to_string(view)?) + "\n"),
        false => Ok(tree::lines(view, args.all).join("\n") + "\n"),
    }
}
