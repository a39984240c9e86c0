//! Everything above a protocol works with any: the same transport, retries, engine and tools with another wire format.

use crate::support::{World, finished, open, with};
use crate::toy_protocol::ToyProtocol;
use crate::toy_server::{Asked, Reply, ToyServer};
use futures_util::StreamExt;
use ostler::protocol::{HeaderMap, Protocol, RefusedFeatures};
use ostler::{Credentials, Provider, SessionChoice, Terminal};
use ostler_core::ids::ModelId;
use ostler_core::message::{Block, Message};
use ostler_core::model::{ModelError, ModelErrorKind, ModelEvent, Request, Thinking};
use ostler_core::ports::Model;
use ostler_core::tool::ToolSpec;
use ostler_core::view::View;
use ostler_model_server::{Script, text};
use ostler_models::{Capabilities, HttpModel, ModelSettings, Providers};
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

const NAME: &str = "toy_lines";

fn provider(name: &str, url: &str) -> Provider {
    let entry = json!({"protocol": NAME, "baseUrl": url, "headers": {"X-Team": "blue"}});
    Provider::from_settings(name, &entry).unwrap()
}

fn model(name: &str, url: &str) -> HttpModel {
    let mut settings = ModelSettings::new(provider(name, url), Credentials::none());
    settings.protocols = vec![Arc::new(ToyProtocol::new(NAME))];
    HttpModel::new(settings).unwrap()
}

fn said(words: &str) -> Reply {
    (
        200,
        vec![json!({"hello": "1"}), json!({"w": words}), json!({"bye": "done", "in": 9, "out": 2})],
    )
}

fn refused(body: Value) -> Reply {
    (418, vec![body])
}

fn request(model: &str, view: View) -> Request {
    Request {
        model: ModelId::new(model),
        system: vec!["Be brief.".to_owned()].into(),
        tools: vec![ToolSpec { name: "Read".into(), ..ToolSpec::default() }].into(),
        view,
        max_output: 4_000,
        thinking: Thinking::Auto,
        retries: 1,
        retries_before_fallback: None,
        raw_events: false,
        source: ostler_core::ledger::Purpose::Answer,
        agent: Default::default(),
    }
}

fn go(model: &str) -> Request {
    request(model, View::from_messages([Message::user("go")]))
}

async fn hear(model: &impl Model, request: Request) -> Result<Vec<ModelEvent>, ModelError> {
    let items: Vec<_> = model.stream(request).collect().await;
    items.into_iter().collect()
}

fn has_mood(asked: &Asked) -> bool {
    asked.lines.last().is_some_and(|line| !line["mood"].is_null())
}

/// Settings, provider, HTTP, parser, scheduler, tool, log, and a change to another provider in the same session.
pub async fn a_whole_turn_with_a_call_and_back_to_the_first() {
    let world = World::new(Script::new().answer(text("the first one answers")).forever());
    let file = world.project().join("a.txt");
    std::fs::write(&file, "forty-two").unwrap();
    let call = json!({"do": "Read", "mark": "c1", "with": {"file_path": file}});
    let seal = json!({"cipher": "hm"});
    let toys = ToyServer::start(vec![
        refused(json!({"no": "mood", "say": "what is a mood?"})),
        (
            200,
            vec![
                json!({"hello": "1"}),
                json!({"sealed": seal}),
                json!({"w": "let me "}),
                json!({"w": "look"}),
                call,
                json!({"bye": "work", "in": 7, "out": 3}),
            ],
        ),
        said("it says 42"),
    ]);
    let options = with(world.on_disk(), |o| {
        o.session.model = "toy/tiny".into();
        o.host.providers = vec![(provider("toy", &toys.url()), Credentials::none())];
        o.host.protocols = vec![Arc::new(ToyProtocol::new(NAME))];
    });
    let session = open(options.clone());
    let id = session.id().to_string();
    let ended = finished(session.ask("what does a.txt say?").unwrap()).await;
    assert_eq!((ended.terminal, ended.text.as_str()), (Terminal::Completed, "it says 42"));
    assert_eq!((ended.usage.input, ended.usage.output), (16, 5));
    drop(session);
    let asked = toys.asked();
    assert_eq!(asked.iter().map(has_mood).collect::<Vec<_>>(), [true, false, false]);
    for asked in &asked {
        assert_eq!(asked.path, "/toys/say/tiny");
        for header in ["x-toy: 1", "x-team: blue", "accept: application/x-toy-lines"] {
            assert!(
                asked.headers.iter().any(|line| line == header),
                "{header}: {:?}",
                asked.headers
            );
        }
        assert!(
            !asked.headers.iter().any(|line| line.contains("test-key")),
            "another's credential"
        );
    }
    let last = &asked[2].lines;
    let result = last.iter().find(|line| !line["got"].is_null()).unwrap();
    assert_eq!((&result["of"], &result["mark"]), (&json!("Read"), &json!("c1")));
    assert!(result["got"].as_str().unwrap().contains("forty-two"));
    assert!(last.contains(&json!({"who": "it", "sealed": seal})), "back to its author");
    let before = asked[1].body();
    let (before, _) = before.split_once("{\"go\"").unwrap();
    assert!(asked[2].body().starts_with(before), "a request extends the one before");

    let session = SessionChoice::Resume(id);
    let session = open(with(options, |o| {
        o.session.model = "scripted".into();
        o.session.log = session;
    }));
    let ended = finished(session.ask("and you?").unwrap()).await;
    assert_eq!(ended.text, "the first one answers");
    world.assert_never_rejected();
    let told = world.told(0);
    assert!(told.contains("forty-two") && told.contains("it says 42"), "{told}");
    assert!(!told.contains("cipher"), "what another protocol sealed is not sent: {told}");
    assert_eq!(toys.asked().len(), 3);
}

