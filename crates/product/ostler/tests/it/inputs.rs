//! What a surface can change about a session while it runs.

use crate::support::{World, answer, becomes, finished, open, try_open, until, with, with_log};
use ostler::{
    Event, ForkPoint, Input, InputReceipt, InputRefused, Mode, Reply, Rewind, Rewinding, Session,
    SessionChoice, SessionRules, Terminal, Thinking, Undo, Undoes,
};
use ostler_model_server::{Script, calls, text};
use serde_json::json;

fn bash(command: &str) -> (&'static str, serde_json::Value) {
    ("Bash", json!({ "command": command }))
}

fn denying(rules: &[&str]) -> Input {
    let deny = rules.iter().map(|rule| (*rule).to_owned()).collect();
    Input::SetRules(SessionRules { deny, ..SessionRules::default() })
}

fn allowing(rules: &[&str]) -> Input {
    let allow = rules.iter().map(|rule| (*rule).to_owned()).collect();
    Input::SetRules(SessionRules { allow, ..SessionRules::default() })
}

/// A call that has ended lets go of its session a moment later.
async fn reopened(world: &World, id: &str) -> Session {
    let mut session = None;
    becomes("the session is free", || {
        let options = with_log(world.on_disk(), SessionChoice::Resume(id.to_owned()));
        session = try_open(options).ok();
        session.is_some()
    })
    .await;
    session.expect("it is open")
}

/// The answer is complete and its first call runs when the rule comes: the second one waits for it, and is refused.
pub async fn rules_count_for_every_call_that_has_not_started() {
    let wait = "touch begun; while [ ! -e go ]; do sleep 0.01; done; touch x";
    let script = Script::new()
        .answer(calls([bash(wait), bash("touch x y")]))
        .answer(text("ok"))
        .answer(calls([bash("touch z")]))
        .answer(text("ok"));
    let world = World::new(script);
    let session = world.session();
    let mut turn = session.ask("go").unwrap();
    until(&mut turn, |event| matches!(event, Event::CallStarted { .. })).await;
    becomes("it runs", || world.project().join("begun").exists()).await;
    session.send(denying(&["Bash(touch:*)"])).unwrap();
    std::fs::write(world.project().join("go"), "").unwrap();
    let end = finished(turn).await;
    assert_eq!(end.denials.len(), 1, "{:?}", end.denials);
    assert!(world.project().join("x").exists() && !world.project().join("y").exists());
    // The next ones replace them.
    session.send(denying(&[])).unwrap();
    assert_eq!(finished(session.ask("again").unwrap()).await.denials.len(), 0);
    assert!(world.project().join("z").exists());
}

/// Not only the decision: a search and a command are kept from the file, too.
pub async fn a_denied_file_is_hidden_from_searches_and_commands() {
    let script = Script::new()
        .answer(calls([
            ("Grep", json!({ "pattern": "treasure", "output_mode": "content" })),
            bash("f=$(ls -d se*); cat $f/key || true"),
        ]))
        .answer(text("ok"));
    let world = World::new(script);
    std::fs::create_dir(world.project().join("secret")).unwrap();
    std::fs::write(world.project().join("secret/key"), "treasure 7\n").unwrap();
    std::fs::write(world.project().join("open"), "treasure map\n").unwrap();
    let session = world.session();
    session.send(denying(&["Read(./secret/**)"])).unwrap();
    finished(session.ask("go").unwrap()).await;
    let told = world.told(1);
    assert!(told.contains("treasure map") && !told.contains("treasure 7"), "{told}");
}

pub async fn what_is_denied_elsewhere_stays_denied() {
    let script = Script::new().answer(calls([bash("touch x")])).answer(text("ok"));
    let world = World::new(script);
    let options = with(world.options(), |o| o.session.deny = vec!["Bash(touch:*)".into()]);
    let session = open(options);
    session.send(allowing(&["Bash(touch:*)", "Bash"])).unwrap();
    assert_eq!(finished(session.ask("go").unwrap()).await.denials.len(), 1);
    let refused = session.send(denying(&["Bsh(touch:*)"]));
    assert!(matches!(refused, Err(InputRefused::Rules(why)) if why.contains("Bash")));
}

/// A session that was given rules has them when it is opened again.
pub async fn rules_are_kept_and_read_back() {
    let script = Script::new().answer(calls([bash("touch x")])).answer(text("ok"));
    let world = World::new(script);
    let session = open(world.on_disk());
    let id = session.id().to_string();
    session.send(denying(&["Bash(touch:*)"])).unwrap();
    session.close("other").await;
    drop(session);
    let session = reopened(&world, &id).await;
    assert_eq!(session.control().rules.deny, ["Bash(touch:*)"]);
    assert_eq!(finished(session.ask("go").unwrap()).await.denials.len(), 1);
}

