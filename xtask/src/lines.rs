//! Sizes, and words that belong elsewhere.

use crate::Report;
use crate::files::Source;

const SOFT_FILE: usize = 300;
const HARD_FILE: usize = 500;
const FUNCTION: usize = 60;
const TESTKIT: usize = 2_000;
/// What a surface decides by itself; everything else belongs into the library, for all surfaces.
const SURFACE: usize = 150;
const SURFACES: [&str; 2] =
    ["crates/surfaces/cli/src/commands/headless.rs", "crates/surfaces/cli/src/commands/repl.rs"];

/// What may stand only in certain places: the words, where they may stand, and why.
const FENCES: &[(&[&str], &[&str], &str)] = &[
    (
        &["SystemTime::now", "Timestamp::now()", "Zoned::now", "Uuid::new", "Uuid::now"],
        &["crates/product/ostler/src/system.rs"],
        "wall clock and random names come through the ports",
    ),
    (
        &["unsafe {", "unsafe fn", "unsafe impl"],
        &["crates/runtime/exec/"],
        "only exec may use unsafe",
    ),
    (&["anyhow::"], &["crates/surfaces/cli/"], "libraries have typed errors"),
    (&["#[ignore"], &[], "a test that does not run is no test"),
    (
        &["process::Command", "std::process::Command"],
        &["crates/runtime/exec/", "crates/dev/fuzz/", "crates/dev/chaos/"],
        "children start in exec",
    ),
];

pub fn check(source: &Source, report: &mut Report) {
    if source.path.starts_with("xtask/") {
        return;
    }
    let length = source.own().count();
    if length > HARD_FILE {
        report.errors.push(format!(
            "{}: {length} lines, at most {HARD_FILE}: it tells more than one story",
            source.path
        ));
    } else if length > SOFT_FILE && !source.is_test() {
        report.warnings.push(format!("{}: {length} lines", source.path));
    }
    let code = source.own().filter(|(_, line)| is_logic(line)).count();
    if SURFACES.contains(&source.path.as_str()) && code >= SURFACE {
        report.errors.push(format!(
            "{}: {code} lines of code, fewer than {SURFACE} allowed: surfaces stay thin",
            source.path
        ));
    }
    // A test may be one long table.
    if !source.is_test() {
        functions(source, report);
        fences(source, report);
    }
}

fn is_logic(line: &str) -> bool {
    let line = line.trim_start();
    !line.is_empty() && !["//", "use ", "mod ", "#["].iter().any(|start| line.starts_with(start))
}

fn fences(source: &Source, report: &mut Report) {
    for (number, line) in source.own().filter(|(_, line)| !line.trim_start().starts_with("//")) {
        for (words, allowed, why) in FENCES {
            let here = allowed.iter().any(|place| source.path.starts_with(place));
            if !here && let Some(word) = words.iter().find(|word| line.contains(**word)) {
                report.errors.push(format!("{}:{number}: {word}: {why}", source.path));
            }
        }
    }
}

/// A formatted function ends at the first closing brace with the indent of its first line.
fn functions(source: &Source, report: &mut Report) {
    let lines: Vec<(usize, &str)> = source.own().collect();
    for (at, (number, line)) in lines.iter().enumerate() {
        let body = line.trim_start();
        if !is_function(body) {
            continue;
        }
        let end = format!("{}}}", " ".repeat(line.len() - body.len()));
        let rest = lines.get(at..).unwrap_or_default();
        let length = rest.iter().position(|(_, line)| *line == end).map_or(0, |end| end + 1);
        if length > FUNCTION {
            let path = &source.path;
            report
                .errors
                .push(format!("{path}:{number}: a function of {length} lines, at most {FUNCTION}"));
        }
    }
}

fn is_function(line: &str) -> bool {
    let line = line.strip_prefix("pub ").unwrap_or(line);
    let line = line
        .strip_prefix("pub(crate) ")
        .or_else(|| line.strip_prefix("pub(super) "))
        .unwrap_or(line);
    let line = line.strip_prefix("async ").or_else(|| line.strip_prefix("const ")).unwrap_or(line);
    line.strip_prefix("unsafe ").unwrap_or(line).starts_with("fn ")
        && !line.ends_with(';')
        && !line.ends_with('}')
}

pub fn check_testkit(sources: &[Source], report: &mut Report) {
    let total: usize = sources
        .iter()
        .filter(|source| source.krate() == "testkit")
        .map(|s| s.text.lines().count())
        .sum();
    if total > TESTKIT {
        report.errors.push(format!(
            "testkit has {total} lines, at most {TESTKIT}: design for tests instead"
        ));
    }
}
