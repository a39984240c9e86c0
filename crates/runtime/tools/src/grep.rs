//! Grep: files by their content, in process, in the order of their paths.

mod hits;
mod page;

use crate::blocking_task::{TaskStop, TaskStopped, blocking};
use crate::denied_names::judged_by_first_name;
use crate::search::{FileWalk, NamePattern};
use crate::text::counted;
use crate::typed_tool::{BuiltIn, Shipped};
use crate::workspace::{FileError, Files};
use crate::{Readable, ToolSetup};
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use hits::{FileHits, GrepSearch};
use ignore::types::{Types, TypesBuilder};
use ostler_core::permission::{Access, PathScope};
use ostler_core::ports::{Tool, ToolContext};
use ostler_core::tool::ToolOutput;
use ostler_core::tool_facts::{FileInput, Subject, ToolFacts, ToolKind};
use page::Page;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

const LIMIT: Duration = Duration::from_secs(30);
/// Lines of output unless the call says otherwise.
const DEFAULT_LINES: u64 = 250;
/// Lines of context around a match, at most.
const MAX_CONTEXT: u64 = 100;
/// Files searched before the next look at how much was found.
const BATCH: usize = 64;
const MAX_THREADS: usize = 4;

pub struct Grep {
    pub files: Arc<Files>,
    pub readable: Readable,
}

#[derive(Deserialize, JsonSchema)]
pub struct GrepInput {
    /// A regular expression (Rust syntax: no look-around, no back-references)
    pattern: String,
    /// The file or directory to search; the workspace directory if not given
    path: Option<String>,
    /// Only files whose name matches, for example *.{ts,tsx} or !*.md
    glob: Option<String>,
    /// Only files of this type, for example rust, py, js
    #[serde(rename = "type")]
    kind: Option<String>,
    /// Names of files with a match (the default), the matching lines, or their number per file
    output_mode: Option<GrepMode>,
    /// Lines of context after each match, in content mode
    #[serde(rename = "-A")]
    after: Option<u64>,
    /// Lines of context before each match, in content mode
    #[serde(rename = "-B")]
    before: Option<u64>,
    /// Both -A and -B
    #[serde(rename = "-C")]
    both: Option<u64>,
    /// The same as -C
    context: Option<u64>,
    /// Show line numbers in content mode; true if not given
    #[serde(rename = "-n")]
    numbers: Option<bool>,
    /// Ignore case
    #[serde(rename = "-i")]
    ignore_case: Option<bool>,
    /// A match may span lines, and . matches newlines
    multiline: Option<bool>,
    /// Maximum number of output lines; 250 if not given, 0 for no limit
    head_limit: Option<u64>,
    /// Lines of output to skip
    offset: Option<u64>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum GrepMode {
    #[default]
    FilesWithMatches,
    Content,
    Count,
}

impl BuiltIn for Grep {
    const NAME: &'static str = "Grep";
    const DESCRIPTION: &'static str = include_str!("../../../../prompts/tools/grep.md");
    const FACTS: ToolFacts = ToolFacts {
        kind: ToolKind::Reads,
        subject: Subject::Inputs(&["pattern"]),
        files: &[FileInput::read_tree("path")],
        sample: &[("pattern", "")],
        ..ToolFacts::UNDECLARED
    };
    type Input = GrepInput;

    fn access(&self, input: &GrepInput) -> Result<Access, ToolOutput> {
        Query::new(input)?;
        let path = self.files.resolve(input.path.as_deref().unwrap_or("."))?;
        let is_file = self.files.is_file(&path);
        let scope = if is_file { PathScope::File(path) } else { PathScope::Tree(path) };
        // A file that is named is shown whole or not at all; only a tree is gone through.
        Ok(Access { filtered: !is_file, ..Access::reading(scope) })
    }

