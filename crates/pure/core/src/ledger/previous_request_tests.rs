use super::*;
use crate::ledger::{ChargeStatus, Purpose};
use crate::model::{Request, Thinking};
use crate::rendering::SharedList;
use crate::tool::ToolSpec;
use crate::view::View;

fn request() -> Request {
    Request {
        model: "m".into(),
        system: SharedList::from(["you are".to_owned(), "here".to_owned()]),
        tools: SharedList::from([spec("Bash", "runs"), spec("Read", "reads")]),
        view: View::default(),
        max_output: 100,
        thinking: Thinking::Auto,
        retries: 0,
        retries_before_fallback: None,
        raw_events: false,
        source: crate::ledger::Purpose::Answer,
        agent: Default::default(),
    }
}

fn spec(name: &str, description: &str) -> ToolSpec {
    let input_schema = serde_json::json!({"type": "object"});
    ToolSpec {
        name: name.into(),
        description: description.into(),
        input_schema,
        ..ToolSpec::default()
    }
}

fn sent(request: &Request, minute: u64, write: u64, read: u64) -> SentRequest {
    let mut sent = SentRequest::new(request, Timestamp(minute * 60_000));
    sent.usage = Usage { cache_write: write, cache_read: read, ..Usage::default() };
    sent
}

fn charge(purpose: Purpose) -> Charge {
    Charge {
        id: "r".into(),
        at: Timestamp(0),
        agent: "main".into(),
        task: None,
        tool: None,
        purpose,
        status: ChargeStatus::Ok,
        latency_ms: 1,
        first_byte_ms: None,
        price: None,
        broken: None,
    }
}

/// The log after one request, read by another process.
fn earlier() -> Earlier {
    let mut trail = Trail::default();
    let before = sent(&request(), 0, 5_000, 0);
    let front = serde_json::to_string(&before.front()).unwrap();
    let front = serde_json::from_str(&front).unwrap();
    trail.spent(&"m".into(), &before.usage, Some(&charge(Purpose::Answer)), Some(front));
    trail.earlier().unwrap()
}

#[test]
fn what_a_new_process_changed_is_named() {
    type Case = (fn(&mut Request), u64, u64, Option<Change>);
    let tools = |tool: &str| Some(Change::Tools { tool: tool.into() });
    let table: Vec<Case> = vec![
        (|_| {}, 1, 5_000, None),
        (|_| {}, 1, 0, Some(Change::Unknown)),
        (|_| {}, 5, 0, None),
        (|r| r.model = "n".into(), 1, 0, Some(Change::Model { from: "m".into(), to: "n".into() })),
        (|r| r.tools = SharedList::from([spec("Bash", "runs")]), 1, 0, tools("Read")),
        (
            |r| r.tools = SharedList::from([spec("Bash", "x"), spec("Read", "reads")]),
            1,
            0,
            tools("Bash"),
        ),
        (
            |r| r.system = SharedList::from(["you are".to_owned(), "there".to_owned()]),
            1,
            0,
            Some(Change::System { part: 2 }),
        ),
        (|r| r.thinking = Thinking::Disabled, 1, 0, Some(Change::Thinking)),
        // Changed, but the cache gave what it had to: no alarm.
        (|r| r.thinking = Thinking::Disabled, 1, 4_900, None),
    ];
    for (n, (change, minute, read, expected)) in table.into_iter().enumerate() {
        let mut request = request();
        change(&mut request);
        let broken = earlier().watch(&sent(&request, minute, 0, read));
        assert_eq!(broken.map(|broken| broken.change), expected, "case {n}");
    }
}

#[test]
fn the_trail_is_of_the_conversation_and_ends_where_it_is_cut() {
    let usage = |read| Usage { cache_read: read, ..Usage::default() };
    let front = || Some(sent(&request(), 0, 0, 0).front());
    let mut trail = Trail::default();
    assert_eq!(trail.earlier(), None);
    trail.spent(&"m".into(), &usage(7), Some(&charge(Purpose::Answer)), None);
    assert_eq!(trail.earlier(), None, "nobody knows its front");
    trail.spent(&"m".into(), &usage(8), Some(&charge(Purpose::Answer)), front());
    trail.spent(&"m".into(), &usage(9), Some(&charge(Purpose::Compaction)), None);
    trail.spent(&"m".into(), &usage(0), Some(&charge(Purpose::Answer)), None);
    assert_eq!(trail.earlier().unwrap().usage, usage(8));
    trail.spent(&"m".into(), &usage(10), Some(&charge(Purpose::Retry)), None);
    assert_eq!(trail.earlier().unwrap().usage, usage(10));
    trail.cut();
    assert_eq!(trail.earlier(), None);
}
