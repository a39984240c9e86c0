//! The lines of a conversation, as steps.

use super::chain::Chain;
use super::line_index::{IndexedLine, LineIndex, LineKind};
use crate::conversation::{Conversation, Program, Step, paired};
use crate::error::TranscriptError;
use crate::foreign_text::{self, first_words};
use crate::iso_time::parse_iso_time;
use crate::json_lines::JsonLines;
use crate::wire_blocks::BlockReader;
use ostler_core::message::{Block, Message};
use ostler_core::time::Timestamp;
use serde_json::Value;
use std::collections::{HashMap, HashSet};
use std::path::Path;

/// What Claude Code writes in the person's name.
const NOT_TYPED: [&str; 9] = [
    "<local-command-stdout>",
    "<local-command-stderr>",
    "<local-command-caveat>",
    "<bash-stdout>",
    "<task-notification>",
    "<system-reminder>",
    "<ide_opened_file>",
    "<ide_selection>",
    "[Request interrupted by user",
];

pub(crate) fn is_typed(text: &str) -> bool {
    let text = text.trim_start();
    !NOT_TYPED.iter().any(|beginning| text.starts_with(beginning))
}

/// The conversation in a transcript, under the name of its file.
pub(crate) fn read(path: &Path, id: &str) -> Result<Conversation, TranscriptError> {
    let file = JsonLines::open(path)?;
    let index = LineIndex::of(&file)?;
    let chain = Chain::new(&index.lines);
    let numbers = chain.newest();
    let mut reader = StepReader::new(&file, &index.lines, &chain);
    let steps = reader.steps(&numbers)?;
    if steps.is_empty() {
        return Err(TranscriptError::Empty(path.to_owned()));
    }
    let first = steps.iter().find_map(|step| match step {
        Step::Prompt { content, .. } => {
            Some(first_words(&Message::User { content: content.clone() }.text()))
        }
        _ => None,
    });
    let left_out = std::mem::take(&mut reader.blocks.left_out).into_counts();
    Ok(Conversation {
        program: Program::ClaudeCode,
        id: id.to_owned(),
        title: index.title.clone().or(first).unwrap_or_default(),
        steps,
        broken_lines: index.broken,
        left_out,
    })
}

struct StepReader<'a> {
    file: &'a JsonLines,
    lines: &'a [IndexedLine],
    chain: &'a Chain<'a>,
    /// The lines of an answer, one block each.
    answers: HashMap<&'a str, Vec<usize>>,
    /// The line with the result of a call.
    results: HashMap<&'a str, usize>,
    blocks: BlockReader,
    /// Lines with results are read twice; what is left out of them counts once.
    counted: HashSet<u64>,
}

/// What was used already: an answer stands on several lines, and results of parallel calls beside the chain.
#[derive(Default)]
struct Used {
    answers: HashSet<String>,
    results: HashSet<usize>,
    /// A boundary whose summary has not come yet.
    boundary: Option<usize>,
}

impl<'a> StepReader<'a> {
    fn new(file: &'a JsonLines, lines: &'a [IndexedLine], chain: &'a Chain<'a>) -> Self {
        let mut answers: HashMap<&str, Vec<usize>> = HashMap::new();
        let mut results = HashMap::new();
        for (at, line) in lines.iter().enumerate().filter(|(_, line)| !line.aside) {
            if let (LineKind::Assistant, Some(answer)) = (line.kind, &line.answer) {
                answers.entry(answer).or_default().push(at);
            }
            results.extend(line.results.iter().map(|id| (id.as_str(), at)));
        }
        let blocks = BlockReader::default();
        StepReader { file, lines, chain, answers, results, blocks, counted: HashSet::new() }
    }

