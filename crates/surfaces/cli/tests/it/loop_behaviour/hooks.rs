//! Hooks that object, rewrite, add and stop.

use super::row::{Requests, Row};
use crate::support::{Ran, World};
use ostler_model_server::{Script, calls, status, text};
use serde_json::json;

pub fn rows() -> Vec<Row> {
    let parts =
        [before_a_call(), after_a_call(), at_both_ends(), vec![all_in_order(), at_an_error()]];
    parts.into_iter().flatten().collect()
}

/// One hook of one event.
fn hooked(name: &'static str, says: &'static str, settings: &'static str, script: Script) -> Row {
    Row::new(name, says, script).args(&["--settings", settings])
}

fn one_call() -> Script {
    let call = calls([("Bash", json!({ "command": "touch ran; echo said" }))]);
    Script::new().answer(call).answer(text("done"))
}

macro_rules! hook {
    ($event:literal, $command:literal) => {
        concat!(
            r#"{"hooks": {""#,
            $event,
            r#"": [{"hooks": [{"type": "command", "timeout": 1, "command": ""#,
            $command,
            r#""}]}]}}"#
        )
    };
}

fn whether_it_ran(world: &World, _: &Ran) -> String {
    let there = |name: &str| world.project().join(name).exists();
    match (there("ran"), there("rewritten")) {
        (true, _) => "the call ran",
        (false, true) => "the call ran as rewritten",
        (false, false) => "the call did not run",
    }
    .to_owned()
}

/// With what the model was told beside the result.
fn whether_it_was_told(world: &World, ran: &Ran) -> String {
    let told = world.server.requests().pop().unwrap().json()["messages"].to_string();
    let how = if told.contains("by the hook") { "the model is told" } else { "nothing is told" };
    format!("{}; {how}", whether_it_ran(world, ran))
}

