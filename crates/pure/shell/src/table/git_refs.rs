//! Subcommands of git that show refs, settings and names, and no contents of files.

use super::git_history::{ANY, KEY, WHEN};
use crate::table::{BARE, Count, Operands, Program, Takes, Value};
use Takes::{Always, Glued, Maybe};

pub(super) static SUBCOMMANDS: &[Program] = &[
    Program {
        name: "for-each-ref",
        long: &["ignore-case", "omit-empty"],
        long_values: &[
            ("count", Glued, Value::Number),
            ("format", Glued, Value::RefFormat),
            ("sort", Glued, KEY),
            ("points-at", Always, Value::Any),
            ("contains", Glued, Value::Any),
            ("no-contains", Glued, Value::Any),
            ("merged", Maybe, Value::Any),
            ("no-merged", Maybe, Value::Any),
            ("exclude", Glued, Value::Any),
            ("color", Maybe, WHEN),
        ],
        operands: ANY,
        matches: &[
            "git for-each-ref",
            "git for-each-ref --format='%(refname:short) %(committerdate:relative)' refs/heads",
            "git for-each-ref --sort=-committerdate --count=5 refs/heads/",
        ],
        misses: &[
            "git for-each-ref --format='%(signature)'",
            "git for-each-ref --format='%(refname)%(signature:grade)'",
            "git for-each-ref --sort=signature",
            "git for-each-ref --shell",
            "git for-each-ref --stdin",
            "git for-each-ref $x",
        ],
        ..BARE
    },
    Program {
        name: "show-ref",
        short: "dsq",
        long: &["head", "heads", "branches", "tags", "dereference", "verify", "quiet"],
        long_values: &[("hash", Maybe, Value::Number), ("abbrev", Maybe, Value::Number)],
        operands: ANY,
        matches: &["git show-ref", "git show-ref --tags -d", "git show-ref --verify refs/heads/x"],
        misses: &["git show-ref --exclude-existing", "git show-ref $x", "git show-ref --tag"],
        ..BARE
    },
    // A second operand, or -d, changes it.
    Program {
        name: "symbolic-ref",
        short: "q",
        long: &["short", "quiet"],
        operands: ANY,
        most: 1,
        matches: &["git symbolic-ref HEAD", "git symbolic-ref --short HEAD"],
        misses: &[
            "git symbolic-ref HEAD refs/heads/x",
            "git symbolic-ref -d HEAD",
            "git symbolic-ref --delete HEAD",
            "git symbolic-ref -m why HEAD x",
            "git symbolic-ref $x",
        ],
        ..BARE
    },
    Program {
        name: "name-rev",
        long: &["name-only", "tags", "always"],
        long_values: &[("refs", Glued, Value::Any), ("exclude", Glued, Value::Any)],
        operands: ANY,
        matches: &["git name-rev HEAD", "git name-rev --name-only --tags HEAD"],
        misses: &["git name-rev --annotate-stdin", "git name-rev --stdin", "git name-rev $x"],
        ..BARE
    },
    Program {
        name: "count-objects",
        short: "vH",
        long: &["verbose", "human-readable"],
        operands: Operands::Fit(Value::OneOf(&[])),
        most: 0,
        matches: &["git count-objects", "git count-objects -vH"],
        misses: &["git count-objects x", "git count-objects -x"],
        ..BARE
    },
    Program {
        name: "check-ignore",
        short: "qvn",
        long: &["quiet", "verbose", "non-matching", "no-index"],
        operands: ANY,
        matches: &["git check-ignore -v target", "git check-ignore a b"],
        misses: &["git check-ignore --stdin", "git check-ignore $x", "git check-ignore -x a"],
        ..BARE
    },
    Program {
        name: "check-attr",
        short: "a",
        long: &["all", "cached"],
        operands: ANY,
        matches: &["git check-attr -a f", "git check-attr text -- f"],
        misses: &["git check-attr --stdin", "git check-attr --source=x a f", "git check-attr $x"],
        ..BARE
    },
    Program {
        name: "var",
        operands: Operands::Fit(Value::OneOf(VARIABLES)),
        most: 1,
        matches: &["git var GIT_AUTHOR_IDENT", "git var GIT_DEFAULT_BRANCH"],
        misses: &["git var -l", "git var HOME", "git var $x"],
        ..BARE
    },
    // Names of changed files. Patches would need the guard of diff.
    Program {
        name: "diff-tree",
        short: "rtz",
        long: &["no-commit-id", "name-only", "name-status", "root", "raw"],
        operands: ANY,
        matches: &["git diff-tree --no-commit-id --name-only -r HEAD", "git diff-tree -r a b"],
        misses: &[
            "git diff-tree -p HEAD",
            "git diff-tree --cc HEAD",
            "git diff-tree --stdin",
            "git diff-tree --output=x HEAD",
            "git diff-tree --pretty=%G? HEAD",
            "git diff-tree $x",
        ],
        ..BARE
    },
];

