//! Everything the rules say, from all their sources.

use super::access::{PathScope, Workspace};
use super::file_pattern::FilePattern;
use super::guarded_names::sensitive;
use super::interpreters;
use super::rule::{COMMANDS, Matcher, READING, Reach, Rule, Tier, scope_reach};
use crate::tool_facts::ToolKind;
use std::path::{Path, PathBuf};

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Policy {
    pub deny: Vec<Rule>,
    pub ask: Vec<Rule>,
    pub allow: Vec<Rule>,
    pub fallback: Fallback,
    /// The managed settings forbid `bypassPermissions`.
    pub no_bypass: bool,
}

/// A deny rule on files that commands have to obey.
#[derive(Clone, Copy, Debug)]
pub struct DeniedFiles<'a> {
    pub rule: &'a Rule,
    pub pattern: &'a FilePattern,
    /// It forbids to change the files; otherwise it forbids to read them.
    pub writing: bool,
}

/// What happens to a call that no rule and no mode speaks of. Reading tools inside the roots run in any case.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fallback {
    /// Commands that are proved to be read-only inside the roots run, the rest asks.
    #[default]
    Read,
    /// Every command asks.
    Ask,
    /// What would ask is denied.
    Deny,
}

impl Policy {
    /// Adds the rules of another source. The stricter fallback holds.
    pub fn add(&mut self, other: Policy) {
        self.deny.extend(other.deny);
        self.ask.extend(other.ask);
        self.allow.extend(other.allow);
        self.fallback = self.fallback.max(other.fallback);
        self.no_bypass |= other.no_bypass;
    }

    /// For an agent that works in a copy of a directory: what the rules say of the directory, they also say of the copy.
    #[must_use]
    pub fn covering_copy(&self, of: &Path, copy: &Path) -> Policy {
        let mut policy = self.clone();
        for rules in [&mut policy.deny, &mut policy.ask, &mut policy.allow] {
            let more: Vec<Rule> = rules.iter().flat_map(|rule| rule.rebased(of, copy)).collect();
            rules.extend(more);
        }
        policy
    }

    /// The call could be allowed, as far as the name of its tool goes.
    pub fn offers(&self, tool: &str) -> bool {
        !self.deny.iter().any(|rule| rule.is_whole_tool(tool))
    }

    /// A tool arrived after the rules were read: patterns for its kind cover it as well.
    pub fn learn_tool(&mut self, tool: &str, kind: ToolKind) {
        for rules in [&mut self.allow, &mut self.ask, &mut self.deny] {
            rules.iter_mut().for_each(|rule| rule.learn_tool(tool, kind));
        }
    }

    /// Ask rules that a person wrote: they beat every allow rule.
    pub(super) fn asks(&self) -> impl Iterator<Item = &Rule> {
        self.ask.iter().filter(|rule| rule.source.tier != Tier::BuiltIn)
    }

    /// Ask rules that ship with the program: what a person allowed, by a rule or a mode, goes before them.
    pub(super) fn shipped_asks(&self) -> impl Iterator<Item = &Rule> {
        self.ask.iter().filter(|rule| rule.source.tier == Tier::BuiltIn)
    }

    /// Whether a search may show what this file holds without a question.
    pub fn may_show(&self, path: &Path, workspace: &Workspace) -> bool {
        let scope = PathScope::File(path.to_owned());
        let speaks = |rule: &Rule| match &rule.matcher {
            Matcher::Files(pattern) if rule.is_about_reading() => {
                scope_reach(pattern, &scope, &[]) != Reach::None
            }
            _ => false,
        };
        let mentions = |rule: &Rule| match &rule.matcher {
            Matcher::Regex(regex) => regex.mentions_text(&workspace.shown(path)),
            _ => false,
        };
        workspace.may_read(path)
            && !self.deny.iter().chain(&self.ask).any(speaks)
            && !self.ask.iter().any(mentions)
            && sensitive(path, workspace).is_none()
    }

    /// Places below a directory that rules on reading speak of and that may or may not be there.
    pub fn spoken_of(&self, tree: &Path) -> Vec<PathBuf> {
        let start = |rule: &Rule| match &rule.matcher {
            Matcher::Files(pattern) => Some(pattern.start()),
            _ => None,
        };
        let below = |place: &PathBuf| place.starts_with(tree) && place != tree;
        self.deny.iter().chain(&self.ask).filter_map(start).filter(below).collect()
    }

