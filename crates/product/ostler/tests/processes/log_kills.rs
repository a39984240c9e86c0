//! A process that dies at any write of its log, with steers, a queued prompt and a question on their way: after a resume
//! each of them has been delivered once, and the question is asked again only where its call has not run.

use crate::case_process::{CaseProcess, Part, case, facts, facts_of, log_file};
use futures_util::StreamExt;
use ostler::{
    Driver, Event, Fault, ForkSource, Host, Init, Input, Message, Mode, Reply, Session,
    SessionChoice,
};
use ostler_model_server::{ModelServer, Recorded, Script, calls, text};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader};
use std::os::unix::process::ExitStatusExt;
use std::process::Stdio;

/// Words of what is sent, each in one message.
const SENT: [&str; 3] = ["zebra", "okapi", "giraffe"];
const EFFECTS: &str = "effects.txt";

/// What has been said decides what comes next, so the same model serves a first run and a resumed one.
fn next(request: &Recorded) -> ostler_model_server::Reply {
    let of = |role: &str| {
        let of = request.messages().iter().filter(|message| message["role"] == role);
        of.map(Value::to_string).collect::<String>()
    };
    let (said, answered) = (of("user"), of("assistant"));
    let bash = |command: &str| json!({ "command": command });
    if said.contains("the last") || said.contains("giraffe") || answered.contains(EFFECTS) {
        return text("done");
    }
    match answered.is_empty() {
        true => text("First. ").call("Bash", bash("touch one")),
        false => calls([("Bash", bash(&format!("echo once >> {EFFECTS}")))]),
    }
}

fn started(
    write: Option<u64>,
    torn: Option<usize>,
) -> (ModelServer, tempfile::TempDir, CaseProcess) {
    let server = ModelServer::start(Script::new().by(next).forever()).unwrap();
    let (folder, inside) = case(&server, Part::LogKills { write, torn }, 1);
    (server, folder, inside)
}

fn is(fact: &Value, name: &str) -> bool {
    fact["fact"] == name
}

pub fn died_at_any_write(_: usize) {
    let (_server, _folder, inside) = started(Some(0), None);
    crate::case_process::succeeds(inside.command());
    let writes = facts(&inside).len();
    assert_eq!(delivered(&inside, &facts(&inside)), SENT.len(), "the story has everything");
    let (mut tried, mut due, mut asked_again) = (0, 0, 0);
    for write in 1..=writes as u64 {
        for torn in [None, Some(20)] {
            let (server, _folder, inside) = started(Some(write), torn);
            let died = inside.command().output().unwrap();
            assert_eq!(died.status.signal(), Some(6), "{write}: the crash did not happen");
            let outcome = resumed(&server, &inside);
            (due, asked_again) = (due + outcome.due, asked_again + outcome.asked_again);
            tried += 1;
        }
    }
    println!(
        "kill points of a process with inbox and question tried: {tried} ({writes} writes, whole and torn): \
         {due} items due, each delivered once; {asked_again} questions asked again"
    );
    assert!(asked_again > 0 && due > writes, "it proves nothing");
}

