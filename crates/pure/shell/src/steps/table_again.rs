//! Still more programs that only read: columns, encodings, numbers.

use crate::table::{BARE, Count, Operands, Program, Takes, Value};
use Takes::{Always, Glued};
use ostler_policy::TouchKind;

const FILES: Operands = Operands::Files(TouchKind::File);

pub(super) static PROGRAMS: &[Program] = &[
    Program {
        name: "join",
        short: "iz",
        short_values: &[
            ('a', Always, Value::Number),
            ('v', Always, Value::Number),
            ('j', Always, Value::Number),
            ('1', Always, Value::Number),
            ('2', Always, Value::Number),
            ('t', Always, Value::Any),
            ('e', Always, Value::Any),
            ('o', Always, Value::Any),
        ],
        long: &["ignore-case", "check-order", "nocheck-order", "header", "zero-terminated"],
        operands: FILES,
        most: 2,
        matches: &["join a b", "join -t, -1 1 -2 2 a b", "join -a1 -o 1.1,2.2 a b", "join - b"],
        misses: &["join a b c", "join --head a b", "join a*", "join -x a b"],
        ..BARE
    },
    Program {
        name: "fmt",
        short: "cstu",
        short_values: &[
            ('w', Always, Value::Number),
            ('g', Always, Value::Number),
            ('p', Always, Value::Any),
        ],
        long: &["crown-margin", "split-only", "tagged-paragraph", "uniform-spacing"],
        long_values: &[("width", Always, Value::Number), ("goal", Always, Value::Number)],
        count: Count::First,
        operands: FILES,
        matches: &["fmt f", "fmt -w 72 f", "fmt -80", "fmt -s --width=60"],
        misses: &["fmt --x f", "fmt *", "fmt -w x f"],
        ..BARE
    },
    Program {
        name: "expand",
        short: "i",
        short_values: &[('t', Always, Value::Fields)],
        long: &["initial"],
        long_values: &[("tabs", Always, Value::Fields)],
        operands: FILES,
        matches: &["expand f", "expand -t 4 f", "expand -t4,8"],
        misses: &["expand --x f", "expand *"],
        ..BARE
    },
    Program {
        name: "unexpand",
        short: "a",
        short_values: &[('t', Always, Value::Fields)],
        long: &["all", "first-only"],
        long_values: &[("tabs", Always, Value::Fields)],
        operands: FILES,
        matches: &["unexpand -a f", "unexpand --first-only -t 4"],
        misses: &["unexpand --x f", "unexpand *"],
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
