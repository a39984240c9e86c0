//! `ostler permissions trust`: what the files of this project want, and accepting it.

use super::print;
use crate::args::ConfigArgs;
use crate::args::permissions::TrustArgs;
use crate::commands::trust::text;
use crate::environment::Environment;
use crate::exit::{Code, warn};
use crate::setup::Setup;
use anyhow::Result;
use std::io::IsTerminal;

pub fn run(environment: &Environment, args: &TrustArgs) -> Result<Code> {
    let setup = Setup::load(environment, &ConfigArgs::default())?;
    let Some(untrusted) = &setup.loaded.untrusted else {
        print("The files of this project request nothing that you have not accepted.\n")?;
        return Ok(Code::Done);
    };
    print(&format!("The files of this project request:\n{}", text(&untrusted.files)))?;
    if !args.yes && !said_yes()? {
        warn("nothing was accepted; run `ostler permissions trust --yes` to accept what is shown");
        return Ok(Code::Config);
    }
    setup.trust()?;
    print("Accepted until it changes.\n")?;
    Ok(Code::Done)
}

/// Only a terminal can be asked.
fn said_yes() -> Result<bool> {
    if !std::io::stdin().is_terminal() {
        return Ok(false);
    }
    print("Accept this? [t]rust / [n]o: ")?;
    let mut answer = String::new();
    std::io::stdin().read_line(&mut answer)?;
    Ok(matches!(answer.trim().to_ascii_lowercase().as_str(), "t" | "trust"))
}
