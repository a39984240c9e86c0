//! A turn on a plain terminal, line by line: streamed text, a line per call, nothing that moves.

use super::paint::Paint;
use super::sink::{Sink, Standard};
use super::visible_text::visible;
use crate::terminal;
use anyhow::Result;
use ostler::{
    Block, Event, KnownTools, Plan, ResultPart, ResultView, Retry, Status, ToolFacts,
    strip_terminal, words,
};
use serde_json::Value;
use unicode_width::UnicodeWidthStr;

/// Lines of a result that are shown; the model sees all of it.
const RESULT_LINES: usize = 4;

pub struct Screen<S = Standard> {
    sink: S,
    paint: Paint,
    /// They say what a line about a call shows.
    tools: KnownTools,
    /// Columns of the current line that have something on them.
    column: usize,
    /// Text of the open answer is on the screen.
    drew: bool,
}

impl Screen {
    pub fn new() -> Self {
        Screen::on(Standard, Paint::for_terminal())
    }
}

impl<S: Sink> Screen<S> {
    pub fn on(sink: S, paint: Paint) -> Self {
        Screen { sink, paint, tools: ostler::known_tools(), column: 0, drew: false }
    }

    pub fn sink(&mut self) -> &mut S {
        &mut self.sink
    }

    pub fn event(&mut self, event: &Event) -> Result<()> {
        match event {
            Event::AnswerStarted { .. } => self.drew = false,
            Event::TextDelta { text } => self.text(text)?,
            Event::AnswerSealed { .. } => self.end_line()?,
            Event::AnswerDropped if self.drew => {
                self.line(
                    &self.paint.dim(
                        "(the answer above broke off and is being requested again; ignore it)",
                    ),
                )?;
            }
            Event::Retrying(retry) => self.line(&self.paint.dim(&retry_line(retry)))?,
            Event::CallStarted { name, input, .. } => self.call(name, input)?,
            Event::CallFinished { name, result, shown, outcome, .. } => {
                self.result(name, (result, shown.as_deref()), outcome.is_denied())?
            }
            Event::Plan(plan) => self.plan(plan)?,
            Event::Compacting { .. } => {
                self.line(&self.paint.dim("summarizing the conversation …"))?
            }
            Event::Compacted { receipt } => {
                self.line(&self.paint.dim(&strip_terminal(&receipt.words())))?
            }
            Event::MemoryChanged(change) => self.note(&visible(&change.to_string()))?,
            Event::Notice { notice, .. } => self.note(&words::notice(notice))?,
            _ => {}
        }
        Ok(())
    }

    /// A line beside the answer.
    pub fn note(&mut self, line: &str) -> Result<()> {
        self.line(&self.paint.dim(&strip_terminal(line)))
    }

    fn text(&mut self, text: &str) -> Result<()> {
        let shown = strip_terminal(text);
        self.sink.print(&shown)?;
        if !shown.is_empty() {
            let line = shown.rsplit('\n').next().unwrap_or_default();
            let before = if line.len() == shown.len() { self.column } else { 0 };
            self.column = before + line.width();
            self.drew = true;
        }
        Ok(())
    }

    pub fn line(&mut self, line: &str) -> Result<()> {
        self.end_line()?;
        Ok(self.sink.print(&format!("{line}\n"))?)
    }

    /// What is echoed or asked without our doing stands on the current line.
    pub fn break_line(&mut self) -> Result<()> {
        self.column = 1;
        self.end_line()
    }

    /// Columns that are left on the current line.
    pub fn room(&self) -> usize {
        let columns = terminal::columns();
        columns - self.column % columns
    }

    pub fn end_line(&mut self) -> Result<()> {
        if std::mem::take(&mut self.column) > 0 {
            self.sink.print("\n")?;
        }
        Ok(())
    }

