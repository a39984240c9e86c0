//! The first choice a person makes, kept as a settings file of their own.

use crate::files::update;
use crate::{ConfigError, SettingsPlaces};
use ostler_core::permission::Mode;

const MOST: u64 = 4096;

/// Nothing of the user's own says how much may run unasked.
pub fn is_first_run(places: &SettingsPlaces) -> bool {
    let own = ["settings.json", "permissions.yaml"].map(|name| places.ostler_home.join(name));
    let other = places.claude_home.as_ref().map(|home| home.join("settings.json"));
    !own.iter().chain(&other).any(|file| file.symlink_metadata().is_ok())
}

/// Writes `settings.json` with the mode; a file that is there stays as it is.
///
/// # Errors
/// If it cannot be written.
pub fn choose_mode(places: &SettingsPlaces, mode: Mode) -> Result<(), ConfigError> {
    let text = format!("{{\n  \"permissions\": {{ \"defaultMode\": \"{}\" }}\n}}\n", mode.name());
    let file = places.ostler_home.join("settings.json");
    update(&file, MOST, |there| Ok(there.is_none().then_some(text)))
}
