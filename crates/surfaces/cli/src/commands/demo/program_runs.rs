//! Runs of the program itself, as a person starts them: shown as they happen, and killed where the story says so.

use super::place::Place;
use super::stage::{Call, Stage, Stopped, Turn};
use anyhow::{Context, Result, bail};
use ostler::{ProgramEnd, ProgramRun, run_program};
use ostler_model_server::ReplyGate;
use ostler_profile::Environment;
use serde_json::Value;
use std::ffi::OsString;
use std::path::PathBuf;
use tokio::sync::mpsc;

/// What a session of the story may do without asking.
pub const ALLOWED: [&str; 2] = ["--allowedTools", "Bash,Edit(./**),BoardAdd,BoardNext,BoardUpdate"];

pub struct ProgramRuns<'a> {
    init: &'a ostler::Init,
    program: PathBuf,
    project: PathBuf,
    environment: Vec<(OsString, OsString)>,
}

/// Where a run ends.
#[derive(Clone, Copy)]
pub enum Until<'a> {
    Finished,
    /// Killed with SIGKILL when a request has come to this gate, which never opens.
    KilledAt(&'a ReplyGate),
}

impl<'a> ProgramRuns<'a> {
    pub fn new(
        init: &'a ostler::Init,
        environment: &Environment,
        place: &Place,
        url: String,
    ) -> Result<Self> {
        let mut own = vec![
            ("HOME".to_owned(), place.folder().as_os_str().to_owned()),
            ("OSTLER_HOME".to_owned(), place.home().into_os_string()),
        ];
        // The scripted model takes the place of the usual provider.
        let provider = ostler::Provider::default();
        own.extend(provider.base_url_env.map(|name| (name, url.into())));
        own.extend(provider.api_key_env.into_iter().map(|name| (name, "scripted".into())));
        own.extend(provider.model_env.map(|name| (name, "scripted-demo".into())));
        let mut all = environment.for_commands(&[]);
        all.retain(|(name, _)| own.iter().all(|(own, _)| name.to_str() != Some(own)));
        all.extend(own.into_iter().map(|(name, value)| (name.into(), value)));
        let program = std::env::current_exe().context("finding this program")?;
        Ok(ProgramRuns { init, program, project: place.project.clone(), environment: all })
    }

    pub fn with(mut self, name: &str, value: &str) -> Self {
        self.environment.push((name.into(), value.into()));
        self
    }

    /// One run of a session, with everything it does on the screen.
    pub async fn session(
        &self,
        stage: &mut Stage,
        words: &[&str],
        until: Until<'_>,
    ) -> Result<Turn> {
        stage.command(words)?;
        let format = ["--output-format", "stream-json", "--verbose"];
        let all: Vec<&str> = words.iter().chain(&ALLOWED).chain(&format).copied().collect();
        let mut seen = SeenFrames::default();
        let run = (self.run(&all, false), until);
        let end = self.shown(stage, run, |stage, line| seen.frame(stage, line)).await?;
        stage.screen.end_line()?;
        match (until, end.code) {
            (Until::Finished, Some(0)) | (Until::KilledAt(_), None) => Ok(seen.turn),
            (_, code) => bail!("ostler ended with {code:?}: {}", end.errors.trim()),
        }
    }

    /// A command of the program, with its lines on the screen. Its exit code.
    pub async fn command(&self, stage: &mut Stage, words: &[&str]) -> Result<i32> {
        stage.command(words)?;
        let run = (self.run(words, true), Until::Finished);
        let end = self.shown(stage, run, |stage, line| stage.tell(line)).await?;
        end.code.context("a signal ended the command")
    }

    /// What a command says with `--json`, without anything on the screen.
    pub async fn json(&self, words: &[&str]) -> Result<Value> {
        let mut text = Vec::new();
        let words: Vec<&str> = words.iter().chain(&["--json"]).copied().collect();
        let run = self.run(&words, false);
        let never = std::future::pending();
        let end = run_program(self.init, run, |part| text.extend_from_slice(part), never).await?;
        let read = serde_json::from_slice(&text);
        read.with_context(|| format!("reading what `ostler {words:?}` prints: {}", end.errors))
    }

