//! The command line as flags of a profile.

use super::permissions::ExplainArgs;
use super::{ConfigArgs, PermissionMode, RunArgs, SandboxFlags};
use ostler::Mode;
use ostler_profile::{Flags, split_list};

impl RunArgs {
    pub fn flags(&self) -> Flags {
        Flags {
            cwd: None,
            add_dirs: self.add_dir.clone(),
            model: self.model.clone(),
            fallback_model: self.fallback_model.clone(),
            fast: self.fast,
            system_prompt: self.system_prompt.clone(),
            append_system_prompt: self.append_system_prompt.clone(),
            max_turns: self.max_turns,
            max_budget_usd: self.max_budget_usd,
            max_day_budget_usd: self.max_day_budget_usd,
            mode: match self.sdk.dangerously_skip_permissions {
                true => Some(Mode::BypassPermissions),
                false => self.permission_mode.map(Mode::from),
            },
            allow: split_list(&self.allowed_tools),
            deny: split_list(&self.disallowed_tools),
            tools: (!self.tools.is_empty()).then(|| split_list(&self.tools)),
            no_undo: self.no_undo,
            mcp_config: self.mcp_config.clone(),
            strict_mcp_config: self.strict_mcp_config,
            keep_jobs: self.keep_jobs,
            resume: self.resume.clone(),
            continue_newest: self.continue_,
            fork: self.fork_session,
            fork_at: self.at.clone(),
            session_id: self.session_id.clone(),
            raw_events: self.include_partial_messages,
            ..self.sdk.added_to(self.sandbox.added_to(self.config.flags()))
        }
    }
}

impl ConfigArgs {
    pub fn flags(&self) -> Flags {
        Flags {
            settings: self.settings.clone(),
            setting_sources: self.setting_sources.clone(),
            plugin_dirs: self.plugin_dir.clone(),
            ..Flags::default()
        }
    }
}

impl ExplainArgs {
    pub fn flags(&self) -> Flags {
        Flags {
            mode: self.permission_mode.map(Mode::from),
            allow: split_list(&self.allowed_tools),
            deny: split_list(&self.disallowed_tools),
            add_dirs: self.add_dir.clone(),
            no_undo: self.no_undo,
            network: self.network,
            accept_missing_layers: self.accept_missing_layers,
            no_sandbox: self.no_sandbox,
            ..self.config.flags()
        }
    }
}

impl SandboxFlags {
    pub(super) fn added_to(&self, flags: Flags) -> Flags {
        let SandboxFlags { network, accept_missing_layers, no_sandbox } = *self;
        Flags { network, accept_missing_layers, no_sandbox, ..flags }
    }
}

impl From<PermissionMode> for Mode {
    fn from(mode: PermissionMode) -> Self {
        match mode {
            PermissionMode::Default | PermissionMode::Auto => Mode::Default,
            PermissionMode::AcceptEdits => Mode::AcceptEdits,
            PermissionMode::Plan => Mode::Plan,
            PermissionMode::DontAsk => Mode::DontAsk,
            PermissionMode::BypassPermissions => Mode::BypassPermissions,
        }
    }
}
