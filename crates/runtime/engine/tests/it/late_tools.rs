//! Tools that arrive after the first request: the list stays, a message announces them, and calls are theirs.

use crate::lines;
use ostler_core::event::Event;
use ostler_core::hook::{EventName, HookEvent, HookOutcome};
use ostler_core::late_tools::{ToolRefusal, USE_TOOL};
use ostler_core::message::Block;
use ostler_core::model::{Request, StopReason};
use ostler_core::permission::{Mode, Policy, Rule, Workspace};
use ostler_core::session::{Entry, SessionRecord};
use ostler_core::tool::ToolOutput;
use ostler_engine::{compact, resume_turn};
use ostler_testkit::{
    FakeApprover, FakeTool, Rig, Script, ScriptedHooks, TestAgent, calls, collect, live, says,
    trace, until,
};
use serde_json::{Value, json};
use std::sync::Arc;
use tokio::sync::Barrier;
use tokio_util::sync::CancellationToken;

const ADDED: &str = "<tools-added>";
const REMOVED: &str = "<tools-removed>";

fn agent() -> TestAgent {
    TestAgent::new().late_tools().tools([FakeTool::reading("Read")])
}

fn through(tool: &str, input: Value) -> Value {
    json!({ "name": tool, "input": input })
}

/// A call through the fixed tool.
fn uses(id: &str, tool: &str, input: Value) -> Script {
    Script::new().call_with(id, USE_TOOL, through(tool, input)).end_calls()
}

/// The texts of the harness that begin with this tag and name the tool, in what a request carries.
fn notes(request: &Request, tag: &str, tool: &str) -> usize {
    let blocks = request.view.messages().flat_map(|message| message.blocks());
    let is_note = |block: &&Block| matches!(block, Block::Text { text, meta: true } if text.starts_with(tag) && text.contains(tool));
    blocks.filter(is_note).count()
}

fn listed(request: &Request) -> Vec<&str> {
    request.tools.iter().map(|spec| spec.name.as_str()).collect()
}

/// Each request has the very list of the one before, and all of its messages.
fn assert_extensions(requests: &[Request]) {
    for pair in requests.windows(2) {
        assert!(pair[0].tools.is_same(&pair[1].tools), "the list changed");
        let (before, after) = (pair[0].view.items(), pair[1].view.items());
        let same = before.iter().zip(after).filter(|(a, b)| a.message() == b.message()).count();
        assert_eq!(same, before.len(), "a message changed");
    }
}

/// The results that the last request carries, by call.
fn result(rig: &Rig, call: &str) -> String {
    let requests = rig.model.requests();
    let blocks = requests.last().unwrap().view.messages().flat_map(|message| message.blocks());
    let is_its =
        |block: &&Block| matches!(block, Block::ToolResult { id, .. } if id.as_str() == call);
    blocks.filter(is_its).map(|block| format!("{block:?}")).collect()
}

