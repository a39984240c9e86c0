//! The options of a session, from everything that the profile knows. Flags override environment variables, and these
//! override settings.

use crate::{Profile, ProfileError, prices, providers};
use ostler::config::values::{
    BOARD_TOOLS, JOB_TIME_LIMIT, KEEP_JOBS, MAX_JOBS, SMALL_MODEL, WEB_PRIVATE_HOSTS, WEB_SEARCH,
    WORKTREE_CHECK, WORKTREE_SETUP, WORKTREE_TEARDOWN,
};
use ostler::config::{self, SettingsPlaces};
use ostler::{
    AgentDefinition, Budgets, Credentials, HostOptions, InstructionPlaces, JobOptions, Options,
    SearchChoice, SessionOptions, SkillFolders, TreeSettings, WebOptions,
};
use std::path::PathBuf;
use std::time::Duration;

impl Profile {
    /// Approvals last for the session, unless the surface sets `approvals`.
    ///
    /// # Errors
    /// If a flag, a variable, a setting or the price list cannot be used.
    pub fn options(&self, credentials: Credentials) -> Result<Options, ProfileError> {
        let Profile { flags, environment, places, loaded } = self;
        let mut host = HostOptions::new(credentials);
        let mut session = SessionOptions::new(places.cwd.clone());
        host.home = Some(places.ostler_home.clone());
        host.user_home.clone_from(&places.user_home);
        session.add_dirs.clone_from(&flags.add_dirs);
        // A directory that only settings name need not exist on this machine.
        let exists = |folder: &&PathBuf| places.cwd.join(folder).is_dir();
        session.add_dirs.extend(loaded.dirs.iter().filter(exists).cloned());
        session.policy = loaded.policy.clone();
        session.skills = self.skills();
        session.agents.clone_from(&loaded.agents);
        session.mcp = self.mcp_options()?;
        session.team.teammates = team(&loaded.team);
        session.board.project = Some(places.project.clone());
        session.board.place = environment.session_board()?;
        session.board.tools = loaded.values.switch(&BOARD_TOOLS).unwrap_or(false);
        session.worktrees = self.worktrees();
        session.web = self.web()?;
        providers::choose(&mut host, &mut session, self)?;
        session.log = flags.session()?;
        session.transcripts = environment.transcripts()?;
        session.system_prompt.clone_from(&flags.system_prompt);
        session.append_system_prompt = self.appended_prompt();
        session.instructions = Some(instructions(places, loaded.trusted));
        session.mode = flags.mode.or(loaded.mode).unwrap_or_default();
        session.allow.clone_from(&flags.allow);
        session.deny.clone_from(&flags.deny);
        session.tools = flags.tools.clone().filter(|names| *names != ["default"]);
        session.max_turns = flags.max_turns;
        session.max_budget_usd = flags.max_budget_usd;
        host.budgets = self.budgets();
        host.calendar = environment.calendar();
        host.prices = prices::read(&places.ostler_home)?;
        session.environment = environment.for_commands(&loaded.env);
        session.sandbox = self.sandbox();
        session.hooks.specs = self.hooks()?;
        session.hooks.project = Some(places.project.clone());
        host.proxies = environment.proxies();
        host.ca_file = environment.ca_file()?;
        host.deadlines = environment.deadlines()?;
        host.retry_wait = environment.retry_wait()?;
        session.settings = environment.settings(&loaded.values)?;
        session.settings.raw_events = flags.raw_events;
        host.effort = flags.effort;
        host.extras = flags.extras.clone();
        session.settings.thinking = flags.thinking.unwrap_or(session.settings.thinking);
        session.may_bypass = flags.may_bypass.unwrap_or(session.may_bypass);
        session.slow_call = environment.slow_call()?;
        (session.max_agents, session.max_agent_depth) = environment.agent_limits()?;
        session.jobs = self.jobs();
        session.undo = !flags.no_undo;
        session.memory = environment.memory();
        host.embeddings = environment.embeddings()?;
        host.fault = environment.fault();
        session.event_log = true;
        session.keep_model = flags.model.is_none();
        Ok(Options { host, session })
    }