fn before_a_call() -> Vec<Row> {
    let blocked = |name, says, settings| {
        hooked(name, says, settings, one_call())
            .look(whether_it_ran)
            .claude(Requests::Unsaid, "the call did not run", 0)
            .because("exit code 4 says that every call was denied")
    };
    let no_verdict = |name, says, settings| {
        hooked(name, says, settings, one_call())
            .look(whether_it_ran)
            .claude(Requests::Unsaid, "the call ran", 0)
            .because("a hook that gives no verdict denies the call")
    };
    vec![
        blocked(
            "hk_pre_exit2",
            "a call; a PreToolUse hook exits with 2",
            hook!("PreToolUse", "echo no >&2; exit 2"),
        ),
        blocked(
            "hk_pre_deny",
            "a call; a PreToolUse hook denies it",
            hook!(
                "PreToolUse",
                r#"echo '{\"hookSpecificOutput\": {\"hookEventName\": \"PreToolUse\", \"permissionDecision\": \"deny\", \"permissionDecisionReason\": \"no\"}}'"#
            ),
        ),
        blocked(
            "hk_pre_ask",
            "a call; a PreToolUse hook asks, and nobody is there",
            hook!(
                "PreToolUse",
                r#"echo '{\"hookSpecificOutput\": {\"hookEventName\": \"PreToolUse\", \"permissionDecision\": \"ask\"}}'"#
            ),
        ),
        hooked(
            "hk_pre_allow_upd",
            "a call; a PreToolUse hook allows it with another input",
            hook!(
                "PreToolUse",
                r#"echo '{\"hookSpecificOutput\": {\"hookEventName\": \"PreToolUse\", \"permissionDecision\": \"allow\", \"updatedInput\": {\"command\": \"touch rewritten\"}}}'"#
            ),
            one_call(),
        )
        .look(whether_it_ran)
        .claude(Requests::Unsaid, "the call ran as rewritten", 0),
        hooked(
            "hk_pre_defer",
            "a call; a PreToolUse hook defers it",
            hook!(
                "PreToolUse",
                r#"echo '{\"hookSpecificOutput\": {\"hookEventName\": \"PreToolUse\", \"permissionDecision\": \"defer\"}}'"#
            ),
            one_call(),
        )
        .look(|world, ran| format!("{}; {}", whether_it_ran(world, ran), ran.terminal()))
        .claude(1, "the call did not run; tool_deferred", 0),
        hooked(
            "hk_pre_ctx",
            "a call; a PreToolUse hook adds context",
            hook!(
                "PreToolUse",
                r#"echo '{\"hookSpecificOutput\": {\"hookEventName\": \"PreToolUse\", \"additionalContext\": \"by the hook\"}}'"#
            ),
            one_call(),
        )
        .look(whether_it_was_told)
        .claude(Requests::Unsaid, "the call ran; the model is told", 0),
        hooked(
            "hk_pre_continue_false",
            "a call; a PreToolUse hook says `continue: false`",
            hook!("PreToolUse", r#"echo '{\"continue\": false}'"#),
            one_call(),
        )
        .look(|world, ran| format!("{}; {}", whether_it_ran(world, ran), ran.terminal()))
        .claude(1, "the call ran; hook_stopped", 0)
        .because("a hook that stops the turn before a call stops the call, too"),
        no_verdict(
            "hk_pre_exit1",
            "a call; a PreToolUse hook exits with 1",
            hook!("PreToolUse", "exit 1"),
        ),
        no_verdict(
            "hk_pre_badjson",
            "a call; a PreToolUse hook prints broken JSON",
            hook!("PreToolUse", r#"echo '{\"decision\": '"#),
        ),
        no_verdict(
            "hk_pre_timeout",
            "a call; a PreToolUse hook takes longer than its limit",
            hook!("PreToolUse", "sleep 60"),
        ),
    ]
}

fn after_a_call() -> Vec<Row> {
    let told = |name, says, settings| {
        hooked(name, says, settings, one_call()).look(whether_it_was_told).claude(
            Requests::Unsaid,
            "the call ran; the model is told",
            0,
        )
    };
    vec![
        told(
            "hk_post_block",
            "a call; a PostToolUse hook blocks",
            hook!(
                "PostToolUse",
                r#"echo '{\"decision\": \"block\", \"reason\": \"by the hook\"}'"#
            ),
        ),
        told(
            "hk_post_ctx",
            "a call; a PostToolUse hook adds context",
            hook!(
                "PostToolUse",
                r#"echo '{\"hookSpecificOutput\": {\"hookEventName\": \"PostToolUse\", \"additionalContext\": \"by the hook\"}}'"#
            ),
        ),
        told(
            "hk_post_exit2",
            "a call; a PostToolUse hook exits with 2",
            hook!("PostToolUse", "echo by the hook >&2; exit 2"),
        ),
        hooked(
            "hk_post_upd",
            "a call; a PostToolUse hook replaces the result",
            hook!(
                "PostToolUse",
                r#"echo '{\"hookSpecificOutput\": {\"hookEventName\": \"PostToolUse\", \"updatedToolOutput\": \"by the hook\"}}'"#
            ),
            one_call(),
        )
        .look(|world, _| {
            let request = world.server.requests().pop().unwrap();
            let told = request.tool_results()[0].to_string();
            match (told.contains("said"), told.contains("by the hook")) {
                (false, true) => "the result is replaced",
                _ => "the result stays",
            }
            .to_owned()
        })
        .claude(Requests::Unsaid, "the result is replaced", 0),
        hooked(
            "hk_post_continue_false",
            "a call; a PostToolUse hook says `continue: false`",
            hook!("PostToolUse", r#"echo '{\"continue\": false}'"#),
            one_call(),
        )
        .look(|world, ran| format!("{}; {}", whether_it_ran(world, ran), ran.terminal()))
        .claude(1, "the call ran; hook_stopped", 0),
    ]
}

fn at_both_ends() -> Vec<Row> {
    let prompt = |name, says, settings| {
        hooked(name, says, settings, Script::new().answer(text("done"))).claude(0, "", 0)
    };
    let answers = || Script::new().answer(text("done")).forever();
    vec![
        prompt(
            "hk_ups_block",
            "a UserPromptSubmit hook blocks the prompt",
            hook!("UserPromptSubmit", r#"echo '{\"decision\": \"block\", \"reason\": \"no\"}'"#),
        ),
        prompt(
            "hk_ups_exit2",
            "a UserPromptSubmit hook exits with 2",
            hook!("UserPromptSubmit", "echo no >&2; exit 2"),
        ),
        hooked(
            "hk_stop_block_once",
            "text, text; a Stop hook blocks the first time",
            hook!("Stop", r#"grep -q 'active\": *true' || { echo more >&2; exit 2; }"#),
            answers(),
        )
        .claude(2, "", 0),
        hooked(
            "hk_stop_block_forever",
            "always text; a Stop hook always blocks",
            hook!("Stop", "echo more >&2; exit 2"),
            answers(),
        )
        .claude(9, "", 0)
        .because("a turn that a hook kept from ending is not a success"),
        hooked(
            "hk_stop_continue_false",
            "text; a Stop hook says `continue: false`",
            hook!("Stop", r#"echo '{\"continue\": false}'"#),
            answers(),
        )
        .look(|_, ran| ran.terminal())
        .claude(Requests::Unsaid, "stop_hook_prevented", 0)
        .because("exit code 1 says that a Stop hook ended the turn"),
    ]
}

/// Every event writes its name.
const ALL: &str = r#"{"hooks": {
    "SessionStart": [{"hooks": [{"type": "command", "command": "echo SessionStart >> order"}]}],
    "UserPromptSubmit": [{"hooks": [{"type": "command", "command": "echo UserPromptSubmit >> order"}]}],
    "PreToolUse": [{"hooks": [{"type": "command", "command": "echo PreToolUse >> order"}]}],
    "PostToolUse": [{"hooks": [{"type": "command", "command": "echo PostToolUse >> order"}]}],
    "PostToolUseFailure": [{"hooks": [{"type": "command", "command": "echo PostToolUseFailure >> order"}]}],
    "SubagentStart": [{"hooks": [{"type": "command", "command": "echo SubagentStart >> order"}]}],
    "SubagentStop": [{"hooks": [{"type": "command", "command": "echo SubagentStop >> order"}]}],
    "Stop": [{"hooks": [{"type": "command", "command": "echo Stop >> order"}]}],
    "StopFailure": [{"hooks": [{"type": "command", "command": "echo StopFailure >> order"}]}],
    "SessionEnd": [{"hooks": [{"type": "command", "command": "echo SessionEnd >> order"}]}]
}}"#;

fn order(world: &World, _: &Ran) -> String {
    let order = std::fs::read_to_string(world.project().join("order")).unwrap_or_default();
    order.lines().collect::<Vec<_>>().join(", ")
}

fn all_in_order() -> Row {
    let agent = json!({ "description": "look", "prompt": "look", "subagent_type": "general" });
    let script = Script::new()
        .answer(calls([("Bash", json!({ "command": "true" }))]))
        .answer(calls([("Bash", json!({ "command": "false" }))]))
        .answer(calls([("Agent", agent)]))
        .answer(text("found"))
        .answer(text("done"));
    hooked("hooks_all", "a call, a call that fails, an agent, text; a hook for each event that Ostler has", ALL, script)
        .look(order)
        .claude(
            Requests::Unsaid,
            "SessionStart, UserPromptSubmit, PreToolUse, PostToolUse, PreToolUse, PostToolUseFailure, PreToolUse, \
             SubagentStart, SubagentStop, PostToolUse, Stop, SessionEnd",
            0,
        )
}

fn at_an_error() -> Row {
    let refused = status(400).error("invalid_request_error", "no such thing");
    hooked(
        "hooks_error",
        "400; a hook for each event that Ostler has",
        ALL,
        Script::new().answer(refused).forever(),
    )
    .look(order)
    .claude(Requests::Unsaid, "SessionStart, UserPromptSubmit, StopFailure, SessionEnd", 1)
}
