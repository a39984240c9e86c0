//! Programs of which only some forms read: with an option that makes them list, or with a name they are asked about.

use super::judge::{StepVerdict, touch};
use crate::options::{self, Parsed};
use crate::table::{BARE, Operands, Program, Takes, Value};
use Takes::{Always, Glued};
use ostler_policy::script::Word;
use ostler_policy::{Act, TouchKind};

const FILES: Operands = Operands::Files(TouchKind::File);
const NONE: Operands = Operands::Fit(Value::OneOf(&[]));

pub(super) struct ReadOnlyForm {
    /// One of these options must be given, if there are any.
    pub(super) needs: &'static [&'static str],
    /// Operands it must have at least.
    pub(super) least: usize,
    pub(super) program: Program,
}

const LISTS: &[&str] = &["-l", "-t", "-c", "--list", "--test", "--stdout", "--to-stdout"];

macro_rules! compressors {
    ($($name:literal),*) => {
        [$(ReadOnlyForm {
            needs: LISTS,
            least: 0,
            program: Program {
                name: $name,
                short: "lctdkvqz123456789",
                long: &["list", "test", "stdout", "to-stdout", "decompress", "keep", "quiet", "verbose"],
                operands: FILES,
                matches: &[concat!($name, " -l f"), concat!($name, " -dc f"), concat!($name, " --test f")],
                misses: &[
                    $name,
                    concat!($name, " f"),
                    concat!($name, " -d f"),
                    concat!($name, " -k f"),
                    concat!($name, " -c --rm f"),
                    concat!($name, " -c -o x f"),
                    concat!($name, " -c --files=x"),
                    concat!($name, " -c *"),
                ],
                ..BARE
            },
        }),*]
    };
}

static COMPRESSORS: [ReadOnlyForm; 4] = compressors!["gzip", "bzip2", "xz", "zstd"];

macro_rules! plain {
    ($($name:literal $short:literal),*) => {
        [$(ReadOnlyForm {
            needs: &[],
            least: 0,
            program: Program {
                name: $name,
                short: $short,
                operands: NONE,
                matches: &[$name],
                misses: &[concat!($name, " x"), concat!($name, " --unknown"), concat!($name, " $x")],
                ..BARE
            },
        }),*]
    };
}

/// What they show is no file.
static PLAIN: [ReadOnlyForm; 9] = plain![
    "umask" "Sp", "ulimit" "aSHcdefilmnpqrstuvx", "locale" "a", "tty" "s", "logname" "", "uuidgen" "rt", "dirs" "lpv",
    "jobs" "lp", "lsmod" ""
];

