//! The transcript of a session on disk, beside Ostler's own log, for programs that list and read sessions. A file that
//! Claude Code wrote is never changed.

use crate::args::RunArgs;
use crate::exit::warn;
use crate::output::printer;
use anyhow::{Context, Result};
use ostler::Session;
use ostler_sdk::agent_sdk::{Transcript, TranscriptPlace, project_folder};
use ostler_sdk::line;
use rustix::fs::OFlags;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// How entries of ours are marked.
const MARK: &str = "\"entrypoint\":\"ostler\"";
/// Bytes of a transcript that are read when a session is resumed.
const MOST: u64 = 256 << 20;

pub struct TranscriptFile {
    transcript: Transcript,
    path: Option<PathBuf>,
    /// None: nothing is written.
    file: Option<File>,
    /// Lines also go to the program.
    mirrors: bool,
    place: Option<TranscriptPlace>,
    /// Those of agents, by the calls that started them.
    agents: HashMap<String, AgentTranscript>,
}

/// Entries of this transcript are ours.
pub fn is_ours(path: &Path) -> bool {
    read(path).is_some_and(|text| text.contains(MARK))
}

/// What is on record of a session, if there is anything.
pub fn on_record(place: &TranscriptPlace) -> Option<Transcript> {
    let mut record = Transcript::new(&place.session, Path::new(""), "", "");
    record.follow(&read(&place.file())?);
    Some(record)
}

impl TranscriptFile {
    /// `is_copy`: the files below `home` are nobody's but ours.
    pub fn open(
        session: &Session,
        args: &RunArgs,
        home: Option<PathBuf>,
        is_copy: bool,
    ) -> Result<Self> {
        let cwd = session.workspace().cwd.clone();
        let id = session.id().as_str();
        let transcript = Transcript::new(id, &cwd, env!("CARGO_PKG_VERSION"), &branch(&cwd));
        let mirrors = args.sdk.session_mirror;
        let mut made = TranscriptFile {
            transcript,
            path: None,
            file: None,
            mirrors,
            place: None,
            agents: HashMap::new(),
        };
        let Some(home) = home.filter(|_| !args.sdk.no_session_persistence) else { return Ok(made) };
        let place = TranscriptPlace { folder: project_folder(&home, &cwd), session: id.to_owned() };
        let path = place.file();
        let had = read(&path);
        if let Some(had) = &had {
            made.transcript.follow(had);
            if !is_copy && !had.contains(MARK) && !had.is_empty() {
                warn(&format!("{} was written by Claude Code; it is not changed", path.display()));
                return Ok(made);
            }
        }
        made.path = Some(path.clone());
        made.place = Some(place.clone());
        let mut file = create(&path)?;
        // A line that was torn when a process died must not swallow the next one.
        if had.as_ref().is_some_and(|had| !had.is_empty() && !had.ends_with('\n')) {
            let torn = || format!("cannot write the transcript {}", path.display());
            file.write_all(b"\n").with_context(torn)?;
        }
        made.file = Some(file);
        if let (None, Some(source)) = (&had, forked_from(session, args, &place)) {
            made.copy(&source);
        }
        Ok(made)
    }

    pub fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    pub fn turn_of(&self, uuid: &str) -> Option<u32> {
        self.transcript.turn_of(uuid)
    }

    pub fn transcript(&self) -> &Transcript {
        &self.transcript
    }

    pub fn rewind(&mut self, turn: u32) {
        self.transcript.rewind(turn);
    }

    /// The message that a turn begins with, or that joined one.
    pub fn prompt(&mut self, content: &Value, uuid: &str, begins_turn: bool) -> Result<()> {
        let at = ostler::now_text();
        let entry = self.transcript.prompt(content, uuid, &at, begins_turn);
        self.write(&[entry])
    }

    pub fn frame(&mut self, frame: &Value) -> Result<()> {
        let at = ostler::now_text();
        match self.transcript.frame(frame, &at) {
            Some(entry) => self.write(&[entry]),
            None => Ok(()),
        }
    }

    /// What an agent was asked, wrote or called; `about` describes the agent.
    pub fn agent_frame(
        &mut self,
        frame: &Value,
        about: impl FnOnce(&str) -> Option<AgentFacts>,
    ) -> Result<()> {
        let Some(call) = frame["parent_tool_use_id"].as_str() else { return Ok(()) };
        if !self.agents.contains_key(call) {
            let Some((place, about)) = self.place.as_ref().zip(about(call)) else { return Ok(()) };
            let made = AgentTranscript::open(place, &self.transcript, call, &about);
            if self.mirrors {
                mirror(&made.path, std::slice::from_ref(&made.description))?;
            }
            self.agents.insert(call.to_owned(), made);
        }
        match self.agents.get_mut(call) {
            Some(agent) => agent.frame(frame, self.mirrors),
            None => Ok(()),
        }
    }

