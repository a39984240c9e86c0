//! One recorded stream of events per situation: `fixtures/events/*.jsonl`, the input of every surface's tests.
//!
//! `OSTLER_RECORD=1 cargo test --workspace --test it -- recorded::` writes them again.

mod comparison;
mod handmade;

use crate::compaction::with_summaries;
use crate::support::{World, answer, interrupt, open};
use comparison::{normalised, whole};
use futures_util::StreamExt;
use ostler::{
    Access, BoxFuture, Driver, Envelope, Event, EventName, Hook, HookEvent, HookOutcome, Input,
    InputReceipt, Message, Mode, Observed, Options, Prompt, Reply as Answer, Session,
    SessionChoice, Stand, Tool, ToolContext, ToolFacts, ToolOutput, ToolSpec,
};
use ostler_model_server::{Reply, Script, after, calls, status, text, think};
use serde_json::{Value, json};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

const SESSION: &str = "00000000-0000-7000-8000-000000000001";
/// When every recording begins, in milliseconds.
const BEGAN: u64 = 1_700_000_000_000;

type Change = fn(&World, &mut Options);

struct Situation {
    name: &'static str,
    script: Script,
    change: Change,
    /// Interrupt when the first call has started.
    interrupts: bool,
    prompts: Vec<&'static str>,
    reply: Option<Answer>,
}

fn when(name: &'static str, script: Script, change: Change) -> Situation {
    Situation { name, script, change, interrupts: false, prompts: vec!["go"], reply: None }
}

struct Guard(Stand);

impl Hook for Guard {
    fn name(&self) -> &str {
        "guard"
    }

    fn listens(&self, event: EventName, tool: Option<&str>) -> bool {
        event == EventName::PreToolUse && tool == Some("Bash")
    }

    fn call<'a>(&'a self, _: &'a HookEvent) -> BoxFuture<'a, HookOutcome> {
        let mut outcome = HookOutcome::of(self.0, "guard", "not on a Friday");
        outcome.notices.push("guard: it is Friday".into());
        Box::pin(std::future::ready(outcome))
    }
}

/// A tool of the calling program that has a defect.
struct Defective(ToolSpec);

impl Tool for Defective {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn access(&self, _: &Value) -> Result<Access, ToolOutput> {
        Ok(Access::nothing())
    }

    fn run(&self, _: Value, _: ToolContext) -> BoxFuture<'static, ToolOutput> {
        Box::pin(async { panic!("a defect") })
    }
}

fn defective() -> Arc<dyn Tool> {
    Arc::new(Defective(ToolSpec {
        name: "Defective".into(),
        description: "Has a defect.".into(),
        input_schema: json!({ "type": "object", "properties": {} }),
        facts: ToolFacts::UNDECLARED,
    }))
}

/// Somebody attends and answers every question like this.
fn answered(reply: Answer, situation: Situation) -> Situation {
    Situation { reply: Some(reply), ..situation }
}

fn bash(command: &str) -> (&'static str, Value) {
    ("Bash", json!({ "command": command }))
}

fn done() -> Script {
    Script::new()
}

fn cut() -> Reply {
    text("I read.").call_raw("Read", "{\"file_path\": \"a").stop("max_tokens")
}

fn outside(command: &str) -> (&'static str, Value) {
    ("Bash", json!({ "command": command, "dangerouslyDisableSandbox": true }))
}

/// An explorer reads a file and reports; the second request and the third are its own.
fn agent() -> Script {
    let order = json!({ "description": "Look at a", "prompt": "What is in a?", "subagent_type": "explorer" });
    done()
        .answer(calls([("Agent", order)]))
        .answer(calls([("Read", json!({ "file_path": "a" }))]))
        .answer(text("The word one."))
        .answer(text("Done."))
}

