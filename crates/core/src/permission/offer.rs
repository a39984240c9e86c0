//! The narrow rules that a question may offer: shown before they are accepted, and never for programs that run whatever
//! they are given.

use super::access::{Access, Workspace};
use super::command_rule::CommandPattern;
use super::commands::{Act, Commands, Effect, Step};
use super::decide::{Ruling, Scene};
use super::guarded::protected;
use super::script::Word;
use std::path::Path;

/// Shells, interpreters, wrappers and programs whose operands are commands: a rule on their name is a rule on anything.
const RUNS_ANYTHING: &[&str] = &[
    "ash",
    "awk",
    "bash",
    "bun",
    "builtin",
    "busybox",
    "chroot",
    "cmd",
    "command",
    "csh",
    "dash",
    "deno",
    "docker",
    "doas",
    "ed",
    "emacs",
    "env",
    "eval",
    "exec",
    "expect",
    "fish",
    "flock",
    "gawk",
    "gdb",
    "ionice",
    "java",
    "jshell",
    "julia",
    "ksh",
    "ld.so",
    "lua",
    "luajit",
    "make",
    "mawk",
    "mksh",
    "nice",
    "node",
    "nohup",
    "nsenter",
    "osascript",
    "parallel",
    "perl",
    "php",
    "pkexec",
    "podman",
    "powershell",
    "pwsh",
    "pypy",
    "pypy3",
    "python",
    "python2",
    "python3",
    "R",
    "rlwrap",
    "Rscript",
    "ruby",
    "run0",
    "script",
    "screen",
    "setsid",
    "sh",
    "source",
    "ssh",
    "stdbuf",
    "strace",
    "su",
    "sudo",
    "systemd-run",
    "taskset",
    "tclsh",
    "tcsh",
    "time",
    "timeout",
    "tmux",
    "trap",
    "ts-node",
    "tsx",
    "unshare",
    "vi",
    "vim",
    "nvim",
    "watch",
    "xargs",
    "yash",
    "zsh",
    ".",
    "npx",
    "bunx",
    "uvx",
    "pipx",
    "rm",
    "dd",
    "chmod",
    "chown",
    "kubectl",
];

/// Programs whose first operand says what they do.
const WITH_SUBCOMMANDS: &[&str] = &[
    "apt",
    "brew",
    "bundle",
    "cargo",
    "composer",
    "dotnet",
    "gh",
    "git",
    "go",
    "gradle",
    "helm",
    "just",
    "mix",
    "mvn",
    "npm",
    "pip",
    "pip3",
    "pnpm",
    "poetry",
    "rails",
    "rake",
    "rustup",
    "swift",
    "systemctl",
    "task",
    "terraform",
    "uv",
    "yarn",
    "zig",
];

/// Rules offered at a time.
const MOST: usize = 3;

/// The rule's words name a program that runs whatever it is given, and nothing of what that is.
pub fn runs_anything(words: &[String]) -> bool {
    matches!(words, [program] if is_runner(program))
}

fn is_runner(program: &str) -> bool {
    let name = program.rsplit('/').next().unwrap_or(program);
    let stem = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    RUNS_ANYTHING.contains(&name) || (!stem.is_empty() && RUNS_ANYTHING.contains(&stem))
}

/// Rules that together would have allowed the call; none if a rule cannot or must not.
pub(super) fn offer(
    scene: Scene<'_>,
    tool: &str,
    access: &Access,
    rulings: &[Ruling],
) -> Vec<String> {
    let settled = |ruling: &Ruling| !matches!(ruling, Ruling::Open(_) | Ruling::Allow(_));
    if rulings.iter().any(settled) {
        return Vec::new();
    }
    match &access.runs {
        Some(commands) => for_commands(commands, rulings),
        None => for_call(tool, access, scene.workspace),
    }
}

fn for_commands(commands: &Commands, rulings: &[Ruling]) -> Vec<String> {
    if !commands.doubts.is_empty() || rulings.len() < commands.steps.len() {
        return Vec::new();
    }
    let mut rules: Vec<String> = Vec::new();
    for (step, ruling) in commands.steps.iter().zip(rulings) {
        if matches!(ruling, Ruling::Allow(_)) {
            continue;
        }
        match for_step(step) {
            Some(rule) if rules.contains(&rule) => {}
            Some(rule) => rules.push(rule),
            None => return Vec::new(),
        }
    }
    if rules.len() > MOST { Vec::new() } else { rules }
}

fn for_step(step: &Step) -> Option<String> {
    let words: Option<Vec<&str>> = step.compared().iter().map(Word::literal).collect();
    let words = words?;
    let (program, rest) = words.split_first()?;
    let outside = step.touches.iter().any(|touch| matches!(touch.act, Act::Redirect));
    if is_runner(program) || outside || !step.variables.is_empty() || !step.hosts.is_empty() {
        return None;
    }
    if matches!(step.effect, Effect::Ruin(_)) || !step.cautions.is_empty() {
        return None;
    }
    let plain = |word: &&str| {
        let legal = |c: char| c.is_ascii_alphanumeric() || "-_./:=@+,%".contains(c);
        !word.is_empty() && word.chars().all(legal)
    };
    let command =
        |word: &&&str| word.chars().all(|c| c.is_ascii_lowercase() || c == '-' || c == ':');
    let named = WITH_SUBCOMMANDS.contains(program);
    let text = match rest.first().filter(command).filter(|word| !word.starts_with('-')) {
        Some(&"run") if named => format!("{program} run {}:*", rest.get(1).filter(|w| plain(w))?),
        Some(sub) if named => format!("{program} {sub}:*"),
        _ if words.iter().all(plain) => words.join(" "),
        _ => return None,
    };
    // What is offered must be what it says.
    let made = CommandPattern::parse(&text)?;
    made.matches(step.compared()).then(|| format!("Bash({text})"))
}

fn for_call(tool: &str, access: &Access, workspace: &Workspace) -> Vec<String> {
    if tool.starts_with("mcp__") {
        return vec![tool.to_owned()];
    }
    if !access.known {
        return Vec::new();
    }
    match access.hosts.as_slice() {
        [] => {}
        [host] if tool == "WebFetch" => return vec![format!("{tool}(domain:{host})")],
        _ => return Vec::new(),
    }
    let (name, scope) = match (access.writes.as_slice(), access.reads.as_slice()) {
        ([scope], _) => ("Edit", scope),
        ([], [scope]) => ("Read", scope),
        _ => return Vec::new(),
    };
    let path = scope.path();
    if protected(path, workspace).is_some() {
        return Vec::new();
    }
    let rule = match path.parent().filter(|folder| !workspace.roots.iter().any(|r| r == folder)) {
        Some(folder) if folder != Path::new("/") => {
            format!("{name}({}/**)", written(folder, workspace))
        }
        _ => format!("{name}({})", written(path, workspace)),
    };
    // A name that reads as a pattern would cover more than is shown.
    if rule.matches(['*', '?', '(', ')']).count() > 4 || rule.contains(['\n', '?']) {
        return Vec::new();
    }
    vec![rule]
}

fn written(path: &Path, workspace: &Workspace) -> String {
    match path.strip_prefix(&workspace.cwd) {
        Ok(below) if below.as_os_str().is_empty() => ".".into(),
        Ok(below) => format!("./{}", below.display()),
        Err(_) => format!("/{}", path.display()),
    }
}
