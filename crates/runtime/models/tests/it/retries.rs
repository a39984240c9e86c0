//! How often, after how long, and told beforehand.

use crate::support::{PATIENCE, go, hear, model, serve, settings};
use futures_util::StreamExt;
use ostler_core::model::ModelEvent;
use ostler_core::ports::Model;
use ostler_model_server::{Script, after, status, text};
use ostler_models::{HttpModel, ModelSettings, RetryPolicy};
use std::sync::Arc;
use std::time::{Duration, Instant};

#[tokio::test]
async fn a_failure_that_passes_is_repeated_until_it_has_passed() {
    let script = Script::new().status(529).times(2).status(500).answer(text("at last"));
    let server = serve(script);
    let mut asked = go();
    asked.retries = 10;
    let heard = hear(&model(&server.url()), asked).await;
    let expected = [
        "retrying 1/10 529 overloaded 1",
        "retrying 2/10 529 overloaded 2",
        "retrying 3/10 500 unavailable 4",
    ];
    assert_eq!(heard.starting_with("retrying"), expected);
    assert_eq!(heard.text(), "at last");
}

/// A07: the wait is told before it begins, and is exactly what was asked for.
#[tokio::test]
async fn retry_after_is_obeyed_and_told_beforehand() {
    let server =
        serve(Script::new().answer(status(429).header("retry-after", "1")).answer(text("ok")));
    let settings = ModelSettings { jitter: Arc::new(|| 1.0), ..settings(&server.url()) };
    let model = HttpModel::new(settings).unwrap();
    let mut asked = go();
    asked.retries = 1;
    let mut stream = model.stream(asked);
    let first = tokio::time::timeout(PATIENCE, stream.next()).await.unwrap();
    let Some(Ok(ModelEvent::Retrying(retry))) = first else { panic!("{first:?}") };
    assert_eq!(retry.wait, Duration::from_secs(1), "no chance is added");
    assert_eq!(server.requests().len(), 1, "told before waiting");
    let told = Instant::now();
    let rest: Vec<_> = stream.collect().await;
    assert!(rest.iter().all(Result::is_ok));
    assert!(told.elapsed() >= Duration::from_millis(950));
    assert_eq!(server.requests().len(), 2);
}

/// A date is as good as a number of seconds, measured by the clock of whoever sent it.
#[tokio::test]
async fn retry_after_may_be_a_date() {
    let limited = status(429)
        .header("date", "Wed, 21 Oct 2026 07:27:59 GMT")
        .header("retry-after", "Wed, 21 Oct 2026 07:28:00 GMT");
    let server = serve(Script::new().answer(limited).answer(text("ok")));
    let mut asked = go();
    asked.retries = 1;
    let model = model(&server.url());
    let mut stream = model.stream(asked);
    let first = tokio::time::timeout(PATIENCE, stream.next()).await.unwrap();
    let Some(Ok(ModelEvent::Retrying(retry))) = first else { panic!("{first:?}") };
    assert_eq!(retry.wait, Duration::from_secs(1));
    let far = status(429)
        .header("date", "Wed, 21 Oct 2026 07:27:59 GMT")
        .header("retry-after", "Wed, 21 Oct 2026 08:27:59 GMT");
    let server = serve(Script::new().answer(far).forever());
    let heard = hear(&self::model(&server.url()), go()).await;
    assert!(heard.error().message.contains("retry after 1 h 0 min"), "{}", heard.error());
}

/// Whatever the resolver says of a name that does not exist, it is not asked ten times.
#[tokio::test]
async fn an_unknown_host_is_given_up_soon() {
    let mut asked = go();
    asked.retries = 10;
    let heard = hear(&model("http://no-such-host.invalid"), asked).await;
    assert!(heard.starting_with("retrying").len() <= 2, "{:?}", heard.lines);
    let error = heard.error().message.clone();
    assert!(error.contains("no-such-host.invalid"), "{error}");
}

