//! Two sessions of one process work in one directory; each undoes its own, as docs/undo.md says.

use crate::support::{World, becomes, finished, host};
use ostler::{Error, Fate, Host, Session, Terminal, UndoChoice, Undone};
use ostler_model_server::{Reply, Script, calls, text};
use serde_json::json;
use std::path::Path;

const OLD: &str = "1\n2\n3\n4\n5\n6\n7\n8\n9\n";

fn write(file: &str, content: &str) -> Reply {
    calls([("Write", json!({ "file_path": file, "content": content }))])
}

fn read(file: &str) -> Reply {
    calls([("Read", json!({ "file_path": file }))])
}

fn edit(file: &str, old: &str, new: &str) -> Reply {
    calls([("Edit", json!({ "file_path": file, "old_string": old, "new_string": new }))])
}

fn bash(command: &str) -> Reply {
    calls([("Bash", json!({ "command": command }))])
}

/// Each turn makes its calls one after the other and ends.
fn script<const N: usize>(turns: [Vec<Reply>; N]) -> Script {
    let answers = turns.into_iter().flat_map(|turn| turn.into_iter().chain([text("done")]));
    answers.fold(Script::new(), Script::answer)
}

struct Two {
    world: World,
    _host: Host,
    a: Session,
    b: Session,
}

impl Two {
    fn new(script: Script) -> Self {
        let world = World::new(script);
        let options = world.on_disk();
        let host = host(&options);
        let (a, b) = (host.session(options.session.clone()), host.session(options.session));
        let (a, b) = (a.unwrap(), b.unwrap());
        Two { world, _host: host, a, b }
    }

    fn file(&self, name: &str, content: &str) {
        std::fs::write(self.world.project().join(name), content).unwrap();
    }

    fn read(&self, name: &str) -> Option<String> {
        std::fs::read_to_string(self.world.project().join(name)).ok()
    }

    /// Undoes the last calls of a session, and asserts that each of them is.
    fn undo(&self, session: &Session, steps: usize) -> Undone {
        let undone = self.try_undo(session, steps).unwrap();
        assert!(undone.done && undone.not_undone.is_empty(), "{undone:?}");
        assert_eq!(undone.calls.len(), steps, "{undone:?}");
        undone
    }

    fn try_undo(&self, session: &Session, steps: usize) -> Result<Undone, Error> {
        let choice = UndoChoice {
            home: self.world.root().join("home"),
            cwd: self.world.project().canonicalize().unwrap(),
            session: Some(session.id().to_string()),
            dry_run: false,
            keep: Vec::new(),
            memory: false,
        };
        ostler::undo(&choice, steps, &mut |_| true)
    }
}

async fn turn(session: &Session) {
    let end = finished(session.ask("go").unwrap()).await;
    assert_eq!(end.terminal, Terminal::Completed, "{:?}", end.error);
    assert_eq!(end.denials.len(), 0);
}

fn fate(undone: &Undone, name: &str) -> Option<Fate> {
    let of = undone.outcomes.iter().find(|outcome| outcome.path.ends_with(Path::new(name)));
    of.map(|outcome| outcome.fate.clone())
}

pub async fn each_of_two_sessions_undoes_its_own() {
    let two = Two::new(script([
        vec![write("a1", "a\n")],
        vec![write("b1", "b\n")],
        vec![bash("printf a > a2; rm old-a; printf 'a\\n' >> log-a")],
        vec![bash("printf b > b2; rm old-b; printf 'b\\n' >> log-b")],
        vec![read("both"), edit("both", "1", "a")],
        vec![read("both"), edit("both", "9", "b")],
        vec![bash("printf more >> a2; printf a > a3")],
        vec![bash("printf more >> b2; printf b > b3")],
    ]));
    for (name, content) in
        [("both", OLD), ("old-a", "x"), ("old-b", "x"), ("log-a", "-\n"), ("log-b", "-\n")]
    {
        two.file(name, content);
    }
    for _ in 0..4 {
        turn(&two.a).await;
        turn(&two.b).await;
    }
    two.world.assert_never_rejected();
    let of_b = || ["b1", "b2", "b3", "old-b", "log-b"].map(|name| two.read(name));
    let (before, made) = ([None, None, None, Some("x".into()), Some("-\n".into())], of_b());
    let made_by_b = ["b\n", "bmore", "b", "", "-\nb\n"];
    assert_eq!(made.clone().map(Option::unwrap_or_default), made_by_b);

    let undone = two.undo(&two.a, 4);
    assert!(undone.is_complete(), "{undone:?}");
    let of_a = ["a1", "a2", "a3", "old-a", "log-a"].map(|name| two.read(name));
    assert_eq!(of_a, before, "all of a's work is gone");
    assert_eq!(of_b(), made, "and nothing of b's");
    assert_eq!(two.read("both").unwrap(), OLD.replace('9', "b"), "of one file, too");

    let undone = two.undo(&two.b, 4);
    assert!(undone.is_complete(), "{undone:?}");
    assert_eq!(of_b(), before);
    assert_eq!(two.read("both").unwrap(), OLD);
    assert!(matches!(two.try_undo(&two.a, 1), Err(Error::NothingToUndo)));
    println!("mixed undo: 8 calls of 2 sessions of one process, each undone without the other's");
}

