//! One session, several surfaces: who drives, who watches, who answers, and what arrives meanwhile.

use crate::support::{
    World, becomes, finished, interrupt, is_text, open, runs, try_open, unique_sleep, until,
    watched, with, with_log,
};
use futures_util::StreamExt;
use ostler::{
    Driver, Envelope, Event, Host, Input, InputReceipt, Message, Mode, Observed, QuestionEnd,
    Reply, Session, SessionChoice, SessionObserver, SessionState, Terminal,
};
use ostler_model_server::{Script, calls, status, text};
use serde_json::json;
use std::sync::Arc;
use std::time::{Duration, Instant};

fn touch(name: &str) -> (&'static str, serde_json::Value) {
    ("Bash", json!({ "command": format!("touch {name}") }))
}

/// A call that was dropped lets go of its session a moment later.
async fn reopened(options: impl Fn() -> ostler::Options) -> Session {
    let mut session = None;
    becomes("the session is free", || {
        session = try_open(options()).ok();
        session.is_some()
    })
    .await;
    session.expect("it is open")
}

fn asking(world: &World) -> Session {
    open(with(world.options(), |o| o.session.mode = Mode::Default))
}

pub async fn a_question_is_answered_by_another_surface() {
    let world = World::new(Script::new().answer(calls([touch("made")])).answer(text("ok")));
    let session = asking(&world);
    let _attendance = session.attend();
    let mut phone = session.observe(&session.state().1);
    let mut turn = session.ask("go").unwrap();
    until(&mut turn, |event| matches!(event, Event::CallAsked { .. })).await;
    let asked = watched(&mut phone, |event| matches!(event, Event::CallAsked { .. })).await;
    let Event::CallAsked { question: Some(question), .. } = asked else { panic!("no question") };
    assert_eq!(session.state().0.questions.len(), 1);
    let answer = |by: &str| Input::Answer {
        question: question.id.clone(),
        reply: Reply::Yes,
        by: by.to_owned(),
    };
    session.send(answer("phone")).unwrap();
    let closed = until(&mut turn, |event| matches!(event, Event::QuestionClosed { .. })).await;
    let Event::QuestionClosed { end, .. } = closed else { unreachable!() };
    assert_eq!(end, QuestionEnd::Answered { by: "phone".into(), allowed: true });
    assert_eq!(finished(turn).await.terminal, Terminal::Completed);
    assert!(session.send(answer("terminal")).is_err(), "the first answer counts");
    assert!(session.state().0.questions.is_empty());
    assert!(world.project().join("made").exists());
}

pub async fn a_question_is_refused_when_everybody_has_left() {
    let world = World::new(Script::new().answer(calls([touch("made")])).answer(text("ok")));
    let session = asking(&world);
    let attendance = session.attend();
    let mut turn = session.ask("go").unwrap();
    until(&mut turn, |event| matches!(event, Event::CallAsked { .. })).await;
    drop(attendance);
    assert_eq!(finished(turn).await.denials.len(), 1);
    assert!(world.told(1).contains("no one is left to answer"), "{}", world.told(1));
    assert!(!world.project().join("made").exists());
}

/// Whoever joins late and whoever listened from the start know the same, wherever it was.
pub async fn joining_late_is_like_having_listened() {
    let many =
        text("a ").say("few ").say("words").call("Bash", json!({"command": "echo x; cat f"}));
    let world = World::new(Script::new().answer(many).answer(text("and ").say("more")));
    let session = world.session();
    let mut turn = session.ask("go").unwrap();
    let mut listened = SessionState::default();
    let mut joined: Vec<(SessionState, SessionObserver)> = Vec::new();
    let mut seen = 0;
    while let Some(envelope) = turn.next().await {
        listened.apply(&envelope);
        seen += 1;
        let (state, cursor) = session.state();
        assert_eq!(cursor.seq, state.seq);
        joined.push((state, session.observe(&cursor)));
    }
    assert!(seen > 10, "{seen}");
    session.close("other").await;
    let (closed, _) = session.state();
    for (n, (mut state, mut observer)) in joined.into_iter().enumerate() {
        while let Some(observed) = observer.next().await {
            let Observed::Event(envelope) = observed else { panic!("joined at {n}: lagged") };
            state.apply(&envelope);
        }
        assert_eq!(state, closed, "joined at {n}");
    }
    listened.seq = closed.seq;
    assert_eq!(listened.finished, closed.finished);
}