/// Also in the middle of a turn: the request with the results has them.
pub async fn the_next_request_has_the_chosen_model_and_thinking() {
    let script = Script::new()
        .answer(text("hello"))
        .answer(text("I look.").gate("hold").call("Bash", json!({ "command": "true" })))
        .answer(text("ok"));
    let world = World::new(script);
    let session = world.session();
    finished(session.ask("first").unwrap()).await;
    session.send(Input::SetModel("other".into())).unwrap();
    session.send(Input::SetThinking(Thinking::Budget(2_000))).unwrap();
    let mut turn = session.ask("second").unwrap();
    until(&mut turn, |event| matches!(event, Event::TextDelta { .. })).await;
    session.send(Input::SetModel("third".into())).unwrap();
    session.send(Input::SetThinking(Thinking::Disabled)).unwrap();
    world.server.gate("hold").open();
    finished(turn).await;
    let sent = |n: usize| {
        let request = world.server.requests()[n].json().clone();
        (request["model"].clone(), request["thinking"]["budget_tokens"].clone())
    };
    let (none, some) = (json!(null), json!(2_000));
    let expected = [("scripted", &none), ("other", &some), ("third", &none)];
    for (n, (model, thinking)) in expected.into_iter().enumerate() {
        assert_eq!(sent(n), (json!(model), thinking.clone()), "request {n}");
    }
    world.assert_never_rejected();
}

pub async fn later_commands_see_another_environment() {
    let shown = || calls([bash("echo \"[$COLOUR][$SHAPE]\"")]);
    let script =
        Script::new().answer(shown()).answer(text("ok")).answer(shown()).answer(text("ok"));
    let world = World::new(script);
    let session = open(with(world.options(), |o| {
        o.session.environment.push(("SHAPE".into(), "round".into()));
    }));
    finished(session.ask("go").unwrap()).await;
    let set = |name: &str, value: Option<&str>| (name.to_owned(), value.map(str::to_owned));
    session.send(Input::SetEnv(vec![set("COLOUR", Some("blue")), set("SHAPE", None)])).unwrap();
    for (name, value) in [
        ("LD_PRELOAD", "x.so"),
        ("BASH_ENV", "x"),
        ("ANTHROPIC_API_KEY", "x"),
        ("GIT_PAGER", "less"),
        ("LC_ALL", "C"),
        ("NOTE", "sk-ant-123"),
        ("A=B", "x"),
    ] {
        let refused = session.send(Input::SetEnv(vec![set(name, Some(value))]));
        assert_eq!(refused, Err(InputRefused::Variable(name.into())));
    }
    finished(session.ask("again").unwrap()).await;
    assert!(world.told(1).contains("[][round]"), "{}", world.told(1));
    assert!(world.told(3).contains("[blue][]"), "{}", world.told(3));
}

/// The copy has what was said before the turn, and the mode of now.
pub async fn a_fork_is_another_session() {
    let script = Script::new().answer(text("one")).answer(text("two")).answer(text("three"));
    let world = World::new(script);
    let session = open(world.on_disk());
    finished(session.ask("first").unwrap()).await;
    finished(session.ask("zebra").unwrap()).await;
    session.send(Input::SetMode(Mode::Plan)).unwrap();
    let copy = session.fork(ForkPoint::BeforeTurn(2)).unwrap();
    assert_ne!(copy.id(), session.id());
    assert_eq!(copy.mode(), Mode::Plan);
    assert_eq!(finished(copy.ask("third").unwrap()).await.terminal, Terminal::Completed);
    let told = world.told(2);
    assert!(told.contains("first") && !told.contains("zebra"), "{told}");
    assert!(session.fork(ForkPoint::BeforeTurn(9)).is_err());
    assert!(world.session().fork(ForkPoint::End).is_err(), "nothing is kept of it");
}

