//! Verdicts wrapped in everything that programs, shells and proxies put around them: a deny is never lost, and nothing
//! but an answer that is understood to its last character lets anything through.

use crate::hook::{EventName, HookAnswer, HookOutcome, Stand, answered, canary};
use proptest::prelude::*;

const GATES: [EventName; 2] = [EventName::PreToolUse, EventName::PermissionRequest];

fn read(event: EventName, output: &str, must_decide: bool) -> Result<HookOutcome, String> {
    let said = HookAnswer { refused: false, must_decide, output, errors: "" };
    answered(&canary(event, None), "h", &said)
}

/// What the registry makes of it: no verdict is a no.
fn runs(event: EventName, output: &str) -> bool {
    [false, true]
        .into_iter()
        .any(|webhook| read(event, output, webhook).is_ok_and(|out| out.stand < Stand::Block))
}

fn denies() -> Vec<String> {
    let special = |event: &str, decision: &str| {
        format!(r#"{{"hookSpecificOutput":{{"hookEventName":"{event}",{decision}}}}}"#)
    };
    vec![
        r#"{"decision":"block","reason":"no"}"#.into(),
        r#"{"decision": "block"}"#.into(),
        "{\r\n  \"decision\": \"block\",\r\n  \"reason\": \"no {really}\"\r\n}".into(),
        r#"{"continue":false,"stopReason":"no"}"#.into(),
        r#"{"decis\u0069on":"bl\u006fck"}"#.into(),
        special("PreToolUse", r#""permissionDecision":"deny","permissionDecisionReason":"no""#),
        special("PermissionRequest", r#""decision":{"behavior":"deny","message":"no"}"#),
        r#"{"permissionDecision":"deny"}"#.into(),
        r#"{"decision":"block","decision":"approve"}"#.into(),
        r#"{"decision":"approve","decision":"block"}"#.into(),
    ]
}

fn allows() -> Vec<String> {
    let special = |event: &str, decision: &str| {
        format!(r#"{{"hookSpecificOutput":{{"hookEventName":"{event}",{decision}}}}}"#)
    };
    vec![
        r#"{"decision":"approve"}"#.into(),
        r#"{"continue":true}"#.into(),
        special("PreToolUse", r#""permissionDecision":"allow""#),
        special("PreToolUse", r#""permissionDecision":"allow","updatedInput":{"command":"ls"}"#),
        special("PermissionRequest", r#""decision":{"behavior":"allow"}"#),
    ]
}

/// Noise that leaves the document whole. None of it is part of an answer.
fn around(json: &str) -> Vec<(&'static str, String)> {
    vec![
        ("a line before", format!("loading profile\n{json}")),
        ("a line after", format!("{json}\ndone in 3 ms")),
        ("the same line", format!("verdict: {json};")),
        ("a log line in brackets", format!("[12:00:01] INFO {{run}} checking\n{json}")),
        ("colours", format!("\u{1b}[32m{json}\u{1b}[0m")),
        ("an array", format!("[{json}]")),
        ("an array of two", format!("[{{\"a\":1}}, {json}]")),
        ("nested", format!("{{\"result\":{{\"verdicts\":[{json}]}}}}")),
        ("two documents", format!("{json}\n{json}")),
        ("an allow before", format!("{{\"decision\":\"approve\"}}{json}")),
        ("an allow after", format!("{json}\n{{\"continue\":true}}")),
        ("half a document before", format!("{{\"decision\":\"appro\n{json}")),
        ("half a document after", format!("{json}{{\"decision\":")),
        ("a page", format!("<html><body><pre>{json}</pre></body></html>")),
        ("a fence", format!("```json\n{json}\n```")),
        ("megabytes", format!("{}\n{json}", "{ x ".repeat(100_000))),
        ("an object too many", format!("{{{json}}}")),
        ("a trailing comma", format!("{json},")),
        ("NULs", format!("\0\0{json}\0")),
    ]
}

/// Noise that destroys it.
fn ruined(json: &str) -> Vec<(&'static str, String)> {
    let utf16: String = json.bytes().flat_map(|byte| [char::from(byte), '\0']).collect();
    let half: String = json.chars().take(json.chars().count() - 1).collect();
    vec![
        ("UTF-16", format!("\u{fffd}\u{fffd}{utf16}")),
        ("truncated", half),
        ("single quotes", json.replace('"', "'")),
        ("typographic quotes", json.replace('"', "\u{201d}")),
        ("a string of JSON", serde_json::to_string(json).unwrap()),
        ("a body of a gateway", format!("{{\"body\":{}}}", serde_json::to_string(json).unwrap())),
    ]
}

#[test]
fn a_deny_counts_wherever_it_is_found() {
    for deny in denies() {
        for event in GATES {
            assert!(!runs(event, &deny), "{event:?}: {deny}");
            for (noise, output) in around(&deny) {
                let read = read(event, &output, false);
                let denied = read.as_ref().is_ok_and(|out| out.stand >= Stand::Block);
                assert!(denied, "{event:?}, {noise}: {deny}: {read:?}");
            }
            for (noise, output) in ruined(&deny) {
                assert!(!runs(event, &output), "{event:?}, {noise}: {deny}");
            }
        }
    }
}

#[test]
fn an_allow_counts_only_by_itself() {
    for allow in allows() {
        for event in GATES {
            for (noise, output) in around(&allow).into_iter().chain(ruined(&allow)) {
                assert!(!runs(event, &output), "{event:?}, {noise}: {allow}");
            }
        }
    }
    for plain in [r#"{"decision":"approve"}"#, "\u{feff}{\"continue\":true}\r\n", " {} \n", ""] {
        assert_eq!(read(EventName::PreToolUse, plain, false).unwrap(), HookOutcome::default());
    }
    assert!(read(EventName::PreToolUse, "{\"systemMessage\":\"caf\u{fffd}\"}", false).is_err());
}

/// A prompt hook prints what the model should read, which may hold brackets; a verdict among it still counts.
#[test]
fn text_for_the_model_may_hold_brackets() {
    let prompt = EventName::UserPromptSubmit;
    for text in ["- [x] done\n- [ ] open", "fn main() { run() }", "\u{1b}[1mbold\u{1b}[0m", "a}"] {
        assert_eq!(read(prompt, text, false).unwrap().context, [text]);
        assert_eq!(read(EventName::Stop, text, false).unwrap(), HookOutcome::default());
    }
    for deny in &denies()[..5] {
        for event in [prompt, EventName::Stop] {
            for (noise, output) in around(deny) {
                let stand = read(event, &output, false).map(|out| out.stand);
                assert!(stand.is_err() || stand >= Ok(Stand::Block), "{event:?}, {noise}: {deny}");
            }
            // Escaped and quoted once more it is beyond recognition, and no program writes that.
            let escaped = deny.contains("\\u");
            for (noise, output) in [&ruined(deny)[1..3], &ruined(deny)[4..]].concat() {
                if escaped && noise != "truncated" {
                    continue;
                }
                assert!(read(event, &output, false).is_err(), "{event:?}, {noise}: {deny}");
            }
        }
    }
}

/// Where no text is read, coloured or plain, it is a note; a bracket is an answer that went wrong.
#[test]
fn plain_text_is_a_note_and_brackets_are_not() {
    for text in ["checked", "\u{1b}[32mok\u{1b}[0m", "a <b> c", "50% (half)"] {
        assert_eq!(
            read(EventName::PreToolUse, text, false).unwrap(),
            HookOutcome::default(),
            "{text}"
        );
        assert!(read(EventName::PreToolUse, text, true).is_err(), "{text}");
    }
    for text in ["[info] checked", "{", "}", "]", "[]", "{\"ok\":true}", "ok {}", "[1]"] {
        assert!(read(EventName::PreToolUse, text, false).is_err(), "{text}");
    }
    // A hook that keeps a log may hand its input back.
    let event = serde_json::to_string(&canary(EventName::PreToolUse, None)).unwrap();
    assert_eq!(read(EventName::PreToolUse, &event, false).unwrap(), HookOutcome::default());
    assert!(read(EventName::PreToolUse, "", true).is_err());
    assert!(read(EventName::PreToolUse, "{}", true).is_err());
}

/// The input of a call may say what it likes.
#[test]
fn a_deny_in_what_others_wrote_is_not_the_hooks() {
    let output = r#"{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"allow",
        "updatedInput":{"command":"true","decision":"block"}}}"#;
    assert_eq!(read(EventName::PreToolUse, output, false).unwrap().stand, Stand::Pass);
}

#[test]
fn the_search_is_bounded() {
    for text in [
        "{\"a\":".repeat(200_000),
        "{\"a\":[{\"b\":1},".repeat(60_000),
        format!("{{\"a\":\"{}", "{\\\"".repeat(300_000)),
        "{".repeat(1_000_000),
        "[".repeat(1_000_000),
    ] {
        assert!(read(EventName::PreToolUse, &text, false).is_err());
    }
}

fn piece() -> impl Strategy<Value = String> {
    prop_oneof![
        3 => "[ -~\\n\\r\\t]{0,12}",
        2 => proptest::sample::select(vec![
            "\u{feff}", "\u{1b}[0m", "\r\n", "{", "}", "[", "]", "\"", "\\", ",", ":", "\0", "{}", "[]", "{\"a\":",
            "{\"decision\":\"approve\"}", "{\"continue\":true}", "\"decision\"", "null", "<html>", "\u{fffd}",
        ]).prop_map(str::to_owned),
    ]
}

proptest! {
    /// Whatever stands around a deny that is whole, nothing runs. The piece in front may swallow it (an open string),
    /// which is why the answer may also be that nothing is understood.
    #[test]
    fn no_noise_hides_a_deny(
        before in proptest::collection::vec(piece(), 0..6),
        after in proptest::collection::vec(piece(), 0..6),
        deny in proptest::sample::select(denies()),
        event in proptest::sample::select(GATES.to_vec()),
    ) {
        let output = format!("{}{deny}{}", before.concat(), after.concat());
        prop_assert!(!runs(event, &output), "{}", output);
    }

    /// Text with any bracket in it passes only if it is exactly one object.
    #[test]
    fn what_passes_is_exactly_one_object_or_has_no_brackets(
        pieces in proptest::collection::vec(piece(), 0..8),
        event in proptest::sample::select(GATES.to_vec()),
    ) {
        let output = pieces.concat();
        let out = read(event, &output, false);
        if out.is_ok_and(|out| out.stand < Stand::Block) {
            let text = output.trim().trim_start_matches('\u{feff}').trim();
            let whole = serde_json::from_str::<serde_json::Map<_, _>>(text).is_ok();
            let bare = text.replace("\u{1b}[", "");
            prop_assert!(whole || !bare.contains(['{', '}', '[', ']']), "{}", output);
        }
    }
}
