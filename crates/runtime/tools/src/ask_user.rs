//! AskUserQuestion: the model asks the person, and the answers are the result.

use crate::ToolSetup;
use crate::hypothetical_calls::Paper;
use crate::typed_tool::{BuiltIn, Shipped, erase};
use ostler_core::permission::{Access, ChoiceQuestion, PersonRequest};
use ostler_core::ports::{Tool, ToolContext};
use ostler_core::tool::ToolOutput;
use ostler_core::tool_facts::{Subject, ToolFacts, ToolKind};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::fmt::Write;
use std::sync::Arc;

const MOST_QUESTIONS: usize = 4;
const MOST_CHOICES: usize = 4;
/// Characters of a question or of what a choice means.
const LONGEST: usize = 2_000;
/// Characters of a header or of a choice.
const LONGEST_LABEL: usize = 100;

pub struct AskUser;

#[derive(Deserialize, JsonSchema)]
pub struct Input {
    /// 1 to 4 questions
    questions: Vec<ChoiceQuestion>,
    /// Filled in by the user; leave it out
    answers: Option<Map<String, Value>>,
    /// Filled in by the user; leave it out
    annotations: Option<Map<String, Value>>,
}

impl BuiltIn for AskUser {
    const NAME: &'static str = "AskUserQuestion";
    const DESCRIPTION: &'static str = include_str!("../../../../prompts/tools/ask-user.md");
    const FACTS: ToolFacts = ToolFacts {
        kind: ToolKind::Asks,
        subject: Subject::Count { input: "questions", one: "question" },
        ..ToolFacts::UNDECLARED
    };
    const OBJECTS: bool = true;
    type Input = Input;

    fn access(&self, input: &Input) -> Result<Access, ToolOutput> {
        access(&input.questions).map_err(ToolOutput::misuse)
    }

    fn access_on_paper(input: &Value, _: &Paper<'_>) -> Result<Access, String> {
        let input: Input = serde_json::from_value(input.clone()).map_err(|why| why.to_string())?;
        access(&input.questions)
    }

    /// Only a person's reply can contain answers, and nobody objects to that.
    fn objection(&self, input: &Input) -> Option<ToolOutput> {
        let forged = input.answers.is_some() || input.annotations.is_some();
        forged.then(|| {
            ToolOutput::misuse("Leave out `answers` and `annotations`: they are the user's.")
        })
    }

    async fn run(&self, input: Input, _: ToolContext) -> ToolOutput {
        let answers = input.answers.unwrap_or_default();
        let mut text = "The user answered:".to_owned();
        for ChoiceQuestion { question, .. } in &input.questions {
            let _ = match answers.get(question).map(words) {
                Some(answer) => write!(text, "\n- {question} {answer}"),
                None => write!(text, "\n- {question} (no answer; do not assume one)"),
            };
        }
        for (question, note) in input.annotations.iter().flatten() {
            let _ = write!(text, "\n- Note on \"{question}\": {}", words(note));
        }
        let detail = json!({"questions": input.questions, "answers": answers});
        ToolOutput { detail: Some(detail), ..ToolOutput::text(text) }
    }
}

impl Shipped for AskUser {
    fn make(setup: &ToolSetup) -> Option<Arc<dyn Tool>> {
        setup.session.person.as_ref().map(|_| erase(AskUser))
    }
}

/// One answer, or several that were selected.
fn words(answer: &Value) -> String {
    match answer {
        Value::String(answer) => answer.clone(),
        Value::Array(several) => several.iter().map(words).collect::<Vec<_>>().join(", "),
        other => other.to_string(),
    }
}

fn access(questions: &[ChoiceQuestion]) -> Result<Access, String> {
    if !(1..=MOST_QUESTIONS).contains(&questions.len()) {
        return Err(format!("Ask 1 to {MOST_QUESTIONS} questions, not {}.", questions.len()));
    }
    for (at, one) in questions.iter().enumerate() {
        check(one)?;
        if questions.iter().take(at).any(|other| other.question == one.question) {
            return Err(format!("The question {:?} is asked twice.", one.question));
        }
    }
    Ok(Access::asking(PersonRequest::Choices { questions: questions.to_vec() }))
}

fn check(one: &ChoiceQuestion) -> Result<(), String> {
    let count = one.options.len();
    if !(2..=MOST_CHOICES).contains(&count) {
        let question = &one.question;
        return Err(format!("Give 2 to {MOST_CHOICES} options for {question:?}, not {count}."));
    }
    let labels = one.options.iter().map(|choice| (&choice.label, LONGEST_LABEL));
    let meanings = one.options.iter().map(|choice| (&choice.description, LONGEST));
    let limited = [(&one.question, LONGEST), (&one.header, LONGEST_LABEL)];
    for (text, longest) in limited.into_iter().chain(labels).chain(meanings) {
        if text.chars().count() > longest {
            let start: String = text.chars().take(40).collect();
            return Err(format!(
                "The text that begins {start:?} has more than {longest} characters."
            ));
        }
    }
    let is_empty = |choice: &ostler_core::permission::Choice| choice.label.trim().is_empty();
    if one.question.trim().is_empty() || one.options.iter().any(is_empty) {
        return Err("A question or an option is empty.".into());
    }
    Ok(())
}