pub async fn refusals_are_remembered_by_provider_and_model() {
    let no = || refused(json!({"no": "mood", "say": "no mood here"}));
    let one = ToyServer::start(vec![no(), said("a"), said("b"), no(), said("c")]);
    let two = ToyServer::start(vec![no(), said("d")]);
    let all = Providers::new(model("one", &one.url())).with("two", model("two", &two.url()));
    for name in ["tiny", "tiny", "small", "two/tiny"] {
        hear(&all, go(name)).await.unwrap();
    }
    let moods = |server: &ToyServer| server.asked().iter().map(has_mood).collect::<Vec<_>>();
    assert_eq!(moods(&one), [true, false, false, true, false], "another model is asked again");
    assert_eq!(moods(&two), [true, false], "and another provider");
    let entry = json!({"protocol": NAME, "baseUrl": one.url(), "lacks": ["mood"]});
    let entry = Provider::from_settings("one", &entry).unwrap();
    let mut settings = ModelSettings::new(entry, Credentials::none());
    settings.protocols = vec![Arc::new(ToyProtocol::new(NAME))];
    let known = HttpModel::new(settings.clone());
    assert!(known.is_ok());
    settings.provider.lacks = vec!["moood".into()];
    let error = HttpModel::new(settings.clone()).err().unwrap().to_string();
    assert!(error.contains("`moood`") && error.contains("mood"), "{error}");
    settings.protocols.clear();
    let error = HttpModel::new(settings).err().unwrap().to_string();
    assert!(error.contains("protocol `toy_lines`"), "{error}");
}

pub async fn limits_and_waits_are_read_by_the_protocol() {
    let server = ToyServer::start(vec![
        refused(json!({"no": "full", "say": "no room", "have": 9000, "room": 8000})),
        refused(json!({"no": "busy", "say": "later", "again_ms": 3})),
        said("now"),
        refused(json!({"no": "long", "say": "too much", "most": 100})),
        said("short"),
        (200, vec![json!({"hello": "1"}), json!({"oops": {"code": "busy", "say": "stop"}})]),
    ]);
    let model = model("toy", &server.url());
    let error = hear(&model, go("toy/tiny")).await.unwrap_err();
    assert_eq!(error.kind, ModelErrorKind::ContextOverflow);
    assert_eq!((error.limits.prompt, error.limits.window), (Some(9_000), Some(8_000)));
    let events = hear(&model, go("toy/tiny")).await.unwrap();
    let ModelEvent::Retrying(retry) = &events[0] else { panic!("{events:?}") };
    assert_eq!((retry.wait, retry.kind), (Duration::from_millis(3), ModelErrorKind::Overloaded));
    hear(&model, go("toy/tiny")).await.unwrap();
    let most: Vec<_> =
        server.asked().iter().map(|asked| asked.lines.last().unwrap()["most"].clone()).collect();
    assert_eq!(most, [4_000, 4_000, 4_000, 4_000, 100]);
    let error = hear(&model, go("toy/tiny")).await.unwrap_err();
    assert_eq!(error.kind, ModelErrorKind::Overloaded, "an error frame in the answer");
}

