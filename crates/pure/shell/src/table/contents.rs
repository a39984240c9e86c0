//! Programs that compare the contents of files, tell what they are, or show them in another encoding.

use super::{BARE, Count, Operands, Program, Takes, Value};
use Takes::{Always, Glued, Maybe};
use ostler_policy::TouchKind;

const FILES: Operands = Operands::Files(TouchKind::File);

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

pub(super) static SUMS: [Program; 8] = sums![
    "md5sum",
    "sha1sum",
    "sha224sum",
    "sha256sum",
    "sha384sum",
    "sha512sum",
    "b2sum",
    "cksum"
];

pub(super) static PROGRAMS: &[Program] = &[
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
        name: "shasum",
        short: "b",
        short_values: &[('a', Always, Value::Number)],
        operands: FILES,
        matches: &["shasum -a 256", "shasum f"],
        misses: &["shasum -c list", "shasum *"],
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
    // `-i` and `-o` name files where it is not GNU's.
    Program {
        name: "base64",
        short: "d",
        short_values: &[('w', Always, Value::Number)],
        long: &["decode"],
        long_values: &[("wrap", Always, Value::Number)],
        operands: FILES,
        most: 1,
        matches: &["base64 f", "base64 -d", "base64 -w0 f", "base64 --decode"],
        misses: &["base64 -o x f", "base64 -i f", "base64 a b", "base64 *"],
        ..BARE
    },
    Program {
        name: "hexdump",
        short: "bcCdovx",
        short_values: &[('n', Always, Value::Number), ('s', Always, Value::Number)],
        long: &["canonical", "no-squeezing"],
        long_values: &[("length", Always, Value::Number), ("skip", Always, Value::Number)],
        operands: FILES,
        matches: &["hexdump -C f", "hexdump -C -n 64 f", "hexdump"],
        misses: &["hexdump -f x f", "hexdump -e x f", "hexdump --format-file=x f", "hexdump *"],
        ..BARE
    },
    // A word with `@` in front is a file of further options; `files` refuses it.
    Program {
        name: "strings",
        short: "afw",
        short_values: &[
            ('n', Always, Value::Number),
            ('t', Always, Value::OneOf(&["o", "d", "x"])),
            ('e', Always, Value::OneOf(&["s", "S", "b", "l", "B", "L"])),
        ],
        long: &["all", "print-file-name"],
        long_values: &[("bytes", Always, Value::Number)],
        count: Count::First,
        operands: FILES,
        matches: &["strings f", "strings -n 8 f", "strings -a -t x f", "strings"],
        misses: &["strings @f", "strings -T x f", "strings -- @f", "strings *", "strings @*"],
        ..BARE
    },
    Program {
        name: "iconv",
        short: "cls",
        short_values: &[('f', Always, Value::Name), ('t', Always, Value::Name)],
        long: &["list", "silent"],
        long_values: &[("from-code", Glued, Value::Name), ("to-code", Glued, Value::Name)],
        operands: FILES,
        matches: &["iconv -f latin1 -t utf-8 f", "iconv -l", "iconv --from-code=utf-16"],
        misses: &["iconv -o x f", "iconv --output=x f", "iconv -f ./map f", "iconv *"],
        ..BARE
    },
];
