//! What hooks write, and what it comes to.

use super::*;
use crate::hook::canary;
use serde_json::json;

fn event(name: EventName) -> HookEvent {
    canary(name, None)
}

fn read(name: EventName, output: &str) -> Result<HookOutcome, String> {
    answered(
        &event(name),
        "h",
        &HookAnswer { refused: false, must_decide: false, output, errors: "" },
    )
}

fn json(name: EventName, output: serde_json::Value) -> HookOutcome {
    read(name, &output.to_string()).unwrap()
}

fn special(name: EventName, mut fields: serde_json::Value) -> HookOutcome {
    fields["hookEventName"] = name.name().into();
    json(name, json!({ "hookSpecificOutput": fields }))
}

#[test]
fn exit_two_blocks_what_can_be_blocked() {
    for name in EventName::ALL {
        let said = HookAnswer {
            refused: true,
            must_decide: false,
            output: "",
            errors: " no such branch \n",
        };
        let out = answered(&event(name), "h", &said).unwrap();
        if name.can_block() || name.tells_model() {
            assert_eq!(
                (out.stand, out.why().as_str()),
                (Stand::Block, "the hook h: no such branch")
            );
        } else {
            assert_eq!(out, HookOutcome::notice("the hook h: no such branch"), "{name:?}");
        }
    }
    let quiet = HookAnswer { refused: true, must_decide: false, output: "", errors: "" };
    let out = answered(&event(EventName::Stop), "h", &quiet).unwrap();
    assert_eq!(out.why(), "the hook h: it gave no reason");
}

#[test]
fn plain_text_is_for_the_model_where_the_event_says_so() {
    for name in EventName::ALL {
        let expected: &[&str] = if name.plain_text_counts() { &["hello"] } else { &[] };
        assert_eq!(read(name, " hello\n").unwrap().context, expected, "{name:?}");
    }
}

#[test]
fn before_a_call() {
    use EventName::PreToolUse as Pre;
    let stand = |decision: &str| special(Pre, json!({"permissionDecision": decision})).stand;
    assert_eq!(
        [stand("allow"), stand("ask"), stand("deny")],
        [Stand::Pass, Stand::Ask, Stand::Block]
    );
    let out = special(Pre, json!({"permissionDecision": "deny", "permissionDecisionReason": "no"}));
    assert_eq!(out.why(), "the hook h: no");
    assert_eq!(json(Pre, json!({"decision": "block", "reason": "old"})).why(), "the hook h: old");
    assert_eq!(json(Pre, json!({"decision": "approve"})), HookOutcome::default());

    let out = special(Pre, json!({"updatedInput": {"command": "ls"}, "additionalContext": "c"}));
    assert_eq!(
        out.rewritten(&json!({"command": "true", "description": "x"})).unwrap(),
        json!({"command": "ls"})
    );
    assert_eq!((out.rank(), out.context), (1, vec!["c".to_owned()]));
    // The same input is no change.
    let same = event(Pre).tool_input().cloned().unwrap();
    assert!(special(Pre, json!({ "updatedInput": same })).changes.is_empty());
}

#[test]
fn continue_false_ends_the_turn_where_there_is_one() {
    for name in EventName::ALL {
        let out = json(name, json!({"continue": false, "stopReason": "enough"}));
        let expected = if name.can_prevent() { Stand::Prevent } else { Stand::Pass };
        assert_eq!(out.stand, expected, "{name:?}");
        assert!(format!("{out:?}").contains("enough"), "{name:?}");
    }
    // It goes further than a block beside it, and both are said.
    let out = json(EventName::Stop, json!({"continue": false, "decision": "block", "reason": "r"}));
    assert_eq!((out.stand, out.reasons.len()), (Stand::Prevent, 2));
    assert_eq!(json(EventName::Stop, json!({"continue": true})), HookOutcome::default());
}

#[test]
fn a_question_is_answered() {
    use EventName::PermissionRequest as Ask;
    let decision = |fields: serde_json::Value| special(Ask, json!({ "decision": fields }));
    assert_eq!(decision(json!({"behavior": "allow"})).says_yes(), Some("h"));
    let no = decision(json!({"behavior": "deny", "message": "not here"}));
    assert_eq!((no.stand, no.why().as_str()), (Stand::Block, "the hook h: not here"));
    let other = decision(json!({"behavior": "allow", "updatedInput": {"command": "ls"}}));
    assert_eq!((other.says_yes(), other.notices.len()), (None, 1));
    // Elsewhere the same words mean nothing.
    let out = special(EventName::Stop, json!({"decision": {"behavior": "allow"}}));
    assert_eq!(out, HookOutcome::default());
}