/// The file comes back, the model forgets the turn and that it had read the file, and nothing is done beside a turn.
pub async fn a_session_goes_back_to_before_a_turn() {
    let write = |text: &str| {
        let input = json!({ "file_path": "notes", "content": text });
        calls([("Write", input)])
    };
    let script = Script::new()
        .answer(text("hello"))
        .answer(write("new"))
        .answer(text("written").gate("hold"))
        .answer(write("newer"))
        .answer(text("ok"));
    let world = World::new(script);
    let session = open(world.on_disk());
    finished(session.ask("first").unwrap()).await;
    let rewind = |dry_run: bool, shown: Option<Vec<_>>| {
        let what = Rewinding { files: true, conversation: true };
        session.send(Input::Rewind(Rewind { turn: 2, what, dry_run, keep: Vec::new(), shown }))
    };
    assert!(matches!(rewind(true, None), Err(InputRefused::Undo(why)) if why.contains("turn 2")));
    // Surfaces tell it apart from other refusals without reading the sentence.
    let undo = Undo { what: Undoes::Calls(1), dry_run: false, keep: Vec::new(), shown: None };
    let refused = session.send(Input::Undo(undo));
    assert!(matches!(refused, Err(InputRefused::NothingToUndo(_))), "{refused:?}");
    let mut turn = session.ask("zebra").unwrap();
    until(&mut turn, |event| matches!(event, Event::TextDelta { .. })).await;
    assert_eq!(rewind(false, None), Err(InputRefused::TurnRuns));
    world.server.gate("hold").open();
    finished(turn).await;

    let notes = world.project().join("notes");
    let Ok(InputReceipt::Rewound(Some(plan))) = rewind(true, None) else { panic!("no plan") };
    assert!(!plan.done && notes.exists(), "{plan:?}");
    // Somebody saw something else.
    let Ok(InputReceipt::Rewound(Some(refused))) = rewind(false, Some(Vec::new())) else {
        panic!("no plan")
    };
    assert!(!refused.done && notes.exists());
    let shown = Some(plan.outcomes.clone());
    let Ok(InputReceipt::Rewound(Some(done))) = rewind(false, shown) else { panic!("not done") };
    assert!(done.done && !notes.exists(), "{done:?}");

    std::fs::write(&notes, "a person's").unwrap();
    finished(session.ask("third").unwrap()).await;
    let told = world.told(3);
    assert!(told.contains("first") && !told.contains("zebra"), "{told}");
    assert_eq!(std::fs::read_to_string(&notes).unwrap(), "a person's", "it was not read since");
    let id = session.id().to_string();
    session.close("other").await;
    drop(session);
    reopened(&world, &id).await;
    assert!(world.log().iter().any(|entry| entry["fact"] == "rewound" && entry["turn"] == 2));
}

/// What is undone, and redone, is the same whether a command or an input asked for it; a rewind is redone with its conversation.
pub async fn a_session_takes_back_and_redoes() {
    let script = Script::new()
        .answer(calls([bash("touch one")]))
        .answer(text("first done"))
        .answer(calls([bash("touch two")]))
        .answer(text("zebra done"))
        .answer(text("ok"));
    let world = World::new(script);
    let session = open(world.on_disk());
    let send = |what: Undoes, dry_run: bool, shown: Option<Vec<_>>| {
        session.send(Input::Undo(Undo { what, dry_run, keep: Vec::new(), shown }))
    };
    finished(session.ask("first").unwrap()).await;
    finished(session.ask("zebra").unwrap()).await;
    let (one, two) = (world.project().join("one"), world.project().join("two"));
    let Ok(InputReceipt::Undone(plan)) = send(Undoes::Calls(1), true, None) else { panic!() };
    assert!(!plan.done && two.exists(), "{plan:?}");
    let Ok(InputReceipt::Undone(done)) = send(Undoes::Calls(1), false, None) else { panic!() };
    assert!(done.done && one.exists() && !two.exists(), "{done:?}");
    assert!(send(Undoes::LastUndo, false, None).is_ok() && two.exists());

    let what = Rewinding { files: true, conversation: true };
    let rewind = Rewind { turn: 2, what, dry_run: false, keep: Vec::new(), shown: None };
    assert!(session.send(Input::Rewind(rewind)).is_ok() && !two.exists());
    assert!(send(Undoes::LastUndo, false, None).is_ok() && two.exists());
    finished(session.ask("third").unwrap()).await;
    assert!(world.told(4).contains("zebra"), "the conversation is back");
    let id = session.id().to_string();
    session.close("other").await;
    drop(session);
    reopened(&world, &id).await;
}

/// A person has another file made than the model wanted, and can undo just that.
pub async fn a_reply_with_another_input_is_what_runs() {
    let script = Script::new().answer(calls([bash("touch asked")])).answer(text("ok"));
    let world = World::new(script);
    let session = open(with(world.on_disk(), |o| o.session.mode = Mode::Default));
    let attendance = session.attend();
    let mut turn = session.ask("go").unwrap();
    let asked = until(&mut turn, |event| matches!(event, Event::CallAsked { .. })).await;
    let reply = Reply::YesWithInput(json!({ "command": "touch changed" }));
    answer(&session, &asked, &reply);
    let end = until(&mut turn, |event| matches!(event, Event::CallFinished { .. })).await;
    let Event::CallFinished { input, .. } = end else { unreachable!() };
    assert_eq!(input.as_deref(), Some(&json!({ "command": "touch changed" })));
    finished(turn).await;
    assert!(world.project().join("changed").exists() && !world.project().join("asked").exists());
    let told = world.told(1);
    assert!(told.contains("touch asked") && told.contains("The user changed the input"), "{told}");
    let id = session.id().to_string();
    session.close("other").await;
    drop((session, attendance));
    let choice = ostler::UndoChoice {
        home: world.root().join("home"),
        cwd: world.project().canonicalize().unwrap(),
        session: Some(id.clone()),
        dry_run: false,
        keep: Vec::new(),
        memory: false,
    };
    ostler::undo(&choice, 1, &mut |_| true).unwrap();
    assert!(!world.project().join("changed").exists());
    reopened(&world, &id).await;
}
