//! Refused requests that are healed by asking for less.

use crate::support::{go, hear, model, serve, settings};
use ostler_core::ids::ModelId;
use ostler_core::model::{ModelErrorKind, Request, Thinking};
use ostler_core::ports::Model;
use ostler_model_server::{Script, status, text};
use ostler_models::{CacheSetting, Effort, HttpModel, ModelSettings};
use serde_json::{Value, json};

fn ask(name: &str) -> Request {
    let mut asked = go();
    asked.model = ModelId::new(name);
    asked
}

fn invalid(message: &str) -> ostler_model_server::Reply {
    status(400).error("invalid_request_error", message)
}

/// Defect 9 of the reference: what a provider does not know is left out, once and for all.
#[tokio::test]
async fn a_refused_field_is_left_out_from_then_on() {
    let table = [
        ("thinking", "claude-opus-4-8"),
        ("output_config", "claude-opus-4-8"),
        ("context_management", "claude-haiku-4-5"),
    ];
    for (field, name) in table {
        let script = Script::new()
            .answer(text("ok"))
            .times(3)
            .rules(|rules| rules.refuse_fields = vec![field.into()]);
        let server = serve(script);
        let settings = ModelSettings { effort: Some(Effort::High), ..settings(&server.url()) };
        let model = HttpModel::new(settings).unwrap();
        let heard = hear(&model, ask(name)).await;
        assert_eq!(heard.text(), "ok", "{field}: {:?}", heard.error);
        assert_eq!(heard.starting_with("note").len(), 1, "{field}");
        assert_eq!(heard.starting_with("retrying").len(), 0, "{field}: it is no retry");
        assert_eq!(hear(&model, ask(name)).await.starting_with("note").len(), 0, "{field}");
        let sent: Vec<_> =
            server.requests().iter().map(|r| r.json().get(field).is_some()).collect();
        assert_eq!(sent, [true, false, false], "{field}");
        let heard = hear(&model, ask("claude-opus-4-7")).await;
        assert_eq!(
            heard.starting_with("note").len(),
            usize::from(field != "context_management"),
            "another model is asked again"
        );
    }
}

/// The fast mode is a variant of a model: the same name on the wire, a field and a beta more.
#[tokio::test]
async fn fast_mode_is_asked_for_and_given_up_when_it_is_refused() {
    let server = serve(Script::new().answer(text("ok")).times(2));
    let model = model(&server.url());
    for name in ["claude-opus-5-fast", "claude-opus-5"] {
        assert_eq!(hear(&model, ask(name)).await.text(), "ok");
    }
    let beta = "fast-mode-2026-02-01";
    let sent: Vec<_> = server
        .requests()
        .iter()
        .map(|request| {
            let body = request.json();
            let betas = request.header("anthropic-beta").unwrap_or_default().contains(beta);
            (body["model"].clone(), body.get("speed").cloned(), betas)
        })
        .collect();
    let name = json!("claude-opus-5");
    assert_eq!(sent, [(name.clone(), Some(json!("fast")), true), (name, None, false)]);
    for rules in [&["speed"][..], &[]] {
        let server = serve(Script::new().answer(text("ok")).times(2).rules(|refuse| {
            refuse.refuse_fields = rules.iter().map(|field| (*field).to_owned()).collect();
            refuse.refuse_betas = vec![beta.to_owned()];
        }));
        let model = crate::support::model(&server.url());
        let heard = hear(&model, ask("claude-opus-4-8-fast")).await;
        assert_eq!(heard.text(), "ok", "{:?}", heard.error);
        assert_eq!(heard.starting_with("note").len(), 1, "{:?}", heard.lines);
        assert!(heard.starting_with("note")[0].contains("fast mode"), "{:?}", heard.lines);
        hear(&model, ask("claude-opus-4-8-fast")).await;
        let sent: Vec<bool> =
            server.requests().iter().map(|r| r.json().get("speed").is_some()).collect();
        assert_eq!(sent, [true, false, false]);
    }
}

/// What is only called so is not rewritten, and what has no such mode is not asked for it.
#[tokio::test]
async fn models_without_a_fast_mode_keep_their_name() {
    let server = serve(Script::new().answer(text("ok")).times(2));
    let model = model(&server.url());
    for name in ["claude-haiku-4-5-fast", "my-model-fast"] {
        assert_eq!(hear(&model, ask(name)).await.text(), "ok");
        let sent = server.requests().last().unwrap().json().clone();
        assert_eq!((&sent["model"], sent.get("speed")), (&json!(name), None));
    }
}

#[test]
fn fast_mode_costs_more() {
    let price = |name: &str, own: &str| {
        let settings = ModelSettings {
            prices: ostler_models::PriceBook::parse(own).unwrap(),
            ..settings("http://127.0.0.1:1")
        };
        let info = HttpModel::new(settings).unwrap().info(&ModelId::new(name));
        info.price.map(|price| (price.input, price.output, price.cache_read))
    };
    assert_eq!(price("claude-opus-5", ""), Some((5.0, 25.0, 0.5)));
    assert_eq!(price("claude-opus-5-fast", ""), Some((10.0, 50.0, 1.0)));
    let own = "[claude-opus-5]\ninput = 1\noutput = 2\n";
    assert_eq!(price("claude-opus-5-fast", own), Some((2.0, 4.0, 0.2)));
    let both = format!("{own}[claude-opus-5-fast]\ninput = 3\noutput = 4\n");
    assert_eq!(price("claude-opus-5-fast", &both).map(|price| price.0), Some(3.0));
}

