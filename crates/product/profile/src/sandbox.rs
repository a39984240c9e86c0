//! The sandbox as settings describe it; flags override them.

use crate::Profile;
use ostler::config::SandboxLimits;
use ostler::{ConfineOptions, LimitOptions};

impl Profile {
    pub fn sandbox(&self) -> ConfineOptions {
        let (strict, flags) = (ConfineOptions::default(), &self.flags);
        let settings = &self.loaded.sandbox;
        ConfineOptions {
            enabled: !flags.no_sandbox && settings.enabled.unwrap_or(strict.enabled),
            network: flags.network || settings.network.unwrap_or(strict.network),
            accept_missing: flags.accept_missing_layers
                || settings.accept_missing.unwrap_or(strict.accept_missing),
            may_lift: settings.may_lift.unwrap_or(strict.may_lift),
            allow_write: settings.allow_write.clone(),
            allow_read: settings.allow_read.clone(),
            deny_read: settings.deny_read.clone(),
            limits: limits(&settings.limits),
            limits_at_most: limits(&settings.limits_at_most),
        }
    }
}

fn limits(settings: &SandboxLimits) -> LimitOptions {
    let SandboxLimits { memory, processes, file_size } = *settings;
    LimitOptions { memory, processes, file_size }
}
