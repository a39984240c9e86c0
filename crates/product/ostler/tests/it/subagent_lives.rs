//! Agents after their first answer: resumed, stopped, counted and undone.

use crate::subagents::{agent, all, end, plays, results};
use crate::support::{PATIENCE, World, host, open, with};
use futures_util::StreamExt;
use ostler::{
    AgentDefinition, AgentInput, AgentIsolation, AgentPath, AgentState, CostQuery, Event, Input,
    Message, Options, PriceBook, Session, Terminal, Thinking, UndoChoice,
};
use ostler_model_server::{Reply, Script, UsageNumbers, text};
use serde_json::json;
use std::time::Duration;

fn resume(answer: Reply, name: &str, prompt: &str) -> Reply {
    answer.call("Agent", json!({ "description": "on", "prompt": prompt, "resume": name }))
}

fn write(file: &str) -> Reply {
    text("I write.").call("Write", json!({ "file_path": file, "content": "x" }))
}

/// So many dollars for each request: its answer has 100 tokens.
fn priced(options: Options, dollars: u32, budget: Option<f64>) -> Options {
    with(options, |o| {
        let prices = format!("[scripted]\ninput = 0\noutput = {}\n", dollars * 10_000);
        o.host.prices = PriceBook::parse(&prices).unwrap();
        o.session.max_budget_usd = budget;
        o.session.settings.output_limit = Some(100);
        o.session.settings.thinking = Thinking::Disabled;
    })
}

fn paid(reply: Reply) -> Reply {
    reply.usage(UsageNumbers { output_tokens: Some(100), ..UsageNumbers::default() })
}

fn path(name: &str) -> AgentPath {
    AgentPath::default().child(name)
}

fn on_disk(world: &World) -> (ostler::Host, Session) {
    let options = world.on_disk();
    let host = host(&options);
    let session = host.session(options.session).unwrap();
    (host, session)
}

/// It still knows what it did, under the same name and in the same log.
pub async fn a_resumed_agent_goes_on() {
    let world = World::new(plays([
        (
            "go",
            vec![
                agent(text("I ask."), "explorer", "task-a"),
                resume(text("And?"), "explorer-1", "what else?"),
                resume(text("Who?"), "explorer-7", "hello"),
                text("done"),
            ],
        ),
        ("task-a", vec![text("first"), text("second")]),
    ]));
    let (_host, session) = on_disk(&world);
    let seen = all(session.ask("go").unwrap()).await;
    let results = results(&seen);
    assert_eq!(results[..2], [(false, "first".to_owned()), (false, "second".to_owned())]);
    assert!(results[2].0 && results[2].1.contains("explorer-7"), "{results:?}");
    let requests = world.server.requests();
    let again = requests[3].messages();
    assert_eq!(again.len(), 3, "what it was asked, what it said, what it is asked now");
    assert!(again[2].to_string().contains("what else?"));
    let agents = session.agents();
    assert_eq!(agents.len(), 1);
    assert_eq!((&agents[0].path, &agents[0].state), (&path("explorer-1"), &AgentState::Finished));
    world.assert_never_rejected();
}

/// What the first of them is denied, the third is denied, before and after it was resumed.
pub async fn what_is_denied_above_is_denied_after_a_resume() {
    let tries = vec![write("secret.md"), text("tried"), write("secret.md"), text("tried again")];
    let world = World::new(plays([
        (
            "go",
            vec![
                agent(text("Below."), "general", "task-child"),
                resume(text("Again."), "general-1", "once more"),
                text("done"),
            ],
        ),
        (
            "task-child",
            vec![
                agent(text("Below."), "general", "task-grandchild"),
                text("one"),
                resume(text("Again."), "general-1", "once more"),
                text("two"),
            ],
        ),
        ("task-grandchild", tries),
    ]));
    let options = with(world.on_disk(), |o| o.session.deny = vec!["Edit(./secret.md)".into()]);
    let host = host(&options);
    let session = host.session(options.session).unwrap();
    let seen = all(session.ask("go").unwrap()).await;
    assert_eq!(end(&seen).terminal, Terminal::Completed);
    let denied = seen.iter().filter(|envelope| {
        envelope.agent.names().len() == 2
            && matches!(&envelope.event, Event::CallFinished { outcome, .. } if outcome.is_denied())
    });
    assert_eq!(denied.count(), 2);
    assert!(!world.project().join("secret.md").exists());
    world.assert_never_rejected();
}

