//! A project's own settings: the bytes of its files, read once, and what each of them requests.

use crate::agent_files;
use crate::error::one_line;
use crate::files::{FileRead, read_in, text};
use crate::hook_programs;
use crate::json_comments::plain_json;
use crate::located_json::Document;
use crate::project_env::is_forbidden;
use crate::started_programs::{self, escaped};
use crate::{
    Check, ConfigError, ServersText, Settings, SettingsPlaces, permissions_yaml, settings_json,
    team_yaml,
};
use ostler_core::agent_definition::AgentDefinition;
use ostler_core::hook::HookSpec;
use ostler_core::permission::{Anchors, Mode, Policy, Tier};
use std::path::{Path, PathBuf};

/// Files of a project that speak to us, from low to high.
const FILES: [(&str, Tier, FileForm); 9] = [
    (".worktreeinclude", Tier::Project, FileForm::Include),
    ("mcp_config.yaml", Tier::Project, FileForm::ServersYaml),
    (".mcp.json", Tier::Project, FileForm::Servers),
    (".ostler/permissions.yaml", Tier::Project, FileForm::Rules),
    (".ostler/team.yaml", Tier::Project, FileForm::Team),
    (".claude/settings.json", Tier::Project, FileForm::Settings),
    (".ostler/settings.json", Tier::Project, FileForm::Settings),
    (".claude/settings.local.json", Tier::Local, FileForm::Settings),
    (".ostler/settings.local.json", Tier::Local, FileForm::Settings),
];

/// Of all forms.
const MOST_FILES: usize = 2_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FileForm {
    Servers,
    ServersYaml,
    Rules,
    Settings,
    Skill,
    Agent,
    Team,
    /// Which files are copied into worktrees.
    Include,
    /// What a hook runs.
    Program,
}

pub(crate) struct ProjectFile {
    /// Relative to the project's directory.
    pub(crate) name: String,
    pub(crate) path: PathBuf,
    pub(crate) bytes: Vec<u8>,
    tier: Tier,
    form: FileForm,
    /// What a skill would run and allow, or an agent would be.
    skill_wants: Vec<String>,
}

/// All existing files of a project, whether they are loaded or not: trust covers all of them.
#[derive(Default)]
pub(crate) struct ProjectFiles {
    pub(crate) root: PathBuf,
    /// They are looked at: this is a project, and its files are not left out.
    pub(crate) counts: bool,
    pub(crate) files: Vec<ProjectFile>,
    pub(crate) notices: Vec<String>,
    /// Definitions of agents that cannot be used, and why.
    pub(crate) unusable_agents: Vec<(PathBuf, String)>,
}

impl ProjectFiles {
    /// `own`: files that were read as the user's, resolved.
    pub(crate) fn read(places: &SettingsPlaces, own: &[PathBuf]) -> Result<Self, ConfigError> {
        let root = places.real_project()?;
        let mut found = ProjectFiles { root, ..ProjectFiles::default() };
        let counts = places.sources.project || places.sources.local;
        if !counts || places.project_is_home(&found.root) {
            return Ok(found);
        }
        found.counts = true;
        for (name, tier, form) in FILES {
            let path = found.root.join(name);
            if is_own(&path, places, own) {
                continue;
            }
            match read_in(&found.root, &path)? {
                FileRead::Nothing => {}
                FileRead::Bytes(bytes) => {
                    let (name, skill_wants) = (name.to_owned(), Vec::new());
                    found.files.push(ProjectFile { name, path, bytes, tier, form, skill_wants });
                }
                FileRead::Stray => found.notices.push(one_line(&format!(
                    "{} is a broken link or leads out of the project; ignored",
                    path.display()
                ))),
            }
        }
        found.skills(places);
        found.agents()?;
        Ok(found)
    }

    /// Skills only say something, as a rule; those that run or allow something are files like the others.
    fn skills(&mut self, places: &SettingsPlaces) {
        let found = ostler_skills::project_files(&self.root, &places.cwd, &places.tools);
        for (path, bytes, skill_wants) in found {
            let name = path.strip_prefix(&self.root).ok().and_then(Path::to_str).map(str::to_owned);
            // A name that cannot be kept cannot be accepted.
            let Some(name) = name else { continue };
            let (tier, form) = (Tier::Project, FileForm::Skill);
            self.files.push(ProjectFile { name, path, bytes, tier, form, skill_wants });
        }
    }

