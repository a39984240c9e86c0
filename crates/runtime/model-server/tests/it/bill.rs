//! The bill against sums made by hand, and against what a client was told.

use ostler_model_server::{Billed, ModelServer, Prices, Script, after, status, text};
use serde_json::{Value, json};
use std::panic::AssertUnwindSafe;
use std::time::Duration;

use crate::client::{Client, hello, serve, with};

fn marked(text: &str, ttl: &str) -> Value {
    json!({"type": "text", "text": text, "cache_control": {"type": "ephemeral", "ttl": ttl}})
}

/// 2 003 tokens of system prompt under a mark.
fn long(ttl: &str) -> Value {
    with(hello(), "system", json!([marked(&"s".repeat(8000), ttl)]))
}

fn ask(server: &ModelServer, body: &Value) {
    Client::to(server).ask(body);
}

#[test]
fn tokens_and_cost_by_hand() {
    // 40 bytes of answer are 10 tokens.
    let server = serve(Script::new().answer(text("a".repeat(40))).forever());
    // Seconds since the request before, lifetime of the mark → written for 5 min, for 1 h, read.
    let table = [
        (0, "5m", (2003, 0, 0)),
        (299, "5m", (0, 0, 2003)),
        (301, "5m", (2003, 0, 0)),
        // What is read keeps its lifetime; the mark writes nothing new.
        (0, "1h", (0, 0, 2003)),
        (3500, "1h", (0, 2003, 0)),
        (3601, "1h", (0, 2003, 0)),
        (3599, "1h", (0, 0, 2003)),
    ];
    for (wait, ttl, _) in table {
        server.pass(Duration::from_secs(wait));
        ask(&server, &long(ttl));
    }
    let bill = server.bill();
    let rows: Vec<_> = bill
        .rows()
        .map(|row| (row.billed.cache_write_5m, row.billed.cache_write_1h, row.billed.cache_read))
        .collect();
    assert_eq!(rows, table.map(|(_, _, expected)| expected));
    let input: u64 = bill.rows().map(|row| row.billed.input).sum();
    let total = bill.total();
    assert_eq!((total.output, total.input), (70, input));
    assert_eq!((total.cache_write_5m, total.cache_write_1h, total.cache_read), (4006, 4006, 6009));
    let cost = input as f64 * 3.0 + 70.0 * 15.0 + 4006.0 * (3.75 + 6.0) + 6009.0 * 0.3;
    assert!((bill.cost().unwrap() - cost / 1e6).abs() < 1e-12);
}

#[test]
fn what_never_began_is_not_billed() {
    let script = Script::new()
        .answer(status(529))
        .answer(text("unheard").cut(after("request").close()))
        .answer(text("head only").cut(after("headers").end()))
        .answer(text("cut").cut(after("content_block_delta").end()))
        .answer(text("a".repeat(40)));
    let server = serve(script);
    for _ in 0..5 {
        // Broken off on purpose: the client may fail.
        let _ = std::panic::catch_unwind(AssertUnwindSafe(|| ask(&server, &hello())));
    }
    let bill = server.bill();
    let rows: Vec<_> =
        bill.rows().map(|row| (row.number, row.billed.output, row.complete)).collect();
    assert_eq!(rows, [(3, 1, false), (4, 10, true)], "the last usage that was sent counts");
}

#[test]
fn prices_by_the_beginning_of_the_name() {
    let script = Script::new()
        .answer(text("a".repeat(40)))
        .forever()
        .price("big", Prices::new(10.0, 50.0))
        .price("big-cheap", Prices::new(1.0, 5.0));
    let server = serve(script);
    for model in ["big", "big-cheap-1", "strange"] {
        ask(&server, &with(hello(), "model", json!(model)));
    }
    let bill = server.bill();
    let costs: Vec<_> = bill.rows().map(|row| row.cost).collect();
    let input = bill.of_model("big").input as f64;
    assert_eq!(costs[0], Some((input * 10.0 + 10.0 * 50.0) / 1e6));
    assert_eq!(costs[1], Some((input * 1.0 + 10.0 * 5.0) / 1e6));
    assert_eq!((costs[2], bill.cost()), (None, None), "unknown is not zero");
    assert_eq!(bill.of_model("nobody"), Billed::default());
    assert!(ModelServer::start(Script::new().price("x", Prices::new(-1.0, 1.0))).is_err());
    let yaml = "prices: {x: {input: 2, output: 3, cache_read: 1}}\nsteps: [{say: hi}]";
    let prices = Script::from_yaml(yaml).unwrap().prices;
    assert_eq!(prices, [("x".to_owned(), Prices { cache_read: 1.0, ..Prices::new(2.0, 3.0) })]);
}
