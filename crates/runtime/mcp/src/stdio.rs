//! A server that is a program: its messages are lines of its standard streams.

use crate::channel_transport::Carrier;
use crate::error::ServerError;
use crate::line_reader::{LONGEST_LINE, Line, LineReader};
use ostler_exec::{
    Command, CommandPipes, CommandReport, ExecError, OutputLimits, OutputProgress, Sandbox, Stopper,
};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::io::AsyncWriteExt;
use tokio::net::unix::pipe;
use tokio::sync::{mpsc, watch};
use tokio_util::task::AbortOnDropHandle;

/// How long a server may take to end after its input was closed.
const FAREWELL: Duration = Duration::from_secs(2);

/// Bytes of standard error that are kept.
const KEPT_ERRORS: usize = 4_000;

/// A running program. Dropping it kills the program's group.
pub(crate) struct ServerProgram {
    stopper: Stopper,
    errors: watch::Receiver<OutputProgress>,
    end: Arc<Mutex<Option<String>>>,
    ended: watch::Receiver<bool>,
    sandbox: Option<Arc<Sandbox>>,
    _tasks: Vec<AbortOnDropHandle<()>>,
}

/// The command with what every server program has.
pub(crate) fn prepared(mut command: Command) -> Command {
    command.piped = true;
    command.output = OutputLimits { head: 0, tail: KEPT_ERRORS, sink: u64::MAX, total: u64::MAX };
    command
}

pub(crate) async fn start(
    executor: &ostler_exec::Executor,
    command: Command,
    carrier: Carrier,
) -> Result<ServerProgram, ServerError> {
    let (program, sandbox) = (command.program.clone(), command.sandbox.clone());
    let mut running = executor.spawn(command).await.map_err(|error| {
        ServerError::Start(format!("cannot start {}: {error}", program.display()))
    })?;
    let pipes = running.take_pipes();
    let Some(CommandPipes { input, output }) = pipes else {
        return Err(ServerError::Start("its streams are missing".into()));
    };
    let (stopper, errors) = (running.stopper(), running.progress());
    let end: Arc<Mutex<Option<String>>> = Arc::default();
    let (said, ended) = watch::channel(false);
    let told = end.clone();
    let waiting = async move {
        let report = running.wait().await;
        *told.lock().unwrap_or_else(PoisonError::into_inner) = Some(how_it_ended(report));
        let _ = said.send(true);
    };
    let Carrier { outgoing, incoming } = carrier;
    let tasks = vec![
        task(waiting),
        task(write(outgoing, input)),
        task(read(LineReader::new(output), incoming)),
    ];
    Ok(ServerProgram { stopper, errors, end, ended, sandbox, _tasks: tasks })
}

pub(crate) fn task(work: impl Future<Output = ()> + Send + 'static) -> AbortOnDropHandle<()> {
    AbortOnDropHandle::new(tokio::spawn(work))
}

impl ServerProgram {
    /// The end of what it wrote to standard error, and how it ended.
    pub(crate) async fn last_words(&mut self) -> String {
        // A program that closed its streams usually ends in the same moment.
        let moment = Duration::from_millis(500);
        let _ = tokio::time::timeout(moment, self.ended.wait_for(|ended| *ended)).await;
        let end = self.end.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let errors = ostler_exec::strip_terminal(&self.errors.borrow().text());
        let said = last_lines(&errors);
        let end = end.map(|end| format!(" ({end})")).unwrap_or_default();
        let hidden = self.sandbox.as_ref().and_then(|sandbox| hidden_path(&errors, sandbox));
        let hint = hidden.map(|path| {
            let folder = path.parent().unwrap_or(&path).display();
            format!("; the sandbox hides {folder} from it: add that to allowRead in its sandbox settings")
        });
        let hint = hint.unwrap_or_default();
        match said.is_empty() {
            true => format!("{end}{hint}"),
            false => format!("{end}; its last output: {said}{hint}"),
        }
    }