    /// What these hooks run counts like the files that name them.
    pub(crate) fn add_programs(&mut self, hooks: &[HookSpec], places: &SettingsPlaces) {
        let root = self.root.clone();
        for program in hooks.iter().flat_map(|hook| hook_programs::of_hook(hook, places, &root)) {
            let below = program.path.strip_prefix(&root);
            let name = below.or_else(|_| program.path.strip_prefix(&places.project)).ok();
            let Some(name) = name.and_then(Path::to_str).map(str::to_owned) else { continue };
            let Some(bytes) = program.shown() else { continue };
            if self.files.len() < MOST_FILES && self.files.iter().all(|file| file.name != name) {
                let (path, skill_wants) = (root.join(&name), vec!["is run by a hook".to_owned()]);
                let (tier, form) = (Tier::Project, FileForm::Program);
                self.files.push(ProjectFile { name, path, bytes, tier, form, skill_wants });
            }
        }
    }

    /// A definition says what another agent is told to do, so it counts after trust only.
    fn agents(&mut self) -> Result<(), ConfigError> {
        for (path, bytes) in agent_files::of_project(&self.root)? {
            let name = path.strip_prefix(&self.root).ok().and_then(Path::to_str).map(str::to_owned);
            let Some(name) = name else { continue };
            let text = String::from_utf8_lossy(&bytes);
            let skill_wants = match agent_files::parse(&text, &path) {
                Ok(definition) => vec![format!("defines the agent {}", definition.name)],
                Err(line) => {
                    self.unusable_agents.push((path, line));
                    continue;
                }
            };
            let (tier, form) = (Tier::Project, FileForm::Agent);
            self.files.push(ProjectFile { name, path, bytes, tier, form, skill_wants });
        }
        Ok(())
    }
}

/// It lies in a home of ours, or is a link to a file of the user.
fn is_own(path: &Path, places: &SettingsPlaces, own: &[PathBuf]) -> bool {
    let real = crate::places::resolved(path);
    let folder = path.parent().map(crate::places::resolved);
    let homes = std::iter::once(&places.ostler_home).chain(&places.claude_home);
    own.contains(&real)
        || homes
            .map(|home| crate::places::resolved(home))
            .any(|home| folder.as_ref() == Some(&home))
}

impl ProjectFile {
    pub(crate) fn counts(&self, places: &SettingsPlaces) -> bool {
        match self.tier {
            Tier::Local => places.sources.local,
            _ => places.sources.project,
        }
    }

    /// The content of a skill, by hash.
    pub(crate) fn skill(&self) -> Option<String> {
        (self.form == FileForm::Skill).then(|| ostler_skills::hash(&self.bytes))
    }

    pub(crate) fn agent(&self) -> Option<AgentDefinition> {
        let text =
            std::str::from_utf8(&self.bytes).ok().filter(|_| self.form == FileForm::Agent)?;
        agent_files::parse(text, &self.path).ok()
    }

    /// The patterns of files that are copied into worktrees, if it is that file.
    pub(crate) fn included(&self) -> Result<Option<String>, ConfigError> {
        match self.form {
            FileForm::Include => text(&self.path, self.bytes.clone()).map(Some),
            _ => Ok(None),
        }
    }

    /// Who is in the team, if the file says so.
    pub(crate) fn teammates(&self) -> Result<Vec<AgentDefinition>, ConfigError> {
        match self.form {
            FileForm::Team => team_yaml::parse(&text(&self.path, self.bytes.clone())?, &self.path),
            _ => Ok(Vec::new()),
        }
    }

    /// Without what no project may say.
    pub(crate) fn settings(
        &self,
        anchors: Anchors<'_>,
        check: &Check<'_>,
    ) -> Result<Settings, ConfigError> {
        match self.form {
            FileForm::Servers => Ok(self.servers()),
            FileForm::ServersYaml => self.servers_yaml(),
            FileForm::Skill | FileForm::Agent | FileForm::Program => {
                Ok(Settings { starts: self.skill_wants.clone(), ..Settings::default() })
            }
            FileForm::Team => {
                let defines = |it: AgentDefinition| format!("defines the teammate {}", it.name);
                let starts = self.teammates()?.into_iter().map(defines).collect();
                Ok(Settings { starts, ..Settings::default() })
            }
            FileForm::Include => {
                let patterns = self.included()?.unwrap_or_default();
                let lines = patterns.lines().map(str::trim);
                let named = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
                let starts = named.map(|line| format!("copies {line} into worktrees")).collect();
                Ok(Settings { starts, ..Settings::default() })
            }
            FileForm::Rules => {
                let text = text(&self.path, self.bytes.clone())?;
                let read = permissions_yaml::parse(&text, &self.path, anchors, self.tier, check)?;
                let (policy, warnings) = read;
                Ok(Settings { policy, warnings, ..Settings::default() })
            }
            FileForm::Settings => {
                let text = text(&self.path, self.bytes.clone())?;
                let settings = settings_json::parse(&text, &self.path, anchors, self.tier)?;
                Ok(self.without_forbidden(settings))
            }
        }
    }

