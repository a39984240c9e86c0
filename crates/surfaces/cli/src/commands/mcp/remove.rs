//! `ostler mcp remove`.

use super::{file, scope_name, unknown};
use crate::args::mcp::McpScope;
use crate::exit::Code;
use anyhow::{Result, bail};
use ostler_profile::{Environment, Flags, Profile};
use std::io::Write;

pub fn run(environment: &Environment, name: &str, scope: Option<McpScope>) -> Result<Code> {
    let profile = Profile::load(environment, Flags::default())?;
    let all = [McpScope::Local, McpScope::Project, McpScope::User];
    let mut found = Vec::new();
    for other in all.into_iter().filter(|other| scope.is_none_or(|scope| scope == *other)) {
        if file(&profile, other).get(name)?.is_some() {
            found.push(other);
        }
    }
    let place = match found.as_slice() {
        [] => return Err(unknown(name)),
        [one] => file(&profile, *one),
        several => {
            let names: Vec<&str> = several.iter().map(|scope| scope_name(*scope)).collect();
            bail!("\"{name}\" is in the scopes {}; choose one with --scope", names.join(", "));
        }
    };
    place.set(name, None)?;
    writeln!(
        std::io::stdout().lock(),
        "Removed the MCP server {name} from {}.",
        place.path().display()
    )?;
    Ok(Code::Done)
}
