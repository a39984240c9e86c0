//! `ostler sandbox run`: a command in the sandbox of an agent's commands.

use crate::args::{SandboxCommand, SandboxRunArgs};
use crate::exit::{Code, Wrong, warn};
use anyhow::Result;
use ostler_profile::{Environment, Flags, Profile};
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
    let flags = Flags { network: args.network, ..Flags::default() };
    let profile = Profile::load(environment, flags)?;
    for notice in profile.notices() {
        warn(&notice);
    }
    let options = profile.sandbox();
    let mut workspace = profile.workspace();
    for folder in &args.add_dir {
        let real = folder.canonicalize().ok().filter(|real| real.is_dir());
        let wrong = || Wrong::Config(format!("--add-dir: no such directory: {}", folder.display()));
        workspace.roots.push(real.ok_or_else(wrong)?);
    }
    let variables = profile.environment.for_commands(&profile.loaded.env);
    let mut out = std::io::stdout();
    let mut show = |bytes: &[u8]| out.write_all(bytes).and_then(|()| out.flush()).is_ok();
    let place = ostler::Sandboxed {
        options,
        workspace,
        policy: &profile.loaded.policy,
        environment: variables,
        access: None,
    };
    ostler::block_on(ostler::run_sandboxed(init, place, &args.words, &mut show, warn))?
        .map_err(Into::into)
}
