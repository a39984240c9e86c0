//! Recall: the session's whole log, also what no longer stands before the model.

use crate::ToolSetup;
use crate::blocking_task::{TaskStop, blocking};
use crate::hypothetical_calls::Paper;
use crate::typed_tool::{BuiltIn, Shipped, erase};
use ostler_core::ids::CallId;
use ostler_core::message::{Block, Message, ResultPart};
use ostler_core::permission::Access;
use ostler_core::ports::{SessionLog, Tool, ToolContext};
use ostler_core::session::Entry;
use ostler_core::text;
use ostler_core::tool::ToolOutput;
use ostler_core::tool_facts::{Subject, ToolFacts, ToolKind};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use std::collections::HashSet;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

const LIMIT: Duration = Duration::from_secs(20);
/// Places that are shown, and characters of each.
const PLACES: usize = 12;
const EXCERPT: usize = 700;
/// Characters of one result that are shown at a time.
const PAGE: usize = 16_000;
/// Query words that count.
const WORDS: usize = 12;

pub struct Recall {
    pub log: Arc<dyn SessionLog>,
}

#[derive(Deserialize, JsonSchema)]
pub struct RecallInput {
    /// Words to look for; places with more of them come first
    query: Option<String>,
    /// Id of a call, from a note about omitted text, to get its full input and result
    call: Option<String>,
    /// With call: how many characters to skip
    offset: Option<u64>,
}

impl BuiltIn for Recall {
    const NAME: &'static str = "Recall";
    const DESCRIPTION: &'static str = include_str!("../../../../prompts/tools/recall.md");
    const FACTS: ToolFacts = ToolFacts {
        kind: ToolKind::Remembers,
        subject: Subject::Inputs(&["query", "call"]),
        ..ToolFacts::UNDECLARED
    };
    type Input = RecallInput;

    fn access(&self, input: &RecallInput) -> Result<Access, ToolOutput> {
        let given =
            |text: &Option<String>| text.as_ref().is_some_and(|text| !text.trim().is_empty());
        match given(&input.query) || given(&input.call) {
            true => Ok(Access::nothing()),
            false => Err(ToolOutput::misuse("Give `query` or `call`.")),
        }
    }

    fn access_on_paper(_: &Value, _: &Paper<'_>) -> Result<Access, String> {
        Ok(Access::nothing())
    }

    async fn run(&self, input: RecallInput, _: ToolContext) -> ToolOutput {
        let log = Arc::clone(&self.log);
        blocking(LIMIT, move |stop| match &input.call {
            Some(call) if !call.trim().is_empty() => {
                let offset = usize::try_from(input.offset.unwrap_or(0)).unwrap_or(usize::MAX);
                one_call(log.as_ref(), call.trim(), offset, stop)
            }
            _ => search(log.as_ref(), &input.query.unwrap_or_default(), stop),
        })
        .await
    }
}

impl Shipped for Recall {
    fn make(setup: &ToolSetup) -> Option<Arc<dyn Tool>> {
        Some(erase(Recall { log: setup.session.log.clone()? }))
    }
}

/// A piece of the log that can be found.
struct LogPiece {
    seq: u64,
    /// What it is, in words.
    who: String,
    source: PieceSource,
    text: String,
}

enum PieceSource {
    Words,
    Call(CallId),
    Result(CallId),
}

/// Shows all pieces, oldest first, until time is up.
fn pieces(
    log: &dyn SessionLog,
    stop: &TaskStop,
    mut see: impl FnMut(LogPiece),
) -> Option<ToolOutput> {
    let (mut cut, mut ours) = (false, HashSet::new());
    let read = log.visit(&mut |seq, entry| {
        if stop.reached().is_some() {
            cut = true;
            return ControlFlow::Break(());
        }
        pieces_of(seq, entry, &mut ours, &mut see);
        ControlFlow::Continue(())
    });
    match read {
        Err(error) => Some(ToolOutput::error(format!("The session's log cannot be read: {error}"))),
        Ok(()) if cut => Some(ToolOutput::error("Reading the session's log takes too long.")),
        Ok(()) => None,
    }
}

