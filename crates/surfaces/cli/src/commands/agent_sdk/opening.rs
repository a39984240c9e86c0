//! Opens the session that a program wants: flags, settings, and what its first request brings along.

use super::session_variables;
use super::transcript_file::{self, TranscriptFile};
use crate::args::RunArgs;
use crate::commands::{no_key, trust};
use crate::exit::{Wrong, warn};
use anyhow::{Context, Result};
use ostler::mcp_servers::ServerScope;
use ostler::{
    Host, Input, Rewind, Rewinding, Session, SessionOptions, StructuredOutput, SystemIds,
};
use ostler_profile::{Access, Environment, Flags, Profile};
use ostler_sdk::agent_sdk::{
    Callbacks, FrameOptions, InitializeRequest, LiveFacts, PipeServerLimits, SdkFrames,
    SessionView, Transcript, TranscriptPlace, agent_definitions, callback_hooks, hook_watch,
    pipe_server, project_folder, split_servers,
};
use std::path::PathBuf;
use std::sync::Arc;
use tokio::sync::mpsc;
use tokio::time::Instant;

/// Kinds of agents that ship.
const SHIPPED: [&str; 3] = ["general-purpose", "Explore", "Plan"];

pub struct Opener<'a> {
    pub init: &'a ostler::Init,
    pub environment: &'a Environment,
    pub args: &'a RunArgs,
    pub callbacks: Callbacks,
    pub facts: Arc<LiveFacts>,
    /// Lines for standard output.
    pub out: mpsc::UnboundedSender<String>,
}

pub struct OpenSession {
    pub host: Host,
    pub session: Session,
    pub view: SessionView,
    pub frames: SdkFrames,
    pub record: TranscriptFile,
    pub approvals: Arc<dyn ostler::Approvals>,
    pub agents: Vec<ostler::AgentDefinition>,
    /// Names of output styles that can be chosen.
    pub output_styles: Vec<String>,
    /// What the program asked for and does not get.
    pub without_effect: Vec<String>,
    /// The model that was chosen at the start.
    pub model: String,
    /// How the model was to think at the start.
    pub thinking: ostler::Thinking,
    /// The conversation is summarized by itself before it fills the window.
    pub auto_compact: bool,
    pub opened: Instant,
}

