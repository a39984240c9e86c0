//! The programs that are known to only read, as data. Each entry carries its own examples.
//!
//! An entry lists what is *known*, not what is dangerous: an option that is not here, an abbreviation of one that
//! is, or a value of another shape, and the command is not proved. Left out on purpose are options that write
//! (`sort -o`), run something (`rg --pre`), never end (`tail -f`), take names from a file (`--files0-from`) or
//! follow links out of the tree (`grep -R`).

use crate::proof::ReadKind;
use crate::table_git;
use Takes::{Always, Glued, Maybe};

#[derive(Debug)]
pub(crate) struct Program {
    pub(crate) name: &'static str,
    /// Letters that take no value.
    pub(crate) short: &'static str,
    pub(crate) short_values: &'static [(char, Takes, Value)],
    /// Without `--`.
    pub(crate) long: &'static [&'static str],
    pub(crate) long_values: &'static [(&'static str, Takes, Value)],
    /// `-20`
    pub(crate) count: Count,
    pub(crate) operands: Operands,
    /// How many operands there may be.
    pub(crate) most: usize,
    /// An operand with a leading sign has a meaning of its own, even after `--`.
    pub(crate) signs_mean: bool,
    /// None of its options does harm, listed or not: a file name that looks like one is fine.
    pub(crate) any_option: bool,
    #[allow(dead_code, reason = "examples are for readers and tests")]
    pub(crate) matches: &'static [&'static str],
    #[allow(dead_code, reason = "examples are for readers and tests")]
    pub(crate) misses: &'static [&'static str],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Takes {
    /// Its value is glued to it, or the next word.
    Always,
    /// Glued to it, or none.
    Maybe,
    /// Glued to it.
    Glued,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Count {
    No,
    /// Only as the first word.
    First,
    Anywhere,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operands {
    /// Anything, options included.
    Words,
    /// No files; each of this shape.
    Fit(Value),
    /// With `Tree`, the working directory when there is none.
    Files(ReadKind),
    /// A pattern, unless an option of `given_by` gave it, then files.
    PatternAndFiles {
        /// Options that make it walk directories; empty: it always does.
        tree_if: &'static [&'static str],
        given_by: &'static [&'static str],
    },
    /// Of git.
    Revisions,
    /// Of printf.
    Format,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Value {
    Any,
    Number,
    /// `5`, `+5`, `-5`, `10K`
    Size,
    /// `1.5`
    Decimal,
    /// `0.5s`
    Duration,
    /// `1,3-5`
    Fields,
    /// `2,2nr`
    SortKey,
    OneOf(&'static [&'static str]),
    /// `+%Y-%m-%d`
    DateFormat,
    /// A name without a slash.
    Name,
    PrintfFormat,
    /// How git prints a commit.
    PrettyFormat,
}

impl Value {
    pub(crate) fn fits(self, text: &str) -> bool {
        let digits =
            |text: &str| (1..=9).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_digit());
        match self {
            Value::Any => true,
            Value::Number => digits(text),
            Value::Size => {
                let number = text.strip_prefix(['+', '-']).unwrap_or(text);
                let end = number.find(|c: char| !c.is_ascii_digit()).unwrap_or(number.len());
                let (number, unit) = number.split_at(end);
                digits(number)
                    && ["", "b", "k", "K", "M", "G", "kB", "KB", "MB", "GB", "KiB", "MiB"]
                        .contains(&unit)
            }
            Value::Decimal => match text.split_once('.') {
                Some((whole, fraction)) => digits(whole) && digits(fraction),
                None => digits(text),
            },
            Value::Duration => {
                Value::Decimal.fits(text.strip_suffix(['s', 'm', 'h']).unwrap_or(text))
            }
            Value::Fields => {
                !text.is_empty()
                    && text.bytes().all(|b| b.is_ascii_digit() || matches!(b, b',' | b'-'))
            }
            Value::SortKey => {
                text.starts_with(|c: char| c.is_ascii_digit())
                    && text.bytes().all(|b| b.is_ascii_digit() || b",.bdfgiMhnRrV".contains(&b))
            }
            Value::OneOf(choices) => choices.contains(&text),
            Value::DateFormat => text.starts_with('+'),
            Value::Name => !text.is_empty() && !text.contains('/') && !text.starts_with('-'),
            Value::PrintfFormat => printf_only_prints(text),
            Value::PrettyFormat => table_git::pretty_only_prints(text),
        }
    }
}

