//! The prompt cache, played by a server that keeps entries per mark and looks back twenty blocks.

use crate::support::{hear, model, request, serve};
use ostler_core::ids::ModelId;
use ostler_core::message::{Block, Message, ResultPart};
use ostler_core::ports::Model;
use ostler_core::view::View;
use ostler_model_server::{Script, calls, text};
use serde_json::json;

/// Defect 7 of the reference: a wide parallel turn must not lose the cache.
#[tokio::test]
async fn wide_turns_keep_the_cache() {
    let widths = [30, 1, 45, 12];
    let mut script = Script::new();
    for width in widths {
        script = script.answer(calls((0..width).map(|n| ("Read", json!({"n": n})))));
    }
    let server = serve(script.answer(text("done")));
    let model = model(&server.url());
    let mut view = View::from_messages([Message::user("go ".repeat(3_000))]);
    let mut written = 0;
    for turn in 0..=widths.len() {
        let heard = hear(&model, request(&view)).await;
        assert_eq!(heard.error, None);
        let usage = heard.usage;
        assert!(usage.cache_read >= written, "turn {turn}: {usage:?} after {written}");
        written = usage.cache_read + usage.cache_write;
        assert!(written > 0);
        let results = heard.blocks.iter().filter_map(|block| match block {
            Block::ToolUse { id, .. } => Some(Block::ToolResult {
                id: id.clone(),
                content: vec![ResultPart::text("some result")],
                is_error: false,
            }),
            _ => None,
        });
        let results: Vec<_> = results.collect();
        view.push(Message::assistant(&ModelId::new("scripted"), heard.blocks.clone()));
        view.push(Message::User { content: results });
    }
    assert!(server.rejected().is_empty(), "{:?}", server.rejected());
}

#[tokio::test]
async fn an_estimate_is_near_what_is_counted() {
    let server = serve(Script::new().answer(text("ok")));
    let model = model(&server.url());
    let asked =
        request(&View::from_messages([Message::user("some words to be counted ".repeat(2_000))]));
    let estimate = model.estimate(&asked);
    hear(&model, asked).await;
    let bytes = server.requests()[0].body.len() as f64;
    assert!(
        (estimate as f64) > bytes / 3.7 && (estimate as f64) < bytes / 3.3,
        "{estimate} for {bytes} bytes"
    );
}

#[tokio::test]
async fn what_is_known_of_models() {
    let model = model("http://127.0.0.1:9");
    let info = model.info(&ModelId::new("scripted"));
    assert_eq!(
        (info.window, info.price.map(|p| (p.input, p.output))),
        (200_000, Some((3.0, 15.0)))
    );
    assert_eq!(model.info(&ModelId::new("who-knows")).price, None);
}
