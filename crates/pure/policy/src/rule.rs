//! Rules as a person writes them: `Read`, `Bash(git status:*)`, `Edit(./src/**)`, `WebFetch(domain:docs.rs)`, `mcp__db`,
//! and regular expressions over the words of a command.

use super::access::{Access, PathScope, Workspace};
use super::command_regex::CommandRegex;
use super::command_rule::CommandPattern;
use super::file_pattern::{Anchors, FilePattern};
use super::tool_names;
use crate::tool_facts::ToolKind;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// The words of the rule language that mean a kind of thing, whichever tool does it: running commands, reading files,
/// changing files.
pub const COMMANDS: &str = "Bash";
pub const READING: &str = "Read";
pub const CHANGING: &str = "Edit";

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// A tool's name, `mcp__server`, or a beginning such as `mcp__server__*` or `mcp__*`; `*` stands for every tool.
    pub tool: String,
    pub matcher: Matcher,
    /// Why there is this rule, in its author's words.
    pub reason: Option<String>,
    pub source: Source,
    /// It holds only while these files have this content (by hash), and for commands started in this directory.
    pub bound: Option<Bound>,
    text: String,
    /// What the tool does that it names.
    kind: ToolKind,
    /// Further tools that a pattern of it covers.
    alike: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Matcher {
    /// The whole tool.
    Whole,
    Files(FilePattern),
    Command(CommandPattern),
    /// Over a command's words; as an ask rule also over the paths of the file tools.
    Regex(Box<CommandRegex>),
    /// A host, or `*.example.org` for what lies below one.
    Domain(String),
    /// A skill by its name, whatever its arguments.
    Skill(String),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bound {
    pub folder: PathBuf,
    pub files: Vec<(PathBuf, String)>,
}

/// Where a rule stands.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Source {
    pub tier: Tier,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<PathBuf>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<usize>,
}

#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Tier {
    /// Ships with the program.
    BuiltIn,
    Managed,
    User,
    Project,
    Local,
    #[default]
    CommandLine,
    /// Said by the user in answer to a question.
    Approval,
    /// Set in the running session.
    Session,
}

impl Tier {
    pub fn name(self) -> &'static str {
        match self {
            Tier::BuiltIn => "the built-in rules",
            Tier::Managed => "the managed settings",
            Tier::User => "your settings",
            Tier::Project => "the project's settings",
            Tier::Local => "the project's local settings",
            Tier::CommandLine => "the command line",
            Tier::Approval => "an earlier approval",
            Tier::Session => "this session",
        }
    }
}

impl std::fmt::Display for Source {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match (&self.file, self.line) {
            (Some(file), Some(line)) => write!(f, "{}:{line}", file.display()),
            (Some(file), None) => write!(f, "{}", file.display()),
            (None, _) => f.write_str(self.tier.name()),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RuleError {
    #[error(
        "\"{0}\" is not a rule: write a tool's name or Tool(pattern), e.g. Bash(git status:*) or Edit(./src/**)"
    )]
    Malformed(String),
    #[error("\"{0}\" is empty: write {1} for the whole tool, or a pattern, e.g. {1}(…)")]
    Empty(String, String),
    #[error(
        "\"{0}\": this tool does not take a pattern like this; write its name alone, or e.g. Bash(npm test:*), Edit(./src/**), Skill(review)"
    )]
    NoPattern(String),
    #[error(
        "\"{0}\": the home directory is unknown, so ~ cannot be resolved. Set HOME, or write the path out as //…"
    )]
    NoHome(String),
    #[error("\"{0}\": a rule on commands must begin with a program, e.g. Bash(npm test:*)")]
    Command(String),
    #[error(
        "\"{0}\": a quote is not closed; close it or end the rule before it, e.g. Bash(git commit:*)"
    )]
    Quote(String),
    #[error("\"{0}\": write WebFetch(domain:example.org) or WebFetch(domain:*.example.org)")]
    Domain(String),
    #[error("\"{pattern}\" is not a regular expression: {why}")]
    Regex { pattern: String, why: String },
}

impl Rule {
    /// What it says of the files of one directory, said of those of another.
    pub(super) fn rebased(&self, from: &Path, to: &Path) -> Vec<Rule> {
        let Matcher::Files(pattern) = &self.matcher else { return Vec::new() };
        let rule = |pattern| Rule { matcher: Matcher::Files(pattern), ..self.clone() };
        pattern.rebased(from, to).into_iter().map(rule).collect()
    }

    /// A rule of the command line, or of anything else that speaks for the working directory.
    pub fn parse(text: &str, workspace: &Workspace) -> Result<Rule, RuleError> {
        Rule::parse_at(text, Anchors::of(workspace), Source::default())
    }

