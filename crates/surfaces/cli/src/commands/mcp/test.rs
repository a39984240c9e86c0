//! `ostler mcp test`: starts one server as a session would.

use super::list::page;
use super::{servers, unknown};
use crate::exit::Code;
use anyhow::Result;
use ostler::{Host, Options};
use ostler_profile::{Environment, Flags};
use ostler_sdk::escaped;
use std::io::Write;

pub fn run(
    init: &ostler::Init,
    environment: &Environment,
    flags: Flags,
    name: &str,
    json: bool,
) -> Result<Code> {
    let (profile, mut configs) = servers(environment, flags)?;
    configs.retain(|config| config.name == name);
    if configs.is_empty() {
        return Err(unknown(name));
    }
    let Options { host, session } = profile.options(ostler::api_key("none", ""))?;
    let session = ostler::SessionOptions {
        mcp: ostler::McpOptions { servers: configs, ..session.mcp.clone() },
        ..session
    };
    let host = Host::open(init, host)?;
    let status = ostler::block_on(async {
        let status = ostler::probe_mcp(&host, &session, name).await;
        host.close().await;
        status
    })??;
    let mut out = std::io::stdout().lock();
    match json {
        true => writeln!(out, "{}", escaped(&serde_json::to_string(&status)?))?,
        false => writeln!(out, "{}", page(&status))?,
    }
    Ok(if status.error.is_some() { Code::Failed } else { Code::Done })
}
