//! Money is reserved before a request: a turn never costs more than it may.

use ostler_core::ledger::{ChargeStatus, Usage};
use ostler_core::model::{StopReason, Thinking};
use ostler_core::session::Entry;
use ostler_core::turn::Terminal;
use ostler_testkit::{FakeTool, PRICE, Script, TestAgent, calls, finished, says};

/// 1 000 tokens of prompt at the cache-write price, the rest of the money for the output.
#[tokio::test(start_paused = true)]
async fn the_reservation_lowers_the_output_limit() {
    let rig = TestAgent::new().budget(0.05).answers([says("x"), says("y")]).build();
    rig.turn("go").await;
    let granted = rig.model.requests()[0].max_output;
    let expected = ((0.05 - 1_000.0 * 3.75 / 1e6) / 15.0 * 1e6) as u32;
    assert_eq!(granted, expected);
    assert!(granted < 8_000);
    // What was spent is gone for the next turn, too.
    rig.turn("go on").await;
    assert!(rig.model.requests()[1].max_output < granted);
}

#[tokio::test(start_paused = true)]
async fn a_large_budget_changes_nothing() {
    let rig = TestAgent::new().budget(100.0).answers([says("x")]).build();
    rig.turn("go").await;
    assert_eq!(rig.model.requests()[0].max_output, 8_000);
}

/// The answer was paid for, so its calls run; only the next request is not sent.
#[tokio::test(start_paused = true)]
async fn a_spent_budget_stops_before_the_next_request() {
    let dear = Usage { input: 1_000, output: 3_000, ..Usage::default() };
    let rig = TestAgent::new()
        .tools([FakeTool::writing("Write")])
        .budget(0.05)
        .answers([Script::new().usage(dear).call("w1", "Write").end_calls(), says("never")])
        .build();
    let events = rig.turn("go").await;
    assert_eq!(finished(&events).terminal, Terminal::MaxBudget);
    assert_eq!((finished(&events).calls_run, rig.model.requests().len()), (1, 1));
    assert!(finished(&events).cost.unwrap() <= 0.05);
    assert!(rig.conversation().contains("w1 ok"), "{}", rig.conversation());
}

/// Where that is wanted, requests are sent whole as long as anything is left.
#[tokio::test(start_paused = true)]
async fn a_budget_that_may_be_exceeded_is_compared_with_what_was_spent() {
    let dear = Usage { input: 1_000, output: 3_000, ..Usage::default() };
    let rig = TestAgent::new()
        .tools([FakeTool::writing("Write")])
        .budget(0.000_1)
        .settings(|settings| settings.budget_may_be_exceeded = true)
        .answers([Script::new().usage(dear).call("w1", "Write").end_calls(), says("never")])
        .build();
    let events = rig.turn("go").await;
    assert_eq!(finished(&events).terminal, Terminal::MaxBudget);
    assert_eq!(rig.model.requests().len(), 1);
    assert_eq!(rig.model.requests()[0].max_output, 8_000);
    assert!(finished(&events).cost.unwrap() > 0.000_1);
}

/// What such an answer asks for is not done: neither what could start while it was written nor what had to wait for its
/// end. Each call has a result, so that a later turn can continue with the conversation.
#[tokio::test(start_paused = true)]
async fn calls_of_an_answer_that_exceeds_the_budget_do_not_run() {
    let dear = Usage { input: 1_000, output: 3_000, ..Usage::default() };
    let answer = Script::new().usage(dear).call("r1", "Read").call("w1", "Write").end_calls();
    let cheap = Usage { input: 10, output: 1, ..Usage::default() };
    let first = Script::new().usage(cheap).call("r0", "Read").end_calls();
    let rig = TestAgent::new()
        .tools([FakeTool::reading("Read"), FakeTool::writing("Write")])
        .budget(0.01)
        .settings(|settings| settings.budget_may_be_exceeded = true)
        .answers([first, answer, says("never")])
        .build();
    let events = rig.turn("go").await;
    assert_eq!(finished(&events).terminal, Terminal::MaxBudget);
    assert_eq!((finished(&events).calls_run, rig.model.requests().len()), (1, 2));
    let conversation = rig.conversation();
    assert!(conversation.contains("r0 ok"), "{conversation}");
    for call in ["r1", "w1"] {
        let not_run = format!("{call} error \"Not run: the budget");
        assert!(conversation.contains(&not_run), "{conversation}");
    }
}

/// Even if every answer is as long as it may be, the sum stays below the limit.
#[tokio::test(start_paused = true)]
async fn the_limit_holds_when_every_answer_is_as_long_as_allowed() {
    let mut spent = Vec::new();
    let mut answers: Vec<u64> = Vec::new();
    // Each round replays the turn with one more answer that uses all it was granted.
    for _ in 0..20 {
        let script = |output: &u64| {
            let usage = Usage { cache_write: 1_000, output: *output, ..Usage::default() };
            Script::new().usage(usage).call("r1", "Read").end_calls()
        };
        let rig = TestAgent::new()
            .tools([FakeTool::reading("Read")])
            .budget(0.30)
            .answers(answers.iter().map(script))
            .build();
        rig.turn("go").await;
        spent.push(rig.agent.budget.spent());
        let requests = rig.model.requests();
        if requests.len() == answers.len() {
            break;
        }
        answers.push(u64::from(requests.last().unwrap().max_output));
    }
    assert!(answers.len() >= 3, "{answers:?}");
    assert!(spent.iter().all(|spent| *spent <= 0.30 + 1e-9), "{spent:?}");
    let left = 0.30 - spent.last().unwrap();
    assert!(
        left < 1_000.0 * PRICE.cache_write / 1e6 + 256.0 * PRICE.output / 1e6,
        "{left} was left unspent"
    );
}