#[tokio::test]
async fn a_refused_beta_is_left_out() {
    for (beta, rest) in [
        ("context-management-2025-06-27", "interleaved-thinking-2025-05-14"),
        ("interleaved-thinking-2025-05-14", "context-management-2025-06-27"),
    ] {
        let server = serve(
            Script::new().answer(text("ok")).rules(|rules| rules.refuse_betas = vec![beta.into()]),
        );
        let heard = hear(&model(&server.url()), ask("claude-haiku-4-5")).await;
        assert_eq!(heard.text(), "ok", "{beta}: {:?}", heard.error);
        let requests = server.requests();
        assert_eq!(requests.len(), 2);
        assert_eq!(requests[1].header("anthropic-beta"), Some(rest));
        assert_eq!(
            requests[1].json().get("context_management").is_some(),
            rest.starts_with("context")
        );
    }
}

#[tokio::test]
async fn several_refusals_are_healed_one_by_one() {
    let refused = ["thinking", "output_config"].map(str::to_owned).to_vec();
    let server =
        serve(Script::new().answer(text("ok")).rules(|rules| rules.refuse_fields = refused));
    let settings = ModelSettings { effort: Some(Effort::Max), ..settings(&server.url()) };
    let heard = hear(&HttpModel::new(settings).unwrap(), ask("claude-opus-4-8")).await;
    assert_eq!((heard.text().as_str(), heard.starting_with("note").len()), ("ok", 2));
}

#[tokio::test]
async fn a_refused_cache_time_becomes_the_usual_one() {
    let message = "system.0.cache_control.ephemeral.ttl: Extra inputs are not permitted";
    let server = serve(Script::new().answer(invalid(message)).answer(text("ok")));
    let model =
        HttpModel::new(ModelSettings { cache: CacheSetting::OneHour, ..settings(&server.url()) })
            .unwrap();
    assert_eq!(hear(&model, go()).await.text(), "ok");
    let marks: Vec<_> =
        server.requests().iter().map(|r| r.json()["system"][0]["cache_control"].clone()).collect();
    assert_eq!(marks, [json!({"type": "ephemeral", "ttl": "1h"}), json!({"type": "ephemeral"})]);
}

#[tokio::test]
async fn a_refusal_that_does_not_end_is_an_error() {
    let server =
        serve(Script::new().answer(invalid("thinking: Extra inputs are not permitted")).forever());
    let heard = hear(&model(&server.url()), ask("claude-opus-4-8")).await;
    assert_eq!(heard.error().kind, ModelErrorKind::BadRequest);
    assert_eq!(server.requests().len(), 2, "once with it, once without");
}

#[tokio::test]
async fn an_output_limit_is_made_to_fit_once() {
    let message = "input length and `max_tokens` exceed context limit: 190000 + 64000 > 200000, decrease input length or `max_tokens` and try again";
    let server = serve(
        Script::new()
            .answer(invalid(message))
            .answer(text("ok"))
            .answer(invalid(message))
            .forever(),
    );
    let model = model(&server.url());
    let heard = hear(&model, go()).await;
    assert_eq!((heard.text().as_str(), heard.starting_with("note").len()), ("ok", 1));
    let heard = hear(&model, go()).await;
    assert_eq!(heard.error().kind, ModelErrorKind::ContextOverflow);
    let limits: Vec<_> =
        server.requests().iter().map(|r| r.json()["max_tokens"].as_u64().unwrap()).collect();
    assert_eq!(limits, [32_000, 9_000, 32_000, 9_000]);
}

#[tokio::test]
async fn a_limit_that_leaves_no_answer_is_an_error_at_once() {
    let message = "input length and `max_tokens` exceed context limit: 199000 + 64000 > 200000";
    let server = serve(Script::new().answer(invalid(message)).forever());
    let heard = hear(&model(&server.url()), go()).await;
    assert_eq!((heard.error().kind, server.requests().len()), (ModelErrorKind::ContextOverflow, 1));
}

#[tokio::test]
async fn a_history_without_thinking_is_continued_without_it() {
    let message = "messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but found `tool_use`.";
    let server = serve(Script::new().answer(invalid(message)).answer(text("ok")).times(2));
    let model = model(&server.url());
    for _ in 0..2 {
        let mut asked = ask("claude-haiku-4-5");
        asked.thinking = Thinking::Budget(2_000);
        assert_eq!(hear(&model, asked).await.text(), "ok");
    }
    let thinking: Vec<_> = server
        .requests()
        .iter()
        .map(|r| r.json().get("thinking").is_some_and(|t| *t != Value::Null))
        .collect();
    assert_eq!(thinking, [true, false, true], "only for that request");
}
