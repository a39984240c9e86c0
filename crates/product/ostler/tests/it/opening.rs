//! What a session refuses to begin with, and what a caller may choose.

use crate::support::{World, answer, finished, open, try_open, until, with};
use ostler::{
    BoxFuture, Error, Event, EventName, Hook, HookEvent, HookOutcome, Mode, Options, Question,
    Reply, SessionChoice, Stand, Terminal,
};
use ostler_model_server::{Script, calls, text};
use serde_json::json;
use std::sync::{Arc, Mutex};

type Change = fn(&mut Options);

pub async fn what_is_wrong_is_said_and_nothing_is_left_behind() {
    let cases: [(&str, Change, &[&str]); 9] = [
        (
            "a missing folder",
            |o| o.session.cwd = "/nonexistent/folder".into(),
            &["/nonexistent/folder", "cannot work in"],
        ),
        ("a file as folder", |o| o.session.cwd.push("file"), &["file", "cannot work in"]),
        (
            "a missing second folder",
            |o| o.session.add_dirs.push("elsewhere".into()),
            &["elsewhere"],
        ),
        ("a bad allow rule", |o| o.session.allow.push("Bash('git)".into()), &["Bash('git)"]),
        ("a bad deny rule", |o| o.session.deny.push("Edit(".into()), &["Edit("]),
        (
            "a misspelled tool",
            |o| o.session.tools = Some(vec!["Grep".into(), "Raed".into()]),
            &["\"Raed\"", "did you mean \"Read\"?"],
        ),
        (
            "a budget without a price",
            |o| (o.session.model, o.session.max_budget_usd) = ("unheard-of".into(), Some(1.0)),
            &["unheard-of", "price"],
        ),
        ("an unusable address", |o| o.host.base_url = Some("not an address".into()), &["base URL"]),
        (
            "no such session",
            |o| o.session.log = SessionChoice::Resume("00000000-0000-0000".into()),
            &["00000000-0000-0000"],
        ),
    ];
    for (name, change, words) in cases {
        let world = World::new(Script::new());
        std::fs::write(world.project().join("file"), "").unwrap();
        let mut options = world.on_disk();
        change(&mut options);
        let before = world.files();
        let Err(error) = try_open(options) else { panic!("{name} was accepted") };
        let said = error.to_string();
        assert!(
            words.iter().all(|word| said.contains(word)) && !said.contains('\n'),
            "{name}: {said}"
        );
        assert_eq!(world.files(), before, "{name}: a session was made for it");
        assert_eq!(world.server.requests().len(), 0);
    }
}

pub async fn a_budget_needs_a_price() {
    let world = World::new(Script::new().answer(text("ok")));
    let priceless = with(world.options(), |o| o.session.model = "unheard-of".into());
    let both = with(world.options(), |o| {
        o.session.fallback_model = Some("unheard-of".into());
        o.session.max_budget_usd = Some(1.0);
    });
    let error = try_open(both).err().unwrap();
    assert!(matches!(&error, Error::NoPrice(model) if model == "unheard-of"), "{error}");
    // Without a budget no price is needed, and none is made up.
    let end = finished(open(priceless).ask("go").unwrap()).await;
    assert_eq!((end.terminal, end.cost), (Terminal::Completed, None));
    // With one, a request that could exceed it is not sent.
    let poor = with(world.options(), |o| o.session.max_budget_usd = Some(0.000_001));
    let end = finished(open(poor).ask("go").unwrap()).await;
    assert_eq!(end.terminal, Terminal::MaxBudget);
    assert_eq!(world.server.requests().len(), 1);
}

