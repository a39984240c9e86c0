//! The subcommands of git that are known to be read-only, and what has to hold for that.
//!
//! Git runs programs that its configuration names. The options here start none by themselves; what the
//! configuration would start is switched off by [`GIT_OVERRIDES`] and [`GIT_PRELUDE`].

use crate::table::{BARE, Count, Operands, Program, Takes, Value};
use Takes::{Always, Glued, Maybe};

/// The environment under which a proof about git holds, besides what [`CLEARED_ENV`](crate::CLEARED_ENV) removes.
///
/// No file system monitor, hooks, signature programs, pager, transport or prompt; no repository found by accident
/// in a bare layout; no summary that runs git inside submodules; no locks that are not needed.
pub const GIT_OVERRIDES: &[(&str, &str)] = &[
    ("GIT_OPTIONAL_LOCKS", "0"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GIT_PAGER", "cat"),
    ("GIT_NO_LAZY_FETCH", "1"),
    ("GIT_ALLOW_PROTOCOL", ""),
    ("GIT_CONFIG_COUNT", "11"),
    ("GIT_CONFIG_KEY_0", "core.fsmonitor"),
    ("GIT_CONFIG_VALUE_0", "false"),
    ("GIT_CONFIG_KEY_1", "safe.bareRepository"),
    ("GIT_CONFIG_VALUE_1", "explicit"),
    ("GIT_CONFIG_KEY_2", "core.pager"),
    ("GIT_CONFIG_VALUE_2", "cat"),
    ("GIT_CONFIG_KEY_3", "core.hooksPath"),
    ("GIT_CONFIG_VALUE_3", "/dev/null"),
    ("GIT_CONFIG_KEY_4", "log.showSignature"),
    ("GIT_CONFIG_VALUE_4", "false"),
    ("GIT_CONFIG_KEY_5", "gpg.program"),
    ("GIT_CONFIG_VALUE_5", "false"),
    ("GIT_CONFIG_KEY_6", "gpg.openpgp.program"),
    ("GIT_CONFIG_VALUE_6", "false"),
    ("GIT_CONFIG_KEY_7", "gpg.x509.program"),
    ("GIT_CONFIG_VALUE_7", "false"),
    ("GIT_CONFIG_KEY_8", "gpg.ssh.program"),
    ("GIT_CONFIG_VALUE_8", "false"),
    ("GIT_CONFIG_KEY_9", "diff.submodule"),
    ("GIT_CONFIG_VALUE_9", "short"),
    ("GIT_CONFIG_KEY_10", "status.submoduleSummary"),
    ("GIT_CONFIG_VALUE_10", "false"),
];

/// Stands before a script that runs git: external diff and text conversion have no switch in the environment, so every
/// git that shows differences is told on its command line. Neither has looking into submodules, for which git starts
/// another git under the submodule's own configuration, filters included. It reaches no git that another program starts.
pub const GIT_PRELUDE: &str = r#"git() {
  local before=()
  while :; do
    case "$1" in
      -P|--no-pager|--no-optional-locks|--literal-pathspecs) before+=("$1"); shift ;;
      -C) before+=(-C "$2"); shift 2 || break ;;
      *) break ;;
    esac
  done
  case "$1" in
    diff|log|show) command git "${before[@]}" "$1" --no-ext-diff --no-textconv --ignore-submodules=dirty "${@:2}" ;;
    status) command git "${before[@]}" status --ignore-submodules=dirty "${@:2}" ;;
    blame) command git "${before[@]}" blame --no-textconv "${@:2}" ;;
    *) command git "${before[@]}" "$@" ;;
  esac
}
"#;

/// Format names that git knows itself, and formats spelled out. Other names come from the configuration, and
/// `%G…` asks the signature program.
pub(crate) fn pretty_only_prints(format: &str) -> bool {
    let named =
        ["oneline", "short", "medium", "full", "fuller", "reference", "email", "mboxrd", "raw"];
    let mut rest = format;
    while let Some((_, after)) = rest.split_once('%') {
        rest = after;
        if rest.strip_prefix(['+', '-', ' ']).unwrap_or(rest).starts_with('G') {
            return false;
        }
    }
    // Nothing at all is a format that prints nothing.
    named.contains(&format)
        || format.is_empty()
        || format.starts_with("format:")
        || format.starts_with("tformat:")
        || format.contains('%')
}

/// Fields that git takes from refs and commits themselves. `%(signature)` asks the signature program.
pub(crate) fn ref_only_prints(format: &str) -> bool {
    let known = [
        "refname",
        "objectname",
        "objecttype",
        "objectsize",
        "committerdate",
        "creatordate",
        "authordate",
        "taggerdate",
        "authorname",
        "authoremail",
        "committername",
        "subject",
        "contents:subject",
        "upstream",
        "push",
        "HEAD",
        "worktreepath",
        "color",
        "if",
        "then",
        "else",
        "end",
        "align",
    ];
    let mut rest = format;
    while let Some((_, after)) = rest.split_once("%(") {
        let Some((field, after)) = after.split_once(')') else { return false };
        let field = field.strip_prefix('*').unwrap_or(field);
        let name = field.split(':').next().unwrap_or(field);
        if !known.contains(&name) && !known.contains(&field) {
            return false;
        }
        rest = after;
    }
    true
}

