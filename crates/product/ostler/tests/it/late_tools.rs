//! Tools of the calling program that arrive after the first request, over HTTP.

use crate::compaction::with_summaries;
use crate::reuse::is_summary;
use crate::stamp::Stamp;
use crate::support::{World, assert_extensions, finished, host, open, until, with, with_log};
use ostler::{
    Event, Input, Mode, Options, Session, SessionChoice, Terminal, Thinking, Tool, ToolKind,
    ToolRefusal, USE_TOOL, Verdict,
};
use ostler_model_server::{Recorded, Reply, Script, text};
use serde_json::{Value, json};
use std::sync::Arc;

fn options(world: &World) -> Options {
    with(world.on_disk(), |o| o.session.late_tools = true)
}

fn stamp(world: &World, name: &str) -> Vec<Arc<dyn Tool>> {
    vec![Arc::new(Stamp::named(name, world.project().canonicalize().unwrap()))]
}

/// A call of the tool through the fixed one.
fn stamps(tool: &str, document: &str) -> Reply {
    let input = json!({"name": tool, "input": {"document": document}});
    text("I stamp.").call(USE_TOOL, input)
}

async fn turn(session: &Session, prompt: &str) {
    let end = finished(session.ask(prompt).unwrap()).await;
    assert_eq!(end.terminal, Terminal::Completed, "{prompt}");
}

fn listed(request: &Recorded) -> Vec<String> {
    let tools = request.json()["tools"].as_array().cloned().unwrap_or_default();
    tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
}

/// Across arrivals, removals, changes of mode and thinking, calls, and a restart.
pub async fn requests_stay_byte_extensions_of_each_other() {
    let read = text("I look.").call("Glob", json!({"pattern": "*.md"}));
    let direct = text("Again.").call("Stamp", json!({"document": "b.md"}));
    let world = World::new(
        [
            text("Hello."),
            stamps("Stamp", "a.md"),
            text("Stamped."),
            read,
            direct,
            text("Stamped again."),
            stamps("Stamp", "c.md"),
            text("Gone."),
            stamps("Other", "d.md"),
            text("Other."),
            stamps("Other", "e.md"),
            text("After the restart."),
        ]
        .into_iter()
        .fold(Script::new(), Script::answer),
    );
    let session = open(options(&world));
    turn(&session, "hello").await;
    assert_eq!(session.add_tools(stamp(&world, "Stamp")), []);
    turn(&session, "stamp").await;
    session.send(Input::SetMode(Mode::AcceptEdits)).unwrap();
    session.send(Input::SetThinking(Thinking::Disabled)).unwrap();
    // One that arrives in the middle of a turn is announced in that turn.
    let mut again = session.ask("stamp again").unwrap();
    until(&mut again, |event| matches!(event, Event::CallFinished { .. })).await;
    assert_eq!(session.add_tools(stamp(&world, "Other")), []);
    until(&mut again, |event| matches!(event, Event::Finished(_))).await;
    drop(again);
    assert_eq!(session.remove_tools(&["Stamp".into()]), [] as [String; 0]);
    turn(&session, "once more").await;
    session.send(Input::SetMode(Mode::BypassPermissions)).unwrap();
    turn(&session, "with the other").await;
    session.close("other").await;
    drop(session);

    let session = open(with_log(options(&world), SessionChoice::Continue));
    assert_eq!(session.add_tools(stamp(&world, "Other")), []);
    turn(&session, "go on").await;
    let requests = world.server.requests();
    assert_eq!(requests.len(), 12);
    assert_extensions(&requests);
    let announced: Vec<usize> = ["<tools-added>", "<tools-removed>"]
        .map(|tag| world.told(11).matches(tag).count())
        .to_vec();
    assert_eq!(announced, [2, 1], "Stamp, Other; Stamp is gone");
    let made = |name: &str| world.project().join(name).exists();
    assert_eq!(["a.md", "b.md", "c.md", "d.md", "e.md"].map(made), [true, true, false, true, true]);
    world.assert_never_rejected();
    println!("requests compared: 12 in a row, each a byte extension of the one before");
}

