//! Which files are loaded, in which order, and how they are merged.
//!
//! From low to high: built-in rules, the user's files, the project's, its local ones, `--settings`, managed ones. Lists
//! are merged, and deny and ask rules always apply; of single values the highest wins, of `default` the stricter.

use crate::budget::Budget;
use crate::built_in_rules::built_in;
use crate::error::one_line;
use crate::files::{MOST_BYTES, read_text};
use crate::hook_programs;
use crate::inactive_settings::InactiveSettings;
use crate::places::resolved;
use crate::project_files::{
    ProjectFile, ProjectFiles, ProjectRequest, tightening, tightens, wants,
};
use crate::providers::{self, ProviderEntry};
use crate::sandbox::SandboxSettings;
use crate::server_limits::ServerLimits;
use crate::trust::{self, Accepted, Untrusted};
use crate::{
    AgentFile, AgentFileState, Check, ConfigError, Plugin, ServersText, Settings, SettingsPlaces,
    Values, agent_files, approvals, permissions_yaml, plugins, settings_json, team_yaml,
};
use ostler_core::agent_definition::AgentDefinition;
use ostler_core::hook::HookSpec;
use ostler_core::permission::{Anchors, Matcher, Mode, Policy, Rule, Tier};
use ostler_core::text::counted;
use std::path::{Path, PathBuf};

/// What is in force.
#[derive(Clone, Debug, Default)]
pub struct LoadedSettings {
    pub policy: Policy,
    pub mode: Option<Mode>,
    pub dirs: Vec<PathBuf>,
    pub env: Vec<(String, String)>,
    /// Those that no file of the project has set, trusted or not.
    pub own_env: Vec<(String, String)>,
    pub sandbox: SandboxSettings,
    /// In the order in which they are asked.
    pub hooks: Vec<HookSpec>,
    /// Hooks of files that are not trusted: not in force.
    pub ignored_hooks: Vec<HookSpec>,
    pub budget: Budget,
    /// Servers of models that the person added.
    pub providers: Vec<ProviderEntry>,
    /// `model`, `autoCompactWindow` and the like.
    pub values: Values,
    /// Things the user should know at every start, one line each.
    pub notices: Vec<String>,
    /// What was left out of the files, or is configured and not run yet, and restricts nothing; one line each. Once a
    /// person has seen one, it need not be shown again.
    pub warnings: Vec<String>,
    pub untrusted: Option<Untrusted>,
    /// The project has files that want something or tighten, and the user accepted all of them as they are.
    pub trusted: bool,
    /// Hashes of the project's skills that the user accepted: what they run and allow is in effect.
    pub skills: Vec<String>,
    /// Kinds of agents that the person defined, and those of the project that the person accepted.
    pub agents: Vec<AgentDefinition>,
    /// Teammates that the person defined, and those of the project that the person accepted.
    pub team: Vec<AgentDefinition>,
    /// The patterns of files that are copied into worktrees, if the person accepted them.
    pub worktree_include: Option<String>,
    /// The files in which agents are defined, whether they are used or not.
    pub agent_files: Vec<AgentFile>,
    /// MCP servers, from low to high; of the project's files only what the person accepted.
    pub servers: Vec<ServersText>,
    /// MCP servers of the project that the person does not want.
    pub disabled_servers: Vec<String>,
    /// Which MCP servers may be used, wherever they are configured.
    pub server_limits: ServerLimits,
    /// Allow rules of files that are not trusted: not in force.
    pub ignored: Vec<Rule>,
    /// Plugins that are in effect: their agents and hooks are among those above.
    pub plugins: Vec<Plugin>,
}

/// # Errors
/// On a file that is there and cannot be read or understood: nothing starts with half of its rules.
pub fn load(places: &SettingsPlaces, check: &Check<'_>) -> Result<LoadedSettings, ConfigError> {
    let places = &places.resolved()?;
    let mut layers = SettingsLayers {
        places,
        check,
        loaded: LoadedSettings::default(),
        read: Vec::new(),
        no_hooks: Vec::new(),
        managed_hooks_only: false,
        not_run: InactiveSettings::default(),
    };
    layers.user()?;
    layers.agents();
    layers.team()?;
    layers.project()?;
    layers.plugins()?;
    if let Some(argument) = &places.settings_arg {
        layers.argument(argument)?;
    }
    layers.managed()?;
    layers.tighten_whole_project();
    layers.switch_hooks_off();
    layers.pin_hook_programs();
    layers.loaded.warnings.extend(layers.not_run.lines());
    Ok(layers.loaded)
}