/// The turn's totals and the ledger have what agents spent, at any depth.
pub async fn what_agents_spend_is_in_the_totals() {
    let below = |task: &str| vec![paid(agent(text("Below."), "general", task)), paid(text("ok"))];
    let world = World::new(plays([
        ("go", below("task-1")),
        ("task-1", below("task-2")),
        ("task-2", vec![paid(text("deep"))]),
    ]));
    let options = priced(world.on_disk(), 1, None);
    let host = host(&options);
    let session = host.session(options.session).unwrap();
    let end = end(&all(session.ask("go").unwrap()).await);
    assert_eq!(world.server.requests().len(), 5);
    assert_eq!(end.usage.output, 500);
    assert!((end.cost.unwrap() - 5.0).abs() < 1e-9, "{:?}", end.cost);
    assert_eq!(end.per_model.iter().map(|model| model.usage.output).sum::<u64>(), 500);
    session.close("other").await;
    host.close().await;
    let query = CostQuery {
        home: world.root().join("home"),
        cwd: world.project().canonicalize().unwrap(),
        by: ostler::CostBy::Agent,
        since_ms: 0,
        session: Some(session.id().to_string()),
        budgets: ostler::Budgets::default(),
    };
    let report = ostler::costs(&query).unwrap().report;
    assert_eq!(report.total.requests, 5);
    let lines: Vec<String> = report.lines.iter().map(|line| format!("{line:?}")).collect();
    assert!(lines.iter().any(|line| line.contains("general-1/general-1")), "{lines:?}");
    // From the logs alone it is the same.
    std::fs::remove_file(world.root().join("home/ledger.db")).unwrap();
    ostler::rebuild_ledger(&query.home).unwrap();
    assert_eq!(ostler::costs(&query).unwrap().report.total.requests, 5);
}

/// One step back takes back everything that the agents of the last call changed, and nothing of another session.
pub async fn an_undo_covers_agents() {
    let bash = |command: &str| text("I run.").call("Bash", json!({ "command": command }));
    let below = vec![agent(text("Below."), "general", "task-b"), write("by-a"), text("a")];
    let world = World::new(plays([
        ("go", vec![write("own"), agent(text("I ask."), "general", "task-a"), text("done")]),
        ("task-a", below),
        ("task-b", vec![bash("touch by-b"), text("b")]),
        ("other", vec![write("of-another"), text("done")]),
    ]));
    let options = world.on_disk();
    let host = host(&options);
    let session = host.session(options.session.clone()).unwrap();
    let other = host.session(options.session).unwrap();
    assert_eq!(end(&all(session.ask("go").unwrap()).await).terminal, Terminal::Completed);
    assert_eq!(end(&all(other.ask("other").unwrap()).await).terminal, Terminal::Completed);
    let there = |name: &str| world.project().join(name).exists();
    assert!(["own", "by-a", "by-b", "of-another"].into_iter().all(there));
    let choice = UndoChoice {
        home: world.root().join("home"),
        cwd: world.project().canonicalize().unwrap(),
        session: Some(session.id().to_string()),
        dry_run: false,
        keep: Vec::new(),
        memory: false,
    };
    let mut listed = Vec::new();
    let undone = ostler::undo(&choice, 1, &mut |plan| {
        listed = plan.calls.iter().map(|call| call.agent.as_ref().unwrap().name.clone()).collect();
        true
    });
    assert!(undone.unwrap().done);
    assert_eq!(listed, ["general-1", "general-1/general-1"], "newest first");
    assert_eq!(["own", "by-a", "by-b", "of-another"].map(there), [true, false, false, true]);
    ostler::redo(&choice, &mut |_| true).unwrap();
    assert_eq!(["own", "by-a", "by-b", "of-another"].map(there), [true; 4]);
    ostler::undo(&choice, 2, &mut |_| true).unwrap();
    assert_eq!(["own", "by-a", "by-b", "of-another"].map(there), [false, false, false, true]);
}

