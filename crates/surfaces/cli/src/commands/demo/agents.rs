//! The story of several agents: a test runs in the background, three explorers work at the same time, and the answer is made
//! of what all of them found.

use super::claims::so;
use super::place::Place;
use super::stage::{Stage, Turn};
use crate::commands::agents;
use anyhow::{Context, Result, bail};
use ostler::{AgentActivity, AgentsView, Host};
use ostler_model_server::{
    Match, ModelServer, Recorded, Reply, Script, ScriptSource, ScriptStep, Times, text,
};
use ostler_profile::Environment;
use serde_json::json;
use std::sync::Arc;
use std::time::Duration;

const SCRIPT: &str = include_str!("../../../demo/agents/script.yaml");
const PROMPT: &str = "Why does the test fail?";
pub const FILES: &[(&str, &str)] = &[
    ("README.md", include_str!("../../../demo/agents/project/README.md")),
    ("terms.txt", include_str!("../../../demo/agents/project/terms.txt")),
    ("orders.txt", include_str!("../../../demo/agents/project/orders.txt")),
    ("test.sh", include_str!("../../../demo/agents/project/test.sh")),
    ("lib/price.sh", include_str!("../../../demo/agents/project/lib/price.sh")),
    ("lib/tax.sh", include_str!("../../../demo/agents/project/lib/tax.sh")),
    ("lib/shipping.sh", include_str!("../../../demo/agents/project/lib/shipping.sh")),
];

/// How each agent's task begins, and what it finds.
const AGENTS: [(&str, &str); 3] = [
    ("Does lib/price.sh follow", "as terms.txt:1 says"),
    ("Does lib/tax.sh follow", "as terms.txt:2 says"),
    ("Does lib/shipping.sh follow", "terms.txt:3 says above 100"),
];
const STARTED: &str = "is running in the background as ";
const RESULT: &str = "FAILED: order 3 should be 115, is 110";
/// The gate at which the first answers to the agents wait for each other.
const GATE: &str = "all-three";

pub async fn story(
    init: &ostler::Init,
    environment: &Environment,
    place: &Place,
    stage: &mut Stage,
) -> Result<()> {
    let server = ModelServer::start(script(stage)?)?;
    let options = place.options(environment, server.url());
    let host = Host::open(init, options.host)?;
    let session = host.session(options.session)?;
    stage.open(&server.url(), &session)?;
    let gate = server.gate(GATE);
    // Whether they came together is claimed below; whoever waits at the gate passes in any case.
    let meeting = async {
        let _ = gate.reached_times(3).await;
        gate.open();
        std::future::pending::<()>().await;
    };
    let turn = tokio::select! {
        turn = stage.turn(&session, PROMPT) => turn,
        () = meeting => bail!("the agents never met"),
    };
    session.close("other").await;
    host.close().await;
    let turn = turn?;
    if let Some(reason) = server.rejected().first() {
        bail!("the model server refused a request: {reason}");
    }
    agents_overlapped(&server.requests())?;
    findings_were_used(&turn, &server.requests())?;
    server.shutdown().await;
    stage.tell("Verified: all three agents sent their first request before any of them got an answer, and the final answer uses their findings and the test's result.")?;
    let view = ostler::machine_agents(&place.home(), true)?;
    all_finished(&view)?;
    stage.tell("As `ostler agents --all` shows them:")?;
    agents::lines(&view, true).iter().try_for_each(|line| stage.screen.line(line))
}

/// With the call that needs the id of the job.
fn script(stage: &Stage) -> Result<Script> {
    let mut script = stage.script(SCRIPT).context("the demo's script")?;
    let pace = stage.paced.then(|| Duration::from_millis(15));
    let reply = move |request: &Recorded| -> Reply {
        let said = "The explorers are done. Now I need the result of the test.";
        let mut reply = text(said).call("TaskOutput", json!({ "task_id": job(request) }));
        reply.delivery.pace = pace;
        reply
    };
    let step = ScriptStep {
        when: Match::tool_result(AGENTS[2].1),
        expect: Match::default(),
        times: Times::Count(1),
        source: ScriptSource::Computed(Arc::new(reply)),
    };
    script.steps.insert(script.steps.len().saturating_sub(1), step);
    Ok(script)
}

fn job(request: &Recorded) -> String {
    let all = request.json()["messages"].to_string();
    let after = all.split_once(STARTED).map(|(_, after)| after).unwrap_or_default();
    after.chars().take_while(char::is_ascii_alphanumeric).collect()
}

/// No agent was answered before all of them had asked.
fn agents_overlapped(requests: &[Arc<Recorded>]) -> Result<()> {
    let of_agent = |request: &&Arc<Recorded>| {
        let first = request.messages().first().map(ToString::to_string).unwrap_or_default();
        AGENTS.iter().any(|(task, _)| first.contains(task))
    };
    let answers = |request: &Arc<Recorded>| {
        request.messages().iter().filter(|message| message["role"] == "assistant").count()
    };
    let answered: Vec<usize> = requests.iter().filter(of_agent).map(answers).collect();
    so(answered == [0, 0, 0, 1, 1, 1], "the three agents worked at the same time")
}

fn findings_were_used(turn: &Turn, requests: &[Arc<Recorded>]) -> Result<()> {
    so(turn.result("Bash", STARTED).is_some(), "the test ran in the background")?;
    for (_, finding) in AGENTS {
        let found = turn.result("Agent", finding).is_some_and(|call| !call.failed);
        so(found, &format!("an agent found \"{finding}\""))?;
    }
    so(turn.result("TaskOutput", RESULT).is_some(), "the test's result was read")?;
    let last = requests.last().map(|request| request.json()["messages"].to_string());
    let last = last.unwrap_or_default();
    let known = AGENTS.iter().all(|(_, finding)| last.contains(finding)) && last.contains(RESULT);
    so(known, "the last request had everything that was found")?;
    so(turn.said.contains("`-gt`"), "the answer uses the findings")
}

fn all_finished(view: &AgentsView) -> Result<()> {
    let [session] = view.sessions.as_slice() else { bail!("there is not one session") };
    let finished =
        session.agents.iter().filter(|agent| agent.state == AgentActivity::Finished).count();
    so(finished == 3 && session.agents.len() == 3, "the log knows three agents that finished")
}