/// What an earlier Recall found is no find: `ours` are its calls.
fn pieces_of(seq: u64, entry: Entry, ours: &mut HashSet<CallId>, see: &mut impl FnMut(LogPiece)) {
    let mut blocks = |message: &Message, who: &str| {
        for block in message.blocks() {
            match block {
                // What the harness wrote is repeated where it counts.
                Block::Text { text, meta: false } => {
                    let (who, source) = (who.to_owned(), PieceSource::Words);
                    see(LogPiece { seq, who, source, text: text.clone() });
                }
                Block::ToolUse { id, name, .. } if name == Recall::NAME => {
                    ours.insert(id.clone());
                }
                Block::ToolUse { id, name, input, .. } => {
                    see(LogPiece {
                        seq,
                        who: format!("call {id} {name}"),
                        source: PieceSource::Call(id.clone()),
                        text: input.to_string(),
                    });
                }
                _ => {}
            }
        }
    };
    match entry {
        Entry::Prompt { message, .. } => blocks(&message, "user"),
        Entry::Answer { message, .. } => blocks(&message, "answer"),
        Entry::CallFinished { result: Block::ToolResult { id, content, is_error }, .. }
            if !ours.contains(&id) =>
        {
            let kind = if is_error { "failed" } else { "result of" };
            let (who, source) = (format!("{kind} call {id}"), PieceSource::Result(id));
            see(LogPiece { seq, who, source, text: joined(&content) });
        }
        _ => {}
    }
}

fn joined(content: &[ResultPart]) -> String {
    let words = |part: &ResultPart| match part {
        ResultPart::Text { text } => text.clone(),
        ResultPart::Image(image) => format!("[{} image]", image.media),
    };
    content.iter().map(words).collect::<Vec<_>>().join("\n")
}

fn search(log: &dyn SessionLog, query: &str, stop: &TaskStop) -> ToolOutput {
    let words: Vec<String> = query.split_whitespace().take(WORDS).map(str::to_lowercase).collect();
    let mut found: Vec<(usize, LogPiece)> = Vec::new();
    let mut count = 0u64;
    let failed = pieces(log, stop, |piece| {
        let low = piece.text.to_lowercase();
        let score = words.iter().filter(|word| low.contains(word.as_str())).count();
        if score == 0 {
            return;
        }
        count += 1;
        found.push((score, LogPiece { text: excerpt(&piece.text, &words), ..piece }));
        // Only the best are kept, the newest first among equals.
        if found.len() > 4 * PLACES {
            best(&mut found);
        }
    });
    if let Some(failed) = failed {
        return failed;
    }
    best(&mut found);
    if found.is_empty() {
        return ToolOutput::text(format!("Nothing in this session contains any of: {query}"));
    }
    let shown = found.len();
    let mut out: Vec<String> = found
        .into_iter()
        .map(|(_, piece)| format!("[{} · {}]\n{}", piece.seq, piece.who, piece.text))
        .collect();
    if count > shown as u64 {
        out.push(format!(
            "[{} more; use rarer words]",
            text::counted(count - shown as u64, "place")
        ));
    }
    ToolOutput::text(out.join("\n\n"))
}

fn best(found: &mut Vec<(usize, LogPiece)>) {
    found.sort_by_key(|(score, piece)| std::cmp::Reverse((*score, piece.seq)));
    found.truncate(PLACES);
}

/// The text around the first word that is found. Lower case may have another length, so characters are counted.
fn excerpt(whole: &str, words: &[String]) -> String {
    let low = whole.to_lowercase();
    let at = words.iter().filter_map(|word| low.find(word.as_str())).min().unwrap_or(0);
    let chars = low.get(..at).map_or(0, |before| before.chars().count());
    let start = chars.saturating_sub(EXCERPT / 3);
    let rest: String = whole.chars().skip(start).take(EXCERPT).collect();
    let before = if start > 0 { "…" } else { "" };
    let after = if whole.chars().nth(start + EXCERPT).is_some() { "…" } else { "" };
    format!("{before}{rest}{after}")
}

fn one_call(log: &dyn SessionLog, call: &str, offset: usize, stop: &TaskStop) -> ToolOutput {
    let (mut input, mut result) = (None, None);
    let failed = pieces(log, stop, |piece| match &piece.source {
        PieceSource::Call(id) if id.as_str() == call => input = Some(piece),
        PieceSource::Result(id) if id.as_str() == call => result = Some(piece),
        _ => {}
    });
    if let Some(failed) = failed {
        return failed;
    }
    let Some(result) = result else {
        return ToolOutput::error(format!(
            "No call {call} with a result is in this session's log."
        ));
    };
    let all = result.text.chars().count();
    let page: String = result.text.chars().skip(offset).take(PAGE).collect();
    let end = offset + page.chars().count();
    let head = match (&input, offset) {
        (Some(input), 0) => format!("[{}] {}\n", input.who, text::head(&input.text, 2_000).0),
        _ => String::new(),
    };
    let more = match end < all {
        true => format!("\n[characters {offset} to {end} of {all}; continue with offset {end}]"),
        false => String::new(),
    };
    ToolOutput::text(format!("{head}[{}]\n{page}{more}", result.who))
}

#[cfg(test)]
#[path = "recall_tests.rs"]
mod tests;
