use std::time::Instant;
use ostler_model_server::{Script, text};
use serde_json::json;
use crate::client::{Client, HEADERS, asking, post, serve};
#[test]
fn perf() {
    let server = serve(Script::new().answer(text("read")).forever());
    let mut client = Client::to(&server);
    for (n, size) in [(400, 4000), (4000, 400)] {
        let blocks: Vec<_> = (0..n).map(|at| json!({"type": "text", "text": format!("{at} {}", "y".repeat(size))})).collect();
        let body = asking(json!([{"role": "user", "content": blocks}])).to_string();
        let req = post("/v1/messages", HEADERS, &body);
        for _ in 0..5 {
            client.write(&req);
            let t = Instant::now();
            client.until("0\r\n\r\n");
            println!("{} blocks, {} bytes: {:?} after the last write", n, body.len(), t.elapsed());
        }
    }
}
