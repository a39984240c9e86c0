//! Rules as a person writes them: `Read`, `Edit(./src/**)`, `Read(~/notes/*.md)`.

use super::access::{Access, Workspace};
use std::path::{Path, PathBuf};

/// A tool by name, or the files a tool may touch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    pub tool: String,
    pub files: Option<Pattern>,
    text: String,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RuleError {
    #[error(
        "\"{0}\" is not a rule: write a tool's name, or Tool(path pattern), e.g. Edit(./src/**)"
    )]
    Malformed(String),
    #[error(
        "\"{0}\": rules on command lines are not supported yet, because a prefix of the text says little about what \
         runs. Allow the whole tool with \"Bash\", or choose a --permission-mode"
    )]
    CommandRule(String),
    #[error("\"{0}\": only Read, Edit, Write, Glob and Grep take a path pattern")]
    NoPattern(String),
    #[error(
        "\"{0}\": the home folder is not known, so ~ cannot be resolved. Set HOME, or write the path out as //…"
    )]
    NoHome(String),
}

/// What is allowed and what is denied, each with its source's order kept.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rules {
    pub allow: Vec<Rule>,
    pub deny: Vec<Rule>,
}

impl Rule {
    pub fn parse(text: &str, workspace: &Workspace) -> Result<Rule, RuleError> {
        let text = text.trim();
        let malformed = || RuleError::Malformed(text.to_owned());
        let (tool, pattern) = match text.split_once('(') {
            Some((tool, rest)) => (tool, Some(rest.strip_suffix(')').ok_or_else(malformed)?)),
            None => (text, None),
        };
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        if tool.is_empty() || !tool.chars().all(is_name) {
            return Err(malformed());
        }
        let files = match pattern {
            None | Some("" | "*") => None,
            Some(_) if tool == "Bash" => return Err(RuleError::CommandRule(text.to_owned())),
            Some(_) if !matches!(tool, "Read" | "Edit" | "Write" | "Glob" | "Grep") => {
                return Err(RuleError::NoPattern(text.to_owned()));
            }
            // Below an unknown home would be everywhere.
            Some(pattern) if pattern.starts_with('~') && !workspace.home.is_absolute() => {
                return Err(RuleError::NoHome(text.to_owned()));
            }
            Some(pattern) => Some(Pattern::new(pattern, workspace)),
        };
        Ok(Rule { tool: tool.to_owned(), files, text: text.to_owned() })
    }

    pub fn text(&self) -> &str {
        &self.text
    }

    /// The rule speaks for the whole tool.
    pub fn is_whole_tool(&self, tool: &str) -> bool {
        self.tool == tool && self.files.is_none()
    }

    /// A file rule for `Edit` covers every file tool that writes, one for `Read` every one that reads.
    fn concerns(&self, tool: &str) -> bool {
        let writes = |tool| matches!(tool, "Edit" | "Write" | "Revert");
        let reads = |tool| matches!(tool, "Read" | "Glob" | "Grep");
        self.tool == tool
            || (self.files.is_some() && self.tool == "Edit" && writes(tool))
            || (self.files.is_some() && self.tool == "Read" && reads(tool))
    }

    /// Every path the call touches is covered. A call that touches unlisted things is never covered, and a rule on
    /// files says nothing about hosts, nor one on reading about changes.
    pub fn covers_all(&self, tool: &str, access: &Access) -> bool {
        if !self.concerns(tool) {
            return false;
        }
        let Some(pattern) = &self.files else { return true };
        let beyond_files = !access.known || !access.hosts.is_empty();
        if beyond_files || (!self.is_about_writing() && !access.writes.is_empty()) {
            return false;
        }
        let mut scopes = access.reads.iter().chain(&access.writes).peekable();
        scopes.peek().is_some() && scopes.all(|scope| pattern.matches(scope.path()))
    }

    /// Some path the call touches is covered. A read rule also holds for a command that reads the file.
    pub fn covers_any(&self, tool: &str, access: &Access) -> bool {
        let Some(pattern) = &self.files else { return self.tool == tool };
        let hit = |scopes: &[super::PathScope]| scopes.iter().any(|scope| pattern.may_touch(scope));
        match self.tool.as_str() {
            "Read" => hit(&access.reads) || (self.concerns(tool) && hit(&access.writes)),
            _ if self.concerns(tool) => hit(&access.writes) || hit(&access.reads),
            _ => self.is_about_writing() && hit(&access.writes),
        }
    }