fn answers_and_calls() -> Vec<Situation> {
    let then = |first| done().answer(first).answer(text("Done."));
    let file = |name: &str| ("Read", json!({ "file_path": name }));
    vec![
        when("plain", done().answer(think("Hm.").say("Hello ").say("there.")), |_, _| {}),
        when(
            "tools",
            then(calls([file("a"), file("b"), bash("echo hi; sleep 0.5; false")])),
            |world, _| {
                std::fs::write(world.project().join("a"), "one\n").unwrap();
                std::fs::write(world.project().join("b"), "two\n").unwrap();
            },
        ),
        when("not_run", then(calls([("Nope", json!({})), ("Read", json!({}))])), |_, options| {
            options.session.tools = Some(vec!["Bash".into(), "Read".into()]);
        }),
        when("denied_by_rule", then(calls([bash("rm a")])), |_, options| {
            options.session.deny = vec!["Bash(rm:*)".into()];
        }),
        answered(
            Answer::No("the user said no: not here".into()),
            when("denied_by_person", then(calls([bash("touch a")])), |_, options| {
                options.session.mode = Mode::Default;
            }),
        ),
        when("denied_by_mode", then(calls([bash("touch a")])), |_, options| {
            options.session.mode = Mode::Plan;
        }),
        when(
            "denied_without_asking",
            then(calls([bash("touch a"), bash("touch .git/hooks/pre-commit"), outside("touch b")])),
            |_, options| {
                options.session.mode = Mode::DontAsk;
                options.session.allow = vec!["Bash(touch b)".into()];
            },
        ),
        when(
            "ended_by_hook",
            done().answer(calls([
                bash("./a.sh"),
                ("Write", json!({ "file_path": "b", "content": "x" })),
            ])),
            |_, options| {
                options.session.hooks.inside.push(Arc::new(Guard(Stand::Prevent)));
            },
        ),
        when("panicked", then(calls([("Defective", json!({}))])), |_, options| {
            options.session.more_tools = vec![defective()];
        }),
        // The first one is asked for again with a higher limit.
        when("cut_off", done().answer(cut()).answer(cut()).answer(text("Done.")), |_, _| {}),
        when("budget_spent", done().answer(calls([bash("touch a")])), |_, options| {
            options.session.settings.budget_may_be_exceeded = true;
            options.session.max_budget_usd = Some(0.000_001);
        }),
        when("denied_by_hook", then(calls([bash("touch a")])), |_, options| {
            options.session.hooks.inside.push(Arc::new(Guard(Stand::Block)));
        }),
        when("denied_by_nobody", then(calls([bash("touch a")])), |_, options| {
            options.session.mode = Mode::Default;
        }),
        answered(
            Answer::Yes,
            when("question", then(calls([bash("touch a")])), |_, options| {
                options.session.mode = Mode::Default;
            }),
        ),
        when("max_turns", then(calls([bash("echo one")])), |_, options| {
            options.session.max_turns = Some(1);
        }),
        when(
            "plan",
            then(calls([(
                "TodoWrite",
                json!({ "todos": [
                    { "content": "Look", "status": "completed", "activeForm": "Looking" },
                    { "content": "Fix", "status": "in_progress", "activeForm": "Fixing" },
                ] }),
            )])),
            |_, _| {},
        ),
        when("agent", agent(), |world, _| {
            std::fs::write(world.project().join("a"), "one\n").unwrap();
        }),
        when("slow_call", then(calls([bash("sleep 1; echo late")])), |_, options| {
            options.session.slow_call = Some(Duration::from_millis(1));
        }),
    ]
}

