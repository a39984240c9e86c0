//! The programs that the command line of a hook names, as far as its text shows them.

use super::spec::{HookAction, HookSpec};
use std::path::{Component, Path, PathBuf};

/// A file that a hook runs and that lies in the project, with the content that it had when the settings were read. What
/// lies there can be rewritten by whatever works there, so it runs only as it was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HookProgram {
    /// As the command line names it.
    pub word: String,
    /// None: there was no such file.
    pub sha256: Option<String>,
}

/// Words before the program that only say how it is run.
const BEFORE: [&str; 17] = [
    "exec", "env", "nohup", "time", "command", "nice", "sudo", "if", "then", "else", "elif",
    "while", "until", "do", "!", "setsid", "stdbuf",
];

const INTERPRETERS: [&str; 17] = [
    "bash", "sh", "dash", "zsh", "ksh", "fish", "node", "nodejs", "bun", "deno", "tsx", "ts-node",
    "perl", "ruby", "php", "lua", "pwsh",
];

/// Programs in one command line.
const MOST: usize = 20;

impl HookSpec {
    /// The words that name a program: the first word of each command if it is a path, and the script of an interpreter.
    pub fn program_words(&self) -> Vec<String> {
        let mut found = Vec::new();
        match &self.action {
            HookAction::Command { command, args: Some(args) } => {
                let words = std::iter::once(command).chain(args).map(String::as_str);
                of_command(&words.collect::<Vec<_>>(), &mut found);
            }
            HookAction::Command { command, args: None } => {
                let parts = |letter: char| ";&|()`\n".contains(letter);
                for command in command.split(parts) {
                    let words = command.split_whitespace();
                    let words = words.map(|word| word.trim_matches(['"', '\'', '{', '}']));
                    of_command(
                        &words.filter(|word| !word.is_empty()).collect::<Vec<_>>(),
                        &mut found,
                    );
                }
            }
            HookAction::Http { .. } | HookAction::Unavailable { .. } => {}
        }
        found.truncate(MOST);
        found
    }
}

fn of_command(words: &[&str], found: &mut Vec<String>) {
    let is_before = |word: &&&str| {
        let assigns = word.split_once('=').is_some_and(|(name, _)| {
            !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        });
        assigns || BEFORE.contains(*word) || word.starts_with('-')
    };
    let mut rest = words.iter().skip_while(is_before);
    let Some(program) = rest.next() else { return };
    let name = program.rsplit('/').next().unwrap_or(program);
    if program.contains('/') {
        found.push(unquoted(program));
    }
    let is_source = matches!(*program, "source" | ".");
    if is_source || INTERPRETERS.contains(&name) || name.starts_with("python") {
        let is_option = |word: &&&str| word.starts_with('-') || **word == "run";
        found.extend(rest.find(|word| !is_option(word)).map(|word| unquoted(word)));
    }
}

/// Quotes inside of a word, as in `"$CLAUDE_PROJECT_DIR"/guard.sh`.
fn unquoted(word: &str) -> String {
    word.replace(['"', '\''], "")
}

/// Where a word leads. None: it begins with a variable that is not known here.
pub fn program_path(word: &str, cwd: &Path, project: &Path, home: &Path) -> Option<PathBuf> {
    let below = |names: &[&str], place: &Path| {
        let rest = names.iter().find_map(|name| word.strip_prefix(name))?;
        Some(place.join(rest.trim_start_matches('/')))
    };
    let projects = [
        "$CLAUDE_PROJECT_DIR/",
        "${CLAUDE_PROJECT_DIR}/",
        "$OSTLER_PROJECT_DIR/",
        "${OSTLER_PROJECT_DIR}/",
    ];
    let path = below(&projects, project)
        .or_else(|| below(&["~/", "$HOME/", "${HOME}/"], home))
        .or_else(|| below(&["$PWD/", "${PWD}/"], cwd))
        .or_else(|| (!word.starts_with('$')).then(|| cwd.join(word)))?;
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => drop(plain.pop()),
            part => plain.push(part),
        }
    }
    Some(plain)
}

#[cfg(test)]
mod tests {
    use super::super::{EventName, HookMatcher};
    use super::*;
    use ostler_policy::{Source, Tier};

    fn words(command: &str, args: Option<&[&str]>) -> Vec<String> {
        let args = args.map(|args| args.iter().map(ToString::to_string).collect());
        let action = HookAction::Command { command: command.into(), args };
        let source = Source { tier: Tier::User, file: None, line: None };
        HookSpec {
            event: EventName::Stop,
            matcher: HookMatcher::all(),
            action,
            time_limit: None,
            once: false,
            in_background: false,
            outside: true,
            programs: Vec::new(),
            source,
            plugin: None,
        }
        .program_words()
    }

    #[test]
    fn programs_are_told_from_their_arguments() {
        for (command, expected) in [
            ("./guard.sh", &["./guard.sh"][..]),
            ("python3 -u .claude/guard.py src/a.py", &[".claude/guard.py"]),
            ("\"$CLAUDE_PROJECT_DIR\"/.claude/x.sh --all", &["$CLAUDE_PROJECT_DIR/.claude/x.sh"]),
            ("A=1 env B=2 tools/x && node y.js; notify-send done", &["tools/x", "y.js"]),
            ("cd sub && ./a | tee log.txt > out/file", &["./a"]),
            ("bash -c './inner.sh now'", &["./inner.sh"]),
            (". ./env.sh; source lib.sh", &["./env.sh", "lib.sh"]),
            ("date >> .claude/log", &[]),
            ("deno run hook.ts", &["hook.ts"]),
            ("$(./made)", &["./made"]),
        ] {
            assert_eq!(words(command, None), expected, "{command}");
        }
        assert_eq!(words("node", Some(&["a b.js", "c.js"])), ["a b.js"]);
        assert_eq!(words("/p/x y/run", Some(&["z"])), ["/p/x y/run"]);
    }

    #[test]
    fn words_lead_into_the_project_or_elsewhere() {
        let [cwd, project, home] = ["/p/sub", "/p", "/h"].map(Path::new);
        for (word, expected) in [
            ("./a.sh", Some("/p/sub/a.sh")),
            ("../a.sh", Some("/p/a.sh")),
            ("${CLAUDE_PROJECT_DIR}/x/../y", Some("/p/y")),
            ("$PWD/y", Some("/p/sub/y")),
            ("~/hooks/y", Some("/h/hooks/y")),
            ("/bin/true", Some("/bin/true")),
            ("$TOOLS/y", None),
        ] {
            assert_eq!(
                program_path(word, cwd, project, home),
                expected.map(PathBuf::from),
                "{word}"
            );
        }
    }
}
