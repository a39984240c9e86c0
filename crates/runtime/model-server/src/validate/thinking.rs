//! Thinking that comes back: ours, unchanged, in its place.

use serde_json::{Map, Value};

use super::messages::{MessageTurn, Role};
use super::settings::is_thinking;
use super::{ValidationError, ValidationRule, invalid};
use crate::script::ServerRules;
use crate::sent_thinking::{SentThinking, Thought};

/// Checks the thinking blocks and counts those sent although thinking is disabled.
pub(super) fn check(
    fields: &Map<String, Value>,
    turns: &[MessageTurn<'_>],
    rules: &ServerRules,
    sent: &SentThinking,
) -> Result<u64, ValidationError> {
    let model = fields.get("model").and_then(Value::as_str).unwrap_or_default();
    let mut count = 0;
    for block in turns.iter().flat_map(|turn| &turn.blocks) {
        let Some(thought) = Thought::of(block.value) else { continue };
        count += 1;
        let by = rules.signatures_per_model.then_some(model);
        if rules.signatures && !sent.knows(&thought, by) {
            let field = if block.kind == "thinking" { "signature" } else { "data" };
            return Err(invalid(format!(
                "{}: Invalid `{field}` in `{}` block",
                block.path(),
                block.kind
            )));
        }
    }
    if let Some(turn) = turns.last().filter(|turn| turn.role == Role::Assistant)
        && let Some(block) = turn.blocks.last().filter(|block| is_thought(block.kind))
    {
        return Err(invalid(format!(
            "messages.{}: The final block in an assistant message cannot be `{}`.",
            block.message, block.kind
        )));
    }
    if !is_thinking(fields) {
        return Ok(count);
    }
    if rules.signatures {
        trajectory(turns, model, sent)?;
    }
    Ok(0)
}

fn is_thought(kind: &str) -> bool {
    matches!(kind, "thinking" | "redacted_thinking")
}

/// In an open tool trajectory the thinking that led to the calls comes back as it was.
fn trajectory(turns: &[MessageTurn<'_>], model: &str, sent: &SentThinking) -> ValidationRule {
    let mut talk = turns.iter().filter(|turn| turn.role != Role::System).rev();
    let (Some(results), Some(answer)) = (talk.next(), talk.next()) else { return Ok(()) };
    let open = results.blocks.iter().any(|block| block.kind == "tool_result");
    if results.role != Role::User || !open {
        return Ok(());
    }
    let calls = answer.blocks.iter().filter(|block| block.kind == "tool_use");
    let Some(said) = calls.filter_map(|call| sent.trajectory(call.field("id"))).next() else {
        return Ok(());
    };
    // Another model's thinking need not, and often must not, be shown to this one.
    if said.thoughts.is_empty() || said.model != model {
        return Ok(());
    }
    let Some(first) = answer.blocks.first() else { return Ok(()) };
    if said.thought_first && !is_thought(first.kind) {
        return Err(invalid(format!(
            "{}.type: Expected `thinking` or `redacted_thinking`, but found `{}`. When `thinking` is enabled, a final `assistant` message must start with a thinking block (preceding the lastmost set of `tool_use` and `tool_result` blocks).",
            first.path(),
            first.kind
        )));
    }
    let returned: Vec<Thought> =
        answer.blocks.iter().filter_map(|block| Thought::of(block.value)).collect();
    // Messages of one role are merged, so thinking of earlier ones may stand in front.
    if !returned.ends_with(&said.thoughts) {
        let place = answer.blocks.iter().find(|block| is_thought(block.kind)).unwrap_or(first);
        return Err(invalid(format!(
            "{}: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified. These blocks must remain as they were in the original response.",
            place.path()
        )));
    }
    Ok(())
}
