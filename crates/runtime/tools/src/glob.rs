//! Glob: files by their names.

use crate::ToolSetup;
use crate::blocking_task::{TaskStop, TaskStopped, blocking};
use crate::hypothetical_calls::Paper;
use crate::search::{FileWalk, NamePattern};
use crate::text::counted;
use crate::typed_tool::{BuiltIn, Shipped, erase};
use crate::workspace::{FileError, Files};
use ostler_core::permission::{Access, PathScope, TouchKind};
use ostler_core::ports::{Tool, ToolContext};
use ostler_core::tool::ToolOutput;
use ostler_core::tool_facts::{FileInput, Subject, ToolFacts, ToolKind};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

const LIMIT: Duration = Duration::from_secs(20);
const MAX_ENTRIES: usize = 1_000;
/// Alternatives of a pattern that are looked at one by one.
const MAX_SPELLED: usize = 16;
/// A part with one of these is no plain name.
const SPECIAL: [char; 6] = ['*', '?', '[', '{', '\\', '!'];

pub struct Glob {
    pub files: Arc<Files>,
}

#[derive(Deserialize, JsonSchema)]
pub struct GlobInput {
    /// For example **/*.rs, src/*.{js,ts} or Cargo.toml; without a slash it matches names at any depth
    pattern: String,
    /// The directory to look in; the workspace directory if not given
    path: Option<String>,
}

impl BuiltIn for Glob {
    const NAME: &'static str = "Glob";
    const DESCRIPTION: &'static str = include_str!("../../../../prompts/tools/glob.md");
    const FACTS: ToolFacts = ToolFacts {
        kind: ToolKind::Reads,
        subject: Subject::Inputs(&["pattern"]),
        files: &[FileInput::pattern("pattern"), FileInput::read_tree("path")],
        ..ToolFacts::UNDECLARED
    };
    type Input = GlobInput;

    fn access(&self, input: &GlobInput) -> Result<Access, ToolOutput> {
        let places = GlobPlace::of(&self.files, input)?;
        let reads = places.into_iter().map(|place| PathScope::Tree(place.folder)).collect();
        Ok(Access { reads, filtered: true, ..Access::nothing() })
    }

    fn access_on_paper(input: &Value, paper: &Paper<'_>) -> Result<Access, String> {
        let text = |name: &str| input.get(name).and_then(Value::as_str);
        let folder = folder_of(text("path").unwrap_or("."), text("pattern").unwrap_or_default())?;
        let tree = paper.scope(&folder, TouchKind::Tree)?;
        Ok(Access { filtered: true, ..Access::reading(tree) })
    }

    async fn run(&self, input: GlobInput, cx: ToolContext) -> ToolOutput {
        let files = Arc::clone(&self.files);
        blocking(LIMIT, move |stop| glob(&files, &input, &cx, stop).unwrap_or_else(|output| output))
            .await
    }
}

impl Shipped for Glob {
    fn make(setup: &ToolSetup) -> Option<Arc<dyn Tool>> {
        Some(erase(Glob { files: Arc::clone(&setup.files) }))
    }
}

/// The directory below which everything lies that a pattern can match, as far as its text says.
fn folder_of(folder: &str, pattern: &str) -> Result<String, String> {
    if pattern.starts_with('~') || ["{/", ",/", "{~", ",~"].iter().any(|at| pattern.contains(at)) {
        return Err("it is unclear where an alternative of the pattern leads".into());
    }
    let mut parts = pattern.split('/').peekable();
    let mut fixed = if pattern.starts_with('/') { "/".to_owned() } else { format!("{folder}/") };
    while let Some(part) = parts.next_if(|part| !part.contains(SPECIAL)) {
        // What comes last is a name, not a directory to look in.
        if parts.peek().is_some() {
            fixed.push_str(part);
            fixed.push('/');
        }
        if part == ".." && parts.peek().is_none() {
            fixed.push_str("..");
        }
    }
    if parts.any(|part| part.contains("..")) {
        return Err("the pattern leads to a parent directory".into());
    }
    Ok(fixed)
}

/// Where to look and for what.
struct GlobPlace {
    folder: PathBuf,
    pattern: NamePattern,
}

impl GlobPlace {
    /// One, unless the pattern has alternatives that lead upwards.
    fn of(files: &Files, input: &GlobInput) -> Result<Vec<GlobPlace>, ToolOutput> {
        if !climbs(split(&input.pattern).1) {
            return Ok(vec![GlobPlace::one(files, &input.pattern, input)?]);
        }
        let spelled = spelled(&input.pattern).ok_or_else(|| {
            misuse(format!("with `..`, it can have at most {MAX_SPELLED} alternatives"))
        })?;
        spelled.iter().map(|pattern| GlobPlace::one(files, pattern, input)).collect()
    }

    fn one(files: &Files, pattern: &str, input: &GlobInput) -> Result<GlobPlace, ToolOutput> {
        let (base, rest) = split(pattern);
        if climbs(rest) {
            return Err(misuse(
                "`..` is only possible at its beginning; give the directory in `path`".into(),
            ));
        }
        if rest.is_empty() {
            return Err(misuse("it is empty".into()));
        }
        let folder = match (&input.path, base) {
            (None, None) => files.resolve(".")?,
            (Some(path), None) => files.resolve(path)?,
            (Some(path), Some(base)) if !base.starts_with('/') => {
                files.resolve(&format!("{path}/{base}"))?
            }
            (_, Some(base)) => files.resolve(base)?,
        };
        let pattern = NamePattern::new(rest).map_err(misuse)?;
        Ok(GlobPlace { folder, pattern: if base.is_some() { pattern.anchored() } else { pattern } })
    }
}

fn misuse(why: String) -> ToolOutput {
    ToolOutput::misuse(format!("The pattern is not valid: {why}."))
}

