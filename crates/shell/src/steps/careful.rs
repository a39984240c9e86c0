//! Programs without a table of their own whose options run or redirect things: a rule on the name alone does not
//! vouch for those.

use super::inner::caution;
use super::judge::Verdict;
use super::languages::is_python;
use super::{handed, hosts};
use ostler_core::permission::script::Word;
use ostler_core::permission::{Caution, Effect};

struct Careful {
    names: &'static [&'static str],
    /// Letters of options, alone or in a cluster.
    letters: &'static str,
    /// Without dashes; beginnings of them count.
    long: &'static [&'static str],
    /// The first operand.
    words: &'static [&'static str],
    /// Operands that begin so.
    begins: &'static [&'static str],
    /// Options that only look like the beginning of one of `long`.
    fine: &'static [&'static str],
}

const PLAIN: Careful =
    Careful { names: &[], letters: "", long: &[], words: &[], begins: &[], fine: &[] };

static PROGRAMS: &[Careful] = &[
    Careful {
        names: &["tar", "gtar", "bsdtar"],
        letters: "IFKP",
        long: &[
            "use-compress-program",
            "to-command",
            "checkpoint-action",
            "info-script",
            "new-volume-script",
            "rsh-command",
            "rmt-command",
            "absolute-names",
            "remove-files",
        ],
        ..PLAIN
    },
    Careful { names: &["zip"], letters: "T", long: &["unzip-command", "test"], ..PLAIN },
    Careful { names: &["ssh"], letters: "oFDLRWJwSEI", ..PLAIN },
    Careful { names: &["scp", "sftp"], letters: "oFSDJbc", ..PLAIN },
    Careful {
        names: &["rsync"],
        letters: "e",
        long: &["rsh", "rsync-path", "daemon", "config", "files-from"],
        ..PLAIN
    },
    Careful {
        names: &["man"],
        letters: "PHCMlpTXtmL",
        long: &[
            "pager",
            "html",
            "browser",
            "config-file",
            "manpath",
            "local-file",
            "preprocessor",
            "troff-device",
            "troff",
            "gxditview",
            "ditroff",
            "systems",
        ],
        begins: &["./"],
        ..PLAIN
    },
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
        ..PLAIN
    },
    Careful {
        names: &["vim", "vi", "nvim", "view", "ex", "gvim"],
        letters: "cSsuUeEWwi",
        long: &["cmd", "startuptime", "listen", "remote"],
        begins: &["+"],
        ..PLAIN
    },
    Careful {
        names: &["emacs", "emacsclient"],
        letters: "flLex",
        long: &["eval", "load", "funcall", "batch", "script", "execute", "directory"],
        begins: &["+"],
        ..PLAIN
    },
    Careful {
        names: &["ed", "red", "nano"],
        letters: "pRT",
        long: &["rcfile", "speller"],
        ..PLAIN
    },
    Careful {
        names: &["go"],
        long: &[
            "vettool",
            "exec",
            "toolexec",
            "C",
            "modfile",
            "overlay",
            "ldflags",
            "gcflags",
            "asmflags",
            "gccgoflags",
            "compiler",
            "pkgdir",
            "o",
        ],
        ..PLAIN
    },
    Careful {
        names: &["cargo"],
        letters: "ZC",
        long: &[
            "config",
            "manifest-path",
            "target-dir",
            "out-dir",
            "artifact-dir",
            "lockfile-path",
        ],
        begins: &["+"],
        fine: &["target"],
        ..PLAIN
    },
    Careful {
        names: &["pytest", "py.test"],
        letters: "pco",
        long: &[
            "rootdir",
            "confcutdir",
            "config-file",
            "override-ini",
            "basetemp",
            "plugins",
            "pastebin",
            "pdbcls",
        ],
        begins: &["@"],
        ..PLAIN
    },
    Careful {
        names: &["npm", "pnpm", "yarn", "bun"],
        letters: "Cgw",
        long: &[
            "prefix",
            "local-prefix",
            "workspace",
            "shell",
            "git",
            "cache",
            "logs-dir",
            "init-module",
            "editor",
            "viewer",
            "browser",
            "script-shell",
            "dir",
            "cwd",
            "userconfig",
            "globalconfig",
            "node-options",
            "global",
            "registry",
        ],
        words: &["exec", "x", "dlx", "explore", "config", "create", "set"],
        ..PLAIN
    },
    Careful {
        names: &["make", "gmake"],
        letters: "fCIE",
        long: &["file", "makefile", "directory", "include-dir", "eval"],
        ..PLAIN
    },
    Careful {
        names: &["docker", "podman", "nerdctl"],
        letters: "vHu",
        long: &[
            "privileged",
            "volume",
            "mount",
            "cap-add",
            "device",
            "pid",
            "network",
            "net",
            "userns",
            "security-opt",
            "host",
            "context",
            "ipc",
            "uts",
            "volumes-from",
            "env-file",
            "label-file",
            "cidfile",
            "cgroup-parent",
            "cgroupns",
            "runtime",
            "group-add",
            "use-api-socket",
        ],
        ..PLAIN
    },
    Careful {
        names: &["curl"],
        letters: "oOKTxcDEJ",
        long: &[
            "output",
            "remote-name",
            "config",
            "upload-file",
            "proxy",
            "cookie-jar",
            "dump-header",
            "trace",
            "trace-ascii",
            "stderr",
            "netrc-file",
            "preproxy",
            "unix-socket",
            "etag-save",
            "hsts",
            "libcurl",
        ],
        begins: &["@", "file:"],
        ..PLAIN
    },
    Careful {
        names: &["wget"],
        letters: "OoaiPex",
        long: &[
            "output-document",
            "output-file",
            "append-output",
            "execute",
            "input-file",
            "directory-prefix",
            "config",
            "use-askpass",
            "post-file",
            "body-file",
        ],
        ..PLAIN
    },
    Careful { names: &["rg"], long: &["pre", "hostname-bin"], ..PLAIN },
    Careful {
        names: &["pip", "pip3"],
        letters: "t",
        long: &[
            "target",
            "prefix",
            "root",
            "index-url",
            "extra-index-url",
            "config-settings",
            "python",
        ],
        words: &["config"],
        ..PLAIN
    },
];

