//! `ostler mcp`: MCP servers of others, and Ostler as one.

mod add;
mod conformance;
mod list;
mod login;
mod remove;
mod serve;
mod stdio;
mod test;

use crate::args::mcp::{McpCommand, McpScope};
use crate::exit::Code;
use anyhow::{Result, anyhow};
use ostler::mcp_servers::ServerConfig;
use ostler_profile::{Environment, Flags, Profile, ServerFile};

pub fn run(init: &ostler::Init, environment: &Environment, command: &McpCommand) -> Result<Code> {
    match command {
        McpCommand::Serve(args) => serve::run(init, environment, args),
        McpCommand::Conformance(args) => conformance::run(init, environment, args),
        McpCommand::Login(args) => login::login(environment, args),
        McpCommand::Logout(args) => login::logout(environment, args),
        McpCommand::Add(args) => add::run(environment, args),
        McpCommand::List { json, config } => {
            list::run(init, environment, config.flags(), None, *json)
        }
        McpCommand::Get { name, json, config } => {
            list::run(init, environment, config.flags(), Some(name), *json)
        }
        McpCommand::Remove { name, scope } => remove::run(environment, name, *scope),
        McpCommand::Test { name, json, config } => {
            test::run(init, environment, config.flags(), name, *json)
        }
    }
}

/// The profile and its servers; what is wrong with some of them is a warning.
fn servers(environment: &Environment, flags: Flags) -> Result<(Profile, Vec<ServerConfig>)> {
    let profile = Profile::load(environment, flags)?;
    profile.notices().iter().for_each(|notice| crate::exit::warn(notice));
    let servers = profile.mcp_servers()?.servers;
    Ok((profile, servers))
}

fn unknown(name: &str) -> anyhow::Error {
    anyhow!("there is no MCP server \"{name}\"; `ostler mcp list` shows them")
}

/// Where servers of a scope are kept.
fn file(profile: &Profile, scope: McpScope) -> ServerFile {
    match scope {
        McpScope::Local => profile.local_servers(),
        McpScope::Project => profile.project_servers(),
        McpScope::User => profile.user_servers(),
    }
}

fn scope_name(scope: McpScope) -> &'static str {
    match scope {
        McpScope::Local => "local",
        McpScope::Project => "project",
        McpScope::User => "user",
    }
}
