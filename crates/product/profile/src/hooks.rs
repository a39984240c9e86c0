//! Hooks with the secrets that they name.

use crate::{Profile, ProfileError};
use ostler::{HookAction, HookSecret, HookSpec};

impl Profile {
    /// # Errors
    /// If a variable that a hook signs with is not set.
    pub fn hooks(&self) -> Result<Vec<HookSpec>, ProfileError> {
        let (hooks, unusable) = self.usable_hooks();
        match unusable.into_iter().next() {
            Some((_, why)) => Err(why),
            None => Ok(hooks),
        }
    }

    /// Those that can run, and those that cannot, with the reason.
    pub fn usable_hooks(&self) -> (Vec<HookSpec>, Vec<(HookSpec, ProfileError)>) {
        let (mut usable, mut unusable) = (Vec::new(), Vec::new());
        for spec in &self.loaded.hooks {
            match self.with_secret(spec.clone()) {
                Ok(spec) => usable.push(spec),
                Err(why) => unusable.push((spec.clone(), why)),
            }
        }
        (usable, unusable)
    }

    fn with_secret(&self, mut spec: HookSpec) -> Result<HookSpec, ProfileError> {
        let place = spec.source.to_string();
        if let HookAction::Http { secret, secret_env: Some(name), .. } = &mut spec.action {
            let missing = || {
                ProfileError::Config(format!(
                    "the hook at {place} signs with the variable {name}, which is not set. Set it, or remove the hook"
                ))
            };
            *secret = Some(HookSecret::new(self.environment.text(name).ok_or_else(missing)?));
        }
        Ok(spec)
    }
}
