//! The ledger says the same as the model server's own bill, to the token.

use crate::support::{Named, Place, SetClock};
use ostler_core::event::Event;
use ostler_core::ids::ModelId;
use ostler_core::ledger::{Change, ChargeStatus, Purpose, Usage};
use ostler_core::message::Message;
use ostler_core::model::Request;
use ostler_core::ports::Ledger;
use ostler_core::session::Entry;
use ostler_core::time::Clock;
use ostler_core::tool::ToolOutput;
use ostler_core::turn::Terminal;
use ostler_engine::{Meter, side_request};
use ostler_ledger::{FileLedger, LedgerRow, SharedLimits, rows_of};
use ostler_model_server::{Billed, Match, ModelServer, Prices, Script, after, calls, status, text};
use ostler_models::{CredentialKind, Credentials, HttpModel, ModelSettings, Provider, Secret};
use ostler_testkit::{FakeTool, Rig, TestAgent, finished};
use serde_json::json;
use std::sync::Arc;
use std::time::Duration;

fn model(server: &ModelServer) -> Arc<HttpModel> {
    let credentials = Credentials {
        kind: CredentialKind::ApiKey,
        secret: Secret::new("test-key"),
        label: "test".into(),
    };
    let provider = Provider::named("anthropic").unwrap().at(server.url());
    let mut settings = ModelSettings::new(provider, credentials);
    settings.retry.base = Duration::from_millis(1);
    Arc::new(HttpModel::new(settings).unwrap())
}

fn rig(server: &ModelServer, ledger: Arc<FileLedger>) -> Rig {
    let long = ToolOutput::text("word ".repeat(4_000));
    TestAgent::new()
        .over(model(server), "scripted")
        .fallback("scripted-spare")
        .tools([FakeTool::reading("Read").gives(long)])
        .settings(|settings| {
            settings.retries = 3;
            settings.retries_before_fallback = 1;
            settings.stream_backoff = Duration::from_millis(1);
        })
        .meter(Meter::new(ledger as Arc<dyn Ledger>, Named::new("r")))
        .build()
}

/// A real summary, in place of the conversation so far.
async fn sum_up(rig: &Rig) {
    let stream = ostler_engine::compact(rig.agent.clone(), None, Default::default());
    let events = ostler_testkit::collect(stream).await;
    assert!(events.iter().any(|event| matches!(event, Event::Compacted { .. })), "{events:?}");
}

/// A request beside the conversation, as a title makes one.
async fn beside(rig: &Rig, ask: &str, purpose: Purpose) {
    let mut view = rig.view();
    view.push(Message::user(ask));
    let request = Request {
        model: "scripted".into(),
        system: rig.agent.system.clone(),
        tools: rig.agent.tools.current().specs(),
        view,
        max_output: 2_000,
        thinking: rig.agent.settings.thinking,
        retries: 3,
        retries_before_fallback: None,
        raw_events: false,
        source: purpose,
        agent: Default::default(),
    };
    let answer = side_request(&rig.agent, request, None).await.unwrap();
    assert!(answer.message.is_some());
}

fn script() -> Script {
    let read = || calls([("Read", json!({"path": "/ws/a"}))]);
    Script::new()
        // The summary and the title, whenever they come; the summary fails once.
        .answer(status(529))
        .when(Match::last_user("is about to be replaced by a summary that you write now"))
        .answer(text("what happened"))
        .when(Match::last_user("is about to be replaced by a summary that you write now"))
        .answer(text("a title"))
        .when(Match::last_user("a title for"))
        // First turn: retried, then calls, then a stream that breaks and is asked again.
        .status(529)
        .answer(read())
        .answer(text("half of it").cut(after("content_block_delta").close()))
        .answer(read())
        .answer(text("done"))
        // Second turn: the first model is overloaded until the spare one takes over.
        .status(529)
        .when(Match::model("scripted"))
        .times(2)
        .answer(text("from the spare one"))
        .when(Match::model("scripted-spare"))
        .answer(text("and back"))
        .price("scripted", Prices::new(3.0, 15.0))
}