    /// A turn is over.
    pub fn turn_ended(&mut self) -> Result<()> {
        match self.transcript.last_prompt() {
            Some(entry) => self.write(&[entry]),
            None => Ok(()),
        }
    }

    fn write(&mut self, entries: &[Value]) -> Result<()> {
        let Some(path) = self.path.clone() else { return Ok(()) };
        if let Some(file) = &mut self.file {
            let lines: String = entries.iter().map(line).collect();
            if let Err(error) = file.write_all(lines.as_bytes()) {
                // The session itself is in Ostler's own log.
                warn(&format!("cannot write {}: {error}", path.display()));
                self.file = None;
            }
        }
        if self.mirrors {
            mirror(&path, entries)?;
        }
        Ok(())
    }

    /// A fork begins with what was said before.
    fn copy(&mut self, source: &str) {
        self.transcript.follow(source);
        let mut entries = Vec::new();
        for mut entry in source.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok())
        {
            if let Some(fields) = entry.as_object_mut().filter(|fields| fields.contains_key("uuid"))
            {
                fields.insert("sessionId".into(), self.transcript.session().into());
                fields.insert("entrypoint".into(), "ostler".into());
                entries.push(entry);
            }
        }
        if let Err(error) = self.write(&entries) {
            warn(&error.to_string());
        }
    }
}

/// An agent that the session started.
pub struct AgentFacts {
    pub id: String,
    pub kind: String,
    pub description: String,
}

struct AgentTranscript {
    transcript: Transcript,
    path: PathBuf,
    file: Option<File>,
    /// As a store keeps it, beside the entries.
    description: Value,
}

impl AgentTranscript {
    fn open(place: &TranscriptPlace, session: &Transcript, call: &str, about: &AgentFacts) -> Self {
        let (path, meta) = place.of_agent(&about.id);
        let mut transcript = session.of_agent(&about.id);
        if let Some(had) = read(&path) {
            transcript.follow(&had);
        }
        let fields = json!({
            "agentType": about.kind, "description": about.description, "toolUseId": call,
        });
        let written = create(&path).and_then(|file| {
            let text = fields.to_string();
            let mut options = OpenOptions::new();
            let options = options.write(true).create(true).truncate(true).mode(0o600);
            options.open(&meta)?.write_all(text.as_bytes())?;
            Ok(file)
        });
        let file = written.map_err(|error| warn(&format!("{error:#}"))).ok();
        let mut description = fields;
        description["type"] = "agent_metadata".into();
        AgentTranscript { transcript, path, file, description }
    }

    fn frame(&mut self, frame: &Value, mirrors: bool) -> Result<()> {
        let Some(entry) = self.transcript.frame(frame, &ostler::now_text()) else { return Ok(()) };
        if let Some(file) = &mut self.file
            && let Err(error) = file.write_all(line(&entry).as_bytes())
        {
            warn(&format!("cannot write {}: {error}", self.path.display()));
            self.file = None;
        }
        if mirrors { mirror(&self.path, &[entry]) } else { Ok(()) }
    }
}

fn mirror(path: &Path, entries: &[Value]) -> Result<()> {
    let frame = json!({ "type": "transcript_mirror", "filePath": path, "entries": entries });
    Ok(printer::print(&line(&frame))?)
}

fn read(path: &Path) -> Option<String> {
    let mut text = String::new();
    File::open(path).ok()?.take(MOST).read_to_string(&mut text).ok()?;
    Some(text)
}

fn create(path: &Path) -> Result<File> {
    let cannot = || format!("cannot write the transcript {}", path.display());
    if let Some(folder) = path.parent() {
        DirBuilder::new().recursive(true).mode(0o700).create(folder).with_context(cannot)?;
    }
    // A link could lead to a file of another program.
    let no_link = i32::try_from(OFlags::NOFOLLOW.bits()).unwrap_or_default();
    let mut options = OpenOptions::new();
    options.append(true).create(true).mode(0o600).custom_flags(no_link);
    options.open(path).with_context(cannot)
}

fn forked_from(session: &Session, args: &RunArgs, place: &TranscriptPlace) -> Option<String> {
    let id = args.resume.clone().filter(|_| args.fork_session);
    let id = id.or_else(|| session.forked_from().map(|id| id.to_string()))?;
    read(&TranscriptPlace { session: id, ..place.clone() }.file())
}

/// As far as it can be told without running git.
fn branch(cwd: &Path) -> String {
    let head = cwd.ancestors().find_map(|folder| {
        let head = folder.join(".git/HEAD");
        std::fs::read_to_string(head).ok()
    });
    let name = head.as_deref().and_then(|head| head.trim().strip_prefix("ref: refs/heads/"));
    name.unwrap_or_default().to_owned()
}