/// How differences are shown; the same for diff, log and show.
macro_rules! diff_long {
    ($($more:literal),* $(,)?) => {
        &[
            "patch", "no-patch", "raw", "patch-with-stat", "numstat", "shortstat", "summary", "name-only", "name-status",
            "compact-summary", "minimal", "patience", "histogram", "no-color", "no-renames", "find-copies-harder",
            "full-index", "no-prefix", "binary", "text", "ignore-all-space", "ignore-space-change",
            "ignore-space-at-eol", "ignore-cr-at-eol", "ignore-blank-lines", "function-context", "pickaxe-regex",
            "pickaxe-all", "color-words", "relative", "no-indent-heuristic", "indent-heuristic", "exit-code", "quiet", "no-relative", "irreversible-delete", "no-abbrev", $($more),*
        ]
    };
}

macro_rules! diff_values {
    ($($more:expr),* $(,)?) => {
        &[
            ("stat", Maybe, Value::Fields),
            ("unified", Glued, Value::Number),
            ("color", Maybe, Value::OneOf(&["always", "never", "auto"])),
            ("word-diff", Maybe, Value::OneOf(&["color", "plain", "porcelain", "none"])),
            ("diff-algorithm", Glued, Value::OneOf(&["patience", "minimal", "histogram", "myers", "default"])),
            ("find-renames", Maybe, Value::Number),
            ("find-copies", Maybe, Value::Number),
            ("diff-filter", Glued, Value::Name),
            ("abbrev", Maybe, Value::Number),
            ("inter-hunk-context", Glued, Value::Number),
            ("ignore-submodules", Maybe, Value::OneOf(&["dirty", "all"])),
            ("word-diff-regex", Glued, Value::Any),
            ("stat-width", Glued, Value::Number),
            ("stat-name-width", Glued, Value::Number),
            ("stat-count", Glued, Value::Number),
            ("dirstat", Maybe, Value::Name),
            ("src-prefix", Glued, Value::Any),
            ("dst-prefix", Glued, Value::Any),
            ("ws-error-highlight", Glued, Value::Name),
            $($more),*
        ]
    };
}

const DIFF_SHORT: &str = "puwbaRWsz";
const DIFF_SHORT_VALUES: &[(char, Takes, Value)] = &[
    ('U', Glued, Value::Number),
    ('M', Maybe, Value::Number),
    ('C', Maybe, Value::Number),
    ('S', Always, Value::Any),
    ('G', Always, Value::Any),
    ('n', Always, Value::Number),
];

const LOG_SHORT_VALUES: &[(char, Takes, Value)] = &[
    ('U', Glued, Value::Number),
    ('M', Maybe, Value::Number),
    ('C', Maybe, Value::Number),
    ('S', Always, Value::Any),
    ('G', Always, Value::Any),
    ('n', Always, Value::Number),
    ('L', Always, Value::LineRange),
];

const LOG_LONG: &[&str] = diff_long![
    "oneline",
    "graph",
    "no-graph",
    "no-decorate",
    "all",
    "branches",
    "tags",
    "remotes",
    "merges",
    "no-merges",
    "first-parent",
    "reverse",
    "follow",
    "abbrev-commit",
    "no-abbrev-commit",
    "topo-order",
    "date-order",
    "author-date-order",
    "left-right",
    "cherry-pick",
    "cherry-mark",
    "simplify-by-decoration",
    "full-history",
    "all-match",
    "invert-grep",
    "regexp-ignore-case",
    "extended-regexp",
    "fixed-strings",
    "perl-regexp",
    "relative-date",
    "walk-reflogs",
    "boundary",
    "ancestry-path",
    "cc",
    "no-notes",
    "parents",
    "children",
    "log-size",
    "no-walk",
    "show-pulls",
    "dense",
    "sparse",
    "source",
    "no-mailmap",
    "use-mailmap",
    "no-expand-tabs",
];
const LOG_VALUES: &[(&str, Takes, Value)] = diff_values![
    ("max-count", Glued, Value::Number),
    ("skip", Glued, Value::Number),
    ("since", Always, Value::Any),
    ("after", Always, Value::Any),
    ("until", Always, Value::Any),
    ("before", Always, Value::Any),
    ("author", Always, Value::Any),
    ("committer", Always, Value::Any),
    ("grep", Always, Value::Any),
    ("decorate", Maybe, Value::OneOf(&["short", "full", "auto", "no"])),
    ("format", Glued, Value::PrettyFormat),
    ("pretty", Maybe, Value::PrettyFormat),
    ("date", Glued, Value::Any),
    ("decorate-refs", Glued, Value::Any),
    ("decorate-refs-exclude", Glued, Value::Any),
    ("exclude", Glued, Value::Any),
    ("glob", Glued, Value::Any),
    ("min-parents", Glued, Value::Number),
    ("max-parents", Glued, Value::Number),
];

