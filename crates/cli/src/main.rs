//! The program `ostler`: arguments, environment, wiring, exit codes.
//!
//! The only part of the product that reads the environment, the home folder and the terminal.

mod args;
mod commands;
mod environment;
mod exit;
mod output;
mod wire;

use clap::Parser;
use std::process::ExitCode;

fn main() -> ExitCode {
    // First: in the supervisor's copy of this program this does not return.
    let init = ostler::init();
    std::panic::set_hook(Box::new(exit::report_panic));
    let args = args::Args::parse();
    match std::panic::catch_unwind(|| commands::run(&init, args)) {
        Ok(Ok(code)) => code.into(),
        Ok(Err(error)) => exit::report(&error).into(),
        Err(_) => exit::Code::Internal.into(),
    }
}