/// Every way to cut it in two, and byte by byte; with an error frame and without.
pub async fn an_answer_may_be_cut_anywhere() {
    let (_, lines) = said("é 🦀");
    let whole: String = lines.iter().map(|line| format!("{line}\n")).collect();
    let broken = whole.replace("{\"bye\"", "{\"oops\":{\"code\":\"busy\"}}\n{\"bye\"");
    for text in [whole, broken] {
        let read = |pieces: &[&[u8]]| {
            let toy = ToyProtocol::new(NAME);
            let mut reader = toy.reader(&go("tiny"), &HeaderMap::new());
            let mut out = Vec::new();
            let failed = pieces.iter().find_map(|piece| reader.push(piece, &mut out).err());
            (format!("{out:?}"), failed, reader.is_ended())
        };
        let bytes = text.as_bytes();
        let whole = read(&[bytes]);
        for at in 0..=bytes.len() {
            let (before, after) = bytes.split_at(at);
            assert_eq!(read(&[before, after]), whole, "cut at {at}");
        }
        assert_eq!(read(&bytes.chunks(1).collect::<Vec<_>>()), whole);
    }
}

/// Twenty sessions; at message 500 each changes to another protocol, and later back.
pub async fn nothing_is_rendered_twice() {
    const SESSIONS: usize = 20;
    let (one, two) = (ToyProtocol::new("one"), ToyProtocol::new("two"));
    let first = ostler_models::protocol::named(&Provider::default().protocol).unwrap();
    let capabilities = Capabilities {
        model: "m".into(),
        max_output: 4_000,
        thinking: ostler_models::ThinkingStyle::None,
        effort_support: ostler_models::EffortSupport::No,
        keep_thinking: false,
        bytes_per_token: 4.0,
        effort: None,
        fast: false,
        cache: ostler_models::CacheSetting::Off,
        extras: Default::default(),
    };
    let mut sessions: Vec<Request> = (0..SESSIONS).map(|_| go("m")).collect();
    let ask = |protocol: &dyn Protocol, request: &Request| {
        let call = protocol.call(request, &capabilities, &RefusedFeatures::default());
        assert!(protocol.weigh(request, &capabilities) > 0);
        call.body.slices
    };
    let grow = |request: &mut Request, to: usize| {
        while request.view.items().len() < to {
            let n = request.view.items().len();
            request.view.push(match n % 2 {
                0 => Message::user(format!("prompt {n}")),
                _ => Message::assistant(&request.model, vec![Block::text(format!("answer {n}"))]),
            });
        }
    };
    let count = |toy: &ToyProtocol| toy.renders.load(Ordering::Relaxed);
    let front = 2;
    for length in (1..=500).step_by(25).chain([500]) {
        for session in &mut sessions {
            grow(session, length);
            ask(&one, session);
        }
    }
    assert_eq!((count(&one), count(&two)), (SESSIONS * (500 + front), 0));
    for length in 501..=510 {
        for session in &mut sessions {
            grow(session, length);
            ask(&two, session);
            ask(first.as_ref(), session);
        }
    }
    assert_eq!(count(&two), SESSIONS * (510 + front), "the history once, then each new message");
    assert_eq!(count(&one), SESSIONS * (500 + front));
    for session in &sessions {
        let before = ask(&one, session);
        let again = ask(&one, session);
        let shared = before.iter().zip(&again).filter(|(a, b)| a.as_ptr() == b.as_ptr()).count();
        assert_eq!(shared, 510 + front, "slices are shared, not copied");
    }
    assert_eq!(count(&one), SESSIONS * (510 + front), "back again: only what came since");
    println!(
        "rendered once: {} renders for {SESSIONS} sessions of 510 messages in two protocols, changed at message 500",
        count(&one) + count(&two)
    );
}