impl Opener<'_> {
    pub fn open(&self, request: InitializeRequest) -> Result<OpenSession> {
        let (flags, servers) = self.flags(&request)?;
        let profile = self.profile(flags)?;
        let credentials = given(&profile)?;
        let key_source = credentials.label.clone();
        let mut options = profile.options(credentials)?;
        let approvals = profile.approvals();
        let session = &mut options.session;
        session.approvals = approvals.clone();
        self.prepare(session);
        let forward_subagent_text = request.forward_subagent_text;
        let without_effect = request.without_effect.clone();
        let styles = profile.output_styles();
        let structured = self.brought(session, request, &servers)?;
        let agents = session.agents.clone();
        self.facts.set_agents(agents.iter().map(|agent| agent.name.clone()).collect());
        let max_budget_usd = session.max_budget_usd;
        let (auto_compact, thinking) = (session.settings.context.auto, session.settings.thinking);
        let is_copy = session.transcripts.is_copy;
        self.check_fork(&profile)?;
        let host = Host::open(self.init, options.host)?;
        let session = host.session(options.session)?;
        profile.news().iter().for_each(|notice| warn(notice));
        let claude_home = profile.environment.claude_home()?;
        let mut record = TranscriptFile::open(&session, self.args, claude_home, is_copy)?;
        self.go_back(&session, &mut record)?;
        self.tell_facts(&session, &record);
        let frames = FrameOptions {
            partial: self.args.include_partial_messages,
            forward_subagent_text,
            structured,
            max_budget_usd,
            mode: session.mode().name().into(),
        };
        let names = SHIPPED.into_iter().map(str::to_owned);
        let view = SessionView {
            session: session.clone(),
            key_source,
            version: env!("CARGO_PKG_VERSION").into(),
            output_style: styles.chosen,
            plugins: plugins(&profile),
            agents: names.chain(agents.iter().map(|agent| agent.name.clone())).collect(),
        };
        let frames = SdkFrames::new(session.id().as_str(), Arc::new(SystemIds), frames);
        Ok(OpenSession {
            host,
            model: session.model().to_string(),
            session,
            view,
            frames,
            record,
            approvals,
            agents,
            output_styles: styles.available,
            without_effect,
            thinking,
            auto_compact,
            opened: Instant::now(),
        })
    }

    /// What callbacks are told from here on.
    fn tell_facts(&self, session: &Session, record: &TranscriptFile) {
        if let Some(path) = record.path() {
            self.facts.set_transcript(path);
        }
        self.facts.set_mode(session.mode().name());
        self.facts.set_session(session.id().as_str());
        self.facts.set_tools(session.known_tools());
    }

    /// What the program brings along, and what its flags and variables change of it.
    fn brought(
        &self,
        session: &mut SessionOptions,
        request: InitializeRequest,
        servers: &[String],
    ) -> Result<Option<Arc<StructuredOutput>>> {
        session.skills.for_model = request.skills;
        let mut without_effect = session_variables::apply(self.environment, session);
        without_effect.extend(self.args.sdk.without_effect().map(str::to_owned));
        without_effect.extend(request.without_effect);
        // Claude Code says nothing about these, and programs take a line on standard error for a failure.
        if self.args.sdk.debugs() {
            without_effect.iter().for_each(|what| warn(&format!("{what} has no effect")));
        }
        session.hooks.inside.extend(callback_hooks(request.hooks, &self.callbacks, &self.facts));
        for name in servers {
            let limits = PipeServerLimits::read(name, request.sdk_server_configs.get(name));
            session.mcp.servers.push(pipe_server(name, &limits, &self.callbacks));
            session.ask.extend(limits.ask);
            session.deny.extend(limits.deny);
        }
        session.agents.extend(request.agents);
        session.agents.extend(self.agents()?);
        self.be_agent(session)?;
        let without = &self.args.sdk.plugin_dir_no_mcp;
        let is_unwanted = |root: &PathBuf| without.iter().any(|folder| root.ends_with(folder));
        session.mcp.servers.retain(|server| {
            server.scope != ServerScope::Plugin || !server.reach.read.iter().any(is_unwanted)
        });
        let structured = self.structured(request.json_schema)?;
        if let Some(structured) = &structured {
            structured.join(session);
        }
        Ok(structured)
    }

    /// What programs expect of every session.
    fn prepare(&self, session: &mut SessionOptions) {
        session.environment.push(("CLAUDECODE".into(), "1".into()));
        session.transcripts.is_copy = is_copy(self.args, session);
        // Tools that may come later take one more tool in the list, which somebody who lists tools does not want.
        session.mcp.may_change = session.tools.is_none();
        // A program that gives servers expects their tools in the first turn.
        session.mcp.of_program = true;
        session.mcp.first_wait = ostler::McpOptions::UNATTENDED_WAIT;
        let all = self.args.sdk.include_hook_events;
        session.hooks.watch =
            Some(hook_watch(&self.facts, all, Arc::new(SystemIds), self.out.clone()));
        // A program that asks for a summary gets one, and its budget ends a run that has exceeded it.
        session.settings.context.even_without_gain = true;
        session.settings.budget_may_be_exceeded = true;
        // Without somebody to ask, nothing is offered that would ask.
        session.asks_person = self.args.sdk.prompter().is_some();
    }

    /// The flags without the servers that the program runs itself, and the names of these.
    fn flags(&self, request: &InitializeRequest) -> Result<(Flags, Vec<String>)> {
        let args = self.args;
        let mut flags: Flags = args.flags();
        // A program that always forks begins like this.
        flags.fork &= flags.resume.is_some() || flags.continue_newest;
        let read = |path: &std::path::PathBuf| {
            std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))
        };
        if let Some(path) = &args.sdk.system_prompt_file {
            flags.system_prompt = Some(read(path)?);
        }
        if let Some(path) = &args.sdk.append_system_prompt_file {
            flags.append_system_prompt = Some(read(path)?);
        }
        flags.system_prompt = flags.system_prompt.or_else(|| request.system_prompt.clone());
        flags.append_system_prompt =
            flags.append_system_prompt.or_else(|| request.append_system_prompt.clone());
        let (mut kept, mut servers) = (Vec::new(), request.sdk_servers.clone());
        for text in flags.mcp_config {
            match serde_json::from_str(&text) {
                Ok(configuration) => {
                    let (rest, names) = split_servers(&configuration);
                    kept.extend(rest.map(|rest| rest.to_string()));
                    servers.extend(names);
                }
                // A file, or a mistake that is reported where it is read.
                Err(_) => kept.push(text),
            }
        }
        flags.mcp_config = kept;
        Ok((flags, servers))
    }

    fn profile(&self, flags: Flags) -> Result<Profile> {
        let args = self.args;
        let profile = trust::begin_with(self.environment, flags, args.trust)?;
        let places = &profile.places;
        // A session that is continued keeps its id, whether there is one or not.
        let is_renamed = args.session_id.is_some() && !args.fork_session;
        if !args.continue_
            || is_renamed
            || ostler::check_continue(&places.ostler_home, &places.cwd).is_ok()
        {
            return Ok(profile);
        }
        // There is nothing to continue with: a program that always continues begins like this.
        let flags = Flags { continue_newest: false, fork: false, ..profile.flags };
        Ok(trust::begin_with(self.environment, flags, args.trust)?)
    }

    fn agents(&self) -> Result<Vec<ostler::AgentDefinition>> {
        let Some(text) = &self.args.sdk.agents else { return Ok(Vec::new()) };
        let wrong = |why: String| Wrong::Usage(format!("--agents: {why}"));
        let value = serde_json::from_str(text).map_err(|error| wrong(error.to_string()))?;
        Ok(agent_definitions(Some(&value)).map_err(wrong)?)
    }

    /// The session works as this agent would, with what its flags do not say otherwise.
    fn be_agent(&self, session: &mut SessionOptions) -> Result<()> {
        let Some(name) = &self.args.sdk.agent else { return Ok(()) };
        let found = session.agents.iter().find(|agent| agent.name == *name).cloned();
        let agent = found.ok_or_else(|| {
            let known: Vec<&str> = session.agents.iter().map(|agent| agent.name.as_str()).collect();
            let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
            Wrong::Usage(format!("--agent: there is no agent \"{name}\"; defined: {known}"))
        })?;
        if session.system_prompt.as_ref().is_none_or(String::is_empty) {
            session.system_prompt = Some(agent.prompt);
        }
        session.tools = session.tools.take().or(agent.tools);
        session.deny.extend(agent.disallowed_tools);
        session.max_turns = session.max_turns.or(agent.max_turns);
        if let (Some(model), None) = (agent.model, &self.args.model) {
            session.model = model;
        }
        Ok(())
    }

    fn structured(
        &self,
        brought: Option<serde_json::Value>,
    ) -> Result<Option<Arc<StructuredOutput>>> {
        let wrong = |why: String| Wrong::Usage(format!("--json-schema: {why}"));
        let schema = match &self.args.sdk.json_schema {
            Some(text) => {
                Some(serde_json::from_str(text).map_err(|error| wrong(error.to_string()))?)
            }
            None => brought,
        };
        let made = schema.map(StructuredOutput::new).transpose();
        Ok(made.map_err(wrong)?)
    }

    /// A program may want to continue from an earlier message.
    fn go_back(&self, session: &Session, record: &mut TranscriptFile) -> Result<()> {
        let Some(turn) = self.turn_to_drop(record.transcript(), session.id().as_str())? else {
            return Ok(());
        };
        let overview = session.overview().map_or(0, |overview| overview.turns);
        if turn <= overview {
            let what = Rewinding { files: false, conversation: true };
            let rewind = Rewind { turn, what, dry_run: false, keep: Vec::new(), shown: None };
            session.send(Input::Rewind(rewind))?;
        }
        record.rewind(turn);
        Ok(())
    }

    /// The first turn that is left out; none: all of them stay.
    fn turn_to_drop(&self, record: &Transcript, session: &str) -> Result<Option<u32>> {
        let sdk = &self.args.sdk;
        let turn = match (&sdk.resume_session_at, &sdk.resume_drops_turn) {
            (Some(uuid), _) => record.turn_of(uuid).map(|turn| turn + 1).ok_or(uuid),
            (None, Some(uuid)) => record.turn_of(uuid).ok_or(uuid),
            (None, None) => return Ok(None),
        };
        let turn = turn.map_err(|uuid| {
            Wrong::Usage(format!("no message {uuid} is on record in session {session}"))
        })?;
        if let (Some(_), Some(dropped)) = (&sdk.resume_session_at, &sdk.resume_drops_turn)
            && (record.turn_of(dropped) != Some(turn) || record.turns() > turn)
        {
            let wrong = format!(
                "Resume rejected by --resume-drops-turn: not only the turn of {dropped} comes after the message to resume at"
            );
            return Err(Wrong::Usage(wrong).into());
        }
        Ok(Some(turn))
    }

    /// What would be refused for a copy is refused before there is one.
    fn check_fork(&self, profile: &Profile) -> Result<()> {
        let source = self.args.resume.clone().filter(|_| self.args.fork_session);
        let home = profile.environment.claude_home()?;
        if let Some((session, home)) = source.zip(home) {
            let folder = project_folder(&home, &profile.places.cwd);
            let place = TranscriptPlace { folder, session };
            if let Some(record) = transcript_file::on_record(&place) {
                self.turn_to_drop(&record, &place.session)?;
            }
        }
        Ok(())
    }
}

