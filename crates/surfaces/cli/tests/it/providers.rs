//! Servers of models that a person adds to the settings.

use crate::support::{Ran, World, finish};
use ostler_model_server::{Script, text};
use serde_json::{Value, json};

fn with_providers(world: &World, providers: &Value) {
    world.has_chosen();
    let settings = json!({"providers": providers}).to_string();
    std::fs::write(world.home().join("settings.json"), settings).unwrap();
}

/// Without the default provider's variables.
fn run(world: &World, model: &str, variables: &[(&str, &str)]) -> Ran {
    let mut command = world.command(&["-p", "go", "--model", model]);
    for gone in ["ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL", "ANTHROPIC_MODEL"] {
        command.env_remove(gone);
    }
    finish(command.envs(variables.iter().copied()).spawn().unwrap())
}

#[test]
fn a_provider_of_the_settings_is_asked_with_its_own_credential() {
    let world = World::new(Script::new().answer(text("hello from here")).forever());
    let local = json!({
        "protocol": "anthropic_messages", "baseUrl": world.server.url(), "apiKeyEnv": ["OTHER_KEY", "LOCAL_KEY"],
        "headers": {"X-Team": "blue"}, "models": [{"prefix": "tiny", "window": 50_000, "maxOutput": 3_000}],
    });
    with_providers(&world, &json!({"local": local}));
    let ran = run(&world, "local/tiny", &[("LOCAL_KEY", "local-secret")]);
    assert_eq!((ran.code, ran.stdout.trim()), (Some(0), "hello from here"), "{}", ran.stderr);
    let requests = world.server.requests();
    assert_eq!(requests[0].json()["model"], "tiny");
    assert_eq!(requests[0].json()["max_tokens"], 3_000);
    assert_eq!(requests[0].header("authorization"), Some("Bearer local-secret"));
    assert_eq!(requests[0].header("x-team"), Some("blue"));
    world.assert_never_rejected();
    let answer = world.entries().into_iter().find(|entry| entry.to_string().contains("hello from"));
    assert!(answer.unwrap().to_string().contains("\"local/tiny\""), "the log says who answered");

    let ran = run(&world, "local/tiny", &[]);
    assert_eq!(ran.code, Some(3), "{ran:?}");
    assert!(ran.stderr.contains("no credential: set OTHER_KEY (or LOCAL_KEY)"), "{}", ran.stderr);
    let ran = run(&world, "tiny", &[("LOCAL_KEY", "local-secret")]);
    assert!(ran.stderr.contains("set ANTHROPIC_API_KEY"), "a bare name is not its: {}", ran.stderr);
    assert_eq!(world.server.requests().len(), 1);
}

#[test]
fn a_mistake_in_an_entry_is_said_with_its_place() {
    let world = World::new(Script::new().answer(text("no")).forever());
    for (entry, words) in [
        (json!({"protocol": "anthropic_messages"}), "base_url"),
        (json!({"protocol": "anthropic_messages", "baseUrl": "x"}), "cannot be read as a URL"),
        (json!({"protocol": "smoke", "baseUrl": "http://127.0.0.1:9"}), "protocol `smoke`"),
        (
            json!({"protocol": "anthropic_messages", "baseUrl": "http://127.0.0.1:9", "lacks": ["x"]}),
            "no feature `x`",
        ),
    ] {
        with_providers(&world, &json!({"local": entry}));
        let ran = world.run(&["-p", "go"]);
        assert_ne!(ran.code, Some(0), "{entry}");
        assert!(
            ran.stderr.contains(words) && ran.stderr.contains("local"),
            "{entry}: {}",
            ran.stderr
        );
    }
    assert_eq!(world.server.requests().len(), 0);
}