pub async fn without_the_option_nothing_changes() {
    let world = World::new(Script::new().answer(text("Hello.")).answer(text("Yes.")));
    let session = open(world.options());
    turn(&session, "hello").await;
    let refused = session.add_tools(stamp(&world, "Stamp"));
    assert_eq!(refused[0].why, ToolRefusal::ListIsFixed);
    turn(&session, "again").await;
    let requests = world.server.requests();
    assert_eq!(listed(&requests[0]), listed(&requests[1]));
    assert!(!listed(&requests[0]).contains(&USE_TOOL.to_owned()));
    assert!(!session.tool_names().contains(&"Stamp".to_owned()));

    // The fixed tool is all that the option adds.
    let world = World::new(Script::new().answer(text("Hello.")));
    turn(&open(options(&world)), "hello").await;
    let with_it = listed(&world.server.requests()[0]);
    let others: Vec<String> = with_it.iter().filter(|name| *name != USE_TOOL).cloned().collect();
    assert_eq!(others.len() + 1, with_it.len());
    assert!(others.contains(&"Bash".to_owned()) && with_it.is_sorted());
}

pub async fn rules_refuse_calls_through_the_fixed_tool() {
    for (rule, refused, expected) in [
        ("Edit(./secret.md)", None, [true, false]),
        ("Stamp", Some(ToolRefusal::NotOffered), [false, false]),
        (USE_TOOL, Some(ToolRefusal::ListIsFixed), [false, false]),
    ] {
        let both = stamps("Stamp", "open.md")
            .call(USE_TOOL, json!({"name": "Stamp", "input": {"document": "secret.md"}}));
        let script = Script::new().answer(text("Hello.")).answer(both).answer(text("Done."));
        let world = World::new(script);
        let session = open(with(options(&world), |o| o.session.deny = vec![rule.into()]));
        turn(&session, "hello").await;
        let why: Vec<ToolRefusal> =
            session.add_tools(stamp(&world, "Stamp")).into_iter().map(|one| one.why).collect();
        assert_eq!(why, refused.into_iter().collect::<Vec<_>>(), "{rule}");
        turn(&session, "stamp").await;
        let made = ["open.md", "secret.md"].map(|name| world.project().join(name).exists());
        assert_eq!(made, expected, "{rule}");
        world.assert_never_rejected();
    }
}

/// Rules are read when the session is opened; the tool arrives later.
pub async fn an_allow_rule_can_name_a_tool_that_is_not_there_yet() {
    const NAME: &str = "mcp__office__stamp";
    for (allow, expected) in [
        (NAME, true),
        ("mcp__office", true),
        ("Edit(./**)", true),
        ("mcp__office__other", false),
        (USE_TOOL, false),
        // A pattern that nobody understands allows nothing.
        ("mcp__office__stamp(./b.md)", false),
    ] {
        let script =
            Script::new().answer(text("Hello.")).answer(stamps(NAME, "a.md")).answer(text("Done."));
        let world = World::new(script);
        let session = open(with(options(&world), |o| {
            o.session.mode = Mode::DontAsk;
            o.session.allow = vec![allow.into()];
        }));
        turn(&session, "hello").await;
        assert_eq!(session.add_tools(stamp(&world, NAME)), []);
        turn(&session, "stamp").await;
        assert_eq!(world.project().join("a.md").exists(), expected, "{allow}");
    }
}