/// Nothing of an agent comes before the call that started it.
pub async fn an_agent_begins_after_its_call() {
    let start = (0..8).fold(text("I ask."), |answer, _| agent(answer, "explorer", "task-a"));
    let world = World::new(plays([("go", vec![start, text("done")]), ("task-a", vec![text("a")])]));
    let seen = all(world.session().ask("go").unwrap()).await;
    let mut begun = Vec::new();
    for envelope in &seen {
        match (&envelope.event, &envelope.parent) {
            (Event::CallStarted { id, .. }, None) => begun.push(id.clone()),
            (_, Some(call)) => assert!(begun.contains(call), "{envelope:?}"),
            _ => {}
        }
    }
    assert_eq!(begun.len(), 8);
}

/// Stopped, interrupted or out of time: an error with the reason, and the one above goes on.
pub async fn an_agent_that_hangs_can_be_ended() {
    for (input, reason) in [
        (Some(AgentInput::Stop), "it was stopped"),
        (Some(AgentInput::Interrupt), "interrupted"),
        (None, "it did not finish within 1 s"),
    ] {
        let world = World::new(plays([
            ("go", vec![agent(text("I ask."), "general", "task-a"), text("done")]),
            ("task-a", vec![text("never ").gate("hold").say("read")]),
        ]));
        let session = open(with(world.options(), |o| {
            if input.is_none() {
                o.session.max_agent_time = Duration::from_secs(1);
            }
        }));
        let reading = tokio::spawn(all(session.ask("go").unwrap()));
        world.server.gate("hold").reached().await.unwrap();
        let name = path("general-1");
        assert_eq!(session.agents()[0].state, AgentState::Running);
        if let Some(input) = input {
            session.send(Input::Agent { agent: name.clone(), input }).unwrap();
        }
        let state = session.wait_for_agent(&name, PATIENCE).await.unwrap();
        assert!(matches!(state, Some(AgentState::Failed { .. })), "{state:?}");
        let seen = reading.await.unwrap();
        let results = results(&seen);
        assert!(results[0].0 && results[0].1.contains(reason), "{reason}: {results:?}");
        assert_eq!(end(&seen).terminal, Terminal::Completed);
        let gone = session.send(Input::Agent { agent: name, input: AgentInput::Stop });
        assert_eq!(gone.unwrap_err().to_string(), "there is no running agent \"general-1\"");
    }
}

/// A message reaches a running agent before its next request.
pub async fn a_message_reaches_a_running_agent() {
    let look = text("I look.").call("Glob", json!({ "pattern": "*" }));
    let world = World::new(plays([
        ("go", vec![agent(text("I ask."), "general", "task-a"), text("done")]),
        ("task-a", vec![look.due_at("told"), text("a")]),
    ]));
    let session = world.session();
    let reading = tokio::spawn(all(session.ask("go").unwrap()));
    world.server.wait_for_requests(2, PATIENCE).await.unwrap();
    let input = AgentInput::Message(Message::user("only the tests"));
    session.send(Input::Agent { agent: path("general-1"), input }).unwrap();
    world.server.gate("told").open();
    assert_eq!(end(&reading.await.unwrap()).terminal, Terminal::Completed);
    let told = world.server.requests().iter().any(|request| {
        let messages = request.messages();
        messages[0].to_string().contains("task-a")
            && messages.iter().any(|message| message.to_string().contains("only the tests"))
    });
    assert!(told, "it was told");
    world.assert_never_rejected();
}

/// Whoever only starts more agents is held by the number, the depth and the money (fault G12).
pub async fn a_planner_that_always_starts_more_ends() {
    let more = |_: &_| paid((0..3).fold(text("More."), |it, _| agent(it, "general", "more")));
    let world = World::new(Script::new().by(more).forever());
    let session = open(priced(world.options(), 1, Some(20.5)));
    let seen = all(session.ask("go").unwrap()).await;
    assert_eq!(end(&seen).terminal, Terminal::MaxBudget);
    let sent = world.server.requests().len();
    assert!((1..=21).contains(&sent), "{sent} requests of $1 with $20.50");
    assert!(seen.iter().all(|envelope| envelope.agent.names().len() <= 3));
    assert!(session.state().0.agents.is_empty());
}