pub(crate) static SUBCOMMANDS: &[Program] = &[
    Program {
        name: "status",
        short: "sbz",
        short_values: &[('u', Maybe, Value::OneOf(&["no", "normal", "all"]))],
        long: &[
            "short",
            "branch",
            "long",
            "show-stash",
            "no-renames",
            "ahead-behind",
            "no-ahead-behind",
            "no-column",
        ],
        long_values: &[
            ("porcelain", Maybe, Value::OneOf(&["1", "2", "v1", "v2"])),
            ("untracked-files", Maybe, Value::OneOf(&["no", "normal", "all"])),
            ("ignored", Maybe, Value::OneOf(&["traditional", "no", "matching"])),
            ("ignore-submodules", Maybe, Value::OneOf(&["dirty", "all"])),
        ],
        operands: Operands::Revisions,
        matches: &[
            "git status",
            "git status -sb",
            "git status --porcelain=v2 --branch",
            "git status -uno -- src",
            "git \\\n  status",
        ],
        misses: &[
            "git",
            "git status -v",
            "git status --verbose",
            "git status --ignore-submodules=none",
            "git status --porc",
            "git statusfoo",
            "git -c a=b status",
            "git --exec-path=x status",
            "git 'status' $x",
        ],
        ..BARE
    },
    Program {
        name: "diff",
        short: DIFF_SHORT,
        short_values: DIFF_SHORT_VALUES,
        long: diff_long!["cached", "staged", "merge-base", "check"],
        long_values: diff_values![],
        operands: Operands::Revisions,
        matches: &[
            "git diff",
            "git diff --cached",
            "git diff HEAD~1 HEAD -- src",
            "git diff -U10 --color=never",
            "git diff --stat",
            "git diff -w",
            "git diff main...feature --name-only",
            "git diff --stat -- 'docs/rm -rf /.md'",
            "git diff -- src/*.rs",
        ],
        misses: &[
            "git diff --output=x",
            "git diff HEAD --output=o3",
            "git diff --output x",
            "git diff --outp=x",
            "git diff --ext-diff",
            "git diff --textconv",
            "git diff --no-index a b",
            "git diff -Ox",
            "git diff -O x",
            "git diff $x",
            "git diff -- ':(top)x'",
            "git diff :/x",
            "git diff *.rs",
            "git diff -",
            "git difftool",
            "git --paginate diff",
            "git -p diff",
            "git diff --submodule=log",
            "git diff --ignore-submodules=untracked",
            "git diff --color-moved",
            "git diff /dev/zero a",
        ],
        ..BARE
    },
    Program {
        name: "log",
        short: "puwbaRWszgiEFPcm",
        short_values: LOG_SHORT_VALUES,
        long: LOG_LONG,
        long_values: LOG_VALUES,
        count: Count::Anywhere,
        operands: Operands::Revisions,
        matches: &[
            "git log",
            "git log --oneline -20",
            "git log -n 5",
            "git log -n5 --stat HEAD~3..HEAD",
            "git log --graph --all --decorate",
            "git log -p -1",
            "git log --follow -- Cargo.toml",
            "git log --pretty=format:'%C(yellow)%h%Creset %s'",
            "git log -1 --format=%B",
            "git log --grep=sudo",
            "git log --since='2 weeks ago' --author=me",
            "git log -S'foo bar' --oneline",
            "git log --date=short main..",
            "git log -S foo --oneline",
            "git log --author me --grep fix",
            "git log --name-only --format= -3",
            "git log -L1,2:f",
            "git log -L 10,+5:src/lib.rs --oneline",
            "git log -L :main:src/main.rs",
        ],
        misses: &[
            "git log --output=../x",
            "git log --format=%G?",
            "git log --format='%+G?'",
            "git log --pretty='format:%h %GK'",
            "git log --format=mine",
            "git log --show-signature",
            "git log --stdin",
            "git log -L/a/,/b/:f",
            "git log -L1,2",
            "git log -L :a.*:f",
            "git log -L 1,2:$x",
            "git log --ext-diff",
            "git log --textconv -p",
            "git log-evil",
            "git logrotate",
            "git --git-dir=x log",
            "git log --since=$x",
            "git log -- ':/x'",
            "git log --author -x",
            "git log -S -x",
            "git log --grep $x",
            "git log --onel",
        ],
        ..BARE
    },
    Program {
        name: "show",
        short: "puwbaRWszgiEFPcm",
        short_values: DIFF_SHORT_VALUES,
        long: LOG_LONG,
        long_values: LOG_VALUES,
        count: Count::Anywhere,
        operands: Operands::Revisions,
        matches: &[
            "git show",
            "git show HEAD^",
            "git show --stat HEAD~2",
            "git show HEAD:src/lib.rs",
            "git show HEAD@{1}",
            "git show -s --format=%H",
        ],
        misses: &[
            "git show --textconv HEAD:x",
            "git show --ext-diff HEAD",
            "git show ${REF:-HEAD}",
            "git showx",
            "git show :0:f",
            "git show HEAD --output=x",
        ],
        ..BARE
    },
];
