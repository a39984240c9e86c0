//! `ostler sandbox run`: a command in the sandbox of an agent's commands.

use crate::args::{ConfigArgs, SandboxCommand, SandboxFlags, SandboxRunArgs};
use crate::environment::Environment;
use crate::exit::{Code, Wrong, warn};
use crate::setup::Setup;
use crate::wire;
use anyhow::Result;
use std::io::Write;

pub fn run(
    init: &ostler::Init,
    environment: &Environment,
    command: &SandboxCommand,
) -> Result<Code> {
    let SandboxCommand::Run(args) = command;
    let code = run_one(init, environment, args)?;
    // The command's own code, which need not be one of ours.
    std::process::exit(code)
}

fn run_one(init: &ostler::Init, environment: &Environment, args: &SandboxRunArgs) -> Result<i32> {
    let setup = Setup::load(environment, &ConfigArgs::default())?;
    for notice in setup.notices() {
        warn(&notice);
    }
    let flags = SandboxFlags { network: args.network, ..SandboxFlags::default() };
    let options = wire::sandbox(&setup.loaded.sandbox, &flags);
    let mut workspace = setup.workspace();
    for folder in &args.add_dir {
        let real = folder.canonicalize().ok().filter(|real| real.is_dir());
        let wrong = || Wrong::Config(format!("--add-dir: no such directory: {}", folder.display()));
        workspace.roots.push(real.ok_or_else(wrong)?);
    }
    let variables = environment.for_commands(&setup.loaded.env);
    let mut out = std::io::stdout();
    let mut show = |bytes: &[u8]| out.write_all(bytes).and_then(|()| out.flush()).is_ok();
    let place = ostler::Sandboxed {
        options,
        workspace,
        policy: &setup.loaded.policy,
        environment: variables,
    };
    ostler::block_on(ostler::run_sandboxed(init, place, &args.words, &mut show, warn))?
        .map_err(Into::into)
}
