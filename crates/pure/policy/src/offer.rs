//! The narrow rules that a question may offer: shown before they are accepted, and never for programs that run whatever
//! they are given.

use super::access::{Access, Workspace};
use super::command_rule::CommandPattern;
use super::commands::{Act, Commands, Effect, Step};
use super::decide::{DecisionScene, Ruling, judge_call};
use super::guarded_names::protected;
use super::rule::{CHANGING, COMMANDS, READING, Rule};
use super::script::Word;
use super::step_verdict::judge_step;
use super::tool_names;
use crate::tool_facts::ToolKind;
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

/// Subcommands that build, check or show what is in the workspace: of these a rule may leave the further words open. Of all
/// others, which install, publish, deploy, switch or throw something away, the very command is offered.
const OPEN: &[(&str, &[&str])] = &[
    ("bundle", &["check", "list", "show"]),
    (
        "cargo",
        &["bench", "build", "check", "clippy", "doc", "fmt", "metadata", "nextest", "test", "tree"],
    ),
    ("composer", &["show", "validate"]),
    ("dotnet", &["build", "format", "test"]),
    ("git", &["add", "blame", "commit", "diff", "log", "show", "status"]),
    ("go", &["build", "doc", "fmt", "list", "test", "vet"]),
    ("gradle", &["build", "check", "test"]),
    ("mix", &["compile", "format", "test"]),
    ("mvn", &["compile", "test", "verify"]),
    ("npm", &["ls", "outdated", "test"]),
    ("pip", &["check", "freeze", "list", "show"]),
    ("pip3", &["check", "freeze", "list", "show"]),
    ("pnpm", &["ls", "outdated", "test"]),
    ("poetry", &["check", "show"]),
    ("rails", &["test"]),
    ("swift", &["build", "test"]),
    ("terraform", &["fmt", "plan", "show", "validate"]),
    ("yarn", &["list", "outdated", "test"]),
    ("zig", &["build", "fmt", "test"]),
];

/// Programs whose first operand names something that the project has written down.
const RECIPES: &[&str] = &["just", "rake", "task"];

/// Programs that run a script of the project by its name.
const SCRIPTS: &[&str] = &["npm", "pnpm", "yarn"];

/// Rules offered at a time.
const MOST: usize = 3;
/// Steps of a text that a question may offer rules for.
const MOST_STEPS: usize = 16;

fn is_runner(program: &str) -> bool {
    let name = program.rsplit('/').next().unwrap_or(program);
    let stem = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    RUNS_ANYTHING.contains(&name) || (!stem.is_empty() && RUNS_ANYTHING.contains(&stem))
}

/// Rules that together would have allowed the call; none if a rule cannot or must not.
pub(super) fn offer(
    scene: DecisionScene<'_>,
    tool: &str,
    access: &Access,
    rulings: &[Ruling],
) -> Vec<String> {
    let settled = |ruling: &Ruling| !matches!(ruling, Ruling::Open(_) | Ruling::Allow(_));
    if rulings.iter().any(settled) {
        return Vec::new();
    }
    match &access.runs {
        Some(commands) => for_commands(scene, access, commands, rulings),
        None => {
            let rules = for_call(tool, access, scene.workspace);
            let judged = |scene: DecisionScene<'_>| judge_call(scene, tool, access);
            if would_allow(scene, &rules, judged) { rules } else { Vec::new() }
        }
    }
}

