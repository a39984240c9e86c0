//! Refused and failed requests.

use super::row::Row;
use crate::support::{Ran, World};
use ostler_model_server::{Match, Reply, Script, calls, status, text, think};
use serde_json::json;

const PNG: &[u8] = &[
    137, 80, 78, 71, 13, 10, 26, 10, 0, 0, 0, 13, 73, 72, 68, 82, 0, 0, 0, 1, 0, 0, 0, 1, 8, 6, 0,
    0, 0, 31, 21, 196, 137, 0, 0, 0, 13, 73, 68, 65, 84, 120, 218, 99, 100, 248, 207, 80, 15, 0, 3,
    134, 1, 128, 90, 52, 125, 107, 0, 0, 0, 0, 73, 69, 78, 68, 174, 66, 96, 130,
];
const NOTHING_TO_GAIN: &str = "There is nothing a summary could leave out: only a single prompt, or calls with hardly any output.";
const STAYS: &str = "A rejected credential stays rejected: a retry only delays the error message.";
const NO_PLAIN: &str =
    "The model does not exist. Claude Code retries without streaming, which cannot change that.";

pub fn rows() -> Vec<Row> {
    [invalid(), refused(), passing(), fallback()].into_iter().flatten().collect()
}

fn call() -> Reply {
    calls([("Bash", json!({"command": "echo 1"}))])
}

fn bad(message: &str) -> Reply {
    status(400).error("invalid_request_error", message)
}

fn said(ran: &Ran) -> &'static str {
    if ran.frames().iter().any(|frame| frame["subtype"] == "informational") {
        "with a notice"
    } else {
        "silently"
    }
}

fn invalid() -> Vec<Row> {
    let picture = calls([("Read", json!({"file_path": "a.png"}))]);
    let sum = "input length and `max_tokens` exceed context limit: 196000 + 8000 > 200000, decrease input length or `max_tokens` and try again";
    let thinking = Script::new().answer(think("hm").call("Bash", json!({"command": "echo 1"})));
    vec![
        Row::new("err400", "400", Script::new().answer(bad("no")).forever()).claude(1, "", 1),
        Row::new("err400_toolpair", "400 about calls without results", Script::new().answer(bad("messages.1: `tool_use` ids were found without `tool_result` blocks")).forever())
            .claude(2, "", 1)
            .because("Calls and results in the history are always paired, so a second identical request would be rejected again."),
        Row::new("err400_maxtok", "400: the prompt and `max_tokens` together do not fit the window; then text", Script::new().answer(bad(sum)).answer(text("done")))
            .look(|world, ran| {
                let limits: Vec<_> = world.server.requests().iter().map(|r| r.json()["max_tokens"].as_u64()).collect();
                let fits = limits == [Some(8_000), Some(200_000 - 196_000 - 1_000)];
                format!("{}, {}", if fits { "max_tokens lowered to what fits, minus 1000" } else { "then another limit" }, said(ran))
            })
            .claude(2, "max_tokens lowered to what fits, minus 1000, silently", 0)
            .because("A notice reports every change to a request."),
        Row::new("err400_think_sig", "thinking and a call, 400 about the signature, text", thinking.answer(bad("messages.1.content.0: Invalid `signature` in `thinking` block")).answer(text("done")))
            .look(|world, _| thinking_sent(world, 2))
            .claude(3, "last request without thinking", 0),
        Row::new("image_big", "Read of an image, 400 about its size, text", Script::new().answer(picture).answer(bad("messages.2.content.0.image.source.base64: image exceeds 5 MB maximum: 6000000 bytes > 5242880 bytes")).answer(text("done")))
            .file("a.png", PNG)
            .look(|world, _| {
                let body = world.server.requests()[2].json().to_string();
                if body.contains("base64") { "the image goes out again".into() } else { "text instead of the image".into() }
            })
            .claude(3, "text instead of the image", 0),
        downgraded("err400_ctxmgmt", "400: the field `context_management` is not known; then text", "context_management: Extra inputs are not permitted"),
        downgraded("err400_beta", "400: the interleaved-thinking beta is not known; then text", "Unexpected value(s) `interleaved-thinking-2025-05-14` for the `anthropic-beta` header"),
        Row::new("err400_sysrole", "400: the role `system` is not known", Script::new().answer(bad("messages.1.role: Input should be 'user' or 'assistant'")).forever())
            .claude(1, "", 1),
    ]
}

fn downgraded(name: &'static str, says: &'static str, message: &str) -> Row {
    Row::new(name, says, Script::new().answer(bad(message)).answer(text("done")))
        .env("ANTHROPIC_MODEL", "claude-haiku-4-5")
        .claude(1, "", 1)
        .because("Gateways lag behind the API: a feature that the provider does not know is left out from then on, with a notice.")
}

fn thinking_sent(world: &World, request: usize) -> String {
    let body = world.server.requests()[request].json()["messages"].to_string();
    if body.contains("\"thinking\"") {
        "last request with thinking".into()
    } else {
        "last request without thinking".into()
    }
}

