//! The `providers` part of settings: servers of models that a person adds. What an entry means is for whoever asks them.

use crate::ConfigError;
use crate::located_json::Located;
use serde_json::Value;
use std::path::{Path, PathBuf};

#[derive(Clone, Debug, PartialEq)]
pub struct ProviderEntry {
    /// Stands before the names of its models: `local/qwen3`.
    pub name: String,
    pub entry: Value,
    pub file: PathBuf,
    pub line: usize,
}

pub(crate) fn parse(value: Located<'_>, file: &Path) -> Result<Vec<ProviderEntry>, ConfigError> {
    let mut found = Vec::new();
    for (name, value) in value.object("providers")? {
        if !value.is_object() {
            return Err(value.wrong(format!("the provider \"{name}\" must be an object")));
        }
        let (entry, line) = (value.json()?, value.line());
        found.push(ProviderEntry { name, entry, file: file.to_owned(), line });
    }
    Ok(found)
}

/// What the later file says of a provider counts.
pub(crate) fn replace(known: &mut Vec<ProviderEntry>, later: Vec<ProviderEntry>) {
    for entry in later {
        known.retain(|other| other.name != entry.name);
        known.push(entry);
    }
}
