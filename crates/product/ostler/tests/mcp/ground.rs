//! Servers of sessions, and what the model was told of them.

use crate::scripted_server::WORD;
use crate::support::{World, finished, until};
use ostler::mcp_servers::{ServerConfig, ServerScope, ServerTransport};
use ostler::{Event, Options, Session, Terminal};
use ostler_model_server::Recorded;
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};

/// A server that behaves as the words say, with a mark in its command line.
pub fn scripted(name: &str, words: &[&str]) -> (ServerConfig, String) {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let mark = format!("mark-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
    let program = std::env::current_exe().unwrap();
    let mut args = vec![WORD.to_owned(), mark.clone()];
    args.extend(words.iter().map(|word| (*word).to_owned()));
    let transport = ServerTransport::Stdio {
        command: program.to_str().unwrap().to_owned(),
        args,
        env: vec![("LISTED".into(), "yes".into())],
        cwd: None,
    };
    (ServerConfig::new(name, transport, ServerScope::User), mark)
}

/// A server that writes down what it is asked, and what is cancelled.
pub fn logged(words: &[&str], log: &Path) -> ServerConfig {
    let (mut config, _) = scripted("files", words);
    // The log is a file of ours.
    config.reach.unconfined = true;
    if let ServerTransport::Stdio { args, .. } = &mut config.transport {
        args.push(format!("log={}", log.display()));
    }
    config
}

/// How often the server wrote this line into its log.
pub fn times(log: &Path, line: &str) -> usize {
    let text = std::fs::read_to_string(log).unwrap_or_default();
    text.lines().filter(|it| *it == line).count()
}

pub fn with_servers(mut options: Options, servers: Vec<ServerConfig>) -> Options {
    options.session.mcp.servers = servers;
    options.session.mcp.first_wait = crate::support::PATIENCE;
    options
}

pub async fn turn(session: &Session, prompt: &str) {
    let end = finished(session.ask(prompt).unwrap()).await;
    assert_eq!(end.terminal, Terminal::Completed, "{prompt}");
}

/// The same, with a look at every event.
pub async fn turn_events(session: &Session, prompt: &str, mut look: impl FnMut(&Event)) {
    let mut driver = session.ask(prompt).unwrap();
    until(&mut driver, |event| {
        look(event);
        matches!(event, Event::Finished(_))
    })
    .await;
}

/// The names in the tool list of a request.
pub fn listed(request: &Recorded) -> Vec<String> {
    let tools = request.json()["tools"].as_array().cloned().unwrap_or_default();
    tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
}

/// What the newest request says about the results of calls, as text.
pub fn results(world: &World) -> String {
    let requests = world.server.requests();
    let last = requests.last().unwrap();
    last.tool_results().iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}
