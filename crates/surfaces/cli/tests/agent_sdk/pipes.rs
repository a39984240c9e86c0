//! What the SDKs do not check: the order of frames, exit codes, and programs that misbehave.

use crate::pipe_program::{PipeProgram, kind};
use ostler_model_server::{Script, text};
use serde_json::{Value, json};

fn kinds(frames: &[Value]) -> Vec<String> {
    frames.iter().map(kind).collect()
}

#[test]
fn a_turn_has_its_frames_in_this_order() {
    let look = text("I look.").call("Bash", json!({"command": "echo hi"}));
    let mut program = PipeProgram::start(Script::new().answer(look).answer(text("Done.")), &[]);
    program.request("r1", &json!({"subtype": "initialize", "hooks": null}));
    program.say("go");
    let frames = program.until("result");
    assert_eq!(
        kinds(&frames),
        [
            "control_response",
            "system/session_state_changed",
            "system/init",
            "assistant",
            "assistant",
            "user",
            "assistant",
            "result/success",
        ]
    );
    assert_eq!(frames[0]["response"]["request_id"], "r1");
    assert_eq!(
        (&frames[1]["state"], &frames[1]["sdk_host_only"]),
        (&json!("running"), &json!(true))
    );
    let session = &frames[2]["session_id"];
    assert!(frames[2..].iter().all(|frame| frame["session_id"] == *session));
    let uuids: std::collections::HashSet<&str> =
        frames[1..].iter().map(|frame| frame["uuid"].as_str().unwrap()).collect();
    assert_eq!(uuids.len(), 7, "each frame has a uuid of its own");
    assert_eq!(frames[3]["message"]["id"], frames[4]["message"]["id"]);
    assert_ne!(frames[3]["message"]["id"], frames[6]["message"]["id"]);
    let mut fields: Vec<&String> = frames[7].as_object().unwrap().keys().collect();
    fields.sort();
    assert_eq!(
        fields,
        [
            "api_error_status",
            "duration_api_ms",
            "duration_ms",
            "fast_mode_state",
            "is_error",
            "modelUsage",
            "num_turns",
            "permission_denials",
            "result",
            "session_id",
            "stop_reason",
            "subtype",
            "terminal_reason",
            "time_to_request_ms",
            "total_cost_usd",
            "ttft_ms",
            "ttft_stream_ms",
            "type",
            "usage",
            "uuid",
        ]
    );
    let idle = program.next().unwrap();
    assert_eq!(
        (kind(&idle).as_str(), &idle["state"]),
        ("system/session_state_changed", &json!("idle"))
    );
    let (rest, code, errors) = program.end();
    assert_eq!((rest.len(), code, errors.as_str()), (0, Some(0), ""));
}

#[test]
fn the_turn_is_finished_after_the_input_has_ended() {
    let mut program =
        PipeProgram::start(Script::new().answer(text("one")).answer(text("two")), &[]);
    program.say("first");
    program.say("second");
    program.close_input();
    let (frames, code, _) = program.end();
    let results: Vec<_> = frames.iter().filter(|frame| frame["type"] == "result").collect();
    assert_eq!(results.len(), 2);
    assert_eq!((&results[0]["result"], &results[1]["result"]), (&json!("one"), &json!("two")));
    assert_eq!(frames.iter().filter(|frame| kind(frame) == "system/init").count(), 2);
    assert_eq!(code, Some(0));
}

#[test]
fn an_error_in_the_last_turn_is_code_1() {
    let mut program = PipeProgram::start(Script::new().status(400).answer(text("fine")), &[]);
    program.say("go");
    assert_eq!(program.until("result").last().unwrap()["is_error"], true);
    program.say("again");
    assert_eq!(program.until("result").last().unwrap()["is_error"], false);
    assert_eq!(program.end().1, Some(0), "the last turn counts");
    let mut program = PipeProgram::start(Script::new().status(400), &[]);
    program.say("go");
    assert_eq!(program.end().1, Some(1));
}

#[test]
fn nothing_in_is_nothing_out() {
    let (frames, code, _) = PipeProgram::start(Script::new(), &[]).end();
    assert_eq!((frames.len(), code), (0, Some(0)));
}

#[test]
fn what_is_not_json_ends_with_code_1_and_a_line() {
    let mut program = PipeProgram::start(Script::new(), &[]);
    program.write("nonsense");
    let (_, code, errors) = program.end();
    assert_eq!(code, Some(1));
    assert!(errors.contains("not JSON") && errors.lines().count() == 1, "{errors}");
}

