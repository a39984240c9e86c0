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

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum PermissionPrompts {
    Host,
    None,
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
    /// Work as this agent, with its prompt, tools, model and turn limit
    #[arg(long, value_name = "NAME", help_heading = SDK)]
    pub agent: Option<String>,
    /// Load a plugin without its MCP servers (repeatable)
    #[arg(long, value_name = "DIRECTORY", help_heading = SDK)]
    pub plugin_dir_no_mcp: Vec<PathBuf>,
    /// Replace the system prompt with the content of a file
    #[arg(long, value_name = "FILE", conflicts_with = "system_prompt", help_heading = SDK)]
    pub system_prompt_file: Option<PathBuf>,
    /// Append the content of a file to the system prompt
    #[arg(long, value_name = "FILE", conflicts_with = "append_system_prompt", help_heading = SDK)]
    pub append_system_prompt_file: Option<PathBuf>,
    /// Set the model's effort level: low, medium, high, xhigh, max
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
    /// Choose who answers permission questions: none, or host (the program)
    #[arg(long, value_enum, value_name = "WHO", help_heading = SDK)]
    pub permission_prompts: Option<PermissionPrompts>,
    /// Accepted for compatibility: the session always begins with the first line
    #[arg(long, hide = true)]
    pub await_initialize: bool,
    /// Say on standard error what has no effect
    #[arg(long, hide = true, num_args = 0..=1, require_equals = true, value_name = "FILTER")]
    pub debug: Option<Option<String>>,
    /// The same as --debug
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

    /// Who answers questions, if anybody does: "stdio", or the name of a tool.
    pub fn prompter(&self) -> Option<&str> {
        let asks = self.permission_prompts != Some(PermissionPrompts::None);
        self.permission_prompt_tool.as_deref().filter(|_| asks)
    }

    /// Somebody wants to know more than programs usually do.
    pub fn debugs(&self) -> bool {
        self.debug.is_some() || self.debug_to_stderr
    }

    /// Flags of this run that change nothing.
    pub fn without_effect(&self) -> impl Iterator<Item = &'static str> {
        let given = [
            (self.debug_file.is_some(), "--debug-file"),
            (self.prompt_suggestions, "--prompt-suggestions"),
        ];
        given.into_iter().filter_map(|(is_given, flag)| is_given.then_some(flag))
    }

    pub(super) fn added_to(&self, flags: Flags) -> Flags {
        let thinking = match (self.thinking, self.max_thinking_tokens) {
            (Some(ThinkingChoice::Disabled), _) | (_, Some(0)) => Some(Thinking::Disabled),
            (_, Some(tokens)) => Some(Thinking::Budget(tokens)),
            // Without a budget the model decides.
            (Some(ThinkingChoice::Adaptive | ThinkingChoice::Enabled), None) => {
                Some(Thinking::Adaptive)
            }
            (None, None) => None,
        };
        let plugin_dirs = [&flags.plugin_dirs[..], &self.plugin_dir_no_mcp].concat();
        Flags {
            plugin_dirs,
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
    use crate::args::Args;

    /// Every flag that the SDKs pass with a value, and one or more values of it.
    const WITH_VALUE: [(&str, &[&str]); 38] = [
        ("--output-format", &["stream-json"]),
        ("--input-format", &["stream-json"]),
        ("--system-prompt", &["", "be brief", "-v"]),
        ("--append-system-prompt", &["more", "- a list"]),
        ("--system-prompt-file", &["p.md"]),
        ("--append-system-prompt-file", &["p.md"]),
        ("--tools", &["Read,Bash", "", "default"]),
        ("--allowedTools", &["Read,Bash(git log:*)"]),
        ("--allowed-tools", &["Read"]),
        ("--disallowedTools", &["WebFetch"]),
        ("--disallowed-tools", &["WebFetch"]),
        ("--max-turns", &["3"]),
        ("--max-budget-usd", &["0.5"]),
        ("--task-budget", &["20000"]),
        ("--model", &["opus"]),
        ("--fallback-model", &["haiku"]),
        ("--betas", &["a,b"]),
        ("--permission-prompt-tool", &["stdio", "mcp__a__b"]),
        ("--permission-prompts", &["host", "none"]),
        (
            "--permission-mode",
            &["default", "acceptEdits", "plan", "bypassPermissions", "dontAsk", "auto", "manual"],
        ),
        ("--resume", &["0196f3a2-0000-4000-8000-000000000000"]),
        ("--session-id", &["0196f3a2-0000-4000-8000-000000000000"]),
        ("--resume-session-at", &["u"]),
        ("--resume-drops-turn", &["u"]),
        ("--settings", &["{}", "s.json"]),
        ("--add-dir", &["/d"]),
        ("--mcp-config", &["{}", "m.json"]),
        ("--setting-sources", &["user,project", ""]),
        ("--plugin-dir", &["/p"]),
        ("--plugin-dir-no-mcp", &["/p"]),
        ("--thinking", &["adaptive", "enabled", "disabled"]),
        ("--max-thinking-tokens", &["2048"]),
        ("--thinking-display", &["summarized", "omitted"]),
        ("--effort", &["low", "medium", "high", "xhigh", "max"]),
        ("--json-schema", &["{}"]),
        ("--agents", &["{}"]),
        ("--agent", &["reviewer"]),
        ("--debug-file", &["d.log"]),
    ];

    const SWITCHES: [&str; 14] = [
        "--verbose",
        "--continue",
        "--fork-session",
        "--strict-mcp-config",
        "--include-partial-messages",
        "--include-hook-events",
        "--replay-user-messages",
        "--session-mirror",
        "--no-session-persistence",
        "--allow-dangerously-skip-permissions",
        "--dangerously-skip-permissions",
        "--await-initialize",
        "--debug",
        "--debug-to-stderr",
    ];

    fn read(words: &[&str]) -> Result<String, String> {
        let words: Vec<OsString> =
            [&["ostler"], words].concat().iter().map(OsString::from).collect();
        Args::of(&words).map(|args| format!("{args:?}")).map_err(|error| error.to_string())
    }

    #[test]
    fn every_flag_takes_its_value_in_both_forms() {
        let nothing = read(&["--verbose"]).unwrap();
        for (flag, values) in WITH_VALUE {
            for value in values {
                let joined = read(&["--verbose", &format!("{flag}={value}")]);
                assert_ne!(joined.as_ref(), Ok(&nothing), "{flag}={value} is read");
                // A value that looks like a flag is given in this form only.
                if !value.starts_with('-') || flag.ends_with("prompt") {
                    assert_eq!(read(&["--verbose", flag, value]), joined, "{flag} {value}");
                }
                assert!(joined.is_ok(), "{joined:?}");
            }
            assert!(read(&[flag]).is_err(), "{flag} needs a value");
        }
        for flag in ["--model", "--resume", "--settings", "--mcp-config", "--tools"] {
            assert!(read(&[&format!("{flag}=-v")]).is_ok(), "{flag}=-v");
        }
    }

    #[test]
    fn switches_take_no_value_and_unknown_flags_are_refused() {
        let nothing = read(&["-p"]).unwrap();
        for flag in SWITCHES {
            assert_ne!(read(&["-p", flag]).as_ref(), Ok(&nothing), "{flag}");
            // A filter of what is logged.
            if flag != "--debug" {
                assert!(read(&[&format!("{flag}=yes")]).is_err(), "{flag}=yes");
            }
        }
        for words in [
            &["--no-such-flag"][..],
            &["--no-such-flag=1"],
            &["--no-such-flag", "1"],
            &["--thinking", "much"],
            &["--effort=extreme"],
            &["--permission-mode=yolo"],
            &["--permission-prompts=everybody"],
            &["--max-turns=0"],
        ] {
            let wrong = read(words).unwrap_err();
            assert!(wrong.contains(words[0].split('=').next().unwrap()), "{wrong}");
        }
    }

    #[test]
    fn flags_without_an_effect_are_named() {
        let args =
            AgentSdkArgs { debug: Some(None), prompt_suggestions: true, ..AgentSdkArgs::default() };
        assert!(args.debugs() && !AgentSdkArgs::default().debugs());
        assert_eq!(args.without_effect().collect::<Vec<_>>(), ["--prompt-suggestions"]);
    }

    #[test]
    fn thinking_is_a_choice_or_a_budget() {
        let thinking = |thinking, max_thinking_tokens| {
            let args = AgentSdkArgs { thinking, max_thinking_tokens, ..AgentSdkArgs::default() };
            args.added_to(Flags::default()).thinking
        };
        use ThinkingChoice::{Adaptive, Disabled, Enabled};
        assert_eq!(thinking(None, None), None);
        assert_eq!(thinking(Some(Adaptive), None), Some(Thinking::Adaptive));
        assert_eq!(thinking(Some(Enabled), None), Some(Thinking::Adaptive));
        assert_eq!(thinking(Some(Enabled), Some(9)), Some(Thinking::Budget(9)));
        assert_eq!(thinking(None, Some(0)), Some(Thinking::Disabled));
        assert_eq!(thinking(Some(Disabled), Some(9)), Some(Thinking::Disabled));
    }

    #[test]
    fn nobody_is_asked_if_the_program_says_so() {
        let prompter = |permission_prompts| {
            let permission_prompt_tool = Some("stdio".to_owned());
            let args = AgentSdkArgs {
                permission_prompts,
                permission_prompt_tool,
                ..AgentSdkArgs::default()
            };
            args.prompter().map(str::to_owned)
        };
        assert_eq!(prompter(None).as_deref(), Some("stdio"));
        assert_eq!(prompter(Some(PermissionPrompts::Host)).as_deref(), Some("stdio"));
        assert_eq!(prompter(Some(PermissionPrompts::None)), None);
    }

    #[test]
    fn both_forms_of_the_flag_are_found() {
        let wanted = |line: &str| is_wanted(line.split(' ').map(OsString::from));
        assert!(wanted("ostler --nope --input-format stream-json"));
        assert!(wanted("ostler --input-format=stream-json --nope"));
        assert!(!wanted("ostler --input-format text stream-json"));
        assert!(!wanted("ostler -p --output-format stream-json"));
    }
}
