//! Servers that ask the model.

use crate::ground::{logged, results, scripted, times, turn, turn_events, with_servers};
use crate::scripted_server::SAMPLE;
use crate::support::{World, becomes, open, with};
use ostler::mcp_servers::{SamplingTerms, ServerConfig};
use ostler::{Event, Input, Options, PersonRequest, PriceBook, Question, Session};
use ostler_model_server::{Script, text};
use serde_json::json;

const SAID: &str = "What the model says to the server.";

/// The model calls the tool that asks like this; then it answers the server, if that gets so far.
fn script(how: &str) -> Script {
    Script::new().answer(text("I call.").call("mcp__files__asks", json!({"text": how})))
}

fn allowed(max_usd: f64, approve: bool) -> Option<SamplingTerms> {
    Some(SamplingTerms { max_usd, approve })
}

fn server(sampling: Option<SamplingTerms>) -> ServerConfig {
    let (mut config, _) = scripted("files", &[]);
    config.sampling = sampling;
    config
}

fn options(world: &World, config: ServerConfig) -> Options {
    with(with_servers(world.on_disk(), vec![config]), |options| {
        options.host.prices = PriceBook::parse("[scripted]\ninput = 0\noutput = 10\n").unwrap();
    })
}

fn asked(question: &Question) -> String {
    let Some(PersonRequest::Choices { questions }) = question.request.as_deref() else {
        panic!("another question: {question:?}")
    };
    questions[0].question.clone()
}

/// Runs a turn in which a person chooses this; gives what was asked.
async fn chosen(session: &Session, choice: &str) -> Vec<String> {
    let _attendance = session.attend();
    let mut questions = Vec::new();
    turn_events(session, "call it", |event| {
        let Event::CallAsked { question: Some(question), .. } = event else { return };
        let text = asked(question);
        let reply = question.answered([(text.clone(), choice.to_owned())]);
        let (question, by) = (question.id.clone(), "test".to_owned());
        session.send(Input::Answer { question, reply, by }).unwrap();
        questions.push(text);
    })
    .await;
    questions
}

pub async fn a_server_uses_the_model_if_a_person_allows_it() {
    let world = World::new(script(SAMPLE).answer(text(SAID)).answer(text("Done.")));
    let session = open(options(&world, server(allowed(1.0, false))));
    let [question] = chosen(&session, "Allow once").await.try_into().unwrap();
    assert!(question.starts_with("The MCP server files wants to send this"), "{question}");
    assert!(
        question.contains("up to 10 tokens") && question.contains("user: Say hi"),
        "{question}"
    );
    assert!(!question.contains('\u{1b}'), "{question}");
    assert!(results(&world).contains(SAID), "{}", results(&world));
    let requests = world.server.requests();
    assert_eq!(requests.len(), 3);
    let body = requests[1].json();
    assert_eq!((&body["tools"], &body["system"]), (&json!(null), &json!(null)), "{body}");
    assert_eq!((body["messages"].as_array().unwrap().len(), &body["max_tokens"]), (1, &json!(10)));
    let charges = world.log().iter().map(ToString::to_string).collect::<Vec<_>>();
    let is_sampling = |fact: &&String| fact.contains("\"purpose\":\"sampling\"");
    assert_eq!(charges.iter().filter(is_sampling).count(), 1, "in the ledger by its purpose");
    session.close("other").await;
}

/// One refusal counts for the whole call, and an answer in other words is one.
pub async fn a_person_refuses_once() {
    for choice in ["Refuse", "why?"] {
        let world = World::new(script("one by one").answer(text("Done.")));
        let session = open(options(&world, server(allowed(1.0, false))));
        assert_eq!(chosen(&session, choice).await.len(), 1);
        let told = results(&world);
        assert_eq!(told.matches("the user has refused").count(), 20, "{told}");
        assert_eq!(told.matches("a call can use the model 20 times").count(), 5, "{told}");
        assert_eq!(world.server.requests().len(), 2, "the model was not asked");
        session.close("other").await;
    }
}

pub async fn without_a_person_only_what_was_allowed_before_is_answered() {
    for (approve, expected) in [(false, "nobody is there who could allow it"), (true, SAID)] {
        let world = World::new(
            script(SAMPLE).answer(text(if approve { SAID } else { "Done." })).answer(text("Done.")),
        );
        let session = open(options(&world, server(allowed(1.0, approve))));
        turn(&session, "call it").await;
        assert!(results(&world).contains(expected), "{approve}: {}", results(&world));
        session.close("other").await;
    }
}

