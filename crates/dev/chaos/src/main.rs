//! Disturbs workers at a shared board, and checks afterwards what was recorded: `scripts/chaos`.
//!
//! `ostler-chaos run` makes a board and a repository and starts worker processes, which claim tasks, commit on a branch of
//! the attempt, write to each other and report. Meanwhile it kills and stops workers, restarts the server and cuts the
//! network of a host. Everybody appends facts to a file of its own. At the end the branches of the finished attempts are
//! merged by the merge queue of the product.
//!
//! `ostler-chaos check DIR` is a program of its own: it reads the facts, an export of the board and git's log, and nothing
//! else. It shares no rule with the board.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a program for the terminal")]

mod arguments;
mod board_access;
mod checks;
mod crowd;
mod disturbances;
mod driver;
mod export;
mod facts;
mod git_remote;
mod heartbeat;
mod hosts;
mod merging;
mod plan;
mod random;
mod real_worker;
mod redis_process;
mod repository;
mod worker;

use std::path::Path;
use std::process::ExitCode;

pub const SUPERVISE: &str = "supervise";

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let done = match words.as_slice() {
        [SUPERVISE] => ostler_exec::supervise(),
        ["run", rest @ ..] => arguments::read(rest).and_then(|order| driver::run(&order)),
        ["worker", directory, name, seed, clone] => {
            worker::run(Path::new(directory), name, seed, Path::new(clone))
        }
        ["merge", directory] => merging::run(Path::new(directory)),
        ["check", directory] => checks::run(Path::new(directory)),
        _ => Err(arguments::USAGE.to_owned()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("{why}");
            ExitCode::FAILURE
        }
    }
}