const LONG_ANSWERS: usize = 60;

/// How long a turn takes that the observer has no room for.
async fn long_turn(observed: bool) -> (World, Session, Option<SessionObserver>, Duration) {
    let long = "word ".repeat(2_000);
    let script = (0..LONG_ANSWERS).fold(Script::new(), |script, n| {
        script.answer(text(format!("{n} {long}")).call("Bash", json!({"command": "true"})))
    });
    let world = World::new(script.answer(text("done")));
    let session = world.session();
    let observer = observed.then(|| session.observe(&session.state().1));
    let began = Instant::now();
    assert_eq!(finished(session.ask("go").unwrap()).await.terminal, Terminal::Completed);
    (world, session, observer, began.elapsed())
}

/// It is told what it missed, and nobody waits for it.
pub async fn a_stuck_observer_holds_nobody_up() {
    let (_, _, _, alone) = long_turn(false).await;
    let (_world, session, stuck, watched) = long_turn(true).await;
    let Some(Observed::Lagged { missed }) = stuck.unwrap().next().await else {
        panic!("nothing missed")
    };
    assert!(missed > 50, "{missed}");
    let (state, cursor) = session.state();
    assert!(state.finished.is_some() && cursor.seq > missed);
    println!(
        "stuck observer: {LONG_ANSWERS} answers take {watched:.1?} with it, {alone:.1?} without; it missed {missed} events"
    );
}

pub async fn a_second_driver_is_refused_and_a_prompt_waits() {
    let script =
        Script::new().answer(text("one").gate("hold")).answer(text("two")).answer(text("three"));
    let world = World::new(script);
    let session = world.session();
    let mut turn = session.ask("first").unwrap();
    until(&mut turn, is_text).await;
    assert!(session.drive().is_err());
    let queued = |prompt: &str| match session.send(Input::Prompt(prompt.into())).unwrap() {
        InputReceipt::Queued(id) => id,
        other => panic!("{other:?}"),
    };
    let (second, third) = (queued("second"), queued("third"));
    assert_eq!(session.state().0.queue.len(), 2);
    session.send(Input::CancelQueued(Some(third))).unwrap();
    world.server.gate("hold").open();
    let rest: Vec<Arc<Envelope>> = turn.collect().await;
    let ends = rest.iter().filter(|one| matches!(one.event, Event::Finished(_))).count();
    assert_eq!(ends, 2, "the queued prompt ran after the first");
    assert!(rest.iter().any(|one| {
        matches!(&one.event, Event::Delivered { ids } if ids.as_slice() == [second.clone()])
    }));
    assert!(world.told(1).contains("second") && !world.told(1).contains("third"));
    assert!(session.queued().is_empty() && session.state().0.queue.is_empty());
}

/// What waits when a turn is stopped is kept, over a restart, and starts when somebody says so: exactly once.
pub async fn a_queue_survives_an_interrupt_and_a_restart() {
    let world = World::new(
        Script::new().answer(text("one").gate("never")).answer(text("two")).answer(text("three")),
    );
    let session = open(world.on_disk());
    let mut turn = session.ask("first").unwrap();
    until(&mut turn, is_text).await;
    session.send(Input::Prompt("zebra".into())).unwrap();
    interrupt(&session);
    assert_eq!(finished(turn).await.terminal, Terminal::AbortedStreaming);
    assert_eq!(session.queued().len(), 1, "it did not start by itself");
    let id = session.id().to_string();
    drop(session);
    let resumed = || with_log(world.on_disk(), SessionChoice::Resume(id.clone()));
    let session = reopened(resumed).await;
    assert_eq!(session.queued().len(), 1);
    // A prompt that can start at once does not wait for what is held.
    assert_eq!(finished(session.ask("giraffe").unwrap()).await.text, "two");
    assert!(world.told(1).contains("giraffe") && !world.told(1).contains("zebra"));
    assert_eq!(finished(session.run_queued().unwrap()).await.text, "three");
    assert_eq!(world.told(2).matches("zebra").count(), 1);
    assert!(session.queued().is_empty());
}

