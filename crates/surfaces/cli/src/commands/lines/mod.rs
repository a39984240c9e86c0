//! Lines the person types, or that come through a pipe. Each is read when somebody waits for it, not before: what is
//! typed ahead stays where it can still be discarded, or kept for later.

mod keyboard;
mod pipe;

use crate::output::paint;
use crate::output::write;
use crate::terminal::Terminal;
use anyhow::Result;
use keyboard::Keyboard;
use ostler_policy::edit_distance::edit_distance;
use pipe::Pipe;
use std::collections::VecDeque;
use std::io::IsTerminal;

pub struct Lines {
    source: Source,
    /// Came before its time, or as an answer and is none: the next prompts.
    put_back: VecDeque<String>,
}

enum Source {
    Keyboard(Box<Keyboard>),
    Pipe(Pipe),
}

impl Lines {
    pub fn of_standard_input() -> Self {
        let terminal = std::io::stdin().is_terminal();
        // What is typed is drawn on standard output.
        let seen = terminal && std::io::stdout().is_terminal();
        let taken = seen.then(|| Terminal::take(paint::understands_escapes())).flatten();
        let source = match taken {
            Some(taken) => Source::Keyboard(Box::new(Keyboard::new(taken))),
            None => Source::Pipe(Pipe::new(terminal)),
        };
        Lines { source, put_back: VecDeque::new() }
    }

    /// The next line, or none at the end of input. Cancel-safe: a piped line that nobody waits for any more goes to the
    /// next who asks; one that is being typed is given up.
    pub async fn next(&mut self, question: &str) -> Result<Option<String>> {
        write(question)?;
        match &mut self.source {
            Source::Keyboard(keyboard) => keyboard.next(question, false).await,
            Source::Pipe(pipe) => Ok(pipe.next().await),
        }
    }

    /// The same for a prompt, which can be fetched back later with the arrow keys.
    pub async fn next_prompt(&mut self, prompt: &str) -> Result<Option<String>> {
        write(prompt)?;
        if let Some(line) = self.put_back.pop_front() {
            if self.are_echoed() {
                write(&format!("{line}\n"))?;
            }
            return Ok(Some(line));
        }
        match &mut self.source {
            Source::Keyboard(keyboard) => keyboard.next(prompt, true).await,
            Source::Pipe(pipe) => Ok(pipe.next().await),
        }
    }

    /// The answer to a question that comes before the first prompt. What was typed before it was shown is no answer to
    /// it, and is a prompt afterwards.
    pub async fn answer(&mut self, question: &str) -> Result<Option<String>> {
        match &mut self.source {
            Source::Keyboard(keyboard) => {
                let ahead = keyboard.take_ahead();
                write(question)?;
                let answer = keyboard.next(question, false).await;
                keyboard.put_ahead(ahead);
                answer
            }
            Source::Pipe(pipe) => {
                self.put_back.extend(pipe.take_ahead());
                write(question)?;
                Ok(pipe.next().await)
            }
        }
    }

    /// What Tab completes at the beginning of the next prompt.
    pub fn offer(&mut self, words: impl FnOnce() -> Vec<String>) {
        if let Source::Keyboard(keyboard) = &mut self.source {
            keyboard.offer(words());
        }
    }

    /// Comes back when somebody has begun to type. What comes through a pipe is not typed. Cancel-safe.
    pub async fn key_typed(&mut self) {
        match &mut self.source {
            Source::Keyboard(keyboard) => keyboard.typed().await,
            Source::Pipe(_) => std::future::pending().await,
        }
    }

    /// A line waits that was entered before its time.
    pub fn has_put_back(&self) -> bool {
        !self.put_back.is_empty()
    }

    /// It was no answer, so it is the next prompt.
    pub fn put_back(&mut self, line: String) {
        self.put_back.push_back(line);
    }

    /// What was typed before a question was shown is no answer to it. A pipe knows no before.
    pub fn forget(&mut self) {
        match &mut self.source {
            Source::Keyboard(keyboard) => drop(keyboard.take_ahead()),
            Source::Pipe(pipe) => pipe.forget(),
        }
    }

    /// Whether there was something in the line that was given up last.
    pub fn gave_up_text(&self) -> bool {
        matches!(&self.source, Source::Keyboard(keyboard) if keyboard.has_text())
    }

    /// Whether the terminal shows what is typed.
    pub fn are_echoed(&self) -> bool {
        match &self.source {
            Source::Keyboard(_) => true,
            Source::Pipe(pipe) => pipe.terminal,
        }
    }

    /// Somebody types them and sees what is written.
    pub fn are_typed(&self) -> bool {
        matches!(self.source, Source::Keyboard(_))
    }
}

/// Words that people answer questions with, whatever the question.
const USUAL: [&str; 6] = ["yes", "no", "ok", "help", "quit", "exit"];

/// Meant for the session, not for a question that takes one of these `words`: a command, several words, or a word that is
/// no misspelt answer.
pub fn is_prompt(answer: &str, words: &[&str]) -> bool {
    let answer = answer.trim().to_lowercase();
    let is_near = |word: &&str| {
        let most = if word.len() < 5 { 1 } else { 2 };
        word.starts_with(&answer) || edit_distance(&answer, word) <= most
    };
    answer.starts_with('/')
        || answer.contains(char::is_whitespace)
        || (answer.chars().count() > 2 && !USUAL.iter().chain(words).any(is_near))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_that_answers_nothing_is_a_prompt() {
        let words = ["confirm", "edits", "auto"];
        for (answer, expected) in [
            ("fix the bug", true),
            ("/help", true),
            ("refactor", true),
            ("Weiter", true),
            ("test", true),
            ("fix", true),
            ("edtis", false),
            ("conf", false),
            ("AUTO", false),
            ("yes", false),
            ("x", false),
            ("ab", false),
            ("", false),
        ] {
            assert_eq!(is_prompt(answer, &words), expected, "{answer}");
        }
    }
}
