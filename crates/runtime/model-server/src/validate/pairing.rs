//! Every call has exactly one result, in the very next user turn and in front of everything else.

use std::collections::{HashMap, HashSet};

use super::messages::{MessageTurn, PlacedBlock, Role};
use super::{ValidationError, ValidationRule, invalid};

/// Checks the pairs and gives back all ids of calls.
pub(super) fn check(turns: &[MessageTurn<'_>]) -> Result<HashSet<String>, ValidationError> {
    let mut ids = HashSet::new();
    // Notes of the system stand between turns and do not part a call from its result.
    let talk: Vec<&MessageTurn<'_>> =
        turns.iter().filter(|turn| turn.role != Role::System).collect();
    for (at, turn) in talk.iter().enumerate() {
        if turn.role == Role::Assistant {
            for call in calls(turn) {
                if !ids.insert(call.field("id").to_owned()) {
                    let path = call.path();
                    return Err(invalid(format!("{path}: `tool_use` ids must be unique")));
                }
            }
            answered(turn, talk.get(at + 1).copied())?;
        } else {
            asked(turn, at.checked_sub(1).and_then(|before| talk.get(before)).copied())?;
        }
    }
    Ok(ids)
}

fn calls<'t, 'a>(turn: &'t MessageTurn<'a>) -> impl Iterator<Item = &'t PlacedBlock<'a>> {
    turn.blocks.iter().filter(|block| block.kind == "tool_use")
}

/// The results at the head of a user turn; one further back comes too late.
fn leading<'t, 'a>(turn: &'t MessageTurn<'a>) -> impl Iterator<Item = &'t PlacedBlock<'a>> {
    turn.blocks.iter().take_while(|block| block.kind == "tool_result")
}

fn answered(turn: &MessageTurn<'_>, next: Option<&MessageTurn<'_>>) -> ValidationRule {
    let results: HashSet<&str> =
        next.into_iter().flat_map(leading).map(|result| result.field("tool_use_id")).collect();
    let open: Vec<&PlacedBlock<'_>> =
        calls(turn).filter(|call| !results.contains(call.field("id"))).collect();
    let Some(first) = open.first() else { return Ok(()) };
    let names: Vec<&str> = open.iter().map(|call| call.field("id")).collect();
    Err(invalid(format!(
        "messages.{}: `tool_use` ids were found without `tool_result` blocks immediately after: {}. Each `tool_use` block must have a corresponding `tool_result` block in the next message.",
        first.message,
        names.join(", ")
    )))
}

fn asked(turn: &MessageTurn<'_>, before: Option<&MessageTurn<'_>>) -> ValidationRule {
    let mut open: HashMap<&str, bool> =
        before.into_iter().flat_map(calls).map(|call| (call.field("id"), true)).collect();
    for result in turn.blocks.iter().filter(|block| block.kind == "tool_result") {
        let (path, id) = (result.path(), result.field("tool_use_id"));
        match open.insert(id, false) {
            Some(true) => {}
            Some(false) => {
                return Err(invalid(format!(
                    "{path}: each tool_use must have a single result. Found multiple `tool_result` blocks with id: {id}"
                )));
            }
            None => {
                return Err(invalid(format!(
                    "{path}: unexpected `tool_use_id` found in `tool_result` blocks: {id}. Each `tool_result` block must have a corresponding `tool_use` block in the previous message."
                )));
            }
        }
    }
    Ok(())
}