    /// Ends it as the protocol asks for: its input is closed already, then by signals.
    pub(crate) async fn stop(&mut self) {
        let ended = |ended: &bool| *ended;
        if tokio::time::timeout(FAREWELL, self.ended.wait_for(ended)).await.is_ok() {
            return;
        }
        self.stopper.stop();
        // The ladder of the command kills what does not listen; dropping us does, too.
        let _ = tokio::time::timeout(2 * FAREWELL, self.ended.wait_for(ended)).await;
    }
}

fn how_it_ended(report: Result<CommandReport, ExecError>) -> String {
    match report {
        Ok(report) => report.status.to_string(),
        Err(error) => error.to_string(),
    }
}

/// The last lines with something in them, as one. Before them the last one that names an error, which some programs write
/// above a trace.
fn last_lines(text: &str) -> String {
    const MOST: usize = 3;
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let (before, last) = lines.split_at(lines.len().saturating_sub(MOST));
    let names_error = |line: &&&str| line.contains("Error:") || line.starts_with("error");
    let is_named = last.iter().any(|line| names_error(&line));
    let error = before.iter().rfind(names_error).filter(|_| !is_named);
    let shown: Vec<&str> = error.into_iter().chain(last).copied().collect();
    ServerError::quoted(&shown.join(" | "))
}

/// A file that is named in this text and that the sandbox does not show.
fn hidden_path(text: &str, sandbox: &Sandbox) -> Option<PathBuf> {
    let is_below = |path: &Path, places: &[PathBuf]| places.iter().any(|it| path.starts_with(it));
    let is_hidden = |path: &PathBuf| {
        let real = path.canonicalize().unwrap_or_default();
        let is_shown =
            |path| is_below(path, &sandbox.readable) || is_below(path, &sandbox.writable);
        path.is_absolute() && is_below(&real, &sandbox.homes) && !is_shown(&real)
    };
    let ends_word = |c: char| c.is_whitespace() || "'\"`:,;()[]<>".contains(c);
    text.split(ends_word).map(PathBuf::from).find(is_hidden)
}

async fn write(mut messages: mpsc::Receiver<Value>, mut input: pipe::Sender) {
    while let Some(message) = messages.recv().await {
        let mut line = message.to_string();
        line.push('\n');
        if input.write_all(line.as_bytes()).await.is_err() {
            return;
        }
    }
}

async fn read(mut lines: LineReader<pipe::Receiver>, messages: mpsc::Sender<Value>) {
    loop {
        let message = match lines.next().await {
            Line::Message(message) => message,
            Line::Noise | Line::TooLong(None) => continue,
            Line::TooLong(Some(id)) => unread(id, &too_long()),
            Line::Broken(id) => unread(id, "the answer is nested too deeply or is not JSON"),
            Line::End => return,
        };
        if messages.send(message).await.is_err() {
            return;
        }
    }
}

fn too_long() -> String {
    format!("the answer has more than {} MB and was not read", LONGEST_LINE >> 20)
}

/// What a caller is told instead of an answer that cannot be read.
fn unread(id: u64, why: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "error": {"code": -32000, "message": why}})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_that_names_the_error_is_shown_with_the_last_ones() {
        let node = "node:internal/modules/cjs/loader:1210\n  throw err;\n  ^\n\nError: Cannot find module '/x'\n    at Module._load (node:internal)\n  code: 'MODULE_NOT_FOUND',\n  requireStack: []\n}\n\nNode.js v20\n";
        for (text, expected) in [
            ("", ""),
            ("one\n\n  two  \n", "one | two"),
            ("1\n2\n3\n4\n", "2 | 3 | 4"),
            (node, "Error: Cannot find module '/x' | requireStack: [] | } | Node.js v20"),
            ("Traceback:\n  File x\nKeyError: 'a'\n", "Traceback: | File x | KeyError: 'a'"),
            ("error: first\na\nerror: second\nb\nc\nd\n", "error: second | b | c | d"),
        ] {
            assert_eq!(last_lines(text), expected);
        }
        assert!(last_lines(&"x".repeat(5_000)).chars().count() <= 501);
    }
}
