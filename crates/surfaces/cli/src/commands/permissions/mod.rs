//! `ostler permissions …`: what may run here, why, and who said so.

mod batch;
mod explain;
mod list;
mod revocation;
mod tree;
mod trust;

use crate::args::permissions::PermissionsCommand;
use crate::exit::Code;
use anyhow::Result;
use ostler_profile::Environment;
use std::io::Write;

pub fn run(
    init: &ostler::Init,
    environment: &Environment,
    command: &PermissionsCommand,
) -> Result<Code> {
    match command {
        PermissionsCommand::Explain(args) => explain::run(init, environment, args),
        PermissionsCommand::Check(args) => batch::run(args),
        PermissionsCommand::List(args) => list::run(environment, args),
        PermissionsCommand::Revoke(args) => revocation::revoke(environment, &args.rule),
        PermissionsCommand::Trust(args) => trust::run(environment, args),
        PermissionsCommand::Default => {
            print(ostler::config::DEFAULT_PERMISSIONS)?;
            Ok(Code::Done)
        }
    }
}

fn print(text: &str) -> Result<()> {
    let mut out = std::io::stdout().lock();
    out.write_all(text.as_bytes())?;
    Ok(out.flush()?)
}
