//! The registry against real commands. Commands need a supervisor, which is this program itself: so it has a main of
//! its own.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout)]

use futures_util::FutureExt;
use ostler_core::hook::{
    EventName, HookAction, HookEvent, HookMatcher, HookOutcome, HookSpec, Stand, canary,
};
use ostler_core::permission::Source;
use ostler_core::ports::{BoxFuture, Hook, Hooks};
use ostler_exec::{Executor, SupervisorProgram};
use ostler_hooks::{About, ClockAndIds, HookSetup, Registry, Sender};
use serde_json::Value;
use std::panic::AssertUnwindSafe;
use std::path::Path;
use std::process::ExitCode;
use std::sync::{Arc, Mutex};
use std::time::Duration;

const ROLE: &str = "__supervisor";
/// A hang is a failure, not a wait.
const LIMIT: Duration = Duration::from_secs(60);

fn spec(event: EventName, command: &str) -> HookSpec {
    let action = HookAction::Command { command: command.into(), args: None };
    HookSpec {
        event,
        matcher: HookMatcher::all(),
        action,
        time_limit: None,
        once: false,
        in_background: false,
        outside: false,
        programs: Vec::new(),
        source: Source::default(),
        plugin: None,
    }
}

fn setup(folder: &Path, specs: Vec<HookSpec>) -> HookSetup {
    HookSetup {
        specs,
        inside: Vec::new(),
        executor: Executor::new(SupervisorProgram::this_binary([ROLE])),
        environment: vec![("PATH".into(), "/usr/bin:/bin".into())],
        prepare: None,
        about: About { cwd: folder.into(), project: folder.into(), ..About::default() },
        queues: None,
        sender: Sender::new(Vec::new(), ClockAndIds::counted()),
        watch: None,
    }
}

fn before() -> HookEvent {
    canary(EventName::PreToolUse, None)
}

/// A hook of the program itself.
struct Inside(&'static str, Box<dyn Fn() -> HookOutcome + Send + Sync>, Mutex<Vec<&'static str>>);

impl Inside {
    fn new(
        name: &'static str,
        answer: impl Fn() -> HookOutcome + Send + Sync + 'static,
    ) -> Arc<Self> {
        Arc::new(Inside(name, Box::new(answer), Mutex::default()))
    }
}

impl Hook for Inside {
    fn name(&self) -> &str {
        self.0
    }

    fn listens(&self, event: EventName, _: Option<&str>) -> bool {
        event == EventName::PreToolUse
    }

    fn call<'a>(&'a self, event: &'a HookEvent) -> BoxFuture<'a, HookOutcome> {
        self.2.lock().unwrap().push(event.name().name());
        Box::pin(async { (self.1)() })
    }
}

async fn inside_and_outside_are_heard_together_in_order() {
    let folder = tempfile::tempdir().unwrap();
    let near = Inside::new("near", || HookOutcome::of(Stand::Block, "near", "first"));
    let specs = vec![spec(EventName::PreToolUse, "echo second >&2; exit 2")];
    let registry =
        Registry::new(HookSetup { inside: vec![near.clone()], ..setup(folder.path(), specs) });
    let outcome = registry.fire(before()).await;
    assert_eq!(outcome.why(), "the hook near: first; the hook echo second >&2; exit 2: second");
    assert_eq!(outcome.heard, ["near", "echo second >&2; exit 2"]);
    assert_eq!(*near.2.lock().unwrap(), ["PreToolUse"]);
    assert_eq!(registry.fire(canary(EventName::Stop, None)).await, HookOutcome::default());
}

async fn a_panic_inside_is_a_hook_that_did_not_run() {
    let folder = tempfile::tempdir().unwrap();
    let near = Inside::new("near", || std::panic::resume_unwind(Box::new("x")));
    let registry =
        Registry::new(HookSetup { inside: vec![near], ..setup(folder.path(), Vec::new()) });
    let outcome = registry.fire(before()).await;
    assert_eq!(outcome.stand, Stand::Block);
    assert!(outcome.why().contains("it panicked (a blocking hook without a verdict denies)"));
}

async fn arguments_travel_as_they_are_and_the_environment_is_small() {
    let folder = tempfile::tempdir().unwrap();
    let mut odd = spec(EventName::SessionStart, "/usr/bin/printf");
    odd.action = HookAction::Command {
        command: "/usr/bin/printf".into(),
        args: Some(vec!["[%s]".into(), "a b".into(), "$HOME;'\"".into()]),
    };
    let names = spec(EventName::SessionStart, "env | cut -d= -f1 | sort | tr '\\n' ' '");
    let registry = Registry::new(setup(folder.path(), vec![odd, names]));
    let outcome = registry.fire(canary(EventName::SessionStart, None)).await;
    assert_eq!(outcome.context[0], "[a b][$HOME;'\"]");
    assert_eq!(outcome.context[1], "CLAUDE_PROJECT_DIR OSTLER_PROJECT_DIR PATH PWD SHLVL _");
}

