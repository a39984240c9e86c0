//! The window runs full: before the provider says so, and when it does.

use crate::lines;
use ostler_core::context::{Made, Trigger};
use ostler_core::event::{Event, NotCompacted, Notice};
use ostler_core::hook::{EventName, HookEvent, HookOutcome, Stand};
use ostler_core::ledger::Usage;
use ostler_core::message::Block;
use ostler_core::model::ModelErrorKind::{ContextOverflow, Unavailable};
use ostler_core::ports::{Attachment, BeforeCompact, BoxFuture, Carried, Carrying, Permit, Place};
use ostler_core::session::Entry;
use ostler_core::tool::ToolOutput;
use ostler_core::turn::Terminal;
use ostler_testkit::{
    FakeTool, LogFault, Rig, Script, ScriptedHooks, TestAgent, calls, fails, finished, hangs, says,
    trace,
};
use serde_json::json;
use std::sync::Arc;

/// Reads of so many bytes each. What is asked for differs, so that no result makes another irrelevant.
fn reads(count: usize) -> impl Iterator<Item = Script> {
    reads_using(count, Usage { input: 100, output: 10, ..Usage::default() })
}

fn reads_using(count: usize, usage: Usage) -> impl Iterator<Item = Script> {
    (0..count).map(move |n| {
        let (id, input) = (format!("c{n}"), json!({ "path": format!("/ws/{n}") }));
        Script::new().usage(usage).call_with(&id, "Read", input).end_calls()
    })
}

fn agent(result: usize) -> TestAgent {
    let text = "word ".repeat(result / 5);
    TestAgent::new().tools([FakeTool::reading("Read").gives(ToolOutput::text(text))])
}

/// Usage as a real provider reports it, which only the size of the request decides, is not scripted: the estimate
/// then follows the bytes alone.
const SILENT: Usage =
    Usage { input: 0, output: 0, cache_write: 0, cache_write_1h: 0, cache_read: 0 };

fn done() -> Script {
    Script::new().usage(SILENT).text("done").end_turn()
}

fn boundaries(rig: &Rig) -> Vec<ostler_core::context::Boundary> {
    let entries = rig.timeline.entries();
    entries
        .into_iter()
        .filter_map(|entry| match entry {
            Entry::Boundary(boundary) => Some(*boundary),
            _ => None,
        })
        .collect()
}

type Answer = fn() -> Script;

/// All texts of the newest request, whole.
fn texts(rig: &Rig) -> String {
    let requests = rig.model.requests();
    texts_of(requests.last().expect("a request"))
}

fn texts_of(request: &ostler_core::model::Request) -> String {
    let blocks = request.view.messages().flat_map(|message| message.blocks());
    let text = |block: &Block| match block {
        Block::Text { text, .. } => Some(text.clone()),
        _ => None,
    };
    blocks.filter_map(text).collect::<Vec<_>>().join("\n")
}

fn terminal(events: &[Event]) -> Terminal {
    finished(events).terminal
}

fn heaviest(rig: &Rig) -> u64 {
    rig.model.requests().iter().map(|request| request.view.weight()).max().unwrap_or(0)
}

#[tokio::test(start_paused = true)]
async fn old_results_are_left_out_first_and_once() {
    let answers = reads_using(20, SILENT).chain([done()]);
    let rig = agent(4_000).window(20_000).answers(answers).build();
    let events = rig.turn("go").await;
    assert_eq!(terminal(&events), Terminal::Completed, "{}", trace(&events));
    assert!(boundaries(&rig).is_empty(), "no summary was needed:\n{}", rig.timeline.render());
    assert!(heaviest(&rig) / 4 < 20_000, "{}", heaviest(&rig));
    // What was left out once stays as it is: a request begins with the one before it, but for the recorded changes.
    let elided = lines(&events, &["notice Info"]);
    assert!((1..=3).contains(&elided.len()), "{elided:?}");
    let mut changed = 0;
    for pair in rig.model.requests().windows(2) {
        let (before, after) = (pair[0].view.items(), pair[1].view.items());
        let same = before.iter().zip(after).all(|(a, b)| Arc::ptr_eq(a, b));
        changed += usize::from(!same);
    }
    assert_eq!(changed, elided.len(), "the prefix changes only where a stage says so");
}