    fn is_about_writing(&self) -> bool {
        matches!(self.tool.as_str(), "Edit" | "Write")
    }
}

/// A gitignore-like pattern on absolute paths: `//abs`, `~/home`, `/root`, `./` and bare ones below the working folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern {
    base: PathBuf,
    parts: Vec<String>,
}

impl Pattern {
    fn new(text: &str, workspace: &Workspace) -> Self {
        let (base, rest) = if let Some(rest) = text.strip_prefix("//") {
            (Path::new("/"), rest)
        } else if let Some(rest) = text.strip_prefix("~/") {
            (workspace.home.as_path(), rest)
        } else if text == "~" {
            (workspace.home.as_path(), "")
        } else {
            (workspace.cwd.as_path(), text)
        };
        let mut pattern = Pattern { base: base.to_owned(), parts: Vec::new() };
        if is_bare_name(text) {
            pattern.parts.push("**".into());
        }
        for part in rest.split('/') {
            match part {
                "" | "." => {}
                ".." => pattern.climb(),
                part => pattern.parts.push(part.to_owned()),
            }
        }
        pattern
    }

    fn climb(&mut self) {
        if self.parts.pop().is_none() {
            self.base.pop();
        }
    }

    pub fn matches(&self, path: &Path) -> bool {
        let Ok(below) = path.strip_prefix(&self.base) else { return false };
        // A folder's pattern covers what is below the folder.
        self.compare(below, |parts, names| {
            (0..=names.len())
                .any(|end| names.get(..end).is_some_and(|names| match_parts(parts, names)))
        })
    }

    /// A tree touches a pattern when the pattern could match something below it: when in doubt, yes.
    fn may_touch(&self, scope: &super::PathScope) -> bool {
        match scope {
            super::PathScope::File(path) => self.matches(path),
            super::PathScope::Tree(path) => match path.strip_prefix(&self.base) {
                Ok(below) => self.compare(below, may_match_below),
                Err(_) => self.base.starts_with(path),
            },
        }
    }

    fn compare(&self, below: &Path, by: impl Fn(&[&str], &[&str]) -> bool) -> bool {
        let names: Vec<_> = below.iter().map(|name| name.to_string_lossy()).collect();
        let names: Vec<&str> = names.iter().map(|name| name.as_ref()).collect();
        let parts: Vec<&str> = self.parts.iter().map(String::as_str).collect();
        by(&parts, &names)
    }
}

/// As in an ignore file: a slash inside ties a pattern to its folder, one at the end does not.
fn is_bare_name(text: &str) -> bool {
    let name = text.trim_end_matches('/');
    !name.contains('/') && !matches!(name, "" | "." | ".." | "~")
}

/// Whether something in the folder `names`, or that folder itself, could match.
fn may_match_below(parts: &[&str], names: &[&str]) -> bool {
    match (parts.split_first(), names.split_first()) {
        (None | Some((&"**", _)), _) | (_, None) => true,
        (Some((part, parts)), Some((name, names))) => {
            match_name(part, name) && may_match_below(parts, names)
        }
    }
}

fn match_parts(parts: &[&str], names: &[&str]) -> bool {
    match parts.split_first() {
        None => names.is_empty(),
        Some((&"**", rest)) => {
            (0..=names.len()).any(|n| names.get(n..).is_some_and(|names| match_parts(rest, names)))
        }
        Some((part, rest)) => match names.split_first() {
            Some((name, names)) => match_name(part, name) && match_parts(rest, names),
            None => false,
        },
    }
}

/// `*` and `?` within one name. Linear: only the last star is ever retried.
fn match_name(pattern: &str, name: &str) -> bool {
    let (pattern, name): (Vec<char>, Vec<char>) =
        (pattern.chars().collect(), name.chars().collect());
    let (mut p, mut n, mut star) = (0, 0, None);
    while n < name.len() {
        match pattern.get(p) {
            Some('*') => {
                star = Some((p, n));
                p += 1;
            }
            Some(c) if *c == '?' || Some(c) == name.get(n) => {
                p += 1;
                n += 1;
            }
            _ => match star {
                Some((at, from)) => {
                    star = Some((at, from + 1));
                    p = at + 1;
                    n = from + 1;
                }
                None => return false,
            },
        }
    }
    pattern.get(p..).is_some_and(|rest| rest.iter().all(|c| *c == '*'))
}

#[cfg(test)]
#[path = "rule_tests.rs"]
mod tests;