    /// The plan as a short list: what is done, what is being done, what comes.
    pub fn plan(&mut self, plan: &Plan) -> Result<()> {
        for line in plan_lines(plan) {
            let line = match line {
                PlanLine::Active(line) => self.paint.bold(&line),
                PlanLine::Other(line) => self.paint.dim(&line),
            };
            self.line(&line)?;
        }
        Ok(())
    }

    pub fn call(&mut self, name: &str, input: &Value) -> Result<()> {
        let mark = self.paint.tool("●");
        let subject = summary(&self.tools.facts(name), input);
        self.line(&format!("{mark} {} {subject}", self.paint.bold(&visible(name))))
    }

    /// A result, and what is shown instead of it.
    fn result(
        &mut self,
        name: &str,
        (result, instead): (&Block, Option<&str>),
        denied: bool,
    ) -> Result<()> {
        let Block::ToolResult { is_error, .. } = result else { return Ok(()) };
        let view = if *is_error { ResultView::Lines } else { self.tools.facts(name).result };
        // The plan itself is shown.
        if view == ResultView::Plan {
            return Ok(());
        }
        let name = visible(name);
        let mark = if *is_error { self.paint.bad("✗") } else { self.paint.good("✓") };
        let what = if denied { format!("{name} refused") } else { name };
        let text = shown(result, instead);
        let mut lines: Vec<&str> = text.lines().collect();
        let mut most = RESULT_LINES;
        if view == ResultView::Changes {
            // What was changed, without the lines around it.
            lines.retain(|line| !line.starts_with("  "));
            most += RESULT_LINES;
        }
        self.line(&format!("  {mark} {}", self.paint.dim(&what)))?;
        // Of what failed, how it ended and its last lines tell why.
        let head = if *is_error { 1 } else { most };
        let tail = if *is_error { most } else { 0 };
        let left_out = lines.len().saturating_sub(head + tail);
        for line in lines.iter().take(head) {
            self.result_line(line)?;
        }
        if left_out > 0 {
            let (which, plural) = (if *is_error { "" } else { " more" }, left_out != 1);
            let s = if plural { "s" } else { "" };
            self.result_line(&format!("… {left_out}{which} line{s}"))?;
        }
        for line in lines.iter().skip(head + left_out) {
            self.result_line(line)?;
        }
        Ok(())
    }

    fn result_line(&mut self, line: &str) -> Result<()> {
        let shown: String = line.chars().take(RESULT_WIDTH).collect();
        let rest = if shown.len() < line.len() { "…" } else { "" };
        self.line(&self.paint.dim(&format!("    {shown}{rest}")))
    }
}

/// Characters of a line of a result that are shown.
const RESULT_WIDTH: usize = 160;
/// Lines of a plan that are shown.
const PLAN_LINES: usize = 12;

#[derive(Debug, PartialEq)]
enum PlanLine {
    Active(String),
    Other(String),
}

/// All of a short plan; of a long one what is around the work that is being done.
fn plan_lines(plan: &Plan) -> Vec<PlanLine> {
    let active = plan.tasks.iter().position(|task| task.status != Status::Completed).unwrap_or(0);
    let first = active.saturating_sub(2).min(plan.tasks.len().saturating_sub(PLAN_LINES));
    let mut lines: Vec<PlanLine> = Vec::new();
    if first > 0 {
        lines.push(PlanLine::Other(format!("  … {first} before")));
    }
    for task in plan.tasks.iter().skip(first).take(PLAN_LINES) {
        let form = task.active_form.as_ref().unwrap_or(&task.subject);
        lines.push(match task.status {
            Status::Completed => PlanLine::Other(format!("  ☒ {}", visible(&task.subject))),
            Status::InProgress => PlanLine::Active(format!("  ▶ {}", visible(form))),
            Status::Pending => PlanLine::Other(format!("  ☐ {}", visible(&task.subject))),
        });
    }
    let more = plan.tasks.len().saturating_sub(first + PLAN_LINES);
    if more > 0 {
        lines.push(PlanLine::Other(format!("  … {more} more")));
    }
    lines
}