#[tokio::test(start_paused = true)]
async fn five_hundred_calls_in_one_turn() {
    // Errors are not worth leaving out here: they are short. So the calls themselves fill the window.
    let long = |n: usize| {
        let input = json!({ "path": format!("/ws/{n}"), "why": "because ".repeat(60) });
        Script::new().usage(SILENT).call_with(&format!("c{n}"), "Read", input).end_calls()
    };
    let mut answers = Vec::new();
    for n in 0..500 {
        answers.push(long(n));
    }
    answers.push(done());
    // A summary may be asked for at any of the requests: the same model answers both, by what it is asked.
    let rig = agent(100).window(40_000).answers(answers).summaries("# Summary\nWe read.").build();
    let events = rig.turn("go").await;
    assert_eq!(terminal(&events), Terminal::Completed, "{}", trace(&events));
    let boundaries = boundaries(&rig);
    assert!((3..30).contains(&boundaries.len()), "{}", boundaries.len());
    assert!(heaviest(&rig) / 4 < 40_000, "{}", heaviest(&rig));
    for boundary in &boundaries {
        assert!(boundary.receipt.after < boundary.receipt.before);
        assert!(matches!(boundary.receipt.made, Made::Model { .. }));
        assert_eq!(boundary.receipt.trigger, Trigger::Auto);
        assert_eq!(boundary.carry.goal, "go");
    }
    // It is looked at before every request: none is later than the one exchange that fills the window.
    let before = || boundaries.iter().map(|boundary| boundary.receipt.before);
    let (least, most) = (before().min().unwrap_or(0), before().max().unwrap_or(0));
    assert!(most - least <= 300, "summed up at {least} to {most} tokens");
    // The prompt is there in every request, word for word.
    for request in rig.model.requests() {
        let said = request.view.messages().any(|message| message.text() == "go");
        assert!(said, "the prompt is lost");
    }
}

#[tokio::test(start_paused = true)]
async fn the_provider_says_too_long_and_a_summary_helps() {
    let answers = reads(2).chain([fails(ContextOverflow), says("so far"), says("done")]);
    let rig = agent(1_000).answers(answers).build();
    let events = rig.turn("go").await;
    assert_eq!(
        lines(&events, &["went", "compact", "end"]).join("\n"),
        "went next_turn\nwent next_turn\ncompacting Overflow\ncompacted 3 dropped, 2 kept\n\
         went reactive_compact_retry\nend completed \"done\" iterations=3 calls=2 in=400 out=40 cost=0.001800"
    );
    assert_eq!(rig.model.requests().len(), 5);
    let told = rig.model.last_conversation();
    assert!(told.contains("so far") || told.contains("<summary>"), "{told}");
}

#[tokio::test(start_paused = true)]
async fn too_long_for_ever_ends_with_a_reason() {
    for exchanges in [0, 1, 2, 8] {
        let answers = reads(exchanges).chain((0..30).map(|_| fails(ContextOverflow)));
        let rig = agent(2_000).answers(answers).build();
        let events = rig.turn("go").await;
        assert_eq!(terminal(&events), Terminal::PromptTooLong, "{exchanges}");
        let asked = rig.model.requests().len();
        assert!(asked <= exchanges + 12, "{exchanges}: {asked} requests");
        assert!(boundaries(&rig).len() <= 1);
    }
}

/// Each refusal is followed by an answer, so that every one is the first of its kind: that ends, too.
#[tokio::test(start_paused = true)]
async fn a_provider_that_refuses_again_and_again_ends_the_turn() {
    let mut answers: Vec<Script> = reads(3).collect();
    for n in 3..40 {
        let input = json!({ "path": format!("/ws/{n}") });
        let read = Script::new().call_with(&format!("c{n}"), "Read", input).end_calls();
        answers.extend([fails(ContextOverflow), says("so far"), read]);
    }
    let rig = agent(3_000).answers(answers).build();
    let events = rig.turn("go").await;
    assert_eq!(terminal(&events), Terminal::RapidRefill, "{}", trace(&events));
    assert_eq!((boundaries(&rig).len(), rig.model.requests().len()), (3, 13));
}

/// Nobody asked for room: what the provider refuses ends the turn.
#[tokio::test(start_paused = true)]
async fn without_automatic_room_a_refusal_ends_the_turn() {
    let answers = reads(3).chain([fails(ContextOverflow), says("never")]);
    let agent = agent(2_000).answers(answers);
    let rig = agent.settings(|settings| settings.context.auto = false).build();
    let events = rig.turn("go").await;
    assert_eq!(terminal(&events), Terminal::PromptTooLong, "{}", trace(&events));
    assert_eq!((rig.model.requests().len(), rig.model.left()), (4, 1));
}