/// `%n` stores into a variable whose name, subscript included, bash evaluates. So every conversion must be known.
fn printf_only_prints(format: &str) -> bool {
    let mut rest = format;
    while let Some((_, after)) = rest.split_once('%') {
        let after = after.trim_start_matches(['-', '+', ' ', '0', '#']);
        let width = after.trim_start_matches(|c: char| c.is_ascii_digit());
        let precise = width
            .strip_prefix('.')
            .unwrap_or(width)
            .trim_start_matches(|c: char| c.is_ascii_digit());
        // A width of millions is memory of millions.
        if after.len() - precise.len() > 6 {
            return false;
        }
        let mut conversion = precise.chars();
        match conversion.next() {
            Some(
                '%' | 's' | 'b' | 'q' | 'c' | 'd' | 'i' | 'o' | 'u' | 'x' | 'X' | 'e' | 'E' | 'f'
                | 'F' | 'g' | 'G',
            ) => {
                rest = conversion.as_str();
            }
            Some('(') => match conversion.as_str().split_once(")T") {
                Some((time, after)) if !time.contains(['(', ')']) => rest = after,
                _ => return false,
            },
            _ => return false,
        }
    }
    true
}

pub(crate) fn program(name: &str) -> Option<&'static Program> {
    PROGRAMS.iter().find(|program| program.name == name)
}

/// A subcommand of git.
pub(crate) fn git(name: &str) -> Option<&'static Program> {
    table_git::SUBCOMMANDS.iter().find(|program| program.name == name)
}

/// Known by name only: no option, no operand.
pub(crate) const BARE: Program = Program {
    name: "",
    short: "",
    short_values: &[],
    long: &[],
    long_values: &[],
    count: Count::No,
    operands: Operands::Fit(Value::OneOf(&[])),
    most: usize::MAX,
    signs_mean: false,
    any_option: false,
    matches: &[],
    misses: &[],
};

const WHEN: Value = Value::OneOf(&["always", "never", "auto"]);

