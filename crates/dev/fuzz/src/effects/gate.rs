//! Judges a line exactly as a run would, on the disk it is then run on.

use super::ground::{HOME, WORKSPACE};
use super::planted_faults::Planted;
use ostler::{Commands, Mode, PathScope, Policy, Position, Rule, Step, Verdict, Workspace};
use serde_json::json;
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::Path;

pub const PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// Programs that other programs start besides those that the sandbox allows them by name: interpreters of scripts, and
/// what the stand-ins are made of.
const HELPERS: &[(&str, &[&str])] = &[
    ("egrep", &["sh"]),
    ("fgrep", &["sh"]),
    ("zcat", &["sh"]),
    ("zgrep", &["sh", "zcat"]),
    ("gunzip", &["sh"]),
    ("ldd", &["bash"]),
    ("which", &["sh"]),
    ("man", &["groff", "less"]),
];

/// As the Bash tool sets it for commands that were allowed and not proved.
const GIT_ALWAYS: [(&str, &str); 9] = [
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GIT_PAGER", "cat"),
    ("GIT_CONFIG_COUNT", "3"),
    ("GIT_CONFIG_KEY_0", "core.fsmonitor"),
    ("GIT_CONFIG_VALUE_0", "false"),
    ("GIT_CONFIG_KEY_1", "safe.bareRepository"),
    ("GIT_CONFIG_VALUE_1", "explicit"),
    ("GIT_CONFIG_KEY_2", "core.pager"),
    ("GIT_CONFIG_VALUE_2", "cat"),
];

/// What was proved about a line that may run unasked.
#[derive(Clone, Debug)]
pub struct Allowed {
    /// What bash is given.
    pub script: String,
    pub environment: Vec<(String, String)>,
    /// Programs that may be started.
    programs: BTreeSet<String>,
    reads: Vec<PathScope>,
    /// Git may read the whole repository.
    git: bool,
    /// `git diff` notes in the index that a file did not change after all.
    may_refresh_index: bool,
    /// The line asks for it with `&`.
    may_stay: bool,
}

/// Which rules are in force: the shipped ones, or those with denials of a file and a program added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GateRules {
    Shipped,
    WithDenials,
}

pub struct FuzzGate {
    workspace: Workspace,
    shipped: Policy,
    with_denials: Policy,
}

impl FuzzGate {
    pub fn new() -> Result<Self, String> {
        let workspace = Workspace {
            cwd: WORKSPACE.into(),
            roots: vec![WORKSPACE.into()],
            home: HOME.into(),
            tools: ostler::known_tools(),
            ..Workspace::default()
        };
        let shipped = ostler::rule_set(&json!("default"), &workspace)?;
        let mut with_denials = shipped.clone();
        for rule in ["Read(./.env)", "Bash(curl:*)", "Bash(touch:*)"] {
            let rule = Rule::parse(rule, &workspace).map_err(|error| error.to_string())?;
            with_denials.deny.push(rule);
        }
        Ok(FuzzGate { workspace, shipped, with_denials })
    }

    /// None unless the line runs without a question. With a planted fault another text is judged than the one that
    /// runs.
    pub fn judge(&self, line: &str, rules: GateRules, planted: Option<Planted>) -> Option<Allowed> {
        let judged = match planted {
            Some(planted) => planted.rewrite(line),
            None => line.to_owned(),
        };
        let policy = match rules {
            GateRules::Shipped => &self.shipped,
            GateRules::WithDenials => &self.with_denials,
        };
        let input = json!({ "command": judged });
        let path = OsStr::new(PATH);
        let judged =
            ostler::judge_with_path("Bash", &input, policy, Mode::Default, &self.workspace, path);
        if judged.decision.verdict != Verdict::Allow {
            return None;
        }
        let access = judged.access?;
        let commands = access.runs.as_deref()?;
        Some(Allowed {
            script: script(line, commands),
            environment: environment(commands),
            programs: programs(commands),
            reads: access.reads.clone(),
            git: commands.runs_git(),
            may_refresh_index: commands.steps.iter().any(is_git_diff),
            may_stay: commands.steps.iter().any(|step| step.position == Position::Background),
        })
    }
}

impl Allowed {
    /// For a line that runs whatever the gate says.
    pub fn everything(line: &str) -> Self {
        let commands = Commands { text: line.to_owned(), ..Commands::default() };
        Allowed {
            script: line.to_owned(),
            environment: environment(&commands),
            programs: BTreeSet::new(),
            reads: Vec::new(),
            git: false,
            may_refresh_index: false,
            may_stay: false,
        }
    }

    pub fn may_start(&self, program: &str) -> bool {
        self.programs.contains(program)
    }

    pub fn may_change(&self, change: &str) -> bool {
        self.may_refresh_index && ["changed /ws/.git", "changed /ws/.git/index"].contains(&change)
    }

    pub fn may_leave_processes(&self) -> bool {
        self.may_stay
    }

    /// The proof says that this file is read.
    pub fn reads(&self, file: &Path) -> bool {
        let by_git = file.starts_with(WORKSPACE) || file == Path::new("/home/dev/.gitconfig");
        (self.git && by_git)
            || self.reads.iter().any(|scope| match scope {
                PathScope::File(path) => path == file,
                PathScope::Tree(tree) => file.starts_with(tree),
            })
    }

    /// The proof says so by naming a whole directory. What hides a secret from such a command is not the gate.
    pub fn reads_all_around(&self, file: &Path) -> bool {
        self.reads.iter().any(|scope| match scope {
            PathScope::File(_) => false,
            PathScope::Tree(tree) => file.starts_with(tree) && file != tree,
        })
    }
}

fn is_git_diff(step: &Step) -> bool {
    let words: Vec<&str> = step.words.iter().filter_map(|word| word.literal()).collect();
    words.first() == Some(&"git") && words.contains(&"diff")
}

fn script(line: &str, commands: &Commands) -> String {
    if commands.runs_git() {
        format!("{}{line}", ostler_shell::GIT_PRELUDE)
    } else {
        line.to_owned()
    }
}

/// As the Bash tool sets it. Only `LANG` names the locale, so that a line that could change it shows.
fn environment(commands: &Commands) -> Vec<(String, String)> {
    let base = [
        ("PATH", PATH),
        ("HOME", HOME),
        ("USER", "dev"),
        ("SHELL", "/bin/bash"),
        ("LANG", "C.UTF-8"),
        ("TMPDIR", "/tmp"),
        ("TERM", "dumb"),
    ];
    let git: &[(&str, &str)] = if commands.only_reads() || commands.git_only_reads() {
        ostler_shell::GIT_OVERRIDES
    } else {
        &GIT_ALWAYS
    };
    let all = base.iter().chain(git);
    all.map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

fn programs(commands: &Commands) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for step in &commands.steps {
        let Some(word) = step.words.first().and_then(|word| word.literal()) else { continue };
        let name = word.rsplit('/').next().unwrap_or(word);
        let helpers = HELPERS.iter().filter(|(program, _)| *program == name);
        let started = helpers.flat_map(|(_, names)| names.iter().copied());
        found.extend(started.chain(ostler_tools::confine::helpers(name)).map(str::to_owned));
        found.insert(name.to_owned());
    }
    found
}