static FORMS: &[ReadOnlyForm] = &[
    ReadOnlyForm {
        needs: &[],
        least: 1,
        program: Program {
            name: "printenv",
            operands: Operands::Fit(Value::Variable),
            matches: &["printenv PATH", "printenv HOME SHELL", "printenv RUST_LOG"],
            misses: &[
                "printenv",
                "printenv -0",
                "printenv GITHUB_TOKEN",
                "printenv AWS_SECRET_ACCESS_KEY",
                "printenv PATH DATABASE_URL",
                "printenv MYSQL_PWD_X",
                "printenv $x",
                "printenv *",
            ],
            ..BARE
        },
    },
    ReadOnlyForm {
        needs: &[],
        least: 1,
        program: Program {
            name: "tput",
            short_values: &[('T', Always, Value::Name)],
            operands: Operands::Fit(Value::OneOf(&["cols", "lines", "colors", "longname"])),
            matches: &["tput cols", "tput -T xterm colors"],
            misses: &["tput", "tput clear", "tput init", "tput reset", "tput -S", "tput $x"],
            ..BARE
        },
    },
    ReadOnlyForm {
        needs: &[],
        least: 0,
        program: Program {
            name: "stty",
            short: "ag",
            operands: Operands::Fit(Value::OneOf(&["size", "speed"])),
            most: 1,
            matches: &["stty size", "stty -a"],
            misses: &[
                "stty -echo",
                "stty sane",
                "stty raw",
                "stty -F /dev/tty0 size",
                "stty $x",
                "stty rows 5",
            ],
            ..BARE
        },
    },
    ReadOnlyForm {
        needs: &[],
        least: 0,
        program: Program {
            name: "getconf",
            short: "a",
            operands: Operands::Fit(Value::Name),
            most: 1,
            matches: &["getconf PAGE_SIZE", "getconf -a", "getconf LONG_BIT"],
            misses: &["getconf -v x y", "getconf NAME_MAX /x", "getconf $x", "getconf ./x"],
            ..BARE
        },
    },
    ReadOnlyForm {
        needs: &[],
        least: 0,
        program: Program {
            name: "lscpu",
            short: "abcBCJxy",
            long: &["all", "online", "offline", "json", "bytes", "hex", "caches"],
            operands: NONE,
            matches: &["lscpu", "lscpu --json"],
            misses: &["lscpu -s /x", "lscpu --sysroot=x", "lscpu x", "lscpu $x"],
            ..BARE
        },
    },
    ReadOnlyForm {
        needs: &[],
        least: 0,
        program: Program {
            name: "lsblk",
            short: "abdfilmnprstJS",
            short_values: &[('o', Always, Value::Name)],
            long: &["all", "bytes", "nodeps", "fs", "json", "list", "paths", "noheadings"],
            operands: NONE,
            matches: &["lsblk", "lsblk -f", "lsblk -o NAME,SIZE"],
            misses: &["lsblk /dev/sda", "lsblk --sysroot x", "lsblk $x"],
            ..BARE
        },
    },
    // Without a terminal they only copy. A word with a plus in front is a command.
    ReadOnlyForm {
        needs: &[],
        least: 0,
        program: Program {
            name: "less",
            short: "NSRFXEeinMmrsIGgJKQqw",
            operands: FILES,
            signs_mean: true,
            matches: &["less f", "less -N f", "less -RFX f", "less"],
            misses: &[
                "less -o x f",
                "less -O x f",
                "less +!id f",
                "less -- +!id",
                "less -k x f",
                "less -T x f",
                "less -t x",
                "less --log-file=x f",
                "less *",
                "less $x",
                "less -P x f",
                "less -p x f",
            ],
            ..BARE
        },
    },
    ReadOnlyForm {
        needs: &[],
        least: 0,
        program: Program {
            name: "more",
            short: "dflpcsu",
            operands: FILES,
            signs_mean: true,
            matches: &["more f", "more -d f"],
            misses: &["more +/x f", "more -n 5 f", "more *", "more $x", "more -e f"],
            ..BARE
        },
    },
    ReadOnlyForm {
        needs: &["-l", "-v", "-t", "-p", "-Z", "-z"],
        least: 1,
        program: Program {
            name: "unzip",
            short: "lvtpZzqC1",
            operands: FILES,
            matches: &[
                "unzip -l x.zip",
                "unzip -lv x.zip",
                "unzip -p x.zip a/b",
                "unzip -t x.zip",
                "unzip -Z1 x.zip",
            ],
            misses: &[
                "unzip",
                "unzip x.zip",
                "unzip -q x.zip",
                "unzip -l",
                "unzip -ld . x.zip",
                "unzip -l -d x y.zip",
                "unzip -lo x.zip",
                "unzip -l '*.zip'",
                "unzip -l *.zip",
                "unzip -l $x",
            ],
            ..BARE
        },
    },
    ReadOnlyForm {
        needs: &[],
        least: 1,
        program: Program {
            name: "zipinfo",
            short: "12smlvhtTz",
            operands: FILES,
            matches: &["zipinfo x.zip", "zipinfo -1 x.zip"],
            misses: &["zipinfo", "zipinfo '*.zip'", "zipinfo $x", "zipinfo -x a x.zip"],
            ..BARE
        },
    },
    // Isolated: neither the working directory nor a variable says where modules come from. A second file would be written.
    ReadOnlyForm {
        needs: &["-I"],
        least: 0,
        program: Program {
            name: "python3 -m json.tool",
            short: "I",
            long: &["sort-keys", "compact", "no-ensure-ascii", "json-lines", "tab", "no-indent"],
            long_values: &[("indent", Always, Value::Number)],
            operands: FILES,
            most: 1,
            matches: &[
                "python3 -I -m json.tool",
                "python3 -I -m json.tool f",
                "python3 -I -m json.tool --sort-keys f",
            ],
            misses: &[
                "python3 -m json.tool",
                "python3 -m json.tool f",
                "python3 -I -m json.tool a b",
                "python3 -I -m http.server",
                "python3 -m json.tool -I f",
                "python3 -I -m json.tool $x",
                "python3 -I -c x",
            ],
            ..BARE
        },
    },
    ReadOnlyForm {
        needs: &["-c", "--check"],
        least: 1,
        program: Program {
            name: "node",
            short: "c",
            long: &["check"],
            operands: FILES,
            most: 1,
            matches: &["node --check a.js", "node -c a.js"],
            misses: &[
                "node a.js",
                "node --check",
                "node --check -r ./x a.js",
                "node -e 1",
                "node -c a.js b.js",
                "node -c $x",
            ],
            ..BARE
        },
    },
    ReadOnlyForm {
        needs: &[],
        least: 1,
        program: Program {
            name: "shellcheck",
            short_values: &[
                ('s', Always, Value::OneOf(&["bash", "sh", "dash", "ksh"])),
                (
                    'f',
                    Always,
                    Value::OneOf(&["tty", "gcc", "json", "json1", "checkstyle", "diff", "quiet"]),
                ),
                ('S', Always, Value::OneOf(&["error", "warning", "info", "style"])),
                ('e', Always, Value::Name),
            ],
            long_values: &[
                ("shell", Glued, Value::OneOf(&["bash", "sh", "dash", "ksh"])),
                ("exclude", Glued, Value::Name),
                ("severity", Glued, Value::OneOf(&["error", "warning", "info", "style"])),
            ],
            operands: FILES,
            matches: &["shellcheck run.sh", "shellcheck -s bash -e SC2034 a.sh b.sh"],
            misses: &[
                "shellcheck",
                "shellcheck -x a.sh",
                "shellcheck -P .. a.sh",
                "shellcheck --rcfile=x a.sh",
                "shellcheck *",
            ],
            ..BARE
        },
    },
    ReadOnlyForm {
        needs: &["-W", "-l", "-s", "-L", "-S", "-p"],
        least: 0,
        program: Program {
            name: "dpkg-query",
            short: "WlsLSp",
            short_values: &[('f', Always, Value::Any)],
            operands: Operands::Fit(Value::Any),
            matches: &["dpkg-query -W", "dpkg-query -s bash", "dpkg-query -L bash"],
            misses: &["dpkg-query", "dpkg-query --admindir=x -W", "dpkg-query $x"],
            ..BARE
        },
    },
    ReadOnlyForm {
        needs: &[],
        least: 1,
        program: Program {
            name: "getfacl",
            short: "acdenp",
            operands: FILES,
            matches: &["getfacl f", "getfacl -p a b"],
            misses: &["getfacl", "getfacl -R x", "getfacl -L x", "getfacl *", "getfacl $x"],
            ..BARE
        },
    },
    ReadOnlyForm {
        needs: &[],
        least: 1,
        program: Program {
            name: "namei",
            short: "lmovx",
            operands: FILES,
            matches: &["namei -l src/main.rs"],
            misses: &["namei", "namei --unknown x", "namei $x"],
            ..BARE
        },
    },
    ReadOnlyForm {
        needs: &[],
        least: 1,
        program: Program {
            name: "expr",
            operands: Operands::Fit(Value::Any),
            matches: &["expr 1 + 2", "expr length abc", "expr abc : 'a.*'"],
            misses: &["expr", "expr $x", "expr 2 * 3"],
            ..BARE
        },
    },
];

