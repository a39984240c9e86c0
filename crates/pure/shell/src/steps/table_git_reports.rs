//! Further subcommands of git that only read. The contract of [`GIT_OVERRIDES`](crate::GIT_OVERRIDES) holds for them.

use crate::table::{BARE, Count, Operands, Program, Takes, Value};
use Takes::{Always, Glued, Maybe};

pub(super) const ANY: Operands = Operands::Fit(Value::Any);
pub(super) const WHEN: Value = Value::OneOf(&["always", "never", "auto"]);

pub(super) fn git(name: &str) -> Option<&'static Program> {
    subcommands().find(|program| program.name == name)
}

pub(super) fn subcommands() -> impl Iterator<Item = &'static Program> {
    SUBCOMMANDS.iter().chain(super::table_git_refs::SUBCOMMANDS)
}

/// What refs can be sorted by. A signature would be checked by the program that the configuration names.
pub(super) const KEY: Value = Value::OneOf(&[
    "refname",
    "-refname",
    "version:refname",
    "-version:refname",
    "v:refname",
    "-v:refname",
    "committerdate",
    "-committerdate",
    "creatordate",
    "-creatordate",
    "authordate",
    "-authordate",
    "taggerdate",
    "-taggerdate",
    "objectname",
    "objectsize",
    "-objectsize",
    "authorname",
]);