pub async fn only_chosen_tools_are_offered() {
    let world = World::new(Script::new().answer(text("ok")).forever());
    let offered = async |change: Change| {
        let mut options = world.options();
        change(&mut options);
        finished(open(options).ask("go").unwrap()).await;
        let request = world.server.requests().pop().unwrap();
        let tools = request.json()["tools"].as_array().cloned().unwrap_or_default();
        tools
            .iter()
            .map(|tool| tool["name"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
            .join(" ")
    };
    assert_eq!(
        offered(|_| {}).await,
        "Agent Bash Edit Glob Grep NotebookEdit Read Recall Revert SendMessage Skill Sleep TaskCreate TaskGet TaskList TaskOutput TaskStop TaskUpdate TodoWrite WebFetch Write"
    );
    assert_eq!(
        offered(|o| o.session.tools = Some(vec!["Read".into(), "Bash".into()])).await,
        "Bash Read"
    );
    assert_eq!(offered(|o| o.session.tools = Some(Vec::new())).await, "");
    assert_eq!(
        offered(|o| o.session.deny = vec!["Bash".into(), "Write".into()]).await,
        "Agent Edit Glob Grep NotebookEdit Read Recall Revert SendMessage Skill Sleep TaskCreate TaskGet TaskList TaskOutput TaskStop TaskUpdate TodoWrite WebFetch"
    );
    world.assert_never_rejected();
}

pub async fn questions_are_answered_by_whoever_attends() {
    for (reply, runs, questions) in [
        (Reply::Yes, true, 2),
        (Reply::YesForSession, true, 1),
        (Reply::No("the moon is full".into()), false, 2),
    ] {
        let call = |name: &str| ("Bash", json!({"command": format!("touch {name}")}));
        let world =
            World::new(Script::new().answer(calls([call("one"), call("one")])).answer(text("ok")));
        let mut options = world.options();
        options.session.mode = Mode::Default;
        let session = open(options);
        let _attendance = session.attend();
        let mut turn = session.ask("go").unwrap();
        let mut asked: Vec<Question> = Vec::new();
        let end = until(&mut turn, |event| {
            answer(&session, event, &reply);
            if let Event::CallAsked { question: Some(question), .. } = event {
                asked.push(*question.clone());
            }
            matches!(event, Event::Finished(_))
        });
        let Event::Finished(end) = end.await else { unreachable!() };
        assert_eq!(end.denials.len(), if runs { 0 } else { 2 });
        assert_eq!(world.project().join("one").exists(), runs, "{reply:?}");
        assert_eq!(asked.len(), questions, "{reply:?}");
        assert_eq!(
            (asked[0].tool.as_str(), &asked[0].input["command"]),
            ("Bash", &json!("touch one"))
        );
        assert_eq!(world.told(1).contains("the moon is full"), !runs);
        world.assert_never_rejected();
    }
    // Nobody is there by default.
    let world = World::new(
        Script::new().answer(calls([("Bash", json!({"command": "touch one"}))])).answer(text("ok")),
    );
    let mut options = world.options();
    options.session.mode = Mode::Default;
    finished(open(options).ask("go").unwrap()).await;
    assert!(world.told(1).contains("nobody is there to ask"), "{}", world.told(1));
}

/// Refuses what touches one name, and remembers what it heard.
struct Guard(Mutex<Vec<HookEvent>>);

impl Hook for Guard {
    fn name(&self) -> &str {
        "guard"
    }

    fn listens(&self, event: EventName, matched: Option<&str>) -> bool {
        match event {
            EventName::PreToolUse => matched == Some("Bash"),
            event => event == EventName::SessionEnd,
        }
    }

    fn call<'a>(&'a self, event: &'a HookEvent) -> BoxFuture<'a, HookOutcome> {
        self.0.lock().unwrap().push(event.clone());
        let HookEvent::PreToolUse { tool_input, .. } = event else {
            return Box::pin(std::future::ready(HookOutcome::default()));
        };
        let refuses = tool_input["command"].as_str().unwrap().contains("two");
        let outcome = if refuses {
            HookOutcome::of(Stand::Block, "guard", "not two")
        } else {
            HookOutcome::default()
        };
        Box::pin(std::future::ready(outcome))
    }
}

pub async fn a_hook_of_ones_own() {
    let call = |name: &str| ("Bash", json!({"command": format!("touch {name}")}));
    let world =
        World::new(Script::new().answer(calls([call("one"), call("two")])).answer(text("ok")));
    let guard = Arc::new(Guard(Mutex::default()));
    let session = open(with(world.options(), |o| o.session.hooks.inside.push(guard.clone())));
    let end = finished(session.ask("go").unwrap()).await;
    session.close("other").await;
    assert_eq!(end.denials.len(), 1);
    assert!(world.project().join("one").exists() && !world.project().join("two").exists());
    assert!(world.told(1).contains("the hook guard: not two"), "{}", world.told(1));
    let heard: Vec<&str> =
        guard.0.lock().unwrap().iter().map(|event| event.name().name()).collect();
    assert_eq!(heard, ["PreToolUse", "PreToolUse", "SessionEnd"]);
}
