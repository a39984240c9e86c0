//! Programs without a table of their own whose options run or redirect things: a rule on the name alone does not
//! vouch for those.

use super::inner_commands::caution;
use super::judge::StepVerdict;
use super::words::shown;
use super::{forwarded_arguments, general_options, hosts, option_lists, writers};
use ostler_policy::script::Word;
use ostler_policy::{Caution, Concern, Effect, is_interpreter};

struct Careful {
    names: &'static [&'static str],
    /// Letters of options, alone or in a cluster.
    letters: &'static str,
    /// Without dashes; beginnings of them count.
    long: &'static [&'static str],
    /// Operands that begin so.
    begins: &'static [&'static str],
}

const PLAIN: Careful = Careful { names: &[], letters: "", long: &[], begins: &[] };

static PROGRAMS: &[Careful] = &[
    Careful {
        names: &["less", "more", "most"],
        letters: "oOkLT",
        long: &[
            "log-file",
            "LOG-FILE",
            "lesskey-file",
            "lesskey-src",
            "lesskey-content",
            "tag-file",
        ],
        begins: &["+"],
    },
    Careful { names: &["rg"], long: &["pre", "hostname-bin"], ..PLAIN },
];

/// Subcommands that are there to run or set something.
const GIT_RUNS: &[&str] = &[
    "config",
    "difftool",
    "mergetool",
    "filter-branch",
    "hook",
    "maintenance",
    "daemon",
    "send-email",
    "instaweb",
    "credential",
];

/// Subcommands that are what they are called. Another one can be an alias or a program of its own, or speak to a remote.
const GIT_KNOWN: &str = " add am apply archive bisect blame branch bundle cat-file check-attr check-ignore checkout \
    cherry cherry-pick clean clone commit count-objects describe diff diff-files diff-index diff-tree fetch \
    for-each-ref format-patch gc grep hash-object init log ls-files ls-remote ls-tree merge merge-base merge-file \
    merge-tree mv name-rev notes prune pull push range-diff rebase reflog remote repack reset restore rev-list \
    rev-parse revert rm shortlog show show-branch show-ref sparse-checkout stash status submodule switch \
    symbolic-ref tag update-index update-ref verify-pack whatchanged worktree write-tree ";

/// Besides interpreters: programs that start what their words name, beside the shell or the sandbox.
const STARTERS: &[&str] = &[
    "osascript",
    "wish",
    "expect",
    "pwsh",
    "powershell",
    "gdb",
    "lldb",
    "scala-cli",
    "dc",
    "gnuplot",
    "mongosh",
    "mongo",
    "nix",
    "nix-shell",
    "nix-build",
    "guix",
    "entr",
    "nodemon",
    "watchexec",
    "concurrently",
    "cross-env",
    "dotenv",
    "direnv",
    "mise",
    "asdf",
    "hyperfine",
    "xvfb-run",
    "dbus-run-session",
    "ssh-agent",
    "script",
    "rlwrap",
    "faketime",
    "torsocks",
    "proxychains",
    "proxychains4",
    "cpulimit",
    "cgexec",
    "numactl",
    "start-stop-daemon",
    "gosu",
    "su-exec",
    "tini",
    "dumb-init",
    "foreman",
    "honcho",
    "overmind",
    "act",
    "screen",
    "tmux",
    "byobu",
    "at",
    "batch",
    "crontab",
    "xdg-open",
    "open",
    "code",
    "cursor",
    "subl",
    "socat",
    "bpftrace",
    "perf",
    "rr",
    "uftrace",
];

pub(super) fn judge(name: &str, words: &[Word]) -> StepVerdict {
    let mut verdict = StepVerdict {
        hosts: hosts::of(name, words),
        ..StepVerdict::unknown(format!("{name} is not known to be read-only"))
    };
    let interpreter = is_interpreter(name) || STARTERS.contains(&name);
    if interpreter {
        verdict.cautions = interpreted(name, words);
        verdict.cautions.extend(of_module(words));
        verdict.effect = Effect::Unknown(format!("{name} runs a program"));
    }
    let entry = PROGRAMS.iter().find(|entry| entry.names.contains(&name));
    match (option_lists::judge(name, words), entry) {
        (Some((cautions, written)), _) => {
            verdict.cautions.extend(cautions);
            verdict.touches.extend(written);
        }
        (None, Some(entry)) => verdict.cautions.extend(entry.cautions(words, 1)),
        (None, None) if interpreter => {}
        (None, None) => verdict.cautions.extend(general_options::cautions(words)),
    }
    verdict.touches.extend(writers::guess(name, words.get(1..).unwrap_or_default()));
    match name {
        "tar" | "gtar" | "bsdtar" => verdict.cautions.extend(forwarded_arguments::fetched(words)),
        "cargo" => verdict.cautions.extend(forwarded_arguments::on(words)),
        _ => {}
    }
    verdict
}

