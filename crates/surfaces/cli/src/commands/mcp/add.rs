//! `ostler mcp add`.

use super::{file, scope_name};
use crate::args::mcp::{McpAddArgs, McpScope, McpTransport};
use crate::exit::Code;
use anyhow::{Result, anyhow, bail};
use ostler::mcp_servers::{ServerScope, from_json};
use ostler_profile::{Environment, Flags, Profile};
use serde_json::{Map, Value, json};
use std::io::Write;

pub fn run(environment: &Environment, args: &McpAddArgs) -> Result<Code> {
    let profile = Profile::load(environment, Flags::default())?;
    let server = written(args)?;
    // Checked as it will be read; variables may be set elsewhere.
    let text = json!({ "mcpServers": { args.name.clone(): server } }).to_string();
    let read = from_json(&text, ServerScope::User, &|_| Some(String::new()));
    if let Some(fault) = read.faults.first() {
        bail!("{fault}");
    }
    let place = file(&profile, args.scope);
    if place.get(&args.name)?.is_some() {
        let scope = scope_name(args.scope);
        bail!(
            "there is an MCP server \"{}\" in the {scope} scope already; `ostler mcp remove {} --scope {scope}` removes it",
            args.name,
            args.name
        );
    }
    place.set(&args.name, Some(server))?;
    let mut out = std::io::stdout().lock();
    writeln!(out, "Added the MCP server {} to {}.", args.name, place.path().display())?;
    if args.scope == McpScope::Project {
        writeln!(out, "Run `ostler permissions trust` to use it here.")?;
    }
    Ok(Code::Done)
}

fn written(args: &McpAddArgs) -> Result<Value> {
    let is_url = args.target.starts_with("https://") || args.target.starts_with("http://");
    let transport = args.transport.unwrap_or(match is_url {
        true => McpTransport::Http,
        false => McpTransport::Stdio,
    });
    let kind = match transport {
        McpTransport::Stdio => {
            if !args.header.is_empty() {
                bail!("--header is for servers with a URL");
            }
            let env = pairs(&args.env, '=', "--env NAME=VALUE")?;
            return Ok(json!({
                "type": "stdio", "command": args.target, "args": args.args, "env": env,
            }));
        }
        McpTransport::Http => "http",
        McpTransport::Sse => "sse",
    };
    if !args.env.is_empty() || !args.args.is_empty() {
        bail!("a server with a URL has no arguments and no environment");
    }
    let headers = pairs(&args.header, ':', "--header \"NAME: VALUE\"")?;
    Ok(json!({"type": kind, "url": args.target, "headers": headers}))
}

fn pairs(texts: &[String], sign: char, usage: &str) -> Result<Map<String, Value>> {
    let pair = |text: &String| {
        let (name, value) = text
            .split_once(sign)
            .ok_or_else(|| anyhow!("\"{text}\" is not a pair; use {usage}"))?;
        Ok((name.trim().to_owned(), Value::from(value.trim_start())))
    };
    texts.iter().map(pair).collect()
}