#[tokio::test]
async fn a_wait_nobody_has_time_for_is_not_begun() {
    let server = serve(Script::new().answer(status(429).header("retry-after", "600")).forever());
    let mut asked = go();
    asked.retries = 10;
    let heard = hear(&model(&server.url()), asked).await;
    assert!(
        heard
            .error()
            .message
            .ends_with("; it asks to retry after 10 min, more than the limit of 2 min"),
        "{}",
        heard.error()
    );
    assert_eq!(heard.error().retry_after, Some(Duration::from_secs(600)));
    assert_eq!((heard.lines.len(), server.requests().len()), (0, 1));
}

#[tokio::test]
async fn the_provider_may_say_whether_to_come_back() {
    let no = status(500).header("x-should-retry", "false");
    let yes = status(400).header("x-should-retry", "true");
    let server = serve(Script::new().answer(no).answer(yes).answer(text("ok")));
    let model = model(&server.url());
    let mut asked = go();
    asked.retries = 3;
    assert_eq!(hear(&model, asked.clone()).await.error().status, Some(500));
    assert_eq!(server.requests().len(), 1);
    let heard = hear(&model, asked).await;
    assert_eq!((heard.starting_with("retrying").len(), heard.text().as_str()), (1, "ok"));
}

/// A19, A38 before the answer begins: nothing was said, so it is asked again.
#[tokio::test]
async fn what_breaks_before_the_answer_begins_is_repeated() {
    let breaks = [
        text("x").cut(after("request").reset()),
        text("x").cut(after("request").close()),
        text("x").cut(after("headers").reset()),
        text("x").cut(after("headers").close()),
        text("x").cut(after("headers").end()),
        text("x").error_event(after("headers"), "overloaded_error", "Overloaded"),
        text("x").cut(after("headers").and_bytes(20).reset()),
    ];
    for (n, broken) in breaks.into_iter().enumerate() {
        let server = serve(Script::new().answer(broken).answer(text("ok")));
        let mut asked = go();
        asked.retries = 1;
        asked.raw_events = true;
        let heard = hear(&model(&server.url()), asked).await;
        assert_eq!(heard.text(), "ok", "break {n}: {:?}", heard.error);
        assert!(heard.lines[0].starts_with("retrying 1/1"), "break {n}: {:?}", heard.lines);
        assert_eq!(heard.starting_with("started").len(), 1, "break {n}");
    }
}

#[tokio::test]
async fn the_last_error_says_how_often_it_was_tried() {
    let server = serve(Script::new().status(503).forever());
    let mut asked = go();
    asked.retries = 4;
    let heard = hear(&model(&server.url()), asked).await;
    assert!(heard.error().message.ends_with("(gave up after 5 attempts)"), "{}", heard.error());
    assert_eq!(server.requests().len(), 5);
    let heard = hear(&model(&server.url()), go()).await;
    assert!(!heard.error().message.contains("tries"), "one try needs no counting");
}

/// A45: dropping the stream in a wait ends it; nothing is sent afterwards.
#[tokio::test]
async fn a_dropped_wait_is_over() {
    let server = serve(Script::new().status(500).forever());
    let retry = RetryPolicy { base: Duration::from_millis(100), ..RetryPolicy::default() };
    let model = HttpModel::new(ModelSettings { retry, ..settings(&server.url()) }).unwrap();
    let mut asked = go();
    asked.retries = 10;
    let mut stream = model.stream(asked);
    assert!(matches!(stream.next().await, Some(Ok(ModelEvent::Retrying(_)))));
    drop(stream);
    let more = server.wait_for_requests(2, Duration::from_millis(400)).await;
    assert!(more.is_err(), "a second request came");
}

#[tokio::test]
async fn nothing_is_sent_before_the_first_poll() {
    let server = serve(Script::new().answer(text("ok")));
    let stream = model(&server.url()).stream(go());
    assert!(server.wait_for_requests(1, Duration::from_millis(200)).await.is_err());
    drop(stream);
}