/// A subcommand of git without an entry in the tables; `words` begin with git.
pub(super) fn git(words: &[Word]) -> StepVerdict {
    let sub = words.get(1).and_then(Word::literal).unwrap_or_default();
    let mut verdict = StepVerdict::unknown(format!("git {sub} is not known to be read-only"));
    if matches!(sub, "clone" | "fetch" | "pull" | "push" | "ls-remote") {
        verdict.hosts = hosts::of("git", words);
    }
    if GIT_RUNS.contains(&sub) {
        verdict.cautions.push(caution(1, format!("git {sub} can run something")));
    }
    if !GIT_KNOWN.contains(&format!(" {sub} ")) {
        verdict.cautions.push(caution(1, format!("git {sub} may be another program")));
    }
    verdict.cautions.extend(option_lists::cautions("git", words).unwrap_or_default());
    verdict
}

impl Careful {
    fn cautions(&self, words: &[Word], from: usize) -> Vec<Caution> {
        let literals = words.iter().enumerate().skip(from).map_while(|(at, word)| {
            let text = word.literal().unwrap_or_default();
            (text != "--").then_some((at, text))
        });
        literals
            .filter(|(_, text)| self.is_careful(text))
            .map(|(at, text)| {
                caution(at, format!("an allow rule covers {text} only if it names it"))
            })
            .collect()
    }

    fn is_careful(&self, text: &str) -> bool {
        let begins = |option: &str| {
            let name = option.split('=').next().unwrap_or(option);
            !name.is_empty() && self.long.iter().any(|long| long.starts_with(name))
        };
        match text.strip_prefix('-') {
            Some(option) => match option.strip_prefix('-') {
                Some(long) => begins(long),
                None => {
                    let single = option.split('=').next().unwrap_or(option);
                    option.contains(|c| self.letters.contains(c)) || self.long.contains(&single)
                }
            },
            None => self.begins.iter().any(|start| text.starts_with(start)),
        }
    }
}

/// `python3 -m pytest …`: the module's options are those of the program.
fn of_module(words: &[Word]) -> Vec<Caution> {
    let [_, Word::Literal(option), module @ ..] = words else { return Vec::new() };
    let name = module.first().and_then(Word::literal).filter(|_| option == "-m");
    let mut found = name.and_then(|name| option_lists::cautions(name, module)).unwrap_or_default();
    found.iter_mut().for_each(|caution| caution.word = caution.word.map(|at| at + 2));
    found
}

/// Every word up to the script, because each of them can decide what runs.
fn interpreted(name: &str, words: &[Word]) -> Vec<Caution> {
    let concern = if is_interpreter(name) { Concern::Code } else { Concern::Other };
    let is_last = |word: &Word| {
        word.literal()
            .is_none_or(|text| !text.starts_with('-') || matches!(text, "-c" | "-e" | "-m"))
    };
    let why = match words.iter().skip(1).find(|word| is_last(word)) {
        Some(Word::Literal(text)) if text == "-m" => format!("{name} runs the module after -m"),
        Some(Word::Literal(text)) if text.starts_with('-') => {
            format!("{name} runs the code after {text}")
        }
        Some(Word::Literal(text)) => format!("{name} runs {}", shown(text)),
        Some(_) => format!("{name} runs what is named there"),
        None => format!("{name} can run any code"),
    };
    let mut found = Vec::new();
    for (at, word) in words.iter().enumerate().skip(1) {
        found.push(caution(at, why.clone()).about(concern));
        if is_last(word) {
            return found;
        }
    }
    if found.is_empty() || words.last().and_then(Word::literal) == Some("-") {
        found.push(Caution::new(format!("{name} runs what it reads"), None).about(concern));
    }
    found
}
