//! `settings.json`, as Claude Code writes it. What loosens or is not used is left out with a warning where it is not
//! understood; what restricts is in force or an error.

use crate::budget::{self, Budget};
use crate::error::is_plain;
use crate::json_comments::plain_json;
use crate::located_json::{Document, Located};
use crate::misspelling::{nearest, restriction};
use crate::providers::{self, ProviderEntry};
use crate::sandbox::{self, SandboxSettings};
use crate::server_limits::ServerLimits;
use crate::servers_text::ServersText;
use crate::settings_keys::{STARTS, UNUSED};
use crate::values::Values;
use crate::warnings::Warnings;
use crate::{ConfigError, hooks_json, started_programs};
use ostler_core::hook::HookSpec;
use ostler_core::permission::{Anchors, Mode, Policy, Rule, RuleError, Source, Tier, ToolName};
use std::path::{Path, PathBuf};

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Settings {
    pub policy: Policy,
    pub mode: Option<Mode>,
    pub dirs: Vec<PathBuf>,
    pub env: Vec<(String, String)>,
    pub no_bypass: bool,
    pub sandbox: SandboxSettings,
    pub hooks: Vec<HookSpec>,
    /// Which files switch hooks off.
    pub no_hooks: Option<Tier>,
    pub managed_hooks_only: bool,
    pub budget: Budget,
    pub providers: Vec<ProviderEntry>,
    pub values: Values,
    /// It would start programs: hooks, MCP servers, plugins, helpers.
    pub executable: bool,
    /// The same in words, one each: "has a hook on Stop: make lint".
    pub starts: Vec<String>,
    /// What of it does not run yet, "plugins", and how many if that is known.
    pub not_run: Vec<(String, Option<usize>)>,
    /// The MCP servers that it configures.
    pub servers: Option<ServersText>,
    /// MCP servers of the project that the person does not want.
    pub disabled_servers: Vec<String>,
    pub server_limits: ServerLimits,
    /// The program that `apiKeyHelper` names.
    pub key_helper: Option<String>,
    pub warnings: Warnings,
}

impl Settings {
    /// `key` would start something: `what` in words, and `runs` by its name.
    pub(crate) fn starts(&mut self, key: &str, what: &str, runs: &str, value: Located<'_>) {
        self.executable = true;
        for line in started_programs::named(key, what, value) {
            if !self.starts.contains(&line) {
                self.starts.push(line);
            }
        }
        if runs.is_empty() {
            return;
        }
        if self.not_run.iter().all(|(known, _)| known != runs) {
            self.not_run.push((runs.to_owned(), None));
        }
    }
}

/// Keys without which something that someone restricted would be free.
const RESTRICTIONS: [&str; 7] =
    ["permissions", "deny", "ask", "defaultMode", "hooks", "sandbox", "budget"];
/// The same below `permissions`, and the keys that only loosen.
const RESTRICTIONS_OF_PERMISSIONS: [&str; 4] =
    ["deny", "ask", "defaultMode", "disableBypassPermissionsMode"];
const GRANTS: [&str; 2] = ["allow", "additionalDirectories"];

/// Keys that are read one by one.
const USED: [&str; 5] = [
    "disableAllHooks",
    "allowManagedHooksOnly",
    "disabledMcpjsonServers",
    "deniedMcpServers",
    "allowedMcpServers",
];

/// Rules, directories or variables in one list.
const MOST: usize = 2000;

/// # Errors
/// On broken JSON and wherever a restriction would be lost, with the line.
pub fn parse(
    text: &str,
    file: &Path,
    anchors: Anchors<'_>,
    tier: Tier,
) -> Result<Settings, ConfigError> {
    let mut reading = SettingsReading { file, anchors, tier, settings: Settings::default() };
    let text = plain_json(text);
    // An administrator's file is not left empty on purpose.
    if text.trim_start_matches('\u{feff}').trim().is_empty() && tier != Tier::Managed {
        reading.warn(None, "the file is empty");
        return Ok(reading.settings);
    }
    for (key, value) in Document::root(&text, file)?.object("the settings file")? {
        reading.key(&key, value)?;
    }
    Ok(reading.settings)
}

fn names(key: &str, value: Located<'_>) -> Vec<String> {
    value.list(key).unwrap_or_default().iter().filter_map(Located::scalar).collect()
}

struct SettingsReading<'a> {
    file: &'a Path,
    anchors: Anchors<'a>,
    tier: Tier,
    settings: Settings,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum RuleList {
    Allow,
    Ask,
    Deny,
}

impl RuleList {
    fn name(self) -> &'static str {
        match self {
            RuleList::Allow => "allow",
            RuleList::Ask => "ask",
            RuleList::Deny => "deny",
        }
    }
}

