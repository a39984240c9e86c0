//! The files people write: settings, `permissions.yaml`, trust in a project's files, and saved approvals.
//!
//! `load` reads every layer and returns what is in effect. The caller passes all paths: no environment is read here.

mod agent_files;
pub mod approvals;
mod budget;
mod built_in_rules;
mod error;
mod files;
mod first_choice;
mod hook_programs;
mod hooks_json;
mod inactive_settings;
mod json_comments;
pub mod layers;
mod located_json;
mod misspelling;
mod output_styles;
pub mod permissions_yaml;
mod places;
mod plugins;
mod project_env;
mod project_files;
mod providers;
mod sandbox;
mod sandbox_limits;
mod seen_warnings;
mod server_limits;
mod servers_text;
pub mod settings_json;
mod settings_keys;
mod skill_folders;
#[cfg(test)]
mod stage1_keys_tests;
mod started_programs;
mod team_yaml;
#[cfg(test)]
mod test_ground;
pub mod trust;
pub mod values;
mod warnings;
#[cfg(test)]
mod wild_settings_tests;

pub use agent_files::{AgentFile, AgentFileState};
pub use approvals::{FileApprovals, KeptApproval};
pub use budget::Budget;
pub use built_in_rules::{DEFAULT_PERMISSIONS, default_policy};
pub use error::ConfigError;
pub use first_choice::{choose_mode, is_first_run};
pub use layers::{LoadedSettings, load};
pub use output_styles::{DEFAULT_STYLE, OutputStyles};
pub use permissions_yaml::from_json;
pub use places::{SettingsPlaces, Sources};
pub use plugins::{
    InstalledPlugin, Plugin, PluginAgent, PluginServer, PluginSkill, PluginSource, PluginState,
    forget_plugin, installed_plugins, is_plugin_name, keep_plugin, plugin_state, read_plugin,
};
pub use providers::ProviderEntry;
pub use sandbox::SandboxSettings;
pub use sandbox_limits::SandboxLimits;
pub use seen_warnings::unseen_warnings;
pub use server_limits::{ServerAddress, ServerLimits};
pub use servers_text::ServersText;
pub use settings_json::Settings;
pub use skill_folders::skill_folders;
pub use trust::{Untrusted, UntrustedFile, accept};
pub use values::Values;
pub use warnings::Warnings;

use ostler_core::permission::Rule;

/// The list a rule stands in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CheckKind {
    Deny,
    Ask,
    Allow,
}

/// Whether a rule, standing in that list, matches the text of a command. Examples in `permissions.yaml` are checked by it.
pub type Check<'a> = dyn Fn(CheckKind, &Rule, &str) -> bool + 'a;