    fn steps(&mut self, numbers: &[usize]) -> Result<Vec<Step>, TranscriptError> {
        // What is on the chain counts, not what another branch says about the same call.
        for at in numbers {
            let Some(line) = self.lines.get(*at) else { continue };
            self.results.extend(line.results.iter().map(|id| (id.as_str(), *at)));
        }
        let mut used = Used::default();
        let mut steps = Vec::new();
        for at in numbers {
            let Some(line) = self.lines.get(*at).filter(|line| !line.aside) else { continue };
            match line.kind {
                LineKind::Assistant => self.answer(*at, line, &mut used, &mut steps)?,
                LineKind::User => self.user(*at, line, &mut used, &mut steps)?,
                LineKind::Boundary => used.boundary = Some(*at),
                LineKind::Other => steps.extend(self.attachment(line)?),
            }
        }
        Ok(steps)
    }

    fn parsed(&self, line: &IndexedLine) -> Result<Value, TranscriptError> {
        let text = self.file.again(line.span)?;
        let broken = |error| TranscriptError::io("read", self.file.path(), error);
        serde_json::from_slice(text.trim_ascii()).map_err(broken)
    }

    fn answer(
        &mut self,
        at: usize,
        line: &'a IndexedLine,
        used: &mut Used,
        steps: &mut Vec<Step>,
    ) -> Result<(), TranscriptError> {
        let parts = match &line.answer {
            Some(id) if !used.answers.insert(id.clone()) => return Ok(()),
            Some(id) => self.answers.get(id.as_str()).cloned().unwrap_or_default(),
            None => vec![at],
        };
        let (mut content, mut model) = (Vec::new(), None);
        for part in parts {
            let Some(line) = self.lines.get(part) else { continue };
            let parsed = self.parsed(line)?;
            let message = parsed.get("message");
            let name = message.and_then(|it| it.get("model")?.as_str()).unwrap_or_default();
            let failed = parsed.get("isApiErrorMessage").and_then(Value::as_bool) == Some(true);
            if failed || name == "<synthetic>" {
                self.blocks.left_out.add("error messages");
                continue;
            }
            model = Some(foreign_text::model(name));
            content.extend(self.blocks.content(message.and_then(|it| it.get("content"))));
        }
        let Some(model) = model.filter(|_| !content.is_empty()) else { return Ok(()) };
        let calls = Message::assistant(&model, content.clone()).calls().count();
        steps.push(Step::Answer { content, model });
        if calls > 0 {
            self.results_of(line, used, steps)?;
        }
        Ok(())
    }

    /// Results of parallel calls are linked to their own calls, so most of them are not on the chain.
    fn results_of(
        &mut self,
        line: &'a IndexedLine,
        used: &mut Used,
        steps: &mut Vec<Step>,
    ) -> Result<(), TranscriptError> {
        let parts = line.answer.as_ref().and_then(|id| self.answers.get(id.as_str()));
        let mut calls = Vec::new();
        for part in parts.into_iter().flatten() {
            let Some(line) = self.lines.get(*part) else { continue };
            calls.extend(call_ids(&self.parsed(line)?));
        }
        let mut lines: Vec<usize> =
            calls.iter().filter_map(|id| self.results.get(id.as_str()).copied()).collect();
        lines.sort_unstable();
        lines.dedup();
        for at in lines {
            let Some(line) = self.lines.get(at) else { continue };
            if used.results.insert(at) {
                let (_, results, _) = self.user_parts(line)?;
                steps.push(Step::Results(results));
            }
        }
        Ok(())
    }

    fn user(
        &mut self,
        at: usize,
        line: &'a IndexedLine,
        used: &mut Used,
        steps: &mut Vec<Step>,
    ) -> Result<(), TranscriptError> {
        let (at_time, results, said) = self.user_parts(line)?;
        if line.is_summary {
            return self.summary(&said, at_time, used, steps);
        }
        if !results.is_empty() && used.results.insert(at) {
            steps.push(Step::Results(results));
        }
        let typed = |block: &Block| match block {
            Block::Text { meta, .. } => !meta,
            Block::Image(_) => true,
            _ => false,
        };
        match (said.is_empty(), said.iter().any(typed)) {
            (true, _) => {}
            (false, true) => steps.push(Step::Prompt { content: said, at: at_time }),
            (false, false) => steps.push(Step::Note { content: said }),
        }
        Ok(())
    }

