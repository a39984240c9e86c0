//! A hook on PreCompact: what it hears, and what its no means, also where nothing fits without a summary.

use crate::context::{body, is_summary};
use crate::hooks::{command, heard, program, settings};
use crate::support::{Ran, World, finish};
use ostler_model_server::{Recorded, Reply, Script, UsageNumbers, calls, text};
use serde_json::{Value, json};

const GO: [&str; 4] = ["--output-format", "stream-json", "--permission-mode", "bypassPermissions"];
const NO: [&str; 2] = [
    "the conversation was not summarized: a hook does not allow it: the hook ",
    "guard: the archive is not ready",
];

fn says_no(text: &str) -> bool {
    NO.iter().all(|words| text.contains(words))
}

fn run(world: &World, prompt: &str, more: &[&str]) -> Ran {
    let args: Vec<&str> = ["-p", prompt].iter().chain(&GO).chain(more).copied().collect();
    world.run(&args)
}

/// A hook that keeps what it hears and ends so; `matcher` is what it listens to.
fn listen(world: &World, matcher: &str, exit: u8) {
    let text = format!(
        "#!/bin/bash\ncat >> \"${{0%/*}}/heard\"; echo >> \"${{0%/*}}/heard\"\necho the archive is not ready >&2; exit {exit}\n"
    );
    let guard = program(world, "guard", &text, 0o755);
    let hook = json!([{ "matcher": matcher, "hooks": [command(guard.to_str().unwrap())] }]);
    settings(world, &json!({ "hooks": { "PreCompact": hook } }));
}

/// What of an event the hook is to decide by.
fn told(world: &World) -> Vec<(String, String, String)> {
    let field = |event: &Value, name: &str| event[name].as_str().unwrap_or("missing").to_owned();
    let fields = ["hook_event_name", "trigger", "custom_instructions"];
    heard(world).iter().map(|event| fields.map(|name| field(event, name)).into()).collect()
}

fn event(trigger: &str, words: &str) -> (String, String, String) {
    ("PreCompact".into(), trigger.into(), words.into())
}

fn boundaries(world: &World) -> usize {
    world.entries().iter().filter(|fact| fact["fact"] == "boundary").count()
}

/// Answers that are worth summarizing.
fn talk() -> Script {
    let answer = |request: &Recorded| match is_summary(request) {
        true => text("# Summary\nshort"),
        false => text("a longer answer ".repeat(60)),
    };
    Script::new().by(answer).forever()
}

#[test]
fn a_no_keeps_a_conversation_as_it_is_when_somebody_asks() {
    let world = World::new(talk());
    listen(&world, "manual", 2);
    for more in [&[][..], &["--continue"]] {
        assert_eq!(run(&world, "tell me", more).code, Some(0));
    }
    let ran = run(&world, "/compact keep the names", &["--continue"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let said = ran.result()["result"].as_str().unwrap_or_default().to_owned();
    assert!(says_no(&said), "{said}");
    assert_eq!((world.server.requests().len(), boundaries(&world)), (2, 0), "nothing was asked");
    assert_eq!(told(&world), [event("manual", "keep the names")]);
    // As text it is the answer, too; and the conversation continues.
    let ran = world.run(&["-p", "/compact", "--continue"]);
    assert!(says_no(&ran.stdout), "{ran:?}");
    assert_eq!(told(&world)[1], event("manual", ""));
    assert_eq!(run(&world, "and now", &["--continue"]).code, Some(0));
    world.assert_never_rejected();
}

#[test]
fn words_reach_the_hook_and_the_summary() {
    let world = World::new(talk());
    listen(&world, "", 0);
    for more in [&[][..], &["--continue"]] {
        assert_eq!(run(&world, "tell me", more).code, Some(0));
    }
    let ran = run(&world, "/compact keep the names", &["--continue"]);
    assert_eq!((ran.code, boundaries(&world)), (Some(0), 1), "{ran:?}");
    assert_eq!(told(&world), [event("manual", "keep the names")]);
    let requests = world.server.requests();
    let summary = requests.iter().find(|request| is_summary(request)).expect("a summary");
    assert!(body(summary).contains("keep the names"));
}

/// Calls whose words alone fill the window: only a summary would help.
fn filling(request: &Recorded) -> Reply {
    assert!(!is_summary(request), "a summary was asked for");
    let done = request.messages().iter().filter(|m| m["role"] == "assistant").count();
    match done {
        30.. => text("done"),
        n => text("so I look further ".repeat(100))
            .call("Glob", json!({ "pattern": format!("{n}") })),
    }
}

/// It is said, no summary is asked for, and the turn continues as long as the provider takes it; then it ends.
#[test]
fn a_no_at_the_limit_ends_the_turn_with_a_reason() {
    let window = 16_000;
    let script = || Script::new().by(filling).forever().rules(|rules| rules.window = Some(window));
    let play = |args: &[&str]| {
        let world = World::new(script());
        listen(&world, "auto", 2);
        let mut command = world.command(args);
        let ran = finish(command.env("OSTLER_CONTEXT_WINDOW", window.to_string()).spawn().unwrap());
        assert_eq!((ran.code, boundaries(&world)), (Some(1), 0), "{ran:?}");
        let asked = world.server.requests().len();
        assert!((10..=32).contains(&asked), "{asked} requests");
        let told = told(&world);
        // Asked again after a pause, and when the provider has refused.
        assert!((2..=10).contains(&told.len()), "asked {} times", told.len());
        assert!(told.iter().all(|told| *told == event("auto", "")), "{told:?}");
        (world, ran, told.len(), asked)
    };
    let args: Vec<&str> = ["-p", "go"].iter().chain(&GO).copied().collect();
    let (world, ran, times, asked) = play(&args);
    assert_eq!(ran.terminal(), "prompt_too_long");
    let said = ran.frames().iter().filter(|frame| says_no(&frame.to_string())).count();
    assert_eq!(said, times, "each no is said");
    // Refused for its length, once.
    let refused = world.server.rejected();
    assert!(refused.len() == 1 && refused[0].contains("context limit"), "{refused:?}");
    println!(
        "a blocking hook at the limit: {asked} requests, the hook asked {times} times, then prompt_too_long"
    );
    let (_, ran, ..) = play(&["-p", "go", "--permission-mode", "bypassPermissions"]);
    let ends = ran.stderr.contains("the conversation is too long for the model");
    assert!(says_no(&ran.stderr) && ends, "{}", ran.stderr);
}

/// The window is full by the estimate alone: the no is said, and the request is sent.
#[test]
fn a_no_before_the_limit_lets_the_turn_go_on() {
    let full = UsageNumbers { input_tokens: Some(180_000), ..UsageNumbers::default() };
    let call =
        |n: usize| calls([("Glob", json!({ "pattern": format!("{n} {}", "x".repeat(900)) }))]);
    let script = (0..3).fold(Script::new(), |script, n| script.answer(call(n).usage(full)));
    let world = World::new(script.answer(text("done")));
    listen(&world, "", 2);
    let ran = world.run(&["-p", "go", "--permission-mode", "bypassPermissions"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "done\n"), "{ran:?}");
    assert!(says_no(&ran.stderr), "{}", ran.stderr);
    assert_eq!((world.server.requests().len(), boundaries(&world)), (4, 0));
    assert_eq!(told(&world), [event("auto", "")], "not asked again at once");
}
