//! What an engine refuses to begin with, and what a caller may choose.

use crate::support::{World, finished, open};
use ostler::{
    Approver, BoxFuture, Engine, Error, EventName, Hook, HookEvent, Mode, Options, Outcome,
    Question, Reply, SessionChoice, Stand, Terminal,
};
use ostler_model_server::{Script, calls, text};
use serde_json::json;
use std::sync::{Arc, Mutex};

type Change = fn(&mut Options);

pub async fn what_is_wrong_is_said_and_nothing_is_left_behind() {
    let cases: [(&str, Change, &[&str]); 9] = [
        (
            "a missing folder",
            |o| o.cwd = "/nonexistent/folder".into(),
            &["/nonexistent/folder", "not a folder"],
        ),
        ("a file as folder", |o| o.cwd.push("file"), &["file", "not a folder"]),
        ("a missing second folder", |o| o.add_dirs.push("elsewhere".into()), &["elsewhere"]),
        ("a bad allow rule", |o| o.allow.push("Bash('git)".into()), &["Bash('git)"]),
        ("a bad deny rule", |o| o.deny.push("Edit(".into()), &["Edit("]),
        (
            "a misspelled tool",
            |o| o.tools = Some(vec!["Grep".into(), "Raed".into()]),
            &["\"Raed\"", "did you mean \"Read\"?"],
        ),
        (
            "a budget without a price",
            |o| (o.model, o.max_budget_usd) = ("unheard-of".into(), Some(1.0)),
            &["unheard-of", "price"],
        ),
        ("an unusable address", |o| o.base_url = Some("not an address".into()), &["base URL"]),
        (
            "no such session",
            |o| o.session = SessionChoice::Resume("00000000-0000-0000".into()),
            &["00000000-0000-0000"],
        ),
    ];
    for (name, change, words) in cases {
        let world = World::new(Script::new());
        std::fs::write(world.project().join("file"), "").unwrap();
        let mut options = world.on_disk();
        change(&mut options);
        let before = world.files();
        let Err(error) = Engine::open(&ostler::init(), options) else {
            panic!("{name} was accepted")
        };
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
    let priceless = Options { model: "unheard-of".into(), ..world.options() };
    let both = Options {
        fallback_model: Some("unheard-of".into()),
        max_budget_usd: Some(1.0),
        ..world.options()
    };
    let error = Engine::open(&ostler::init(), both).err().unwrap();
    assert!(matches!(&error, Error::NoPrice(model) if model == "unheard-of"), "{error}");
    // Without a budget no price is needed, and none is made up.
    let end = finished(open(priceless).submit("go")).await;
    assert_eq!((end.terminal, end.cost), (Terminal::Completed, None));
    // With one, a request that could exceed it is not sent.
    let poor = Options { max_budget_usd: Some(0.000_001), ..world.options() };
    let end = finished(open(poor).submit("go")).await;
    assert_eq!(end.terminal, Terminal::MaxBudget);
    assert_eq!(world.server.requests().len(), 1);
}

pub async fn only_chosen_tools_are_offered() {
    let world = World::new(Script::new().answer(text("ok")).forever());
    let offered = async |change: Change| {
        let mut options = world.options();
        change(&mut options);
        finished(open(options).submit("go")).await;
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
        "Bash Edit Glob Grep Read Recall Revert Skill Sleep TaskCreate TaskGet TaskList TaskUpdate TodoWrite Write"
    );
    assert_eq!(offered(|o| o.tools = Some(vec!["Read".into(), "Bash".into()])).await, "Bash Read");
    assert_eq!(offered(|o| o.tools = Some(Vec::new())).await, "");
    assert_eq!(
        offered(|o| o.deny = vec!["Bash".into(), "Write".into()]).await,
        "Edit Glob Grep Read Recall Revert Skill Sleep TaskCreate TaskGet TaskList TaskUpdate TodoWrite"
    );
    world.assert_never_rejected();
}

/// Says what it was told to, and remembers what it was asked.
struct Scripted(Reply, Mutex<Vec<Question>>);

impl Approver for Scripted {
    fn ask(&self, question: Question) -> BoxFuture<'_, Reply> {
        self.1.lock().unwrap().push(question);
        Box::pin(std::future::ready(self.0.clone()))
    }
}

pub async fn an_approver_of_ones_own() {
    for (reply, runs, questions) in [
        (Reply::Yes, true, 2),
        (Reply::YesForSession, true, 1),
        (Reply::No("the moon is full".into()), false, 2),
    ] {
        let call = |name: &str| ("Bash", json!({"command": format!("touch {name}")}));
        let world =
            World::new(Script::new().answer(calls([call("one"), call("one")])).answer(text("ok")));
        let approver = Arc::new(Scripted(reply.clone(), Mutex::default()));
        let mut options = world.options();
        (options.mode, options.approver) = (Mode::Default, approver.clone());
        let end = finished(open(options).submit("go")).await;
        assert_eq!(end.denials.len(), if runs { 0 } else { 2 });
        assert_eq!(world.project().join("one").exists(), runs, "{reply:?}");
        let asked = approver.1.lock().unwrap();
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
    finished(open(Options { mode: Mode::Default, ..world.options() }).submit("go")).await;
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

    fn call<'a>(&'a self, event: &'a HookEvent) -> BoxFuture<'a, Outcome> {
        self.0.lock().unwrap().push(event.clone());
        let HookEvent::PreToolUse { tool_input, .. } = event else {
            return Box::pin(std::future::ready(Outcome::default()));
        };
        let refuses = tool_input["command"].as_str().unwrap().contains("two");
        let outcome = if refuses {
            Outcome::of(Stand::Block, "guard", "not two")
        } else {
            Outcome::default()
        };
        Box::pin(std::future::ready(outcome))
    }
}

pub async fn a_hook_of_ones_own() {
    let call = |name: &str| ("Bash", json!({"command": format!("touch {name}")}));
    let world =
        World::new(Script::new().answer(calls([call("one"), call("two")])).answer(text("ok")));
    let guard = Arc::new(Guard(Mutex::default()));
    let engine = open(world.options().hook(guard.clone()));
    let end = finished(engine.submit("go")).await;
    engine.close().await;
    assert_eq!(end.denials.len(), 1);
    assert!(world.project().join("one").exists() && !world.project().join("two").exists());
    assert!(world.told(1).contains("the hook guard: not two"), "{}", world.told(1));
    let heard: Vec<&str> =
        guard.0.lock().unwrap().iter().map(|event| event.name().name()).collect();
    assert_eq!(heard, ["PreToolUse", "PreToolUse", "SessionEnd"]);
}
