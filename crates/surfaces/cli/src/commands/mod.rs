//! One file per thing the program can do.

mod agent_sdk;
mod agents;
mod answer;
mod cluster;
mod completions;
mod context;
mod conversation;
pub mod cost;
mod demo;
mod dialog;
mod doctor;
mod events;
mod first_run;
mod headless;
mod hooks;
mod import;
mod jobs;
mod line_output;
mod lines;
mod local;
mod mail;
mod mcp;
mod memory;
mod misspelling;
mod model_server;
mod no_key;
mod permissions;
mod plugin;
mod question;
mod repl;
mod rewind;
mod sandbox;
mod sessions;
mod signals;
mod skills;
mod snapshots;
mod stdin;
mod tasks;
mod trust;
mod typing;
mod undo;
mod undo_list;
mod waiting_line;
mod worker;
mod worktrees;

use crate::args::{Args, Command};
use crate::exit::Code;
use anyhow::Result;
use ostler_profile::Environment;

pub fn run(init: &ostler::Init, args: Args) -> Result<Code> {
    let environment = Environment::read();
    match args.command {
        Some(Command::Demo(demo)) => demo::run(init, &environment, &demo),
        Some(Command::ModelServer(server)) => model_server::run(&server),
        Some(Command::Sessions(list)) => sessions::run(&environment, &list),
        Some(Command::Agents(args)) => agents::run(&environment, &args),
        Some(Command::Jobs(args)) => jobs::run(&environment, &args.command),
        Some(Command::Undo(args)) => undo::run(&environment, &args),
        Some(Command::Rewind(args)) => rewind::run(&environment, &args),
        Some(Command::Snapshots(args)) => snapshots::run(&environment, &args.command),
        Some(Command::Import(args)) => import::run(&environment, &args),
        Some(Command::Skills(args)) => skills::run(&environment, &args.command),
        Some(Command::Plugin(args)) => plugin::run(init, &environment, &args),
        Some(Command::Cost(args)) => cost::run(&environment, &args),
        Some(Command::Memory(args)) => memory::run(&environment, &args.command),
        Some(Command::Tasks(args)) => tasks::run(&environment, &args),
        Some(Command::Worker(args)) => worker::run(init, &environment, &args),
        Some(Command::Mail(args)) => mail::run(&environment, &args),
        Some(Command::Cluster(args)) => cluster::run(&environment, &args),
        Some(Command::Worktrees(args)) => worktrees::run(init, &environment, &args),
        Some(Command::Mcp(args)) => mcp::run(init, &environment, &args.command),
        Some(Command::Context(args)) => context::run(init, &environment, &args),
        Some(Command::Permissions(args)) => permissions::run(init, &environment, &args.command),
        Some(Command::Sandbox(args)) => sandbox::run(init, &environment, &args.command),
        Some(Command::Doctor(args)) => doctor::run(init, &environment, &args),
        Some(Command::Hooks(args)) => hooks::run(init, &environment, &args.command),
        Some(Command::Events(args)) => events::run(&environment, &args.command),
        Some(Command::Completions { shell }) => completions::run(shell),
        None if args.run.sdk.is_piped() => agent_sdk::run(init, &environment, &args.run),
        None if args.run.print => headless::run(init, &environment, &args.run),
        None => {
            misspelling::check(args.run.prompt.as_deref())?;
            repl::run(init, &environment, args.run)
        }
    }
}
