//! Faults planted into the gate, to prove that this fuzzer would find such a fault: the gate judges a rewritten line,
//! bash runs the original.

use super::grammar::names::SPECIAL;
use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Planted {
    /// Variables that bash evaluates or acts on are taken for plain ones.
    LoopVariable,
    /// An assignment inside another expansion is overlooked.
    NestedAssign,
    /// A change of the locale is overlooked.
    Locale,
    /// An option that names a file to write is overlooked.
    Option,
    /// A command substitution in a subscript is overlooked.
    Arithmetic,
}

pub const ALL: &[(&str, Planted)] = &[
    ("loop-variable", Planted::LoopVariable),
    ("nested-assign", Planted::NestedAssign),
    ("locale", Planted::Locale),
    ("option", Planted::Option),
    ("arithmetic", Planted::Arithmetic),
];

impl Planted {
    pub fn by_name(name: &str) -> Option<Self> {
        ALL.iter().find(|(known, _)| *known == name).map(|(_, planted)| *planted)
    }

    pub fn name(self) -> &'static str {
        ALL.iter().find(|(_, planted)| *planted == self).map_or("", |(name, _)| name)
    }

    pub fn rewrite(self, line: &str) -> String {
        match self {
            Planted::LoopVariable => special_names_as_plain_ones(line),
            Planted::NestedAssign => {
                nested_assignments_as_defaults(&empty_values_as_plain_ones(line))
            }
            Planted::Locale => without_locales(line),
            Planted::Option => without_output_options(line),
            Planted::Arithmetic => without_subscripts(line),
        }
    }
}

fn is_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

fn is_locale(name: &str) -> bool {
    name == "LANG" || name.starts_with("LC_")
}

fn special_names_as_plain_ones(line: &str) -> String {
    let mut made = String::new();
    let mut rest = line;
    while let Some(first) = rest.chars().next() {
        let end = if is_name(first) {
            rest.find(|c| !is_name(c)).unwrap_or(rest.len())
        } else {
            first.len_utf8()
        };
        let (word, after) = rest.split_at(end);
        if SPECIAL.contains(&word) && !is_locale(word) {
            made.push('v');
            made.extend(word.to_ascii_lowercase().chars().filter(|c| *c != '_'));
        } else {
            made.push_str(word);
        }
        rest = after;
    }
    made
}

/// `s=` as `s=p`: to a gate that is sure of an empty value, nothing changes when an expansion assigns another one.
/// Only where an expansion does.
fn empty_values_as_plain_ones(line: &str) -> String {
    if nested_assignments_as_defaults(line) == line {
        return line.to_owned();
    }
    let mut made = String::new();
    let mut last = ' ';
    let mut rest = line;
    while let Some(c) = rest.chars().next() {
        made.push(c);
        rest = rest.strip_prefix(c).unwrap_or_default();
        if c == '=' && is_name(last) {
            let unquoted = ["''", "\"\""].iter().find_map(|empty| rest.strip_prefix(empty));
            let after = unquoted.unwrap_or(rest);
            if after.starts_with([';', '\n', ' ', '&']) {
                made.push('p');
                rest = after;
            }
        }
        last = c;
    }
    made
}

fn nested_assignments_as_defaults(line: &str) -> String {
    let mut made = String::new();
    let mut depth = 0_usize;
    let mut rest = line;
    while let Some(first) = rest.chars().next() {
        if let Some(inside) = rest.strip_prefix("${") {
            depth += 1;
            let end = inside.find(|c| !is_name(c)).unwrap_or(inside.len());
            let (name, after) = inside.split_at(end);
            made.push_str("${");
            made.push_str(name);
            rest = after;
            if depth > 1 && !name.is_empty() {
                for (assigns, defaults) in [(":=", ":-"), ("=", "-")] {
                    if let Some(after) = rest.strip_prefix(assigns) {
                        made.push_str(defaults);
                        rest = after;
                        break;
                    }
                }
            }
            continue;
        }
        depth = if first == '}' { depth.saturating_sub(1) } else { depth };
        made.push(first);
        rest = rest.strip_prefix(first).unwrap_or_default();
    }
    made
}

/// Statements that name a variable of the locale.
fn without_locales(line: &str) -> String {
    let names_locale =
        |part: &str| part.contains("LC_") || part.contains("LANG=") || part.contains("LANG ");
    let kept = line.split('\n').map(|row| {
        let parts: Vec<&str> = row.split(';').filter(|part| !names_locale(part)).collect();
        // A loop lies on one row here; without its head nothing of it is left.
        if parts.len() < row.split(';').count() && row.contains("do ") {
            String::new()
        } else {
            parts.join(";")
        }
    });
    kept.filter(|row| !row.trim().is_empty()).collect::<Vec<_>>().join("\n")
}

fn without_output_options(line: &str) -> String {
    let mut made: Vec<&str> = Vec::new();
    let mut words = line.split(' ').peekable();
    while let Some(word) = words.next() {
        if word.starts_with("--output=") || (word.starts_with("-o") && word.len() > 2) {
            continue;
        }
        if word == "-o" || word == "--output" {
            words.next();
            continue;
        }
        made.push(word);
    }
    made.join(" ")
}

/// `[$(…)]` and `[`…`]` with backquotes, to the first end.
fn without_subscripts(line: &str) -> String {
    let mut made = String::new();
    let mut rest = line;
    while let Some(at) = rest.find('[') {
        let (before, inside) = rest.split_at(at);
        made.push_str(before);
        let ends = [("[$(", ")]"), ("[`", "`]"), ("[\\$(", ")]")];
        let end = ends.iter().find_map(|(open, close)| {
            let inner = inside.strip_prefix(open)?;
            inner.split_once(close).map(|(_, after)| after)
        });
        rest = match end {
            Some(after) => after,
            None => {
                made.push('[');
                inside.strip_prefix('[').unwrap_or_default()
            }
        };
    }
    made.push_str(rest);
    made
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_fault_hides_what_it_is_about() {
        let table = [
            (Planted::LoopVariable, "for RANDOM in x; do :; done", "for vrandom in x; do :; done"),
            (Planted::LoopVariable, "echo $RANDOMS", "echo $RANDOMS"),
            (Planted::NestedAssign, ": ${q:-${s:=x}}", ": ${q:-${s:-x}}"),
            (Planted::NestedAssign, "s=; : ${q:-${s:=x}}", "s=p; : ${q:-${s:-x}}"),
            (Planted::NestedAssign, "s=; : ${s:=x}", "s=; : ${s:=x}"),
            (Planted::NestedAssign, ": ${q:-${s=x}} ${t:=y}", ": ${q:-${s-x}} ${t:=y}"),
            (Planted::Locale, "LC_ALL=x\necho a", "echo a"),
            (Planted::Locale, "for LC_ALL in x; do :; done\necho a", "echo a"),
            (Planted::Option, "sort -o P f", "sort f"),
            (Planted::Option, "git log --output=P", "git log"),
            (Planted::Option, "sort -oP f", "sort f"),
            (Planted::Arithmetic, "echo $((a[$(touch P)]))", "echo $((a))"),
            (Planted::Arithmetic, "test -v 'a[`touch P`]' [1]", "test -v 'a' [1]"),
        ];
        for (planted, line, judged) in table {
            assert_eq!(planted.rewrite(line), judged, "{planted:?}");
        }
    }
}