/// The one thing that tells calls of a tool apart, on one line.
fn summary(facts: &ToolFacts, input: &Value) -> String {
    let text = match input.as_object() {
        Some(fields) if fields.is_empty() => String::new(),
        _ => facts.subject_of(input),
    };
    let line = visible(&text.split_whitespace().collect::<Vec<_>>().join(" "));
    if line.chars().count() > 120 { line.chars().take(119).chain(['…']).collect() } else { line }
}

pub fn retry_line(retry: &Retry) -> String {
    let seconds = retry.wait.as_secs_f64();
    let message = strip_terminal(&retry.message);
    format!("{message}; retrying in {seconds:.1} s ({} of {})", retry.attempt, retry.of)
}

/// A result as a person reads it. `instead`: the event says what that is.
pub fn shown(result: &Block, instead: Option<&str>) -> String {
    let Block::ToolResult { content, .. } = result else { return String::new() };
    if let Some(text) = instead {
        return strip_terminal(text);
    }
    let part = |part: &ResultPart| match part {
        ResultPart::Text { text } => strip_terminal(text),
        ResultPart::Image(image) => format!("[{} image]", image.media),
    };
    content.iter().map(part).collect::<Vec<String>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// A line shows what the tool declares, and of a tool that declares nothing what most often matters.
    #[test]
    fn a_line_about_a_call_shows_its_subject() {
        let stamp =
            ToolFacts { subject: ostler::Subject::Inputs(&["document"]), ..ToolFacts::UNDECLARED };
        let ours = ostler::known_tools();
        let stamped = KnownTools::new([("Stamp".to_owned(), stamp)]);
        for (tools, name, input, expected) in [
            (&stamped, "Stamp", json!({"path": "p", "document": "a\nb"}), "a b"),
            (&ours, "Stamp", json!({"path": "p", "document": "a"}), "p"),
            (&ours, "Bash", json!({"description": "d", "command": "ls -l"}), "ls -l"),
            (&ours, "Edit", json!({"file_path": "f", "old_string": "command"}), "f"),
            (&ours, "Grep", json!({"path": "p", "pattern": "x"}), "x"),
            (&ours, "Skill", json!({"skill": "review", "args": "a"}), "review"),
            (&ours, "TaskUpdate", json!({"taskId": "2", "status": "completed"}), "2"),
            (&ours, "TodoWrite", json!({"todos": [{}, {}]}), "2 tasks"),
            (&ours, "Recall", json!({"call": "toolu_1"}), "toolu_1"),
            (&ours, "Memory", json!({"action": "add", "text": "note"}), "note"),
            (&ours, "Gone", json!({"command": "ls"}), "ls"),
            (&ours, "mcp__a__b", json!({"x": 1}), r#"{"x":1}"#),
        ] {
            assert_eq!(summary(&tools.facts(name), &input), expected, "{name} {input}");
        }
    }

    /// The event says what a person reads; words that look like a mark are words.
    #[test]
    fn a_result_is_shown_as_the_event_says() {
        let text = "<tool_use_error>Read it first.</tool_use_error>";
        let content = vec![ResultPart::text(text)];
        let result = Block::ToolResult { id: "c1".into(), content, is_error: true };
        assert_eq!(shown(&result, Some("Read it\u{1b}[8m first.")), "Read it first.");
        assert_eq!(shown(&result, None), text);
    }

    #[test]
    fn results_are_shown_as_their_tools_declare() {
        let ours = ostler::known_tools();
        for (name, expected) in [
            ("Edit", ResultView::Changes),
            ("Write", ResultView::Lines),
            ("TaskUpdate", ResultView::Plan),
            ("TaskList", ResultView::Lines),
            ("mcp__a__b", ResultView::Lines),
        ] {
            assert_eq!(ours.facts(name).result, expected, "{name}");
        }
    }
}