/// A budget in a currency nobody can compute is no budget.
#[tokio::test(start_paused = true)]
async fn an_unknown_price_with_a_budget_sends_nothing() {
    let rig = TestAgent::new().price(None).budget(1_000.0).answers([says("x")]).build();
    let events = rig.turn("go").await;
    assert_eq!(finished(&events).terminal, Terminal::MaxBudget);
    assert_eq!(rig.model.requests().len(), 0);
}

/// A higher output limit must be afforded as well.
#[tokio::test(start_paused = true)]
async fn escalation_stays_within_the_budget() {
    let rig = TestAgent::new()
        .budget(0.2)
        .answers([Script::new().text("x").end(StopReason::MaxTokens), says("done")])
        .build();
    rig.turn("go").await;
    let limits: Vec<_> = rig.model.requests().iter().map(|request| request.max_output).collect();
    assert_eq!(limits[0], 8_000);
    assert!(limits[1] > 8_000 && limits[1] < 13_334, "{limits:?}");
}

/// Tools of a turn without money left do not run: there was no answer to ask for them.
#[tokio::test(start_paused = true)]
async fn no_money_no_request() {
    let rig = TestAgent::new()
        .tools([FakeTool::reading("Read")])
        .budget(0.001)
        .answers([calls([("r1", "Read")])])
        .build();
    let events = rig.turn("go").await;
    assert_eq!(
        (finished(&events).terminal, finished(&events).cost),
        (Terminal::MaxBudget, Some(0.0))
    );
    assert_eq!(rig.model.requests().len(), 0);
}

/// Thinking with a budget of its own comes on top of the answer, and is paid for like it.
#[tokio::test(start_paused = true)]
async fn a_thinking_budget_is_reserved_as_well() {
    let granted = |thinking| async move {
        let rig = TestAgent::new()
            .budget(0.05)
            .settings(|settings| settings.thinking = Thinking::Budget(thinking))
            .answers([says("x")])
            .build();
        let terminal = finished(&rig.turn("go").await).terminal;
        (rig.model.requests().first().map(|request| request.max_output), terminal)
    };
    let affordable = ((0.05 - 1_000.0 * 3.75 / 1e6) / 15.0 * 1e6) as u32;
    assert_eq!(granted(2_000).await, (Some(affordable - 2_000), Terminal::Completed));
    assert_eq!(granted(10_000).await, (None, Terminal::MaxBudget));
}

/// A gateway that reports no tokens must not lift the limit: each request is charged what was reserved for it.
#[tokio::test(start_paused = true)]
async fn a_provider_that_reports_nothing_is_charged_what_was_reserved() {
    let silent = || Script::new().usage(Usage::default()).call("r1", "Read").end_calls();
    let rig = TestAgent::new()
        .tools([FakeTool::reading("Read")])
        .budget(0.30)
        .answers((0..60).map(|_| silent()))
        .build();
    let events = rig.turn("go").await;
    assert_eq!(finished(&events).terminal, Terminal::MaxBudget);
    let requests = rig.model.requests();
    assert!((2..10).contains(&requests.len()), "{}", requests.len());
    // 1 000 tokens of prompt, written to the cache, and an answer as long as allowed.
    let dearest = |granted: u32| (1_000.0 * 3.75 + f64::from(granted) * 15.0) / 1e6;
    let expected: f64 = requests.iter().map(|request| dearest(request.max_output)).sum();
    let spent = rig.agent.budget.spent();
    assert!((spent - expected).abs() < 1e-9 && spent <= 0.30, "{spent} {expected}");
    assert_eq!(finished(&events).cost, Some(spent));
    let said = format!("{events:?}");
    assert_eq!(said.matches("UsageEstimated").count(), 1, "said once: {said}");
    let log = rig.timeline.entries();
    let charges = log.iter().filter_map(|entry| match entry {
        Entry::Spent { charge, .. } => charge.as_ref().map(|charge| charge.status),
        _ => None,
    });
    assert!(charges.into_iter().all(|status| status == ChargeStatus::Estimated));
}

/// What is known is charged as it is; only what is missing is estimated.
#[tokio::test(start_paused = true)]
async fn only_what_is_missing_is_estimated() {
    let price = |usage: Usage| PRICE.cost(&usage);
    for (reported, expected) in [
        (
            Usage { input: 50, output: 7, ..Usage::default() },
            Usage { input: 50, output: 7, ..Usage::default() },
        ),
        (
            Usage { input: 50, ..Usage::default() },
            Usage { input: 50, output: 8_000, ..Usage::default() },
        ),
        (
            Usage { output: 7, ..Usage::default() },
            Usage { cache_write: 1_000, output: 7, ..Usage::default() },
        ),
    ] {
        let script = Script::new().usage(reported).text("x").end_turn();
        let rig = TestAgent::new().budget(100.0).answers([script]).build();
        rig.turn("go").await;
        let spent = rig.agent.budget.spent();
        assert!((spent - price(expected)).abs() < 1e-9, "{reported:?}: {spent}");
    }
}