/// The transcript to resume is nobody's but ours: an SDK put it into a directory that lives as long as we do, or made it from
/// one that we wrote.
fn is_copy(args: &RunArgs, session: &SessionOptions) -> bool {
    let Some(home) = session.transcripts.claude.as_deref() else { return false };
    let name = home.file_name().unwrap_or_default();
    let is_lent = args.sdk.session_mirror && name.to_string_lossy().starts_with("claude-resume-");
    let is_id = |id: &&String| id.chars().all(|c| c.is_ascii_alphanumeric() || c == '-');
    let made = args.resume.as_ref().filter(is_id);
    is_lent
        || made.is_some_and(|id| {
            let folder = project_folder(home, &session.cwd);
            transcript_file::is_ours(&folder.join(format!("{id}.jsonl")))
        })
}

fn plugins(profile: &Profile) -> Vec<(String, String, PathBuf)> {
    let plugins = profile.loaded.plugins.iter();
    let listed = plugins.map(|one| (one.name.clone(), one.version.clone(), one.root.clone()));
    listed.collect()
}

fn given(profile: &Profile) -> Result<ostler::Credentials> {
    match profile.access()? {
        Access::Given(credentials) => Ok(credentials),
        Access::Missing(provider) => {
            let _ = no_key::explain(&provider);
            Err(Wrong::Config("there is no credential for the model".into()).into())
        }
    }
}