    /// Deny rules on files, as far as they hold for commands.
    pub fn denied_files(&self) -> impl Iterator<Item = DeniedFiles<'_>> {
        self.deny.iter().filter_map(|rule| match &rule.matcher {
            Matcher::Files(pattern) if rule.tool == READING || rule.is_about_writing() => {
                Some(DeniedFiles { rule, pattern, writing: rule.is_about_writing() })
            }
            _ => None,
        })
    }

    /// Allow rules that let more run than they seem to, one line each: everything, or any code. What ships was chosen by
    /// nobody who could be warned.
    pub fn warnings(&self) -> Vec<String> {
        let everything = |rule: &Rule| match &rule.matcher {
            Matcher::Whole => {
                rule.tool == "*" || (rule.tool == COMMANDS && rule.source.tier != Tier::CommandLine)
            }
            Matcher::Command(pattern) => pattern.is_everything(),
            Matcher::Files(pattern) => rule.is_about_writing() && pattern.start() == Path::new("/"),
            Matcher::Regex(_) | Matcher::Domain(_) | Matcher::Skill(_) => false,
        };
        let nothing = |rule: &Rule| match &rule.matcher {
            Matcher::Command(pattern) => pattern.names_no_program(),
            Matcher::Regex(regex) => regex.is_everything(),
            _ => false,
        };
        let code = |rule: &Rule| match &rule.matcher {
            Matcher::Command(pattern) if pattern.is_open() => match pattern.words() {
                [program] => interpreters::runs_code(program),
                _ => false,
            },
            _ => false,
        };
        let said = |rule: &Rule| {
            let (text, source) = (rule.text(), &rule.source);
            match () {
                () if everything(rule) => {
                    Some(format!("the allow rule {text} ({source}) allows everything"))
                }
                () if code(rule) => Some(format!(
                    "the allow rule {text} ({source}) lets any code run that the sandbox confines and undo can revert"
                )),
                () if nothing(rule) => Some(format!(
                    "the allow rule {text} ({source}) names no program, so it allows nothing beyond the default"
                )),
                () => None,
            }
        };
        let own = self.allow.iter().filter(|rule| rule.source.tier != Tier::BuiltIn);
        own.filter_map(said).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A person is warned about their own rules, not about those that ship.
    #[test]
    fn only_a_persons_rules_are_warned_about() {
        let tools = crate::test_tools::tools();
        let workspace = Workspace { cwd: "/ws".into(), tools, ..Workspace::default() };
        let rule = |tier: Tier| {
            let mut rule = Rule::parse("Bash(python3:*)", &workspace).unwrap();
            rule.source.tier = tier;
            rule
        };
        let warned = |tier: Tier| {
            let policy = Policy { allow: vec![rule(tier)], ..Policy::default() };
            policy.warnings().len()
        };
        assert_eq!(warned(Tier::BuiltIn), 0);
        assert_eq!(warned(Tier::User), 1);
        assert_eq!(warned(Tier::CommandLine), 1);
    }

    /// Warned about is what the decision lets through, and nothing that it asks about.
    #[test]
    fn a_warning_agrees_with_the_decision() {
        let workspace = Workspace { cwd: "/ws".into(), ..Workspace::default() };
        let warned = |rule: &str| {
            let mut rule = Rule::parse(rule, &workspace).unwrap();
            rule.source.tier = Tier::User;
            let policy = Policy { allow: vec![rule], ..Policy::default() };
            policy.warnings().into_iter().next().unwrap_or_default()
        };
        for rule in ["Bash", "Bash(*)", "Bash(* *)", "Edit(//**)"] {
            assert!(warned(rule).contains("allows everything"), "{rule}: {}", warned(rule));
        }
        for rule in
            ["Bash(python3:*)", "Bash(node *)", "Bash(npx:*)", "Bash(bash:*)", "Bash(source:*)"]
        {
            assert!(warned(rule).contains("lets any code run"), "{rule}: {}", warned(rule));
        }
        for rule in ["Bash(* --help)", "Bash(X=1:*)"] {
            assert!(warned(rule).contains("names no program"), "{rule}: {}", warned(rule));
        }
        for rule in [
            "Bash(timeout:*)",
            "Bash(xargs:*)",
            "Bash(env:*)",
            "Bash(sudo:*)",
            "Bash(rm:*)",
            "Bash(chmod:*)",
            "Bash(docker:*)",
            "Bash(kubectl:*)",
            "Bash(awk:*)",
            "Bash(make:*)",
            "Bash(python3 x.py:*)",
            "Bash(python3)",
        ] {
            assert_eq!(warned(rule), "", "{rule}");
        }
    }
}