/// An offer that would not do what it promises is none.
fn would_allow(
    scene: DecisionScene<'_>,
    rules: &[String],
    judged: impl Fn(DecisionScene<'_>) -> Ruling,
) -> bool {
    let parsed: Result<Vec<Rule>, _> =
        rules.iter().map(|text| Rule::parse(text, scene.workspace)).collect();
    let Ok(parsed) = parsed else { return false };
    let mut policy = scene.policy.clone();
    policy.allow.extend(parsed);
    matches!(judged(DecisionScene { policy: &policy, ..scene }), Ruling::Allow(_))
}

fn for_commands(
    scene: DecisionScene<'_>,
    access: &Access,
    commands: &Commands,
    rulings: &[Ruling],
) -> Vec<String> {
    let many = commands.steps.len() > MOST_STEPS;
    if many || !commands.doubts.is_empty() || rulings.len() < commands.steps.len() {
        return Vec::new();
    }
    let open = commands.steps.iter().zip(rulings).filter(|(_, r)| !matches!(r, Ruling::Allow(_)));
    let mut rules: Vec<String> = Vec::new();
    for (step, _) in open {
        let judged = |scene: DecisionScene<'_>| judge_step(scene, access, step);
        if !rules.is_empty() && would_allow(scene, &rules, judged) {
            continue;
        }
        let files = for_redirections(step, scene.workspace);
        let program: Vec<String> = for_step(step).into_iter().collect();
        let both = [program.clone(), files.clone()].concat();
        let mut sets = [files, program, both].into_iter();
        match sets.find(|set| !set.is_empty() && would_allow(scene, set, judged)) {
            Some(set) => rules.extend(set),
            None => return Vec::new(),
        }
        if rules.len() > MOST {
            return Vec::new();
        }
    }
    rules
}

/// The files that redirections write, each by name.
fn for_redirections(step: &Step, workspace: &Workspace) -> Vec<String> {
    let redirected = step.touches.iter().filter(|touch| touch.act == Act::Redirect);
    let scopes = redirected.flat_map(|touch| touch.scopes.iter().flatten());
    let inside = scopes.map(|scope| scope.path()).filter(|path| workspace.contains(path));
    inside.map(|path| format!("{CHANGING}({})", written(path, workspace))).collect()
}

fn for_step(step: &Step) -> Option<String> {
    let words: Option<Vec<&str>> = step.compared().iter().map(Word::literal).collect();
    let words = words?;
    let (program, rest) = words.split_first()?;
    if is_runner(program) || !step.variables.is_empty() || !step.hosts.is_empty() {
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
    let open = |sub: &str| {
        let of = OPEN.iter().find(|(name, _)| name == program);
        RECIPES.contains(program) || of.is_some_and(|(_, subs)| subs.contains(&sub))
    };
    let text = match rest.first().filter(command).filter(|word| !word.starts_with('-')) {
        Some(&"run") if SCRIPTS.contains(program) => {
            format!("{program} run {}:*", rest.get(1).filter(|w| plain(w))?)
        }
        Some(sub) if open(sub) => format!("{program} {sub}:*"),
        _ if words.iter().all(plain) => words.join(" "),
        _ => return None,
    };
    // What is offered must be what it says.
    let made = CommandPattern::parse(&text)?;
    made.matches(step.compared()).then(|| format!("{COMMANDS}({text})"))
}

fn for_call(tool: &str, access: &Access, workspace: &Workspace) -> Vec<String> {
    if tool.starts_with("mcp__") {
        return vec![tool.to_owned()];
    }
    if !access.known {
        return Vec::new();
    }
    if access.board {
        return vec![tool.to_owned()];
    }
    match access.hosts.as_slice() {
        [] => {}
        [host] if tool_names::kind(tool, &workspace.tools) == ToolKind::Fetches => {
            return vec![format!("{tool}(domain:{host})")];
        }
        _ => return Vec::new(),
    }
    let (name, scope) = match (access.writes.as_slice(), access.reads.as_slice()) {
        ([scope], _) => (CHANGING, scope),
        ([], [scope]) => (READING, scope),
        _ => return Vec::new(),
    };
    let path = scope.path();
    if protected(path, workspace).is_some() {
        return Vec::new();
    }
    // Outside the workspace it is this file and no other.
    let folder = path.parent().filter(|folder| {
        workspace.contains(folder) && !workspace.roots.iter().any(|root| root == folder)
    });
    let rule = match folder {
        Some(folder) => format!("{name}({}/**)", written(folder, workspace)),
        None => format!("{name}({})", written(path, workspace)),
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