fn ends_and_recoveries() -> Vec<Situation> {
    let broken = text("The answer is fo").cut(after("content_block_delta").close());
    let interrupted = done().answer(calls([bash("echo a; sleep 86300"), bash("./b.sh")]));
    vec![
        when("retry", done().answer(status(529)).answer(text("Done.")), |_, options| {
            options.session.settings.retries = 2;
            options.host.retry_wait = Some(Duration::from_millis(1));
        }),
        when("fallback", done().answer(status(529)).answer(text("Done.")), |_, options| {
            options.session.fallback_model = Some("other".into());
        }),
        when("dropped_answer", done().answer(broken).answer(text("Forty-two.")), |_, options| {
            options.session.settings.stream_backoff = Duration::from_millis(1);
        }),
        when("model_error", done().answer(status(401)), |_, _| {}),
        when("budget", done(), |_, options| options.session.max_budget_usd = Some(0.000_001)),
        Situation { interrupts: true, ..when("interrupted", interrupted, |_, _| {}) },
        Situation {
            prompts: vec!["one", "two", "/compact"],
            ..when(
                "compaction",
                with_summaries([text("Long. ".repeat(4_000)), text("Done.")]),
                |_, _| {},
            )
        },
        when(
            "memory",
            done()
                .answer(calls([(
                    "Memory",
                    json!({ "action": "add", "text": "The tests run with make test.", "kind": "how-to" }),
                )]))
                .answer(text("Noted.")),
            |world, options| options.host.home = world.on_disk().host.home,
        ),
        when("notices", done().answer(text("Done.")), |world, options| {
            options.session.allow = vec!["Nopee".into()];
            options.session.instructions = Some(world.instructions());
            std::fs::write(world.project().join("CLAUDE.md"), "@missing.md\n").unwrap();
        }),
    ]
}

fn situations() -> Vec<Situation> {
    answers_and_calls().into_iter().chain(ends_and_recoveries()).collect()
}

pub async fn every_situation_is_as_it_was_recorded() {
    let folder = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../fixtures/events"));
    let is_recording = std::env::var_os("OSTLER_RECORD").is_some();
    let mut wrong = Vec::new();
    let mut recordings = vec![("rare_notices", handmade::rare_notice_lines())];
    for situation in situations() {
        recordings.push((situation.name, record(situation).await));
    }
    recordings.push(("steering", record_steering().await));
    recordings.push(("team", handmade::team_lines()));
    for (name, lines) in recordings {
        let file = folder.join(format!("{name}.jsonl"));
        if is_recording {
            std::fs::create_dir_all(&folder).unwrap();
            std::fs::write(&file, lines.join("\n") + "\n").unwrap();
            continue;
        }
        let recorded = std::fs::read_to_string(&file).unwrap_or_default();
        let recorded: Vec<String> = recorded.lines().map(str::to_owned).collect();
        let (recorded, found) = (whole(&recorded), whole(&lines));
        let of = |some: &[String], others: &[String]| {
            let new = some.iter().filter(|line| !others.contains(line));
            new.cloned().collect::<Vec<_>>().join("\n")
        };
        if recorded != found {
            let (is, was) = (of(&found, &recorded), of(&recorded, &found));
            wrong.push(format!("{name}: is\n{is}\nwas\n{was}"));
        }
    }
    assert!(wrong.is_empty(), "{}\nOSTLER_RECORD=1 records them again", wrong.join("\n"));
}

/// Two neighbours that changed places are noticed, unless they belong to calls that run side by side.
pub async fn a_wrong_order_is_noticed() {
    let folder = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../fixtures/events"));
    let read = |name: &str| -> Vec<String> {
        let text = std::fs::read_to_string(folder.join(name)).unwrap();
        text.lines().map(str::to_owned).collect()
    };
    let unnoticed = |name: &str| {
        let lines = read(name);
        let right = whole(&lines);
        let swapped = (1..lines.len()).filter(|at| {
            let mut lines = lines.clone();
            lines.swap(at - 1, *at);
            whole(&lines) == right
        });
        swapped.filter(|at| [at - 1, *at].iter().all(|at| !is_piece(&lines[*at]))).count()
    };
    assert_eq!(unnoticed("plan.jsonl"), 0);
    assert_eq!(unnoticed("question.jsonl"), 0);
    assert_eq!(unnoticed("agent.jsonl"), 0);
    // Three calls: the second begins before the first, and so on.
    assert!(unnoticed("tools.jsonl") > 0);
}

