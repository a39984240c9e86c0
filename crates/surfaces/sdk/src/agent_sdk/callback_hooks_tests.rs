//! Callbacks that answer, fail, and take too long.

use super::*;
use ostler::CountingIds;
use tokio::sync::mpsc;

struct Rig {
    callbacks: Callbacks,
    lines: mpsc::UnboundedReceiver<String>,
    hooks: Vec<Arc<dyn Hook>>,
}

fn rig(hooks: Value) -> Rig {
    let (out, lines) = mpsc::unbounded_channel();
    let callbacks = Callbacks::new(Arc::new(CountingIds::default()), out);
    let facts = Arc::new(LiveFacts::default());
    facts.set_mode("plan");
    let specs = CallbackSpec::read(Some(&hooks)).unwrap();
    let hooks = callback_hooks(specs, &callbacks, &facts);
    Rig { callbacks, lines, hooks }
}

fn before_bash() -> HookEvent {
    HookEvent::PreToolUse {
        tool_name: "Bash".into(),
        tool_input: json!({"command": "ls"}),
        tool_use_id: "call-1".into(),
    }
}

fn payload(event: &HookEvent) -> String {
    let mut fields = serde_json::to_value(event).unwrap();
    fields["permission_mode"] = "default".into();
    fields.to_string()
}

async fn answered(rig: &mut Rig, answer: Result<Value, String>) -> (HookOutcome, Value) {
    let event = before_bash();
    let payload = payload(&event);
    let hook = rig.hooks[0].clone();
    let asking = hook.call_with(&event, Some(&payload));
    let answering = async {
        let line: Value = serde_json::from_str(&rig.lines.recv().await.unwrap()).unwrap();
        rig.callbacks.answer(line["request_id"].as_str().unwrap(), answer);
        line["request"].clone()
    };
    tokio::join!(asking, answering)
}

fn bash_hooks() -> Value {
    json!({"PreToolUse": [{"matcher": "Bash", "hookCallbackIds": ["hook_0"]}]})
}

#[tokio::test]
async fn a_callback_reads_the_event_with_the_mode_as_it_is_now() {
    let mut rig = rig(bash_hooks());
    let (outcome, asked) = answered(&mut rig, Ok(json!({}))).await;
    assert_eq!(outcome.stand, Stand::Pass);
    assert_eq!(asked["subtype"], "hook_callback");
    assert_eq!(asked["callback_id"], "hook_0");
    assert_eq!(asked["tool_use_id"], "call-1");
    assert_eq!(asked["input"]["hook_event_name"], "PreToolUse");
    assert_eq!(asked["input"]["permission_mode"], "plan");
}

#[tokio::test]
async fn a_callback_that_fails_or_is_unclear_denies() {
    for answer in [
        Err("boom".to_owned()),
        Ok(json!({"decision": "perhaps"})),
        Ok(json!({"hookSpecificOutput": {"hookEventName": "Stop"}})),
        Ok(json!("yes")),
    ] {
        let (outcome, _) = answered(&mut rig(bash_hooks()), answer.clone()).await;
        assert_eq!(outcome.stand, Stand::Block, "{answer:?}");
    }
    let mut tolerant = bash_hooks();
    tolerant["PreToolUse"][0]["onFailure"] = "continue".into();
    let (outcome, _) = answered(&mut rig(tolerant), Err("boom".into())).await;
    assert_eq!(outcome.stand, Stand::Pass);
    assert_eq!(outcome.notices.len(), 1);
}

#[tokio::test]
async fn a_callback_without_an_answer_denies_in_time() {
    let mut hooks = bash_hooks();
    hooks["PreToolUse"][0]["timeout"] = json!(0.001);
    let rig = rig(hooks);
    let event = before_bash();
    let payload = payload(&event);
    let outcome = rig.hooks[0].call_with(&event, Some(&payload)).await;
    assert_eq!(outcome.stand, Stand::Block);
    assert!(outcome.why().contains("did not answer"), "{}", outcome.why());
    rig.callbacks.close();
    let outcome = rig.hooks[0].call_with(&event, Some(&payload)).await;
    assert!(outcome.why().contains("closed"), "{}", outcome.why());
}

#[tokio::test]
async fn an_allow_answers_the_question_about_this_call_once() {
    let mut rig = rig(bash_hooks());
    let allow = json!({"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "allow"}});
    let (outcome, _) = answered(&mut rig, Ok(allow)).await;
    assert_eq!((outcome.stand, outcome.allowed_by), (Stand::Pass, None));
    let question = |call: &str| HookEvent::PermissionRequest {
        tool_name: "Bash".into(),
        tool_input: json!({}),
        tool_use_id: call.into(),
        permission_suggestions: Vec::new(),
    };
    let approved = rig.hooks.last().unwrap();
    assert!(approved.listens(EventName::PermissionRequest, Some("Bash")));
    assert_eq!(approved.call(&question("call-2")).await.says_yes(), None);
    assert_eq!(approved.call(&question("call-1")).await.says_yes(), Some("hook_0"));
    assert_eq!(approved.call(&question("call-1")).await.says_yes(), None);
}

#[test]
fn hooks_are_read_with_their_matchers() {
    let specs = CallbackSpec::read(Some(&json!({
        "PreToolUse": [{"matcher": "Write|Edit", "hookCallbackIds": ["a", "b"], "timeout": 5}],
        "Stop": [{"matcher": null, "hookCallbackIds": ["c"]}],
        "MessageDisplay": [{"hookCallbackIds": ["never"]}],
    })))
    .unwrap();
    let names: Vec<_> = specs.iter().map(|spec| (spec.id.as_str(), spec.event)).collect();
    let (before, stop) = (EventName::PreToolUse, EventName::Stop);
    assert_eq!(names, [("a", before), ("b", before), ("c", stop)]);
    assert_eq!(specs[0].limit, Duration::from_secs(5));
    assert!(specs[0].matcher.matches(Some("Edit")) && !specs[0].matcher.matches(Some("Bash")));
    assert_eq!(CallbackSpec::read(Some(&Value::Null)), Ok(Vec::new()));
    assert!(CallbackSpec::read(Some(&json!([]))).is_err());
}