#[tokio::test(start_paused = true)]
async fn a_late_tool_is_announced_once_and_called_by_its_own_name() {
    let rig = agent()
        .answers([
            calls([("r1", "Read")]),
            uses("s1", "Stamp", json!({"path": "/ws/a"})),
            calls([("s2", "Stamp")]),
            says("done"),
        ])
        .build();
    let mut stream = rig.start("go");
    let read = until(&mut stream, "finished r1").await;
    assert_eq!(rig.add_tools([FakeTool::writing("Stamp")]), []);
    let events = rig.finish(read, stream).await;
    let requests = rig.model.requests();
    assert_extensions(&requests);
    assert_eq!(listed(&requests[0]), ["Read", USE_TOOL]);
    let announced: Vec<usize> =
        requests.iter().map(|request| notes(request, ADDED, "Stamp")).collect();
    assert_eq!(announced, [0, 1, 1, 1]);
    insta::assert_snapshot!(lines(&events, &["block", "started", "finished"]).join("\n"), @r#"
    block call r1 Read "{}"
    started r1 Read "{}"
    finished r1 ok "echo {}"
    block call s1 Stamp "{"path":"/ws/a"}"
    started s1 Stamp "{"path":"/ws/a"}"
    finished s1 ok "echo {"path":"/ws/a"}"
    block call s2 Stamp "{}"
    started s2 Stamp "{}"
    finished s2 ok "echo {}"
    block "done"
    "#);
    // The model gets its own words back.
    let said = rig.timeline.entries().into_iter().find_map(|entry| match entry {
        Entry::Answer { message, .. } => message.blocks().iter().find_map(|block| match block {
            Block::ToolUse { name, via: Some(via), .. } => Some((name.clone(), via.clone())),
            _ => None,
        }),
        _ => None,
    });
    assert_eq!(said, Some(("Stamp".into(), USE_TOOL.into())));
}

#[tokio::test(start_paused = true)]
async fn before_the_first_request_a_tool_is_simply_in_the_list() {
    for late in [true, false] {
        let agent = TestAgent::new().tools([FakeTool::reading("Read")]);
        let agent = if late { agent.late_tools() } else { agent };
        let rig = agent.answers([calls([("s1", "Aim")]), says("done")]).build();
        assert_eq!(rig.add_tools([FakeTool::reading("Aim"), FakeTool::reading("Gone")]), []);
        assert_eq!(rig.agent.remove_tools(&["Gone".into(), "Read".into()]), ["Read"]);
        rig.turn("go").await;
        let requests = rig.model.requests();
        assert_extensions(&requests);
        let fixed = if late { vec!["Aim", "Read", USE_TOOL] } else { vec!["Aim", "Read"] };
        assert_eq!(listed(&requests[0]), fixed);
        assert!(requests.iter().all(|request| notes(request, ADDED, "") == 0));
        assert_eq!(rig.timeline.began(), ["s1"]);
    }
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_added_is_refused_with_a_reason() {
    let names = ["Read", USE_TOOL, "", "a b", "Look", "Look"];
    let refused = |rig: &Rig| {
        let refused = rig.add_tools(names.map(FakeTool::reading));
        refused.into_iter().map(|one| (one.name, one.why)).collect::<Vec<_>>()
    };
    let common = [
        ("Read".to_owned(), ToolRefusal::NameTaken),
        (USE_TOOL.into(), ToolRefusal::NameTaken),
        (String::new(), ToolRefusal::BadName),
        ("a b".into(), ToolRefusal::BadName),
    ];
    let twice = [("Look".to_owned(), ToolRefusal::NameTaken)];
    let rig = agent().answers([says("done")]).build();
    rig.turn("go").await;
    assert_eq!(refused(&rig), [&common[..], &twice[..]].concat());
    let fixed = TestAgent::new().tools([FakeTool::reading("Read")]).answers([says("a")]).build();
    fixed.turn("go").await;
    let why = ToolRefusal::ListIsFixed;
    assert_eq!(refused(&fixed)[4..], [("Look".to_owned(), why), ("Look".to_owned(), why)]);
    assert_eq!(fixed.add_tools([FakeTool::reading("Late")])[0].why, why);
}

#[tokio::test(start_paused = true)]
async fn wrong_names_and_wrong_calls_are_answered() {
    let rig = agent()
        .answers([
            says("hello"),
            uses("a", "Lok", json!({})),
            uses("b", USE_TOOL, through("Look", json!({}))),
            Script::new().call_with("c", USE_TOOL, json!({"tool": "Look"})).end_calls(),
            uses("d", "Strict", json!({})),
            uses("e", "Read", json!({})),
            says("done"),
        ])
        .build();
    rig.turn("hello").await;
    assert_eq!(rig.add_tools([FakeTool::reading("Look"), FakeTool::misused("Strict")]), []);
    let events = rig.turn("go").await;
    let known = "The tools are: Look, Read, Strict.";
    assert!(result(&rig, "a").contains(&format!("There is no tool named \\\"Lok\\\". {known}")));
    assert!(result(&rig, "b").contains(&format!("its `input` as an object. {known}")));
    assert!(result(&rig, "c").contains(&format!("its `input` as an object. {known}")));
    assert!(
        result(&rig, "d").contains("the field \\\"path\\\" is missing"),
        "the tool's own schema"
    );
    assert!(result(&rig, "e").contains("echo"), "a tool of the list can be called so, too");
    assert_eq!(rig.timeline.began(), ["e"]);
    assert_eq!(lines(&events, &["block"])[0], r#"block call a Lok "{}""#);
}

#[tokio::test(start_paused = true)]
async fn hooks_hear_the_real_name_and_input() {
    let hooks = Arc::new(
        ScriptedHooks::new()
            .on(EventName::PreToolUse, "Stamp", |_| HookOutcome::default())
            .on(EventName::PostToolUse, "*", |_| HookOutcome::default())
            .on(EventName::PreToolUse, USE_TOOL, |_| panic!("nobody uses that")),
    );
    let rig = agent()
        .hooks(hooks.clone())
        .answers([says("hello"), uses("s1", "Stamp", json!({"path": "/ws/a"})), says("done")])
        .build();
    rig.turn("hello").await;
    assert_eq!(rig.add_tools([FakeTool::writing("Stamp")]), []);
    rig.turn("go").await;
    let heard = hooks.heard().into_iter().filter_map(|event| match event {
        HookEvent::PreToolUse { tool_name, tool_input, tool_use_id }
        | HookEvent::PostToolUse { tool_name, tool_input, tool_use_id, .. } => {
            Some((tool_name, tool_input, tool_use_id))
        }
        _ => None,
    });
    let heard: Vec<_> = heard.collect();
    let once = ("Stamp".to_owned(), json!({"path": "/ws/a"}), "s1".to_owned());
    assert_eq!(heard, [once.clone(), once]);
}

/// Rules are about the tool that runs; one about the fixed tool can only forbid more.
#[tokio::test(start_paused = true)]
async fn rules_judge_the_tool_that_runs() {
    let run = async |agent: TestAgent, path: &str, direct: bool| {
        let input = json!({ "path": path });
        let call = match direct {
            true => Script::new().call_with("s1", "Stamp", input).end_calls(),
            false => uses("s1", "Stamp", input),
        };
        let rig = agent.answers([says("hello"), call, says("done")]).build();
        rig.turn("hello").await;
        assert_eq!(rig.add_tools([FakeTool::writing("Stamp")]), []);
        rig.turn("go").await;
        (rig.timeline.began().len(), rig.approver.asked().len())
    };
    let asking = || agent().approver(FakeApprover::no("not now"));
    for (name, agent, path, direct, expected) in [
        ("bypass", agent(), "/ws/a", false, (1, 0)),
        ("a deny rule on its name", agent().deny("Stamp"), "/ws/a", false, (0, 0)),
        ("a deny rule on files", agent().deny("Edit(./a)"), "/ws/a", false, (0, 0)),
        ("on another file", agent().deny("Edit(./a)"), "/ws/b", false, (1, 0)),
        ("a deny rule on the fixed tool", agent().deny(USE_TOOL), "/ws/a", false, (0, 0)),
        ("which does not touch others", agent().deny(USE_TOOL), "/ws/a", true, (1, 0)),
        ("it would change a file", asking(), "/ws/a", false, (0, 1)),
        ("an allow rule on its name", asking().allow("Stamp"), "/ws/a", false, (1, 0)),
        ("an allow rule on its kind", asking().allow("Edit(./**)"), "/ws/a", false, (1, 0)),
        ("but not on the fixed tool", asking().allow(USE_TOOL), "/ws/a", false, (0, 1)),
        ("accepted edits", asking().mode(Mode::AcceptEdits), "/ws/a", false, (1, 0)),
        ("plan mode", agent().mode(Mode::Plan), "/ws/a", false, (0, 0)),
    ] {
        assert_eq!(run(agent, path, direct).await, expected, "{name}");
    }
}

/// A person who wants to be asked about the fixed tool is asked, and a rule that allows the real one does not answer.
#[tokio::test(start_paused = true)]
async fn an_ask_rule_on_the_fixed_tool_holds() {
    let rig = agent()
        .approver(FakeApprover::yes())
        .answers([says("hello"), uses("s1", "Look", json!({})), says("done")])
        .build();
    let ask = Rule::parse(USE_TOOL, &Workspace::default()).unwrap();
    rig.agent.gate.add_rules(Policy { ask: vec![ask], ..Policy::default() });
    rig.turn("hello").await;
    assert_eq!(rig.add_tools([FakeTool::reading("Look")]), []);
    rig.turn("go").await;
    assert_eq!(rig.approver.asked(), ["s1"]);
    assert_eq!(rig.approver.questions()[0].tool, "Look");
    assert_eq!(rig.timeline.began(), ["s1"]);
}

/// Calls of late tools begin while the model still talks, and side by side, as what they touch allows.
#[tokio::test(start_paused = true)]
async fn harmless_late_calls_run_side_by_side_while_the_model_talks() {
    let barrier = Arc::new(Barrier::new(3));
    let script = Script::new()
        .call_with("a", USE_TOOL, through("Look", json!({"path": "/ws/a"})))
        .call_with("b", USE_TOOL, through("Look", json!({"path": "/ws/b"})))
        .meet(&barrier)
        .end_calls();
    let rig = agent().answers([says("hello"), script, says("done")]).build();
    rig.turn("hello").await;
    assert_eq!(rig.add_tools([FakeTool::reading("Look").meets(&barrier)]), []);
    let events = rig.turn("go").await;
    assert_eq!(lines(&events, &["finished"]).len(), 2, "{}", trace(&events));
}

/// What is removed in the middle of an answer is still there for the calls of that answer.
#[tokio::test(start_paused = true)]
async fn an_iteration_keeps_its_tools() {
    let (pusher, script) = live();
    let rig = agent()
        .answers([says("hello"), script, uses("s2", "Stamp", json!({})), says("done")])
        .build();
    rig.turn("hello").await;
    assert_eq!(rig.add_tools([FakeTool::writing("Stamp")]), []);
    let mut stream = rig.start("go");
    let read = until(&mut stream, "answer").await;
    assert_eq!(rig.agent.remove_tools(&["Stamp".into()]), [] as [&str; 0]);
    assert_eq!(rig.add_tools([FakeTool::reading("New")]), []);
    pusher.call("s1", "Stamp");
    pusher.call("n1", "New");
    pusher.end(StopReason::ToolUse);
    rig.finish(read, stream).await;
    assert_eq!(rig.timeline.began(), ["s1"]);
    assert!(result(&rig, "n1").contains("There is no tool named \\\"New\\\""), "not yet");
    assert!(result(&rig, "s2").contains("There is no tool named \\\"Stamp\\\""), "not any more");
    let requests = rig.model.requests();
    assert_extensions(&requests);
    let removed: Vec<usize> =
        requests.iter().map(|request| notes(request, REMOVED, "Stamp")).collect();
    assert_eq!(removed, [0, 0, 1, 1]);
}

/// What came and went between two requests is not worth a word.
#[tokio::test(start_paused = true)]
async fn what_the_model_never_heard_of_is_not_announced_as_gone() {
    let rig = agent().answers([says("hello"), says("done")]).build();
    rig.turn("hello").await;
    assert_eq!(rig.add_tools([FakeTool::writing("Stamp")]), []);
    assert_eq!(rig.agent.remove_tools(&["Stamp".into()]), [] as [&str; 0]);
    rig.turn("go").await;
    let requests = rig.model.requests();
    assert!(requests.iter().all(|request| notes(request, "<tools-", "") == 0));
}

#[tokio::test(start_paused = true)]
async fn a_summary_and_another_model_move_late_tools_into_the_list() {
    for by_model in [true, false] {
        let long = FakeTool::reading("Read").gives(ToolOutput::text("word ".repeat(400)));
        let rig = TestAgent::new()
            .late_tools()
            .tools([long])
            .summaries("so far")
            .answers([calls([("r1", "Read")]), says("hello")])
            .answers((0..9).map(|_| says("I see")))
            .answers([calls([("s1", "Stamp")]), uses("s2", "Stamp", json!({})), says("done")])
            .build();
        rig.turn("hello").await;
        assert_eq!(rig.add_tools([FakeTool::writing("Stamp")]), []);
        // What is newest is kept word for word.
        for _ in 0..9 {
            rig.turn("look").await;
        }
        let before = rig.model.requests().len();
        match by_model {
            true => rig.agent.set_model("other".into()),
            false => {
                let stream = compact(rig.agent.clone(), None, CancellationToken::new());
                let events = collect(stream).await;
                assert_eq!(lines(&events, &["compacted"]).len(), 1, "{}", trace(&events));
            }
        }
        rig.turn("go").await;
        let requests = rig.model.requests();
        let after = &requests[requests.len() - 3..];
        assert_eq!(listed(&requests[before - 1]), ["Read", USE_TOOL]);
        assert_eq!(listed(&after[0]), ["Read", "Stamp", USE_TOOL], "by model: {by_model}");
        assert_extensions(after);
        let announced = usize::from(by_model);
        assert_eq!(notes(&after[2], ADDED, "Stamp"), announced, "by model: {by_model}");
        assert_eq!(rig.timeline.began(), ["r1", "s1", "s2"], "by its name and through the other");
    }
}

/// A log with an arrival and calls of the tool, and what the model knew of the tool after each entry.
async fn with_a_late_tool() -> Vec<Entry> {
    let rig = agent()
        .answers([
            calls([("r1", "Read")]),
            uses("s1", "Stamp", json!({"path": "/ws/a"})),
            says("done"),
            says("more"),
        ])
        .build();
    let mut stream = rig.start("go");
    let read = until(&mut stream, "finished r1").await;
    assert_eq!(rig.add_tools([FakeTool::writing("Stamp")]), []);
    rig.finish(read, stream).await;
    rig.turn("again").await;
    rig.timeline.entries()
}

/// Killed after every entry, with the tool there again and without it.
#[tokio::test(start_paused = true)]
async fn resumed_anywhere_the_model_is_told_once() {
    let whole = with_a_late_tool().await;
    let (mut listings, mut announcements, mut removals) = (0, 0, 0);
    for end in 1..=whole.len() {
        let before = whole[..end].to_vec();
        for present in [true, false] {
            for resumes in [true, false] {
                let rig =
                    agent().resumed(before.clone()).answers((0..4).map(|_| says("on"))).build();
                if present {
                    assert_eq!(rig.add_tools([FakeTool::writing("Stamp")]), []);
                }
                if resumes && !matches!(before.last(), Some(Entry::End { .. })) {
                    let stream = resume_turn(rig.agent.clone(), CancellationToken::new());
                    rig.finish(Vec::new(), stream).await;
                }
                rig.turn("the last").await;
                rig.turn("and one more").await;
                let requests = rig.model.requests();
                assert_extensions(&requests);
                let last = requests.last().unwrap();
                let is_listed = listed(last).contains(&"Stamp");
                let (added, removed) = (notes(last, ADDED, "Stamp"), notes(last, REMOVED, "Stamp"));
                let knew = notes_in(&before);
                let at = format!("after {end} entries, present: {present}, resumes: {resumes}");
                match present {
                    true => assert_eq!((usize::from(is_listed) + added, removed), (1, 0), "{at}"),
                    false => assert_eq!((is_listed, added, removed), (false, knew, knew), "{at}"),
                }
                assert!(rig.agent.inbox().pending().is_empty(), "{at}");
                listings += usize::from(is_listed);
                announcements += added;
                removals += removed;
            }
        }
    }
    assert!(listings > 0 && announcements > 0 && removals > 0);
    println!(
        "beginnings of a log tried: {}: {listings} times listed, {announcements} announced, {removals} gone",
        whole.len()
    );
}

/// How often the conversation of a log announces the tool.
fn notes_in(entries: &[Entry]) -> usize {
    let view = SessionRecord::fold(entries.to_vec()).close().view;
    let blocks = view.messages().flat_map(|message| message.blocks());
    let is_note = |block: &&Block| matches!(block, Block::Text { text, meta: true } if text.starts_with(ADDED));
    blocks.filter(is_note).count()
}

/// A tool that stood in the list before a restart stands there after it, and is missed if it does not come back.
#[tokio::test(start_paused = true)]
async fn a_restart_keeps_the_list() {
    let rig = agent().answers([says("hello")]).build();
    assert_eq!(rig.add_tools([FakeTool::reading("Aim")]), []);
    rig.turn("go").await;
    let first = rig.model.requests();
    for present in [true, false] {
        let log = rig.timeline.entries();
        let again = agent().resumed(log).answers([says("a"), says("b"), says("c")]).build();
        let tools = if present { vec!["Aim", "Look"] } else { vec!["Look"] };
        assert_eq!(again.add_tools(tools.into_iter().map(FakeTool::reading)), []);
        again.turn("more").await;
        again.turn("more").await;
        let requests = again.model.requests();
        let last = requests.last().unwrap();
        assert_eq!(requests[0].tools.to_vec() == first[0].tools.to_vec(), present);
        assert_eq!(notes(last, ADDED, "Look"), 1);
        assert_eq!(notes(last, REMOVED, "Aim"), usize::from(!present));
        // One that comes after it was missed is announced like any other.
        if !present {
            assert_eq!(again.add_tools([FakeTool::reading("Aim")]), []);
            again.turn("more").await;
            let requests = again.model.requests();
            assert_eq!(notes(requests.last().unwrap(), ADDED, "Aim"), 1);
        }
    }
}

/// Readers see an item of the inbox that names what came and went.
#[tokio::test(start_paused = true)]
async fn readers_are_told_of_arrivals() {
    let rig = agent().answers([says("hello"), says("done")]).build();
    rig.turn("hello").await;
    assert_eq!(rig.add_tools([FakeTool::writing("Stamp")]), []);
    let events = rig.turn("go").await;
    let queued = events.iter().find_map(|event| match event {
        Event::Queued(item) => Some(item.clone()),
        _ => None,
    });
    let queued = queued.unwrap();
    assert_eq!(json!(queued.source), json!({"from": "tools", "added": ["Stamp"]}));
    let delivered =
        |event: &Event| matches!(event, Event::Delivered { ids } if *ids == [queued.id.clone()]);
    assert_eq!(events.iter().filter(|event| delivered(event)).count(), 1);
}
