//! Programs that rearrange lines and columns of text.

use super::{BARE, Count, Operands, Program, Takes, Value};
use Takes::Always;
use ostler_policy::TouchKind;

const FILES: Operands = Operands::Files(TouchKind::File);

pub(super) static PROGRAMS: &[Program] = &[
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
];