const VARIABLES: &[&str] =
    &["GIT_AUTHOR_IDENT", "GIT_COMMITTER_IDENT", "GIT_EDITOR", "GIT_PAGER", "GIT_DEFAULT_BRANCH"];

/// Subcommands of which only some forms read. What is not one of these is for others to judge.
pub(crate) static FORMS: &[(&[&str], Program)] = &[
    (
        &["config"],
        Program {
            name: "config",
            short: "lz",
            long: &[
                "get",
                "get-all",
                "get-regexp",
                "list",
                "local",
                "show-origin",
                "show-scope",
                "name-only",
                "null",
                "bool",
                "int",
            ],
            operands: ANY,
            most: 2,
            matches: &[
                "git config --get user.name",
                "git config --list",
                "git config -l --show-origin",
                "git config --get-regexp '^branch'",
                "git config user.name",
            ],
            misses: &[
                "git config user.name x",
                "git config --global user.name",
                "git config --global user.name x",
                "git config edit",
                "git config --unset user.name",
                "git config --get --unset user.name",
                "git config --add a.b c",
                "git config -e",
                "git config -f x --list",
                "git config --file=x --list",
                "git config --blob x --list",
                "git config --get $x",
                "git config --replace-all a.b c",
                "git config",
            ],
            ..BARE
        },
    ),
    // An older git takes `get` and `list` for names without a section, and refuses.
    (
        &["config", "get"],
        Program {
            name: "config get",
            short: "z",
            long: &["all", "local", "show-origin", "show-scope", "show-names", "null", "regexp"],
            operands: ANY,
            most: 1,
            matches: &["git config get user.name", "git config get --all remote.origin.fetch"],
            misses: &[
                "git config get",
                "git config get a.b c",
                "git config get --global a.b",
                "git config get -f x a.b",
                "git config get --url=x a",
                "git config get $x",
                "git config set a.b c",
                "git config unset a.b",
            ],
            ..BARE
        },
    ),
    (
        &["config", "list"],
        Program {
            name: "config list",
            short: "z",
            long: &["local", "show-origin", "show-scope", "name-only", "null"],
            matches: &["git config list", "git config list --show-origin"],
            misses: &["git config list x", "git config list --global", "git config list -f x"],
            ..BARE
        },
    ),
    (
        &["stash", "list"],
        Program {
            name: "list",
            long: &["oneline"],
            short_values: &[('n', Always, Value::Number)],
            count: Count::Anywhere,
            matches: &["git stash list", "git stash list -5"],
            misses: &["git stash list -p", "git stash", "git stash pop", "git stash list x"],
            ..BARE
        },
    ),
    (
        &["worktree", "list"],
        Program {
            name: "list",
            short: "vz",
            long: &["porcelain", "verbose"],
            matches: &["git worktree list", "git worktree list --porcelain"],
            misses: &["git worktree add x", "git worktree list x", "git worktree prune"],
            ..BARE
        },
    ),
    (
        &["reflog", "show"],
        Program {
            name: "show",
            short_values: &[('n', Always, Value::Number)],
            long: &["all"],
            long_values: &[("date", Glued, Value::Any)],
            count: Count::Anywhere,
            operands: ANY,
            most: 1,
            matches: &["git reflog show", "git reflog show HEAD -n 5", "git reflog show main -3"],
            misses: &["git reflog show -p", "git reflog show --format=%G?", "git reflog show $x"],
            ..BARE
        },
    ),
    (
        &["remote"],
        Program {
            name: "remote",
            short: "v",
            long: &["verbose"],
            matches: &["git remote", "git remote -v"],
            misses: &["git remote add a b", "git remote show origin", "git remote update"],
            ..BARE
        },
    ),
];