#[test]
fn odd_lines_do_not_end_the_session() {
    let script = Script::new().answer(text("one")).answer(text("two"));
    let mut program = PipeProgram::start(script, &[]);
    let odd = [
        "",
        "   ",
        "[]",
        "[{\"type\":\"user\"}]",
        "5",
        "null",
        "{}",
        r#"{"type":7}"#,
        r#"{"type":"keep_alive"}"#,
        r#"{"type":"of_the_future","fields":[1]}"#,
        r#"{"type":"control_request"}"#,
        r#"{"type":"control_response"}"#,
        r#"{"type":"control_response","response":{"subtype":"success","request_id":"nobody"}}"#,
        r#"{"type":"control_cancel_request","request_id":"nobody"}"#,
        r#"{"type":"control_cancel_request"}"#,
    ];
    let write_all = |program: &mut PipeProgram| {
        odd.iter().for_each(|line| program.write(line));
        program.write_bytes(b"{\"type\":\"note\",\"text\":\"\xff\xfe\"}");
        program.write_bytes(&[b"\"", vec![b'x'; (64 << 20) + 5].as_slice(), b"\""].concat());
    };
    write_all(&mut program);
    program.say("go");
    assert_eq!(program.until("result").last().unwrap()["result"], "one");
    write_all(&mut program);
    program.say("again");
    assert_eq!(program.until("result").last().unwrap()["result"], "two");
    let (_, code, errors) = program.end();
    assert_eq!(code, Some(0));
    assert!(errors.contains("ignored: it is not a JSON object"), "{errors}");
    assert!(errors.contains("ignored: it is longer than 64 MB"), "{errors}");
}

