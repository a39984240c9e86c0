//! Glob: files by their names.

use crate::blocking::{Stop, Stopped, blocking};
use crate::built_in::BuiltIn;
use crate::search::{Pattern, Walk};
use crate::text::counted;
use crate::workspace::{FileError, Files};
use ostler_core::permission::{Access, PathScope};
use ostler_core::ports::ToolContext;
use ostler_core::tool::ToolOutput;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

const LIMIT: Duration = Duration::from_secs(20);
const MAX_ENTRIES: usize = 1_000;

pub struct Glob {
    pub files: Arc<Files>,
}

#[derive(Deserialize, JsonSchema)]
pub struct Input {
    /// For example **/*.rs, src/*.{js,ts} or Cargo.toml; without a slash it matches names at any depth
    pattern: String,
    /// The folder to look in; the workspace folder if not given
    path: Option<String>,
}

impl BuiltIn for Glob {
    const NAME: &'static str = "Glob";
    const DESCRIPTION: &'static str = include_str!("../../../prompts/tools/glob.md");
    type Input = Input;

    fn access(&self, input: &Input) -> Result<Access, ToolOutput> {
        let scope = PathScope::Tree(Place::of(&self.files, input)?.folder);
        Ok(Access { filtered: true, ..Access::reading(scope) })
    }

    async fn run(&self, input: Input, cx: ToolContext) -> ToolOutput {
        let files = Arc::clone(&self.files);
        blocking(LIMIT, move |stop| glob(&files, &input, &cx, stop).unwrap_or_else(|output| output))
            .await
    }
}

/// Where to look and for what.
struct Place {
    folder: PathBuf,
    pattern: Pattern,
}

impl Place {
    fn of(files: &Files, input: &Input) -> Result<Place, ToolOutput> {
        let misuse = |why: String| ToolOutput::misuse(format!("The pattern is not valid: {why}."));
        let (base, rest) = split(&input.pattern);
        if rest.split(['/', '{', '}', ',']).any(|part| part == "..") {
            return Err(misuse(
                "`..` can only stand at its beginning; give the folder in `path`".into(),
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
        let pattern = Pattern::new(rest).map_err(misuse)?;
        Ok(Place { folder, pattern: if base.is_some() { pattern.anchored() } else { pattern } })
    }
}

/// The leading folders of a pattern that are plain names, and what is left to match.
fn split(pattern: &str) -> (Option<&str>, &str) {
    let mut end = None;
    for (at, _) in pattern.match_indices('/') {
        if pattern.get(..at).is_some_and(|base| base.contains(['*', '?', '[', '{', '\\', '!'])) {
            break;
        }
        end = Some(at);
    }
    match end {
        None => (None, pattern),
        Some(0) => (Some("/"), pattern.get(1..).unwrap_or_default()),
        Some(at) => (pattern.get(..at), pattern.get(at + 1..).unwrap_or_default()),
    }
}

fn glob(
    files: &Files,
    input: &Input,
    cx: &ToolContext,
    stop: &Stop,
) -> Result<ToolOutput, ToolOutput> {
    let Place { folder, pattern } = Place::of(files, input)?;
    files.still_judged(&folder, cx)?;
    if !files.look("look into", &folder)?.is_folder() {
        return Err(FileError::NotAFolder(folder).into());
    }
    files.may_walk(&folder)?;
    let mut walk = Walk::new(&folder, stop);
    let matches =
        |path: &PathBuf| path.strip_prefix(&folder).is_ok_and(|below| pattern.matches(below));
    // The walk goes by paths; what it found through a folder that was swapped meanwhile is not there.
    let is_there = |path: &PathBuf| files.is_file(path);
    let mut found: Vec<PathBuf> =
        walk.by_ref().filter(matches).filter(is_there).take(MAX_ENTRIES + 1).collect();
    let more = found.len() > MAX_ENTRIES;
    found.truncate(MAX_ENTRIES);
    let mut lines: Vec<String> = found.iter().map(|path| files.name(path)).collect();
    if found.is_empty() {
        lines.push(format!(
            "No file matches {} in {} (files that git ignores are not listed).",
            input.pattern,
            files.place(&folder)
        ));
    }
    if more {
        lines.push(format!(
            "[The first {MAX_ENTRIES} are shown; there are more. Narrow the pattern or the path.]"
        ));
    }
    if stop.reached() == Some(Stopped::OutOfTime) {
        lines.push(format!(
            "[Stopped after {} s; the list is not complete. Narrow the path.]",
            LIMIT.as_secs()
        ));
    }
    if walk.unreadable > 0 {
        lines.push(format!("[{} could not be read.]", counted(walk.unreadable as u64, "folder")));
    }
    let detail = json!({"files": found.len(), "more": more});
    Ok(ToolOutput { detail: Some(detail), ..ToolOutput::text(lines.join("\n")) })
}

#[cfg(test)]
mod tests {
    use super::*;

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