async fn whoever_prepares_a_command_has_the_last_word() {
    let folder = tempfile::tempdir().unwrap();
    let other = folder.path().join("other");
    std::fs::create_dir(&other).unwrap();
    let place = other.clone();
    let prepare: ostler_hooks::Prepare = Arc::new(move |_, command| {
        command.cwd = place.clone();
        command.env.push(("MARK".into(), "set".into()));
        Ok(())
    });
    let specs = vec![spec(EventName::SessionStart, "echo $PWD $MARK")];
    let registry =
        Registry::new(HookSetup { prepare: Some(prepare), ..setup(folder.path(), specs) });
    let outcome = registry.fire(canary(EventName::SessionStart, None)).await;
    assert_eq!(outcome.context, [format!("{} set", other.display())]);
}

async fn nobody_listens_where_nothing_matches() {
    let folder = tempfile::tempdir().unwrap();
    let mut edits = spec(EventName::PreToolUse, "exit 2");
    edits.matcher = HookMatcher::parse("Edit|Write").unwrap();
    let mut first = spec(EventName::Stop, "true");
    first.once = true;
    let registry = Registry::new(setup(folder.path(), vec![edits, first]));
    assert!(registry.listens(EventName::PreToolUse, Some("Edit")));
    assert!(!registry.listens(EventName::PreToolUse, Some("Bash")));
    assert!(!registry.listens(EventName::PostToolUse, Some("Edit")));
    assert_eq!(registry.fire(before()).await, HookOutcome::default());
    assert!(registry.listens(EventName::Stop, None));
    registry.fire(canary(EventName::Stop, None)).await;
    assert!(!registry.listens(EventName::Stop, None));
}

async fn many_calls_at_once_are_each_heard() {
    let folder = tempfile::tempdir().unwrap();
    let echo = r#"read -r line; id=${line##*tool_use_id\":\"}; echo "{\"systemMessage\": \"${id%%\"*}\"}""#;
    let registry = Registry::new(setup(folder.path(), vec![spec(EventName::PreToolUse, echo)]));
    let fired = (0..40).map(|n| {
        registry.fire(HookEvent::PreToolUse {
            tool_name: "Bash".into(),
            tool_input: Value::Null,
            tool_use_id: format!("call-{n}"),
        })
    });
    let outcomes = futures_util::future::join_all(fired).await;
    for (n, outcome) in outcomes.iter().enumerate() {
        assert_eq!(outcome.notices, [format!("call-{n}")], "{outcome:?}");
    }
}

async fn dropping_the_question_ends_the_hook() {
    let folder = tempfile::tempdir().unwrap();
    let specs = vec![spec(EventName::PreToolUse, "echo $$ > pid; exec sleep 86401.5")];
    let registry = Registry::new(setup(folder.path(), specs));
    let pid = folder.path().join("pid");
    {
        let fired = registry.fire(before());
        tokio::pin!(fired);
        while std::fs::read_to_string(&pid).unwrap_or_default().is_empty() {
            let _ = tokio::time::timeout(Duration::from_millis(5), &mut fired).await;
        }
    }
    let pid = std::fs::read_to_string(&pid).unwrap();
    let alive = || {
        let line = std::fs::read(format!("/proc/{}/cmdline", pid.trim())).unwrap_or_default();
        String::from_utf8_lossy(&line).contains("86401.5")
    };
    while alive() {
        tokio::task::yield_now().await;
    }
}

/// Bytes of real programs; what text can be made of them is tested beside the reader itself.
async fn noise_around_a_verdict_never_lets_a_call_run() {
    let folder = tempfile::tempdir().unwrap();
    let deny = r#"{"decision":"block","reason":"no"}"#;
    let allow = r#"{"decision":"approve"}"#;
    let wide = "for c in '{' '\"' c '\"' : f '}'; do printf '%s\\0' \"$c\"; done";
    for (line, runs) in [
        (format!("printf '\\357\\273\\277'; echo '{deny}'"), false),
        (format!("printf '\\033[31m'; echo '{deny}'; printf '\\033[0m'"), false),
        (format!("echo starting; printf '%s\\r\\n' '{deny}'; echo done"), false),
        (format!("printf '\\0\\0'; echo '{deny}'"), false),
        (format!("printf '\\377\\376'; {wide}"), false),
        (format!("printf '\\377'; echo '{allow}'"), false),
        (format!("echo '[{allow}]'"), false),
        (format!("echo '{allow}'; echo '{allow}'"), false),
        (format!("echo '{deny}' | head -c 12"), false),
        (format!("yes '[info]' | head -c 2000000; echo '{allow}'"), false),
        (format!("printf '\\357\\273\\277'; printf '%s\\r\\n' '{allow}'"), true),
        ("echo checked; printf '\\033[32mok\\033[0m\\n'".to_owned(), true),
        ("true".to_owned(), true),
    ] {
        let specs = vec![spec(EventName::PreToolUse, &line)];
        let outcome = Registry::new(setup(folder.path(), specs)).fire(before()).await;
        assert_eq!(outcome.stand < Stand::Block, runs, "{line}: {outcome:?}");
    }
}

