//! Further programs that only read, as data like [`table`](crate::table).

use crate::table::{BARE, Operands, Program, Takes, Value};
use Takes::{Always, Glued, Maybe};
use ostler_policy::TouchKind;

const FILES: Operands = Operands::Files(TouchKind::File);
const NONE: Operands = Operands::Fit(Value::OneOf(&[]));

pub(super) fn program(name: &str) -> Option<&'static Program> {
    programs().find(|program| program.name == name)
}

macro_rules! sums {
    ($($name:literal),*) => {
        [$(Program {
            name: $name,
            short: "btz",
            operands: FILES,
            matches: &[concat!($name, " f g")],
            misses: &[concat!($name, " -c list"), concat!($name, " --check list"), concat!($name, " *")],
            ..BARE
        }),*]
    };
}

static SUMS: [Program; 8] = sums![
    "md5sum",
    "sha1sum",
    "sha224sum",
    "sha256sum",
    "sha384sum",
    "sha512sum",
    "b2sum",
    "cksum"
];

macro_rules! bare {
    ($($name:literal $short:literal),*) => {
        [$(Program {
            name: $name,
            short: $short,
            operands: NONE,
            matches: &[$name],
            misses: &[concat!($name, " x"), concat!($name, " --unknown"), concat!($name, " $x")],
            ..BARE
        }),*]
    };
}

static BARES: [Program; 8] = bare![
    "whoami" "", "uname" "asnrmpio", "nproc" "", "uptime" "ps", "free" "bkmghtw", "arch" "",
    "hostname" "fsid", "groups" ""
];

pub(super) fn programs() -> impl Iterator<Item = &'static Program> {
    PROGRAMS.iter().chain(super::table_again::PROGRAMS).chain(&SUMS).chain(&BARES)
}

