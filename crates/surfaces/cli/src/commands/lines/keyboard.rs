//! Lines made of keys, drawn while they are typed.

use crate::exit::warn;
use crate::output::write;
use crate::terminal::{Drawing, Effect, Key, Keys, Line, Terminal, columns};
use anyhow::Result;
use std::collections::VecDeque;

/// Prompts that can be fetched back.
const HISTORY: usize = 200;

pub struct Keyboard {
    terminal: Terminal,
    keys: Keys,
    line: Line,
    /// Typed and not looked at yet.
    ahead: VecDeque<u8>,
    history: Vec<String>,
    /// What Tab completes at the beginning of a prompt.
    words: Vec<String>,
    /// Nothing more will come.
    ended: bool,
}

/// Where in the history the line comes from.
struct Recall {
    at: usize,
    /// What was being typed before.
    draft: String,
}

impl Keyboard {
    pub fn new(terminal: Terminal) -> Self {
        Keyboard {
            terminal,
            keys: Keys::default(),
            line: Line::default(),
            ahead: VecDeque::new(),
            history: Vec::new(),
            words: Vec::new(),
            ended: false,
        }
    }

    /// The line that is typed behind this prompt; none at the end of input. Cancelled, it gives the line up.
    pub async fn next(&mut self, prompt: &str, is_prompt: bool) -> Result<Option<String>> {
        if self.ended {
            return Ok(None);
        }
        let _reading = self.terminal.reading();
        self.line = Line::default();
        let mut drawing = Drawing::new(prompt, self.terminal.obeys);
        let mut recall = Recall { at: self.history.len(), draft: String::new() };
        loop {
            while let Some(byte) = self.ahead.pop_front() {
                for key in self.keys.push(byte) {
                    match self.key(&key, is_prompt.then_some(&mut recall), &mut drawing)? {
                        Effect::Nothing | Effect::Changed => {}
                        Effect::Entered => return self.entered(&mut drawing, is_prompt).map(Some),
                        Effect::Ended => return Ok(self.end()),
                    }
                }
            }
            write(&drawing.update(&self.line, columns()))?;
            match self.terminal.read().await {
                Some(bytes) => self.ahead.extend(bytes),
                None => return Ok(self.end()),
            }
        }
    }

    /// Comes back when there are keys to look at. Cancel-safe: what was read stays.
    pub async fn typed(&mut self) {
        if self.ended {
            return std::future::pending().await;
        }
        if self.ahead.is_empty() {
            match self.terminal.read().await {
                Some(bytes) => self.ahead.extend(bytes),
                None => self.ended = true,
            }
        }
    }

    fn end(&mut self) -> Option<String> {
        self.ended = true;
        None
    }

    fn key(
        &mut self,
        key: &Key,
        recall: Option<&mut Recall>,
        drawing: &mut Drawing,
    ) -> Result<Effect> {
        match (key, recall) {
            (Key::Up, Some(recall)) => self.recall(recall, recall.at.saturating_sub(1)),
            (Key::Down, Some(recall)) => self.recall(recall, recall.at + 1),
            (Key::Char('\t'), Some(_)) if self.line.text().starts_with('/') => self.complete(),
            (Key::Suspend, _) => {
                self.leave(drawing)?;
                self.terminal.suspend();
                write(&drawing.again(&self.line, columns()))?;
            }
            (Key::TooLong, _) => {
                self.leave(drawing)?;
                warn("the pasted text is longer than 10 MB. Put it in a file and name the file");
                write(&drawing.again(&self.line, columns()))?;
            }
            (key, _) => return Ok(self.line.key(key)),
        }
        Ok(Effect::Changed)
    }

    /// These can be completed from now on.
    pub fn offer(&mut self, words: Vec<String>) {
        self.words = words;
    }

    fn complete(&mut self) {
        if let Some(completed) = completed(&self.line.text(), &self.words) {
            self.line = Line::of(&completed);
        }
    }

    fn recall(&mut self, recall: &mut Recall, to: usize) {
        let to = to.min(self.history.len());
        if to == recall.at {
            return;
        }
        if recall.at == self.history.len() {
            recall.draft = self.line.text();
        }
        self.line = Line::of(self.history.get(to).unwrap_or(&recall.draft));
        recall.at = to;
    }

    fn entered(&mut self, drawing: &mut Drawing, is_prompt: bool) -> Result<String> {
        write(&drawing.update(&self.line, columns()))?;
        self.leave(drawing)?;
        let text = std::mem::take(&mut self.line).text();
        let is_new = self.history.last() != Some(&text);
        if is_prompt && is_new && !text.trim().is_empty() {
            self.history.push(text.clone());
            let over = self.history.len().saturating_sub(HISTORY);
            self.history.drain(..over);
        }
        Ok(text)
    }

    /// To a line of its own.
    fn leave(&mut self, drawing: &mut Drawing) -> Result<()> {
        write(&format!("{}\n", drawing.leave(columns())))
    }

    /// What was typed and not read yet.
    pub fn take_ahead(&mut self) -> Vec<u8> {
        self.ahead.extend(self.terminal.read_ready());
        self.ahead.drain(..).collect()
    }

    pub fn put_ahead(&mut self, typed: Vec<u8>) {
        typed.into_iter().rev().for_each(|byte| self.ahead.push_front(byte));
    }

    /// The last line was given up, and there was something in it.
    pub fn has_text(&self) -> bool {
        !self.line.is_empty()
    }
}

/// The longest beginning that all words have that begin like this; with a blank if there is one such word.
fn completed(typed: &str, words: &[String]) -> Option<String> {
    let mut fitting = words.iter().filter(|word| word.starts_with(typed));
    let first = fitting.next()?;
    let (mut common, mut is_only) = (first.clone(), true);
    for word in fitting.filter(|word| *word != first) {
        is_only = false;
        let same = common.chars().zip(word.chars()).take_while(|(a, b)| a == b);
        common.truncate(same.map(|(a, _)| a.len_utf8()).sum());
    }
    Some(if is_only { common + " " } else { common }).filter(|common| common.len() > typed.len())
}

#[cfg(test)]
mod completion_tests {
    use super::completed;

    #[test]
    fn a_word_is_completed_as_far_as_it_is_clear() {
        let words = ["/clear", "/compact", "/compare", "/team:deploy", "/\u{fc}ben", "/\u{fc}ber"];
        let words = words.map(str::to_owned);
        for (typed, expected) in [
            ("/cl", Some("/clear ")),
            ("/c", None),
            ("/co", Some("/compa")),
            ("/compa", None),
            ("/comp", Some("/compa")),
            ("/compact", Some("/compact ")),
            ("/team", Some("/team:deploy ")),
            ("/\u{fc}", Some("/\u{fc}be")),
            ("/x", None),
            ("/compact now", None),
        ] {
            assert_eq!(completed(typed, &words).as_deref(), expected, "{typed}");
        }
    }
}
