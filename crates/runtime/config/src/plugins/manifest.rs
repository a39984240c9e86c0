//! What a plugin says about itself.

use super::folder::PluginFolder;
use crate::ConfigError;
use crate::error::{is_plain, one_line};
use serde_json::Value;

/// Ours first.
const FILES: [&str; 2] = [".ostler-plugin/plugin.json", ".claude-plugin/plugin.json"];
/// What a manifest can name that Ostler does not use.
const NOT_USED: [&str; 8] = [
    "commands",
    "agents",
    "skills",
    "lspServers",
    "outputStyles",
    "monitors",
    "channels",
    "userConfig",
];
const LONGEST_NAME: usize = 32;

pub(super) struct Manifest {
    pub name: String,
    pub version: String,
    pub description: String,
    /// Inline, or the name of a file.
    pub hooks: Option<Value>,
    pub servers: Option<Value>,
    pub warnings: Vec<String>,
}

/// Lower-case letters, digits, `-`, `_` and `.`; begins with a letter or a digit. It becomes a part of other names and of a path.
pub fn is_plugin_name(name: &str) -> bool {
    let legal =
        |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-_.".contains(&byte);
    let begins = name.bytes().next().is_some_and(|byte| byte.is_ascii_alphanumeric());
    begins && name.len() <= LONGEST_NAME && name.bytes().all(legal)
}

impl Manifest {
    pub fn of(folder: &PluginFolder) -> Result<Self, ConfigError> {
        let found = FILES.iter().find_map(|file| Some((*file, folder.texts.get(*file)?)));
        let Some((file, bytes)) = found else {
            let what = format!("this is not a plugin: it has no {}", FILES.join(" or "));
            return Err(ConfigError::new(&folder.root, None, what));
        };
        let path = folder.root.join(file);
        let wrong = |what: String| ConfigError::new(&path, None, what);
        let manifest: Value = serde_json::from_slice(bytes).map_err(|error| {
            ConfigError::new(&path, error.line(), format!("this is not JSON: {error}"))
        })?;
        let text = |key: &str| manifest.get(key).and_then(Value::as_str);
        let name = text("name").ok_or_else(|| wrong("\"name\" is missing".into()))?;
        if !is_plugin_name(name) {
            return Err(wrong(format!(
                "\"{name}\" cannot be the name of a plugin; use lower-case letters, digits, - and _, at most {LONGEST_NAME}"
            )));
        }
        let line = |key: &str| text(key).map(one_line).unwrap_or_default();
        let set = |key: &&&str| manifest.get(**key).is_some_and(|value| !value.is_null());
        let warnings = NOT_USED
            .iter()
            .filter(set)
            .map(|key| wrong(format!("\"{key}\" is not used; Ostler reads the directories skills, commands and agents")).to_string())
            .collect();
        Ok(Manifest {
            name: name.to_owned(),
            version: Some(line("version")).filter(|it| is_plain(it)).unwrap_or_default(),
            description: line("description"),
            hooks: manifest.get("hooks").cloned(),
            servers: manifest.get("mcpServers").cloned(),
            warnings,
        })
    }
}
