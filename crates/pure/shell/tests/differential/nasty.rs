//! What nobody writes: quotes, operators and reserved words in any order.

use crate::benign;
use crate::random::Random;

const PIECES: &[&str] = &[
    " ",
    " ",
    " ",
    " ",
    " ",
    "prog",
    "alpha",
    "beta",
    "gamma",
    "a",
    "b",
    "x=1",
    "x",
    "'",
    "'",
    "'",
    "\"",
    "\"",
    "\"",
    "\\",
    "\\",
    "$",
    "$",
    "`",
    "`",
    "$(",
    ")",
    "$(prog ",
    "(",
    ")",
    "{",
    "}",
    "{ ",
    "; }",
    "{a,b}",
    "{1..3}",
    ",",
    "..",
    "${x",
    "${x:-",
    "}",
    "${#x}",
    "$((",
    "))",
    "$((1+1))",
    "$x",
    "$'",
    "$\"",
    "$[",
    "]",
    "[",
    "[[ ",
    " ]]",
    "==",
    "=~",
    "<<E",
    "<<'E'",
    "<<-E",
    "<<E\n",
    "\nE\n",
    "\nE\n",
    "\n\tE\n",
    "<<<",
    "<(",
    ">(",
    ">out",
    "2>&1",
    ">&2",
    "&>all",
    "<a.txt",
    "#",
    " #",
    "\n",
    "\n",
    "\t",
    ";",
    "; ",
    ";;",
    "&",
    "&&",
    "||",
    "|",
    "|&",
    "!",
    "! ",
    "\\\n",
    "\\\n",
    "é",
    "日本",
    "*",
    "?",
    "~",
    "if ",
    "then ",
    "; fi",
    "for x in a b; do ",
    "; done",
    "case a in a) ",
    ";; esac",
    "while false; do ",
    "f() ",
    "time ",
    "coproc ",
    "a=(",
    "a[0]=",
    "+=",
    "=",
    "-",
    "1",
    "2",
    "''",
    "\"\"",
    "\\'",
    "\\\"",
    "\\$",
    "\\\\",
    "%",
    ":",
    "^",
];

const STARTS: &[&str] = &[
    "prog ",
    "alpha ",
    "x=1 beta ",
    "",
    "prog a; ",
    "{ alpha; } ",
    "gamma \"",
    "prog '",
    "echo $(",
];

pub fn line(random: &mut Random) -> String {
    if random.percent(50) { spoiled(random) } else { soup(random) }
}

/// What agents write, with something wrong in it.
fn spoiled(random: &mut Random) -> String {
    let mut text = benign::line(random);
    // What was a condition that ends a loop might become one that does not.
    if text.contains("while") {
        return nested(random, text);
    }
    for _ in 0..1 + random.below(2) {
        let places: Vec<usize> = text.char_indices().map(|(at, _)| at).collect();
        let at = places[random.below(places.len())];
        match random.below(4) {
            0 => drop(text.remove(at)),
            1 => {
                let end = places[random.below(places.len())];
                if end > at && end < at + 12 {
                    text.replace_range(at..end, random.pick(PIECES));
                }
            }
            _ => text.insert_str(at, random.pick(PIECES)),
        }
        if text.is_empty() {
            break;
        }
    }
    nested(random, text)
}

/// Bash writes what stands in a substitution out and reads it again.
fn nested(random: &mut Random, text: String) -> String {
    match random.below(8) {
        0 => format!("echo $( {text} )"),
        1 => format!("prog \"$( {text}\n)\" q"),
        2 => format!("{{ {text}\n}}"),
        3 => format!("cat <<E\n$({text}\n)\nE\n"),
        _ => text,
    }
}

fn soup(random: &mut Random) -> String {
    let mut text = random.pick(STARTS).to_owned();
    for _ in 0..1 + random.below(9) {
        text.push_str(random.pick(PIECES));
    }
    // Most soups end with something open; closing it makes more of them texts.
    if random.percent(50) {
        for (open, close) in [('\'', "'"), ('"', "\""), ('`', "`")] {
            if text.matches(open).count() % 2 == 1 {
                text.push_str(close);
            }
        }
        let (opened, closed) = (text.matches('(').count(), text.matches(')').count());
        text.push_str(&")".repeat(opened.saturating_sub(closed)));
    }
    if random.percent(40) {
        text.push_str(random.pick(&["; beta z", "\nbeta z", " && beta z", " | beta z"]));
    }
    nested(random, text)
}
