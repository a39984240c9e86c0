//! Agents that an agent starts: they run side by side, only their last text comes back, and they end with their call.

use crate::support::{PATIENCE, World, becomes, host, interrupt, open, until, with};
use futures_util::StreamExt;
use ostler::{
    AgentPath, BoxFuture, Driver, Envelope, Event, EventName, Finished, Hook, HookEvent,
    HookOutcome, PriceBook, Terminal, Thinking,
};
use ostler_model_server::{Recorded, Reply, Script, ServedOutcome, UsageNumbers, status, text};
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// What each agent answers, by a word of its prompt: its first answer, its second, and so on.
pub fn plays<const N: usize>(parts: [(&'static str, Vec<Reply>); N]) -> Script {
    Script::new().by(move |request| reply(&parts, request)).forever()
}

fn reply(parts: &[(&'static str, Vec<Reply>)], request: &Recorded) -> Reply {
    let is_answer = |message: &&Value| message["role"] == "assistant";
    let nth = request.messages().iter().filter(is_answer).count();
    let part = parts.iter().find(|(word, _)| is_to(request, word));
    let (word, replies) =
        part.unwrap_or_else(|| panic!("nobody expects {}", request.messages()[0]));
    replies.get(nth).cloned().unwrap_or_else(|| panic!("{word} has no answer {nth}"))
}

/// Whether the first message of a request has this word, as a whole: it also names directories, and the random name of one may
/// contain a short word.
pub fn is_to(request: &Recorded, word: &str) -> bool {
    let content = &request.messages()[0]["content"];
    let text = match content.as_array() {
        Some(parts) => {
            parts.iter().filter_map(|part| part["text"].as_str()).collect::<Vec<_>>().join("\n")
        }
        None => content.as_str().unwrap_or_default().to_owned(),
    };
    let is_edge = |next: Option<char>| next.is_none_or(|next| !next.is_alphanumeric());
    text.match_indices(word).any(|(at, _)| {
        is_edge(text[..at].chars().next_back()) && is_edge(text[at + word.len()..].chars().next())
    })
}

pub fn agent(answer: Reply, kind: &str, prompt: &str) -> Reply {
    let input = json!({ "description": "look", "prompt": prompt, "subagent_type": kind });
    answer.call("Agent", input)
}

/// Everything up to the end of the session's own turn.
pub async fn all(mut turn: Driver) -> Vec<Arc<Envelope>> {
    let mut seen = Vec::new();
    while let Some(envelope) = turn.next().await {
        seen.push(envelope);
    }
    seen
}

/// The results of the root's calls, in the order in which they ended: whether each is an error, and its text.
pub fn results(seen: &[Arc<Envelope>]) -> Vec<(bool, String)> {
    let own = seen.iter().filter(|envelope| envelope.agent.is_root());
    let result = |envelope: &Arc<Envelope>| match &envelope.event {
        Event::CallFinished { result, .. } => {
            let value = serde_json::to_value(result).unwrap();
            let text = value["content"][0]["text"].as_str().unwrap().to_owned();
            Some((value["is_error"] == true, text))
        }
        _ => None,
    };
    own.filter_map(result).collect()
}

pub fn end(seen: &[Arc<Envelope>]) -> Finished {
    let own = seen.iter().rev().filter(|envelope| envelope.agent.is_root());
    let mut ends = own.filter_map(|envelope| match &envelope.event {
        Event::Finished(finished) => Some((**finished).clone()),
        _ => None,
    });
    ends.next().expect("the turn came to its end")
}

/// No reply of an explorer goes on before all three have begun: one after the other they would never end.
pub async fn three_explorers_work_at_the_same_time() {
    let start = ["task-a", "task-b", "task-c"]
        .into_iter()
        .fold(text("I ask three."), |answer, task| agent(answer, "explorer", task));
    let late = |said: &str, ms: u64| {
        vec![text(said).due_at("all have begun").delay(Duration::from_millis(ms))]
    };
    let world = World::new(plays([
        ("go", vec![start, text("done")]),
        ("task-a", late("found a", 300)),
        ("task-b", late("found b", 600)),
        ("task-c", late("found c", 900)),
    ]));
    let session = world.session();
    let turn = session.ask("go").unwrap();
    let reading = tokio::spawn(all(turn));
    world.server.wait_for_requests(4, PATIENCE).await.unwrap();
    let began = Instant::now();
    world.server.gate("all have begun").open();
    let seen = reading.await.unwrap();
    println!("explorers of 0.3, 0.6 and 0.9 s together: {:.2?}", began.elapsed());
    assert_eq!(end(&seen).terminal, Terminal::Completed);
    let place = |fits: &dyn Fn(&Envelope) -> bool| {
        let found = seen.iter().enumerate().filter(|(_, envelope)| fits(envelope));
        found.map(|(at, _)| at).collect::<Vec<_>>()
    };
    let of_agents = |event: fn(&Event) -> bool| {
        place(&|envelope| !envelope.agent.is_root() && event(&envelope.event))
    };
    let starts = of_agents(|event| matches!(event, Event::TurnStarted { .. }));
    let ends = of_agents(|event| matches!(event, Event::Finished(_)));
    assert_eq!((starts.len(), ends.len()), (3, 3));
    assert!(starts.iter().max() < ends.iter().min(), "{starts:?} {ends:?}");
    // Only the last text comes back, in the order of the calls.
    let requests = world.server.requests();
    let told = requests.last().unwrap().tool_results();
    let texts: Vec<String> = told.iter().map(|result| result["content"].to_string()).collect();
    assert_eq!(texts.len(), 3);
    for (text, found) in texts.iter().zip(["found a", "found b", "found c"]) {
        assert!(text.contains(found), "{texts:?}");
    }
    assert!(session.state().0.agents.is_empty(), "they are closed");
    world.assert_never_rejected();
}

/// Its envelopes name it and the call that started it; the numbers of the stream have no gap.
pub async fn events_appear_under_the_path() {
    let world = World::new(plays([
        ("go", vec![agent(text("I ask."), "general", "task-a"), text("done")]),
        ("task-a", vec![agent(text("I ask, too."), "Explore", "task-b"), text("a is done")]),
        ("task-b", vec![text("b").call("Glob", json!({ "pattern": "*" })), text("b is done")]),
    ]));
    let session = world.session();
    let seen = all(session.ask("go").unwrap()).await;
    assert!(seen.windows(2).all(|two| two[0].seq + 1 == two[1].seq), "a gap");
    let calls = |path: &AgentPath| {
        let own = seen.iter().filter(|envelope| envelope.agent == *path);
        let call = |envelope: &Arc<Envelope>| match &envelope.event {
            Event::CallStarted { id, name, .. } => Some((id.clone(), name.clone())),
            _ => None,
        };
        own.filter_map(call).collect::<Vec<_>>()
    };
    let root = AgentPath::default();
    let (a, b) = (root.child("general-1"), root.child("general-1").child("explorer-1"));
    let paths: std::collections::HashSet<&AgentPath> =
        seen.iter().map(|envelope| &envelope.agent).collect();
    assert_eq!(paths, [&root, &a, &b].into());
    assert_eq!(calls(&b)[0].1, "Glob");
    for (path, parent) in [(&a, &calls(&root)[0].0), (&b, &calls(&a)[0].0)] {
        let own = seen.iter().filter(|envelope| envelope.agent == *path);
        assert!(own.into_iter().all(|envelope| envelope.parent.as_ref() == Some(parent)), "{path}");
    }
    let is_delta = |envelope: &&Arc<Envelope>| {
        let delta = matches!(envelope.event, Event::TextDelta { .. });
        delta && !envelope.agent.is_root()
    };
    assert_eq!(seen.iter().filter(is_delta).count(), 0, "deltas are for those who ask");
    let requests = world.server.requests();
    let header = |nth: usize| requests[nth].header("x-claude-code-agent-id").map(str::to_owned);
    assert_eq!(header(0), None);
    assert!(header(1).is_some() && header(2).is_some() && header(1) != header(2));
    let tools = |nth: usize| requests[nth].json()["tools"].as_array().unwrap().len();
    assert!(tools(1) > tools(2), "an explorer has only tools that read");
    assert!(!requests[2].json()["tools"].to_string().contains("\"Edit\""));
    world.assert_never_rejected();
}

pub async fn deltas_come_on_request() {
    let world = World::new(plays([
        ("go", vec![agent(text("I ask."), "general", "task-a"), text("done")]),
        ("task-a", vec![text("a is done")]),
    ]));
    let session = open(with(world.options(), |o| o.session.agent_deltas = true));
    let seen = all(session.ask("go").unwrap()).await;
    let text: String = seen
        .iter()
        .filter(|envelope| !envelope.agent.is_root())
        .filter_map(|envelope| match &envelope.event {
            Event::TextDelta { text } => Some(text.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(text, "a is done");
}

/// An error with its reason each time, and the parent goes on.
pub async fn an_agent_that_fails_is_an_error() {
    let look = |said: &str| text(said).call("Glob", json!({ "pattern": "*" }));
    let start = ["task-error", "task-turns", "task-empty"]
        .into_iter()
        .fold(text("I ask."), |answer, task| agent(answer, "general", task));
    let refused = status(400).error("invalid_request_error", "no such thing");
    let turns = vec![look("1"), look("2"), look("3"), look("4")];
    let world = World::new(plays([
        ("go", vec![start, text("done")]),
        ("task-error", vec![refused]),
        ("task-turns", turns),
        ("task-empty", vec![text("")]),
    ]));
    let session = open(with(world.options(), |o| o.session.max_turns = Some(2)));
    let seen = all(session.ask("go").unwrap()).await;
    let results = results(&seen);
    assert_eq!(results.len(), 3);
    assert!(results.iter().all(|(is_error, _)| *is_error), "{results:?}");
    for words in ["no such thing", "turn limit", "empty"] {
        assert!(results.iter().any(|(_, text)| text.contains(words)), "{words}: {results:?}");
    }
    assert_eq!(end(&seen).terminal, Terminal::Completed);
}

/// Money comes from the parent's purse: where it is empty, the agent sends nothing.
pub async fn an_empty_purse_is_an_error() {
    let usage = UsageNumbers { output_tokens: Some(1000), ..UsageNumbers::default() };
    let start = agent(text("I ask."), "general", "task-a").usage(usage);
    let world = World::new(plays([("go", vec![start]), ("task-a", vec![])]));
    let session = open(with(world.options(), |o| {
        o.host.prices = PriceBook::parse("[scripted]\ninput = 0\noutput = 1000\n").unwrap();
        o.session.max_budget_usd = Some(1.0);
        o.session.settings.output_limit = Some(1000);
        o.session.settings.thinking = Thinking::Disabled;
    }));
    let seen = all(session.ask("go").unwrap()).await;
    let results = results(&seen);
    assert!(results[0].0 && results[0].1.contains("budget"), "{results:?}");
    assert_eq!(world.server.requests().len(), 1);
    assert_eq!(end(&seen).terminal, Terminal::MaxBudget);
}

/// Eight at once, however deep; the ninth is refused and the others go on (fault G12).
pub async fn the_ninth_at_once_is_refused() {
    let start = (0..9).fold(text("I ask nine."), |answer, _| agent(answer, "general", "task-a"));
    let world = World::new(plays([
        ("go", vec![start, agent(text("Again."), "general", "task-a"), text("done")]),
        ("task-a", vec![text("a").due_at("eight")]),
    ]));
    let session = world.session();
    let reading = tokio::spawn(all(session.ask("go").unwrap()));
    world.server.wait_for_requests(9, PATIENCE).await.unwrap();
    world.server.gate("eight").open();
    let seen = reading.await.unwrap();
    let results = results(&seen);
    let (refused, done): (Vec<_>, Vec<_>) = results.iter().partition(|(is_error, _)| *is_error);
    assert_eq!((refused.len(), done.len()), (1, 9), "a finished agent frees its slot");
    assert!(refused[0].1.contains("8 agents are already running"), "{refused:?}");
    let detail = seen.iter().find_map(|envelope| match &envelope.event {
        Event::CallFinished { detail: Some(detail), .. } => detail.get("refused").cloned(),
        _ => None,
    });
    assert_eq!(detail, Some("too_many_agents".into()));
    world.assert_never_rejected();
}

pub async fn the_fourth_level_is_refused() {
    let below = |task: &str| vec![agent(text("Below."), "general", task), text("passed on")];
    let world = World::new(plays([
        ("go", below("task-1")),
        ("task-1", below("task-2")),
        ("task-2", below("task-3")),
        ("task-3", below("task-4")),
    ]));
    let session = world.session();
    let seen = all(session.ask("go").unwrap()).await;
    assert_eq!(end(&seen).terminal, Terminal::Completed);
    let deepest = seen.iter().filter(|envelope| envelope.agent.names().len() == 3);
    let refused = deepest.into_iter().find_map(|envelope| match &envelope.event {
        Event::CallFinished { result, detail, .. } => Some((format!("{result:?}"), detail.clone())),
        _ => None,
    });
    let (text, detail) = refused.unwrap();
    assert!(text.contains("3 levels deep"), "{text}");
    assert_eq!(detail, Some(json!({ "refused": "too_deep" })));
    assert_eq!(world.server.requests().len(), 8, "nobody is at the fourth");
}

/// Dropped or interrupted: the request of an agent, at any depth, is closed.
pub async fn an_agent_ends_with_its_call() {
    for dropped in [true, false] {
        let world = World::new(plays([
            ("go", vec![agent(text("I ask."), "general", "task-a"), text("done")]),
            ("task-a", vec![agent(text("I ask."), "general", "task-b")]),
            ("task-b", vec![text("never ").gate("hold").say("read")]),
        ]));
        let session = world.session();
        let mut turn = session.ask("go").unwrap();
        let reading = async {
            until(&mut turn, |_| false).await;
        };
        tokio::select! {
            reached = async { world.server.gate("hold").reached().await } => reached.unwrap(),
            () = reading => unreachable!(),
        }
        if dropped {
            drop(turn);
        } else {
            interrupt(&session);
            let seen = all(turn).await;
            assert_eq!(end(&seen).terminal, Terminal::AbortedTools);
        }
        assert_eq!(world.server.outcome(2, PATIENCE).await.unwrap(), ServedOutcome::ClientGone);
        becomes("no agent is left", || session.state().0.agents.is_empty()).await;
    }
}

/// Its log says who started it, and is nothing that a person would continue.
pub async fn its_log_is_linked_to_the_call() {
    let world = World::new(plays([
        ("go", vec![agent(text("I ask."), "explorer", "task-a"), text("done")]),
        ("task-a", vec![text("a")]),
    ]));
    let options = world.on_disk();
    let host = host(&options);
    let session = host.session(options.session.clone()).unwrap();
    assert_eq!(finished_root(session.ask("go").unwrap()).await.text, "done");
    let logs =
        world.files().into_iter().filter(|(path, _)| path.extension() == Some("log".as_ref()));
    let first = |log: Vec<u8>| {
        let text = String::from_utf8(log).unwrap();
        let line = text.lines().next().unwrap().to_owned();
        serde_json::from_str::<Value>(&line[line.find('{').unwrap()..]).unwrap()
    };
    let opened: Vec<Value> = logs.map(|(_, log)| first(log)).collect();
    assert_eq!(opened.len(), 2);
    let child = opened.iter().find(|opened| opened.get("started_by").is_some()).unwrap();
    assert_eq!(child["format"], 2);
    assert_eq!(child["started_by"]["session"], session.id().as_str());
    assert_eq!(child["started_by"]["agent"], json!(["explorer-1"]));
    assert!(child["started_by"]["call"].as_str().is_some_and(|call| !call.is_empty()));
    let cwd = world.project().canonicalize().unwrap();
    let home = world.root().join("home");
    let listed = ostler::list_sessions(&home, &cwd).unwrap();
    assert_eq!(listed.iter().map(|info| &info.id).collect::<Vec<_>>(), [session.id()]);
    let query = ostler::CostQuery {
        home,
        cwd,
        by: ostler::CostBy::Agent,
        since_ms: 0,
        session: None,
        budgets: ostler::Budgets::default(),
    };
    let lines = ostler::costs(&query).unwrap().report.lines;
    let agents: Vec<String> = lines.iter().map(|line| format!("{line:?}")).collect();
    assert!(agents.iter().any(|line| line.contains("explorer-1")), "{agents:?}");
}

async fn finished_root(turn: Driver) -> Finished {
    end(&all(turn).await)
}

/// A model that learnt another name, and rules that use it.
pub async fn it_also_answers_to_task() {
    let input = json!({ "description": "look", "prompt": "task-a", "subagent_type": "Plan" });
    let world = World::new(plays([
        ("go", vec![text("I ask.").call("Task", input), text("done")]),
        ("task-a", vec![text("a")]),
    ]));
    let seen = all(world.session().ask("go").unwrap()).await;
    assert_eq!(results(&seen), [(false, "a".to_owned())]);
    for rule in ["Task", "Agent"] {
        let denied = open(with(world.options(), |o| o.session.deny = vec![rule.into()]));
        assert!(!denied.tool_names().contains(&"Agent".to_owned()), "{rule}");
    }
    let denied = open(with(world.options(), |o| o.session.deny = vec!["Task(Explore)".into()]));
    let verdict = |kind: &str| {
        let input = json!({ "description": "x", "prompt": "x", "subagent_type": kind });
        denied.judge_call("Agent", &input).unwrap().verdict
    };
    assert_eq!(verdict("explorer"), ostler::Verdict::Deny);
    assert_eq!(verdict("planner"), ostler::Verdict::Allow);
}

/// Keeps what it hears.
struct Ear(Mutex<Vec<Value>>);

impl Hook for Ear {
    fn name(&self) -> &str {
        "ear"
    }

    fn listens(&self, _event: EventName, _matched: Option<&str>) -> bool {
        true
    }

    fn call<'a>(&'a self, event: &'a HookEvent) -> BoxFuture<'a, HookOutcome> {
        self.0.lock().unwrap().push(serde_json::to_value(event).unwrap());
        Box::pin(async { HookOutcome::default() })
    }
}

/// Hooks hear of an agent, not of another session.
pub async fn hooks_are_told_of_agents() {
    let world = World::new(plays([
        ("go", vec![agent(text("I ask."), "explorer", "task-a"), text("done")]),
        ("task-a", vec![text("a is found")]),
    ]));
    let ear = Arc::new(Ear(Mutex::default()));
    let session = open(with(world.on_disk(), |o| o.session.hooks.inside.push(ear.clone())));
    all(session.ask("go").unwrap()).await;
    session.close("other").await;
    let heard = ear.0.lock().unwrap().clone();
    let names: Vec<&str> =
        heard.iter().map(|event| event["hook_event_name"].as_str().unwrap()).collect();
    assert_eq!(
        names,
        [
            "SessionStart",
            "UserPromptSubmit",
            "PreToolUse",
            "SubagentStart",
            "SubagentStop",
            "PostToolUse",
            "Stop",
            "SessionEnd"
        ]
    );
    let (start, stop) = (&heard[3], &heard[4]);
    assert_eq!(start["agent_type"], "explorer");
    assert_eq!(stop["agent_id"], start["agent_id"]);
    assert_eq!(stop["last_assistant_message"], "a is found");
    assert!(stop["agent_transcript_path"].as_str().unwrap().ends_with(".log"));
}