    fn run(&self, words: &[&str], joined: bool) -> ProgramRun {
        ProgramRun {
            words: (self.program.clone(), words.iter().map(ToString::to_string).collect()),
            folder: self.project.clone(),
            environment: self.environment.clone(),
            joined,
        }
    }

    async fn shown(
        &self,
        stage: &mut Stage,
        (run, until): (ProgramRun, Until<'_>),
        mut show: impl FnMut(&mut Stage, &str) -> Result<()>,
    ) -> Result<ProgramEnd> {
        let (lines, mut coming) = mpsc::unbounded_channel();
        let mut rest = Vec::new();
        let output = move |part: &[u8]| {
            rest.extend_from_slice(part);
            while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = rest.drain(..=end).collect();
                let _ = lines.send(String::from_utf8_lossy(&line).trim_end().to_owned());
            }
        };
        let kill = async {
            match until {
                Until::Finished => std::future::pending().await,
                Until::KilledAt(gate) => gate.reached().await.unwrap_or_default(),
            }
        };
        let ran = run_program(self.init, run, output, kill);
        tokio::pin!(ran);
        let end = loop {
            tokio::select! {
                biased;
                Some(line) = coming.recv() => show(stage, &line)?,
                end = &mut ran => break end?,
                code = stage.signals.next() => bail!(Stopped(code)),
            }
        };
        while let Ok(line) = coming.try_recv() {
            show(stage, &line)?;
        }
        Ok(end)
    }
}

/// What the frames of a run said so far.
#[derive(Default)]
struct SeenFrames {
    turn: Turn,
    /// Calls without their results: id and tool.
    open: Vec<(String, String)>,
}

impl SeenFrames {
    fn frame(&mut self, stage: &mut Stage, line: &str) -> Result<()> {
        let frame: Value = serde_json::from_str(line).context("a frame that is no JSON")?;
        let agent = frame["agent"].as_str();
        let blocks = frame["message"]["content"].as_array().cloned().unwrap_or_default();
        match (frame["type"].as_str(), agent) {
            (Some("assistant"), None) => {
                blocks.iter().try_for_each(|block| self.said(stage, block))
            }
            (Some("assistant"), Some(agent)) => blocks.iter().try_for_each(|block| {
                let path = agent.trim_start_matches('/');
                match block["name"].as_str() {
                    Some(tool) => stage.screen.note(&format!("  {path}: {tool}")),
                    None => Ok(()),
                }
            }),
            (Some("user"), None) => {
                blocks.iter().for_each(|block| self.answered(block));
                Ok(())
            }
            (Some("system"), _) if frame["subtype"] == "informational" => {
                stage.screen.note(frame["content"].as_str().unwrap_or_default())
            }
            (Some("result"), _) => {
                self.turn.said = frame["result"].as_str().unwrap_or_default().to_owned();
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn said(&mut self, stage: &mut Stage, block: &Value) -> Result<()> {
        let word = |key: &str| block[key].as_str().unwrap_or_default().to_owned();
        match block["type"].as_str() {
            Some("text") => word("text").lines().try_for_each(|line| stage.screen.line(line)),
            Some("tool_use") => {
                self.open.push((word("id"), word("name")));
                stage.screen.call(&word("name"), &block["input"])
            }
            _ => Ok(()),
        }
    }

    fn answered(&mut self, block: &Value) {
        let Some(at) = self.open.iter().position(|(id, _)| block["tool_use_id"] == id.as_str())
        else {
            return;
        };
        let (_, name) = self.open.swap_remove(at);
        let result = match &block["content"] {
            Value::String(text) => text.clone(),
            parts => {
                let parts = parts.as_array().into_iter().flatten();
                parts.filter_map(|part| part["text"].as_str()).collect::<Vec<_>>().join("\n")
            }
        };
        let failed = block["is_error"] == true;
        self.turn.calls.push(Call { name, result, failed });
    }
}