fn refused() -> Vec<Row> {
    let many = (0..4).fold(Script::new(), |script, _| script.answer(call()));
    let results = (0..4).fold(Script::new(), |script, n| {
        let command = format!("echo {n}; seq 1 400");
        script.answer(calls([("Bash", json!({ "command": command }))]))
    });
    vec![
        Row::new("err401", "401, then text", Script::new().status(401).answer(text("done")))
            .claude(2, "", 0)
            .because(STAYS),
        Row::new(
            "err401_forever",
            "401, always; 2 retries allowed",
            Script::new().status(401).forever(),
        )
        .claude(3, "", 1)
        .because(STAYS),
        Row::new("err403", "403", Script::new().status(403).forever()).claude(1, "", 1),
        Row::new("err404", "404, then text", Script::new().status(404).answer(text("done")))
            .claude(2, "", 0)
            .because(NO_PLAIN),
        Row::new("err404_forever", "404, always", Script::new().status(404).forever())
            .claude(2, "", 1)
            .because(NO_PLAIN),
        Row::new("err413", "413", Script::new().status(413).forever())
            .claude(2, "", 1)
            .because(NOTHING_TO_GAIN),
        Row::new(
            "err413_many",
            "4 calls, 413, then text to every request (so a summary would succeed)",
            many.status(413).answer(text("done")).forever(),
        )
        .claude(7, "", 0)
        .because(NOTHING_TO_GAIN),
        Row::new(
            "err413_many_results",
            "4 calls with long results, 413, a summary, text",
            results.status(413).answer(text("so far")).answer(text("done")),
        )
        .claude(7, "", 0),
    ]
}

fn passing() -> Vec<Row> {
    let once = |code| Script::new().status(code).answer(text("done"));
    let asked_wait = |_: &World, ran: &Ran| {
        let frames = ran.frames();
        let wait = frames
            .iter()
            .find(|frame| frame["subtype"] == "api_retry")
            .map(|frame| frame["retry_delay_ms"].to_string());
        format!("waits {} ms", wait.unwrap_or_default())
    };
    let forever = |name, says, code| {
        let script = Script::new().status(code).forever();
        Row::new(name, says, script)
            .env("OSTLER_MAX_RETRIES", "10")
            .env("OSTLER_RETRY_WAIT_MS", "1")
            .claude(11, "", 1)
    };
    vec![
        Row::new("err408", "408, then text", once(408)).claude(2, "", 0),
        Row::new("err409", "409, then text", once(409)).claude(2, "", 0),
        Row::new("err503_x1", "503, then text", once(503)).claude(2, "", 0),
        Row::new(
            "err500_x2",
            "2 × 500, then text",
            Script::new().status(500).times(2).answer(text("done")),
        )
        .claude(3, "", 0),
        Row::new(
            "err429_ra2",
            "429 with `retry-after: 2`, then text",
            Script::new().answer(status(429).header("retry-after", "2")).answer(text("done")),
        )
        .look(asked_wait)
        .claude(2, "waits 2000 ms", 0),
        Row::new(
            "err429_x3",
            "3 × 429, then text",
            Script::new().status(429).times(3).answer(text("done")),
        )
        .env("OSTLER_MAX_RETRIES", "10")
        .claude(4, "", 0),
        Row::new(
            "err429_noretry",
            "429 with `x-should-retry: false`",
            Script::new()
                .answer(status(429).header("x-should-retry", "false"))
                .answer(text("done")),
        )
        .claude(1, "", 1),
        forever("L_err429_forever", "429, always; 10 retries allowed", 429),
        forever("L_err500_forever", "500, always; 10 retries allowed", 500),
        forever("L_err529_forever", "529, always; 10 retries allowed", 529),
        Row::new(
            "err529_retries2",
            "529, always; 2 retries allowed",
            Script::new().status(529).forever(),
        )
        .claude(3, "", 1),
    ]
}

fn fallback() -> Vec<Row> {
    let down = |code| Script::new().status(code).forever().when(Match::model("scripted"));
    let models = |world: &World, _: &Ran| {
        let requests = world.server.requests();
        format!(
            "last model: {}",
            requests.last().map(|request| request.model().to_owned()).unwrap_or_default()
        )
    };
    let spare = |name, says, script: Script| {
        Row::new(name, says, script).args(&["--fallback-model", "spare"]).look(models)
    };
    let chain = down(529).status(529).forever().when(Match::model("spare"));
    vec![
        spare("err404_fallback", "404 from the first model; a fallback model", down(404).answer(text("done"))).claude(2, "last model: spare", 0),
        spare("err529_fallback", "529 from the first model; a fallback model", down(529).answer(text("done"))).claude(4, "last model: spare", 0),
        spare("err500_fallback", "500 from the first model; a fallback model", down(500).answer(text("done")))
            .claude(2, "last model: spare", 0)
            .because("Most server errors are temporary, so the request is retried, as for an overload, before the fallback model is used."),
        spare("err429_fallback", "429 from the first model; a fallback model; 3 retries allowed", down(429).answer(text("done")))
            .env("OSTLER_MAX_RETRIES", "3")
            .claude(4, "last model: scripted", 1),
        spare("fallback_sticky", "529 from the first model; the fallback model makes a call and then finishes", down(529).answer(call()).answer(text("done")))
            .claude(5, "last model: spare", 0),
        spare("fallback_chain", "529 from both models", chain)
            .claude(7, "last model: third", 0)
            .because("There is one fallback model, not a list."),
    ]
}
