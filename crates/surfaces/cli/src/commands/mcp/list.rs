//! `ostler mcp list` and `ostler mcp get`: nothing is started.

use super::{servers, unknown};
use crate::exit::Code;
use crate::output::visible_text::visible;
use anyhow::Result;
use ostler::mcp_servers::ServerStatus;
use ostler::{Host, Options};
use ostler_profile::{Environment, Flags};
use ostler_sdk::escaped;
use std::io::Write;

pub fn run(
    init: &ostler::Init,
    environment: &Environment,
    flags: Flags,
    only: Option<&str>,
    json: bool,
) -> Result<Code> {
    let (profile, configs) = servers(environment, flags)?;
    let mut options = Options::new(profile.places.cwd.clone(), ostler::api_key("none", ""));
    options.host.home = Some(profile.places.ostler_home.clone());
    options.session.environment = profile.environment.for_commands(&profile.loaded.env);
    options.session.mcp.servers = configs;
    let host = Host::open(init, options.host)?;
    let mut all = ostler::known_mcp(&host, &options.session)?;
    if let Some(name) = only {
        all.retain(|server| server.name == name);
        if all.is_empty() {
            return Err(unknown(name));
        }
    }
    let mut out = std::io::stdout().lock();
    if all.is_empty() && !json {
        writeln!(out, "No MCP servers are configured. Add one with `ostler mcp add`.")?;
    }
    for server in &all {
        match (json, only) {
            (true, _) => writeln!(out, "{}", escaped(&serde_json::to_string(server)?))?,
            (false, None) => writeln!(out, "{}", line(server))?,
            (false, Some(_)) => writeln!(out, "{}", page(server))?,
        }
    }
    Ok(Code::Done)
}

pub(super) fn target(server: &ServerStatus) -> String {
    let field = |name: &str| server.config.get(name).and_then(|value| value.as_str());
    if let Some(url) = field("url") {
        return visible(url);
    }
    let args = server.config.get("args").and_then(|args| args.as_array());
    let args = args.into_iter().flatten().filter_map(|arg| arg.as_str());
    let words: Vec<&str> = field("command").into_iter().chain(args).collect();
    visible(&words.join(" "))
}

fn line(server: &ServerStatus) -> String {
    let known = match server.tools.len() {
        0 => "not asked yet".to_owned(),
        1 => "1 tool".to_owned(),
        count => format!("{count} tools"),
    };
    format!("{}  {}  {known}  {}", server.name, server.scope, target(server))
}

/// Everything about one server.
pub(super) fn page(server: &ServerStatus) -> String {
    let mut text =
        format!("{}\n  scope: {}\n  runs: {}", server.name, server.scope, target(server));
    if let Some((name, version)) = &server.server_info {
        text += &format!("\n  server: {} {}", visible(name), visible(version));
    }
    if let Some(error) = &server.error {
        text += &format!("\n  error: {}", visible(error));
    }
    if server.tools.is_empty() {
        return text + "\n  tools: not known; `ostler mcp test` asks the server";
    }
    for tool in &server.tools {
        let first = tool.description.lines().next().unwrap_or_default();
        text += &format!("\n  {}: {}", visible(&tool.name), visible(first));
    }
    text
}
