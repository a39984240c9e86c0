//! How a question is put line by line: what is shown next, and what the person's lines come to.

use super::{answer, question};
use crate::output::visible_text::visible;
use ostler::{Choice, ChoiceQuestion, Mode, PersonRequest, Question, Reply};
use std::fmt::Write;

pub struct Dialog<'a> {
    question: &'a Question,
    /// What is shown before the next line is read.
    shown: String,
    /// The answers so far, where the call asks several things.
    answers: Vec<(String, String)>,
    /// How many of them were put.
    put: usize,
}

impl<'a> Dialog<'a> {
    pub fn new(question: &'a Question) -> Self {
        let shown = match question.request.as_deref() {
            None => question::text(question),
            Some(PersonRequest::Choices { questions }) => {
                question::head(question) + &choices(questions, 0)
            }
            Some(PersonRequest::Plan { plan, sha256, .. }) => {
                question::head(question) + &plan_text(plan, sha256)
            }
        };
        Dialog { question, shown, answers: Vec::new(), put: 0 }
    }

    pub fn shown(&self) -> &str {
        &self.shown
    }

    /// None: something else has to be answered first. No line is the end of input.
    pub fn take(&mut self, line: Option<&str>) -> Option<Reply> {
        match (self.question.request.as_deref(), line) {
            (None, line) => {
                let is_offered = !self.question.decision.offer.is_empty();
                let reply = answer::reply(line, is_offered);
                if reply.is_none() {
                    self.shown = question::no_project();
                }
                reply
            }
            (Some(_), None) => {
                Some(Reply::Unanswered("the input ended before the user answered".into()))
            }
            (Some(PersonRequest::Choices { questions }), Some(line)) => {
                self.choose(questions, line.trim())
            }
            (Some(PersonRequest::Plan { .. }), Some(line)) => Some(self.judge_plan(line.trim())),
        }
    }

    fn choose(&mut self, questions: &[ChoiceQuestion], line: &str) -> Option<Reply> {
        if let Some(asked) = questions.get(self.put) {
            match chosen(asked, line) {
                Ok(answer) => {
                    let answered = answer.map(|answer| (asked.question.clone(), answer));
                    self.answers.extend(answered);
                    self.put += 1;
                }
                Err(wrong) => {
                    self.shown = format!("  {wrong}: ");
                    return None;
                }
            }
        }
        if self.put < questions.len() {
            self.shown = choices(questions, self.put);
            return None;
        }
        Some(match self.answers.is_empty() {
            true => Reply::No("the user gave no answer".into()),
            false => self.question.answered(std::mem::take(&mut self.answers)),
        })
    }

    fn judge_plan(&self, line: &str) -> Reply {
        match line.to_ascii_lowercase().as_str() {
            "y" | "yes" => self.question.approved(Mode::Default),
            "e" | "edits" => self.question.approved(Mode::AcceptEdits),
            "" | "n" | "no" => Reply::No("the user said no".into()),
            _ => Reply::No(format!("the user said: {line}")),
        }
    }
}

fn choices(questions: &[ChoiceQuestion], at: usize) -> String {
    let Some(ChoiceQuestion { question, header, options, multi_select }) = questions.get(at) else {
        return String::new();
    };
    let count = match questions.len() {
        1 => String::new(),
        all => format!(" ({} of {all})", at + 1),
    };
    let mut text = format!("  {}{count}: {}\n", visible(header), lines_of(question));
    for (number, Choice { label, description }) in (1..).zip(options) {
        let _ = match description.is_empty() {
            true => writeln!(text, "    {number}  {}", visible(label)),
            false => writeln!(text, "    {number}  {}: {}", visible(label), lines_of(description)),
        };
    }
    let several = if *multi_select { ", or several such as 1,2" } else { "" };
    text + &format!("  a number{several}, or your own words (empty: no answer): ")
}

/// A text of several lines stays behind its own bar, so that none of it looks like ours.
fn lines_of(text: &str) -> String {
    text.lines().map(visible).collect::<Vec<_>>().join("\n      │ ")
}

fn plan_text(plan: &str, sha256: &str) -> String {
    let mut text = String::new();
    for line in plan.lines() {
        let _ = writeln!(text, "    │ {}", visible(line));
    }
    let short: String = sha256.chars().take(12).collect();
    text + &format!(
        "  approve plan {short}? [y]es  [e]dits: yes, and accept file edits  [n]o (or say what to change): "
    )
}

/// None: no answer to this one. Numbers that are on the list are choices; other words are an answer of their own.
fn chosen(asked: &ChoiceQuestion, line: &str) -> Result<Option<String>, String> {
    if line.is_empty() {
        return Ok(None);
    }
    let parts: Vec<&str> = line.split([',', ' ']).filter(|part| !part.is_empty()).collect();
    let numbers: Option<Vec<usize>> = parts.iter().map(|part| part.parse().ok()).collect();
    let Some(numbers) = numbers.filter(|numbers| !numbers.is_empty()) else {
        return Ok(Some(line.to_owned()));
    };
    if numbers.len() > 1 && !asked.multi_select {
        return Err("choose one number".into());
    }
    let label = |number: &usize| {
        let choice = number.checked_sub(1).and_then(|at| asked.options.get(at));
        let most = asked.options.len();
        choice.map(|choice| choice.label.clone()).ok_or(format!("choose from 1 to {most}"))
    };
    let labels: Vec<String> = numbers.iter().map(label).collect::<Result<_, _>>()?;
    Ok(Some(labels.join(", ")))
}

#[cfg(test)]
#[path = "dialog_tests.rs"]
mod tests;