    /// A file that is not understood starts something all the same.
    fn servers(&self) -> Settings {
        let text = String::from_utf8_lossy(&self.bytes);
        let text = plain_json(&text);
        let root = Document::root(&text, &self.path).and_then(|root| root.object("the file"));
        let mut settings = Settings::default();
        for (key, value) in root.unwrap_or_default() {
            if key == "mcpServers" && value.is_set() {
                settings.starts(&key, SERVERS, "", value);
                settings.servers = Some(ServersText::json(&self.path, self.tier, value));
            }
        }
        if settings.starts.is_empty() {
            settings.executable = true;
            settings.starts.push(SERVERS.into());
        }
        settings
    }

    fn servers_yaml(&self) -> Result<Settings, ConfigError> {
        let text = text(&self.path, self.bytes.clone())?;
        let starts =
            started_programs::servers_of_yaml(&text).unwrap_or_else(|| vec![SERVERS.into()]);
        let (file, tier) = (self.path.clone(), self.tier);
        let servers = Some(ServersText { file, tier, text, is_yaml: true });
        Ok(Settings { executable: true, starts, servers, ..Settings::default() })
    }

    fn without_forbidden(&self, mut settings: Settings) -> Settings {
        let (path, warnings) = (&self.path, &mut settings.warnings);
        let mut warn = |what: String| warnings.push(path, None, &what);
        settings.env.retain(|(name, _)| {
            let forbidden = is_forbidden(name);
            if forbidden {
                warn(format!("a project cannot set {name}, ignored"));
            }
            !forbidden
        });
        if settings.key_helper.take().is_some() {
            warn("a project cannot set apiKeyHelper, ignored".into());
            settings.starts.retain(|starts| !starts.starts_with(KEY_HELPER));
            settings.not_run.retain(|(name, _)| name != "apiKeyHelper");
            settings.executable = !settings.starts.is_empty();
        }
        settings
    }
}

const SERVERS: &str = "starts MCP servers";
const KEY_HELPER: &str = "runs a program for the API key";

/// What one file requests that needs trust.
pub(crate) struct ProjectRequest {
    pub(crate) path: PathBuf,
    pub(crate) wants: Vec<String>,
    /// The file is not left out by the user's choice of sources.
    pub(crate) counts: bool,
}

impl ProjectRequest {
    pub(crate) fn new(file: &ProjectFile, wants: Vec<String>, counts: bool) -> Self {
        ProjectRequest { path: file.path.clone(), wants, counts }
    }
}

/// Requests of one file that are listed one by one.
const MOST_WANTS: usize = 100;

/// What needs trust, in words. `now` is the mode without this file.
pub(crate) fn wants(settings: &Settings, now: Option<Mode>) -> Vec<String> {
    // What starts something comes first, so that nothing pushes it out of sight.
    let mut wants: Vec<String> = settings.starts.clone();
    wants.extend(settings.policy.allow.iter().map(|rule| format!("allows {}", rule.text())));
    let mode = settings.mode.filter(|mode| !tightens(*mode, now));
    wants.extend(mode.map(|mode| format!("sets the mode {}", mode.name())));
    wants.extend(settings.sandbox.wants());
    wants.extend(settings.dirs.iter().map(|dir| format!("adds the directory {}", dir.display())));
    let set = |(name, value): &(String, String)| format!("sets env {name}={}", escaped(value));
    wants.extend(settings.env.iter().map(set));
    wants.extend(settings.values.requests());
    let more = wants.len().saturating_sub(MOST_WANTS);
    wants.truncate(MOST_WANTS);
    if more > 0 {
        wants.push(format!("requests {more} more permissions"));
    }
    wants.iter().map(|want| one_line(want)).collect()
}

/// Changing the mode so takes nothing away from the user's caution.
pub(crate) fn tightens(mode: Mode, now: Option<Mode>) -> bool {
    let rank = |mode: Mode| match mode {
        Mode::BypassPermissions => 0,
        Mode::AcceptEdits => 1,
        Mode::Default => 2,
        Mode::Plan | Mode::DontAsk => 3,
    };
    let now = now.unwrap_or_default();
    mode == now || rank(mode) > rank(now)
}

/// The part of a file's rules that needs no trust.
pub(crate) fn tightening(policy: Policy) -> Policy {
    Policy { allow: Vec::new(), ..policy }
}