/// Before the driver has taken the first, the second comes: nothing but the log would keep it if the process died now.
pub async fn of_two_prompts_at_once_one_is_recorded() {
    let script =
        ["one", "two", "three", "four"].map(text).into_iter().fold(Script::new(), Script::answer);
    let world = World::new(script);
    let session = open(world.on_disk());
    session.send(Input::Prompt("zebra".into())).unwrap();
    let id = session.id().to_string();
    drop(session);
    let resumed = with_log(world.on_disk(), SessionChoice::Resume(id));
    let session = reopened(|| resumed.clone()).await;
    let mut driver = session.drive().unwrap();
    let first = session.send(Input::Prompt("giraffe".into())).unwrap();
    assert!(matches!(first, InputReceipt::Done), "{first:?}");
    let second = session.send(Input::Prompt("lion".into())).unwrap();
    assert!(matches!(second, InputReceipt::Queued(_)), "{second:?}");
    let recorded = world.log().iter().filter(|entry| entry["fact"] == "inbound").count();
    assert_eq!(recorded, 2, "zebra and lion");
    for _ in 0..3 {
        until(&mut driver, |event| matches!(event, Event::Finished(_))).await;
    }
    let last = world.told(2);
    let at = |word: &str| last.find(word).unwrap_or_else(|| panic!("{word}: {last}"));
    assert!(at("giraffe") < at("zebra") && at("zebra") < at("lion"), "{last}");
    assert!(["giraffe", "zebra", "lion"].iter().all(|word| last.matches(word).count() == 1));
    assert!(session.queued().is_empty());
}

fn steer(session: &Session, words: &str) {
    let receipt = session.send(Input::Steer(Message::user(words))).unwrap();
    assert!(matches!(receipt, InputReceipt::Queued(_)), "{receipt:?}");
}

async fn steered(world: &World, mut turn: Driver, words: &str) {
    let delivered = until(&mut turn, |event| matches!(event, Event::Delivered { .. })).await;
    assert!(matches!(delivered, Event::Delivered { ids } if ids.len() == 1));
    assert_eq!(finished(turn).await.terminal, Terminal::Completed);
    let last = world.server.requests().len() - 1;
    assert_eq!(world.told(last).matches(words).count(), 1, "{}", world.told(last));
    world.assert_never_rejected();
}

pub async fn a_steer_reaches_the_model_once() {
    // While the answer streams: calls that have not started are skipped.
    let answer = text("I will").gate("hold").call("Bash", json!({"command": "touch never"}));
    let world = World::new(Script::new().answer(answer).answer(text("ok")));
    let session = world.session();
    let mut turn = session.ask("go").unwrap();
    until(&mut turn, is_text).await;
    steer(&session, "rather not");
    world.server.gate("hold").open();
    steered(&world, turn, "rather not").await;
    assert!(!world.project().join("never").exists());
    assert!(world.told(1).contains("the user sent a message"), "{}", world.told(1));

    // While a command runs: it continues, and the next request has it.
    let command = "mkfifo gate; cat gate > /dev/null; echo over";
    let answer = calls([("Bash", json!({ "command": command }))]);
    let world = World::new(Script::new().answer(answer).answer(text("ok")));
    let session = world.session();
    let mut turn = session.ask("go").unwrap();
    until(&mut turn, |event| matches!(event, Event::CallStarted { .. })).await;
    steer(&session, "hurry up");
    let gate = world.project().join("gate");
    becomes("the command waits", || gate.exists()).await;
    std::thread::spawn(move || std::fs::write(gate, "x"));
    steered(&world, turn, "hurry up").await;
    assert!(world.told(1).contains("over"), "{}", world.told(1));

    // While a failed request waits for its next try: that try has it.
    let world = World::new(Script::new().answer(status(529)).answer(text("ok")));
    let options = with(world.options(), |o| {
        o.session.settings.retries = 3;
        o.host.retry_wait = Some(Duration::from_secs(86_400));
    });
    let session = open(options);
    let mut turn = session.ask("go").unwrap();
    until(&mut turn, |event| matches!(event, Event::Retrying(_))).await;
    steer(&session, "never mind");
    steered(&world, turn, "never mind").await;
}

