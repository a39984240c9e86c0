//! Read: a file's lines with their numbers, or an image.

mod image;
mod lines;
mod notebook;

use crate::ToolSetup;
use crate::blocking_task::{TaskStop, blocking};
use crate::denied_names::judged_by_first_name;
use crate::text::{counted, hex, size};
use crate::typed_tool::{BuiltIn, Shipped};
use crate::workspace::{FileError, Files, MAX_CHANGE, MAX_ONE};
use base64::Engine;
use lines::{LineRange, NumberedLines};
use ostler_core::message::{Image, ResultPart};
use ostler_core::permission::{Access, PathScope};
use ostler_core::ports::{Tool, ToolContext};
use ostler_core::tool::{OutputPart, Seen, ToolOutput};
use ostler_core::tool_facts::{FileInput, Subject, ToolFacts, ToolKind};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use sha2::{Digest, Sha256};
use std::fs::File;
use std::io::{self, Read as _, Seek, SeekFrom};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

const LIMIT: Duration = Duration::from_secs(20);
const DEFAULT_LINES: u64 = 2_000;
/// Above this, a reader must say which part it wants.
const WHOLE: u64 = 256 << 10;
/// In base64 it is the 5 MB that providers take.
const IMAGE: u64 = 3_932_160;
const IMAGE_SIDE: u32 = 8_000;
/// How much is looked at to tell what a file is.
const SNIFF: usize = 8 << 10;

pub struct Read {
    pub files: Arc<Files>,
}

#[derive(Deserialize, JsonSchema)]
pub struct ReadInput {
    /// The file, absolute or relative to the workspace directory
    file_path: String,
    /// First line to read, counted from 1
    offset: Option<u64>,
    /// How many lines to read; 2000 if not given
    limit: Option<u64>,
    /// Page range of a PDF (not supported yet)
    pages: Option<String>,
}

impl BuiltIn for Read {
    const NAME: &'static str = "Read";
    const DESCRIPTION: &'static str = include_str!("../../../../prompts/tools/read.md");
    const FACTS: ToolFacts = ToolFacts {
        kind: ToolKind::Reads,
        subject: Subject::Inputs(&["file_path"]),
        files: &[FileInput::read("file_path")],
        aliases: &[("path", "file_path")],
        ..ToolFacts::UNDECLARED
    };
    type Input = ReadInput;

    fn access(&self, input: &ReadInput) -> Result<Access, ToolOutput> {
        if input.pages.is_some() {
            return Err(ToolOutput::misuse(
                "Reading pages of a PDF is not supported yet. Convert the file to text with Bash, for example pdftotext.",
            ));
        }
        if input.limit == Some(0) {
            return Err(ToolOutput::misuse("`limit` must be at least 1, or left out."));
        }
        Ok(Access::reading(PathScope::File(self.files.resolve(&input.file_path)?)))
    }

    async fn run(&self, input: ReadInput, cx: ToolContext) -> ToolOutput {
        let files = Arc::clone(&self.files);
        blocking(LIMIT, move |stop| read(&files, &input, &cx, stop).unwrap_or_else(|output| output))
            .await
    }

    fn recorded(&self, seen: &[Seen]) {
        self.files.shown(seen);
    }
}

impl Shipped for Read {
    fn make(setup: &ToolSetup) -> Option<Arc<dyn Tool>> {
        let files = Arc::clone(&setup.files);
        Some(judged_by_first_name(Read { files }, &setup.confinement))
    }
}

