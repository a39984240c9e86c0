//! `ostler model-server --script FILE`: a model for other people's tests, which says what it was asked.

use super::signals::Signals;
use crate::args::ModelServerArgs;
use crate::exit::{Code, Wrong};
use crate::output::model_log;
use anyhow::Result;
use ostler_model_server::{LogEntry, ModelServer, Script};
use ostler_sdk::escaped;
use serde_json::{Value, json};
use std::io::Write;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

/// The end waits no longer than this for responses that the script holds up.
const PATIENCE: Duration = Duration::from_secs(1);

pub fn run(args: &ModelServerArgs) -> Result<Code> {
    let path = args.script.display();
    let source = std::fs::read_to_string(&args.script)
        .map_err(|error| Wrong::Config(format!("cannot read the script {path}: {error}")))?;
    let script =
        Script::from_yaml(&source).map_err(|error| Wrong::Config(format!("{path}: {error}")))?;
    ostler::block_on(async {
        let mut signals = Signals::new()?;
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, args.port));
        let server = ModelServer::start_on(address, script)?;
        let told = Told { quiet: args.quiet, json: args.json };
        if !args.quiet {
            server.follow();
        }
        told.url(&server.url())?;
        let mut log = model_log::Counts::default();
        let code = loop {
            tokio::select! {
                biased;
                caught = signals.next() => break caught,
                entry = server.log_entry(log.entries) => told.entry(&entry, &mut log),
            }
        };
        // What was just answered is told, too.
        server.idle(PATIENCE).await;
        while let Some(entry) = server.logged(log.entries) {
            told.entry(&entry, &mut log);
        }
        told.bill(&model_log::bill(&log, &server.bill()));
        server.shutdown().await;
        Ok(code)
    })?
}

/// Where it is written. Serving continues if nobody reads it any more.
struct Told {
    quiet: bool,
    json: bool,
}

impl Told {
    fn url(&self, url: &str) -> Result<()> {
        let mut out = std::io::stdout().lock();
        match self.json {
            true => writeln!(out, "{}", json!({"type": "listening", "url": url}))?,
            false => writeln!(out, "{url}")?,
        }
        Ok(out.flush()?)
    }

    fn entry(&self, entry: &LogEntry, log: &mut model_log::Counts) {
        log.add(entry);
        let at = ostler::now_text();
        self.line(|| model_log::line(entry, &at), || model_log::as_json(entry, &at));
    }

    fn bill(&self, (line, value): &(String, Value)) {
        self.line(|| line.clone(), || value.clone());
    }

    fn line(&self, text: impl Fn() -> String, value: impl Fn() -> Value) {
        let _ = match (self.quiet, self.json) {
            (true, _) => Ok(()),
            (false, true) => {
                writeln!(std::io::stdout().lock(), "{}", escaped(&value().to_string()))
            }
            (false, false) => writeln!(std::io::stderr().lock(), "{}", text()),
        };
    }
}
