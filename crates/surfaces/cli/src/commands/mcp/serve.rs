//! `ostler mcp serve`: Ostler's tools, and a whole agent, for MCP clients.

use super::stdio;
use crate::args::mcp_serve::ServeArgs;
use crate::commands::signals::Signals;
use crate::commands::{no_key, trust};
use crate::exit::{Code, Wrong, warn};
use crate::output::printer;
use anyhow::Result;
use ostler::{Credentials, Host};
use ostler_mcp_server::{
    AgentOptions, DEPTH_VARIABLE, Depth, HttpOptions, MOST_DEPTH, OstlerServer, ServerOptions,
    Token, serve_http, serve_stream,
};
use ostler_profile::{Access, Environment};
use std::io::Read;
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

/// Bytes of a file with a token.
const LONGEST_TOKEN: u64 = 4096;

pub fn run(init: &ostler::Init, environment: &Environment, args: &ServeArgs) -> Result<Code> {
    let depth = Depth::of_variable(environment.text(DEPTH_VARIABLE).as_deref());
    if args.agent && !depth.has_room() {
        return Err(too_deep().into());
    }
    let token = args.token_file.as_deref().map(token_of).transpose()?;
    let profile = trust::begin_with(environment, args.flags(), args.trust)?;
    let credentials = match profile.access()? {
        Access::Given(credentials) => credentials,
        Access::Missing(provider) if args.agent => return Ok(no_key::explain(&provider)),
        // Tools need no model.
        Access::Missing(_) => Credentials::none(),
    };
    let options = profile.options(credentials)?;
    profile.news().iter().for_each(|notice| warn(notice));
    ostler::block_on(async {
        let host = Host::open(init, options.host)?;
        let agent = args.agent.then(|| AgentOptions { session: options.session.clone() });
        let session = options.session;
        let server = OstlerServer::open(&host, ServerOptions { session, agent, depth })?;
        let mut signals = Signals::new()?;
        let stop = CancellationToken::new();
        let serving = async {
            match args.http {
                Some(address) => http(&server, address, args, token, stop.clone()).await,
                None => pipe(&server, stop.clone()).await,
            }
        };
        tokio::pin!(serving);
        let code = tokio::select! {
            biased;
            code = signals.next() => {
                stop.cancel();
                serving.await.map(|()| code)
            }
            served = &mut serving => served.map(|()| Code::Done),
        };
        server.close().await;
        host.close().await;
        Ok(signals.end(code).await)
    })?
}

async fn pipe(server: &OstlerServer, stop: CancellationToken) -> Result<()> {
    let (read, write, writing) = stdio::streams()?;
    let served = serve_stream(server.clone(), read, write, stop).await;
    writing.end().await;
    served.map_err(|why| anyhow::anyhow!("the client does not speak MCP: {why}"))
}

async fn http(
    server: &OstlerServer,
    address: SocketAddr,
    args: &ServeArgs,
    token: Option<Token>,
    stop: CancellationToken,
) -> Result<()> {
    let listener = TcpListener::bind(address)
        .await
        .map_err(|error| Wrong::Config(format!("cannot listen on {address}: {error}")))?;
    let address = listener.local_addr()?;
    if !address.ip().is_loopback() {
        warn(&format!(
            "{address} can be reached from other machines, and HTTP is not encrypted: put a TLS proxy in front of it"
        ));
    }
    printer::print(&format!("http://{address}/mcp\n"))?;
    let token = match token {
        Some(token) => token,
        None => {
            let (token, text) = Token::random();
            printer::print(&format!("Authorization: Bearer {text}\n"))?;
            token
        }
    };
    let (hosts, origins) = (args.allow_host.clone(), args.allow_origin.clone());
    let options = HttpOptions { token: Some(token), hosts, origins };
    Ok(serve_http(listener, server.clone(), options, stop).await?)
}

fn too_deep() -> Wrong {
    Wrong::Config(format!(
        "agents that serve each other over MCP can be {MOST_DEPTH} levels deep ({DEPTH_VARIABLE}); leave out --agent here"
    ))
}

/// A secret that others can read is none.
fn token_of(path: &Path) -> Result<Token, Wrong> {
    let wrong = |why: &dyn std::fmt::Display| {
        Wrong::Config(format!("cannot use the token file {}: {why}", path.display()))
    };
    let file = std::fs::File::open(path).map_err(|error| wrong(&error))?;
    let mode = file.metadata().map_err(|error| wrong(&error))?.permissions().mode();
    if mode & 0o077 != 0 {
        return Err(wrong(&format!(
            "other users can access it; run: chmod 600 {}",
            path.display()
        )));
    }
    let mut text = String::new();
    file.take(LONGEST_TOKEN).read_to_string(&mut text).map_err(|error| wrong(&error))?;
    Token::given(&text).map_err(|why| wrong(&why))
}
