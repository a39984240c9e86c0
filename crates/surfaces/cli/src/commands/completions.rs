//! `ostler completions bash|zsh|fish|…`

use crate::args::Args;
use crate::exit::Code;
use anyhow::Result;
use clap::CommandFactory;
use std::io::Write;

pub fn run(shell: clap_complete::Shell) -> Result<Code> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Args::command(), "ostler", &mut script);
    std::io::stdout().lock().write_all(&script)?;
    Ok(Code::Done)
}
