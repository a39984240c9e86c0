//! Hooks with the secrets that they name.

use crate::{Profile, ProfileError};
use ostler::{HookAction, HookSecret, HookSpec};

impl Profile {
    /// # Errors
    /// If a variable that a hook signs with is not set.
    pub fn hooks(&self) -> Result<Vec<HookSpec>, ProfileError> {
        let mut specs = self.loaded.hooks.clone();
        for spec in &mut specs {
            let place = spec.source.to_string();
            if let HookAction::Http { secret, secret_env: Some(name), .. } = &mut spec.action {
                let missing = || {
                    ProfileError::Config(format!(
                        "the hook at {place} signs with the variable {name}, which is not set. Set it, or remove the \
                         hook"
                    ))
                };
                *secret = Some(HookSecret::new(self.environment.text(name).ok_or_else(missing)?));
            }
        }
        Ok(specs)
    }
}