    async fn run(&self, input: GrepInput, cx: ToolContext) -> ToolOutput {
        let (files, readable) = (Arc::clone(&self.files), Arc::clone(&self.readable));
        blocking(LIMIT, move |stop| {
            grep(&files, &readable, &input, &cx, stop).unwrap_or_else(|output| output)
        })
        .await
    }
}

impl Shipped for Grep {
    fn make(setup: &ToolSetup) -> Option<Arc<dyn Tool>> {
        let (files, readable) = (Arc::clone(&setup.files), setup.readable());
        Some(judged_by_first_name(Grep { files, readable }, &setup.confinement))
    }
}

/// The input, understood.
struct Query {
    search: GrepSearch,
    name: Option<NamePattern>,
    types: Option<Types>,
}

impl Query {
    fn new(input: &GrepInput) -> Result<Query, ToolOutput> {
        let multiline = input.multiline.unwrap_or(false);
        let both = input.context.or(input.both);
        let lines = |own: Option<u64>| own.or(both).unwrap_or(0).min(MAX_CONTEXT) as usize;
        let mode = input.output_mode.unwrap_or_default();
        let content = mode == GrepMode::Content;
        let search = GrepSearch {
            matcher: matcher(&input.pattern, input.ignore_case.unwrap_or(false), multiline)?,
            mode,
            multiline,
            before: if content { lines(input.before) } else { 0 },
            after: if content { lines(input.after) } else { 0 },
        };
        let wrong = |what, why| ToolOutput::misuse(format!("`{what}` is not valid: {why}."));
        let name = input
            .glob
            .as_deref()
            .map(NamePattern::new)
            .transpose()
            .map_err(|why| wrong("glob", why))?;
        let types =
            input.kind.as_deref().map(types).transpose().map_err(|why| wrong("type", why))?;
        Ok(Query { search, name, types })
    }

    fn wants(&self, root: &Path, path: &Path) -> bool {
        let named =
            |pattern: &NamePattern| pattern.matches(path.strip_prefix(root).unwrap_or(path));
        self.name.as_ref().is_none_or(named)
            && self.types.as_ref().is_none_or(|types| !types.matched(path, false).is_ignore())
    }
}

fn matcher(pattern: &str, ignore_case: bool, multiline: bool) -> Result<RegexMatcher, ToolOutput> {
    let mut builder = RegexMatcherBuilder::new();
    builder.case_insensitive(ignore_case).multi_line(true);
    if multiline {
        builder.dot_matches_new_line(true);
    } else {
        builder.crlf(true);
    }
    builder.build(pattern).map_err(|error| {
        let hint = match !multiline && pattern.contains("\\n") {
            true => " To match across lines, set multiline.",
            false => " To search for special characters as they are, escape them with a backslash.",
        };
        ToolOutput::misuse(format!("The pattern is not a valid regular expression: {error}.{hint}"))
    })
}

fn types(name: &str) -> Result<Types, String> {
    let mut builder = TypesBuilder::new();
    builder.add_defaults().select(name);
    builder.build().map_err(|error| {
        format!("{error}; common types are c, cpp, go, java, js, json, md, py, rust, ts")
    })
}

fn grep(
    files: &Files,
    readable: &Readable,
    input: &GrepInput,
    cx: &ToolContext,
    stop: &TaskStop,
) -> Result<ToolOutput, ToolOutput> {
    let query = Query::new(input)?;
    let root = files.judged(input.path.as_deref().unwrap_or("."), cx)?;
    let limit = match input.head_limit {
        None => Some(DEFAULT_LINES),
        Some(0) => None,
        some => some,
    };
    let mut page = Page::new(input.offset.unwrap_or(0), limit);
    let mut totals = Totals::default();
    if files.look("search", &root)?.is_folder() {
        files.may_walk(&root)?;
        let mut walk = FileWalk::new(&root, stop);
        while !page.is_full() {
            let wanted = walk.by_ref().filter(|path| query.wants(&root, path));
            let may_read = |path: &PathBuf| {
                let may = readable(path);
                totals.left_out += u64::from(!may);
                may
            };
            let batch: Vec<PathBuf> = wanted.filter(may_read).take(BATCH).collect();
            if batch.is_empty() {
                break;
            }
            for (path, found) in search(files, &query.search, batch, page.wanted(), stop) {
                totals.add(&found, page.add(files, input, &path, &found));
            }
        }
        totals.unreadable += walk.unreadable;
    } else {
        // Whether a file that is named may be read was decided before, unless it was not there then.
        let named = PathScope::File(root.clone());
        if cx.judged.known && !cx.judged.reads.contains(&named) && !readable(&root) {
            return Err(FileError::Moved(root).into());
        }
        let found = query.search.file(files, &root, page.wanted(), stop);
        // A tree may hold anything, but a file that was named must be told about.
        if let FileHits::Failed(Some(error)) = found {
            return Err(error.into());
        }
        totals.add(&found, page.add(files, input, &root, &found));
    }
    Ok(report(files, input, &root, page, &totals, stop))
}

/// Searches the files side by side; the results are in the order of the files.
fn search(
    files: &Files,
    search: &GrepSearch,
    batch: Vec<PathBuf>,
    wanted: usize,
    stop: &TaskStop,
) -> Vec<(PathBuf, FileHits)> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(MAX_THREADS);
    let share = batch.len().div_ceil(threads).max(1);
    let one = |path: &PathBuf| search.file(files, path, wanted, stop);
    let found: Vec<FileHits> = std::thread::scope(|scope| {
        let workers: Vec<_> = batch
            .chunks(share)
            .map(|part| (part.len(), scope.spawn(move || part.iter().map(one).collect::<Vec<_>>())))
            .collect();
        let failed =
            |count| std::iter::repeat_with(|| FileHits::Failed(None)).take(count).collect();
        workers
            .into_iter()
            .flat_map(|(count, worker)| worker.join().unwrap_or_else(|_| failed(count)))
            .collect()
    });
    batch.into_iter().zip(found).collect()
}

