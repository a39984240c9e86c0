//! A rule's own text: the command line that a person wrote down as a whole, with variables, wrappers and operators, is
//! the command line they allowed.

use super::commands::{Commands, Step};
use super::rule::{Matcher, Rule};

/// The command line is the rule's own text, byte for byte. A rule that leaves further words open has no such text: its
/// star stands for words and is none itself.
pub(super) fn is_own_text(
    rule: &Rule,
    tool: &str,
    commands: &Commands,
    still_holds: impl Fn(&Step) -> bool,
) -> bool {
    let Matcher::Command(pattern) = &rule.matcher else { return false };
    let text = commands.text.trim();
    !pattern.is_open()
        && rule.names(tool)
        && written(rule.text()).is_some_and(|own| own == text || unescaped(own) == text)
        && commands.steps.iter().all(still_holds)
}

/// What stands between the parentheses.
fn written(rule: &str) -> Option<&str> {
    let (_, text) = rule.split_once('(')?;
    Some(text.strip_suffix(')')?.trim())
}

/// Parentheses in a rule may carry a backslash, and a backslash another one.
fn unescaped(text: &str) -> String {
    let mut out = String::new();
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match chars.peek() {
            Some(next @ ('(' | ')' | '\\')) if c == '\\' => {
                out.push(*next);
                chars.next();
            }
            _ => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Workspace;

    fn is_own(rule: &str, text: &str) -> bool {
        let workspace = Workspace { cwd: "/ws".into(), ..Workspace::default() };
        let rule = Rule::parse(rule, &workspace).unwrap();
        let commands = Commands { text: text.into(), ..Commands::default() };
        is_own_text(&rule, "Bash", &commands, |_| true)
    }

    #[test]
    fn the_very_text_and_no_other() {
        for (rule, text) in [
            ("Bash(NODE_ENV=test npm test)", "NODE_ENV=test npm test"),
            ("Bash(timeout 8 npm run dev)", " timeout 8 npm run dev\n"),
            ("Bash( npm run build && npm test )", "npm run build && npm test"),
            (r"Bash(python3 -c 'print\(1\)')", "python3 -c 'print(1)'"),
            ("Bash(python3 -c 'print(1)')", "python3 -c 'print(1)'"),
            (r"Bash(grep '\\(' a)", r"grep '\(' a"),
            ("Bash(ls src/*.ts | wc -l)", "ls src/*.ts | wc -l"),
        ] {
            assert!(is_own(rule, text), "{rule} {text}");
        }
        for (rule, text) in [
            ("Bash(NODE_ENV=test npm test)", "NODE_ENV=test  npm test"),
            ("Bash(NODE_ENV=test npm test)", "NODE_ENV=prod npm test"),
            ("Bash(npm run build && npm test)", "npm run build && npm test && x"),
            ("Bash(npm run build && npm test)", "npm run build"),
            // A star at the end stands for words.
            ("Bash(rm *)", "rm *"),
            ("Bash(rm:*)", "rm:*"),
            ("Bash", "Bash"),
            ("Read(npm test)", "npm test"),
        ] {
            assert!(!is_own(rule, text), "{rule} {text}");
        }
    }
}