/// Money for ten, and a thousand who want some: at most one request more than there is money for.
pub async fn a_thousand_agents_share_a_small_purse() {
    let start = (0..1000).fold(text("All."), |answer, _| agent(answer, "explorer", "task-a"));
    let world = World::new(plays([("go", vec![paid(start)]), ("task-a", vec![paid(text("a"))])]));
    let session = open(with(priced(world.options(), 1, Some(11.5)), |o| {
        o.session.max_agents = 1000;
        o.session.settings.max_parallel_calls = 1000;
    }));
    let mut turn = session.ask("go").unwrap();
    let (mut done, mut failed, mut terminal) = (0, 0, None);
    while let Some(envelope) = turn.next().await {
        if !envelope.agent.is_root() {
            continue;
        }
        match &envelope.event {
            Event::CallFinished { result, .. } => {
                match serde_json::to_value(result).unwrap()["is_error"] == true {
                    true => failed += 1,
                    false => done += 1,
                }
            }
            Event::Finished(finished) => terminal = Some(finished.terminal),
            _ => {}
        }
    }
    let sent = world.server.requests().len();
    println!("1 000 agents with money for ten: {sent} requests, {done} answers");
    assert_eq!((done + failed, terminal), (1000, Some(Terminal::MaxBudget)));
    assert!((11..=12).contains(&sent), "{sent}");
}

/// What nobody can pay for is not resumed.
pub async fn a_resumed_agent_is_priced_first() {
    let again = json!({
        "description": "on", "prompt": "what else?", "resume": "general-1", "model": "costly",
    });
    let world = World::new(plays([
        (
            "go",
            vec![
                agent(text("I ask."), "general", "task-a"),
                text("And?").call("Agent", again),
                text("done"),
            ],
        ),
        ("task-a", vec![text("first")]),
    ]));
    let prices = "[scripted]\ninput = 0\noutput = 0\n[costly]\ninput = 1000\noutput = 1000\n";
    let options = with(world.on_disk(), |o| {
        o.host.prices = PriceBook::parse(prices).unwrap();
        o.session.max_budget_usd = Some(0.01);
    });
    let host = host(&options);
    let session = host.session(options.session).unwrap();
    let seen = all(session.ask("go").unwrap()).await;
    let results = results(&seen);
    assert!(results[1].0 && results[1].1.contains("would cost about"), "{results:?}");
    let refused = seen.iter().any(|envelope| {
        matches!(&envelope.event, Event::CallFinished { detail: Some(detail), .. }
            if *detail == json!({ "refused": "cannot_pay" }))
    });
    assert!(refused);
    assert_eq!(world.server.requests().len(), 4, "nothing was sent for it");
    assert_eq!(end(&seen).terminal, Terminal::Completed);
}

/// Kinds that the program defines: their tools and their mode are taken from what the starter has.
pub async fn a_defined_agent_has_what_its_definition_leaves() {
    let world = World::new(plays([
        (
            "go",
            vec![
                agent(text("I ask."), "reviewer", "task-a"),
                agent(text("I ask."), "apart", "task-b"),
                text("done"),
            ],
        ),
        (
            "task-a",
            vec![text("I try.").call("Bash", json!({ "command": "touch made" })), text("a")],
        ),
    ]));
    let reviewer = AgentDefinition {
        name: "reviewer".into(),
        description: "Reviews changes".into(),
        prompt: "You review with care.".into(),
        disallowed_tools: vec!["Edit".into()],
        mode: Some(ostler::Mode::Plan),
        ..AgentDefinition::default()
    };
    let isolation = AgentIsolation::Worktree;
    let apart = AgentDefinition { name: "apart".into(), isolation, ..reviewer.clone() };
    let session = open(with(world.options(), |o| o.session.agents = vec![reviewer, apart]));
    let seen = all(session.ask("go").unwrap()).await;
    let results = results(&seen);
    assert_eq!(results[0], (false, "a".to_owned()));
    assert!(results[1].0 && results[1].1.contains("need a state directory"), "{results:?}");
    assert!(!world.project().join("made").exists(), "its mode is plan");
    let requests = world.server.requests();
    let listed = requests[0].json()["tools"].to_string();
    assert!(listed.contains("- reviewer: Reviews changes"), "{listed}");
    let child = requests[1].json();
    assert!(child["system"].to_string().contains("You review with care."));
    let tools = child["tools"].to_string();
    assert!(tools.contains("\"Bash\"") && !tools.contains("\"Edit\""), "{tools}");
    assert!(seen.iter().any(|envelope| envelope.agent == path("reviewer-1")));
}
