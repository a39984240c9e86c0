//! `--output-format text`: on a terminal the turn as it happens, in a pipe the answer.

use super::screen::Screen;
use super::{Output, printer, usage};
use crate::exit::warn;
use anyhow::Result;
use ostler::{
    Block, Continue, Event, Finished, Level, MemoryChange, Options, ResultPart, Terminal, Trigger,
};
use std::io::IsTerminal;

pub struct TextOutput {
    screen: Option<Screen>,
    denials: Denials,
}

/// The rules that deny, each with its place.
#[derive(Default)]
pub struct Denials(Vec<(String, String)>);

impl Denials {
    pub fn of(options: &Options) -> Self {
        let named = options.policy.deny.iter();
        let named = named.map(|rule| (rule.text().to_owned(), rule.source.to_string()));
        let flags = options.deny.iter().map(|rule| (rule.clone(), "--disallowedTools".to_owned()));
        Denials(named.chain(flags).collect())
    }

    /// Where to look after a refusal: a rule that denies is not allowed away.
    fn place(&self, why: &str) -> String {
        let mut places: Vec<&str> = Vec::new();
        for (rule, place) in &self.0 {
            let said = why.contains(&format!("the deny rule {rule} covers it"));
            if said && !places.contains(&place.as_str()) && places.len() < PLACES {
                places.push(place);
            }
        }
        match places.is_empty() {
            true if why.starts_with("the hook ") => "ostler hooks list".into(),
            true if why.contains("the deny rule ") => "ostler permissions list".into(),
            true => "--allowedTools, --permission-mode".into(),
            false => places.join(", "),
        }
    }
}

/// Places named after a refusal.
const PLACES: usize = 3;

impl TextOutput {
    pub fn new(denials: Denials) -> Self {
        TextOutput { screen: std::io::stdout().is_terminal().then(Screen::new), denials }
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
                let why = why_refused(result);
                warn(&format!("{name} refused: {why} (see {})", self.denials.place(&why)));
            }
            Event::Compacted { receipt } if receipt.trigger != Trigger::Manual => {
                warn(&receipt.words())
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
        usage::budgets(finished).for_each(|line| warn(&line));
        Ok(())
    }

    fn remembered(&mut self, change: &MemoryChange) -> Result<()> {
        match &mut self.screen {
            Some(screen) => screen.remembered(change)?,
            None => warn(&change.to_string()),
        }
        Ok(())
    }

    fn local(&mut self, text: &str) -> Result<()> {
        print_answer(text)
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
    let line_break = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
    Ok(printer::print(&format!("{text}{line_break}"))?)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_points_to_what_refused() {
        let pair = |rule: &str, place: &str| (rule.to_owned(), place.to_owned());
        let denials = Denials(vec![
            pair("sudo", "/u/p.yaml:3"),
            pair("Bash(rm:*)", "--disallowedTools"),
            pair("sudo", "/p/p.yaml:1"),
        ]);
        for (why, expected) in [
            ("the deny rule sudo covers it: No root", "/u/p.yaml:3, /p/p.yaml:1"),
            ("rm a: the deny rule Bash(rm:*) covers it", "--disallowedTools"),
            ("the deny rule Bash(x) covers it", "ostler permissions list"),
            ("no rule allows it", "--allowedTools, --permission-mode"),
            ("the hook x: the deny rule y", "ostler hooks list"),
            ("the ask rule sudo covers it", "--allowedTools, --permission-mode"),
        ] {
            assert_eq!(denials.place(why), expected, "{why}");
        }
    }
}