/// Runs it up to its question, and kills it there.
fn killed_at_its_question(inside: &CaseProcess) {
    let mut asks = inside.command().stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(asks.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(line, "asking\n");
    asks.kill().unwrap();
    assert_eq!(asks.wait().unwrap().signal(), Some(9));
}

/// In the copy nothing waits, and a new prompt is not answered with the old question; the session itself still has both.
pub fn forked_after_it_was_killed(_: usize) {
    let (server, _folder, inside) = started(None, None);
    killed_at_its_question(&inside);
    let (before, id) = (facts(&inside), session_id(&inside));
    let log =
        SessionChoice::Fork(ForkSource { session: Some(id.clone()), ..ForkSource::default() });
    let asked = ostler::block_on(async {
        let (host, session) = open(&inside, log);
        let _attendance = session.attend();
        assert!(session.queued().is_empty(), "{:?}", session.queued());
        let asked = read(&session, session.run_queued().unwrap()).await
            + read(&session, session.ask("the last").unwrap()).await;
        session.close("other").await;
        host.close().await;
        asked
    });
    assert_eq!(asked.unwrap(), 0);
    assert!(!inside.project().join(EFFECTS).exists(), "nobody said yes");
    let last = server.requests().pop().unwrap().json()["messages"].to_string();
    assert_eq!(SENT.map(|word| last.matches(word).count()), [1, 0, 0], "{last}");
    assert_eq!(facts_of(&inside, &id), before, "the session itself was changed");
    assert_eq!(server.rejected(), Vec::<String>::new());
    let still_asks = ostler::block_on(async {
        let (host, session) = open(&inside, SessionChoice::Resume(id));
        let asks = session.can_resume_turn() && session.queued().len() == 1;
        session.close("other").await;
        host.close().await;
        asks
    });
    assert!(still_asks.unwrap(), "{before:#?}");
    println!("open question: 0 asked in a fork, 1 still open in the session itself");
}

/// The first thing said to the resumed session is another prompt: the question is withdrawn and its call never runs.
pub fn told_something_else_after_it_was_killed(_: usize) {
    let (server, _folder, inside) = started(None, None);
    killed_at_its_question(&inside);
    let (before, id) = (facts(&inside), session_id(&inside));
    let asked = ostler::block_on(async {
        let (host, session) = open(&inside, SessionChoice::Resume(id));
        let _attendance = session.attend();
        assert!(session.can_resume_turn());
        let asked = read(&session, session.ask("the last").unwrap()).await;
        assert!(!session.can_resume_turn(), "the question is still open");
        session.close("other").await;
        host.close().await;
        asked
    })
    .unwrap();
    let effects = inside.project().join(EFFECTS).exists();
    assert_eq!((asked, effects), (0, false), "asked again, or run");
    let after = facts(&inside);
    assert_eq!(after[..before.len()], before, "the log was rewritten");
    let last = server.requests().pop().unwrap().json()["messages"].to_string();
    assert_eq!(last.matches("the last").count(), 1, "{last}");
    assert_eq!(server.rejected(), Vec::<String>::new());
    println!("open question: 0 asked and 0 calls run after kill -9 and a new prompt");
}

pub fn killed_while_it_asks(_: usize) {
    let (server, _folder, inside) = started(None, None);
    killed_at_its_question(&inside);
    let outcome = resumed(&server, &inside);
    // One steer had been delivered, and the queued prompt waited.
    assert_eq!((outcome.due, outcome.asked_again), (2, 1));
    println!(
        "kill -9 of a process that asks: {} items due, each delivered once, asked again once",
        outcome.due
    );
}

/// The process that dies. What it sends follows from what it reads.
pub fn inside(init: &Init, told: &CaseProcess, write: Option<u64>, torn: Option<usize>) {
    let mut options = told.options();
    options.session.mode = Mode::Default;
    options.host.fault = write.map(|after_writes| Fault { after_writes, torn });
    ostler::block_on(async {
        let host = Host::open(init, options.host).unwrap();
        let session = host.session(options.session).unwrap();
        let _attendance = session.attend();
        let mut turn = session.ask("go").unwrap();
        let steer = |words: &str| drop(session.send(Input::Steer(Message::user(words))).unwrap());
        let mut spoke = false;
        while let Some(envelope) = turn.next().await {
            match &envelope.event {
                Event::TextDelta { .. } if !std::mem::replace(&mut spoke, true) => steer("zebra"),
                Event::CallAsked { .. } => {
                    session.send(Input::Prompt("giraffe".into())).unwrap();
                    if write.is_none() {
                        println!("asking");
                        std::future::pending::<()>().await;
                    }
                    yes(&session, &envelope.event);
                }
                Event::CallStarted { .. } => steer("okapi"),
                _ => {}
            }
        }
    })
    .unwrap();
}

/// True for a question, which is answered with yes.
fn yes(session: &Session, event: &Event) -> bool {
    let Event::CallAsked { question: Some(question), .. } = event else { return false };
    let (question, by) = (question.id.clone(), "test".into());
    session.send(Input::Answer { question, reply: Reply::Yes, by }).unwrap();
    true
}

struct Outcome {
    /// Items that had arrived when it died.
    due: usize,
    asked_again: usize,
}

/// Goes on in this process, and checks what became of everything that was on its way.
fn resumed(server: &ModelServer, inside: &CaseProcess) -> Outcome {
    let before = facts(inside);
    if !before.iter().any(|fact| is(fact, "prompt")) {
        return Outcome { due: 0, asked_again: 0 };
    }
    let was_open = before.iter().any(|fact| is(fact, "asked"))
        && !before.iter().any(|fact| is(fact, "decided") || is(fact, "call_started"));
    let asked = ostler::block_on(go_on(inside)).unwrap();
    let after = facts(inside);
    assert_eq!(after[..before.len()], before, "the log was rewritten");
    let due = delivered(inside, &after);
    for request in server.requests() {
        let messages = request.json()["messages"].to_string();
        let counts = SENT.map(|word| messages.matches(word).count());
        assert!(counts.iter().all(|count| *count <= 1), "twice: {messages}");
    }
    let last = server.requests().pop().unwrap().json()["messages"].to_string();
    let told = SENT.iter().filter(|word| last.contains(**word)).count();
    assert_eq!(told, due, "{last}");
    let effects = std::fs::read_to_string(inside.project().join(EFFECTS)).unwrap_or_default();
    assert!(effects.lines().count() <= 1, "it ran twice");
    if was_open {
        assert_eq!((asked, effects.as_str()), (1, "once\n"), "{after:#?}");
    }
    assert_eq!(server.rejected(), Vec::<String>::new());
    Outcome { due, asked_again: usize::from(was_open) }
}

fn session_id(inside: &CaseProcess) -> String {
    let log = log_file(&inside.root).unwrap();
    log.file_stem().unwrap().to_string_lossy().into_owned()
}

fn open(inside: &CaseProcess, log: SessionChoice) -> (Host, Session) {
    let mut options = inside.options();
    (options.session.mode, options.session.log) = (Mode::Default, log);
    let host = Host::open(&ostler::init(), options.host).unwrap();
    let session = host.session(options.session).unwrap();
    (host, session)
}

/// Whatever was left, and a last prompt; how many questions were asked.
async fn go_on(inside: &CaseProcess) -> usize {
    let (host, session) = open(inside, SessionChoice::Resume(session_id(inside)));
    let _attendance = session.attend();
    let mut asked = 0;
    if session.can_resume_turn() {
        asked += read(&session, session.resume_turn().unwrap()).await;
    }
    asked += read(&session, session.run_queued().unwrap()).await;
    asked += read(&session, session.ask("the last").unwrap()).await;
    assert!(session.queued().is_empty(), "{:?}", session.queued());
    assert!(!session.can_resume_turn());
    session.close("other").await;
    host.close().await;
    asked
}

async fn read(session: &Session, mut turn: Driver) -> usize {
    let mut asked = 0;
    while let Some(envelope) = turn.next().await {
        asked += usize::from(yes(session, &envelope.event));
    }
    asked
}

/// How many of the messages had arrived; each of them is part of the conversation once.
fn delivered(inside: &CaseProcess, facts: &[Value]) -> usize {
    let mut due = 0;
    for word in SENT {
        let has = |fact: &&Value| is(fact, "inbound") && fact.to_string().contains(word);
        let arrived: Vec<&Value> = facts.iter().filter(has).collect();
        assert!(arrived.len() <= 1, "{word} arrived twice");
        let Some(id) = arrived.first().map(|fact| &fact["id"]) else { continue };
        let names = |fact: &&Value| {
            fact["inbound"].as_array().is_some_and(|ids| ids.contains(id)) && !is(fact, "withdrawn")
        };
        let admissions = facts.iter().filter(names).count();
        assert_eq!(admissions, 1, "{word} in {}", inside.root.display());
        due += 1;
    }
    due
}