fn read(
    files: &Files,
    input: &ReadInput,
    cx: &ToolContext,
    stop: &TaskStop,
) -> Result<ToolOutput, ToolOutput> {
    let path = files.judged(&input.file_path, cx)?;
    let (mut file, meta) = files.open(&path).map_err(|error| with_hint(files, error, &path))?;
    let name = files.name(&path);
    let fail = |source: io::Error| ToolOutput::from(FileError::io("read", &path, source));
    let mut start = Vec::new();
    file.by_ref().take(SNIFF as u64).read_to_end(&mut start).map_err(fail)?;
    file.seek(SeekFrom::Start(0)).map_err(fail)?;
    if let Some(format) = image::format(&start) {
        return show_image(files, &path, file, meta.len(), format);
    }
    if let Some(what) = binary(&start) {
        return Err(ToolOutput::error(format!(
            "{name} is {what} ({}), and cannot be shown as text. Use Bash with a program that knows the format.",
            size(meta.len())
        )));
    }
    let asks_for_cells = input.offset.is_none() && input.limit.is_none();
    if asks_for_cells
        && path.extension().is_some_and(|end| end == "ipynb")
        && meta.len() <= MAX_CHANGE
        && let Some(shown) = show_notebook(files, &path, &mut file).map_err(fail)?
    {
        return Ok(shown);
    }
    if meta.len() > WHOLE && input.limit.is_none() {
        return Err(ToolOutput::error(format!(
            "{name} is too large to read at once: {}. Read a part of it with offset and limit, or find the place with \
             Grep.",
            size(meta.len())
        )));
    }
    let request = LineRange {
        first: input.offset.unwrap_or(1).max(1),
        count: input.limit.unwrap_or(DEFAULT_LINES),
    };
    // Only what could be edited is remembered, and only that is read to its end.
    let hash = (meta.len() <= MAX_CHANGE).then(Sha256::new);
    let mut file = Copied { from: file, bytes: Vec::new() };
    let lines = lines::number(&mut file, &request, hash, stop).map_err(|error| match error.kind() {
        io::ErrorKind::TimedOut => ToolOutput::error(format!(
            "Line {} of {name} was not reached in time ({}). Use Bash, for example with tail or sed.",
            request.first,
            size(meta.len())
        )),
        _ => fail(error),
    })?;
    if let (Some(hash), true) = (&lines.hash, file.bytes.len() <= MAX_ONE) {
        files.remember(&hex(hash), &file.bytes);
    }
    Ok(show_lines(files, &path, &request, lines))
}

/// None: it is no notebook that can be understood, and stays at its beginning.
fn show_notebook(files: &Files, path: &Path, file: &mut File) -> io::Result<Option<ToolOutput>> {
    let mut bytes = Vec::new();
    file.by_ref().take(MAX_CHANGE + 1).read_to_end(&mut bytes)?;
    let text = std::str::from_utf8(&bytes).ok().filter(|_| bytes.len() as u64 <= MAX_CHANGE);
    let Some(cells) = text.and_then(notebook::cells) else {
        file.seek(SeekFrom::Start(0))?;
        return Ok(None);
    };
    let hash = crate::text::sha256(&bytes);
    if bytes.len() <= MAX_ONE {
        files.remember(&hash, &bytes);
    }
    // Outputs are shortened, so a whole new content would lose some of them.
    let lines = bytes.iter().filter(|byte| **byte == b'\n').count() as u64;
    let part = Some(OutputPart { first: 1, last: 0, of: lines.max(1) });
    let seen = Seen { path: path.to_path_buf(), hash: Some(hash), part };
    let detail = json!({"path": path, "notebook": true});
    Ok(Some(ToolOutput { seen: vec![seen], detail: Some(detail), ..ToolOutput::text(cells) }))
}

/// What is read, and the beginning of it: one byte more than is worth keeping.
struct Copied {
    from: File,
    bytes: Vec<u8>,
}

impl io::Read for Copied {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.from.read(buffer)?;
        let room = (MAX_ONE + 1).saturating_sub(self.bytes.len()).min(read);
        self.bytes.extend_from_slice(buffer.get(..room).unwrap_or_default());
        Ok(read)
    }
}

fn with_hint(files: &Files, error: FileError, path: &Path) -> FileError {
    match error {
        FileError::Missing { path: missing, .. } => {
            FileError::Missing { hint: files.hint(path), path: missing }
        }
        FileError::NotAFile { kind: crate::workspace::FileErrorKind::Folder, path } => {
            FileError::Folder(path)
        }
        other => other,
    }
}

