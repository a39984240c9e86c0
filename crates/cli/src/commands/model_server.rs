//! `ostler model-server --script FILE`: a model for other people's tests.

use crate::args::ModelServerArgs;
use crate::exit::{Code, Wrong};
use anyhow::Result;
use ostler_model_server::{ModelServer, Script};
use std::io::Write;
use std::net::{Ipv4Addr, SocketAddr};
use tokio::signal::unix::{SignalKind, signal};

pub fn run(args: &ModelServerArgs) -> Result<Code> {
    let path = args.script.display();
    let source = std::fs::read_to_string(&args.script)
        .map_err(|error| Wrong::Config(format!("cannot read the script {path}: {error}")))?;
    let script =
        Script::from_yaml(&source).map_err(|error| Wrong::Config(format!("{path}: {error}")))?;
    ostler::block_on(async {
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, args.port));
        let server = ModelServer::start_on(address, script)?;
        let mut out = std::io::stdout().lock();
        writeln!(out, "{}", server.url())?;
        out.flush()?;
        drop(out);
        let (mut int, mut term) =
            (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
        let code = tokio::select! {
            _ = int.recv() => Code::Interrupted,
            _ = term.recv() => Code::Terminated,
        };
        server.shutdown().await;
        Ok(code)
    })?
}