#[test]
fn what_is_not_understood_is_no_answer() {
    use EventName::{PermissionRequest, PreToolUse};
    for (name, output) in [
        (PreToolUse, "{"),
        (PreToolUse, "{\"decision\": \"block\""),
        (PreToolUse, "{} {}"),
        (PreToolUse, "{\"decision\": \"maybe\"}"),
        (PreToolUse, "{\"decision\": 1}"),
        (PreToolUse, "{\"continue\": \"false\"}"),
        (PreToolUse, "{\"reason\": []}"),
        (PreToolUse, "{\"hookSpecificOutput\": \"deny\"}"),
        (PreToolUse, "{\"hookSpecificOutput\": {\"permissionDecision\": \"later\"}}"),
        (PreToolUse, "{\"hookSpecificOutput\": {\"permissionDecision\": \"Deny\"}}"),
        (PreToolUse, "{\"hookSpecificOutput\": {\"updatedInput\": \"ls\"}}"),
        (PreToolUse, "{\"hookSpecificOutput\": {\"hookEventName\": \"Stop\"}}"),
        (PermissionRequest, "{\"hookSpecificOutput\": {\"decision\": {}}}"),
        (PermissionRequest, "{\"hookSpecificOutput\": {\"decision\": {\"behavior\": \"yes\"}}}"),
    ] {
        assert!(read(name, output).is_err(), "{output}");
    }
    // Words that other versions know are passed over.
    assert_eq!(
        read(PreToolUse, "{\"suppressOutput\": true, \"new\": 1}").unwrap(),
        HookOutcome::default()
    );
}

#[test]
fn a_result_is_replaced_after_a_call_and_never_before_one() {
    let said = |field: &str| json!({"hookSpecificOutput": {field: {"stdout": "new"}}});
    for field in ["updatedToolOutput", "updatedMCPToolOutput"] {
        let (_, value) = json(EventName::PostToolUse, said(field)).result.unwrap();
        assert_eq!(value, json!({"stdout": "new"}));
        assert_eq!(json(EventName::PreToolUse, said(field)).result, None);
    }
    // What it contains is somebody else's text.
    let quoted = json!({"hookSpecificOutput": {"updatedToolOutput": {"decision": "block", "continue": false}}});
    assert_eq!(json(EventName::PostToolUse, quoted).stand, Stand::Pass);
    let of = |hook: &str| HookOutcome {
        result: Some((hook.to_owned(), json!(hook))),
        ..HookOutcome::default()
    };
    let merged = crate::hook::merge([of("a"), HookOutcome::default(), of("b")]);
    assert_eq!(merged.result, Some(("b".to_owned(), json!("b"))));
}

#[test]
fn every_text_is_bounded() {
    let long = "é".repeat(MOST + 5);
    let out = json(
        EventName::PreToolUse,
        json!({"decision": "block", "reason": long, "systemMessage": long,
               "hookSpecificOutput": {"additionalContext": long}}),
    );
    let texts = [&out.reasons[0].why, &out.context[0], &out.notices[0]];
    assert!(texts.iter().all(|text| text.chars().count() == MOST + 1 && text.ends_with('…')));
}

#[test]
fn events_have_the_names_and_fields_of_the_protocol() {
    for name in EventName::ALL {
        let value = serde_json::to_value(event(name)).unwrap();
        assert_eq!(value["hook_event_name"], name.name());
        assert_eq!(EventName::parse(name.name()), Some(name));
    }
    assert_eq!(EventName::parse("preToolUse"), None);
    let value = serde_json::to_value(event(EventName::PostToolUse)).unwrap();
    let fields: Vec<&String> = value.as_object().unwrap().keys().collect();
    assert_eq!(
        fields,
        [
            "hook_event_name",
            "tool_name",
            "tool_input",
            "tool_response",
            "tool_use_id",
            "duration_ms"
        ]
    );
}
