//! A summary in the bytes of the requests, and on the bill.

use crate::reuse::{SUMMARISE, is_summary};
use crate::support::{World, open, until};
use ostler::{Event, Receipt, Terminal};
use ostler_model_server::{Match, Recorded, Reply, Script, text};

const MARK: &str = r#","cache_control":{"type":"ephemeral"}"#;

/// Answers in order; whenever a summary is asked for, a short one.
pub fn with_summaries(answers: impl IntoIterator<Item = Reply>) -> Script {
    let asked = Match { contains: vec![SUMMARISE.into()], ..Match::default() };
    let script = Script::new().answer(text("# Summary\nWork was done.")).when(asked).forever();
    answers.into_iter().fold(script, Script::answer)
}

fn body(request: &Recorded) -> String {
    String::from_utf8(request.body.to_vec()).unwrap().replace(MARK, "")
}

/// Everything before the last message, from the first byte on.
fn up_to_last_message(request: &Recorded) -> String {
    let body = body(request);
    let mut last = request.messages().last().unwrap().clone();
    for block in last["content"].as_array_mut().unwrap() {
        block.as_object_mut().unwrap().remove("cache_control");
    }
    let at = body.rfind(&last["content"].to_string()).expect("rendered as serde would");
    let message = body[..at].rfind("{\"role\"").unwrap();
    body[..message].trim_end_matches(',').to_owned()
}

/// 180 000 tokens, the threshold: one request, which begins as the one before it and is read from the cache.
pub async fn a_full_window_takes_one_request() {
    let words = |n: usize| format!("Answer {n} goes into every detail. ").repeat(400);
    let world = World::new(with_summaries((0..60).map(|n| text(words(n)))));
    let mut options = world.options();
    options.session.settings.context.window = Some(200_000);
    options.session.settings.context.bounds.threshold = Some(180_000);
    let session = open(options);
    let mut receipts: Vec<Receipt> = Vec::new();
    for n in 0..60 {
        let mut turn = session.ask(format!("question {n}")).unwrap();
        let end = until(&mut turn, |event| {
            if let Event::Compacted { receipt } = event {
                receipts.push((**receipt).clone());
            }
            matches!(event, Event::Finished(_))
        });
        assert!(matches!(end.await, Event::Finished(end) if end.terminal == Terminal::Completed));
    }
    let [receipt] = receipts.as_slice() else { panic!("one summary: {receipts:?}") };
    assert_eq!((receipt.requests, receipt.before >= 180_000), (1, true), "{receipt:?}");
    let requests = world.server.requests();
    let at = requests.iter().position(|request| is_summary(request)).expect("a summary");
    assert_eq!(requests.iter().filter(|request| is_summary(request)).count(), 1);
    // 60 answers and nothing else was asked for.
    assert_eq!(requests.len(), 61);
    let (before, asked) = (body(&requests[at - 1]), up_to_last_message(&requests[at]));
    assert!(before.starts_with(asked.as_str()), "it does not begin as the request before");
    assert!(asked.len() * 10 > before.len() * 9, "{} of {}", asked.len(), before.len());
    let bill = world.server.bill();
    let rows: Vec<_> = bill.rows().collect();
    let (row, ideal) = (rows[at].billed, rows[at].ideal_read);
    println!(
        "summary of {} tokens: 1 request, {} read from the cache, {} written, {} fresh",
        receipt.before, row.cache_read, row.cache_write_5m, row.input
    );
    assert!(row.cache_read * 10 > row.prompt() * 9 && row.cache_read * 100 >= ideal * 99);
    world.assert_never_rejected();
}