/// What nobody answered is asked again when the session is opened again, unless something else is said.
pub async fn an_open_question_is_asked_again() {
    let script = || {
        Script::new()
            .answer(calls([("Bash", json!({"command": "echo early"})), touch("made")]))
            .answer(text("ok"))
    };
    for (way, made) in [("resumed", true), ("new prompt", false)] {
        let world = World::new(script());
        let options = || with(world.on_disk(), |o| o.session.mode = Mode::Default);
        let session = open(options());
        let attendance = session.attend();
        let mut turn = session.ask("go").unwrap();
        until(&mut turn, |event| matches!(event, Event::CallAsked { .. })).await;
        let id = session.id().to_string();
        drop((turn, attendance, session));
        let session = reopened(|| with_log(options(), SessionChoice::Resume(id.clone()))).await;
        let _attendance = session.attend();
        assert!(session.can_resume_turn(), "{way}");
        let mut turn = match way {
            "resumed" => session.resume_turn().unwrap(),
            _ => session.ask("forget it").unwrap(),
        };
        let mut asked = 0;
        let end = until(&mut turn, |event| {
            asked += usize::from(matches!(event, Event::CallAsked { .. }));
            crate::support::answer(&session, event, &Reply::Yes);
            matches!(event, Event::Finished(_))
        });
        let Event::Finished(end) = end.await else { unreachable!() };
        assert_eq!((end.terminal, asked), (Terminal::Completed, usize::from(made)), "{way}");
        assert_eq!(world.project().join("made").exists(), made, "{way}");
        assert!(world.told(1).contains("early"), "a result on record is kept: {}", world.told(1));
        assert!(!session.can_resume_turn());
        world.assert_never_rejected();
    }
}

/// Sessions of one host share the supervisor; closing one ends its processes and nobody else's.
pub async fn closing_one_session_leaves_the_others_alone() {
    let (mine, stray) = (unique_sleep(), unique_sleep());
    let world = World::new(
        Script::new()
            .answer(calls([(
                "Bash",
                json!({"command": format!("(setsid sleep {stray} >/dev/null 2>&1 &)")}),
            )]))
            .answer(text("ok"))
            .answer(calls([("Bash", json!({"command": format!("touch b; sleep {mine}")}))]))
            .answer(text("ok")),
    );
    let options = world.options();
    let host = Host::open(&ostler::init(), options.host).unwrap();
    let (a, b) = (host.session(options.session.clone()), host.session(options.session));
    let (a, b) = (a.unwrap(), b.unwrap());
    finished(a.ask("go").unwrap()).await;
    let mut turn = b.ask("go").unwrap();
    until(&mut turn, |event| matches!(event, Event::CallStarted { .. })).await;
    becomes("b's command runs", || runs(&mine)).await;
    a.close("other").await;
    assert!(!runs(&stray), "what a left is gone");
    becomes("b's command goes on", || runs(&mine)).await;
    interrupt(&b);
    assert_eq!(finished(turn).await.terminal, Terminal::AbortedTools);
    host.close().await;
    assert!(!runs(&mine));
    println!(
        "shared executor: of 2 sessions one was closed: its stray process ended, the other's command went on"
    );
}

/// The mode counts from the next call that starts, also for one that was allowed before.
pub async fn what_was_made_stricter_is_stricter_at_once() {
    let answer =
        text("I will").gate("hold").call("Bash", json!({"command": "touch never"})).gate("end");
    let world = World::new(Script::new().answer(answer).answer(text("ok")));
    let session = open(world.on_disk());
    let mut turn = session.ask("go").unwrap();
    world.server.gate("hold").open();
    until(&mut turn, |event| {
        matches!(event, Event::BlockFinished { block } if matches!(block, ostler::Block::ToolUse { .. }))
    })
    .await;
    session.send(Input::SetMode(Mode::Plan)).unwrap();
    world.server.gate("end").open();
    assert_eq!(finished(turn).await.denials.len(), 1);
    assert!(!world.project().join("never").exists());
    assert_eq!(session.state().0.control.map(|control| control.mode), Some(Mode::Plan));
    let id = session.id().to_string();
    drop(session);
    let resumed = || with_log(world.on_disk(), SessionChoice::Resume(id.clone()));
    let session = reopened(resumed).await;
    assert_eq!(session.mode(), Mode::Plan, "a restart does not loosen it");
    println!("late strictness: 1 call was allowed before plan mode, 0 ran after it");
}