    /// When it was said, the results in it, and everything else.
    fn user_parts(
        &mut self,
        line: &IndexedLine,
    ) -> Result<(Timestamp, Vec<Block>, Vec<Block>), TranscriptError> {
        let parsed = self.parsed(line)?;
        let at = parsed.get("timestamp").and_then(Value::as_str).and_then(parse_iso_time);
        let content = parsed.get("message").and_then(|message| message.get("content"));
        let counts = std::mem::take(&mut self.blocks.left_out);
        let blocks = self.blocks.content(content);
        let left_out = std::mem::replace(&mut self.blocks.left_out, counts);
        if self.counted.insert(line.span.at) {
            self.blocks.left_out.add_all(left_out);
        }
        let (results, said): (Vec<Block>, Vec<Block>) =
            blocks.into_iter().partition(|block| matches!(block, Block::ToolResult { .. }));
        let mark = |block| match block {
            Block::Text { text, .. } if line.meta || !is_typed(&text) => foreign_text::note(&text),
            other => other,
        };
        let is_said = |block: &Block| matches!(block, Block::Text { .. } | Block::Image(_));
        let said = said.into_iter().filter(|block| is_said(block) && !block.is_empty());
        Ok((at.unwrap_or_default(), results, said.map(mark).collect()))
    }

    fn summary(
        &mut self,
        said: &[Block],
        at: Timestamp,
        used: &mut Used,
        steps: &mut Vec<Step>,
    ) -> Result<(), TranscriptError> {
        let text = Message::User { content: said.to_vec() }.text();
        let boundary = used.boundary.take().and_then(|at| self.lines.get(at));
        let (mut kept, mut manual) = (Vec::new(), false);
        if let Some(line) = boundary {
            let trigger = self.parsed(line)?;
            let trigger = trigger.get("compactMetadata").and_then(|it| it.get("trigger"));
            manual = trigger.and_then(Value::as_str) == Some("manual");
            let mut numbers: Vec<usize> =
                line.kept.iter().filter_map(|uuid| self.chain.line(uuid)).collect();
            // A boundary keeps what came before it; anything else would never end.
            numbers.retain(|number| {
                let line = self.lines.get(*number);
                line.is_some_and(|line| line.kind != LineKind::Boundary && !line.is_summary)
            });
            let steps = self.steps(&numbers)?;
            kept = paired(steps.into_iter().filter_map(as_message).collect());
        }
        steps.push(Step::Summary { text, kept, at, manual });
        Ok(())
    }

    /// Of what was attached, only what the person said while the agent was working.
    fn attachment(&mut self, line: &IndexedLine) -> Result<Option<Step>, TranscriptError> {
        let parsed = self.parsed(line)?;
        let Some(attachment) = parsed.get("attachment") else { return Ok(None) };
        let text = |key: &str| attachment.get(key).and_then(Value::as_str);
        match (text("type"), text("prompt")) {
            (Some("queued_command"), Some(prompt)) if is_typed(prompt) => {
                Ok(Some(Step::Note { content: vec![Block::text(prompt)] }))
            }
            _ => {
                self.blocks.left_out.add("attachments");
                Ok(None)
            }
        }
    }
}

fn call_ids(line: &Value) -> Vec<String> {
    let content = line.get("message").and_then(|message| message.get("content")?.as_array());
    let call = |block: &Value| {
        let is_call = block.get("type").and_then(Value::as_str) == Some("tool_use");
        block.get("id")?.as_str().filter(|_| is_call).map(str::to_owned)
    };
    content.into_iter().flatten().filter_map(call).collect()
}

fn as_message(step: Step) -> Option<Message> {
    match step {
        Step::Prompt { content, .. } | Step::Note { content } | Step::Results(content) => {
            Some(Message::User { content })
        }
        Step::Answer { content, model } => Some(Message::Assistant { content, model }),
        Step::Summary { .. } => None,
    }
}