fn show_lines(files: &Files, path: &Path, request: &LineRange, lines: NumberedLines) -> ToolOutput {
    let name = files.name(path);
    let part = part(request, &lines);
    let seen = |hash: &Vec<u8>| Seen { path: path.to_path_buf(), hash: Some(hex(hash)), part };
    let seen = lines.hash.as_ref().map(seen);
    let mut notes = Vec::new();
    let mut text = lines.text;
    if lines.bytes == 0 {
        notes.push(format!("{name} exists, but is empty."));
    } else if lines.shown == 0 {
        let total = lines.total.map(|total| format!("has only {}", counted(total, "line")));
        notes.push(format!(
            "{name} {}; there is no line {}.",
            total.unwrap_or_else(|| "ends before".into()),
            request.first
        ));
    }
    if lines.more {
        let last = request.first + lines.shown - 1;
        let of = lines.total.map(|total| format!(" of {total}")).unwrap_or_default();
        notes.push(format!(
            "Lines {}–{last}{of} are shown. Continue with offset {}.",
            request.first,
            last + 1
        ));
    }
    if lines.lossy {
        notes.push("Some bytes are not valid UTF-8 and are shown as \u{fffd}; text with them cannot be edited.".into());
    }
    if lines.crlf {
        notes.push("Lines end with CRLF; Edit keeps that.".into());
    }
    for note in notes {
        let line_break = if text.is_empty() { "" } else { "\n" };
        text.push_str(&format!("{line_break}[{note}]"));
    }
    let detail =
        json!({"path": path, "first": request.first, "lines": lines.shown, "total": lines.total});
    ToolOutput { seen: seen.into_iter().collect(), detail: Some(detail), ..ToolOutput::text(text) }
}

/// Which lines were shown; none if it was all of them.
fn part(request: &LineRange, lines: &NumberedLines) -> Option<OutputPart> {
    let whole = lines.bytes == 0 || (request.first == 1 && !lines.more);
    let last = request.first.saturating_add(lines.shown).saturating_sub(1);
    (!whole).then(|| OutputPart { first: request.first, last, of: lines.total.unwrap_or(u64::MAX) })
}

fn show_image(
    files: &Files,
    path: &Path,
    file: File,
    length: u64,
    format: &'static str,
) -> Result<ToolOutput, ToolOutput> {
    let name = files.name(path);
    let refuse = |why: String| {
        ToolOutput::error(format!(
            "{name} cannot be shown: {why}. Make a smaller copy with Bash and read that."
        ))
    };
    let too_large =
        |length| refuse(format!("the image is {}; the limit is {}", size(length), size(IMAGE)));
    if length > IMAGE {
        return Err(too_large(length));
    }
    let mut bytes = Vec::new();
    file.take(IMAGE + 1)
        .read_to_end(&mut bytes)
        .map_err(|source| FileError::io("read", path, source))?;
    if bytes.len() as u64 > IMAGE {
        return Err(too_large(bytes.len() as u64));
    }
    let pixels = image::pixels(&bytes);
    if let Some((width, height)) = pixels
        && width.max(height) > IMAGE_SIDE
    {
        return Err(refuse(format!(
            "the image is {width} × {height} pixels, a side may have at most {IMAGE_SIDE}"
        )));
    }
    let seen =
        Seen { path: path.to_path_buf(), hash: Some(crate::text::sha256(&bytes)), part: None };
    let data = base64::engine::general_purpose::STANDARD.encode(&bytes);
    let image = Image { media: format.into(), data: data.into(), blob: None };
    let detail = json!({"path": path, "media": format, "bytes": bytes.len()});
    Ok(ToolOutput {
        content: vec![ResultPart::Image(image)],
        seen: vec![seen],
        detail: Some(detail),
        ..ToolOutput::default()
    })
}

/// What a file is that cannot be shown as text.
fn binary(start: &[u8]) -> Option<&'static str> {
    if start.starts_with(b"%PDF-") {
        return Some("a PDF");
    }
    if start.starts_with(&[0xff, 0xfe]) || start.starts_with(&[0xfe, 0xff]) {
        return Some("UTF-16 text");
    }
    if start.contains(&0) {
        return Some("a binary file");
    }
    // A last character may have been cut in two by the end of the look.
    let invalid: usize = start.utf8_chunks().map(|chunk| chunk.invalid().len()).sum();
    (invalid > 3 && invalid * 10 > start.len() * 3).then_some("a binary file")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_text() {
        let mostly_latin1: Vec<u8> = b"caf\xe9 au lait\n".repeat(100);
        for (bytes, expected) in [
            (&b""[..], None),
            (b"plain\n", None),
            ("grüße €".as_bytes(), None),
            (b"caf\xe9\n", None),
            (&mostly_latin1, None),
            (b"\xef\xbb\xbfwith a mark", None),
            (b"a\0b", Some("a binary file")),
            (b"\xff\xfeh\0i\0", Some("UTF-16 text")),
            (b"\x80\x81\x82\x83\x84abc", Some("a binary file")),
            (b"%PDF-1.7 text", Some("a PDF")),
        ] {
            assert_eq!(binary(bytes), expected, "{bytes:?}");
        }
    }
}
