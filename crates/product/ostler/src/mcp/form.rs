//! A form of a server as questions to a person. Its fields are texts, numbers, switches and choices; anything else cannot be
//! filled in.

use ostler_core::permission::{Choice, ChoiceQuestion};
use ostler_mcp::Elicitation;
use serde_json::{Map, Value};

/// Fields of one form.
const MOST_FIELDS: usize = 20;
/// Choices of one field.
const MOST_CHOICES: usize = 50;
/// Characters of a description.
const LONGEST: usize = 500;
/// Characters of a name or a choice.
const LONGEST_NAME: usize = 100;

pub(super) struct Form {
    fields: Vec<Field>,
}

struct Field {
    name: String,
    required: bool,
    kind: FieldKind,
    question: ChoiceQuestion,
}

enum FieldKind {
    Text,
    Number,
    Integer,
    Switch,
    /// What is sent, and what is shown for it.
    OneOf(Vec<(String, String)>),
}

impl Form {
    /// None: it has fields that nobody can fill in.
    pub(super) fn of(asked: &Elicitation) -> Option<Form> {
        let fields = asked.schema.get("properties")?.as_object()?;
        if fields.is_empty() || fields.len() > MOST_FIELDS {
            return None;
        }
        let required = asked.schema.get("required").and_then(Value::as_array);
        let is_required =
            |name: &str| required.is_some_and(|names| names.iter().any(|it| it == name));
        let field =
            |(name, schema): (&String, &Value)| field(asked, name, schema, is_required(name));
        let fields: Option<Vec<Field>> = fields.iter().map(field).collect();
        fields.map(|fields| Form { fields })
    }

    pub(super) fn questions(&self) -> Vec<ChoiceQuestion> {
        self.fields.iter().map(|field| field.question.clone()).collect()
    }

    /// What the server gets, by the text of each question.
    ///
    /// # Errors
    /// In words, what the person has to answer differently.
    pub(super) fn content(&self, answers: &Map<String, Value>) -> Result<Value, String> {
        let mut content = Map::new();
        for field in &self.fields {
            let answer = answers.get(&field.question.question).and_then(Value::as_str);
            let answer = answer.map(str::trim).filter(|answer| !answer.is_empty());
            match answer {
                Some(answer) => {
                    content.insert(field.name.clone(), field.value(answer)?);
                }
                None if field.required => return Err(format!("{} is required", field.name)),
                None => {}
            }
        }
        Ok(Value::Object(content))
    }
}

impl Field {
    fn value(&self, answer: &str) -> Result<Value, String> {
        let wrong = |what: &str| format!("{} must be {what}", self.name);
        match &self.kind {
            FieldKind::Text => Ok(answer.into()),
            FieldKind::Integer => {
                answer.parse::<i64>().map(Value::from).map_err(|_| wrong("a whole number"))
            }
            FieldKind::Number => {
                let number = answer.parse::<f64>().ok().filter(|number| number.is_finite());
                number.map(Value::from).ok_or_else(|| wrong("a number"))
            }
            FieldKind::Switch => match answer.to_ascii_lowercase().as_str() {
                "yes" | "y" | "true" => Ok(true.into()),
                "no" | "n" | "false" => Ok(false.into()),
                _ => Err(wrong("yes or no")),
            },
            FieldKind::OneOf(choices) => {
                let is_meant =
                    |(sent, shown): &&(String, String)| shown == answer || sent == answer;
                let chosen = choices.iter().find(is_meant);
                chosen
                    .map(|(sent, _)| sent.as_str().into())
                    .ok_or_else(|| wrong("one of the choices"))
            }
        }
    }
}

fn field(asked: &Elicitation, name: &str, schema: &Value, required: bool) -> Option<Field> {
    let text = |key: &str| schema.get(key).and_then(Value::as_str);
    let kind = match (text("type")?, choices(schema)) {
        ("string", Some(choices)) => FieldKind::OneOf(choices),
        ("string", None) => FieldKind::Text,
        ("number", None) => FieldKind::Number,
        ("integer", None) => FieldKind::Integer,
        ("boolean", None) => FieldKind::Switch,
        _ => return None,
    };
    let options: Vec<String> = match &kind {
        FieldKind::Switch => vec!["yes".into(), "no".into()],
        FieldKind::OneOf(choices) => choices.iter().map(|(_, shown)| shown.clone()).collect(),
        FieldKind::Text | FieldKind::Number | FieldKind::Integer => Vec::new(),
    };
    let option = |label: String| Choice { label, description: String::new() };
    let mut question =
        format!("{}\n{}", asked.message, cut(text("title").unwrap_or(name), LONGEST_NAME));
    if text("title").is_some_and(|title| title != name) {
        // Two fields may have the same title.
        question += &format!(" ({})", cut(name, LONGEST_NAME));
    }
    if let Some(description) = text("description") {
        question += &format!(": {}", cut(description, LONGEST));
    }
    if !required {
        question += " (optional)";
    }
    let question = ChoiceQuestion {
        question,
        header: format!("MCP server {}", asked.server),
        options: options.into_iter().map(option).collect(),
        multi_select: false,
    };
    Some(Field { name: name.to_owned(), required, kind, question })
}

