//! `--output-format text`: on a terminal the turn as it happens, in a pipe the answer.

use super::screen::Screen;
use super::{Output, usage};
use crate::exit::warn;
use anyhow::Result;
use ostler::{Block, Continue, Event, Finished, Level, ResultPart, Terminal};
use std::io::{IsTerminal, Write};

pub struct TextOutput {
    screen: Option<Screen>,
}

impl TextOutput {
    pub fn new() -> Self {
        TextOutput { screen: std::io::stdout().is_terminal().then(Screen::new) }
    }
}

impl Output for TextOutput {
    fn event(&mut self, event: &Event) -> Result<()> {
        if let Some(screen) = &mut self.screen {
            return screen.event(event);
        }
        // An answer may still be dropped, and a pipe cannot be taken back: only news go out before the end.
        match event {
            Event::Notice { level: Level::Warning | Level::Error, text } => warn(text),
            Event::Retrying(retry) => warn(&super::screen::retry_line(retry)),
            Event::CallFinished { name, denied: true, result, .. } => {
                warn(&format!(
                    "{name} refused: {} (see --allowedTools, --permission-mode)",
                    why_refused(result)
                ));
            }
            Event::Went(Continue::ModelFallback) => warn("going on with the fallback model"),
            _ => {}
        }
        Ok(())
    }

    fn finished(&mut self, finished: &Finished) -> Result<()> {
        match &mut self.screen {
            Some(screen) => screen.end_line()?,
            None => print_answer(&finished.text)?,
        }
        if let Some(line) = failure(finished) {
            warn(&line);
        } else if finished.text.trim().is_empty() {
            warn("the model's last answer is empty");
        }
        warn(&usage::line(finished));
        Ok(())
    }
}

/// The reason in the result that the model got.
fn why_refused(result: &Block) -> String {
    let Block::ToolResult { content, .. } = result else { return String::new() };
    let text = content.iter().find_map(|part| match part {
        ResultPart::Text { text } => Some(text.as_str()),
        ResultPart::Image(_) => None,
    });
    let text = text.unwrap_or_default().trim_start_matches("Permission refused: ");
    text.split(". Nothing was run").next().unwrap_or(text).to_owned()
}

fn print_answer(text: &str) -> Result<()> {
    let mut out = std::io::stdout().lock();
    if !text.is_empty() {
        out.write_all(text.as_bytes())?;
        if !text.ends_with('\n') {
            out.write_all(b"\n")?;
        }
    }
    Ok(out.flush()?)
}

/// One line: what failed and what to do. None when nothing did.
pub fn failure(finished: &Finished) -> Option<String> {
    if finished.terminal == Terminal::Completed {
        return None;
    }
    let what = match &finished.error {
        Some(error) => format!("{}: {}", finished.terminal.words(), error.trim_end_matches('.')),
        None => finished.terminal.words().to_owned(),
    };
    let line = format!("{what}. {}", finished.terminal.next_step());
    Some(line.trim_end().to_owned())
}
