//! One file per thing the program can do.

mod asker;
mod completions;
mod context;
mod demo;
mod first_run;
mod headless;
mod lines;
mod local;
mod model_server;
mod no_key;
mod permissions;
mod question;
mod repl;
mod sessions;
mod signals;
mod stdin;
mod trust;

pub use asker::Keeper;

use crate::args::{Args, Command};
use crate::environment::Environment;
use crate::exit::Code;
use anyhow::Result;

pub fn run(init: &ostler::Init, args: Args) -> Result<Code> {
    let environment = Environment::read();
    match args.command {
        Some(Command::Demo(demo)) => demo::run(init, &environment, &demo),
        Some(Command::ModelServer(server)) => model_server::run(&server),
        Some(Command::Sessions(list)) => sessions::run(&environment, &list),
        Some(Command::Context(args)) => context::run(init, &environment, &args),
        Some(Command::Permissions(args)) => permissions::run(&environment, &args.command),
        Some(Command::Completions { shell }) => completions::run(shell),
        None if args.run.print => headless::run(init, &environment, &args.run),
        None => repl::run(init, &environment, args.run),
    }
}
