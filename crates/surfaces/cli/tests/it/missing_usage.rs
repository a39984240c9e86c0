//! Providers that do not say how many tokens they used, or say something impossible.

use crate::support::World;
use ostler_model_server::{Part, Reply, Script, sse};
use serde_json::{Value, json};

fn event(value: &Value) -> Part {
    let name = value["type"].as_str().unwrap();
    Part::raw(format!("event: {name}\ndata: {value}\n\n"))
}

/// An answer with one harmless call, and these counts.
fn counted(start: &Value, end: &Value) -> Reply {
    let call = json!({"type": "tool_use", "id": "toolu_1", "name": "Glob", "input": {"pattern": "*.none"}});
    sse([
        event(&json!({"type": "message_start", "message": {"id": "m", "usage": start}})),
        event(&json!({"type": "content_block_start", "index": 0, "content_block": call})),
        event(&json!({"type": "content_block_stop", "index": 0})),
        event(
            &json!({"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": end}),
        ),
        event(&json!({"type": "message_stop"})),
    ])
}

fn rows(world: &World) -> Vec<Value> {
    let ran = world.run(&["cost", "--json", "--by", "request"]);
    let report: Value = serde_json::from_str(&ran.stdout).unwrap();
    report["lines"].as_array().unwrap().clone()
}

/// Sixty requests for nothing would be a budget that limits nothing.
#[test]
#[allow(clippy::print_stdout, reason = "the figures are part of the result")]
fn a_budget_holds_where_no_usage_is_reported() {
    let world = World::new(Script::new().answer(counted(&Value::Null, &Value::Null)).forever());
    let ran = world.run(&["-p", "go", "--max-budget-usd", "0.5", "--max-turns", "60"]);
    assert_eq!(ran.code, Some(5), "{}", ran.stderr);
    let sent = world.server.requests().len();
    assert!((1..20).contains(&sent), "{sent} requests");
    assert_eq!(ran.stderr.matches("reported no usable token counts").count(), 1, "{}", ran.stderr);
    let spent: Vec<Value> =
        world.entries().into_iter().filter(|entry| entry["fact"] == "spent").collect();
    assert_eq!(spent.len(), sent);
    let costs: f64 = spent.iter().map(|entry| entry["cost"].as_f64().unwrap()).sum();
    println!(
        "missing usage: {sent} of 60 requests, {costs:.4} of 0.5 dollars, then the budget ended it"
    );
    assert!(costs > 0.1 && costs <= 0.5, "{costs}");
    assert!(spent.iter().all(|entry| entry["charge"]["status"] == "estimated"), "{spent:?}");
    assert!(rows(&world).iter().all(|row| row["cost_usd"] != 0.0), "{:?}", rows(&world));
}

/// The answer counts, whatever its numbers are.
#[test]
#[allow(clippy::print_stdout, reason = "the figures are part of the result")]
fn impossible_counts_cost_no_answer() {
    for odd in [json!(-1), json!(1e18), json!("12"), json!(2.5)] {
        let (start, end) = (json!({"input_tokens": odd}), json!({"output_tokens": odd}));
        let world = World::new(Script::new().answer(counted(&start, &end)).forever());
        let ran = world.run(&["-p", "go", "--max-turns", "2", "--output-format", "stream-json"]);
        println!(
            "usage of {odd}: {} answers kept, {}",
            world.server.requests().len(),
            ran.terminal()
        );
        assert_eq!(ran.terminal(), "max_turns", "{odd}: {}", ran.stdout);
        assert!(ran.stdout.contains("token counts that cannot be right"), "{odd}: {}", ran.stdout);
    }
}