    pub fn parse_at(text: &str, anchors: Anchors<'_>, source: Source) -> Result<Rule, RuleError> {
        let text = text.trim();
        let malformed = || RuleError::Malformed(text.to_owned());
        let (tool, pattern) = match text.split_once('(') {
            Some((tool, rest)) => (tool, Some(rest.strip_suffix(')').ok_or_else(malformed)?)),
            None => (text, None),
        };
        if !is_tool(tool) {
            return Err(malformed());
        }
        let tool = anchors.tools.first_name(tool);
        let kind = tool_names::kind(tool, anchors.tools);
        let matcher = match pattern {
            None | Some("*" | ":*") => Matcher::Whole,
            Some(pattern) if pattern.trim().is_empty() => {
                return Err(RuleError::Empty(text.to_owned(), tool.to_owned()));
            }
            Some(pattern) => specific(kind, pattern, text, anchors)?,
        };
        let alike = match (&matcher, tool) {
            (Matcher::Files(_), READING | CHANGING) => {
                anchors.tools.of_kind(kind).map(str::to_owned).collect()
            }
            _ => Vec::new(),
        };
        let text = text.to_owned();
        Ok(Rule { matcher, text, kind, alike, ..Rule::whole(tool, source) })
    }

    /// A regular expression over the words of commands, or, with a tool's name, over what that tool is given.
    pub fn regex(tool: &str, pattern: &str, source: Source) -> Result<Rule, RuleError> {
        let regex = match source.tier {
            Tier::BuiltIn => CommandRegex::unchecked(pattern),
            _ => CommandRegex::new(pattern)?,
        };
        let matcher = Matcher::Regex(Box::new(regex));
        Ok(Rule { matcher, text: pattern.to_owned(), ..Rule::whole(tool, source) })
    }

    fn whole(tool: &str, source: Source) -> Rule {
        Rule {
            tool: tool.to_owned(),
            matcher: Matcher::Whole,
            reason: None,
            source,
            bound: None,
            text: tool.to_owned(),
            kind: ToolKind::Undeclared,
            alike: Vec::new(),
        }
    }

    pub fn text(&self) -> &str {
        &self.text
    }

    /// A tool arrived after the rule was read.
    pub(super) fn learn_tool(&mut self, tool: &str, kind: ToolKind) {
        self.alike.retain(|other| other != tool);
        let is_word = matches!(self.tool.as_str(), READING | CHANGING);
        if is_word && matches!(self.matcher, Matcher::Files(_)) && self.kind == kind {
            self.alike.push(tool.to_owned());
        }
    }

    /// The rule speaks for the whole tool.
    pub fn is_whole_tool(&self, tool: &str) -> bool {
        self.matcher == Matcher::Whole && self.names(tool)
    }

    /// By name; `mcp__server` and `mcp__server__*` name every tool of that server, `mcp__*` every tool of every server.
    pub fn names(&self, tool: &str) -> bool {
        if self.tool == tool || self.tool == "*" {
            return true;
        }
        let Some(server) = self.tool.strip_prefix(MCP) else { return false };
        if let Some(beginning) = self.tool.strip_suffix('*') {
            return tool.starts_with(beginning);
        }
        let of_server = tool.strip_prefix(&self.tool).is_some_and(|rest| rest.starts_with("__"));
        of_server && !server.contains("__")
    }

    pub(super) fn is_about_writing(&self) -> bool {
        self.kind == ToolKind::Edits
    }

    pub(super) fn is_about_reading(&self) -> bool {
        self.kind == ToolKind::Reads
    }

    /// A file rule for `Edit` covers every file tool that writes, one for `Read` every one that reads.
    fn concerns(&self, tool: &str) -> bool {
        self.names(tool) || self.alike.iter().any(|other| other == tool)
    }

    /// As an allow rule for a call that is no command: every path the call touches is covered. A call that touches
    /// unlisted things is covered only by its tool's name, and a rule on files says nothing about hosts, nor one on
    /// reading about changes.
    pub fn covers_all(&self, tool: &str, access: &Access) -> bool {
        match &self.matcher {
            // A rule on everything a fetcher may do is no rule on local files.
            Matcher::Whole => {
                self.names(tool) && (self.kind != ToolKind::Fetches || !access.hosts.is_empty())
            }
            Matcher::Files(pattern) => {
                let beyond_files = !access.known || !access.hosts.is_empty();
                let changes = !self.is_about_writing() && !access.writes.is_empty();
                if !self.concerns(tool) || beyond_files || changes {
                    return false;
                }
                let mut scopes = access.reads.iter().chain(&access.writes).peekable();
                scopes.peek().is_some() && scopes.all(|scope| pattern.allows(scope.path()))
            }
            Matcher::Domain(domain) => {
                self.names(tool)
                    && access.known
                    && access.reads.is_empty()
                    && access.writes.is_empty()
                    && !access.hosts.is_empty()
                    && access.hosts.iter().all(|host| host_matches(domain, host))
            }
            Matcher::Skill(_) => self.is_about_skill(tool, access),
            Matcher::Command(_) | Matcher::Regex(_) => false,
        }
    }

