//! Plugins: directories with skills, commands, agents, hooks and MCP servers that somebody else wrote.
//!
//! A plugin that a person installed is in effect as long as every file in it is as it was when the person accepted it.
//! One that is named on the command line is in effect for that run. Neither decides what may run: its hooks run in the
//! sandbox, and what its skills and agents do is judged like everything else.

mod contents;
mod folder;
mod manifest;
mod registry;

pub use contents::{Plugin, PluginAgent, PluginServer, PluginSkill};
pub use folder::read_plugin;
pub use manifest::is_plugin_name;
pub use registry::{
    InstalledPlugin, PluginSource, PluginState, forget_plugin, installed_plugins, keep_plugin,
    plugin_state,
};

use crate::{ConfigError, SettingsPlaces};
use ostler_core::text::counted;

/// The plugins that are in effect, and lines about those that are not.
#[derive(Default)]
pub(crate) struct ActivePlugins {
    pub plugins: Vec<Plugin>,
    pub notices: Vec<String>,
}

/// # Errors
/// On a directory that the person named and that is no plugin, and on a record of plugins that cannot be read.
pub(crate) fn active(places: &SettingsPlaces) -> Result<ActivePlugins, ConfigError> {
    let mut active = ActivePlugins::default();
    for folder in &places.plugin_dirs {
        let plugin = read_plugin(&places.cwd.join(folder), &places.tools)?;
        active.add(plugin);
    }
    if places.sources.user {
        for installed in installed_plugins(places)? {
            active.installed(&installed, places);
        }
    }
    Ok(active)
}

impl ActivePlugins {
    /// The first of a name wins: what was named on the command line.
    fn add(&mut self, plugin: Plugin) {
        if self.plugins.iter().any(|known| known.name == plugin.name) {
            let line = format!("another plugin {} takes precedence over this one", plugin.name);
            self.notices.push(ConfigError::new(&plugin.root, None, line).to_string());
        } else {
            self.plugins.push(plugin);
        }
    }

    fn installed(&mut self, installed: &InstalledPlugin, places: &SettingsPlaces) {
        let name = &installed.name;
        match plugin_state(installed, places) {
            PluginState::Enabled(plugin) => self.add(*plugin),
            PluginState::Disabled => {}
            PluginState::Changed(_) => self.notices.push(format!(
                "the plugin {name} has changed since you accepted it and is disabled. `ostler plugin enable {name}` shows what it can do and asks"
            )),
            PluginState::Unusable(why) => {
                self.notices.push(format!("the plugin {name} is not loaded: {why}"));
            }
        }
    }
}

impl Plugin {
    /// What it can do, one line each, for a person who decides about it.
    pub fn abilities(&self) -> Vec<String> {
        let mut lines = Vec::new();
        for skill in &self.skills {
            let kind = if skill.is_command { "command" } else { "skill" };
            lines.push(format!("{kind} /{}: {}", skill.name, skill.description));
            lines.extend(skill.wants.iter().map(|want| format!("  {want}")));
        }
        for agent in &self.agents {
            let definition = &agent.definition;
            let tools =
                definition.tools.as_ref().map(|tools| format!(" (tools: {})", tools.join(", ")));
            let tools = tools.unwrap_or_default();
            lines.push(format!("agent {}: {}{tools}", definition.name, definition.description));
        }
        for hook in &self.hooks {
            lines.push(format!("hook on {}: runs {}", hook.event.name(), hook.what()));
        }
        for server in &self.servers {
            lines.push(format!("MCP server {}: {}", server.name, server.summary()));
        }
        if lines.is_empty() {
            lines.push("nothing that Ostler uses".into());
        }
        lines
    }

    /// How large it is.
    pub fn size(&self) -> String {
        let files = counted(self.files, "file");
        format!("{files}, {}", ostler_core::text::size(self.bytes))
    }
}

#[cfg(test)]
#[path = "plugin_tests.rs"]
mod tests;
