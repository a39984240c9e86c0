//! Each fault of the sections on boards, worktrees and agents has tests, and these are run.

use crate::Report;
use crate::files::Source;
use std::collections::BTreeSet;
use std::path::Path;

const FAULTS: &str = "fixtures/corpus/faults.md";
const TESTS: &str = "fixtures/corpus/fault-tests.md";
const SECTIONS: [char; 3] = ['E', 'F', 'G'];

pub fn check(root: &Path, sources: &[Source], report: &mut Report) {
    let read = |name: &str| std::fs::read_to_string(root.join(name)).unwrap_or_default();
    compare(&read(FAULTS), &read(TESTS), sources, report);
}

fn compare(faults: &str, tests: &str, sources: &[Source], report: &mut Report) {
    let known: BTreeSet<&str> = rows(faults).map(|row| row[0]).filter(|id| is_fault(id)).collect();
    let mut error = |text: String| report.errors.push(format!("{TESTS}: {text}"));
    if known.is_empty() {
        error(format!("{FAULTS} has no faults"));
    }
    let mut tested = BTreeSet::new();
    for row in rows(tests) {
        let (id, [test, file]) = match row[..] {
            [id, test, file] if is_fault(id) => (id, [test, file].map(|it| it.trim_matches('`'))),
            _ => continue,
        };
        tested.insert(id);
        if !known.contains(id) {
            error(format!("there is no fault {id}"));
        }
        if !is_run(test, file, sources) {
            error(format!("{id}: {file} has no test {test}, or nothing runs it"));
        }
    }
    for id in known.difference(&tested) {
        error(format!("{id} has no test"));
    }
}

fn rows(text: &str) -> impl Iterator<Item = Vec<&str>> {
    text.lines().filter_map(|line| {
        let line = line.trim().strip_prefix('|')?.strip_suffix('|')?;
        Some(line.split('|').map(str::trim).collect())
    })
}

fn is_fault(id: &str) -> bool {
    let number = id.strip_prefix(SECTIONS);
    number.is_some_and(|it| it.len() == 2 && it.bytes().all(|byte| byte.is_ascii_digit()))
}

/// The function is marked as a test, or another file of its folder lists it.
fn is_run(test: &str, file: &str, sources: &[Source]) -> bool {
    let Some(source) = sources.iter().find(|source| source.path == file) else { return false };
    let lines: Vec<&str> = source.text.lines().map(str::trim).collect();
    let begin = format!("fn {test}(");
    let Some(at) = lines.iter().position(|line| line.contains(&begin)) else { return false };
    let is_marked = |line: &&&str| line.starts_with("#[") && line.contains("test");
    let marks = lines[..at].iter().rev().take_while(|line| line.starts_with("#["));
    if marks.clone().any(|line| is_marked(&line)) {
        return true;
    }
    let folder = Path::new(file).parent();
    let is_beside =
        |other: &&Source| Path::new(&other.path).parent() == folder && other.path != file;
    let names = |other: &Source| {
        let words = other.text.split(|letter: char| !letter.is_alphanumeric() && letter != '_');
        words.into_iter().any(|word| word == test)
    };
    sources.iter().filter(is_beside).any(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(path: &str, text: &str) -> Source {
        Source { path: path.to_owned(), text: text.to_owned() }
    }

    fn errors(tests: &str) -> Vec<String> {
        let faults = "| E01 | down | named |\n| A01 | other | x |\n| G02 | slow | refused |";
        let sources = [
            source("a/x.rs", "#[test]\nfn marked() {}\n\nfn helper() {}\nfn listed(place: P) {}"),
            source("a/main.rs", "cases! { x::listed }"),
            source("b/main.rs", "helper"),
        ];
        let mut report = Report::default();
        compare(faults, tests, &sources, &mut report);
        report.errors
    }

    #[test]
    fn every_fault_has_a_test_that_is_run() {
        let good = "| id | test | file |\n|---|---|---|\n| E01 | `marked` | `a/x.rs` |\n| G02 | `listed` | `a/x.rs` |";
        assert_eq!(errors(good), Vec::<String>::new());
        for (from, to, why) in [
            ("`marked`", "`helper`", "nothing runs it"),
            ("`marked`", "`missing`", "has no test missing"),
            ("`a/x.rs` |\n| G02", "`c/x.rs` |\n| G02", "c/x.rs has no test"),
            ("| E01 |", "| E02 |", "there is no fault E02"),
            ("| G02 |", "| g02 |", "G02 has no test"),
        ] {
            let found = errors(&good.replace(from, to)).join("\n");
            assert!(found.contains(why), "{why}: {found}");
        }
    }
}
