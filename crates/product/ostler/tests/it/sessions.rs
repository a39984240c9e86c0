//! A session belongs to a home, not to a host.

use crate::support::{World, answer, finished, open, try_open, until, with_log};
use ostler::{
    Error, Event, ForkSource, Mode, Reply, SessionChoice, SessionId, StoreError, Terminal,
};
use ostler_model_server::{Script, calls, text};
use serde_json::json;

pub async fn an_opened_session_goes_on() {
    let world = World::new(Script::new().answer(text("noted")).forever());
    let first = open(world.on_disk());
    let id = first.id().to_string();
    finished(first.ask("remember the horse").unwrap()).await;
    drop(first);
    let choices = [
        SessionChoice::Resume(id.clone()),
        SessionChoice::Resume(id[..13].to_owned()),
        SessionChoice::Continue,
    ];
    for (n, choice) in choices.into_iter().enumerate() {
        let session = open(with_log(world.on_disk(), choice.clone()));
        assert_eq!(session.id().as_str(), id, "{choice:?}");
        assert_eq!(
            finished(session.ask(format!("prompt {n}")).unwrap()).await.terminal,
            Terminal::Completed
        );
        let messages = world.told(n + 1);
        assert!(
            messages.contains("remember the horse") && messages.contains("noted"),
            "{messages}"
        );
        assert_eq!(messages.matches("<environment>").count(), 1, "{messages}");
    }
    let listed =
        ostler::list_sessions(&world.root().join("home"), &world.project().canonicalize().unwrap())
            .unwrap();
    assert_eq!(listed.len(), 1);
    assert_eq!((listed[0].title.as_str(), listed[0].messages), ("remember the horse", 8));
    world.assert_never_rejected();
}

pub async fn a_session_has_one_owner() {
    let world = World::new(Script::new().answer(text("ok")).forever());
    let owner = open(world.on_disk());
    let id = owner.id().clone();
    finished(owner.ask("mine").unwrap()).await;
    let taking = |session| try_open(with_log(world.on_disk(), session));
    let refused = taking(SessionChoice::Resume(id.to_string())).err().unwrap();
    assert!(matches!(refused, Error::Store(StoreError::Locked { .. })), "{refused}");
    let refused = taking(SessionChoice::Named(id.clone())).err().unwrap();
    assert!(matches!(refused, Error::Store(StoreError::Exists(_))), "{refused}");
    let copy = taking(fork(Some(&id.to_string()))).unwrap();
    assert_ne!(*copy.id(), id);
    finished(copy.ask("in the copy").unwrap()).await;
    assert!(world.told(1).contains("\"mine\""));
    finished(owner.ask("in the original").unwrap()).await;
    assert!(!world.told(2).contains("in the copy"));
    drop(owner);
    taking(SessionChoice::Resume(id.to_string())).unwrap();
    world.assert_never_rejected();
}

pub async fn without_a_home_everything_stays_in_memory() {
    let script = Script::new()
        .answer(calls([
            ("Read", json!({"file_path": "a.txt"})),
            ("Bash", json!({"command": "cat a.txt"})),
        ]))
        .answer(text("first"))
        .answer(text("second"));
    let world = World::new(script);
    std::fs::write(world.project().join("a.txt"), "a line\n".repeat(20_000)).unwrap();
    let before = world.files();
    let session = world.session();
    finished(session.ask("one").unwrap()).await;
    finished(session.ask("two").unwrap()).await;
    assert!(world.told(2).contains("\"one\"") && world.told(2).contains("first"));
    // A result that is too long has no place to be kept, and says so.
    let result = world.server.requests()[1].tool_results()[1]["content"].to_string();
    assert!(
        result.contains("not stored in a file") && !result.contains("The full output is in"),
        "{result}"
    );
    drop(session);
    assert_eq!(world.files(), before);
    world.assert_never_rejected();
}

pub async fn without_a_home_there_is_nothing_to_resume() {
    let world = World::new(Script::new());
    let opening = |session| try_open(with_log(world.options(), session));
    let id = "6f1d0e52-6a44-4f0e-9c5b-0d8f3f2b7a11";
    for session in [SessionChoice::Resume(id.into()), fork(Some(id))] {
        let error = opening(session).err().unwrap();
        assert!(matches!(error, Error::Store(StoreError::NotFound(_))), "{error}");
    }
    assert!(matches!(opening(fork(None)).err().unwrap(), Error::NothingToFork));
    assert_eq!(opening(SessionChoice::Named(SessionId::new(id))).unwrap().id().as_str(), id);
    let error = opening(SessionChoice::Continue).err().unwrap();
    assert!(matches!(error, Error::NothingToContinue(_)), "{error}");
}

/// Written once by the program that made this format, never again. Its process died while it asked.
const FORMAT_2: &[u8] = include_bytes!("../../../../runtime/store/tests/fixtures/format-2.log");

pub async fn a_log_of_format_2_goes_on() {
    const ID: &str = "0190a1b2-c3d4-7e5f-8a6b-7c8d9e0f2b3c";
    let world = World::new(Script::new().answer(text("Made.")).answer(text("Next.")));
    let folder = world.root().join("home/sessions/some-project");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join(format!("{ID}.log")), FORMAT_2).unwrap();
    let mut options = with_log(world.on_disk(), SessionChoice::Resume(ID.into()));
    options.session.mode = Mode::Default;
    options.session.keep_model = true;
    let session = open(options);
    let _attendance = session.attend();
    assert_eq!(session.model().as_str(), "model-2", "as it was changed to");
    assert!(session.plan().is_open());
    let queued: Vec<String> = session.queued().into_iter().map(|item| item.text).collect();
    assert_eq!(queued, ["The next of the queue"]);
    assert!(session.can_resume_turn(), "a question is open");

    let (mut turn, mut asked) = (session.resume_turn().unwrap(), 0);
    until(&mut turn, |event| {
        asked += usize::from(matches!(event, Event::CallAsked { .. }));
        answer(&session, event, &Reply::Yes);
        matches!(event, Event::Finished(_))
    })
    .await;
    drop(turn);
    assert_eq!(asked, 1);
    assert!(world.project().join("golden").exists(), "the call that was asked about has run");
    assert_eq!(finished(session.run_queued().unwrap()).await.text, "Next.");
    let told = world.told(1);
    for once in ["Much was done.", "Edited and looked.", "One more thing", "The next of the queue"]
    {
        assert_eq!(told.matches(once).count(), 1, "{once}: {told}");
    }
    for never in ["The job has ended", "Mail", "A file changed"] {
        assert!(!told.contains(never), "{never} was withdrawn: {told}");
    }
    world.assert_never_rejected();
}

fn fork(session: Option<&str>) -> SessionChoice {
    let session = session.map(str::to_owned);
    SessionChoice::Fork(ForkSource { session, ..ForkSource::default() })
}
