//! Directories that are added while a session runs.

use crate::support::{World, becomes, finished, open, try_open, until, with, with_log};
use ostler::{
    Event, Input, InputRefused, Mode, Notice, Options, Session, SessionChoice, UndoChoice,
};
use ostler_model_server::{Script, calls, text};
use serde_json::json;
use std::fs;
use std::path::{Path, PathBuf};

fn bash(command: &str) -> (&'static str, serde_json::Value) {
    ("Bash", json!({ "command": command }))
}

fn write(path: &Path) -> (&'static str, serde_json::Value) {
    ("Write", json!({ "file_path": path, "content": "new\n" }))
}

/// A directory beside the project, with a file in it.
fn beside(world: &World, name: &str) -> PathBuf {
    let folder = world.root().canonicalize().unwrap().join(name);
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join("old"), "old\n").unwrap();
    folder
}

fn add(session: &Session, folder: impl Into<PathBuf>) -> Result<(), InputRefused> {
    session.send(Input::AddDirs(vec![folder.into()])).map(drop)
}

fn line(folder: &Path) -> String {
    format!("Other directories you may use: {}\\n", folder.display())
}

/// Files in the directories may be edited; commands run, in the sandbox.
fn editing(options: Options) -> Options {
    with(options, |o| {
        o.session.mode = Mode::AcceptEdits;
        o.session.allow = vec!["Bash".into()];
    })
}

fn undo(world: &World, id: &str, count: usize) {
    let choice = UndoChoice {
        home: world.root().join("home"),
        cwd: world.project().canonicalize().unwrap(),
        session: Some(id.to_owned()),
        dry_run: false,
        keep: Vec::new(),
        memory: false,
    };
    ostler::undo(&choice, count, &mut |_| true).unwrap();
}

async fn closed(session: Session) {
    session.close("other").await;
    drop(session);
}

async fn reopened(world: &World, id: &str) -> Session {
    let mut session = None;
    becomes("the session is free", || {
        let log = SessionChoice::Resume(id.to_owned());
        session = try_open(editing(with_log(world.on_disk(), log))).ok();
        session.is_some()
    })
    .await;
    session.expect("it is open")
}

/// A call runs when the directory comes. The call behind it is judged without it, those of the next answer with it; the
/// model is told in between. Undo covers the directory, commands included.
pub async fn an_added_directory_is_used_from_the_next_request_on() {
    let folder = tempfile::tempdir().unwrap();
    let more = folder.path().canonicalize().unwrap().join("more");
    fs::create_dir(&more).unwrap();
    fs::write(more.join("old"), "old\n").unwrap();
    let wait = "touch begun; while [ ! -e go ]; do sleep 0.01; done; touch x";
    let change = format!("cd {} && echo more >> old && rm new && mkdir sub", more.display());
    let script = Script::new()
        .answer(calls([bash(wait), write(&more.join("early"))]))
        .answer(calls([write(&more.join("new"))]))
        .answer(calls([bash(&change)]))
        .answer(text("ok"));
    let world = World::new(script);
    let session = open(editing(world.on_disk()));
    let mut turn = session.ask("go").unwrap();
    until(&mut turn, |event| matches!(event, Event::CallStarted { .. })).await;
    becomes("it runs", || world.project().join("begun").exists()).await;
    add(&session, &more).unwrap();
    assert_eq!(session.control().dirs, std::slice::from_ref(&more));
    assert_eq!(session.workspace().roots.len(), 1, "a call runs");
    fs::write(world.project().join("go"), "").unwrap();
    let end = finished(turn).await;
    assert_eq!(end.denials.len(), 1, "{:?}", end.denials);
    assert!(!more.join("early").exists());
    let told = |request: usize| world.told(request).matches(&line(&more)).count();
    assert_eq!((told(0), told(1), told(3)), (0, 1, 1), "{}", world.told(3));
    assert_eq!(fs::read_to_string(more.join("old")).unwrap(), "old\nmore\n");
    assert!(more.join("sub").exists() && !more.join("new").exists());

    let id = session.id().to_string();
    closed(session).await;
    undo(&world, &id, 1);
    assert_eq!(fs::read_to_string(more.join("old")).unwrap(), "old\n");
    assert!(!more.join("sub").exists() && more.join("new").exists());
    undo(&world, &id, 1);
    assert!(!more.join("new").exists());
}

