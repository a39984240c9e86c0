//! `settings.json`, as Claude Code writes it. Lenient about what it does not use, strict about permissions.

use crate::budget::{self, Budget};
use crate::compaction::Compaction;
use crate::error::{is_plain, one_line};
use crate::located::{Document, Located};
use crate::sandbox::{self, Sandbox};
use crate::settings_keys::{STARTS, UNUSED};
use crate::{ConfigError, hooks_json, starts};
use ostler_core::hook::HookSpec;
use ostler_core::permission::{Anchors, Mode, Policy, Rule, RuleError, Source, Tier, ToolName};
use std::path::{Path, PathBuf};

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Settings {
    pub policy: Policy,
    pub mode: Option<Mode>,
    pub dirs: Vec<PathBuf>,
    pub env: Vec<(String, String)>,
    pub model: Option<String>,
    pub no_bypass: bool,
    pub sandbox: Sandbox,
    pub hooks: Vec<HookSpec>,
    /// Who says that hooks are not to run.
    pub no_hooks: Option<Tier>,
    pub managed_hooks_only: bool,
    pub budget: Budget,
    pub compaction: Compaction,
    /// It would start programs: hooks, MCP servers, plugins, helpers.
    pub executable: bool,
    /// The same in words, one each: "has a hook on Stop: make lint".
    pub starts: Vec<String>,
    /// What of it does not run yet: "plugins".
    pub not_run: Vec<String>,
    /// The program that `apiKeyHelper` names.
    pub key_helper: Option<String>,
    pub warnings: Vec<String>,
}

impl Settings {
    /// `key` would start something: `what` in words, and `runs` by its name.
    pub(crate) fn starts(&mut self, key: &str, what: &str, runs: &str, value: Located<'_>) {
        self.executable = true;
        for line in starts::named(key, what, value) {
            if !self.starts.contains(&line) {
                self.starts.push(line);
            }
        }
        if !runs.is_empty() && !self.not_run.iter().any(|known| known == runs) {
            self.not_run.push(runs.to_owned());
        }
    }
}

/// Keys that are read one by one.
const USED: [&str; 3] = ["model", "disableAllHooks", "allowManagedHooksOnly"];

/// Rules, folders or variables in one list.
const MOST: usize = 2000;

/// # Errors
/// On broken JSON and on anything in `permissions` that is not understood, with the line.
pub fn parse(
    text: &str,
    file: &Path,
    anchors: Anchors<'_>,
    tier: Tier,
) -> Result<Settings, ConfigError> {
    let mut reading = Reading { file, anchors, tier, settings: Settings::default() };
    for (key, value) in Document::root(text, file)?.object("the settings file")? {
        reading.key(&key, value)?;
    }
    Ok(reading.settings)
}

struct Reading<'a> {
    file: &'a Path,
    anchors: Anchors<'a>,
    tier: Tier,
    settings: Settings,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum List {
    Allow,
    Ask,
    Deny,
}

