//! Variables of the environment that programs set for Claude Code, as options of the session.

use crate::exit::warn;
use ostler::SessionOptions;
use ostler_profile::Environment;

const NO_JOBS: &str = "CLAUDE_CODE_DISABLE_BACKGROUND_TASKS";
const TASKS: &str = "CLAUDE_CODE_ENABLE_TASKS";
const TOOL_SEARCH: &str = "ENABLE_TOOL_SEARCH";

/// Gives those that change nothing.
pub fn apply(environment: &Environment, session: &mut SessionOptions) -> Vec<String> {
    let mut without_effect = Vec::new();
    add_given(environment, session);
    let value = |name: &str| environment.text(name).filter(|value| !value.is_empty());
    match value(NO_JOBS).is_some_and(|value| is_on(&value)) {
        true => session.jobs.most = 0,
        // As in Claude Code.
        false => session.jobs.take_late_commands = true,
    }
    if value(TASKS).is_some_and(|value| !is_on(&value)) {
        without_effect.push(TASKS.to_owned());
    }
    if let Some(value) = value(TOOL_SEARCH) {
        match share(&value) {
            Some(Some(share)) => session.mcp.share = share,
            Some(None) => {}
            None => warn(&format!(
                "{TOOL_SEARCH}={value} has no effect; use true, false, auto or auto:N"
            )),
        }
    }
    without_effect
}

/// Programs give commands their variables by giving them to us. What the program itself inherited is not meant for them.
fn add_given(environment: &Environment, session: &mut SessionOptions) {
    let program = rustix::process::getppid().map(|id| id.as_raw_nonzero());
    let theirs = program.and_then(|id| std::fs::read(format!("/proc/{id}/environ")).ok());
    let given = theirs.map(|theirs| environment.set_by_program(&theirs)).unwrap_or_default();
    for (name, value) in given {
        if session.environment.iter().all(|(had, _)| *had != name) {
            session.environment.push((name, value));
        }
    }
}

fn is_on(value: &str) -> bool {
    !["0", "false", "no", "off"].contains(&value.to_lowercase().as_str())
}

/// The share of the context window beyond which tools are searched for, in percent. The inner none: the usual one.
fn share(value: &str) -> Option<Option<u64>> {
    match value.to_lowercase().as_str() {
        "auto" => Some(None),
        "1" | "true" | "yes" | "on" => Some(Some(0)),
        "0" | "false" | "no" | "off" => Some(Some(100)),
        other => other.strip_prefix("auto:")?.parse().ok().filter(|share| *share <= 100).map(Some),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_a_switch_or_a_number() {
        for (value, expected) in [
            ("true", Some(Some(0))),
            ("0", Some(Some(100))),
            ("auto", Some(None)),
            ("auto:25", Some(Some(25))),
            ("auto:101", None),
            ("sometimes", None),
        ] {
            assert_eq!(share(value), expected, "{value}");
        }
        assert!(is_on("1") && is_on("true") && !is_on("0") && !is_on("False"));
    }
}