#[tokio::test]
async fn the_ledger_is_the_providers_bill() {
    let place = Place::new();
    let server = ModelServer::start(script()).unwrap();
    let clock = SetClock::at(1_000);
    let ledger = Arc::new(place.ledger("s", SharedLimits::default(), clock));
    let rig = rig(&server, ledger.clone());
    for prompt in ["first", "second", "third"] {
        let events = rig.turn(prompt).await;
        assert_eq!(finished(&events).terminal, Terminal::Completed, "{:?}", server.rejected());
        match prompt {
            "first" => beside(&rig, "a title for this", Purpose::Title).await,
            "second" => sum_up(&rig).await,
            _ => {}
        }
    }
    assert_eq!(server.rejected(), [] as [&str; 0]);
    ledger.flush();
    let rows = place.rows();
    same_tokens(&rows, &server);
    same_story(&rows, &server);
    let (all, cost) = billed(&rows, None);
    println!("ledger = the server's bill: {} requests, {all:?}, {cost:.6} dollars", rows.len());
    // The log alone gives the same rows.
    let mut entries = vec![opened()];
    entries.extend(rig.timeline.entries());
    let mut again = rows_of(&entries, &crate::support::days());
    again.sort_by(|a, b| key(a).cmp(key(b)));
    let mut rows = rows;
    rows.sort_by(|a, b| key(a).cmp(key(b)));
    assert_eq!(again, rows);
}

fn key(row: &LedgerRow) -> &str {
    &row.charged.charge.id
}

fn opened() -> Entry {
    Entry::Opened {
        format: 1,
        session: "s".into(),
        workspace: "/p".into(),
        at: ostler_core::time::Timestamp(0),
        forked_from: None,
        started_by: None,
    }
}

fn billed(rows: &[LedgerRow], model: Option<&str>) -> (Billed, f64) {
    let mut usage = Usage::default();
    let mut cost = 0.0;
    let named = |row: &&LedgerRow| model.is_none_or(|name| row.charged.model == ModelId::new(name));
    for row in rows.iter().filter(named) {
        usage += row.charged.usage;
        cost += row.charged.cost.unwrap();
    }
    let billed = Billed {
        input: usage.input,
        output: usage.output,
        cache_write_5m: usage.cache_write - usage.cache_write_1h,
        cache_write_1h: usage.cache_write_1h,
        cache_read: usage.cache_read,
    };
    (billed, cost)
}

fn same_tokens(rows: &[LedgerRow], server: &ModelServer) {
    let bill = server.bill();
    let (all, cost) = billed(rows, None);
    assert_eq!(all, bill.total());
    assert!((cost - bill.cost().unwrap()).abs() < 1e-12);
    assert!(all.cache_read > 0 && all.cache_write_5m > 0 && all.output > 0, "{all:?}");
    for model in ["scripted", "scripted-spare"] {
        assert_eq!(billed(rows, Some(model)).0, bill.of_model(model), "{model}");
    }
    // Also each for itself, in the order of the answers.
    let paid = rows.iter().filter(|row| row.charged.charge.status != ChargeStatus::Failed);
    let told: Vec<(u64, u64)> =
        paid.map(|row| (row.charged.usage.prompt(), row.charged.usage.output)).collect();
    let mut told_sorted = told.clone();
    let mut made: Vec<(u64, u64)> =
        bill.rows().map(|row| (row.billed.prompt(), row.billed.output)).collect();
    told_sorted.sort_unstable();
    made.sort_unstable();
    assert_eq!(told_sorted, made);
}