#[test]
fn a_request_without_a_body_is_refused() {
    let mut program = PipeProgram::start(Script::new(), &[]);
    program.write(r#"{"type":"control_request","request_id":"r"}"#);
    let answer = program.until("control_response").pop().unwrap();
    assert_eq!(answer["response"]["request_id"], "r");
    assert_eq!(answer["response"]["subtype"], "error");
}

#[test]
fn a_message_that_cannot_be_sent_has_a_result_and_the_next_one_is_answered() {
    let mut program = PipeProgram::start(Script::new().answer(text("fine")), &[]);
    let video = json!({"role": "user", "content": [{"type": "video"}]});
    for (line, part) in [
        (json!({"type": "user"}), "no content"),
        (json!({"type": "user", "message": video}), "video"),
    ] {
        program.send(&line);
        let result = program.until("result").pop().unwrap();
        assert_eq!(
            (&result["subtype"], &result["is_error"]),
            (&json!("error_during_execution"), &json!(true))
        );
        assert!(result["errors"][0].as_str().unwrap().contains(part), "{result}");
    }
    program.say("go");
    assert_eq!(program.until("result").pop().unwrap()["result"], "fine");
    assert_eq!(program.end().1, Some(0));
}

#[test]
fn an_unknown_flag_is_code_1_here_and_2_elsewhere() {
    let (frames, code, errors) = PipeProgram::start(Script::new(), &["--no-such-flag"]).end();
    assert_eq!((frames.len(), code), (0, Some(1)));
    assert!(errors.contains("--no-such-flag"), "{errors}");
    let other = std::process::Command::new(env!("CARGO_BIN_EXE_ostler"))
        .args(["-p", "x", "--no-such-flag"])
        .output()
        .unwrap();
    assert_eq!(other.status.code(), Some(2));
}

#[test]
fn flags_take_their_value_in_both_forms() {
    for flags in [&["--max-turns", "1"][..], &["--max-turns=1"]] {
        let call = text("").call("Bash", json!({"command": "ls"}));
        let script = Script::new().answer(call.clone()).answer(call);
        let mut program = PipeProgram::start(script, flags);
        program.say("go");
        let result = program.until("result").pop().unwrap();
        assert_eq!(result["subtype"], "error_max_turns");
        assert_eq!(program.end().1, Some(1));
    }
}

#[test]
fn a_terminated_program_ends_with_code_143() {
    let call = text("").call("Bash", json!({"command": "sleep 100"}));
    let mut program = PipeProgram::start(Script::new().answer(call), &["--allowedTools=Bash"]);
    program.say("go");
    program.until("assistant");
    let pid = rustix::process::Pid::from_raw(i32::try_from(program.pid()).unwrap()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    let (rest, code, _) = program.end();
    assert_eq!(code, Some(143));
    assert!(rest.iter().all(|frame| frame["type"] != "result"), "{rest:?}");
}

#[test]
fn a_permission_callback_that_is_gone_denies() {
    let call = text("").call("Bash", json!({"command": "touch made"}));
    let script = Script::new().answer(call).answer(text("I may not."));
    let mut program = PipeProgram::start(script, &["--permission-prompt-tool", "stdio"]);
    program.say("go");
    let asked = program.until("control_request").pop().unwrap();
    assert_eq!(asked["request"]["subtype"], "can_use_tool");
    let made = program.folder.path().join("work/made");
    program.close_input();
    let result = program.until("result").pop().unwrap();
    assert_eq!(result["permission_denials"].as_array().unwrap().len(), 1);
    assert!(!made.exists());
}

#[test]
fn a_program_that_comes_back_is_asked_again() {
    let call = text("").call("Bash", json!({"command": "touch made"}));
    let script = Script::new().answer(call).answer(text("Done."));
    let mut program = PipeProgram::start(script, &["--permission-prompt-tool", "stdio"]);
    program.say("go");
    let asked = program.until("control_request").pop().unwrap();
    program.request("r", &json!({"subtype": "initialize"}));
    let answer = program.until("control_response").pop().unwrap();
    assert_eq!(answer["response"]["pending_permission_requests"], json!([asked]));
    assert_eq!(kind(&program.next().unwrap()), "system/background_tasks_changed");
    let allowed = json!({"behavior": "allow", "updatedInput": {"command": "touch made"}});
    let id = &asked["request_id"];
    let response = json!({"subtype": "success", "request_id": id, "response": allowed});
    program.send(&json!({"type": "control_response", "response": response}));
    assert_eq!(program.until("result").pop().unwrap()["result"], "Done.");
    program.request("r", &json!({"subtype": "initialize"}));
    let answer = program.until("control_response").pop().unwrap();
    assert_eq!(answer["response"]["pending_permission_requests"], json!([]));
}

#[test]
fn a_late_answer_changes_nothing() {
    let mut program = PipeProgram::start(Script::new().answer(text("ok")), &[]);
    let response = json!({"subtype": "success", "request_id": "never-asked", "response": {}});
    program.send(&json!({"type": "control_response", "response": response}));
    program.send(&json!({"type": "control_cancel_request", "request_id": "never-asked"}));
    program.say("go");
    assert_eq!(program.until("result").pop().unwrap()["result"], "ok");
}

#[test]
fn requests_that_cannot_be_done_say_why() {
    let mut program = PipeProgram::start(Script::new().answer(text("ok")), &[]);
    for (request, part) in [
        (json!({"subtype": "initialize", "hooks": []}), "hooks"),
        (json!({"subtype": "set_permission_mode"}), "mode"),
        (json!({"subtype": "set_permission_mode", "mode": "bypassPermissions"}), "bypass"),
        (json!({"subtype": "mcp_reconnect", "serverName": "x"}), "Server not found: x"),
        (json!({"subtype": "rewind_files", "user_message_id": "u"}), "u"),
        (json!({"subtype": "rewind_conversation"}), "message_uuid"),
        (json!({"subtype": "apply_flag_settings"}), "settings"),
        (json!({}), "not supported"),
    ] {
        program.request("r", &request);
        let answer = program.until("control_response").pop().unwrap();
        let wrong = answer["response"]["error"].as_str().unwrap_or_default().to_owned();
        assert!(wrong.contains(part), "{request}: {answer}");
    }
    program.request("r", &json!({"subtype": "stop_task", "task_id": "gone"}));
    let answer = program.until("control_response").pop().unwrap();
    assert_eq!(answer["response"]["subtype"], "success");
}

/// That no file was changed since is an answer, that a turn runs is a refusal.
#[test]
fn a_rewind_of_files_says_whether_it_is_possible() {
    let uuid = "0000000a-0000-4000-8000-000000000000";
    let script = Script::new().answer(text("ok")).answer(text("two").gate("hold"));
    let mut program = PipeProgram::start(script, &[]);
    let message = json!({"role": "user", "content": "go"});
    program.send(&json!({"type": "user", "message": message, "uuid": uuid}));
    program.until("result");
    let request = json!({"subtype": "rewind_files", "user_message_id": uuid, "dry_run": true});
    let rewind = |program: &mut PipeProgram| {
        program.request("r", &request);
        program.until("control_response").pop().unwrap()["response"]["response"].clone()
    };
    let unchanged = json!({"canRewind": true, "filesChanged": [], "insertions": 0, "deletions": 0});
    assert_eq!(rewind(&mut program), unchanged);
    program.say("again");
    program.until("init");
    let answer = rewind(&mut program);
    assert_eq!(answer["canRewind"], false, "{answer}");
    assert!(answer["error"].as_str().unwrap().contains("a turn is running"), "{answer}");
    program.server.gate("hold").open();
    program.until("result");
}

#[test]
fn a_prompt_on_the_command_line_is_refused() {
    let (_, code, errors) = PipeProgram::start(Script::new(), &["hello"]).end();
    assert_eq!(code, Some(1));
    assert!(errors.contains("standard input"), "{errors}");
}
