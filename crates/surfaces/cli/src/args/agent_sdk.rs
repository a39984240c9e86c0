//! Flags of programs that drive Ostler through pipes: those that the Claude Agent SDKs pass.

use clap::ValueEnum;
use ostler::{Effort, RequestExtras, Thinking};
use ostler_profile::{Flags, split_list};
use std::ffi::OsString;
use std::path::PathBuf;

const SDK: &str = "Programs that use an Agent SDK (docs/agent-sdk.md)";

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum InputFormat {
    /// Standard input is added to the prompt
    #[default]
    Text,
    /// Messages and requests, one JSON object per line
    StreamJson,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ThinkingChoice {
    Adaptive,
    Enabled,
    Disabled,
}

#[derive(Clone, Debug, Default, clap::Args)]
pub struct AgentSdkArgs {
    /// Choose what standard input contains
    #[arg(long, value_enum, default_value_t = InputFormat::Text, value_name = "FORMAT", help_heading = SDK)]
    pub input_format: InputFormat,
    /// Echo each message from the program back to it when its turn begins
    #[arg(long, help_heading = SDK)]
    pub replay_user_messages: bool,
    /// Report when command hooks start and end
    #[arg(long, help_heading = SDK)]
    pub include_hook_events: bool,
    /// Ask the program about permissions: "stdio", or the name of an MCP tool
    #[arg(long, value_name = "TOOL", help_heading = SDK)]
    pub permission_prompt_tool: Option<String>,
    /// Answer with an object that matches this JSON schema
    #[arg(long, value_name = "JSON", help_heading = SDK)]
    pub json_schema: Option<String>,
    /// Also send every line of the transcript to the program
    #[arg(long, help_heading = SDK)]
    pub session_mirror: bool,
    /// Write no transcript for the SDKs
    #[arg(long, help_heading = SDK)]
    pub no_session_persistence: bool,
    /// Continue after the turn that contains this message
    #[arg(long, value_name = "UUID", help_heading = SDK)]
    pub resume_session_at: Option<String>,
    /// Continue from before the turn that contains this message
    #[arg(long, value_name = "UUID", help_heading = SDK)]
    pub resume_drops_turn: Option<String>,
    /// Define agents: a JSON object that maps each name to a description, prompt, …
    #[arg(long, value_name = "JSON", help_heading = SDK)]
    pub agents: Option<String>,
    /// Replace the system prompt with the content of a file
    #[arg(long, value_name = "FILE", conflicts_with = "system_prompt", help_heading = SDK)]
    pub system_prompt_file: Option<PathBuf>,
    /// Append the content of a file to the system prompt
    #[arg(long, value_name = "FILE", conflicts_with = "append_system_prompt", help_heading = SDK)]
    pub append_system_prompt_file: Option<PathBuf>,
    /// Tell the model how hard to try: low, medium, high, xhigh, max
    #[arg(long, value_name = "LEVEL", value_parser = effort, help_heading = SDK)]
    pub effort: Option<Effort>,
    /// Send these beta features with every request
    #[arg(long, value_name = "NAMES", help_heading = SDK)]
    pub betas: Vec<String>,
    /// Choose how the model thinks
    #[arg(long, value_enum, value_name = "HOW", help_heading = SDK)]
    pub thinking: Option<ThinkingChoice>,
    /// Let the model think for up to this many tokens; 0 switches it off
    #[arg(long, value_name = "TOKENS", help_heading = SDK)]
    pub max_thinking_tokens: Option<u32>,
    /// Choose how thinking is shown: summarized or omitted
    #[arg(long, value_name = "HOW", help_heading = SDK)]
    pub thinking_display: Option<String>,
    /// Tell the model how many tokens it has for the whole task
    #[arg(long, value_name = "TOKENS", help_heading = SDK)]
    pub task_budget: Option<u64>,
    /// Start in the mode bypassPermissions
    #[arg(long, conflicts_with = "permission_mode", help_heading = SDK)]
    pub dangerously_skip_permissions: bool,
    /// Let the program switch to bypassPermissions later
    #[arg(long, help_heading = SDK)]
    pub allow_dangerously_skip_permissions: bool,
    /// Accepted for compatibility
    #[arg(long, hide = true, num_args = 0..=1, require_equals = true, value_name = "FILTER")]
    pub debug: Option<Option<String>>,
    /// Accepted for compatibility
    #[arg(long, hide = true)]
    pub debug_to_stderr: bool,
    /// Accepted for compatibility
    #[arg(long, hide = true)]
    pub debug_file: Option<PathBuf>,
    /// Accepted for compatibility
    #[arg(long, hide = true)]
    pub prompt_suggestions: bool,
}

impl AgentSdkArgs {
    /// A program writes messages and requests to standard input.
    pub fn is_piped(&self) -> bool {
        self.input_format == InputFormat::StreamJson
    }

    pub(super) fn added_to(&self, flags: Flags) -> Flags {
        let thinking = match (self.thinking, self.max_thinking_tokens) {
            (Some(ThinkingChoice::Disabled), _) | (_, Some(0)) => Some(Thinking::Disabled),
            (_, Some(tokens)) => Some(Thinking::Budget(tokens)),
            (Some(ThinkingChoice::Adaptive), None) => Some(Thinking::Adaptive),
            (Some(ThinkingChoice::Enabled) | None, None) => None,
        };
        Flags {
            effort: self.effort,
            thinking,
            extras: RequestExtras {
                betas: split_list(&self.betas),
                thinking_display: self.thinking_display.clone(),
                task_budget: self.task_budget,
            },
            may_bypass: self.is_piped().then_some(self.allow_dangerously_skip_permissions),
            ..flags
        }
    }
}

fn effort(name: &str) -> Result<Effort, String> {
    Effort::named(name).ok_or_else(|| "use low, medium, high, xhigh or max".into())
}

/// Whether a command line that cannot be understood comes from such a program.
pub fn is_wanted(words: impl Iterator<Item = OsString>) -> bool {
    let words: Vec<OsString> = words.collect();
    let joined = words.iter().any(|word| word == "--input-format=stream-json");
    let pair = |pair: &[OsString]| matches!(pair, [flag, value] if flag == "--input-format" && value == "stream-json");
    joined || words.windows(2).any(pair)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_forms_of_the_flag_are_found() {
        let wanted = |line: &str| is_wanted(line.split(' ').map(OsString::from));
        assert!(wanted("ostler --nope --input-format stream-json"));
        assert!(wanted("ostler --input-format=stream-json --nope"));
        assert!(!wanted("ostler --input-format text stream-json"));
        assert!(!wanted("ostler -p --output-format stream-json"));
    }
}