struct SettingsLayers<'a> {
    places: &'a SettingsPlaces,
    check: &'a Check<'a>,
    loaded: LoadedSettings,
    /// Files of the user that were read, resolved: none is read twice.
    read: Vec<PathBuf>,
    /// Who wants no hooks.
    no_hooks: Vec<Tier>,
    managed_hooks_only: bool,
    not_run: InactiveSettings,
}

impl SettingsLayers<'_> {
    /// `settings` is the directory that `/x` in a rule is relative to.
    fn anchors<'a>(&'a self, settings: &'a Path) -> Anchors<'a> {
        let SettingsPlaces { cwd, user_home, tools, .. } = self.places;
        Anchors { cwd, home: user_home, settings, tools }
    }

    fn user(&mut self) -> Result<(), ConfigError> {
        let places = self.places;
        let home = &places.ostler_home;
        let (counts, mut own) = (places.sources.user, false);
        if counts {
            own = self.rules(&home.join("permissions.yaml"), home, Tier::User)?;
        }
        if !own {
            self.loaded.policy.add(built_in()?);
        }
        if counts {
            for folder in places.claude_home.iter().chain([home]) {
                self.settings(&folder.join("settings.json"), folder, Tier::User)?;
            }
            self.loaded.policy.allow.extend(approvals::rules(places)?);
        }
        Ok(())
    }

    /// Whoever works in a subdirectory also reads the rest of the project: what a rule forbids or asks about below the
    /// working directory (`./.env`, `.env`, `**/*.pem`), it forbids or asks about below the project's, too.
    fn tighten_whole_project(&mut self) {
        let SettingsPlaces { project, cwd, user_home, tools, .. } = self.places;
        if project == cwd || !cwd.starts_with(project) {
            return;
        }
        let anchors = Anchors { cwd: project, home: user_home, settings: project, tools };
        let again = |rule: &Rule| {
            let (_, pattern) = rule.text().split_once('(')?;
            let is_relative = !pattern.trim_start().starts_with(['/', '~']);
            if !is_relative || !matches!(rule.matcher, Matcher::Files(_)) {
                return None;
            }
            let mut made = Rule::parse_at(rule.text(), anchors, rule.source.clone()).ok()?;
            made.reason.clone_from(&rule.reason);
            Some(made)
        };
        let policy = &mut self.loaded.policy;
        let (deny, ask) = (&policy.deny, &policy.ask);
        let more: [Vec<Rule>; 2] = [deny, ask].map(|list| list.iter().filter_map(again).collect());
        let [deny, ask] = more;
        policy.deny.extend(deny);
        policy.ask.extend(ask);
    }

    fn managed(&mut self) -> Result<(), ConfigError> {
        let SettingsPlaces { managed, project, .. } = self.places;
        self.rules(&managed.join("permissions.yaml"), project, Tier::Managed)?;
        self.settings(&managed.join("managed-settings.json"), project, Tier::Managed)
    }

    fn argument(&mut self, argument: &str) -> Result<(), ConfigError> {
        let cwd = &self.places.cwd;
        let (text, file) = if argument.trim_start().starts_with('{') {
            (argument.to_owned(), PathBuf::from("--settings"))
        } else {
            let file = cwd.join(argument);
            let text = read_text(&file, MOST_BYTES)?;
            let missing = || ConfigError::new(&file, None, "there is no such file");
            (text.ok_or_else(missing)?, file)
        };
        let settings = settings_json::parse(&text, &file, self.anchors(cwd), Tier::CommandLine)?;
        self.add_own(settings, &file);
        Ok(())
    }

    /// True if there is such a file.
    fn rules(&mut self, file: &Path, folder: &Path, tier: Tier) -> Result<bool, ConfigError> {
        self.misnamed(file);
        let Some(text) = read_text(file, MOST_BYTES)? else { return Ok(false) };
        let anchors = self.anchors(folder);
        let (policy, warnings) = permissions_yaml::parse(&text, file, anchors, tier, self.check)?;
        self.read.push(resolved(file));
        self.loaded.policy.add(policy);
        self.loaded.warnings.extend(warnings.lines(file));
        Ok(true)
    }

    fn settings(&mut self, file: &Path, folder: &Path, tier: Tier) -> Result<(), ConfigError> {
        if self.read.contains(&resolved(file)) {
            return Ok(());
        }
        let Some(text) = read_text(file, MOST_BYTES)? else { return Ok(()) };
        let settings = settings_json::parse(&text, file, self.anchors(folder), tier)?;
        self.read.push(resolved(file));
        self.add_own(settings, file);
        Ok(())
    }

    fn agents(&mut self) {
        if self.places.sources.user {
            for (file, read) in agent_files::of_user(self.places) {
                self.agent(&file, read);
            }
        }
    }

    fn team(&mut self) -> Result<(), ConfigError> {
        let file = self.places.ostler_home.join("team.yaml");
        if self.places.sources.user
            && let Some(text) = read_text(&file, MOST_BYTES)?
        {
            self.add_teammates(team_yaml::parse(&text, &file)?, &file);
        }
        Ok(())
    }

    /// The person's own come first.
    fn add_teammates(&mut self, team: Vec<AgentDefinition>, file: &Path) {
        for teammate in team {
            if self.loaded.team.iter().all(|had| had.name != teammate.name) {
                let unknown = agent_files::unknown_tools(&teammate, file, &self.places.tools);
                self.loaded.warnings.extend(unknown);
                self.loaded.team.push(teammate);
            }
        }
    }

    fn agent(&mut self, file: &Path, read: Result<AgentDefinition, String>) {
        let LoadedSettings { agents, agent_files, warnings, .. } = &mut self.loaded;
        match read {
            Ok(definition) => {
                warnings.extend(agent_files::unknown_tools(&definition, file, &self.places.tools));
                let is_first = agents.iter().all(|had| had.name != definition.name);
                let state = if is_first { AgentFileState::Used } else { AgentFileState::Hidden };
                agent_files.push(AgentFile::new(file, Some(&definition), state));
                if is_first {
                    agents.push(definition);
                }
            }
            Err(line) => {
                let line = one_line(&line);
                agent_files.push(AgentFile::new(
                    file,
                    None,
                    AgentFileState::Unusable { why: line.clone() },
                ));
                warnings.push(line);
            }
        }
    }

    /// Rules that someone believes to be in force.
    fn misnamed(&mut self, file: &Path) {
        let other = file.with_extension("yml");
        if other.exists() {
            let what = format!("{} is not loaded; rename it to permissions.yaml", other.display());
            self.loaded.warnings.push(one_line(&what));
        }
    }

    /// With the programs that hooks run: those of the project, and those of the person outside the sandbox.
    fn project_files(&self) -> Result<ProjectFiles, ConfigError> {
        let mut project = ProjectFiles::read(self.places, &self.read)?;
        if project.counts {
            let anchors = self.anchors(&self.places.project);
            let read = |file: &ProjectFile| file.settings(anchors, self.check).ok();
            let theirs = project.files.iter().filter_map(read).flat_map(|settings| settings.hooks);
            let own = self.loaded.hooks.iter().filter(|hook| hook.outside).cloned();
            let hooks: Vec<HookSpec> = theirs.chain(own).collect();
            project.add_programs(&hooks, self.places);
        }
        Ok(project)
    }

    /// What a trusted file says counts in full.
    fn accept(&mut self, file: &ProjectFile, settings: Settings) -> Result<(), ConfigError> {
        self.loaded.skills.extend(file.skill());
        if let Some(definition) = file.agent() {
            self.agent(&file.path, Ok(definition));
        }
        self.add_teammates(file.teammates()?, &file.path);
        if let Some(patterns) = file.included()? {
            self.loaded.worktree_include = Some(patterns);
        }
        self.add(settings, &file.path);
        Ok(())
    }

    fn project(&mut self) -> Result<(), ConfigError> {
        let project = self.project_files()?;
        self.loaded.notices.extend(project.notices.iter().cloned());
        for (file, why) in &project.unusable_agents {
            self.agent(file, Err(why.clone()));
        }
        if project.files.is_empty() {
            return Ok(());
        }
        self.misnamed(&project.root.join(".ostler/permissions.yaml"));
        let before = trust::accepted(self.places, &project.root)?;
        let trusted = before.as_ref().is_some_and(|before| before.is(&Accepted::now(&project)));
        self.loaded.trusted = trusted;
        if !trusted {
            let (places, hooks) = (self.places, &mut self.loaded.hooks);
            hooks.iter_mut().for_each(|hook| hook_programs::disarm(hook, places, &project.root));
        }
        let mut wanted = Vec::new();
        for file in &project.files {
            let settings = file.settings(self.anchors(&self.places.project), self.check);
            match (settings, file.counts(self.places), trusted) {
                (Ok(settings), true, true) => self.accept(file, settings)?,
                (Ok(settings), counts, false) => {
                    if let Some(definition) = file.agent().filter(|_| counts) {
                        let state = AgentFileState::Untrusted;
                        let found = AgentFile::new(&file.path, Some(&definition), state);
                        self.loaded.agent_files.push(found);
                    }
                    wanted.push(ProjectRequest::new(
                        file,
                        wants(&settings, self.loaded.mode),
                        counts,
                    ));
                    if counts {
                        self.tighten(settings, &file.path);
                    }
                }
                (Err(error), true, _) => return Err(error),
                // Accepting is about all files, so one that is left out this time is shown, too.
                (Err(_), false, false) => {
                    wanted.push(ProjectRequest::new(file, vec!["is invalid".into()], false));
                }
                (_, false, true) => {}
            }
        }
        if !trusted && wanted.iter().any(|wanted| wanted.counts && !wanted.wants.is_empty()) {
            let counting = wanted.iter().filter(|wanted| wanted.counts && !wanted.wants.is_empty());
            self.loaded.notices.extend(counting.map(|wanted| notice(&wanted.path, &wanted.wants)));
            self.loaded.untrusted = Some(trust::untrusted(&project, wanted, before.as_ref()));
        }
        Ok(())
    }

    /// Whatever has the same name as something of a person's or a project's has the plugin's name in front.
    fn plugins(&mut self) -> Result<(), ConfigError> {
        let active = plugins::active(self.places)?;
        self.loaded.notices.extend(active.notices);
        for plugin in &active.plugins {
            self.loaded.warnings.extend(plugin.warnings.iter().cloned());
            for agent in &plugin.agents {
                self.agent(&agent.path, Ok(agent.definition.clone()));
            }
            self.loaded.hooks.extend(plugin.hooks.iter().cloned());
            self.loaded.skills.extend(plugin.skill_hashes.iter().cloned());
        }
        self.loaded.plugins = active.plugins;
        Ok(())
    }

    /// Only managed files switch off managed hooks; a project switches off only its own.
    fn switch_hooks_off(&mut self) {
        let (off, managed_only) = (&self.no_hooks, self.managed_hooks_only);
        let is_projects = |tier: Tier| matches!(tier, Tier::Project | Tier::Local);
        let stays = |hook: &HookSpec| {
            let tier = hook.source.tier;
            let ends = |by: &Tier| match by {
                Tier::Managed => true,
                by if is_projects(*by) => is_projects(tier),
                _ => tier != Tier::Managed,
            };
            !off.iter().any(ends) && (!managed_only || tier == Tier::Managed)
        };
        let before = self.loaded.hooks.len();
        self.loaded.hooks.retain(stays);
        let gone = before - self.loaded.hooks.len();
        if gone > 0 {
            let hooks = counted(gone as u64, "hook");
            let by = if managed_only { "allowManagedHooksOnly" } else { "disableAllHooks" };
            self.loaded.notices.push(format!("{hooks} switched off by {by}"));
        }
    }

    /// What hooks run in the project is what was read now, and stays so.
    fn pin_hook_programs(&mut self) {
        let places = self.places;
        let Ok(root) = places.real_project() else { return };
        if places.project_is_home(&root) {
            return;
        }
        let mut rules = Vec::new();
        for hook in &self.loaded.hooks {
            let anchors = self.anchors(&places.project);
            rules.extend(hook_programs::protection(hook, places, &root, anchors));
        }
        self.loaded.policy.deny.extend(rules);
        let hooks = &mut self.loaded.hooks;
        hooks.iter_mut().for_each(|hook| hook_programs::pin(hook, places, &root));
    }

    /// The parts of a file that concern only the file itself.
    fn tell(&mut self, settings: &Settings, file: &Path) {
        self.loaded.warnings.extend(settings.warnings.lines(file));
        for (kind, count) in &settings.not_run {
            self.not_run.add(kind, file, *count);
        }
    }

    fn tighten(&mut self, settings: Settings, file: &Path) {
        self.tell(&settings, file);
        self.loaded.ignored.extend(settings.policy.allow.iter().cloned());
        self.loaded.ignored_hooks.extend(settings.hooks);
        self.loaded.values.replace_style(settings.values);
        self.loaded.disabled_servers.extend(settings.disabled_servers);
        self.loaded.server_limits.add(settings.server_limits);
        if let Some(mode) = settings.mode.filter(|mode| tightens(*mode, self.loaded.mode)) {
            self.loaded.mode = Some(mode);
        }
        self.loaded.policy.add(tightening(settings.policy));
        self.loaded.sandbox.add(settings.sandbox.tightening());
        self.loaded.budget.lower(&settings.budget);
    }

    /// Of a file that is not the project's.
    fn add_own(&mut self, mut settings: Settings, file: &Path) {
        set_all(&mut self.loaded.own_env, &settings.env);
        self.loaded.sandbox.add_own(std::mem::take(&mut settings.sandbox));
        self.loaded.budget.replace(&settings.budget);
        providers::replace(&mut self.loaded.providers, std::mem::take(&mut settings.providers));
        self.add(settings, file);
    }

    fn add(&mut self, settings: Settings, file: &Path) {
        self.tell(&settings, file);
        self.no_hooks.extend(settings.no_hooks);
        self.managed_hooks_only |= settings.managed_hooks_only;
        let loaded = &mut self.loaded;
        loaded.hooks.extend(settings.hooks);
        loaded.servers.extend(settings.servers);
        loaded.disabled_servers.extend(settings.disabled_servers);
        loaded.server_limits.add(settings.server_limits);
        loaded.policy.add(settings.policy);
        loaded.sandbox.add(settings.sandbox);
        // A project may save money, never spend more.
        loaded.budget.lower(&settings.budget);
        loaded.values.replace(settings.values);
        loaded.mode = settings.mode.or(loaded.mode);
        for dir in settings.dirs {
            if !loaded.dirs.contains(&dir) {
                loaded.dirs.push(dir);
            }
        }
        set_all(&mut loaded.env, &settings.env);
    }
}

fn set_all(variables: &mut Vec<(String, String)>, new: &[(String, String)]) {
    for (name, value) in new {
        variables.retain(|(known, _)| known != name);
        variables.push((name.clone(), value.clone()));
    }
}

/// Wants that a notice names, and characters of each.
const MOST_NAMED: usize = 3;
const MOST_OF_ONE: usize = 80;

fn notice(path: &Path, wants: &[String]) -> String {
    let short = |want: &String| match want.char_indices().nth(MOST_OF_ONE) {
        Some((end, _)) => format!("{}…", want.get(..end).unwrap_or_default()),
        None => want.clone(),
    };
    let mut named = wants.iter().take(MOST_NAMED).map(short).collect::<Vec<_>>().join(", ");
    if let Some(more) = wants.len().checked_sub(MOST_NAMED).filter(|more| *more > 0) {
        named += &format!(" and {more} more");
    }
    one_line(&format!(
        "{} {named}. It is ignored until you trust this project: `ostler permissions trust` shows what it requests and asks",
        path.display()
    ))
}

#[cfg(test)]
#[path = "layers_tests.rs"]
mod tests;