fn is_piece(line: &str) -> bool {
    line.contains("_delta\"") || line.contains("\"call_progress\"")
}

async fn record(situation: Situation) -> Vec<String> {
    let Situation { script, change, interrupts, prompts, reply, .. } = situation;
    let world = World::new(script);
    let mut options = world.options();
    options.session.log = SessionChoice::Named(SESSION.into());
    options.session.memory = false;
    change(&world, &mut options);
    options.session.memory = options.host.home.is_some();
    let session = open(options);
    let _attendance = reply.is_some().then(|| session.attend());
    let mut envelopes = Vec::new();
    for prompt in prompts {
        let turn = match prompt {
            "/compact" => session.compact(None).unwrap(),
            prompt => session.ask(prompt).unwrap(),
        };
        read(&session, turn, interrupts, reply.as_ref(), &mut envelopes).await;
    }
    envelopes.extend(session.close("other").await);
    let clean = |envelope: &Envelope| normalised(&world, envelope);
    envelopes.iter().map(|envelope| clean(envelope)).collect()
}

/// What is typed while a turn runs, what is taken back, and what leads to no turn.
async fn record_steering() -> Vec<String> {
    let held =
        text("One moment.").gate("hold").call("Write", json!({"file_path": "a", "content": "x"}));
    let world = World::new(
        done().answer(held).answer(text("Then not.")).answer(text("half").gate("never")),
    );
    let mut options = world.options();
    options.session.log = SessionChoice::Named(SESSION.into());
    options.session.memory = false;
    let session = open(options);
    let mut envelopes = Vec::new();
    let mut turn = session.ask("go").unwrap();
    while let Some(envelope) = turn.next().await {
        if matches!(envelope.event, Event::TextDelta { .. }) && envelopes.len() < 8 {
            steer(&session);
            world.server.gate("hold").open();
        }
        envelopes.push(envelope);
    }
    drop(turn);
    let refused = session.ask(Prompt::typed("/nope")).unwrap();
    read(&session, refused, false, None, &mut envelopes).await;
    let mut abandoned = session.ask("again").unwrap();
    while let Some(envelope) = abandoned.next().await {
        let is_text = matches!(envelope.event, Event::TextDelta { .. });
        envelopes.push(envelope);
        if is_text {
            break;
        }
    }
    let (_, cursor) = session.state();
    let mut observer = session.observe(&cursor);
    drop(abandoned);
    if let Some(Observed::Event(envelope)) = observer.next().await {
        envelopes.push(envelope);
    }
    envelopes.extend(session.close("other").await);
    let clean = |envelope: &Envelope| normalised(&world, envelope);
    envelopes.iter().map(|envelope| clean(envelope)).collect()
}

fn steer(session: &Session) {
    session.send(Input::Steer(Message::user("do not touch anything"))).unwrap();
    let queued = session.send(Input::Prompt("and then?".into())).unwrap();
    let InputReceipt::Queued(id) = queued else { panic!("a turn runs: {queued:?}") };
    session.send(Input::CancelQueued(Some(id))).unwrap();
    session.send(Input::SetMode(Mode::AcceptEdits)).unwrap();
}

async fn read(
    session: &Session,
    turn: Driver,
    interrupts: bool,
    reply: Option<&Answer>,
    to: &mut Vec<Arc<Envelope>>,
) {
    let mut turn = turn;
    while let Some(envelope) = turn.next().await {
        let seen = |event: &Event| matches!(event, Event::CallProgress { .. });
        if interrupts && seen(&envelope.event) {
            interrupt(session);
        }
        if let Some(reply) = reply {
            answer(session, &envelope.event, reply);
        }
        to.push(envelope);
    }
}