/// One row per request, with what it was for and what caused it.
fn same_story(rows: &[LedgerRow], server: &ModelServer) {
    assert_eq!(rows.len(), server.requests().len(), "failed tries have a row, too");
    let count = |purpose, status| {
        let of = |row: &&LedgerRow| {
            (row.charged.charge.purpose, row.charged.charge.status) == (purpose, status)
        };
        rows.iter().filter(of).count()
    };
    use Purpose::{Answer, Compaction, Fallback, Retry, Title};
    assert_eq!(
        (count(Compaction, ChargeStatus::Failed), count(Compaction, ChargeStatus::Ok)),
        (1, 1)
    );
    assert_eq!((count(Title, ChargeStatus::Ok), count(Fallback, ChargeStatus::Ok)), (1, 1));
    assert_eq!(count(Answer, ChargeStatus::Dropped), 1, "the broken stream");
    // 529 in the first turn; in the second the first model's first try.
    assert_eq!((count(Answer, ChargeStatus::Failed), count(Retry, ChargeStatus::Failed)), (2, 1));
    // After the 529 and after the broken stream.
    assert_eq!(count(Retry, ChargeStatus::Ok), 2);
    let by_read = |row: &&LedgerRow| row.charged.charge.tool.as_deref() == Some("Read");
    assert_eq!(rows.iter().filter(by_read).count(), 3, "two follow-ups and a repeated one");
    let first = |row: &&LedgerRow| row.charged.charge.task.as_deref() == Some("first");
    assert_eq!(rows.iter().filter(first).count(), 5);
    assert!(rows.iter().all(|row| row.session == "s" && row.project == "/p"));
    let began = |row: &LedgerRow| row.charged.charge.first_byte_ms.is_some();
    assert!(
        rows.iter().all(|row| began(row) == (row.charged.charge.status != ChargeStatus::Failed))
    );
}

/// A second engine that talks with another price list is not mixed up; unknown prices stay unknown.
#[tokio::test]
async fn a_model_without_a_price_costs_unknown_never_zero() {
    let place = Place::new();
    let server = ModelServer::start(Script::new().answer(text("hi"))).unwrap();
    let ledger = Arc::new(place.ledger("s", SharedLimits::default(), SetClock::at(1_000)));
    let rig = TestAgent::new()
        .over(model(&server), "nobody-knows-it")
        .meter(Meter::new(ledger.clone() as Arc<dyn Ledger>, Named::new("r")))
        .build();
    let events = rig.turn("go").await;
    assert_eq!(finished(&events).cost, None);
    ledger.flush();
    let rows = place.rows();
    assert_eq!((rows.len(), rows[0].charged.cost, rows[0].charged.charge.price), (1, None, None));
    assert!(rows[0].charged.usage.prompt() > 0);
}

/// A plain session reads what an ideal client would, but for what its marks cannot reach.
#[tokio::test]
async fn a_long_session_is_read_from_the_cache() {
    let place = Place::new();
    let mut script = Script::new();
    for _ in 0..15 {
        script =
            script.answer(calls([("Read", json!({"path": "/ws/a"}))])).answer(text("and now?"));
    }
    let server = ModelServer::start(script).unwrap();
    let ledger = Arc::new(place.ledger("s", SharedLimits::default(), SetClock::at(1_000)));
    let rig = rig(&server, ledger.clone());
    for turn in 0..15 {
        rig.turn(&format!("turn {turn}")).await;
    }
    ledger.flush();
    let (bill, rows) = (server.bill(), place.rows());
    assert_eq!(billed(&rows, None).0, bill.total());
    assert!(bill.ideal_read() > 0 && bill.reuse() >= 0.99, "{}", bill.reuse());
    assert!(rows.iter().all(|row| row.charged.charge.broken.is_none()), "no false alarm");
    let rates: Vec<f64> = rows.iter().filter_map(|row| row.charged.usage.hit_rate()).collect();
    assert!(rates[0] == 0.0 && rates[28] > 0.999 && rates[29] > 0.9, "{rates:?}");
}

/// After a pause longer than the cache lives, the alarm says so.
#[tokio::test]
async fn an_expired_cache_is_named() {
    let place = Place::new();
    let read = || calls([("Read", json!({"path": "/ws/a"}))]);
    let script = Script::new().answer(read()).answer(text("done")).answer(text("late"));
    let server = ModelServer::start(script).unwrap();
    let ledger = Arc::new(place.ledger("s", SharedLimits::default(), SetClock::at(1_000)));
    let rig = rig(&server, ledger.clone());
    rig.turn("first").await;
    // The rig's clock moves a second with each look.
    server.pass(Duration::from_secs(600));
    for _ in 0..600 {
        rig.clock.now();
    }
    rig.turn("second").await;
    ledger.flush();
    let rows = place.rows();
    let broken: Vec<_> = rows.iter().filter_map(|row| row.charged.charge.broken.clone()).collect();
    assert_eq!(broken.len(), 1, "{broken:?}");
    assert!(matches!(broken[0].change, Change::Pause { seconds: 600.. }), "{broken:?}");
    assert_eq!(broken[0].read, 0);
}