async fn a_failing_stop_hook_keeps_the_model_going_once() {
    let folder = tempfile::tempdir().unwrap();
    let stop = |active| HookEvent::Stop {
        stop_hook_active: active,
        last_assistant_message: String::new(),
        background_tasks: Vec::new(),
    };
    for (line, first, again) in [
        ("exit 1", Stand::Block, Stand::Pass),
        ("kill -9 $$", Stand::Block, Stand::Pass),
        ("echo '{'", Stand::Block, Stand::Pass),
        ("/no/such/program", Stand::Pass, Stand::Pass),
        // One that answers is obeyed as often as it answers.
        ("exit 2", Stand::Block, Stand::Block),
    ] {
        let registry = Registry::new(setup(folder.path(), vec![spec(EventName::Stop, line)]));
        assert_eq!(registry.fire(stop(false)).await.stand, first, "{line}");
        let outcome = registry.fire(stop(true)).await;
        assert_eq!(outcome.stand, again, "{line}");
        assert_eq!(outcome.notices.len(), usize::from(again == Stand::Pass), "{line}: {outcome:?}");
    }
}

/// Where a hook that cannot start is only warned about, one that printed a deny before it failed is obeyed.
async fn a_deny_counts_however_the_hook_ends() {
    let folder = tempfile::tempdir().unwrap();
    let deny = r#"echo '{"decision":"block","reason":"not on Fridays"}'"#;
    let stop = HookEvent::Stop {
        stop_hook_active: true,
        last_assistant_message: String::new(),
        background_tasks: Vec::new(),
    };
    let prompt = canary(EventName::UserPromptSubmit, None);
    for (end, without) in [
        ("exit 1", [Stand::Block, Stand::Pass]),
        ("/no/such/program", [Stand::Pass, Stand::Pass]),
        ("exit 126", [Stand::Pass, Stand::Pass]),
        ("kill -9 $$", [Stand::Block, Stand::Pass]),
    ] {
        for (event, without) in [prompt.clone(), stop.clone()].into_iter().zip(without) {
            let fire = async |line: &str| {
                let specs = vec![spec(event.name(), line)];
                Registry::new(setup(folder.path(), specs)).fire(event.clone()).await
            };
            assert_eq!(fire(end).await.stand, without, "{end} on {event:?}");
            let outcome = fire(&format!("echo checking; {deny}; {end}")).await;
            assert_eq!(outcome.stand, Stand::Block, "{end} on {event:?}");
            assert!(format!("{outcome:?}").contains("not on Fridays"), "{end}: {outcome:?}");
        }
    }
}

type Case = (&'static str, fn() -> futures_util::future::BoxFuture<'static, ()>);

macro_rules! cases {
    ($($name:ident)*) => { [$((stringify!($name), || Box::pin($name()))),*] };
}

fn main() -> ExitCode {
    if std::env::args().nth(1).is_some_and(|argument| argument == ROLE) {
        ostler_exec::supervise();
    }
    let words: Vec<String> =
        std::env::args().skip(1).filter(|word| !word.starts_with('-')).collect();
    let cases: [Case; _] = cases! {
        inside_and_outside_are_heard_together_in_order
        a_panic_inside_is_a_hook_that_did_not_run
        arguments_travel_as_they_are_and_the_environment_is_small
        whoever_prepares_a_command_has_the_last_word
        nobody_listens_where_nothing_matches
        many_calls_at_once_are_each_heard
        dropping_the_question_ends_the_hook
        noise_around_a_verdict_never_lets_a_call_run
        a_failing_stop_hook_keeps_the_model_going_once
        a_deny_counts_however_the_hook_ends
    };
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let (mut passed, mut failed) = (0, Vec::new());
    for (name, case) in cases {
        if !words.is_empty() && !words.iter().any(|word| name.contains(word.as_str())) {
            continue;
        }
        let run =
            async { tokio::time::timeout(LIMIT, AssertUnwindSafe(case()).catch_unwind()).await };
        let ok = matches!(runtime.block_on(run), Ok(Ok(())));
        println!("test {name} ... {}", if ok { "ok" } else { "FAILED" });
        if ok { passed += 1 } else { failed.push(name) }
    }
    let word = if failed.is_empty() { "ok" } else { "FAILED" };
    println!("\ntest result: {word}. {passed} passed; {} failed {failed:?}\n", failed.len());
    if failed.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