    /// The call uses the skill, or starts the kind of agent, that the rule names.
    pub(super) fn is_about_skill(&self, tool: &str, access: &Access) -> bool {
        let used = access.inward.as_ref().and_then(|inward| inward.skill.as_deref());
        match &self.matcher {
            Matcher::Skill(name) => {
                self.names(tool) && (used == Some(name) || access.delegates.contains(name))
            }
            _ => false,
        }
    }

    /// As a deny or ask rule: how much of what is read or written it covers.
    pub fn touches(&self, tool: &str, access: &Access) -> Reach {
        let Matcher::Files(pattern) = &self.matcher else { return Reach::None };
        let reach = |scopes: &[PathScope]| {
            let one = |scope| scope_reach(pattern, scope, &access.absent);
            scopes.iter().map(one).max().unwrap_or_default()
        };
        let (reads, writes) = (reach(&access.reads), reach(&access.writes));
        match self.tool.as_str() {
            // Reading a file through a command is reading it.
            READING if self.concerns(tool) => reads.max(writes),
            READING => reads,
            _ if self.concerns(tool) => reads.max(writes),
            _ if self.is_about_writing() => writes,
            _ => Reach::None,
        }
    }
}

/// How a rule on files meets what a call touches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reach {
    #[default]
    None,
    /// Something below a directory that the call goes through.
    Below,
    /// The very thing.
    Full,
}

pub(super) fn scope_reach(pattern: &FilePattern, scope: &PathScope, absent: &[PathBuf]) -> Reach {
    if pattern.matches(scope.path()) {
        return Reach::Full;
    }
    let start = pattern.start();
    let missing = absent.iter().any(|gone| start.starts_with(gone));
    if pattern.may_touch(scope) && !missing { Reach::Below } else { Reach::None }
}

/// How the names of tools of MCP servers begin.
const MCP: &str = "mcp__";

fn is_tool(name: &str) -> bool {
    let beginning = name.strip_suffix('*').filter(|beginning| beginning.starts_with(MCP));
    let plain = beginning.unwrap_or(name);
    let legal = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    !plain.is_empty() && name != MCP && plain.chars().all(legal)
}

fn specific(
    kind: ToolKind,
    pattern: &str,
    text: &str,
    anchors: Anchors<'_>,
) -> Result<Matcher, RuleError> {
    match kind {
        ToolKind::Runs => {
            CommandPattern::parse(pattern).map(Matcher::Command).ok_or_else(
                || match has_open_quote(pattern) {
                    true => RuleError::Quote(text.to_owned()),
                    false => RuleError::Command(text.to_owned()),
                },
            )
        }
        // Below an unknown home would be everywhere.
        ToolKind::Reads | ToolKind::Edits
            if pattern.starts_with('~') && !anchors.home.is_absolute() =>
        {
            Err(RuleError::NoHome(text.to_owned()))
        }
        ToolKind::Reads | ToolKind::Edits => Ok(Matcher::Files(FilePattern::new(pattern, anchors))),
        ToolKind::Fetches => match pattern.strip_prefix("domain:").map(str::trim) {
            Some(domain) if is_domain(domain) => Ok(Matcher::Domain(domain.to_ascii_lowercase())),
            _ => Err(RuleError::Domain(text.to_owned())),
        },
        ToolKind::Instructs | ToolKind::Delegates => match skill_name(pattern) {
            Some(name) => Ok(Matcher::Skill(name.to_owned())),
            None => Err(RuleError::NoPattern(text.to_owned())),
        },
        _ => Err(RuleError::NoPattern(text.to_owned())),
    }
}

fn has_open_quote(pattern: &str) -> bool {
    let mut open = None;
    let mut chars = pattern.chars();
    while let Some(c) = chars.next() {
        match (c, open) {
            ('\\', None | Some('"')) => {
                chars.next();
            }
            ('\'' | '"', None) => open = Some(c),
            (c, Some(quote)) if c == quote => open = None,
            _ => {}
        }
    }
    open.is_some()
}

/// `name`, `name *` or `name:*`.
fn skill_name(pattern: &str) -> Option<&str> {
    let name = pattern.strip_suffix(" *").or(pattern.strip_suffix(":*")).unwrap_or(pattern);
    let legal = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | ':');
    (!name.is_empty() && name.chars().all(legal)).then_some(name)
}

fn is_domain(domain: &str) -> bool {
    let name = domain.strip_prefix("*.").unwrap_or(domain);
    let legal = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | ':' | '[' | ']');
    domain == "*" || (!name.is_empty() && name.chars().all(legal))
}

fn host_matches(domain: &str, host: &str) -> bool {
    let host = host.to_ascii_lowercase();
    match domain.strip_prefix("*.") {
        Some(parent) => host.strip_suffix(parent).is_some_and(|rest| rest.ends_with('.')),
        None => domain == "*" || domain == host,
    }
}

#[cfg(test)]
#[path = "rule_tests.rs"]
mod tests;