fn forms() -> impl Iterator<Item = &'static ReadOnlyForm> {
    FORMS.iter().chain(&COMPRESSORS).chain(&PLAIN)
}

/// The reading form that the words are, if they are one. `words` are those behind the program.
pub(super) fn judge(name: &str, words: &[Word]) -> Option<StepVerdict> {
    let held = module(name, words);
    let (name, words) = match &held {
        Some(rest) => ("python3 -m json.tool", rest.as_slice()),
        None => (name, words),
    };
    let form = forms().find(|form| form.program.name == name)?;
    let parsed = Parsed::read(&form.program, words).ok()?;
    let given = form.needs.is_empty() || parsed.has(form.needs);
    if !given || parsed.operands.len() < form.least {
        return None;
    }
    // These expand patterns themselves.
    let expands = matches!(name, "unzip" | "zipinfo");
    let is_pattern = |word: &Word| word.literal().is_none_or(|text| text.contains(['*', '?', '[']));
    if expands && parsed.operands.iter().any(|(_, word)| is_pattern(word)) {
        return None;
    }
    let named = options::check(&form.program, words).ok()?;
    Some(StepVerdict::reads(named.into_iter().map(touch(Act::Read)).collect()))
}

/// `python3 -I -m json.tool …` without the words that name the module.
fn module(name: &str, words: &[Word]) -> Option<Vec<Word>> {
    let literal = |at: usize| words.get(at).and_then(Word::literal);
    let isolated =
        literal(0) == Some("-I") && literal(1) == Some("-m") && literal(2) == Some("json.tool");
    (isolated && super::languages::is_python(name, "python")).then(|| {
        let rest = words.get(3..).unwrap_or_default();
        [Word::Literal("-I".into())].into_iter().chain(rest.iter().cloned()).collect()
    })
}

#[cfg(test)]
mod tests {
    use super::forms;

    #[test]
    fn examples_hold() {
        for form in forms() {
            let program = &form.program;
            assert!(!program.matches.is_empty() && !program.misses.is_empty(), "{}", program.name);
            for text in program.matches {
                let found = crate::steps(text);
                assert!(found.only_reads(), "{text} should only read: {found:?}");
            }
            for text in program.misses {
                assert!(!crate::steps(text).only_reads(), "{text} should not be proved");
            }
        }
    }
}
