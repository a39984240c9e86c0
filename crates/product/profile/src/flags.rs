//! What a person chose for one run, whichever surface it came through.

use crate::ProfileError;
use ostler::{
    Effort, ForkPoint, ForkSource, Mode, RequestExtras, SessionChoice, SessionId, Thinking,
};
use std::path::PathBuf;

/// The default leaves everything to settings and environment.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Flags {
    /// Where to work; none: the working directory of this process.
    pub cwd: Option<PathBuf>,
    pub add_dirs: Vec<PathBuf>,
    pub model: Option<String>,
    pub fallback_model: Option<String>,
    /// Use the model's fast mode; settings may choose it, too.
    pub fast: bool,
    pub system_prompt: Option<String>,
    pub append_system_prompt: Option<String>,
    pub max_turns: Option<u32>,
    pub max_budget_usd: Option<f64>,
    pub max_day_budget_usd: Option<f64>,
    pub mode: Option<Mode>,
    /// Rules, one each; [`split_list`] separates those that were written in one text.
    pub allow: Vec<String>,
    pub deny: Vec<String>,
    /// The tools on offer; none, or the one name "default": all of them.
    pub tools: Option<Vec<String>>,
    /// Additional settings: a file or a JSON object.
    pub settings: Option<String>,
    /// Directories of plugins for this run.
    pub plugin_dirs: Vec<PathBuf>,
    /// Which settings files to load: any of `user,project,local`.
    pub setting_sources: Option<String>,
    /// MCP servers: files or JSON objects.
    pub mcp_config: Vec<String>,
    /// Only those of `mcp_config`.
    pub strict_mcp_config: bool,
    pub network: bool,
    pub accept_missing_layers: bool,
    pub no_sandbox: bool,
    pub no_undo: bool,
    /// Background jobs outlive the process; settings may choose it, too.
    pub keep_jobs: bool,
    pub resume: Option<String>,
    pub continue_newest: bool,
    pub fork: bool,
    /// Where the fork ends, a turn or an entry; none: at the end.
    pub fork_at: Option<String>,
    pub session_id: Option<String>,
    /// Pass the provider's own events on.
    pub raw_events: bool,
    /// How hard the model tries.
    pub effort: Option<Effort>,
    pub thinking: Option<Thinking>,
    /// Sent with every request as they are.
    pub extras: RequestExtras,
    /// The mode that asks nothing may be chosen while the session runs.
    pub may_bypass: Option<bool>,
}

impl Flags {
    pub(crate) fn session(&self) -> Result<SessionChoice, ProfileError> {
        let usage = |text: &str| Err(ProfileError::Usage(text.to_owned()));
        if self.fork_at.is_some() && !self.fork {
            return usage("--at needs --fork-session");
        }
        let at = match self.fork_at.as_deref().map(str::parse::<ForkPoint>) {
            Some(Ok(at)) => at,
            Some(Err(why)) => return usage(&format!("--at {why}")),
            None => ForkPoint::End,
        };
        if let Some(id) = self.session_id.as_deref().filter(|id| !ostler::is_uuid(id)) {
            return usage(&format!("--session-id must be a UUID, not \"{id}\""));
        }
        let name = self.session_id.as_deref().map(SessionId::new);
        match (&self.resume, self.continue_newest, self.fork, name) {
            (resumed, continued, true, name) if resumed.is_some() || continued => {
                Ok(SessionChoice::Fork(ForkSource { session: resumed.clone(), at, name }))
            }
            (Some(_), _, false, Some(_)) => {
                usage("--session-id with --resume needs --fork-session")
            }
            (None, true, false, Some(_)) => {
                usage("--session-id with --continue needs --fork-session")
            }
            (Some(id), ..) => Ok(SessionChoice::Resume(id.clone())),
            (None, true, ..) => Ok(SessionChoice::Continue),
            (None, false, true, _) => usage("--fork-session needs --resume ID or --continue"),
            (None, false, false, Some(id)) => Ok(SessionChoice::Named(id)),
            (None, false, false, None) => Ok(SessionChoice::New),
        }
    }
}

/// Splits `Read,Edit(./a,b/**) Bash` at commas and blanks outside parentheses.
pub fn split_list(values: &[String]) -> Vec<String> {
    let mut items = Vec::new();
    for value in values {
        let (mut item, mut depth) = (String::new(), 0usize);
        for c in value.chars() {
            match c {
                '(' => depth += 1,
                ')' => depth = depth.saturating_sub(1),
                _ => {}
            }
            if depth == 0 && (c == ',' || c.is_whitespace()) {
                items.push(std::mem::take(&mut item));
            } else {
                item.push(c);
            }
        }
        items.push(item);
    }
    items.retain(|item| !item.is_empty());
    items
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_split_outside_parentheses() {
        let split = |text: &str| split_list(&[text.to_owned()]);
        assert_eq!(split("Read,Edit(./a, b/**) Bash"), ["Read", "Edit(./a, b/**)", "Bash"]);
        assert_eq!(split(""), [] as [&str; 0]);
        assert_eq!(split("  Read ,, Grep "), ["Read", "Grep"]);
    }

    #[test]
    fn an_id_is_for_a_session_that_is_new() {
        const ID: &str = "0196f3a2-0000-4000-8000-000000000000";
        let chosen = |resume: Option<&str>, continue_newest, fork, id: Option<&str>| {
            let (resume, session_id) = (resume.map(str::to_owned), id.map(str::to_owned));
            Flags { resume, continue_newest, fork, session_id, ..Flags::default() }.session()
        };
        let name = Some(SessionId::new(ID));
        for (resume, continued) in [(Some("s"), false), (None, true)] {
            let session = resume.map(str::to_owned);
            let fork = ForkSource { session, at: ForkPoint::End, name: name.clone() };
            let found = chosen(resume, continued, true, Some(ID));
            assert!(matches!(found, Ok(SessionChoice::Fork(it)) if it == fork), "{resume:?}");
            let refused = chosen(resume, continued, false, Some(ID)).unwrap_err().to_string();
            assert!(refused.contains("needs --fork-session"), "{refused}");
            let refused = chosen(resume, continued, true, Some("x")).unwrap_err().to_string();
            assert!(refused.contains("must be a UUID"), "{refused}");
        }
    }
}
