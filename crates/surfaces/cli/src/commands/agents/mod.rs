//! `ostler agents`: what the agents of all sessions are doing, from any terminal.

mod definitions;
mod tree;
mod watch;
mod workers;

pub use tree::{lines, table};

use crate::args::agents::AgentsArgs;
use crate::exit::Code;
use anyhow::Result;
use ostler::AgentsView;
use ostler_profile::Environment;
use ostler_sdk::escaped;
use std::io::Write;
use std::path::Path;
use workers::Worker;

pub fn run(environment: &Environment, args: &AgentsArgs) -> Result<Code> {
    if args.definitions {
        return definitions::run(environment, args.json);
    }
    let home = environment.home()?;
    if args.watch {
        return watch::run(environment, &home, args);
    }
    let view = Everybody::now(environment, &home, args.all)?;
    let mut out = std::io::stdout().lock();
    write!(out, "{}", shown(&view, args)?)?;
    out.flush()?;
    Ok(Code::Done)
}

/// The agents of all sessions, and who works on the tasks of this project's board.
#[derive(PartialEq)]
struct Everybody {
    view: AgentsView,
    workers: Vec<Worker>,
}

impl Everybody {
    fn now(environment: &Environment, home: &Path, all: bool) -> Result<Self> {
        let (view, workers) = (ostler::machine_agents(home, all)?, workers::now(environment));
        Ok(Everybody { view, workers })
    }
}

fn shown(all: &Everybody, args: &AgentsArgs) -> Result<String> {
    if args.json {
        let mut value = serde_json::to_value(&all.view)?;
        value["workers"] = all.workers.iter().map(workers::as_json).collect();
        return Ok(escaped(&value.to_string()) + "\n");
    }
    let mut lines = tree::lines(&all.view, args.all);
    lines.extend(all.workers.iter().map(workers::line));
    Ok(lines.join("\n") + "\n")
}
