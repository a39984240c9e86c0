//! `--output-format text`: on a terminal the turn as it happens, in a pipe the answer.

use super::screen::{Screen, retry_line, shown};
use super::sink::Sink;
use super::visible_text::visible;
use super::{Output, agents, usage};
use anyhow::Result;
use ostler::{CallOutcome, Continue, Envelope, Event, Finished, Level, ToolKind, Trigger, words};

/// In a pipe.
pub struct TextOutput<S> {
    pub sink: S,
    /// Say what the prompt cache did for each request.
    pub verbose: bool,
}

impl<S: Sink> Output for TextOutput<S> {
    /// An answer may still be dropped, and a pipe cannot be taken back: only news go out before the end.
    fn event(&mut self, envelope: &Envelope) -> Result<()> {
        if !envelope.agent.is_root() {
            agents::line(envelope).iter().for_each(|line| self.sink.warn(line));
            return Ok(());
        }
        match &envelope.event {
            Event::Notice { level: Level::Warning, notice } => {
                self.sink.warn(&words::notice(notice));
            }
            Event::Retrying(retry) => self.sink.warn(&retry_line(retry)),
            Event::CallFinished {
                name,
                outcome: CallOutcome::Denied { .. },
                decision: Some(decision),
                ..
            } => self.sink.warn(&words::refusal(name, decision)),
            // An agent that has begun says itself how it ended.
            Event::CallFinished {
                name,
                outcome: CallOutcome::Failed | CallOutcome::NotRun { .. },
                result,
                shown: instead,
                detail,
                ..
            } if delegates(name)
                && detail.as_ref().is_none_or(|detail| detail["agent"].is_null()) =>
            {
                let text = shown(result, instead.as_deref());
                let line = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
                self.sink.warn(&format!("{} failed: {}", visible(name), visible(line.trim())));
            }
            Event::Compacted { receipt } if receipt.trigger != Trigger::Manual => {
                self.sink.warn(&receipt.words());
            }
            Event::Went(Continue::ModelFallback) => {
                self.sink.warn("continuing with the fallback model");
            }
            Event::MemoryChanged(change) => self.sink.warn(&change.to_string()),
            Event::AnswerSealed { usage, cache_saved, .. } if self.verbose => {
                self.sink.warn(&words::cache(usage, *cache_saved));
            }
            Event::Finished(finished) => {
                print_answer(&mut self.sink, &finished.text)?;
                tell_end(&mut self.sink, finished);
            }
            _ => {}
        }
        Ok(())
    }

    fn local(&mut self, text: &str) -> Result<()> {
        print_answer(&mut self.sink, text)
    }
}

/// On a terminal.
pub struct ScreenOutput<S> {
    pub screen: Screen<S>,
    pub verbose: bool,
}

impl<S: Sink> Output for ScreenOutput<S> {
    fn event(&mut self, envelope: &Envelope) -> Result<()> {
        if !envelope.agent.is_root() {
            return agents::line(envelope).map_or(Ok(()), |line| self.screen.note(&line));
        }
        match &envelope.event {
            Event::Finished(finished) => {
                self.screen.end_line()?;
                tell_end(self.screen.sink(), finished);
            }
            Event::AnswerSealed { usage, cache_saved, .. } if self.verbose => {
                self.screen.event(&envelope.event)?;
                self.screen.note(&words::cache(usage, *cache_saved))?;
            }
            event => self.screen.event(event)?,
        }
        Ok(())
    }

    fn local(&mut self, text: &str) -> Result<()> {
        print_answer(self.screen.sink(), text)
    }
}

fn delegates(tool: &str) -> bool {
    ostler::known_tools().kind(tool) == ToolKind::Delegates
}

fn tell_end(sink: &mut impl Sink, finished: &Finished) {
    if let Some(line) = words::failure(finished) {
        sink.warn(&line);
    } else if finished.text.trim().is_empty() {
        sink.warn("the model's last answer is empty");
    }
    sink.warn(&usage::line(finished));
    usage::budgets(finished).for_each(|line| sink.warn(&line));
}

fn print_answer(sink: &mut impl Sink, text: &str) -> Result<()> {
    let line_break = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
    Ok(sink.print(&format!("{text}{line_break}"))?)
}
