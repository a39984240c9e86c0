//! One recorded stream of events per situation: `fixtures/events/*.jsonl`, the input of every surface's tests.
//!
//! `OSTLER_RECORD=1 cargo test --workspace --test it -- recorded` writes them again.

use crate::compaction::with_summaries;
use crate::support::{World, answer, interrupt, open, unique_sleep};
use futures_util::StreamExt;
use ostler::{
    BoxFuture, CacheBroken, CacheChange, Driver, Envelope, Event, EventName, Hook, HookEvent,
    HookOutcome, Input, InputReceipt, Message, Mode, NotCompacted, Notice, Observed, Options,
    Prompt, Reply, Session, SessionChoice, StageName, Stand,
};
use ostler_model_server::{Script, after, calls, status, text, think};
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
    reply: Option<Reply>,
}

fn when(name: &'static str, script: Script, change: Change) -> Situation {
    Situation { name, script, change, interrupts: false, prompts: vec!["go"], reply: None }
}

struct Guard;

impl Hook for Guard {
    fn name(&self) -> &str {
        "guard"
    }

    fn listens(&self, event: EventName, _: Option<&str>) -> bool {
        event == EventName::PreToolUse
    }

    fn call<'a>(&'a self, _: &'a HookEvent) -> BoxFuture<'a, HookOutcome> {
        let mut outcome = HookOutcome::of(Stand::Block, "guard", "not on a Friday");
        outcome.notices.push("guard: it is Friday".into());
        Box::pin(std::future::ready(outcome))
    }
}

/// Somebody attends and answers every question like this.
fn answered(reply: Reply, situation: Situation) -> Situation {
    Situation { reply: Some(reply), ..situation }
}

fn bash(command: &str) -> (&'static str, Value) {
    ("Bash", json!({ "command": command }))
}