/// In the forms `enum` with `enumNames`, and `oneOf` with `const` and `title`.
fn choices(schema: &Value) -> Option<Vec<(String, String)>> {
    let short = |text: &str| cut(text, LONGEST_NAME);
    if let Some(values) = schema.get("enum").and_then(Value::as_array) {
        let names = schema.get("enumNames").and_then(Value::as_array);
        let shown = |at: usize| names.and_then(|names| names.get(at)).and_then(Value::as_str);
        let texts = values.iter().filter_map(Value::as_str).take(MOST_CHOICES).enumerate();
        return Some(
            texts.map(|(at, text)| (text.to_owned(), short(shown(at).unwrap_or(text)))).collect(),
        );
    }
    let values = schema.get("oneOf").and_then(Value::as_array)?;
    let choice = |value: &Value| {
        let sent = value.get("const")?.as_str()?;
        let shown = value.get("title").and_then(Value::as_str).unwrap_or(sent);
        Some((sent.to_owned(), short(shown)))
    };
    Some(values.iter().filter_map(choice).take(MOST_CHOICES).collect())
}

fn cut(text: &str, most: usize) -> String {
    let shown = text.chars().map(|c| if c.is_control() { ' ' } else { c });
    shown.take(most).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn form(properties: Value, required: &[&str]) -> Option<Form> {
        Form::of(&Elicitation {
            server: "files".into(),
            message: "Which?".into(),
            schema: json!({"type": "object", "properties": properties, "required": required}),
        })
    }

    fn filled(form: &Form, answers: &[&str]) -> Result<Value, String> {
        let questions = form.questions().into_iter().map(|one| one.question);
        let given = answers.iter().filter(|answer| !answer.is_empty());
        assert!(given.count() <= form.fields.len());
        let answers = answers.iter().map(|answer| Value::from(*answer));
        form.content(&questions.zip(answers).collect())
    }

    #[test]
    fn answers_have_the_types_of_their_fields() {
        let form = form(
            json!({
                "a": {"type": "string"},
                "b": {"type": "integer", "title": "Count"},
                "c": {"type": "number"},
                "d": {"type": "boolean"},
                "e": {"type": "string", "enum": ["x", "y"], "enumNames": ["Ex", "Why"]},
                "f": {"type": "string", "oneOf": [{"const": "1", "title": "One"}]},
            }),
            &["b"],
        )
        .unwrap();
        let full = filled(&form, &["text", "3", "1.5", "no", "Why", "One"]);
        let wanted = json!({"a": "text", "b": 3, "c": 1.5, "d": false, "e": "y", "f": "1"});
        assert_eq!(full, Ok(wanted));
        assert_eq!(filled(&form, &["", "3", "", "", "", ""]), Ok(json!({"b": 3})));
        for (answers, wrong) in [
            (["", "", "", "", "", ""], "b is required"),
            (["", "3.5", "", "", "", ""], "b must be a whole number"),
            (["", "3", "NaN", "", "", ""], "c must be a number"),
            (["", "3", "", "maybe", "", ""], "d must be yes or no"),
            (["", "3", "", "", "z", ""], "e must be one of the choices"),
        ] {
            assert_eq!(filled(&form, &answers), Err(wrong.to_owned()));
        }
        let asked = form.questions();
        assert_eq!(asked[1].question, "Which?\nCount (b)");
        assert_eq!(asked[0].question, "Which?\na (optional)");
        assert_eq!(asked[4].options[1].label, "Why");
    }

    #[test]
    fn forms_with_other_fields_are_not_shown() {
        assert!(form(json!({"a": {"type": "object"}}), &[]).is_none());
        assert!(form(json!({"a": {"type": "array"}}), &[]).is_none());
        assert!(form(json!({}), &[]).is_none());
        let many: Map<String, Value> =
            (0..21).map(|n| (format!("f{n}"), json!({"type": "string"}))).collect();
        assert!(form(many.into(), &[]).is_none());
    }
}