impl Reading<'_> {
    fn key(&mut self, key: &str, value: Located<'_>) -> Result<(), ConfigError> {
        match key {
            "permissions" => return self.permissions(value),
            "env" => return self.env(value),
            "sandbox" => return self.sandbox(value),
            "budget" => {
                self.settings.budget = budget::parse(value)?;
                return Ok(());
            }
            _ if Compaction::is_key(key) => {
                if let Err(what) = self.settings.compaction.read(key, value) {
                    self.warn(value.line(), what);
                }
                return Ok(());
            }
            "hooks" => self.hooks(value)?,
            "disableAllHooks" if value.is_set() => self.settings.no_hooks = Some(self.tier),
            "allowManagedHooksOnly" if self.tier == Tier::Managed => {
                self.settings.managed_hooks_only = value.is_set();
            }
            "model" if value.is_null() => {}
            "model" => self.settings.model = Some(value.text("model")?),
            "apiKeyHelper" if value.is_set() => self.settings.key_helper = value.scalar(),
            _ => {}
        }
        // Someone relies on these: better said than passed over.
        if key == "allowManagedPermissionRulesOnly" {
            if value.is_set() {
                self.warn(value.line(), format!("{key} is not honoured yet"));
            }
            return Ok(());
        }
        if let Some((_, what, runs)) = STARTS.iter().find(|(name, ..)| *name == key) {
            if value.is_set() {
                self.settings.starts(key, what, runs, value);
            }
        } else if !USED.contains(&key) && !UNUSED.contains(&key) {
            self.warn(value.line(), format!("\"{key}\" is not known, ignored"));
        }
        Ok(())
    }

    fn hooks(&mut self, value: Located<'_>) -> Result<(), ConfigError> {
        let read = hooks_json::parse(value, self.file, self.tier)?;
        self.settings.hooks = read.hooks;
        for (line, what) in read.warnings {
            self.warn(line, what);
        }
        Ok(())
    }

    fn permissions(&mut self, value: Located<'_>) -> Result<(), ConfigError> {
        for (key, value) in value.object("permissions")? {
            match key.as_str() {
                "allow" => self.settings.policy.allow = self.rules(value, List::Allow)?,
                "ask" => self.settings.policy.ask = self.rules(value, List::Ask)?,
                "deny" => self.settings.policy.deny = self.rules(value, List::Deny)?,
                "defaultMode" => self.mode(value)?,
                "additionalDirectories" => self.dirs(value)?,
                "disableBypassPermissionsMode" => {
                    if value.text(&key)? != "disable" {
                        return Err(value.wrong(format!("{key} must be \"disable\"")));
                    }
                    self.settings.no_bypass = true;
                    self.settings.policy.no_bypass = true;
                }
                // About a mode and a question that do not exist here.
                "disableAutoMode" | "skipDangerousModePermissionPrompt" => {}
                _ => {
                    return Err(value.wrong(format!(
                        "\"{key}\" is not known in permissions, write allow, ask, deny, defaultMode, \
                         additionalDirectories or disableBypassPermissionsMode"
                    )));
                }
            }
        }
        Ok(())
    }

    fn rules(&mut self, value: Located<'_>, list: List) -> Result<Vec<Rule>, ConfigError> {
        let entries = value.list("a list of rules")?;
        if entries.len() > MOST {
            return Err(value.wrong(format!("more than {MOST} rules, write fewer and wider ones")));
        }
        let mut rules = Vec::new();
        for entry in entries {
            let text = entry.text("a rule")?;
            if !is_plain(&text) {
                return Err(entry.wrong("there is an invisible character in the rule, remove it"));
            }
            rules.extend(self.rule(&text, entry, list)?);
        }
        Ok(rules)
    }

    fn rule(
        &mut self,
        text: &str,
        entry: Located<'_>,
        list: List,
    ) -> Result<Option<Rule>, ConfigError> {
        let line = entry.line();
        let source = Source { tier: self.tier, file: Some(self.file.to_owned()), line: Some(line) };
        let tool = text.trim().split('(').next().unwrap_or_default();
        if !self.is_named(tool, entry, list)? {
            return Ok(None);
        }
        let error = match Rule::parse_at(text, self.anchors, source.clone()) {
            Ok(rule) => return Ok(Some(rule)),
            Err(error) => error,
        };
        // A form we do not know of a tool that we may: ignored where it loosens, the whole tool where it tightens.
        match error {
            RuleError::NoPattern(_) if list == List::Allow => {
                self.warn(line, format!("the rule {text} is not understood, ignored"));
                Ok(None)
            }
            RuleError::NoPattern(_) => {
                let said = if list == List::Deny { "denied" } else { "asked about" };
                self.warn(
                    line,
                    format!("the rule {text} is not understood, all of {tool} is {said}"),
                );
                let whole = Rule::parse_at(tool, self.anchors, source);
                whole.map(Some).map_err(|error| entry.wrong(error.to_string()))
            }
            error => Err(entry.wrong(error.to_string())),
        }
    }

    /// Whether the rule can speak of a tool. One that tightens would be lost by a spelling mistake, so that is an error.
    fn is_named(
        &mut self,
        tool: &str,
        entry: Located<'_>,
        list: List,
    ) -> Result<bool, ConfigError> {
        match ToolName::of(tool, self.anchors.tools) {
            ToolName::Mistake(meant) => {
                let what = format!("unknown tool \"{tool}\" (did you mean \"{meant}\"?)");
                if list != List::Allow {
                    return Err(entry.wrong(what));
                }
                self.warn(entry.line(), what + ", ignored");
                Ok(false)
            }
            ToolName::Ours | ToolName::Elsewhere | ToolName::Unknown => Ok(true),
        }
    }

    fn mode(&mut self, value: Located<'_>) -> Result<(), ConfigError> {
        let name = value.text("defaultMode")?;
        match (Mode::parse(&name), name.as_str()) {
            (Some(mode), _) => self.settings.mode = Some(mode),
            (None, "auto" | "delegate" | "manual") => {
                self.warn(value.line(), format!("there is no mode {name} here, ignored"));
            }
            (None, _) => {
                let names: Vec<_> = Mode::ALL.into_iter().map(Mode::name).collect();
                let known = names.join(", ");
                return Err(value.wrong(format!("\"{name}\" is no mode, write one of {known}")));
            }
        }
        Ok(())
    }

    fn dirs(&mut self, value: Located<'_>) -> Result<(), ConfigError> {
        let entries = value.list("additionalDirectories")?;
        if entries.len() > MOST {
            return Err(value.wrong(format!("more than {MOST} folders, name fewer")));
        }
        for entry in entries {
            let dir = self.path(entry)?;
            self.settings.dirs.push(dir);
        }
        Ok(())
    }

    /// A path as a person writes it in this file.
    fn path(&self, entry: Located<'_>) -> Result<PathBuf, ConfigError> {
        let Anchors { cwd, home, settings, .. } = self.anchors;
        let base = if matches!(self.tier, Tier::Project | Tier::Local) { settings } else { cwd };
        let text = entry.text("a folder")?;
        if text.trim().is_empty() || !is_plain(&text) {
            return Err(entry.wrong("a folder must have a name, write its path"));
        }
        sandbox::below(&text, home, base).ok_or_else(|| {
            let what = "the home folder is not known, so ~ cannot be resolved, set HOME or write the path out";
            entry.wrong(what)
        })
    }

    fn sandbox(&mut self, value: Located<'_>) -> Result<(), ConfigError> {
        if value.is_null() {
            return Ok(());
        }
        let mut said = Vec::new();
        let mut warn = |line, what| said.push((line, what));
        self.settings.sandbox = sandbox::parse(value, &|entry| self.path(entry), &mut warn)?;
        said.into_iter().for_each(|(line, what)| self.warn(line, what));
        Ok(())
    }

    fn env(&mut self, value: Located<'_>) -> Result<(), ConfigError> {
        if value.is_null() {
            return Ok(());
        }
        let pairs = value.object("env")?;
        if pairs.len() > MOST {
            return Err(value.wrong(format!("more than {MOST} variables, set fewer")));
        }
        for (name, value) in pairs {
            let usable = !name.is_empty() && is_plain(&name) && !name.contains('=');
            match value.scalar().filter(|text| usable && !text.contains('\0')) {
                Some(text) => self.settings.env.push((name, text)),
                None => self.warn(
                    value.line(),
                    format!("the variable \"{name}\" cannot be set so, ignored"),
                ),
            }
        }
        Ok(())
    }

    fn warn(&mut self, line: usize, what: String) {
        let warning = format!("{}:{line}: {what}", self.file.display());
        if self.settings.warnings.len() < MOST_WARNINGS {
            self.settings.warnings.push(one_line(&warning));
        }
    }
}

/// Warnings about one file.
const MOST_WARNINGS: usize = 20;

#[cfg(test)]
#[path = "settings_json_tests.rs"]
mod tests;
