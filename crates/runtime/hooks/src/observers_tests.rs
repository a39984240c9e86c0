//! What observers keep of a turn.

use super::*;
use ostler_core::event::{AgentPath, CallOutcome};
use ostler_core::permission::By;
use ostler_core::turn::Terminal;

fn opened(folder: &Path, session: &str) -> Option<EventLog> {
    EventLog::open(folder, &session.into(), Arc::new(ostler_core::time::SteppingClock::default()))
}

fn started(id: &str, name: &str, input: Value) -> Event {
    Event::CallStarted { id: id.into(), name: name.into(), input }
}

fn ended(id: &str, name: &str, text: &str, is_error: bool, denied: bool) -> Event {
    let content = vec![ResultPart::text(text)];
    let result = Block::ToolResult { id: id.into(), content, is_error };
    let outcome = match (is_error, denied) {
        (_, true) => CallOutcome::Denied { by: By::Rule },
        (true, false) => CallOutcome::Failed,
        (false, false) => CallOutcome::Succeeded,
    };
    Event::CallFinished {
        id: id.into(),
        name: name.into(),
        outcome,
        decision: None,
        result,
        shown: None,
        detail: None,
        took_ms: (!denied).then_some(20),
        input: None,
    }
}

fn see(observer: &mut Observer, event: Event) {
    observer.see(&Envelope {
        version: ostler_core::event::VERSION,
        seq: 1,
        at: ostler_core::time::Timestamp(0),
        session: "s-1".into(),
        agent: AgentPath::default(),
        parent: None,
        event,
    });
}

fn finished() -> Event {
    Event::Finished(Box::new(Finished {
        terminal: Terminal::Completed,
        text: String::new(),
        error: None,
        error_status: None,
        stop: None,
        iterations: 2,
        usage: ostler_core::ledger::Usage::default(),
        per_model: Vec::new(),
        cost: Some(0.5),
        denials: Vec::new(),
        calls_run: 2,
        api_time_ms: 0,
        budgets: Vec::new(),
    }))
}

#[test]
fn a_line_says_what_happened_and_no_more() {
    let folder = tempfile::tempdir().unwrap();
    let log = opened(folder.path(), "s-1").unwrap();
    let mut observer = Observer::new(Some(log));
    let secret = "x".repeat(5000);
    see(&mut observer, Event::TextDelta { text: "not logged".into() });
    see(&mut observer, started("a", "Bash", json!({ "command": secret })));
    see(&mut observer, ended("a", "Bash", &"y".repeat(3000), false, false));
    see(&mut observer, started("b", "Read", json!({})));
    see(&mut observer, ended("b", "Read", "no such file", true, false));
    see(&mut observer, ended("c", "Read", "refused", true, true));
    see(&mut observer, finished());
    observer.finish();

    let path = &event_logs(folder.path())[0];
    let text = fs::read_to_string(path).unwrap();
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let names: Vec<&str> = lines.iter().map(|line| line["event"].as_str().unwrap()).collect();
    assert_eq!(
        names,
        [
            "call_started",
            "call_finished",
            "call_started",
            "call_finished",
            "call_finished",
            "turn_finished",
            "statistics"
        ]
    );
    assert!(lines.iter().all(|line| line["at"].as_str().unwrap().ends_with('Z')));
    assert_eq!(lines[0]["input"].as_str().unwrap().chars().count(), PREVIEW + 1);
    assert_eq!(
        (lines[1]["output_length"].as_u64(), &lines[1]["error"]),
        (Some(3000), &Value::Null)
    );
    assert!(lines[1]["ms"].is_u64() && lines[4]["ms"].is_null());
    assert_eq!(lines[3]["error"], "no such file");
    assert_eq!(lines[6]["tools"]["Read"]["calls"], 2);
    assert_eq!(lines[6]["tools"]["Read"]["errors"], 1);
    assert_eq!(lines[6]["tools"]["Read"]["refused"], 1);
    let shown = observer.stats().lines();
    assert!(shown[0].starts_with("Bash: 1 call, 0.0 s"), "{shown:?}");
    assert!(shown[1].starts_with("Read: 2 calls, 1 failed, 1 refused, "), "{shown:?}");
}

#[test]
fn logs_are_bounded_in_size_and_number() {
    let folder = tempfile::tempdir().unwrap();
    let mut log = opened(folder.path(), "s").unwrap();
    log.written = MOST_BYTES - 10;
    log.write(json!({"event": "last"}));
    log.write(json!({"event": "never"}));
    let text = fs::read_to_string(folder.path().join("s.jsonl")).unwrap();
    assert!(
        text.contains("last") && text.contains("log_full") && !text.contains("never"),
        "{text}"
    );
    for n in 0..MOST_LOGS + 5 {
        opened(folder.path(), &format!("n{n}")).unwrap();
    }
    assert_eq!(event_logs(folder.path()).len(), MOST_LOGS);
    for name in ["../x", "", "a/b", "a\nb"] {
        assert!(opened(folder.path(), name).is_none(), "{name:?}");
    }
}