/// An answer of ten tokens costs 0.0001, and the first one more than half of that.
pub async fn the_budget_of_a_server_is_its_own() {
    let world = World::new(script("one by one").answer(text(SAID)).answer(text("Done.")));
    let session = open(options(&world, server(allowed(0.000_15, true))));
    turn(&session, "call it").await;
    let told = results(&world);
    assert_eq!(told.matches("not enough of this server's budget").count(), 19, "{told}");
    assert_eq!(world.server.requests().len(), 3, "one request of the server was sent");
    session.close("other").await;
}

pub async fn nothing_is_announced_to_servers_that_may_not_use_the_model() {
    let folder = tempfile::tempdir().unwrap();
    for (sampling, times_announced) in [(None, 0), (allowed(1.0, true), 1)] {
        let log = folder.path().join(format!("log{times_announced}"));
        let mut config = logged(&[], &log);
        config.sampling = sampling;
        let world = World::new(Script::new().answer(text("Hello.")));
        let session = open(options(&world, config));
        turn(&session, "hello").await;
        assert_eq!(times(&log, "initialize"), 1);
        assert_eq!(times(&log, "it may sample"), times_announced);
        session.close("other").await;
    }
}

pub async fn a_person_is_not_flooded_with_requests() {
    let world = World::new(script("for fifty samples").answer(text("Done.")));
    let session = open(options(&world, server(allowed(1.0, false))));
    let _attendance = session.attend();
    let mut shown = 0;
    turn_events(&session, "call it", |event| {
        shown += usize::from(matches!(event, Event::CallAsked { .. }));
    })
    .await;
    assert!(results(&world).contains("49 were refused"), "{}", results(&world));
    assert_eq!(shown, 1);
    becomes("the question ends with its call", || session.state().0.questions.is_empty()).await;
    assert_eq!(world.server.requests().len(), 2, "the model was not asked");
    session.close("other").await;
}

/// Nobody is asked any more about what nobody waits for.
pub async fn questions_end_with_their_request_and_their_call() {
    for how in ["and takes it back", "without waiting"] {
        let world = World::new(script(how).answer(text("Done.")));
        let session = open(options(&world, server(allowed(1.0, false))));
        let _attendance = session.attend();
        turn(&session, "call it").await;
        becomes("the question ends", || session.state().0.questions.is_empty()).await;
        assert_eq!(world.server.requests().len(), 2, "{how}: the model was not asked");
        session.close("other").await;
    }
}

pub async fn a_server_gets_nothing_after_its_call() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("log");
    let mut config = logged(&[], &log);
    config.sampling = allowed(1.0, true);
    // If the request is read before the end of the call is noticed, the model gets it, and does not answer.
    let script = Script::new().by(|request| match request.json()["tools"].is_array() {
        false => text("This ").gate("never").say("arrives nowhere."),
        true if request.tool_results().is_empty() => {
            text("I call.").call("mcp__files__asks", json!({"text": "afterwards"}))
        }
        true => text("Done."),
    });
    let world = World::new(script.forever());
    let session = open(options(&world, config));
    turn(&session, "call it").await;
    let requests = world.server.requests();
    let has_result = |told: &str| told.contains("answered");
    assert!(requests.iter().any(|it| has_result(&it.json()["messages"].to_string())));
    let refused = || {
        ["none of your calls is running", "the call has ended"]
            .iter()
            .any(|why| times(&log, &format!("answer: null\"{why}\"")) == 1)
    };
    becomes("the request is refused", refused).await;
    session.close("other").await;
}

/// The person allowed it for the session, not for each agent in it.
pub async fn agents_do_not_sample() {
    let delegate = text("I delegate.").call(
        "Agent",
        json!({"description": "ask", "prompt": "ask it", "subagent_type": "general"}),
    );
    let call = text("I call.").call("mcp__files__asks", json!({"text": SAMPLE}));
    let script = Script::new().answer(delegate).answer(call);
    let world = World::new(script.answer(text("Below.")).answer(text("Done.")));
    let session = open(options(&world, server(allowed(1.0, true))));
    turn_events(&session, "delegate", |_| ()).await;
    assert!(world.told(2).contains("calls of agents cannot use the model"), "{}", world.told(2));
    session.close("other").await;
}
