//! `ostler permissions trust`: what the files of this project want, and accepting it.

use super::print;
use crate::args::permissions::TrustArgs;
use crate::commands::trust::text;
use crate::exit::{Code, warn};
use anyhow::Result;
use ostler_profile::{Environment, Flags, Profile};
use std::io::IsTerminal;

pub fn run(environment: &Environment, args: &TrustArgs) -> Result<Code> {
    let profile = Profile::load(environment, Flags::default())?;
    let Some(untrusted) = profile.untrusted() else {
        print("The files of this project request nothing that you have not accepted.\n")?;
        return Ok(Code::Done);
    };
    print(&format!("The files of this project request:\n{}", text(&untrusted.files)))?;
    if !args.yes && !said_yes()? {
        warn("nothing was accepted; run `ostler permissions trust --yes` to accept what is shown");
        return Ok(Code::Config);
    }
    profile.trust()?;
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