static PROGRAMS: &[Program] = &[
    Program {
        name: "diff",
        short: "uqbwBiNyacspt",
        short_values: &[
            ('U', Always, Value::Number),
            ('C', Always, Value::Number),
            ('W', Always, Value::Number),
            ('x', Always, Value::Any),
            ('I', Always, Value::Any),
        ],
        long: &[
            "brief",
            "ignore-all-space",
            "ignore-space-change",
            "ignore-blank-lines",
            "ignore-case",
            "new-file",
            "side-by-side",
            "text",
            "report-identical-files",
            "suppress-common-lines",
            "minimal",
            "show-c-function",
            "strip-trailing-cr",
        ],
        long_values: &[
            ("unified", Maybe, Value::Number),
            ("context", Maybe, Value::Number),
            ("color", Maybe, Value::OneOf(&["always", "never", "auto"])),
            ("exclude", Always, Value::Any),
            ("width", Always, Value::Number),
            ("label", Always, Value::Any),
        ],
        operands: Operands::Files(TouchKind::Tree),
        most: 2,
        matches: &["diff a b", "diff -u a b", "diff --unified=5 a b", "diff -q a -"],
        misses: &[
            "diff -l a b",
            "diff -r a b",
            "diff --to-file=x y",
            "diff -X list a b",
            "diff a b c",
            "diff a*",
            "diff --uni a b",
            "diff --paginate a b",
            "diff --exclude-from=x a b",
        ],
        ..BARE
    },
    Program {
        name: "cmp",
        short: "bls",
        short_values: &[('n', Always, Value::Number)],
        long: &["silent", "quiet", "verbose", "print-bytes"],
        operands: FILES,
        most: 2,
        matches: &["cmp a b", "cmp -s a b"],
        misses: &["cmp a b 1 2", "cmp --sil a b"],
        ..BARE
    },
    Program {
        name: "comm",
        short: "123iz",
        long: &["check-order", "nocheck-order", "total"],
        operands: FILES,
        most: 2,
        matches: &["comm -12 a b"],
        misses: &["comm -x a b", "comm a b c"],
        ..BARE
    },
    Program {
        name: "file",
        short: "bhikN0",
        long: &["brief", "mime", "mime-type", "mime-encoding", "no-dereference", "keep-going"],
        operands: FILES,
        matches: &["file target/debug/app", "file -b --mime-type a b", "file src/*"],
        misses: &[
            "file -C -m magic",
            "file -f list",
            "file -z a",
            "file -m x a",
            "file --files-from=x",
            "file -s /dev/sda",
            "file *",
        ],
        ..BARE
    },
    Program {
        name: "tree",
        short: "adfishpDFCnug",
        short_values: &[
            ('L', Always, Value::Number),
            ('I', Always, Value::Any),
            ('P', Always, Value::Any),
        ],
        long: &["dirsfirst", "noreport", "du", "prune", "gitignore"],
        long_values: &[("filelimit", Always, Value::Number), ("charset", Glued, Value::Name)],
        operands: Operands::Files(TouchKind::Names),
        matches: &["tree", "tree -L 2 src", "tree -a -I 'target|.git'", "tree --dirsfirst"],
        misses: &[
            "tree -o out",
            "tree -R -H . -L 1",
            "tree -l",
            "tree --fromfile x",
            "tree -L x",
            "tree /",
            "tree -J -o x",
        ],
        ..BARE
    },
    Program {
        name: "realpath",
        short: "emqsLPz",
        long: &["canonicalize-existing", "canonicalize-missing", "no-symlinks", "quiet"],
        operands: FILES,
        matches: &["realpath a", "realpath -m a b"],
        misses: &["realpath --relative-to=x y", "realpath *"],
        ..BARE
    },
    Program {
        name: "readlink",
        short: "femnqsvz",
        operands: FILES,
        matches: &["readlink -f a"],
        misses: &["readlink --can a", "readlink *"],
        ..BARE
    },
    Program {
        name: "nl",
        short: "p",
        short_values: &[
            ('b', Always, Value::OneOf(&["a", "t", "n"])),
            ('w', Always, Value::Number),
            ('s', Always, Value::Any),
        ],
        operands: FILES,
        matches: &["nl f", "nl -b a f", "nl -ba f"],
        misses: &["nl --x f", "nl *"],
        ..BARE
    },
    Program {
        name: "tac",
        short: "br",
        short_values: &[('s', Always, Value::Any)],
        operands: FILES,
        matches: &["tac f", "tac"],
        misses: &["tac --x f", "tac *"],
        ..BARE
    },
    Program {
        name: "rev",
        operands: FILES,
        matches: &["rev f", "rev"],
        misses: &["rev -x", "rev *"],
        ..BARE
    },
    Program {
        name: "column",
        short: "tx",
        short_values: &[('s', Always, Value::Any), ('c', Always, Value::Number)],
        long: &["table"],
        operands: FILES,
        matches: &["column -t", "column -t -s, f"],
        misses: &["column --x", "column *"],
        ..BARE
    },
    Program {
        name: "fold",
        short: "bs",
        short_values: &[('w', Always, Value::Number)],
        operands: FILES,
        matches: &["fold -w 80 f", "fold -sw80"],
        misses: &["fold --x", "fold *"],
        ..BARE
    },
    Program {
        name: "paste",
        short: "sz",
        short_values: &[('d', Always, Value::Any)],
        operands: FILES,
        matches: &["paste -sd, f", "paste a b"],
        misses: &["paste --x", "paste *"],
        ..BARE
    },
    Program {
        name: "shasum",
        short: "b",
        short_values: &[('a', Always, Value::Number)],
        operands: FILES,
        matches: &["shasum -a 256", "shasum f"],
        misses: &["shasum -c list", "shasum *"],
        ..BARE
    },
    Program {
        name: "shuf",
        short: "ez",
        short_values: &[('n', Always, Value::Number)],
        operands: FILES,
        most: 1,
        matches: &["shuf -n1", "shuf f"],
        misses: &[
            "shuf -r f",
            "shuf -re a b",
            "shuf --repeat f",
            "shuf -o x f",
            "shuf --random-source=f",
            "shuf *",
        ],
        ..BARE
    },
    Program {
        name: "od",
        short: "abcdfiloxsv",
        short_values: &[
            ('A', Always, Value::Name),
            ('t', Always, Value::Name),
            ('N', Always, Value::Number),
            ('j', Always, Value::Number),
        ],
        operands: FILES,
        signs_mean: true,
        matches: &["od -c f", "od -An -tx1 f"],
        misses: &["od --x f", "od *", "od f +1"],
        ..BARE
    },
    Program {
        name: "xxd",
        short: "pu",
        short_values: &[
            ('l', Always, Value::Number),
            ('s', Always, Value::Number),
            ('c', Always, Value::Number),
            ('g', Always, Value::Number),
        ],
        operands: FILES,
        most: 1,
        matches: &["xxd f", "xxd -l 16 f"],
        misses: &["xxd f out", "xxd -r f", "xxd *"],
        ..BARE
    },
    Program {
        name: "df",
        short: "ahHiklmPT",
        long: &["human-readable", "total", "local", "inodes", "print-type", "all"],
        long_values: &[("type", Always, Value::Name), ("exclude-type", Always, Value::Name)],
        // It shows the file system that a path belongs to, and nothing of the path.
        operands: Operands::Fit(Value::Any),
        matches: &["df -h", "df -h .", "df -h /"],
        misses: &["df --output=x", "df *"],
        ..BARE
    },
    Program {
        name: "id",
        short: "Ggnru",
        operands: NONE,
        matches: &["id", "id -un"],
        misses: &["id root", "id --x"],
        ..BARE
    },
];
