//! The one rule every provider demands: a call is answered once, directly after the answer that made it.

use crate::ids::CallId;
use crate::message::{Block, Message};

/// Results in call order for all `calls`, taking what is in `results` and saying `why` where nothing is.
/// Results of other calls are left out, a second result of one call too.
pub fn complete<T: Into<String>>(
    calls: &[CallId],
    results: Vec<Block>,
    why: impl Fn(&CallId) -> T,
) -> Vec<Block> {
    let mut found: Vec<Option<Block>> = calls.iter().map(|_| None).collect();
    for block in results {
        if let Block::ToolResult { id, .. } = &block
            && let Some(at) = calls.iter().position(|call| call == id)
            && let Some(place) = found.get_mut(at)
            && place.is_none()
        {
            *place = Some(block);
        }
    }
    let answer = |(call, result): (&CallId, Option<Block>)| {
        result.unwrap_or_else(|| Block::error_result(call.clone(), why(call)))
    };
    calls.iter().zip(found).map(answer).collect()
}

/// Splits a user message into its results and everything else.
pub fn split_results(content: Vec<Block>) -> (Vec<Block>, Vec<Block>) {
    content.into_iter().partition(|block| matches!(block, Block::ToolResult { .. }))
}

/// Breaks of the rule in a message list, in words; empty when all is well.
pub fn check(messages: &[&Message]) -> Vec<String> {
    let mut wrong = Vec::new();
    for (at, message) in messages.iter().enumerate() {
        let calls: Vec<_> = message.calls().cloned().collect();
        let next = messages.get(at + 1).map(|next| next.blocks()).unwrap_or_default();
        let answered: Vec<_> = next.iter().filter_map(result_id).cloned().collect();
        for call in &calls {
            match answered.iter().filter(|id| *id == call).count() {
                1 => {}
                n => wrong.push(format!("call {call} of message {at} has {n} results")),
            }
        }
        if message.is_assistant() {
            for id in answered.iter().filter(|id| !calls.contains(id)) {
                wrong.push(format!("result {id} of message {} answers no call", at + 1));
            }
        } else if at == 0 && message.blocks().iter().any(|block| result_id(block).is_some()) {
            wrong.push("the first message holds a result".into());
        }
    }
    wrong
}

fn result_id(block: &Block) -> Option<&CallId> {
    match block {
        Block::ToolResult { id, .. } => Some(id),
        _ => None,
    }
}
