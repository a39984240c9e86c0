//! A question of a session, put to the person behind a client, and the answer.

use ostler::{Place, Question, Reply};
use rmcp::model::{
    ClientCapabilities, ElicitRequest, ElicitRequestParams, ElicitationSchema, InputRequest,
};
use serde_json::{Value, json};

/// A question that is longer is not asked: nobody approves what cannot be shown whole.
const MOST_CHARS: usize = 8_000;
/// The one field of the form.
const ALLOW: &str = "allow";

/// The client says that it can show a form to a person.
pub(crate) fn can_ask(capabilities: Option<&ClientCapabilities>) -> bool {
    let elicitation = capabilities.and_then(|capabilities| capabilities.elicitation.as_ref());
    // An empty object is the older way of saying that it shows forms.
    elicitation.is_some_and(|modes| modes.form.is_some() || modes.url.is_none())
}

/// None: it is too long to be shown.
pub(crate) fn form(question: &Question) -> Option<ElicitRequestParams> {
    let message = text(question);
    let schema = json!({
        "type": "object",
        "properties": {
            ALLOW: { "type": "boolean", "title": "Allow this call", "default": false }
        },
        "required": [ALLOW],
    });
    let requested_schema: ElicitationSchema = serde_json::from_value(schema).ok()?;
    (message.chars().count() <= MOST_CHARS).then_some(ElicitRequestParams::FormElicitationParams {
        meta: None,
        message,
        requested_schema,
    })
}

/// The same inside of a result, for clients that send the request again with the answer.
pub(crate) fn input_request(question: &Question) -> Option<InputRequest> {
    form(question).map(|form| InputRequest::Elicitation(ElicitRequest::new(form)))
}

/// Anything but a plain yes is a no.
pub(crate) fn reply(result: Option<&Value>) -> Reply {
    let action = result.and_then(|result| result.get("action")?.as_str());
    let allows = result.and_then(|result| result.get("content")?.get(ALLOW)?.as_bool());
    match (action, allows) {
        (Some("accept"), Some(true)) => Reply::Yes,
        (Some("accept" | "decline"), _) => Reply::No("the user said no".into()),
        (Some("cancel"), _) => Reply::No("the user closed the question".into()),
        _ => Reply::Unanswered("the client gave no answer".into()),
    }
}

fn text(question: &Question) -> String {
    let mut lines = vec![format!("Allow {}?", visible(&question.tool))];
    if !question.agent.is_root() {
        lines.push(format!("asked by: {}", visible(&question.agent.names().join("/"))));
    }
    let fields = question.input.as_object().into_iter().flatten();
    lines.extend(fields.map(|(name, value)| {
        let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        format!("{}: {}", visible(name), visible(&value))
    }));
    let touches = &question.touches;
    lines.extend(listed("reads", &touches.reads));
    lines.extend(listed("changes", &touches.changes));
    if !touches.contacts.is_empty() {
        lines.push(format!("contacts: {}", visible(&touches.contacts.join(", "))));
    }
    if touches.unknown {
        lines.push("may touch anything else".to_owned());
    }
    lines.push(format!("why: {}", visible(&question.decision.why())));
    lines.join("\n")
}

fn listed(what: &str, places: &[Place]) -> Option<String> {
    let name = |place: &Place| {
        let below = if place.below { " and everything below" } else { "" };
        format!("{}{below}", visible(&place.path.to_string_lossy()))
    };
    let names: Vec<String> = places.iter().map(name).collect();
    (!names.is_empty()).then(|| format!("{what}: {}", names.join(", ")))
}

/// A line of the call cannot look like a line of ours.
fn visible(text: &str) -> String {
    ostler::strip_terminal(text).replace('\n', "\n  | ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_plain_yes_allows() {
        let allows = |value: Value| reply(Some(&value)).allows();
        assert!(allows(json!({"action": "accept", "content": {"allow": true}})));
        for no in [
            json!({"action": "accept", "content": {"allow": false}}),
            json!({"action": "accept", "content": {"allow": "true"}}),
            json!({"action": "accept", "content": {}}),
            json!({"action": "accept"}),
            json!({"action": "decline", "content": {"allow": true}}),
            json!({"action": "cancel", "content": {"allow": true}}),
            json!({"content": {"allow": true}}),
            json!(true),
        ] {
            assert!(!allows(no.clone()), "{no}");
        }
        assert!(!reply(None).allows());
    }

    #[test]
    fn a_client_is_asked_only_if_it_shows_forms() {
        let capabilities =
            |value: Value| serde_json::from_value::<ClientCapabilities>(value).unwrap();
        for (said, expected) in [
            (json!({}), false),
            (json!({"elicitation": {}}), true),
            (json!({"elicitation": {"form": {}}}), true),
            (json!({"elicitation": {"url": {}}}), false),
            (json!({"elicitation": {"form": {}, "url": {}}}), true),
        ] {
            assert_eq!(can_ask(Some(&capabilities(said.clone()))), expected, "{said}");
        }
        assert!(!can_ask(None));
    }
}