pub(crate) static PROGRAMS: &[Program] = &[
    Program {
        name: "echo",
        operands: Operands::Words,
        matches: &[
            "echo",
            "echo -e 'a\\n' --output=x",
            "echo \"it's; fine && ok | yes\"",
            "echo src/*",
            "echo \\`x\\`",
        ],
        misses: &["echo $x", "echo `x`", "echo a > b", "echo ~"],
        ..BARE
    },
    Program {
        name: "printf",
        operands: Operands::Format,
        matches: &[
            "printf '%s\\n' a b",
            "printf '%-5s|%05.2f%%\\n' a 1",
            "printf '%(%F)T\\n' -1",
            "printf -- '%d' 3",
            "printf x",
        ],
        misses: &[
            "printf",
            "printf -v x y",
            "printf -vx y",
            "printf '%n' x",
            "printf '%5n' x",
            "printf '%ln' x",
            "printf '%*d' 1 2",
            "printf '%' x",
            "printf '%1000000d' 1",
            "printf '%(a' x",
            "printf $f",
            "printf *",
            "printf '%s' *",
        ],
        ..BARE
    },
    Program {
        name: "pwd",
        short: "LP",
        matches: &["pwd", "pwd -P"],
        misses: &["pwd x", "pwd -x"],
        ..BARE
    },
    Program {
        name: "true",
        operands: Operands::Words,
        matches: &["true", "true x"],
        misses: &["true $x"],
        ..BARE
    },
    Program {
        name: "false",
        operands: Operands::Words,
        matches: &["false"],
        misses: &["false `x`"],
        ..BARE
    },
    Program {
        name: "seq",
        short: "w",
        short_values: &[('s', Always, Value::Any)],
        long: &["equal-width"],
        long_values: &[("separator", Always, Value::Any)],
        operands: Operands::Fit(Value::Decimal),
        most: 3,
        matches: &["seq 5", "seq -w 1 2 10", "seq -s, 3", "seq 0.5 2.5"],
        misses: &["seq -f %g 3", "seq inf", "seq 1 2 3 4", "seq a", "seq 1e99"],
        ..BARE
    },
    Program {
        name: "sleep",
        operands: Operands::Fit(Value::Duration),
        matches: &["sleep 1", "sleep 0.5s", "sleep 1 2m"],
        misses: &["sleep infinity", "sleep 1d", "sleep -1", "sleep $x"],
        ..BARE
    },
    Program {
        name: "ls",
        short: "aAbBcCdfFgGhHiklmnNopqQrRsStuUvxXZ1",
        long: &[
            "all",
            "almost-all",
            "author",
            "escape",
            "ignore-backups",
            "directory",
            "classify",
            "file-type",
            "full-time",
            "group-directories-first",
            "no-group",
            "human-readable",
            "si",
            "inode",
            "kibibytes",
            "numeric-uid-gid",
            "literal",
            "hide-control-chars",
            "quote-name",
            "reverse",
            "recursive",
            "size",
            "zero",
        ],
        long_values: &[
            ("color", Maybe, WHEN),
            (
                "sort",
                Glued,
                Value::OneOf(&["none", "size", "time", "version", "extension", "name", "width"]),
            ),
            (
                "time",
                Glued,
                Value::OneOf(&[
                    "atime", "access", "use", "ctime", "status", "birth", "creation", "mtime",
                ]),
            ),
            ("time-style", Glued, Value::OneOf(&["full-iso", "long-iso", "iso", "locale"])),
            (
                "format",
                Glued,
                Value::OneOf(&["long", "single-column", "commas", "across", "vertical", "verbose"]),
            ),
            ("ignore", Glued, Value::Any),
            ("hide", Glued, Value::Any),
        ],
        operands: Operands::Files(ReadKind::Tree),
        any_option: true,
        matches: &[
            "ls",
            "ls -la src",
            "ls -- -rf",
            "ls --color=never -R",
            "ls 'rm -rf /'",
            "ls *.rs",
            "\\ls -la",
            "ls --ignore=*.o",
        ],
        misses: &[
            "./ls",
            "LS -la",
            "ls --colour",
            "ls --recurs",
            "ls -y",
            "ls -lL",
            "ls ~",
            "ls $x",
            "ls /dev/pts",
            "ls {a,b}",
            "ls -R /",
        ],
        ..BARE
    },
    Program {
        name: "cat",
        short: "AbeEnstTuv",
        long: &[
            "show-all",
            "number-nonblank",
            "show-ends",
            "number",
            "squeeze-blank",
            "show-tabs",
            "show-nonprinting",
        ],
        operands: Operands::Files(ReadKind::File),
        any_option: true,
        matches: &[
            "cat",
            "cat -n src/lib.rs",
            "cat a.txt b.txt -",
            "cat < file",
            "cat <<'E'\n$(x)\nE",
            "cat src/*.rs",
            "cat *",
        ],
        misses: &[
            "cat /dev/zero",
            "cat ../../dev/zero",
            "cat <(ls)",
            "cat > x",
            "cat --out x",
            "cat < $x",
            "cat < /dev/tcp/h/1",
        ],
        ..BARE
    },
    Program {
        name: "head",
        short: "qvz",
        short_values: &[('n', Always, Value::Size), ('c', Always, Value::Size)],
        long: &["quiet", "silent", "verbose", "zero-terminated"],
        long_values: &[("lines", Always, Value::Size), ("bytes", Always, Value::Size)],
        count: Count::First,
        operands: Operands::Files(ReadKind::File),
        matches: &[
            "head",
            "head -20 f",
            "head -n 5 f g",
            "head -n5 f",
            "head -n -5 f",
            "head --lines=3 f",
            "head -c 1K f",
            "head src/*.rs",
        ],
        misses: &[
            "head -c 1G /dev/zero",
            "head -n x f",
            "head --line=3 f",
            "head f -20",
            "head -20x f",
            "head *",
        ],
        ..BARE
    },
    Program {
        name: "tail",
        short: "qvz",
        short_values: &[('n', Always, Value::Size), ('c', Always, Value::Size)],
        long: &["quiet", "silent", "verbose", "zero-terminated"],
        long_values: &[("lines", Always, Value::Size), ("bytes", Always, Value::Size)],
        count: Count::First,
        operands: Operands::Files(ReadKind::File),
        matches: &[
            "tail",
            "tail -20",
            "tail -n +5 f",
            "tail -n5 f",
            "tail --lines=5 f",
            "tail -qn 3 a b",
        ],
        misses: &[
            "tail -f f",
            "tail -F f",
            "tail -5f f",
            "tail -n5f f",
            "tail --follow f",
            "tail --retry f",
            "tail --pid=1 f",
            "tail -qf f",
        ],
        ..BARE
    },
    Program {
        name: "wc",
        short: "cmlLw",
        long: &["bytes", "chars", "lines", "max-line-length", "words"],
        operands: Operands::Files(ReadKind::File),
        matches: &["wc -l", "wc -lwc src/lib.rs", "wc --lines a b", "wc -l src/*.rs"],
        misses: &["wc --files0-from=x", "wc --files0-from=-", "wc -x", "wc *"],
        ..BARE
    },
    Program {
        name: "grep",
        short: "EFGPivwxclLnHhoqsraIzTyU",
        short_values: &[
            ('e', Always, Value::Any),
            ('m', Always, Value::Number),
            ('A', Always, Value::Number),
            ('B', Always, Value::Number),
            ('C', Always, Value::Number),
        ],
        long: &[
            "extended-regexp",
            "fixed-strings",
            "basic-regexp",
            "perl-regexp",
            "ignore-case",
            "no-ignore-case",
            "invert-match",
            "word-regexp",
            "line-regexp",
            "count",
            "files-with-matches",
            "files-without-match",
            "line-number",
            "with-filename",
            "no-filename",
            "only-matching",
            "quiet",
            "silent",
            "no-messages",
            "recursive",
            "text",
            "null-data",
            "line-buffered",
            "null",
        ],
        long_values: &[
            ("regexp", Always, Value::Any),
            ("max-count", Always, Value::Number),
            ("after-context", Always, Value::Number),
            ("before-context", Always, Value::Number),
            ("context", Always, Value::Number),
            ("color", Maybe, WHEN),
            ("colour", Maybe, WHEN),
            ("include", Glued, Value::Any),
            ("exclude", Glued, Value::Any),
            ("exclude-dir", Glued, Value::Any),
            ("binary-files", Glued, Value::OneOf(&["binary", "text", "without-match"])),
        ],
        count: Count::Anywhere,
        operands: Operands::PatternAndFiles {
            tree_if: &["-r", "--recursive"],
            given_by: &["-e", "--regexp"],
        },
        matches: &[
            "grep -rn 'rm -rf /' .",
            "grep -rn foo --include=*.rs src",
            "grep -c sudo README.md",
            "grep '`' script.sh",
            "grep -5 x f",
            "grep -E '^(use|mod) ' src/main.rs",
            "grep -e a -e b f",
            "grep \"x$\" f",
            "grep -A3 -B 2 x f",
            "grep foo src/*.rs",
        ],
        misses: &[
            "grep",
            "grep -f list x",
            "grep --file=list x",
            "grep -R x .",
            "grep --exclude-from=x y",
            "grep foo* x",
            "grep -rn foo *",
            "grep -d recurse x",
            "grep --incl=x y",
            "grep -e -x f",
            "grep -A x f",
            "grep $x f",
        ],
        ..BARE
    },
    Program {
        name: "rg",
        short: "iSsnNlcvwxoFUHIpqPua.0",
        short_values: &[
            ('e', Always, Value::Any),
            ('g', Always, Value::Any),
            ('t', Always, Value::Name),
            ('T', Always, Value::Name),
            ('m', Always, Value::Number),
            ('A', Always, Value::Number),
            ('B', Always, Value::Number),
            ('C', Always, Value::Number),
            ('d', Always, Value::Number),
            ('j', Always, Value::Number),
            ('r', Always, Value::Any),
        ],
        long: &[
            "files",
            "ignore-case",
            "smart-case",
            "case-sensitive",
            "line-number",
            "no-line-number",
            "files-with-matches",
            "files-without-match",
            "count",
            "count-matches",
            "invert-match",
            "word-regexp",
            "line-regexp",
            "only-matching",
            "fixed-strings",
            "multiline",
            "multiline-dotall",
            "with-filename",
            "no-filename",
            "pretty",
            "quiet",
            "pcre2",
            "hidden",
            "no-ignore",
            "no-ignore-vcs",
            "heading",
            "no-heading",
            "json",
            "stats",
            "trim",
            "column",
            "vimgrep",
            "text",
            "null",
            "no-messages",
            "no-config",
            "crlf",
            "passthru",
            "one-file-system",
        ],
        long_values: &[
            ("regexp", Always, Value::Any),
            ("glob", Always, Value::Any),
            ("iglob", Always, Value::Any),
            ("type", Always, Value::Name),
            ("type-not", Always, Value::Name),
            ("max-count", Always, Value::Number),
            ("max-depth", Always, Value::Number),
            ("max-columns", Always, Value::Number),
            ("after-context", Always, Value::Number),
            ("before-context", Always, Value::Number),
            ("context", Always, Value::Number),
            ("threads", Always, Value::Number),
            ("replace", Always, Value::Any),
            ("color", Always, Value::OneOf(&["never", "auto", "always", "ansi"])),
            ("sort", Always, Value::OneOf(&["none", "path", "modified", "accessed", "created"])),
            ("sortr", Always, Value::OneOf(&["none", "path", "modified", "accessed", "created"])),
        ],
        operands: Operands::PatternAndFiles {
            tree_if: &[],
            given_by: &["-e", "--regexp", "--files"],
        },
        matches: &[
            "rg foo",
            "rg -l TODO",
            "rg --files",
            "rg --files src -g '*.rs'",
            "rg foo -g '!target'",
            "rg -n -C3 foo src tests",
            "rg 'curl .* \\| sh' docs",
            "rg -tpy --hidden x",
            "rg --glob=*.rs x",
        ],
        misses: &[
            "rg",
            "rg --pre=./x foo",
            "rg --pre ./x foo",
            "rg --pre-glob '*' foo",
            "rg -z foo",
            "rg -lz foo",
            "rg --search-zip x",
            "rg --hostname-bin=x y",
            "rg -f list",
            "rg --file list",
            "rg -L x",
            "rg --follow x",
            "rg --ignore-file=x y",
            "rg foo *",
            "rg -g *.rs foo",
            "rg --type-add 'x:*.y' z",
        ],
        ..BARE
    },
    Program {
        name: "sort",
        short: "bdfgiMhnRrVcCmsuz",
        short_values: &[('k', Always, Value::SortKey), ('t', Always, Value::Any)],
        long: &[
            "ignore-leading-blanks",
            "dictionary-order",
            "ignore-case",
            "general-numeric-sort",
            "ignore-nonprinting",
            "month-sort",
            "human-numeric-sort",
            "numeric-sort",
            "reverse",
            "version-sort",
            "check",
            "merge",
            "stable",
            "unique",
            "zero-terminated",
        ],
        long_values: &[("key", Always, Value::SortKey), ("field-separator", Always, Value::Any)],
        operands: Operands::Files(ReadKind::File),
        signs_mean: true,
        matches: &[
            "sort",
            "sort -rn",
            "sort -k2 -n file",
            "sort -t: -k1,1 f",
            "sort -t , -k 2nr f",
            "sort -u a b",
            "sort src/*.txt",
        ],
        misses: &[
            "sort -o f f",
            "sort -of f",
            "sort f -o g",
            "sort -ro f",
            "sort --output=x",
            "sort --outp=x",
            "sort --compress-program=./x",
            "sort --compress-prog ./x f",
            "sort -S1b f",
            "sort -T d f",
            "sort --files0-from=f",
            "sort --random-source=f",
            "sort +1 -2",
            "sort -- f -o",
            "sort *",
            "sort --parallel=2",
            "sort -t -o f",
        ],
        ..BARE
    },
    Program {
        name: "uniq",
        short: "cdDiuz",
        short_values: &[
            ('f', Always, Value::Number),
            ('s', Always, Value::Number),
            ('w', Always, Value::Number),
        ],
        long: &["count", "repeated", "ignore-case", "unique", "zero-terminated"],
        long_values: &[
            ("skip-fields", Always, Value::Number),
            ("skip-chars", Always, Value::Number),
            ("check-chars", Always, Value::Number),
        ],
        operands: Operands::Files(ReadKind::File),
        most: 1,
        signs_mean: true,
        matches: &["uniq", "uniq -c", "uniq -f 1 -d a"],
        misses: &["uniq a b", "uniq - b", "uniq a*", "uniq +1", "uniq --group=x"],
        ..BARE
    },
    Program {
        name: "cut",
        short: "snz",
        short_values: &[
            ('b', Always, Value::Fields),
            ('c', Always, Value::Fields),
            ('f', Always, Value::Fields),
            ('d', Always, Value::Any),
        ],
        long: &["only-delimited", "complement", "zero-terminated"],
        long_values: &[
            ("bytes", Always, Value::Fields),
            ("characters", Always, Value::Fields),
            ("fields", Always, Value::Fields),
            ("delimiter", Always, Value::Any),
            ("output-delimiter", Glued, Value::Any),
        ],
        operands: Operands::Files(ReadKind::File),
        matches: &[
            "cut -d: -f1",
            "cut -d'|' -f2 f",
            "cut -c 1-10 f",
            "cut -f1,3- f",
            "cut -d ' ' -f 2",
        ],
        misses: &["cut --f 1", "cut -x", "cut -f a", "cut -f1 *"],
        ..BARE
    },
    Program {
        name: "tr",
        short: "cCdst",
        long: &["complement", "delete", "squeeze-repeats", "truncate-set1"],
        operands: Operands::Fit(Value::Any),
        most: 2,
        matches: &["tr a-z A-Z", "tr -d '\\n'", "tr -s ' ' < file", "tr -cd '[:alnum:]'"],
        misses: &["tr [a-z] [A-Z]", "tr --del x", "tr a b c", "tr -x a"],
        ..BARE
    },
    Program {
        name: "stat",
        short: "Lft",
        short_values: &[('c', Always, Value::Any)],
        long: &["dereference", "file-system", "terse"],
        long_values: &[("format", Glued, Value::Any), ("printf", Glued, Value::Any)],
        operands: Operands::Files(ReadKind::File),
        matches: &[
            "stat f",
            "stat -c %s f",
            "stat --format='%n %s' a b",
            "stat --printf='%s\\n' a",
        ],
        misses: &["stat -x f", "stat --form=x f", "stat /proc/1/mem", "stat *"],
        ..BARE
    },
    Program {
        name: "du",
        short: "abchHkmsSx0",
        short_values: &[('d', Always, Value::Number)],
        long: &[
            "all",
            "apparent-size",
            "bytes",
            "total",
            "human-readable",
            "summarize",
            "separate-dirs",
            "one-file-system",
            "null",
            "si",
        ],
        long_values: &[("max-depth", Always, Value::Number), ("exclude", Glued, Value::Any)],
        operands: Operands::Files(ReadKind::Tree),
        matches: &[
            "du",
            "du -sh target",
            "du -h -d 1 .",
            "du -ah --max-depth=2 --exclude=*.o src",
            "du -sh src/*",
        ],
        misses: &[
            "du -L x",
            "du --files0-from=x",
            "du -X list x",
            "du --exclude-from=x y",
            "du /",
            "du -sh *",
        ],
        ..BARE
    },
    Program {
        name: "which",
        short: "a",
        operands: Operands::Fit(Value::Name),
        matches: &["which ls", "which -a python3 node"],
        misses: &["which ./x", "which -i ls", "which --read-alias ls"],
        ..BARE
    },
    Program {
        name: "date",
        short: "uR",
        short_values: &[
            ('d', Always, Value::Any),
            ('I', Maybe, Value::OneOf(&["date", "hours", "minutes", "seconds", "ns"])),
        ],
        long: &["utc", "universal", "rfc-email"],
        long_values: &[
            ("date", Always, Value::Any),
            ("iso-8601", Maybe, Value::OneOf(&["date", "hours", "minutes", "seconds", "ns"])),
            ("rfc-3339", Glued, Value::OneOf(&["date", "seconds", "ns"])),
        ],
        operands: Operands::Fit(Value::DateFormat),
        most: 1,
        matches: &[
            "date",
            "date -u +%Y-%m-%d",
            "date -d '1 day ago' +%s",
            "date --date=yesterday",
            "date -Iseconds",
            "date '+%H %M'",
        ],
        misses: &[
            "date -s '2020-01-01'",
            "date -us x",
            "date --set=x",
            "date --se x",
            "date 01010101",
            "date -f list",
            "date -r f",
            "date --rfc-2822",
        ],
        ..BARE
    },
    Program {
        name: "basename",
        short: "az",
        short_values: &[('s', Always, Value::Any)],
        long: &["multiple", "zero"],
        long_values: &[("suffix", Always, Value::Any)],
        operands: Operands::Fit(Value::Any),
        matches: &["basename src/main.rs .rs", "basename -s .rs a.rs b.rs"],
        misses: &["basename $x", "basename -x a", "basename *"],
        ..BARE
    },
    Program {
        name: "dirname",
        short: "z",
        long: &["zero"],
        operands: Operands::Fit(Value::Any),
        matches: &["dirname src/main.rs"],
        misses: &["dirname -x a", "dirname ~/x"],
        ..BARE
    },
];