pub async fn a_late_tool_is_known_and_explained() {
    let world = World::new(Script::new().answer(text("Hello.")));
    let session = open(with(options(&world), |o| o.session.mode = Mode::AcceptEdits));
    let input = json!({"document": "a.md"});
    let through = json!({"name": "Stamp", "input": input});
    let verdict = |tool: &str, input: &Value| {
        session.judge_call(tool, input).map(|decision| decision.verdict)
    };
    turn(&session, "hello").await;
    assert_eq!(verdict("Stamp", &input), None);
    assert_eq!(session.add_tools(stamp(&world, "Stamp")), []);
    assert_eq!(session.known_tools().kind("Stamp"), ToolKind::Edits);
    assert!(session.tool_names().contains(&"Stamp".to_owned()));
    assert_eq!(verdict("Stamp", &input), Some(Verdict::Allow));
    assert_eq!(verdict(USE_TOOL, &through), Some(Verdict::Allow));
    assert_eq!(verdict(USE_TOOL, &json!({})), None);
    session.send(Input::SetMode(Mode::Plan)).unwrap();
    assert_eq!(verdict(USE_TOOL, &through), Some(Verdict::Deny));
    // What the conversation names stays known.
    assert_eq!(session.remove_tools(&["Stamp".into()]), [] as [String; 0]);
    assert_eq!(verdict("Stamp", &input), None);
    assert_eq!(session.known_tools().kind("Stamp"), ToolKind::Edits);

    let explained = async |deny: &[&str]| {
        let options = with(options(&world), |o| {
            o.session.more_tools = stamp(&world, "Stamp");
            o.session.mode = Mode::AcceptEdits;
            o.session.deny = deny.iter().map(|rule| (*rule).to_owned()).collect();
        });
        let judged = ostler::explain(&host(&options), options.session, USE_TOOL, &through).await;
        let (judged, _) = judged.unwrap();
        (judged.tool, judged.decision.verdict)
    };
    for (deny, expected) in [
        (&[][..], Verdict::Allow),
        (&["Stamp(./a.md)"], Verdict::Deny),
        (&[USE_TOOL], Verdict::Deny),
    ] {
        assert_eq!(explained(deny).await, ("Stamp".to_owned(), expected), "{deny:?}");
    }
}

pub async fn the_log_and_the_events_name_the_tool_that_ran() {
    let script =
        Script::new().answer(text("Hello.")).answer(stamps("Stamp", "a.md")).answer(text("Done."));
    let world = World::new(script);
    let session = open(options(&world));
    turn(&session, "hello").await;
    assert_eq!(session.add_tools(stamp(&world, "Stamp")), []);
    let mut events = Vec::new();
    let mut driver = session.ask("stamp").unwrap();
    until(&mut driver, |event| {
        events.push(json!(event));
        matches!(event, Event::Finished(_))
    })
    .await;
    let told = Value::from(events).to_string();
    assert!(told.contains(r#""name":"Stamp""#) && !told.contains(r#""name":"UseTool""#), "{told}");
    let log = world.log();
    let answer = log.iter().filter(|fact| fact["fact"] == "answer").nth(1).unwrap();
    let call = answer["message"]["content"].as_array().unwrap().last().unwrap();
    assert_eq!((&call["name"], &call["via"]), (&json!("Stamp"), &json!(USE_TOOL)), "{call}");
    assert_eq!(call["input"], json!({"document": "a.md"}));
    // The model gets its own words back.
    let requests = world.server.requests();
    let said = &requests.last().unwrap().messages()[3]["content"][1];
    assert_eq!((&said["name"], &said["input"]["name"]), (&json!(USE_TOOL), &json!("Stamp")));
}

pub async fn after_a_summary_it_is_in_the_list() {
    let direct = text("By name.").call("Stamp", json!({"document": "b.md"}));
    let first = [text("Hello. ".repeat(300)), stamps("Stamp", "a.md"), text("Done.")];
    let then = (0..9).map(|_| text("Gladly.")).chain([direct, text("Done again.")]);
    let world = World::new(with_summaries(first.into_iter().chain(then)));
    let session = open(options(&world));
    turn(&session, "hello").await;
    assert_eq!(session.add_tools(stamp(&world, "Stamp")), []);
    turn(&session, "stamp").await;
    // What is newest is kept word for word.
    for _ in 0..9 {
        turn(&session, "thank you").await;
    }
    let mut compacting = session.compact(None).unwrap();
    until(&mut compacting, |event| matches!(event, Event::Compacted { .. })).await;
    drop(compacting);
    turn(&session, "stamp by name").await;
    let requests = world.server.requests();
    let (summary, after) = {
        let at = requests.iter().position(|request| is_summary(request)).unwrap();
        (&requests[at], &requests[at + 1..])
    };
    assert!(!listed(summary).contains(&"Stamp".to_owned()), "the summary is read from the cache");
    assert!(after.iter().all(|request| listed(request).contains(&"Stamp".to_owned())));
    assert_extensions(&after[..2]);
    assert!(!world.told(requests.len() - 1).contains("<tools-added>"), "the list says it");
    assert!(world.project().join("b.md").exists());
    world.assert_never_rejected();
}
