use super::*;
use crate::message::Message;

fn request(messages: &[&str]) -> Request {
    let message = |(n, text): (usize, &&str)| match n % 2 {
        0 => Message::user(*text),
        _ => Message::assistant(&"m".into(), vec![crate::message::Block::text(*text)]),
    };
    Request {
        model: "m".into(),
        system: SharedList::from(["you are".to_owned(), "here".to_owned()]),
        tools: SharedList::from([spec("Bash", "runs"), spec("Read", "reads")]),
        view: View::from_messages(messages.iter().enumerate().map(message)),
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

/// What the second request changes, and what the alarm calls it.
#[test]
fn the_change_is_named() {
    type Case = (&'static str, Box<dyn Fn(&mut Request)>, Change);
    let table: Vec<Case> = vec![
        (
            "model",
            Box::new(|r| r.model = "n".into()),
            Change::Model { from: "m".into(), to: "n".into() },
        ),
        (
            "a tool's words",
            Box::new(|r| r.tools = SharedList::from([spec("Bash", "runs"), spec("Read", "looks")])),
            Change::Tools { tool: "Read".into() },
        ),
        (
            "a tool less",
            Box::new(|r| r.tools = SharedList::from([spec("Bash", "runs")])),
            Change::Tools { tool: "Read".into() },
        ),
        (
            "a tool more, in front",
            Box::new(|r| {
                r.tools = SharedList::from([
                    spec("Ask", ""),
                    spec("Bash", "runs"),
                    spec("Read", "reads"),
                ]);
            }),
            Change::Tools { tool: "Ask".into() },
        ),
        (
            "system",
            Box::new(|r| r.system = SharedList::from(["you are".to_owned(), "there".to_owned()])),
            Change::System { part: 2 },
        ),
        ("thinking", Box::new(|r| r.thinking = Thinking::Disabled), Change::Thinking),
        (
            "tools come before system",
            Box::new(|r| {
                r.tools = SharedList::from([]);
                r.system = SharedList::from([]);
            }),
            Change::Tools { tool: "Bash".into() },
        ),
        (
            "a message in the middle",
            Box::new(|r| r.view = request(&["a", "B", "c", "d", "e"]).view),
            Change::Message { n: 2, of: 3 },
        ),
        (
            "the first message",
            Box::new(|r| r.view = request(&["A", "b", "c", "d", "e"]).view),
            Change::Message { n: 1, of: 3 },
        ),
        (
            "shorter",
            Box::new(|r| r.view = request(&["a"]).view),
            Change::Shortened { from: 3, to: 1 },
        ),
        ("nothing", Box::new(|_| {}), Change::Unknown),
        (
            "only longer, by other objects of the same content",
            Box::new(|r| r.view = request(&["a", "b", "c", "d", "e"]).view),
            Change::Unknown,
        ),
    ];
    for (name, change, named) in table {
        let before = request(&["a", "b", "c"]);
        let mut after = before.clone();
        change(&mut after);
        let found = watch(&sent(&before, 0, 20_000, 30_000), &sent(&after, 4, 0, 0), false);
        assert_eq!(found, Some(Broken { expected: 50_000, read: 0, change: named }), "{name}");
    }
}

#[test]
fn a_pause_is_named_when_nothing_changed() {
    let one = request(&["a", "b", "c"]);
    let alarm = |minute, long| {
        let mut before = sent(&one, 0, 20_000, 0);
        before.usage.cache_write_1h = if long { 20_000 } else { 0 };
        watch(&before, &sent(&one, minute, 20_000, 0), false).map(|broken| broken.change)
    };
    assert_eq!(alarm(4, false), Some(Change::Unknown));
    assert_eq!(alarm(5, false), Some(Change::Pause { seconds: 300 }));
    assert_eq!(alarm(59, true), Some(Change::Unknown));
    assert_eq!(alarm(60, true), Some(Change::Pause { seconds: 3600 }));
    let mut other = one.clone();
    other.thinking = Thinking::Disabled;
    let both = watch(&sent(&one, 0, 20_000, 0), &sent(&other, 90, 0, 0), false).map(|b| b.change);
    assert_eq!(both, Some(Change::Thinking), "a change explains it whatever the time");
}

#[test]
fn what_is_no_alarm() {
    let one = request(&["a", "b", "c"]);
    // (left by the one before, read now)
    let quiet = [(0, 0), (1_000, 0), (50_000, 50_000), (50_000, 60_000), (50_000, 45_000)];
    for (left, read) in quiet {
        let found = watch(&sent(&one, 0, left, 0), &sent(&one, 0, 0, read), false);
        assert_eq!(found, None, "{left} {read}");
    }
    for (left, read) in [(1_024, 0), (50_000, 44_999), (50_000, 0)] {
        let found = watch(&sent(&one, 0, left, 0), &sent(&one, 0, 0, read), false);
        assert!(found.is_some(), "{left} {read}");
    }
}

#[test]
fn an_alarm_survives_the_log() {
    let broken = Broken { expected: 9, read: 1, change: Change::Message { n: 3, of: 7 } };
    let text = serde_json::to_string(&broken).unwrap();
    assert_eq!(serde_json::from_str::<Broken>(&text).unwrap(), broken);
    let newer = r#"{"expected":9,"read":1,"change":{"what":"moon phase"}}"#;
    assert_eq!(serde_json::from_str::<Broken>(newer).unwrap().change, Change::Unknown);
    assert_eq!(
        broken.to_string(),
        "the prompt cache returned 1 tokens instead of 9: message 3 of 7 changed"
    );
}

/// What the harness shortened itself is not called a mystery; anything else still is.
#[test]
fn room_that_was_made_is_named() {
    let one = request(&["a", "b", "c"]);
    let change = |after: &Request, made_room| {
        let found = watch(&sent(&one, 0, 20_000, 0), &sent(after, 1, 0, 0), made_room);
        found.map(|broken| broken.change)
    };
    let summed_up = request(&["summary", "b", "c"]);
    assert_eq!(change(&summed_up, false), Some(Change::Message { n: 1, of: 3 }));
    assert_eq!(change(&summed_up, true), Some(Change::MadeRoom));
    assert_eq!(change(&request(&["a"]), true), Some(Change::MadeRoom));
    assert!(Change::MadeRoom.is_meant());
    let other_tools = Request { tools: SharedList::from([spec("Ask", "")]), ..summed_up };
    assert_eq!(change(&other_tools, true), Some(Change::Tools { tool: "Ask".into() }));
}
