//! Makes docs/loop-behaviour.md: plays each scenario against the model server, writes down what the program did,
//! and compares it with what Claude Code did. A difference without a reason fails, a reason without a difference too.
//!
//! `UPDATE_DOCS=1 cargo test -p ostler-cli loop_behaviour` writes the file again.

mod background;
mod better;
mod context;
mod hooks;
mod http;
mod limits;
mod row;
mod sessions;
mod stops;
mod streams;
mod tools;

use row::{Row, Seen};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Scenarios played at the same time.
const PLAYERS: usize = 4;

const INTRODUCTION: &str = "\
# How the loop behaves, compared with Claude Code

A test generates this file (`crates/surfaces/cli/tests/it/loop_behaviour.rs`): it plays each scenario against the scripted model server.
The third column shows what Claude Code 2.1.197 did when it was observed with the same script; the fourth is computed from our run.
The test fails if a row differs without a reason, so each difference is intended.
\"Requests\" are requests for an answer; after the colon come the reasons why the loop continued and the retries of a request, in order.
In message lists, `u` is the user, `a` the assistant, `T` text, `K` thinking, `U` a call, `res` its result, `ERR` a failed result, `note` a sentence from the harness.
";

struct Section {
    title: &'static str,
    rows: Vec<Row>,
}

fn sections() -> Vec<Section> {
    vec![
        Section { title: "Tools", rows: tools::rows() },
        Section { title: "Stop reasons and empty answers", rows: stops::rows() },
        Section { title: "HTTP errors", rows: http::rows() },
        Section { title: "Broken streams", rows: streams::rows() },
        Section { title: "Context and compaction", rows: context::rows() },
        Section { title: "Limits", rows: limits::rows() },
        Section { title: "Signals and sessions", rows: sessions::rows() },
        Section { title: "Hooks", rows: hooks::rows() },
        Section { title: "Background jobs", rows: background::rows() },
    ]
}

#[test]
fn the_document_says_what_the_program_does() {
    let sections = sections();
    let rows: Vec<&Row> = sections.iter().flat_map(|section| &section.rows).collect();
    let seen = play(&rows);
    let wrong: Vec<String> =
        rows.iter().zip(&seen).filter_map(|(row, seen)| unexplained(row, seen)).collect();
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
    let different = rows.iter().filter(|row| !row.why.is_empty()).count();
    println!(
        "loop scenarios played: {}, {} like Claude Code, {different} different on purpose",
        rows.len(),
        rows.len() - different
    );
    check(&document(&sections, &seen));
}

/// All rows, a few at a time; the results in the order of the rows.
fn play(rows: &[&Row]) -> Vec<Seen> {
    let (next, seen) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..PLAYERS {
            scope.spawn(|| {
                while let (at, Some(row)) = take(&next, rows) {
                    let played = catch_unwind(AssertUnwindSafe(|| row.play()));
                    seen.lock().unwrap().push((at, played.map_err(|_| row.name)));
                }
            });
        }
    });
    let mut seen = seen.into_inner().unwrap();
    seen.sort_by_key(|(at, _)| *at);
    let failed: Vec<&str> =
        seen.iter().filter_map(|(_, seen)| seen.as_ref().err()).copied().collect();
    assert!(failed.is_empty(), "could not be played (see above): {failed:?}");
    seen.into_iter().filter_map(|(_, seen)| seen.ok()).collect()
}

fn take<'a>(next: &AtomicUsize, rows: &[&'a Row]) -> (usize, Option<&'a Row>) {
    let at = next.fetch_add(1, Ordering::SeqCst);
    (at, rows.get(at).copied())
}

fn unexplained(row: &Row, seen: &Seen) -> Option<String> {
    let same = row.claude.is_like(seen);
    match (same, row.why.is_empty()) {
        (false, true) => Some(format!(
            "{}: differs without a reason\n  Claude Code: {}\n  Ostler:      {seen}",
            row.name, row.claude
        )),
        (true, false) => Some(format!("{}: has a reason and does not differ: {seen}", row.name)),
        _ => None,
    }
}

fn document(sections: &[Section], seen: &[Seen]) -> String {
    let mut text = INTRODUCTION.to_owned();
    let mut seen = seen.iter();
    for section in sections {
        text += &format!("\n## {}\n\n", section.title);
        text += "| scenario | the server sends | Claude Code 2.1.197 did | Ostler does | why different |\n|---|---|---|---|---|\n";
        for (row, seen) in section.rows.iter().zip(&mut seen) {
            let (claude, seen) = (row.claude.to_string(), seen.to_string());
            text += &line(&[row.name, row.says, &claude, &seen, row.why]);
        }
    }
    let names: Vec<&str> =
        sections.iter().flat_map(|section| section.rows.iter().map(|row| row.name)).collect();
    text + &better::table(&names)
}

fn line(cells: &[&str]) -> String {
    let cell = |text: &&str| text.replace('|', "\\|").replace('\n', " ");
    format!("| {} |\n", cells.iter().map(cell).collect::<Vec<_>>().join(" | "))
        .replace(" |  |", " | |")
}

fn check(made: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../docs/loop-behaviour.md");
    if std::env::var_os("UPDATE_DOCS").is_some_and(|value| value == "1") {
        std::fs::write(&path, made).unwrap();
        return;
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        made == kept,
        "docs/loop-behaviour.md is out of date; set UPDATE_DOCS=1 to regenerate it.\n{}",
        difference(&kept, made, &path)
    );
}

fn difference(kept: &str, made: &str, path: &Path) -> String {
    let only = |here: &str, there: &str, mark: char| -> Vec<String> {
        here.lines()
            .filter(|line| !there.lines().any(|other| other == *line))
            .map(|line| format!("{mark} {line}"))
            .collect()
    };
    let lines = [only(kept, made, '-'), only(made, kept, '+')].concat();
    format!("{}\n{}", path.display(), lines.join("\n"))
}