impl SettingsReading<'_> {
    /// Commands that the harness runs in worktrees.
    fn worktrees(&mut self, value: Located<'_>) -> Result<(), ConfigError> {
        if value.is_null() {
            return Ok(());
        }
        let fields = match value.object("worktrees") {
            Ok(fields) => fields,
            Err(error) => {
                self.warn(value.line(), &format!("{}, ignored", error.what));
                return Ok(());
            }
        };
        for (key, value) in fields {
            let when = match key.as_str() {
                "setup" => "in every new worktree",
                "teardown" => "before a worktree is removed",
                "check" => "to check the work of workers",
                _ => {
                    let what = format!(
                        "unknown key \"{key}\" in worktrees, ignored; use setup, teardown or check"
                    );
                    self.warn(value.line(), &what);
                    continue;
                }
            };
            match self.settings.values.read(&format!("worktrees.{key}"), value)? {
                Some(Err(why)) => self.warn(value.line(), &format!("{why}, ignored")),
                _ if value.is_null() => {}
                _ => {
                    let command = started_programs::escaped(&value.scalar().unwrap_or_default());
                    self.settings.executable = true;
                    self.settings.starts.push(format!("runs {when}: {command}"));
                }
            }
        }
        Ok(())
    }

    fn key(&mut self, key: &str, value: Located<'_>) -> Result<(), ConfigError> {
        // A key of a part, such as `worktrees.setup`, is read only there.
        let is_part = key.contains('.');
        if !is_part && let Some(read) = self.settings.values.read(key, value)? {
            if let Err(why) = read {
                self.warn(value.line(), &format!("{why}, ignored"));
            }
            return Ok(());
        }
        match key {
            "permissions" => return self.permissions(value),
            "env" => return self.env(value),
            "sandbox" => return self.sandbox(value),
            "worktrees" => return self.worktrees(value),
            "budget" if value.is_null() => return Ok(()),
            "budget" => {
                self.settings.budget = budget::parse(value)?;
                return Ok(());
            }
            "providers" if value.is_null() => return Ok(()),
            // Whoever names a provider learns everything that is sent to a model.
            "providers" if matches!(self.tier, Tier::Project | Tier::Local) => {
                self.warn(value.line(), "a project cannot set providers, ignored");
                return Ok(());
            }
            "providers" => {
                self.settings.providers = providers::parse(value, self.file)?;
                return Ok(());
            }
            "hooks" => self.hooks(value)?,
            "disableAllHooks" if value.is_set() => self.settings.no_hooks = Some(self.tier),
            "allowManagedHooksOnly" if self.tier == Tier::Managed => {
                self.settings.managed_hooks_only = value.is_set();
            }
            "mcpServers" if value.is_set() => {
                self.settings.servers = Some(ServersText::json(self.file, self.tier, value));
            }
            "disabledMcpjsonServers" => self.settings.disabled_servers = names(key, value),
            "deniedMcpServers" if !value.is_null() => self.settings.server_limits.deny(value)?,
            "allowedMcpServers" if !value.is_null() => self.settings.server_limits.allow(value)?,
            "apiKeyHelper" if value.is_set() => self.settings.key_helper = value.scalar(),
            _ => {}
        }
        // Someone relies on these, so they are reported instead of ignored silently.
        if key == "allowManagedPermissionRulesOnly" {
            if value.is_set() {
                self.warn(value.line(), &format!("{key} is not supported yet"));
            }
            return Ok(());
        }
        if let Some((_, what, runs)) = STARTS.iter().find(|(name, ..)| *name == key) {
            if value.is_set() {
                self.settings.starts(key, what, runs, value);
            }
        } else if !USED.contains(&key) && !UNUSED.contains(&key) {
            self.unknown(key, value, "the settings file", &RESTRICTIONS, &[])?;
        }
        Ok(())
    }

    /// An unknown key. One that was probably meant to restrict is an error, unless its value is empty.
    fn unknown(
        &mut self,
        key: &str,
        value: Located<'_>,
        place: &str,
        restrictions: &[&str],
        others: &[&str],
    ) -> Result<(), ConfigError> {
        if let Some(meant) = restriction(key, restrictions).filter(|_| value.is_set()) {
            return Err(value.wrong(format!(
                "unknown key \"{key}\" in {place} (did you mean \"{meant}\"?), a restriction would be lost; fix or \
                 remove it"
            )));
        }
        let hint = match nearest(key, others) {
            Some(meant) => format!(" (did you mean \"{meant}\"?)"),
            None => String::new(),
        };
        self.warn(value.line(), &format!("unknown key \"{key}\" in {place}{hint}, ignored"));
        Ok(())
    }

    fn hooks(&mut self, value: Located<'_>) -> Result<(), ConfigError> {
        let read = hooks_json::parse(value, self.file, self.tier)?;
        self.settings.hooks = read.hooks;
        for (line, what) in read.warnings {
            self.warn(line, &what);
        }
        Ok(())
    }

    fn permissions(&mut self, value: Located<'_>) -> Result<(), ConfigError> {
        if self.says_nothing(value, value.is_object(), "permissions must be an object") {
            return Ok(());
        }
        for (key, value) in value.object("permissions")? {
            match key.as_str() {
                "allow" => self.settings.policy.allow = self.rules(value, RuleList::Allow)?,
                "ask" => self.settings.policy.ask = self.rules(value, RuleList::Ask)?,
                "deny" => self.settings.policy.deny = self.rules(value, RuleList::Deny)?,
                "defaultMode" => self.mode(value)?,
                "additionalDirectories" => self.dirs(value),
                "disableBypassPermissionsMode" if !value.is_set() => {}
                "disableBypassPermissionsMode" => {
                    if value.text(&key)? != "disable" {
                        return Err(value.wrong(format!("{key} must be \"disable\"")));
                    }
                    self.settings.no_bypass = true;
                    self.settings.policy.no_bypass = true;
                }
                // About a mode and a question that do not exist here.
                "disableAutoMode" | "skipDangerousModePermissionPrompt" => {}
                _ if self.tier == Tier::Managed => {
                    return Err(value.wrong(format!(
                        "unknown key \"{key}\" in permissions; use allow, ask, deny, defaultMode, \
                         additionalDirectories or disableBypassPermissionsMode"
                    )));
                }
                _ => {
                    let restrictions = &RESTRICTIONS_OF_PERMISSIONS;
                    self.unknown(&key, value, "permissions", restrictions, &GRANTS)?;
                }
            }
        }
        Ok(())
    }

    /// True for a value of the wrong type that has no meaning anyway: `null`, `false`, `[]`. Nothing is lost.
    fn says_nothing(&mut self, value: Located<'_>, fits: bool, what: &str) -> bool {
        let nothing = !fits && !value.is_set();
        if nothing && !value.is_null() {
            self.warn(value.line(), &format!("{what}, ignored"));
        }
        nothing
    }

    fn rules(&mut self, value: Located<'_>, list: RuleList) -> Result<Vec<Rule>, ConfigError> {
        let name = list.name();
        if self.says_nothing(value, value.is_list(), &format!("{name} must be a list")) {
            return Ok(Vec::new());
        }
        let mut entries = match value.list(name) {
            Ok(entries) => entries,
            Err(error) => {
                self.left_out(list, error)?;
                return Ok(Vec::new());
            }
        };
        if entries.len() > MOST {
            let what = format!("more than {MOST} rules; write fewer, wider rules");
            self.left_out(list, value.wrong(what))?;
            entries.truncate(MOST);
        }
        let mut rules = Vec::new();
        for entry in entries {
            match self.rule(entry, list) {
                Ok(rule) => rules.push(rule),
                Err(error) => self.left_out(list, error)?,
            }
        }
        Ok(rules)
    }

    /// Without a rule that loosens there are only more questions. Without one that restricts nothing starts.
    fn left_out(&mut self, list: RuleList, error: ConfigError) -> Result<(), ConfigError> {
        if list != RuleList::Allow {
            return Err(error);
        }
        self.warn(error.line, &format!("allow rule ignored: {}", error.what));
        Ok(())
    }

    fn rule(&mut self, entry: Located<'_>, list: RuleList) -> Result<Rule, ConfigError> {
        let text = entry.text("a rule")?;
        let text = text.trim();
        if text.contains(['\n', '\r']) {
            return Err(
                entry.wrong(format!("\"{text}\" contains a line break; write it on one line"))
            );
        }
        if !is_plain(text) {
            return Err(entry.wrong("the rule contains an invisible character; remove it"));
        }
        let tool = text.split('(').next().unwrap_or_default();
        if let ToolName::Mistake(meant) = ToolName::of(tool, self.anchors.tools) {
            let what = format!("unknown tool \"{tool}\" (did you mean \"{meant}\"?)");
            return Err(entry.wrong(what));
        }
        let line = entry.line();
        let source = Source { tier: self.tier, file: Some(self.file.to_owned()), line: Some(line) };
        let error = match Rule::parse_at(text, self.anchors, source.clone()) {
            Ok(rule) => return Ok(rule),
            Err(error) => error,
        };
        // A form we do not know of a tool that we may: where it restricts, the whole tool is restricted.
        if matches!(error, RuleError::NoPattern(_) | RuleError::Empty(..))
            && list != RuleList::Allow
        {
            let said = if list == RuleList::Deny { "denied" } else { "asked about" };
            self.warn(line, &format!("the rule {text} is invalid, all of {tool} is {said}"));
            let whole = Rule::parse_at(tool, self.anchors, source);
            return whole.map_err(|error| entry.wrong(error.to_string()));
        }
        Err(entry.wrong(error.to_string()))
    }

    fn mode(&mut self, value: Located<'_>) -> Result<(), ConfigError> {
        if self.says_nothing(value, false, "defaultMode must be the name of a mode") {
            return Ok(());
        }
        let name = value.text("defaultMode")?;
        let looser = [Mode::AcceptEdits, Mode::BypassPermissions].map(Mode::name);
        match (Mode::parse(&name), nearest(&name, &looser)) {
            (Some(mode), _) => self.settings.mode = Some(mode),
            (None, _) if matches!(name.as_str(), "auto" | "delegate" | "manual") => {
                self.warn(value.line(), &format!("mode {name} is not supported, ignored"));
            }
            // Without it there are only more questions.
            (None, Some(meant)) => {
                let hint = format!("(did you mean \"{meant}\"?)");
                self.warn(value.line(), &format!("unknown mode \"{name}\" {hint}, ignored"));
            }
            (None, None) => {
                let names: Vec<_> = Mode::ALL.into_iter().map(Mode::name).collect();
                let known = names.join(", ");
                return Err(value.wrong(format!("unknown mode \"{name}\"; use one of {known}")));
            }
        }
        Ok(())
    }

    fn dirs(&mut self, value: Located<'_>) {
        let mut entries = match value.list("additionalDirectories") {
            Ok(entries) => entries,
            Err(_) if value.is_null() => return,
            Err(error) => return self.ignore(&error),
        };
        if entries.len() > MOST {
            self.warn(value.line(), &format!("more than {MOST} directories, the rest is ignored"));
            entries.truncate(MOST);
        }
        for entry in entries {
            match self.path(entry) {
                Ok(dir) => self.settings.dirs.push(dir),
                Err(error) => self.ignore(&error),
            }
        }
    }

    /// A path as a person writes it in this file.
    fn path(&self, entry: Located<'_>) -> Result<PathBuf, ConfigError> {
        let Anchors { cwd, home, settings, .. } = self.anchors;
        let base = if matches!(self.tier, Tier::Project | Tier::Local) { settings } else { cwd };
        let text = entry.text("a directory")?;
        if text.trim().is_empty() || !is_plain(&text) {
            return Err(entry.wrong("the path is empty; write the path of a directory"));
        }
        sandbox::below(&text, home, base).ok_or_else(|| {
            let what = "the home directory is unknown, so ~ cannot be resolved; set HOME or write the full path";
            entry.wrong(what)
        })
    }

    fn sandbox(&mut self, value: Located<'_>) -> Result<(), ConfigError> {
        if self.says_nothing(value, value.is_object(), "sandbox must be an object") {
            return Ok(());
        }
        let mut said = Vec::new();
        let mut warn = |line, what| said.push((line, what));
        self.settings.sandbox = sandbox::parse(value, &|entry| self.path(entry), &mut warn)?;
        said.into_iter().for_each(|(line, what)| self.warn(line, &what));
        Ok(())
    }

    /// # Errors
    /// If a name occurs twice.
    fn env(&mut self, value: Located<'_>) -> Result<(), ConfigError> {
        if !value.is_object() {
            if !value.is_null() {
                self.warn(value.line(), "env must be an object, ignored");
            }
            return Ok(());
        }
        for (nth, (name, value)) in value.object("env")?.into_iter().enumerate() {
            let usable = !name.is_empty() && is_plain(&name) && !name.contains('=') && nth < MOST;
            match value.scalar().filter(|text| usable && !text.contains('\0')) {
                Some(text) => self.settings.env.push((name, text)),
                None => self.warn(
                    value.line(),
                    &format!("the variable \"{name}\" has an invalid name or value, ignored"),
                ),
            }
        }
        Ok(())
    }

    fn ignore(&mut self, error: &ConfigError) {
        self.warn(error.line, &format!("{}, ignored", error.what));
    }

    fn warn(&mut self, line: impl Into<Option<usize>>, what: &str) {
        self.settings.warnings.push(self.file, line, what);
    }
}

#[cfg(test)]
#[path = "settings_json_tests.rs"]
mod tests;
