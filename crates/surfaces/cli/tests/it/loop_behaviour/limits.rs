//! Limits the user sets.

use super::row::Row;
use ostler_model_server::{Reply, Script, UsageNumbers, calls, text};
use serde_json::json;

const CODE: &str =
    "Reaching a limit has its own exit code, so that a script can distinguish it from a failure.";

/// Half a dollar and a little, at the scripted model's prices.
fn dear(reply: Reply) -> Reply {
    reply.usage(UsageNumbers {
        input_tokens: Some(100_000),
        output_tokens: Some(15_000),
        cache_read_input_tokens: Some(0),
        cache_creation_input_tokens: Some(0),
    })
}

pub fn rows() -> Vec<Row> {
    let call = || calls([("Bash", json!({"command": "echo 1"}))]);
    let forever = |reply| Script::new().answer(reply).forever();
    let calls_run = |world: &crate::support::World, _: &crate::support::Ran| {
        let ran = world.entries().iter().filter(|fact| fact["fact"] == "call_finished").count();
        format!("calls run: {ran}")
    };
    vec![
        Row::new("max_turns1", "calls, always; `--max-turns 1`", forever(call()))
            .args(&["--max-turns", "1"])
            .look(calls_run)
            .claude(1, "calls run: 1", 1)
            .because(CODE),
        Row::new("max_turns2", "calls, always; `--max-turns 2`", forever(call()))
            .args(&["--max-turns", "2"])
            .look(calls_run)
            .claude(2, "calls run: 2", 1)
            .because(CODE),
        Row::new("max_turns1_text", "text; `--max-turns 1`", forever(text("done"))).args(&["--max-turns", "1"]).claude(1, "", 0),
        Row::new("budget", "calls, always, each answer costs $0.525; `--max-budget-usd 1`", forever(dear(call())))
            .args(&["--max-budget-usd", "1"])
            .look(calls_run)
            .claude(2, "calls run: 1", 1)
            .because("The budget limits requests: none is sent that could exceed it, and the output limit is lowered to what the remaining budget pays for. Calls in an answer that has been paid for still run."),
        Row::new("budget_end", "a final text that costs $0.525; `--max-budget-usd 0.1`", forever(dear(text("done"))))
            .args(&["--max-budget-usd", "0.1"])
            .claude(1, "", 1)
            .because("The work is done and the answer is there. This cannot happen with a provider that respects the output limit."),
    ]
}
