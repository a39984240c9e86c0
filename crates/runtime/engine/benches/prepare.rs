//! What looking at the window costs before a request, for a session of 300 turns and 1.6 MB.
//!
//! `cargo bench -p ostler-engine --bench prepare`
#![allow(clippy::unwrap_used, clippy::print_stdout)]

use ostler_core::context::{Pressure, budget, cut, stages};
use ostler_core::ids::ModelId;
use ostler_core::message::{Block, Message, ResultPart};
use ostler_core::view::View;
use ostler_testkit::TestAgent;
use std::hint::black_box;
use std::time::{Duration, Instant};

const TURNS: usize = 300;
const RESULT: usize = 2_400;
const ROUNDS: u32 = 200;

fn main() {
    let view = view();
    let agent = TestAgent::new().window(1_000_000).build().agent;
    let model = ModelId::new("model");
    println!("{} messages, {} bytes", view.items().len(), view.weight());
    let quiet = time(|| {
        let view = view.clone();
        let pressure = agent.pressure(&view, &model);
        black_box(budget::plan(&view, &pressure, 3.5));
        black_box(agent.pressure(&view, &model));
    });
    println!("nothing to do: {quiet:?} a request");
    let full = Pressure { tokens: 1, window: 1, threshold: 1, target: 0, overhead: 0, keep: 6 };
    let plans = time(|| {
        for stage in stages() {
            black_box(stage.plan(&view, &full, agent.tools.current().known()));
        }
        black_box(cut::plan(&view, &full, |bytes| bytes / 4));
    });
    println!("all stages planned: {plans:?}");
}

fn time(work: impl Fn()) -> Duration {
    work();
    let since = Instant::now();
    (0..ROUNDS).for_each(|_| work());
    since.elapsed() / ROUNDS
}

fn view() -> View {
    let model = ModelId::new("model");
    let mut view = View::default();
    for turn in 0..TURNS {
        view.push(Message::user(format!("prompt {turn}")));
        for call in 0..2 {
            let id = format!("c{turn}-{call}");
            let input = serde_json::json!({ "file_path": format!("/w/{turn}/{call}") });
            let used =
                Block::ToolUse { id: id.as_str().into(), name: "Read".into(), input, via: None };
            view.push(Message::assistant(&model, vec![used]));
            let content = vec![ResultPart::text("x".repeat(RESULT))];
            let result = Block::ToolResult { id: id.as_str().into(), content, is_error: false };
            view.push(Message::User { content: vec![result] });
        }
        view.push(Message::assistant(&model, vec![Block::text("done")]));
    }
    view
}