    /// A style belongs to our own system prompt: whoever replaces that says how answers should read.
    fn appended_prompt(&self) -> Option<String> {
        let style = self.output_styles().text.filter(|_| self.flags.system_prompt.is_none());
        let parts: Vec<String> =
            style.into_iter().chain(self.flags.append_system_prompt.clone()).collect();
        (!parts.is_empty()).then(|| parts.join("\n\n"))
    }

    /// What the harness copies into worktrees and runs there. Of a project's files only what the person accepted.
    pub fn worktrees(&self) -> TreeSettings {
        let command = |key| self.loaded.values.text(key).map(str::to_owned);
        TreeSettings {
            include: self.loaded.worktree_include.clone(),
            setup: command(&WORKTREE_SETUP),
            teardown: command(&WORKTREE_TEARDOWN),
            check: command(&WORKTREE_CHECK),
        }
    }

    /// What a person or a trusted project allows in the web.
    fn web(&self) -> Result<WebOptions, ProfileError> {
        let values = &self.loaded.values;
        let hosts = values.text(&WEB_PRIVATE_HOSTS).unwrap_or_default();
        let hosts = hosts.split(',').map(str::trim).filter(|host| !host.is_empty());
        let endpoint = self.environment.search_endpoint()?;
        let search = match (values.text(&WEB_SEARCH), endpoint) {
            (Some("off"), _) => SearchChoice::Nobody,
            (Some("provider"), _) => SearchChoice::Provider,
            (None | Some("auto"), None) => SearchChoice::Auto,
            (None | Some("auto"), Some(endpoint)) => SearchChoice::Endpoint(endpoint),
            (Some(_), _) => {
                let why = "webSearch must be \"auto\", \"provider\" or \"off\"";
                return Err(ProfileError::Config(why.into()));
            }
        };
        Ok(WebOptions {
            private_hosts: hosts.map(str::to_owned).collect(),
            small_model: values.text(&SMALL_MODEL).map(str::to_owned),
            search,
        })
    }

    /// Where skills are found, and which of them were accepted.
    pub fn skills(&self) -> SkillFolders {
        let mut folders = config::skill_folders(&self.places);
        let of_plugins = self.loaded.plugins.iter().flat_map(|plugin| &plugin.skill_folders);
        folders.extend(of_plugins.cloned());
        SkillFolders {
            folders,
            accepted: self.loaded.skills.clone(),
            for_model: None,
            project: Some(self.places.project.clone()),
        }
    }

    /// As settings limit them. Whoever uses a program wants to see what comes of a job.
    fn jobs(&self) -> JobOptions {
        let values = &self.loaded.values;
        let default = JobOptions::default();
        JobOptions {
            limit: values.number(&JOB_TIME_LIMIT).map_or(default.limit, Duration::from_secs),
            most: values.number(&MAX_JOBS).map_or(default.most, |most| most as usize),
            start_turns: true,
            keep: self.flags.keep_jobs || values.switch(&KEEP_JOBS).unwrap_or(default.keep),
            take_late_commands: default.take_late_commands,
        }
    }

    /// The smaller of what settings and flags allow.
    pub fn budgets(&self) -> Budgets {
        let config::Budget { day, project, agent } = self.loaded.budget;
        let day = day.into_iter().chain(self.flags.max_day_budget_usd).reduce(f64::min);
        Budgets { day, project, agent }
    }
}

fn instructions(places: &SettingsPlaces, trusted: bool) -> InstructionPlaces {
    let user = [Some(places.ostler_home.clone()), places.claude_home.clone()];
    InstructionPlaces {
        cwd: places.cwd.clone(),
        project: places.project.clone(),
        home: places.user_home.clone(),
        user: user.into_iter().flatten().collect(),
        trusted,
    }
}

/// A teammate without a role is one that ships.
fn team(defined: &[AgentDefinition]) -> Vec<AgentDefinition> {
    let shipped = ostler::shipped_teammates();
    let complete = |teammate: &AgentDefinition| {
        let found =
            shipped.iter().find(|it| it.name == teammate.name && teammate.prompt.is_empty());
        let Some(shipped) = found else { return teammate.clone() };
        let description = match teammate.description.as_str() {
            "" => shipped.description.clone(),
            own => own.to_owned(),
        };
        let (prompt, mode) = (shipped.prompt.clone(), shipped.mode);
        AgentDefinition { description, prompt, mode, ..teammate.clone() }
    };
    defined.iter().map(complete).collect()
}
