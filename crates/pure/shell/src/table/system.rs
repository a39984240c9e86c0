//! Programs that show directories, links, the machine and the user, and programs that calculate.

use super::{BARE, Operands, Program, Takes, Value};
use Takes::{Always, Glued};
use ostler_policy::TouchKind;

const FILES: Operands = Operands::Files(TouchKind::File);
const NONE: Operands = Operands::Fit(Value::OneOf(&[]));

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

pub(super) static BARES: [Program; 8] = bare![
    "whoami" "", "uname" "asnrmpio", "nproc" "", "uptime" "ps", "free" "bkmghtw", "arch" "",
    "hostname" "fsid", "groups" ""
];

pub(super) static PROGRAMS: &[Program] = &[
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
    Program {
        name: "numfmt",
        short: "z",
        short_values: &[('d', Always, Value::Any)],
        long: &["grouping"],
        long_values: &[
            ("to", Glued, UNIT),
            ("from", Glued, UNIT),
            ("field", Glued, Value::Fields),
            ("suffix", Glued, Value::Name),
            ("padding", Glued, Value::Number),
        ],
        operands: Operands::Fit(Value::Any),
        matches: &["numfmt --to=iec 1048576", "numfmt --from=si 1K", "numfmt --field=2 --to=si"],
        misses: &["numfmt --format=%9999999f 1", "numfmt $x", "numfmt *"],
        ..BARE
    },
    Program {
        name: "factor",
        operands: Operands::Fit(Value::Number),
        matches: &["factor 360", "factor"],
        misses: &["factor x", "factor --x", "factor $x"],
        ..BARE
    },
    // Its files would be programs.
    Program {
        name: "bc",
        short: "lqs",
        matches: &["bc", "bc -l", "bc -lq"],
        misses: &["bc f", "bc -i", "bc *", "bc --x"],
        ..BARE
    },
];

const UNIT: Value = Value::OneOf(&["none", "auto", "si", "iec", "iec-i"]);