#[derive(Default)]
struct Totals {
    files: u64,
    matches: u64,
    unreadable: usize,
    /// Files that may not be read unasked.
    left_out: u64,
    cut: bool,
}

impl Totals {
    fn add(&mut self, found: &FileHits, cut: bool) {
        match found {
            FileHits::Hits(hits) if hits.count > 0 => {
                self.files += 1;
                self.matches += hits.count;
            }
            FileHits::Hits(_) => {}
            FileHits::Failed(_) => self.unreadable += 1,
        }
        self.cut |= cut;
    }
}

fn report(
    files: &Files,
    input: &GrepInput,
    root: &Path,
    page: Page,
    totals: &Totals,
    stop: &TaskStop,
) -> ToolOutput {
    let mut lines = Vec::new();
    let skipped = input.offset.unwrap_or(0);
    if page.shown() == 0 && page.seen() > 0 {
        lines.push(format!(
            "[There are only {} of output; offset {skipped} is beyond the end.]",
            counted(page.seen(), "line")
        ));
    } else if page.shown() == 0 {
        lines.push(format!("No matches for {} in {}.", input.pattern, files.place(root)));
    }
    if page.is_full() {
        let next = skipped + page.shown();
        lines.push(format!("[There is more. Continue with offset {next}, or narrow the search.]"));
    } else if input.output_mode == Some(GrepMode::Count) && totals.files > 1 {
        let files = counted(totals.files, "file");
        lines.push(format!("[{} in {files}]", counted(totals.matches, "matching line")));
    }
    if stop.reached() == Some(TaskStopped::OutOfTime) {
        lines.push(format!(
            "[Stopped after {} s; not everything was searched. Narrow the path.]",
            LIMIT.as_secs()
        ));
    } else if totals.unreadable > 0 {
        lines.push(format!(
            "[{} could not be searched.]",
            counted(totals.unreadable as u64, "file or directory")
        ));
    }
    if totals.left_out > 0 {
        lines.push(format!(
            "[{} left out: reading them needs the user's approval.]",
            counted(totals.left_out, "file")
        ));
    }
    if totals.cut {
        lines.push("[One file has more matches than can be shown for a file; search it alone, or narrow the pattern.]".into());
    }
    let detail = json!({"files": totals.files, "matches": totals.matches, "more": page.is_full()});
    let text: Vec<String> = page.into_lines().into_iter().chain(lines).collect();
    ToolOutput { detail: Some(detail), ..ToolOutput::text(text.join("\n")) }
}