static SUBCOMMANDS: &[Program] = &[
    Program {
        name: "branch",
        short: "alrvi",
        long: &[
            "all",
            "remotes",
            "verbose",
            "list",
            "show-current",
            "no-color",
            "no-column",
            "ignore-case",
        ],
        long_values: &[
            ("contains", Always, Value::Any),
            ("no-contains", Always, Value::Any),
            ("merged", Maybe, Value::Any),
            ("no-merged", Maybe, Value::Any),
            ("points-at", Always, Value::Any),
            ("sort", Glued, KEY),
            ("format", Glued, Value::RefFormat),
            ("color", Maybe, WHEN),
        ],
        operands: ANY,
        matches: &[
            "git branch",
            "git branch -a",
            "git branch -vv",
            "git branch --list 'f*'",
            "git branch --show-current",
            "git branch --contains HEAD",
            "git branch --merged main",
            "git branch --format='%(refname:short)'",
        ],
        misses: &[
            "git branch x",
            "git branch -D main",
            "git branch -d x",
            "git branch -m a b",
            "git branch -u o/x",
            "git branch --edit-description",
            "git branch --format='%(signature)'",
            "git branch -f x",
            "git branch --sort=signature",
        ],
        ..BARE
    },
    Program {
        name: "tag",
        short: "li",
        short_values: &[('n', Maybe, Value::Number)],
        long: &["list", "no-column"],
        long_values: &[
            ("contains", Always, Value::Any),
            ("merged", Maybe, Value::Any),
            ("points-at", Always, Value::Any),
            ("sort", Glued, KEY),
            ("format", Glued, Value::RefFormat),
        ],
        operands: ANY,
        matches: &["git tag", "git tag -l 'v*'", "git tag --sort=-creatordate", "git tag -n3"],
        misses: &[
            "git tag v1",
            "git tag -d v1",
            "git tag -v v1",
            "git tag -a x -m y",
            "git tag -F f v",
        ],
        ..BARE
    },
    Program {
        name: "ls-files",
        short: "cdmoiskuvztf",
        long: &[
            "cached",
            "deleted",
            "modified",
            "others",
            "ignored",
            "stage",
            "unmerged",
            "killed",
            "exclude-standard",
            "full-name",
            "error-unmatch",
            "directory",
        ],
        operands: ANY,
        matches: &[
            "git ls-files",
            "git ls-files -o --exclude-standard",
            "git ls-files src '*.rs'",
            "git ls-files -- src",
        ],
        misses: &[
            "git ls-files -X f",
            "git ls-files --exclude-from=f",
            "git ls-files $x",
            "git ls-files --recurse-submodules",
        ],
        ..BARE
    },
    Program {
        name: "rev-parse",
        short: "q",
        long: &[
            "show-toplevel",
            "git-dir",
            "git-common-dir",
            "absolute-git-dir",
            "is-inside-work-tree",
            "is-bare-repository",
            "show-prefix",
            "show-cdup",
            "verify",
            "all",
            "branches",
            "tags",
            "quiet",
            "symbolic-full-name",
            "is-shallow-repository",
            "is-inside-git-dir",
            "show-superproject-working-tree",
            "symbolic",
            "remotes",
        ],
        long_values: &[
            ("short", Maybe, Value::Number),
            ("abbrev-ref", Maybe, Value::OneOf(&["strict", "loose"])),
        ],
        operands: ANY,
        matches: &[
            "git rev-parse --show-toplevel",
            "git rev-parse HEAD",
            "git rev-parse --abbrev-ref HEAD",
            "git rev-parse --short=8 HEAD",
        ],
        misses: &["git rev-parse --parseopt", "git rev-parse --sq-quote x", "git rev-parse $x"],
        ..BARE
    },
    Program {
        name: "grep",
        short: "niclLwvhHEFPGoqIpWaz",
        short_values: &[
            ('e', Always, Value::Any),
            ('A', Always, Value::Number),
            ('B', Always, Value::Number),
            ('C', Always, Value::Number),
            ('m', Always, Value::Number),
        ],
        long: &[
            "line-number",
            "ignore-case",
            "count",
            "files-with-matches",
            "name-only",
            "files-without-match",
            "word-regexp",
            "invert-match",
            "extended-regexp",
            "fixed-strings",
            "perl-regexp",
            "only-matching",
            "quiet",
            "cached",
            "untracked",
            "heading",
            "break",
            "show-function",
            "function-context",
            "all-match",
            "column",
            "full-name",
            "no-color",
        ],
        long_values: &[
            ("max-depth", Always, Value::Number),
            ("context", Glued, Value::Number),
            ("color", Maybe, WHEN),
        ],
        operands: ANY,
        matches: &[
            "git grep -n foo -- src",
            "git grep foo",
            "git grep -e a -e b",
            "git grep -c x HEAD",
        ],
        misses: &[
            "git grep -O./x foo",
            "git grep -Ovi foo",
            "git grep --open-files-in-pager=x foo",
            "git grep --open foo",
            "git grep -f list",
            "git grep --no-index x /etc",
            "git grep --textconv x",
            "git grep",
            "git grep -nO foo",
        ],
        ..BARE
    },
    Program {
        name: "describe",
        long: &["tags", "always", "long", "all", "exact-match", "first-parent"],
        long_values: &[
            ("abbrev", Glued, Value::Number),
            ("match", Always, Value::Any),
            ("exclude", Always, Value::Any),
            ("candidates", Glued, Value::Number),
        ],
        operands: ANY,
        matches: &["git describe --tags --always", "git describe --abbrev=0 HEAD"],
        misses: &[
            "git describe --dirty",
            "git describe --dirty=-x",
            "git describe --broken",
            "git describe --tag",
            "git describe $x",
        ],
        ..BARE
    },
    Program {
        name: "shortlog",
        short: "sne",
        long: &["summary", "numbered", "email", "no-merges", "all"],
        long_values: &[
            ("since", Glued, Value::Any),
            ("until", Glued, Value::Any),
            ("author", Glued, Value::Any),
        ],
        operands: ANY,
        matches: &[
            "git shortlog -sn",
            "git shortlog -sne HEAD",
            "git shortlog --since='1 week ago'",
        ],
        misses: &["git shortlog --format=%G?", "git shortlog --output=x", "git shortlog $x"],
        ..BARE
    },
    Program {
        name: "cat-file",
        short: "tspe",
        operands: ANY,
        most: 2,
        matches: &[
            "git cat-file -t HEAD",
            "git cat-file -p HEAD:src/lib.rs",
            "git cat-file -p HEAD",
        ],
        misses: &[
            "git cat-file --textconv HEAD:x",
            "git cat-file --filters HEAD:x",
            "git cat-file --batch",
            "git cat-file -p :x",
        ],
        ..BARE
    },
    Program {
        name: "ls-tree",
        short: "drtlz",
        long: &["name-only", "name-status", "long", "full-name", "full-tree", "object-only"],
        long_values: &[("abbrev", Maybe, Value::Number)],
        operands: ANY,
        matches: &["git ls-tree -r HEAD", "git ls-tree --name-only HEAD src/"],
        misses: &["git ls-tree --format=x HEAD", "git ls-tree $x"],
        ..BARE
    },
    Program {
        name: "blame",
        short: "wseltfnpbcMC",
        short_values: &[('L', Always, Value::Any)],
        long: &[
            "porcelain",
            "line-porcelain",
            "show-email",
            "show-name",
            "show-number",
            "root",
            "no-progress",
        ],
        long_values: &[
            ("since", Glued, Value::Any),
            ("date", Glued, Value::Any),
            ("abbrev", Glued, Value::Number),
        ],
        operands: ANY,
        matches: &["git blame src/lib.rs", "git blame -L 1,20 -w f", "git blame HEAD~3 -- f"],
        misses: &[
            "git blame --contents x f",
            "git blame -S f x",
            "git blame --ignore-revs-file=x f",
            "git blame --textconv f",
            "git blame $x",
        ],
        ..BARE
    },
    // It compares what commits change, without a program of the configuration.
    Program {
        name: "cherry",
        short: "v",
        long: &["verbose"],
        long_values: &[("abbrev", Maybe, Value::Number)],
        operands: ANY,
        most: 3,
        matches: &["git cherry", "git cherry main", "git cherry -v main topic"],
        misses: &["git cherry-pick x", "git cherry $x", "git cherry -x a", "git cherry a b c d"],
        ..BARE
    },
    Program {
        name: "merge-base",
        short: "a",
        long: &["all", "octopus", "is-ancestor", "fork-point"],
        operands: ANY,
        matches: &["git merge-base HEAD main", "git merge-base --is-ancestor a b"],
        misses: &["git merge-base -x a b", "git merge-base $x y"],
        ..BARE
    },
    Program {
        name: "rev-list",
        short_values: &[('n', Always, Value::Number)],
        long: &[
            "count",
            "all",
            "no-merges",
            "merges",
            "first-parent",
            "reverse",
            "left-right",
            "branches",
            "tags",
            "oneline",
        ],
        long_values: &[
            ("max-count", Glued, Value::Number),
            ("since", Glued, Value::Any),
            ("author", Glued, Value::Any),
        ],
        count: Count::Anywhere,
        operands: ANY,
        matches: &["git rev-list --count HEAD", "git rev-list -5 main..HEAD"],
        misses: &[
            "git rev-list --stdin",
            "git rev-list --format=%G? HEAD",
            "git rev-list --disk-usage $x",
        ],
        ..BARE
    },
    Program {
        name: "reflog",
        short_values: &[('n', Always, Value::Number)],
        count: Count::Anywhere,
        operands: Operands::Fit(Value::OneOf(&[])),
        most: 0,
        matches: &["git reflog", "git reflog -10", "git reflog -n 5"],
        misses: &[
            "git reflog expire --all",
            "git reflog delete x",
            "git reflog -p",
            "git reflog show -p",
        ],
        ..BARE
    },
];