/// Of git's subcommands that are not known to only read.
static GIT: &[Careful] = &[
    Careful { names: &["rebase"], letters: "x", long: &["exec"], ..PLAIN },
    Careful { names: &["bisect"], words: &["run"], ..PLAIN },
    Careful { names: &["submodule"], words: &["foreach", "update"], begins: &["ext:"], ..PLAIN },
    Careful { names: &["remote"], begins: &["ext:"], ..PLAIN },
    Careful { names: &["add"], letters: "e", long: &["edit"], ..PLAIN },
    Careful {
        names: &["clone", "init"],
        letters: "cu",
        long: &["config", "upload-pack", "template", "separate-git-dir"],
        begins: &["ext:"],
        ..PLAIN
    },
    Careful {
        names: &["fetch", "pull", "push", "ls-remote", "archive"],
        letters: "o",
        long: &["upload-pack", "receive-pack", "exec", "output", "server-option"],
        begins: &["ext:"],
        ..PLAIN
    },
    Careful {
        names: &["commit", "merge", "am", "apply"],
        long: &["unsafe-paths", "directory", "template"],
        letters: "t",
        ..PLAIN
    },
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

const INTERPRETERS: &[&str] = &[
    "node",
    "nodejs",
    "perl",
    "ruby",
    "php",
    "lua",
    "luajit",
    "deno",
    "bun",
    "Rscript",
    "osascript",
    "tclsh",
    "wish",
    "expect",
    "irb",
    "ipython",
    "pwsh",
    "gdb",
    "lldb",
    "npx",
    "bunx",
    "pipx",
    "uvx",
    "tsx",
    "ts-node",
];

pub(super) fn judge(name: &str, words: &[Word]) -> Verdict {
    let mut verdict = Verdict {
        hosts: hosts::of(name, words),
        ..Verdict::unknown(format!("{name} is not known to only read"))
    };
    if INTERPRETERS.contains(&name) || is_python(name, "python") || is_python(name, "pypy") {
        verdict.cautions = interpreted(name, words);
        verdict.effect = Effect::Unknown(format!("{name} runs a program"));
    }
    if let Some(entry) = PROGRAMS.iter().find(|entry| entry.names.contains(&name)) {
        verdict.cautions.extend(entry.cautions(words, 1, name));
    }
    match name {
        "tar" | "gtar" | "bsdtar" => verdict.cautions.extend(handed::fetched(words)),
        "cargo" => verdict.cautions.extend(handed::on(words)),
        _ => {}
    }
    if matches!(name, "make" | "gmake") {
        let sets = |(at, word): (usize, &Word)| {
            let text = word.literal()?;
            text.contains('=').then(|| caution(at, format!("{text} sets a variable of make")))
        };
        verdict.cautions.extend(words.iter().enumerate().skip(1).filter_map(sets));
    }
    verdict
}

/// A subcommand of git without an entry in the tables; `words` begin with git.
pub(super) fn git(words: &[Word]) -> Verdict {
    let sub = words.get(1).and_then(Word::literal).unwrap_or_default();
    let mut verdict = Verdict::unknown(format!("git {sub} is not known to only read"));
    if matches!(sub, "clone" | "fetch" | "pull" | "push" | "ls-remote") {
        verdict.hosts = hosts::of("git", words);
    }
    if GIT_RUNS.contains(&sub) {
        verdict.cautions.push(caution(1, format!("git {sub} can run something")));
    }
    if !GIT_KNOWN.contains(&format!(" {sub} ")) {
        verdict.cautions.push(caution(1, format!("git {sub} may be another program")));
    }
    if let Some(entry) = GIT.iter().find(|entry| entry.names.contains(&sub)) {
        verdict.cautions.extend(entry.cautions(words, 2, sub));
    }
    verdict
}

impl Careful {
    fn cautions(&self, words: &[Word], from: usize, name: &str) -> Vec<Caution> {
        let literals = words.iter().enumerate().skip(from).map_while(|(at, word)| {
            let text = word.literal().unwrap_or_default();
            (text != "--").then_some((at, text))
        });
        let first =
            words.iter().skip(from).position(|w| w.literal().is_none_or(|w| !w.starts_with('-')));
        let first = first.map(|at| at + from);
        let bundled = |at: usize| matches!(name, "tar" | "gtar" | "bsdtar") && at == from;
        literals
            .filter(|(at, text)| {
                self.is_careful(text, bundled(*at))
                    || first == Some(*at) && self.words.contains(text)
            })
            .map(|(at, text)| {
                caution(at, format!("{text} makes {name} do more than its name says"))
            })
            .collect()
    }

    fn is_careful(&self, text: &str, bundled: bool) -> bool {
        let begins = |option: &str| {
            let name = option.split('=').next().unwrap_or(option);
            !name.is_empty()
                && !self.fine.contains(&name)
                && self.long.iter().any(|long| long.starts_with(name))
        };
        match text.strip_prefix('-') {
            Some(option) => match option.strip_prefix('-') {
                Some(long) => begins(long),
                None => {
                    let single = option.split('=').next().unwrap_or(option);
                    // To npm one dash is as good as two.
                    let alike = self.names.contains(&"npm") && single.len() > 2 && begins(single);
                    option.contains(|c| self.letters.contains(c))
                        || self.long.contains(&single)
                        || alike
                }
            },
            None if bundled => text.contains(|c| self.letters.contains(c)),
            None => self.begins.iter().any(|start| text.starts_with(start)),
        }
    }
}

/// Every word up to the script, for each of them says what runs.
fn interpreted(name: &str, words: &[Word]) -> Vec<Caution> {
    let mut found = Vec::new();
    for (at, word) in words.iter().enumerate().skip(1) {
        found.push(caution(at, format!("it says what {name} runs")));
        if word
            .literal()
            .is_none_or(|text| !text.starts_with('-') || matches!(text, "-c" | "-e" | "-m"))
        {
            return found;
        }
    }
    if found.is_empty() || words.last().and_then(Word::literal) == Some("-") {
        found.push(Caution { why: format!("{name} runs what it reads"), word: None });
    }
    found
}