fn done() -> Script {
    Script::new()
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
        when("not_run", then(calls([("Nope", json!({})), ("Read", json!({}))])), |_, _| {}),
        when("denied_by_rule", then(calls([bash("rm a")])), |_, options| {
            options.session.deny = vec!["Bash(rm:*)".into()];
        }),
        answered(
            Reply::No("the user said no: not here".into()),
            when("denied_by_person", then(calls([bash("touch a")])), |_, options| {
                options.session.mode = Mode::Default;
            }),
        ),
        when("denied_by_hook", then(calls([bash("touch a")])), |_, options| {
            options.session.hooks.inside.push(Arc::new(Guard));
        }),
        when("denied_by_nobody", then(calls([bash("touch a")])), |_, options| {
            options.session.mode = Mode::Default;
        }),
        answered(
            Reply::Yes,
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
    let interrupted = done().answer(calls([bash(&format!("echo a; sleep {}", unique_sleep()))]));
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
    let mut recordings = vec![("rare_notices", made())];
    for situation in situations() {
        recordings.push((situation.name, record(situation).await));
    }
    recordings.push(("steering", record_steering().await));
    recordings.push(("team", made_team()));
    for (name, lines) in recordings {
        let file = folder.join(format!("{name}.jsonl"));
        if is_recording {
            std::fs::create_dir_all(&folder).unwrap();
            std::fs::write(&file, lines.join("\n") + "\n").unwrap();
            continue;
        }
        let recorded = std::fs::read_to_string(&file).unwrap_or_default();
        let recorded: Vec<String> = recorded.lines().map(str::to_owned).collect();
        if kinds(&recorded) != kinds(&lines) {
            wrong.push(format!("{name}: {:?} was {:?}", kinds(&lines), kinds(&recorded)));
        }
    }
    assert!(wrong.is_empty(), "{}\nOSTLER_RECORD=1 records them again", wrong.join("\n"));
}

/// Notices that take a damaged disk or much patience, made by hand so that every surface's tests have them.
fn rare_notices() -> Vec<Notice> {
    let text = |text: &str| text.to_owned();
    vec![
        Notice::UnknownStopReason { reason: text("tired") },
        Notice::NoCallMade,
        Notice::UsageEstimated { model: "scripted".into(), prompt_tokens: 900, output_tokens: 80 },
        Notice::CacheBroken(CacheBroken {
            expected: 9_000,
            read: 0,
            change: CacheChange::Thinking,
        }),
        Notice::Provider { text: text("The field thinking was refused and is left out.") },
        Notice::PriceUnknown { model: "unheard-of".into() },
        Notice::BudgetSpent { budget: text("the budget of the day, $5"), limit_usd: None },
        Notice::BudgetUnknown { text: text("the ledger cannot be used") },
        Notice::Ledger { text: text("3 requests could not be written to the ledger") },
        Notice::RoomMade {
            stage: StageName::Micro,
            count: 4,
            tokens_before: 180_000,
            tokens_after: 90_000,
        },
        Notice::NotCompacted(NotCompacted::StaysTooLarge { tokens: 190_000, window: 200_000 }),
        Notice::Sandbox { text: text("sandbox: bubblewrap is not installed") },
        Notice::Command { text: text(".git/hooks/pre-commit was restored") },
        Notice::Job { text: text("the job b1 was stopped: make") },
        Notice::Team { text: text("team: the mail cannot be read") },
        Notice::Board { text: text("the task t1 was taken back: its lease ended") },
        Notice::MoreInstructions,
        Notice::Skill { file: "/world/skills/x/SKILL.md".into(), line: 3, what: text("no name") },
        Notice::Memory { text: text("The memory was damaged and set aside.") },
        Notice::MemoryByWords {
            text: text("Found by words only: the search by meaning took too long."),
        },
        Notice::MemoryLate,
        Notice::SessionLog { text: text("entry 12 is incomplete: cut off") },
        Notice::Undo { text: text("the disk is full") },
        Notice::Directory { text: text("/world/more is not there any more") },
        Notice::Mcp { server: text("search"), text: text("the server cannot be reached") },
    ]
}

fn made() -> Vec<String> {
    let envelope = |(seq, notice): (u64, Notice)| {
        let level = notice.level();
        json!({
            "version": 1, "seq": seq, "at": BEGAN + seq * 10, "session": SESSION,
            "event": { "type": "notice", "level": level, "notice": notice },
        })
        .to_string()
    };
    (1..).zip(rare_notices()).map(envelope).collect()
}

/// The mail of a team has random ids, so its events are made by hand, too.
fn made_team() -> Vec<String> {
    let all = [
        json!({ "phase": "responding", "task": "port the parser", "with": "lead" }),
        json!({ "phase": "requesting", "task": "port the parser", "with": "explorer" }),
        json!({ "phase": "waiting", "with": "explorer" }),
        json!({ "phase": "idle" }),
        json!({ "phase": "parked", "why": "its last 3 tasks failed" }),
        json!({ "phase": "stopped", "why": "it was shut down" }),
    ];
    let envelope = |(seq, mut event): (u64, Value)| {
        (event["type"], event["name"]) = ("teammate_changed".into(), "writer".into());
        json!({
            "version": 1, "seq": seq, "at": BEGAN + seq * 10, "session": SESSION,
            "agent": ["writer"], "event": event,
        })
        .to_string()
    };
    (1..).zip(all).map(envelope).collect()
}

async fn record(situation: Situation) -> Vec<String> {
    let Situation { script, change, interrupts, prompts, reply, .. } = situation;
    let world = World::new(script);
    let mut options = world.options();
    options.session.log = SessionChoice::Named(SESSION.into());
    options.session.memory = false;
    change(&world, &mut options);
    options.session.memory = options.host.home.is_some();
    let engine = open(options);
    let _attendance = reply.is_some().then(|| engine.attend());
    let mut envelopes = Vec::new();
    for prompt in prompts {
        let turn = match prompt {
            "/compact" => engine.compact(None).unwrap(),
            prompt => engine.ask(prompt).unwrap(),
        };
        read(&engine, turn, interrupts, reply.as_ref(), &mut envelopes).await;
    }
    envelopes.extend(engine.close("other").await);
    let clean = |envelope: &Envelope| normalised(&world, serde_json::to_value(envelope).unwrap());
    envelopes.iter().map(|envelope| clean(envelope)).collect()
}

/// What is typed while a turn runs, what is taken back, and what leads to no turn.
async fn record_steering() -> Vec<String> {
    let held = text("One moment.").gate("hold").call("Bash", json!({"command": "touch a"}));
    let world = World::new(
        done().answer(held).answer(text("Then not.")).answer(text("half").gate("never")),
    );
    let mut options = world.options();
    options.session.log = SessionChoice::Named(SESSION.into());
    options.session.memory = false;
    let engine = open(options);
    let mut envelopes = Vec::new();
    let mut turn = engine.ask("go").unwrap();
    while let Some(envelope) = turn.next().await {
        if matches!(envelope.event, Event::TextDelta { .. }) && envelopes.len() < 8 {
            steer(&engine);
            world.server.gate("hold").open();
        }
        envelopes.push(envelope);
    }
    drop(turn);
    let refused = engine.ask(Prompt::typed("/nope")).unwrap();
    read(&engine, refused, false, None, &mut envelopes).await;
    let mut abandoned = engine.ask("again").unwrap();
    while let Some(envelope) = abandoned.next().await {
        let is_text = matches!(envelope.event, Event::TextDelta { .. });
        envelopes.push(envelope);
        if is_text {
            break;
        }
    }
    let (_, cursor) = engine.state();
    let mut observer = engine.observe(&cursor);
    drop(abandoned);
    if let Some(Observed::Event(envelope)) = observer.next().await {
        envelopes.push(envelope);
    }
    envelopes.extend(engine.close("other").await);
    let clean = |envelope: &Envelope| normalised(&world, serde_json::to_value(envelope).unwrap());
    envelopes.iter().map(|envelope| clean(envelope)).collect()
}

fn steer(engine: &Session) {
    engine.send(Input::Steer(Message::user("do not touch anything"))).unwrap();
    let queued = engine.send(Input::Prompt("and then?".into())).unwrap();
    let InputReceipt::Queued(id) = queued else { panic!("a turn runs: {queued:?}") };
    engine.send(Input::CancelQueued(Some(id))).unwrap();
    engine.send(Input::SetMode(Mode::Plan)).unwrap();
}

async fn read(
    engine: &Session,
    turn: Driver,
    interrupts: bool,
    reply: Option<&Reply>,
    to: &mut Vec<Arc<Envelope>>,
) {
    let mut turn = turn;
    while let Some(envelope) = turn.next().await {
        let seen = |event: &Event| matches!(event, Event::CallProgress { .. });
        if interrupts && seen(&envelope.event) {
            interrupt(engine);
        }
        if let Some(reply) = reply {
            answer(engine, &envelope.event, reply);
        }
        to.push(envelope);
    }
}

/// The same on every machine and in every run.
fn normalised(world: &World, mut envelope: Value) -> String {
    let seq = envelope["seq"].as_u64().unwrap();
    envelope["at"] = json!(BEGAN + seq * 10);
    fix(&mut envelope);
    let mut line = envelope.to_string();
    let root = world.root().canonicalize().unwrap();
    for (from, to) in [
        (root.to_str().unwrap(), "/world"),
        (world.root().to_str().unwrap(), "/world"),
        (world.server.url().as_str(), "http://model"),
    ] {
        line = line.replace(from, to);
    }
    line
}

fn fix(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                match name.as_str() {
                    "id" if is_uuid(value) => *value = json!("0000-id"),
                    "ids" => *value = json!(["0000-id"]),
                    "deadline" if value.is_u64() => *value = json!(BEGAN + 86_400_000),
                    "took_ms" | "api_time_ms" | "wait_ms" if value.is_u64() => *value = json!(20),
                    "seconds" => *value = json!(6),
                    _ => fix(value),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(fix),
        _ => {}
    }
}

fn is_uuid(value: &Value) -> bool {
    value.as_str().is_some_and(ostler::is_uuid)
}

/// What happened, without what the pieces of a stream and the order of calls that run side by side decide.
fn kinds(lines: &[String]) -> Vec<String> {
    let kind = |line: &String| {
        let event = serde_json::from_str::<Value>(line).unwrap()["event"].take();
        let part = |pointer: &str| event.pointer(pointer).map(Value::to_string).unwrap_or_default();
        format!("{}{}{}", part("/type"), part("/outcome"), part("/notice/code"))
    };
    let mut kinds: Vec<String> = lines.iter().map(kind).collect();
    kinds.retain(|kind| !kind.contains("delta") && !kind.contains("progress"));
    kinds.sort();
    kinds
}