fn climbs(pattern: &str) -> bool {
    pattern.split(['/', '{', '}', ',']).any(|part| part == "..")
}

/// The pattern with each of its alternatives; none if they are too many.
fn spelled(pattern: &str) -> Option<Vec<String>> {
    let (mut todo, mut done) = (vec![pattern.to_owned()], Vec::new());
    while let Some(pattern) = todo.pop() {
        // An innermost group: no other begins before it ends.
        let group = pattern.find('}').and_then(|end| Some((pattern.get(..end)?.rfind('{')?, end)));
        match group {
            None => done.push(pattern),
            Some((start, end)) => {
                let part = |range: std::ops::Range<usize>| pattern.get(range).unwrap_or_default();
                let (before, after) = (part(0..start), part(end + 1..pattern.len()));
                let each = part(start + 1..end).split(',');
                todo.extend(each.map(|one| format!("{before}{one}{after}")));
            }
        }
        if todo.len() + done.len() > MAX_SPELLED {
            return None;
        }
    }
    done.sort();
    done.dedup();
    Some(done)
}

/// The leading directories of a pattern that are plain names, and what is left to match.
fn split(pattern: &str) -> (Option<&str>, &str) {
    let plain = pattern.find(SPECIAL).unwrap_or(pattern.len());
    let end = pattern.get(..plain).and_then(|plain| plain.rfind('/'));
    match end {
        None => (None, pattern),
        Some(0) => (Some("/"), pattern.get(1..).unwrap_or_default()),
        Some(at) => (pattern.get(..at), pattern.get(at + 1..).unwrap_or_default()),
    }
}

fn glob(
    files: &Files,
    input: &GlobInput,
    cx: &ToolContext,
    stop: &TaskStop,
) -> Result<ToolOutput, ToolOutput> {
    let places = GlobPlace::of(files, input)?;
    let mut found = Vec::new();
    let mut unreadable = 0;
    for GlobPlace { folder, pattern } in &places {
        files.still_judged(folder, cx)?;
        if !files.look("look into", folder)?.is_folder() {
            return Err(FileError::NotAFolder(folder.clone()).into());
        }
        files.may_walk(folder)?;
        let mut walk = FileWalk::new(folder, stop);
        let matches =
            |path: &PathBuf| path.strip_prefix(folder).is_ok_and(|below| pattern.matches(below));
        // The walk goes by paths; what it found through a directory that was swapped meanwhile is not there.
        let is_there = |path: &PathBuf| files.is_file(path);
        found.extend(walk.by_ref().filter(matches).filter(is_there).take(MAX_ENTRIES + 1));
        unreadable += walk.unreadable;
    }
    if places.len() > 1 {
        found.sort();
        found.dedup();
    }
    Ok(report(files, input, &places, found, unreadable, stop))
}

fn report(
    files: &Files,
    input: &GlobInput,
    places: &[GlobPlace],
    mut found: Vec<PathBuf>,
    unreadable: usize,
    stop: &TaskStop,
) -> ToolOutput {
    let more = found.len() > MAX_ENTRIES;
    found.truncate(MAX_ENTRIES);
    let mut lines: Vec<String> = found.iter().map(|path| files.name(path)).collect();
    if found.is_empty() {
        lines.push(format!(
            "No file matches {} in {} (files that git ignores are not listed).",
            input.pattern,
            places.first().map_or_else(String::new, |place| files.place(&place.folder))
        ));
    }
    if more {
        lines.push(format!(
            "[The first {MAX_ENTRIES} are shown; there are more. Narrow the pattern or the path.]"
        ));
    }
    if stop.reached() == Some(TaskStopped::OutOfTime) {
        lines.push(format!(
            "[Stopped after {} s; the list is not complete. Narrow the path.]",
            LIMIT.as_secs()
        ));
    }
    if unreadable > 0 {
        lines.push(format!("[{} could not be read.]", counted(unreadable as u64, "folder")));
    }
    let detail = json!({"files": found.len(), "more": more});
    ToolOutput { detail: Some(detail), ..ToolOutput::text(lines.join("\n")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn alternatives_are_spelled_out() {
        let sorted = |pattern: &str| Some(spelled(pattern)?.join(" "));
        for (pattern, expected) in [
            ("a", Some("a")),
            ("{.,..}/*", Some("../* ./*")),
            ("{a,{b,..}}/x", Some("../x a/x b/x")),
            ("{a,b}{c,d}", Some("ac ad bc bd")),
            ("{a,}b", Some("ab b")),
            ("a}b{", Some("a}b{")),
            (
                &"{a,b}".repeat(4),
                Some(
                    "aaaa aaab aaba aabb abaa abab abba abbb baaa baab baba babb bbaa bbab bbba bbbb",
                ),
            ),
            (&"{a,b}".repeat(5), None),
            (&"{a,b}".repeat(200), None),
        ] {
            assert_eq!(sorted(pattern).as_deref(), expected, "{pattern}");
        }
    }

    #[test]
    fn patterns_are_split_at_the_last_plain_folder() {
        for (pattern, expected) in [
            ("*.rs", (None, "*.rs")),
            ("src/*.rs", (Some("src"), "*.rs")),
            ("src/a/main.rs", (Some("src/a"), "main.rs")),
            ("src/**/a/*.rs", (Some("src"), "**/a/*.rs")),
            ("../**", (Some(".."), "**")),
            ("/etc/*", (Some("/etc"), "*")),
            ("/*", (Some("/"), "*")),
            ("{.,..}/*", (None, "{.,..}/*")),
            ("**/*", (None, "**/*")),
            ("src/", (Some("src"), "")),
        ] {
            assert_eq!(split(pattern), expected, "{pattern}");
        }
    }
}