/// Whoever changed a line last keeps it; the version before stands beside it.
pub async fn what_another_session_changed_since_stays() {
    let two = Two::new(script([
        vec![read("same"), edit("same", "5", "a")],
        vec![read("same"), edit("same", "a", "b")],
        vec![bash("printf 'a\\n' > made")],
        vec![read("made"), edit("made", "a", "a, then b")],
    ]));
    two.file("same", OLD);
    for session in [&two.a, &two.b, &two.a, &two.b] {
        turn(session).await;
    }
    let undone = two.undo(&two.a, 2);
    assert!(!undone.is_complete(), "what was kept is said: {undone:?}");
    assert!(matches!(fate(&undone, "same"), Some(Fate::Beside(_))), "{undone:?}");
    assert_eq!(two.read("same").unwrap(), OLD.replace('5', "b"));
    assert_eq!(two.read("same.before-undo").unwrap(), OLD);
    assert_eq!(two.read("made").unwrap(), "a, then b\n", "created by one, changed by the other");
    let undone = two.undo(&two.b, 2);
    assert!(undone.is_complete(), "{undone:?}");
    assert_eq!(two.read("same").unwrap(), OLD.replace('5', "a"), "what b found");
    assert_eq!(two.read("made").unwrap(), "a\n");
}

/// While a command of one session runs, the other edits and runs commands; and nothing is undone until it has ended.
pub async fn nothing_is_undone_beside_a_command_of_another_session() {
    // In the order of the requests: b's last one comes after a's.
    let own = [vec![write("a2", "a\n")], vec![bash("printf a > a3")], vec![]];
    let begun = script([vec![write("a1", "a\n")]]).answer(bash("printf b > b1; cat gate > b2"));
    let two = Two::new(script(own).steps.into_iter().fold(begun, Script::step));
    let gate = two.world.project().join("gate");
    assert!(std::process::Command::new("mkfifo").arg(&gate).status().unwrap().success());
    turn(&two.a).await;
    let running = tokio::spawn({
        let turn = two.b.ask("go").unwrap();
        async move { finished(turn).await }
    });
    becomes("b's command waits at the gate", || two.read("b1").as_deref() == Some("b")).await;
    turn(&two.a).await;
    turn(&two.a).await;
    for session in [&two.a, &two.b] {
        let refused = two.try_undo(session, 1).expect_err("a command runs");
        assert!(matches!(refused, Error::CommandRunning(_)), "{refused}");
    }
    assert_eq!(["a1", "a2"].map(|name| two.read(name)), [Some("a\n".into()), Some("a\n".into())]);
    std::fs::write(&gate, "through\n").unwrap();
    assert_eq!(running.await.unwrap().terminal, Terminal::Completed);
    assert_eq!(two.read("b2").unwrap(), "through\n");

    let undone = two.undo(&two.a, 3);
    assert!(undone.is_complete(), "{undone:?}");
    assert_eq!(["a1", "a2", "a3"].map(|name| two.read(name)), [None, None, None]);
    assert_eq!(two.read("b1").as_deref(), Some("b"));
    let undone = two.undo(&two.b, 1);
    assert!(undone.is_complete(), "{undone:?}");
    assert_eq!(["b1", "b2"].map(|name| two.read(name)), [None, None]);
    two.world.assert_never_rejected();
}
