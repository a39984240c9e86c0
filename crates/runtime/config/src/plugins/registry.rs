//! Which plugins a person installed, and what of them the person accepted.

use super::contents::Plugin;
use super::folder::read_plugin;
use super::manifest::is_plugin_name;
use crate::files::{read_own, update};
use crate::{ConfigError, SettingsPlaces};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

const MOST_BYTES: u64 = 1 << 20;
const MOST: usize = 200;

/// Where a plugin came from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "from", rename_all = "snake_case")]
pub enum PluginSource {
    /// It is used where it is.
    Path,
    /// It was cloned; this commit was accepted.
    Git { url: String, commit: String },
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InstalledPlugin {
    #[serde(skip)]
    pub name: String,
    #[serde(flatten)]
    pub source: PluginSource,
    pub path: PathBuf,
    /// Over the content that was accepted.
    pub sha256: String,
    pub enabled: bool,
}

/// What became of a plugin since it was accepted.
pub enum PluginState {
    Enabled(Box<Plugin>),
    Disabled,
    /// Its content is not what was accepted.
    Changed(Box<Plugin>),
    Unusable(String),
}

impl PluginState {
    pub fn name(&self) -> &'static str {
        match self {
            PluginState::Enabled(_) => "enabled",
            PluginState::Disabled => "disabled",
            PluginState::Changed(_) => "changed",
            PluginState::Unusable(_) => "unusable",
        }
    }
}

#[derive(Default, Serialize, Deserialize)]
struct Record {
    version: u32,
    plugins: BTreeMap<String, InstalledPlugin>,
}

fn file(places: &SettingsPlaces) -> PathBuf {
    places.ostler_home.join("plugins.json")
}

fn parse(text: &str, file: &Path) -> Result<Record, ConfigError> {
    let record: Record = serde_json::from_str(text).map_err(|error| {
        ConfigError::new(file, error.line(), format!("{error}; fix or delete the file"))
    })?;
    if record.version != 1 {
        let what = "the version must be 1; delete the file to start over";
        return Err(ConfigError::new(file, None, what));
    }
    Ok(record)
}

/// By name.
///
/// # Errors
/// If the record cannot be read.
pub fn installed_plugins(places: &SettingsPlaces) -> Result<Vec<InstalledPlugin>, ConfigError> {
    let file = file(places);
    let Some(text) = read_own(&file, MOST_BYTES)? else { return Ok(Vec::new()) };
    let plugins = parse(&text, &file)?.plugins.into_iter();
    let plugins = plugins.filter(|(name, _)| is_plugin_name(name));
    Ok(plugins.map(|(name, plugin)| InstalledPlugin { name, ..plugin }).collect())
}

/// Adds a plugin or replaces what is known of it.
///
/// # Errors
/// If that cannot be stored.
pub fn keep_plugin(places: &SettingsPlaces, plugin: &InstalledPlugin) -> Result<(), ConfigError> {
    change(places, |plugins| {
        plugins.insert(plugin.name.clone(), plugin.clone());
    })
}

/// # Errors
/// If that cannot be stored.
pub fn forget_plugin(places: &SettingsPlaces, name: &str) -> Result<(), ConfigError> {
    change(places, |plugins| {
        plugins.remove(name);
    })
}

fn change(
    places: &SettingsPlaces,
    change: impl FnOnce(&mut BTreeMap<String, InstalledPlugin>),
) -> Result<(), ConfigError> {
    let file = file(places);
    update(&file, MOST_BYTES, |text| {
        let mut record = text.map(|text| parse(&text, &file)).transpose()?.unwrap_or_default();
        change(&mut record.plugins);
        record.version = 1;
        if record.plugins.len() > MOST {
            let what = format!("more than {MOST} plugins; remove some");
            return Err(ConfigError::new(&file, None, what));
        }
        let text = serde_json::to_string_pretty(&record)
            .map_err(|error| ConfigError::new(&file, None, error.to_string()))?;
        Ok(Some(text + "\n"))
    })
}

/// Reads the whole plugin, so that a changed file is noticed.
pub fn plugin_state(installed: &InstalledPlugin, places: &SettingsPlaces) -> PluginState {
    if !installed.enabled {
        return PluginState::Disabled;
    }
    match read_plugin(&installed.path, &places.tools) {
        Err(error) => PluginState::Unusable(error.to_string()),
        Ok(plugin) if plugin.name != installed.name => {
            PluginState::Unusable(format!("its name is now {}", plugin.name))
        }
        Ok(plugin) if plugin.sha256 != installed.sha256 => PluginState::Changed(Box::new(plugin)),
        Ok(plugin) => PluginState::Enabled(Box::new(plugin)),
    }
}