/// Also in a session that has done nothing yet, and from a directory above the project.
pub async fn a_session_without_a_turn_uses_it_at_once() {
    let world = World::new(
        Script::new().answer(calls([bash("echo x >> ../old; touch y")])).answer(text("ok")),
    );
    let above = world.root().canonicalize().unwrap().join("project");
    let project = above.join("deep");
    fs::create_dir(&project).unwrap();
    fs::write(above.join("old"), "old\n").unwrap();
    let session = open(editing(with(world.on_disk(), |o| o.session.cwd.clone_from(&project))));
    add(&session, "..").unwrap();
    add(&session, &above).unwrap();
    assert_eq!(session.workspace().roots, [project.clone(), above.clone()]);
    assert_eq!(session.control().dirs, std::slice::from_ref(&above));
    finished(session.ask("go").unwrap()).await;
    assert!(world.told(0).contains(&line(&above)), "{}", world.told(0));
    assert_eq!(fs::read_to_string(above.join("old")).unwrap(), "old\nx\n");
    let id = session.id().to_string();
    closed(session).await;
    let home = world.root().join("home");
    let (cwd, session) = (project.clone(), Some(id));
    let choice = UndoChoice { home, cwd, session, dry_run: false, keep: Vec::new(), memory: false };
    ostler::undo(&choice, 1, &mut |_| true).unwrap();
    assert_eq!(fs::read_to_string(above.join("old")).unwrap(), "old\n");
    assert!(!project.join("y").exists());
}

/// The session opened again works there, and says so where it cannot.
pub async fn added_directories_are_kept() {
    let script = || Script::new().answer(text("hello")).forever();
    let world = World::new(script());
    let (one, two) = (beside(&world, "one"), beside(&world, "two"));
    let session = open(editing(world.on_disk()));
    let id = session.id().to_string();
    add(&session, &one).unwrap();
    session.send(Input::AddDirs(vec![two.clone()])).unwrap();
    finished(session.ask("go").unwrap()).await;
    let copy = session.fork(ostler::ForkPoint::End).unwrap();
    assert_eq!(copy.workspace().roots[1..], [one.clone(), two.clone()]);
    closed(copy).await;
    closed(session).await;
    fs::remove_dir_all(&one).unwrap();
    let session = reopened(&world, &id).await;
    assert_eq!(&session.workspace().roots[1..], std::slice::from_ref(&two));
    let notices: Vec<_> = session.announce().iter().map(|it| it.event.clone()).collect();
    let gone = |event: &&Event| matches!(event, Event::Notice { notice: Notice::Directory { text }, .. } if text.contains("one"));
    assert_eq!(notices.iter().filter(gone).count(), 1, "{notices:?}");
    finished(session.ask("again").unwrap()).await;
    assert!(world.told(1).contains(&line(&two)), "{}", world.told(1));
    // It is there again.
    fs::create_dir(&one).unwrap();
    add(&session, &one).unwrap();
    assert_eq!(session.workspace().roots[1..], [two, one]);
}

/// Nothing is recorded of what is refused. What does not exist is refused with the same words when a session is opened.
pub async fn what_cannot_be_added_is_refused() {
    let world = World::new(Script::new());
    let more = beside(&world, "more");
    fs::create_dir_all(more.join("deep/in")).unwrap();
    let state = world.root().join("home");
    let options = || {
        let rule = format!("Read(/{}/deep/**)", more.display());
        with(world.on_disk(), |o| o.session.deny = vec![rule])
    };
    let session = open(options());
    for (path, why) in [(more.join("none"), "No such file"), (more.join("old"), "not a directory")]
    {
        let refused = add(&session, &path).unwrap_err().to_string();
        assert!(refused.starts_with("cannot work in ") && refused.contains(why), "{refused}");
        let start = try_open(with(options(), |o| o.session.add_dirs = vec![path.clone()]));
        assert_eq!(start.err().map(|error| error.to_string()), Some(refused));
    }
    for (path, why) in [
        ("/".into(), "the whole disk"),
        (state.clone(), "Ostler keeps its own files there"),
        (state.join("sessions"), "Ostler keeps its own files there"),
        (more.join("deep"), "a deny rule covers it"),
        (more.join("deep/in"), "a deny rule covers it"),
    ] {
        let refused = add(&session, &path).unwrap_err().to_string();
        assert!(refused.starts_with("cannot work in ") && refused.contains(why), "{refused}");
    }
    // One that is wrong keeps the others out, too.
    assert!(session.send(Input::AddDirs(vec![more.clone(), "/".into()])).is_err());
    session
        .send(Input::SetRules(ostler::SessionRules {
            deny: vec![format!("Read(/{}/**)", more.display())],
            ..Default::default()
        }))
        .unwrap();
    assert!(add(&session, &more).unwrap_err().to_string().contains("a deny rule"));
    assert_eq!((session.control().dirs.len(), session.workspace().roots.len()), (0, 1));
}

pub async fn the_number_of_added_directories_is_limited() {
    let world = World::new(Script::new());
    let many: Vec<PathBuf> = (0..101).map(|n| beside(&world, &format!("d{n}"))).collect();
    let session = world.session();
    let refused = session.send(Input::AddDirs(many.clone())).unwrap_err().to_string();
    assert_eq!(refused, "at most 100 directories can be added to a session");
    assert_eq!(session.workspace().roots.len(), 1);
    session.send(Input::AddDirs(many[..100].to_vec())).unwrap();
    assert_eq!(session.workspace().roots.len(), 101);
    assert!(add(&session, &many[100]).is_err());
}
