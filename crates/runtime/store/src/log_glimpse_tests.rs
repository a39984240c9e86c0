use super::*;
use ostler_core::ids::ModelId;
use ostler_core::message::{Block, Message};
use ostler_core::ports::SessionStore;
use ostler_core::session::FORMAT;
use ostler_core::time::Timestamp;
use ostler_core::turn::Terminal;

fn opened(id: &str, workspace: &str, started_by: Option<StartedBy>) -> Entry {
    Entry::Opened {
        format: FORMAT,
        session: id.into(),
        workspace: workspace.into(),
        at: Timestamp(5),
        forked_from: None,
        started_by: started_by.map(Box::new),
    }
}

fn prompt(text: &str) -> Entry {
    Entry::prompt(Message::user(text), Timestamp(6))
}

fn answer(text: String) -> Entry {
    let message = Message::assistant(&ModelId::new("m"), vec![Block::text(text)]);
    Entry::Answer { message, stop: None }
}

fn texts(entries: &[Entry]) -> Vec<String> {
    let text = |entry: &Entry| match entry {
        Entry::Answer { message, .. } | Entry::Prompt { message, .. } => message.text(),
        _ => panic!("not wanted: {entry:?}"),
    };
    entries.iter().map(text).collect()
}

/// Of a log that is larger than what is read: its beginning, its end, and nothing of what is cut in the middle.
#[test]
fn both_ends_of_a_large_log_are_seen() {
    let home = tempfile::tempdir().unwrap();
    let store = FileStore::new(home.path()).unwrap();
    let link = StartedBy {
        session: "above".into(),
        call: "c1".into(),
        agent: ostler_core::event::AgentPath::default().child("explorer-1"),
        root: None,
        definition: None,
    };
    let log = store.create(opened("s", "/w", Some(link.clone()))).unwrap();
    let long = "x".repeat(700 << 10);
    log.append(&prompt("look around")).unwrap();
    for n in 0..3 {
        log.append(&answer(format!("{n}{long}"))).unwrap();
        log.append(&Entry::End { terminal: Terminal::Completed, at: Timestamp(7) }).unwrap();
    }
    log.append(&answer("last".into())).unwrap();
    let id = SessionId::new("s");
    let seen = store.glimpse(&id, &["answer", "prompt"]).unwrap();
    assert_eq!((seen.workspace, seen.started_by), (Some("/w".into()), Some(link)));
    assert_eq!(seen.title, "look around");
    assert_eq!(texts(&seen.newest), [format!("2{long}"), "last".to_owned()]);
    // Half a line is not there yet.
    let path = store.layout.locate(&id).unwrap().unwrap();
    let whole = fs::read(&path).unwrap();
    fs::write(&path, &whole[..whole.len() - 3]).unwrap();
    assert_eq!(texts(&store.glimpse(&id, &["answer"]).unwrap().newest), [format!("2{long}")]);
    // An empty log, and none.
    fs::write(&path, "").unwrap();
    assert!(store.glimpse(&id, &["answer"]).unwrap().newest.is_empty());
    assert!(store.glimpse(&"none".into(), &[]).is_err());
}

#[test]
fn open_sessions_are_those_that_somebody_holds() {
    let home = tempfile::tempdir().unwrap();
    let store = FileStore::new(home.path()).unwrap();
    let a = store.create(opened("a", "/one", None)).unwrap();
    let b = store.create(opened("b", "/two", None)).unwrap();
    assert_eq!(store.open_sessions().unwrap(), ["a".into(), "b".into()]);
    drop(a);
    assert_eq!(store.open_sessions().unwrap(), ["b".into()]);
    assert!(store.is_open(&"b".into()) && !store.is_open(&"a".into()));
    let lock = beside(&store.layout.locate(&"b".into()).unwrap().unwrap(), "lock");
    let signed = fs::read(&lock).unwrap();
    drop(b);
    // A lock file that a dead process left, though its number is in use: nobody holds it.
    fs::write(&lock, signed).unwrap();
    assert_eq!(store.open_sessions().unwrap(), [] as [SessionId; 0]);
}

#[test]
fn newest_sessions_are_those_of_people() {
    let home = tempfile::tempdir().unwrap();
    let store = FileStore::new(home.path()).unwrap();
    let link = StartedBy {
        session: "a".into(),
        call: "c1".into(),
        agent: ostler_core::event::AgentPath::default(),
        root: None,
        definition: None,
    };
    for (id, link) in [("a", None), ("b", None), ("c", Some(link)), ("d", None)] {
        let log = store.create(opened(id, "/w", link)).unwrap();
        if id != "d" {
            log.append(&prompt("go")).unwrap();
        }
    }
    let mut newest = store.newest_sessions(10).unwrap();
    newest.sort();
    assert_eq!(newest, ["a".into(), "b".into()], "no agents, and nothing that has not begun");
    assert_eq!(store.newest_sessions(1).unwrap().len(), 1);
}
