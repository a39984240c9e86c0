//! `ostler memory`: what is remembered across sessions.

mod export;
mod setup;

use crate::args::memory::{AddArgs, ForgetArgs, MemoryCommand, SearchArgs};
use crate::exit::{Code, warn};
use crate::output::paint::Paint;
use crate::output::visible_text::visible;
use anyhow::Result;
use ostler::{Memories, Memory, MemoryFact, MemoryStore, Network, Origin, Scope};
use ostler_profile::Environment;
use ostler_sdk::escaped;
use serde_json::json;
use std::io::Write;

pub fn run(environment: &Environment, command: &MemoryCommand) -> Result<Code> {
    let cwd = std::env::current_dir()?.canonicalize()?;
    let home = environment.home()?;
    let memories = ostler::memories(&home, &cwd, environment.embeddings()?, network(environment)?);
    let code = match command {
        MemoryCommand::List(args) => {
            let kind = args.kind.map(Into::into);
            show(&memories.list(kind, args.limit)?, args.json, "Nothing is remembered here yet.")
        }
        MemoryCommand::Search(args) => search(&memories, args),
        MemoryCommand::Add(args) => add(&memories, args),
        MemoryCommand::Forget(args) => forget(&memories, args),
        MemoryCommand::Export(args) => export::run(&memories, args),
        MemoryCommand::Setup(args) => setup::run(environment, &home, &memories, args),
    };
    for notice in memories.notices() {
        warn(&notice);
    }
    code
}

pub fn network(environment: &Environment) -> Result<Network> {
    Ok(Network { proxies: environment.proxies(), ca_file: environment.ca_file()? })
}

fn search(memories: &Memories, args: &SearchArgs) -> Result<Code> {
    let found = memories.search(&args.query, args.limit)?;
    if let Some(note) = &found.note {
        warn(note);
    }
    show(&found.memories, args.json, "Nothing fits.")
}

fn show(all: &[Memory], as_json: bool, nothing: &str) -> Result<Code> {
    let mut out = std::io::stdout().lock();
    if as_json {
        for memory in all {
            writeln!(out, "{}", escaped(&serde_json::to_string(memory)?))?;
        }
        return Ok(Code::Done);
    }
    if all.is_empty() {
        writeln!(out, "{nothing}")?;
    }
    let paint = Paint::for_output();
    for memory in all {
        writeln!(out, "{}", line(memory, paint))?;
    }
    Ok(Code::Done)
}

/// One of a list.
pub fn line(memory: &Memory, paint: Paint) -> String {
    let head = format!("{:<5} {:<10} {}", memory.id, memory.kind.name(), ostler::date(memory.at));
    format!("{}  {}", paint.dim(&head), visible(&memory.text))
}

fn add(memories: &Memories, args: &AddArgs) -> Result<Code> {
    let scope = if args.user { Scope::User } else { Scope::Project };
    let origin = Origin { source: Some("the command line".into()), ..Origin::default() };
    let fact =
        MemoryFact { text: args.text.clone(), kind: args.kind.into(), scope, origin, key: None };
    let kept = memories.add(&fact)?;
    let mut out = std::io::stdout().lock();
    match (args.json, &kept) {
        (true, ostler::KeptMemory::Instead(id, older)) => {
            writeln!(out, "{}", json!({"id": id, "new": true, "in_place_of": older}))?;
        }
        (true, _) => writeln!(out, "{}", json!({"id": kept.id(), "new": kept.is_new()}))?,
        (false, _) => writeln!(out, "{kept}")?,
    }
    Ok(Code::Done)
}

/// Those that are there are forgotten, whatever else was named.
fn forget(memories: &Memories, args: &ForgetArgs) -> Result<Code> {
    let mut code = Code::Done;
    let mut out = std::io::stdout().lock();
    for id in &args.ids {
        let outcome = memories.forget(id);
        match (&outcome, args.json) {
            (_, true) => {
                let why = outcome.as_ref().err().map(ToString::to_string);
                writeln!(
                    out,
                    "{}",
                    escaped(
                        &json!({"id": id, "forgotten": outcome.is_ok(), "why": why}).to_string()
                    )
                )?;
            }
            (Ok(()), false) => writeln!(out, "Forgotten: {}", visible(id))?,
            (Err(error), false) => warn(&error.to_string()),
        }
        if outcome.is_err() {
            code = Code::Failed;
        }
    }
    Ok(code)
}