#[tokio::test(start_paused = true)]
async fn a_second_overflow_right_after_is_not_summed_up_again() {
    let overflow = || fails(ContextOverflow);
    let answers = reads(3).chain([overflow(), says("short"), overflow(), says("never")]);
    let rig = agent(1_000).answers(answers).build();
    let events = rig.turn("go").await;
    assert_eq!(terminal(&events), Terminal::PromptTooLong, "{}", trace(&events));
    assert_eq!((boundaries(&rig).len(), rig.model.left()), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn a_summary_that_does_not_come_is_made_from_the_messages() {
    let kinds: [(&str, Answer); 4] = [
        ("unavailable", || fails(Unavailable)),
        ("a call", || calls([("x", "Read")])),
        ("empty", || Script::new().end_turn()),
        ("too long", || fails(ContextOverflow)),
    ];
    for (name, summary) in kinds {
        let answers = reads(2).chain([fails(ContextOverflow), summary(), says("done")]);
        let rig = agent(2_000).answers(answers).build();
        let events = rig.turn("go").await;
        assert_eq!(terminal(&events), Terminal::Completed, "{name}: {}", trace(&events));
        let boundaries = boundaries(&rig);
        assert_eq!(boundaries.len(), 1, "{name}");
        let made = &boundaries[0].receipt.made;
        assert!(matches!(made, Made::Extract { .. }), "{name}: {made:?}");
        assert!(texts(&rig).contains("- Read /ws/0"), "{name}: {}", texts(&rig));
        assert_eq!(finished(&events).calls_run, 2, "{name}: no call of a summary is run");
    }
}

/// Many exchanges, and a provider that takes only part of them at a time.
#[tokio::test(start_paused = true)]
async fn a_summary_is_made_in_pieces_that_fit() {
    let overflow = || fails(ContextOverflow);
    let summaries = [overflow(), says("first half"), says("both halves"), says("done")];
    let answers = reads(10).chain([overflow()]).chain(summaries);
    let rig = agent(500).answers(answers).build();
    let events = rig.turn("go").await;
    assert_eq!(terminal(&events), Terminal::Completed, "{}", trace(&events));
    let boundaries = boundaries(&rig);
    assert_eq!(boundaries[0].receipt.requests, 3);
    let requests = rig.model.requests();
    let piece = |n: usize| texts_of(&requests[n]);
    assert!(!piece(12).contains("first half") && piece(13).contains("first half"), "{}", piece(13));
    assert!(piece(14).contains("both halves"), "{}", piece(14));
    // The first piece is the beginning of what was sent before.
    let (whole, part) = (requests[10].view.items(), requests[12].view.items());
    let shared = part.iter().zip(whole).take_while(|(a, b)| Arc::ptr_eq(a, b)).count();
    assert_eq!(shared, part.len() - 1, "all but the instruction");
}

/// From hopeless to roomy: each ends, with a bounded number of requests and no request the window cannot hold twice.
#[tokio::test(start_paused = true)]
async fn windows_down_to_the_overhead() {
    for window in [60, 120, 240, 500, 1_000, 2_000, 4_000, 8_000] {
        for failing in [false, true] {
            let answers = reads_using(30, SILENT).chain([done()]);
            let agent = agent(900).window(window).answers(answers);
            let rig = match failing {
                true => agent.failing_summaries().build(),
                false => agent.summaries("# Summary\nsome").build(),
            };
            let events = rig.turn("go").await;
            let end = terminal(&events);
            let known = [Terminal::Completed, Terminal::RapidRefill, Terminal::BlockingLimit];
            assert!(known.contains(&end), "{window} {failing}: {end:?}");
            let asked = rig.model.requests().len();
            assert!(asked <= 31 + 31 * 8, "{window} {failing}: {asked} requests");
            if window >= 4_000 {
                assert_eq!(end, Terminal::Completed, "{window} {failing}");
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_window_that_keeps_filling_up_ends_the_turn() {
    let rig = agent(30_000).window(40_000).answers(reads_using(30, SILENT)).summaries("s").build();
    let events = rig.turn("go").await;
    assert_eq!(terminal(&events), Terminal::RapidRefill, "{}", trace(&events));
    assert_eq!(boundaries(&rig).len(), 3);
}

/// What is repeated after every summary leaves no room: none is asked for, and that is said once in a turn.
#[tokio::test(start_paused = true)]
async fn what_would_not_make_room_is_not_paid_for() {
    let full = Usage { input: 175_000, output: 10, ..Usage::default() };
    for (rules, helps) in [(500, true), (150_000, false)] {
        let answers = reads_using(30, full).chain([says("done")]);
        let agent = agent(3_000).window(200_000).answers(answers).summaries("s");
        let rules = Arc::new(Rules("rule ".repeat(rules / 5)));
        let rig = agent.context(|context| context.carried.push(rules)).build();
        let events = rig.turn("go").await;
        let is_told = |event: &&Event| {
            matches!(
                event,
                Event::Notice {
                    notice: Notice::NotCompacted(NotCompacted::StaysTooLarge { .. }),
                    ..
                }
            )
        };
        let told = events.iter().filter(is_told).count();
        if helps {
            assert!(!boundaries(&rig).is_empty() && told == 0, "{}", trace(&events));
        } else {
            assert_eq!((boundaries(&rig).len(), told), (0, 1), "{}", trace(&events));
            assert_eq!(terminal(&events), Terminal::Completed);
            assert_eq!(rig.model.requests().len(), 31, "a summary was asked for");
        }
    }
}

/// Repeated before everything else after each summary.
struct Rules(String);

impl Carried for Rules {
    fn carry(&self, _: &Carrying<'_>) -> Vec<Attachment> {
        vec![Attachment { place: Place::Before, name: "rules".into(), text: self.0.clone() }]
    }
}

#[tokio::test(start_paused = true)]
async fn without_automatic_room_a_full_window_is_not_sent() {
    let used = |input| Usage { input, output: 0, ..Usage::default() };
    for (tokens, expected) in [(175_000, Terminal::Completed), (177_500, Terminal::BlockingLimit)] {
        let answers = reads_using(1, used(tokens)).chain([says("done")]);
        let agent = agent(50).window(200_000).answers(answers);
        let rig = agent.settings(|settings| settings.context.auto = false).build();
        let events = rig.turn("go").await;
        assert_eq!(terminal(&events), expected, "{tokens}: {}", trace(&events));
    }
}

struct Never;

impl BeforeCompact for Never {
    fn ask(&self, _: Trigger, _: Option<String>) -> BoxFuture<'_, Permit> {
        Box::pin(async { Permit::Block("not in here".into()) })
    }
}

#[tokio::test(start_paused = true)]
async fn a_hook_may_forbid_it() {
    let full = Usage { input: 175_000, output: 10, ..Usage::default() };
    let answers = reads_using(4, full).chain([says("done")]);
    let agent = agent(1_000).window(200_000).answers(answers);
    let rig = agent.context(|context| context.before_compact = Some(Arc::new(Never))).build();
    let events = rig.turn("go").await;
    assert!(boundaries(&rig).is_empty());
    assert!(trace(&events).contains("a hook does not allow it"), "{}", trace(&events));
    assert_eq!(rig.model.requests().len(), 5, "no summary was asked for");
}

/// Hooks hear of it before and after; they may forbid it, and what they add is for the summary.
#[tokio::test(start_paused = true)]
async fn hooks_hear_of_a_summary() {
    let run = async |stand: Stand| {
        let before = HookOutcome {
            context: vec!["keep the names".into()],
            ..HookOutcome::of(stand, "guard", "no")
        };
        let hooks = ScriptedHooks::new()
            .on(EventName::PreCompact, "manual", move |_| before.clone())
            .on(EventName::PostCompact, "manual", |_| HookOutcome::default());
        let hooks = Arc::new(hooks);
        let answers = [says("one"), says("two"), says("in short")];
        let rig = agent(10).answers(answers).hooks(hooks.clone()).build();
        rig.turn(&"first ".repeat(400)).await;
        rig.turn("second").await;
        let stream = ostler_engine::compact(rig.agent.clone(), None, Default::default());
        let events = ostler_testkit::collect(stream).await;
        (rig, hooks.heard(), events)
    };
    let (rig, heard, events) = run(Stand::Block).await;
    assert!(boundaries(&rig).is_empty() && heard.len() == 1, "{heard:?}");
    assert!(finished(&events).text.contains("a hook does not allow it"), "{}", trace(&events));
    let (rig, heard, _) = run(Stand::Pass).await;
    assert_eq!(boundaries(&rig).len(), 1);
    assert!(texts(&rig).contains("keep the names"), "{}", texts(&rig));
    let told = |event: &HookEvent| matches!(event, HookEvent::PostCompact { compact_summary, .. } if compact_summary.contains("in short"));
    assert!(heard.len() == 2 && told(&heard[1]), "{heard:?}");
}

/// Whatever append fails, the log holds the old or the new history, and the next process continues from it.
#[tokio::test(start_paused = true)]
async fn a_compaction_that_cannot_be_written_leaves_the_old_history() {
    let script = || {
        let first = reads(3).chain([fails(ContextOverflow), says("so far"), says("done")]);
        agent(400).answers(first)
    };
    let whole = script().build();
    whole.turn("go").await;
    let (appends, syncs) = whole.log.operations();
    let faults = (1..=appends).map(LogFault::Append).chain((1..=syncs).map(LogFault::Sync));
    for fault in faults {
        let rig = script().fault(fault).build();
        rig.turn("go").await;
        // The laws were checked: the fold of what is there says what the engine says, and is valid.
        let entries = rig.timeline.entries();
        let again = agent(400).answers([says("again")]).resumed(entries).build();
        let events = again.turn("go on").await;
        assert_eq!(terminal(&events), Terminal::Completed, "{fault:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_interrupt_ends_a_summary_at_once() {
    let answers = reads(2).chain([fails(ContextOverflow), hangs()]);
    let rig = agent(1_000).answers(answers).build();
    let interrupt = tokio_util::sync::CancellationToken::new();
    let mut stream = rig.start_with("go", &interrupt);
    let read = ostler_testkit::until(&mut stream, "compacting").await;
    interrupt.cancel();
    let events = rig.finish(read, stream).await;
    assert_eq!(terminal(&events), Terminal::AbortedStreaming);
    assert!(boundaries(&rig).is_empty());
}

#[tokio::test(start_paused = true)]
async fn somebody_asks_for_it() {
    let rig = agent(10).answers([says("one"), says("two"), says("in short"), says("x")]).build();
    let compact = |rig: &Rig| {
        let words = Some("keep the names".to_owned());
        ostler_engine::compact(rig.agent.clone(), words, Default::default())
    };
    let early = ostler_testkit::collect(compact(&rig)).await;
    assert!(finished(&early).text.contains("no earlier exchange"), "{}", trace(&early));
    rig.turn(&"first ".repeat(400)).await;
    rig.turn("second").await;
    let events = ostler_testkit::collect(compact(&rig)).await;
    assert_eq!(terminal(&events), Terminal::Completed, "{}", trace(&events));
    assert_eq!(boundaries(&rig).len(), 1, "{}", trace(&events));
    let asked = rig.model.last_conversation();
    assert!(asked.contains("first"), "{asked}");
    rig.turn("third").await;
    assert!(rig.conversation().contains("second"), "{}", rig.conversation());
    assert_eq!(rig.agent.journal.conversation().1, 3, "turns are still counted");
}

/// Nothing is saved, and it is done all the same where that is wanted.
#[tokio::test(start_paused = true)]
async fn a_short_conversation_is_summed_up_only_where_that_is_wanted() {
    for wanted in [false, true] {
        let rig = agent(10)
            .settings(|settings| settings.context.even_without_gain = wanted)
            .answers([says("one"), says("two"), says("in short"), says("x")])
            .build();
        rig.turn("first").await;
        rig.turn("second").await;
        let events = ostler_testkit::collect(ostler_engine::compact(
            rig.agent.clone(),
            None,
            Default::default(),
        ))
        .await;
        assert_eq!(terminal(&events), Terminal::Completed, "{}", trace(&events));
        assert_eq!(boundaries(&rig).len(), usize::from(wanted), "{}", trace(&events));
    }
}

/// With a task budget the model is asked to continue, until it has used it or has nothing more to say.
#[tokio::test(start_paused = true)]
async fn a_task_budget_keeps_the_model_going() {
    let say = |output| {
        let usage = Usage { input: 100, output, ..Usage::default() };
        Script::new().usage(usage).text("so").end_turn()
    };
    for (outputs, requests) in [
        (vec![1_000, 1_000, 1_000, 1_000, 1_000], 4),
        (vec![9_500, 1_000], 1),
        (vec![4_000, 6_000, 1_000], 2),
        (vec![1_000, 100, 1_000], 2),
    ] {
        let rig = agent(10)
            .answers(outputs.iter().copied().map(say))
            .settings(|settings| settings.context.task_budget = Some(10_000))
            .build();
        let events = rig.turn("go").await;
        assert_eq!(terminal(&events), Terminal::Completed);
        assert_eq!(rig.model.requests().len(), requests, "{outputs:?}");
    }
}
