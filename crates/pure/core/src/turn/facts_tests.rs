//! What each step records: the facts a log is made of, and the state they lead to.

use super::tests::*;
use super::*;
use crate::ids::{CallId, ModelId};
use crate::message::ResultPart;

/// What was recorded, in words.
fn record(limits: Limits, outcomes: Vec<Outcome>) -> Vec<String> {
    let fact = |fact: &Fact| match fact {
        Fact::Answered(item) => format!("answered {}", show(item.message())),
        Fact::Dropped => "dropped".into(),
        Fact::Noted(item) => format!("noted {}", show(item.message())),
        Fact::Admitted { item, ids } => format!("admitted {} {}", ids[0], show(item.message())),
        Fact::Went(why) => format!("went {}", why.name()),
        Fact::Ended(terminal) => format!("ended {}", terminal.name()),
    };
    run(go(), limits, outcomes).facts.iter().map(fact).collect()
}

fn show(message: &Message) -> String {
    let block = |block: &Block| match block {
        Block::Text { text, .. } => match text.as_str() {
            prompt_texts::RESUME => "RESUME".to_owned(),
            prompt_texts::INTERRUPTED_ANSWER => "INTERRUPTED_ANSWER".to_owned(),
            prompt_texts::INTERRUPTED_TOOLS => "INTERRUPTED_TOOLS".to_owned(),
            prompt_texts::BROKEN_ANSWER => "BROKEN_ANSWER".to_owned(),
            text => text.to_owned(),
        },
        Block::ToolUse { id, .. } => format!("{id}?"),
        Block::ToolResult { id, content, .. } => match content.first() {
            Some(ResultPart::Text { text }) if text == prompt_texts::TURN_ENDED => {
                format!("{id}=TURN_ENDED")
            }
            Some(ResultPart::Text { text }) if text == prompt_texts::LOST_EFFECT => {
                format!("{id}=LOST_EFFECT")
            }
            _ => format!("{id}=ok"),
        },
        other => format!("{other:?}"),
    };
    message.blocks().iter().map(block).collect::<Vec<_>>().join(" ")
}

#[test]
fn a_kept_answer_is_recorded_once() {
    assert_eq!(
        record(DEFAULT, vec![call("a"), ok(), done(), Outcome::StopHooks(StopVerdict::Pass)]),
        ["answered a?", "went next_turn", "answered said", "ended completed"]
    );
}

#[test]
fn a_dropped_answer_leaves_no_trace() {
    let table = [
        (say(SampleEnd::MaxOutput), vec!["dropped", "went max_output_tokens_escalate"]),
        (say(SampleEnd::Empty), vec!["dropped", "went empty_retry"]),
        (broken(ModelErrorKind::Protocol), vec!["dropped", "went stream_retry"]),
        (broken(ModelErrorKind::ContextOverflow), vec!["dropped"]),
        (failed(ModelErrorKind::ContextOverflow), vec!["dropped"]),
        (
            answer(vec![use_of("a")], true, SampleEnd::MaxOutput),
            vec!["dropped", "went max_output_tokens_escalate"],
        ),
    ];
    for (outcome, expected) in table {
        assert_eq!(record(DEFAULT, vec![outcome.clone()]), expected);
        let view = run(go(), DEFAULT, vec![outcome]).state.view;
        assert_eq!(view, go());
    }
}

/// Nothing follows that could replace it, so a person keeps what was said until then.
#[test]
fn the_last_broken_answer_is_kept_and_its_calls_are_closed() {
    let none = Limits { max_stream_retries: 0, ..DEFAULT };
    let cut_short = answer(
        vec![Block::text("half"), use_of("a")],
        false,
        SampleEnd::Broken(ModelErrorKind::Protocol),
    );
    assert_eq!(
        record(none, vec![cut_short]),
        ["answered half a?", "noted a=TURN_ENDED", "noted BROKEN_ANSWER", "ended model_error"]
    );
}

#[test]
fn what_the_harness_adds_is_noted() {
    let own_limit = Limits { may_escalate: false, ..DEFAULT };
    assert_eq!(
        record(own_limit, vec![say(SampleEnd::MaxOutput)]),
        ["answered said", "noted RESUME", "went max_output_tokens_recovery"]
    );
    assert_eq!(
        record(DEFAULT, vec![done(), block()]),
        ["answered said", "noted lint first", "went stop_hook_blocking"]
    );
    let extra = vec![Message::meta("one"), Message::meta(""), Message::meta("two")];
    let settled = Outcome::ToolsSettled { results: vec![], extra, end: ToolsEnd::Finished };
    assert_eq!(
        record(DEFAULT, vec![call("a"), settled]),
        ["answered a?", "noted one", "noted two", "went next_turn"]
    );
}

#[test]
fn a_note_that_could_not_be_used_for_lack_of_room_is_not_recorded() {
    let none = Limits { max_stop_blocks: 0, ..DEFAULT };
    assert_eq!(record(none, vec![done(), block()]), ["answered said", "ended stop_hook_prevented"]);
}

#[test]
fn every_way_out_tells_the_model_that_it_was_stopped() {
    let cancelled = |end| Outcome::ToolsSettled { results: vec![], extra: vec![], end };
    let open_call = |end| answer(vec![use_of("a")], false, end);
    let table = [
        (
            vec![say(SampleEnd::Cancelled)],
            vec!["answered said", "noted INTERRUPTED_ANSWER", "ended aborted_streaming"],
        ),
        (
            vec![open_call(SampleEnd::Cancelled), cancelled(ToolsEnd::Cancelled)],
            vec!["answered a?", "noted INTERRUPTED_ANSWER", "ended aborted_streaming"],
        ),
        (
            vec![call("a"), cancelled(ToolsEnd::Cancelled)],
            vec!["answered a?", "noted INTERRUPTED_TOOLS", "ended aborted_tools"],
        ),
        (
            vec![open_call(SampleEnd::Refused)],
            vec!["answered a?", "noted a=TURN_ENDED", "ended refusal"],
        ),
        (vec![Outcome::Interrupted], vec!["noted INTERRUPTED_ANSWER", "ended aborted_streaming"]),
        // The model never saw the prompt, so there is nothing to explain to it.
        (vec![Outcome::PromptRefused(Terminal::AbortedStreaming)], vec!["ended aborted_streaming"]),
        (vec![Outcome::PromptRefused(Terminal::HookStopped)], vec!["ended hook_stopped"]),
    ];
    for (outcomes, expected) in table {
        assert_eq!(record(DEFAULT, outcomes), expected);
    }
}

/// By then a call may have run: "not run" would be a lie.
#[test]
fn calls_that_were_being_settled_may_have_taken_effect() {
    assert_eq!(
        record(DEFAULT, vec![call("a"), Outcome::StoreFailed]),
        ["answered a?", "noted a=LOST_EFFECT", "ended store_failed"]
    );
}

#[test]
fn what_arrives_is_admitted_before_the_next_request() {
    let steer = || Outcome::Received { message: Message::user("wait"), ids: vec!["i1".into()] };
    let redirected =
        || Outcome::ToolsSettled { results: vec![], extra: vec![], end: ToolsEnd::Redirected };
    let table = [
        (vec![steer(), done()], vec!["admitted i1 wait", "answered said"]),
        (
            vec![nothing(SampleEnd::Redirected), steer(), done()],
            vec!["dropped", "went redirected", "admitted i1 wait", "answered said"],
        ),
        (
            vec![call("a"), redirected(), steer()],
            vec!["answered a?", "went next_turn", "admitted i1 wait"],
        ),
        (
            vec![done(), Outcome::StopHooks(StopVerdict::Arrived), steer()],
            vec!["answered said", "went redirected", "admitted i1 wait"],
        ),
    ];
    for (outcomes, expected) in table {
        assert_eq!(record(DEFAULT, outcomes), expected);
    }
}

#[test]
fn a_limit_of_iterations_leaves_what_arrived_where_it_is() {
    let one = Limits { max_iterations: Some(1), ..DEFAULT };
    let arrived = vec![done(), Outcome::StopHooks(StopVerdict::Arrived)];
    assert_eq!(record(one, arrived), ["answered said", "ended max_turns"]);
    let redirected =
        Outcome::ToolsSettled { results: vec![], extra: vec![], end: ToolsEnd::Redirected };
    assert_eq!(record(one, vec![call("a"), redirected]), ["answered a?", "ended max_turns"]);
}

/// What the log says counts, also where the step that wrote it did not come to its end.
#[test]
fn a_step_that_failed_hands_over_what_the_log_made_of_the_conversation() {
    let summed_up = View::from_messages([Message::user("a summary")]);
    for then in [Outcome::StoreFailed, Outcome::Prepared(Err(PrepareError::BudgetSpent))] {
        let outcome = Outcome::Reshaped { view: summed_up.clone(), then: Box::new(then) };
        let state = advance(State::start(go()), outcome, &DEFAULT).state;
        assert!(matches!(state.phase, Phase::Done(_)));
        assert_eq!(state.view, summed_up);
    }
}

#[test]
fn a_deferred_call_stays_open_and_a_resumed_turn_begins_with_it() {
    let settled = Outcome::ToolsSettled { results: vec![], extra: vec![], end: ToolsEnd::Deferred };
    assert_eq!(
        record(DEFAULT, vec![call("a"), settled.clone()]),
        ["answered a?", "ended tool_deferred"]
    );
    let view = run(go(), DEFAULT, vec![call("a"), ok(), call("b"), settled]).state.view;
    assert_eq!(view.open_calls(), [CallId::new("b")]);
    let resumed = State::resume(view);
    assert_eq!((next(&resumed), resumed.iteration), (Step::SettleTools, 2));
    assert_eq!((next(&State::resume(go())), State::resume(go()).iteration), (Step::Prepare, 1));
}

#[test]
fn next_turn_keeps_only_the_model_and_the_count_of_cut_calls() {
    let nearly_all = Recovery {
        collapsed: true,
        compacted: true,
        escalated: true,
        resumes: 1,
        stop_blocks: 1,
        nudges: 1,
        fell_back: true,
        cut_calls: 1,
        stream_retries: 1,
        pauses: 1,
        empty_retries: 1,
        images_dropped: true,
        thinking_dropped: true,
    };
    for (cut, cut_calls) in [(false, 0), (true, 2)] {
        let mut view = go();
        view.push(Message::assistant(&ModelId::new("m"), vec![use_of("a")]));
        let phase = Phase::SettleTools { cancelled: false, cut };
        let before =
            State { phase, iteration: 4, recovery: nearly_all, ..State::start(view.clone()) };
        let result = Block::ToolResult { id: "a".into(), content: vec![], is_error: false };
        view.push(Message::User { content: vec![result] });
        let after = State {
            view,
            phase: Phase::Prepare,
            iteration: 5,
            recovery: Recovery { fell_back: true, cut_calls, ..Recovery::default() },
            last: Some(Continue::NextTurn),
        };
        assert_eq!(advance(before, ok(), &DEFAULT).state, after);
    }
}

/// One name per reason, in the log as in the events.
#[test]
fn a_reason_has_the_same_name_everywhere() {
    use Continue::*;
    let attempt = 1;
    let ways_round = [
        NextTurn,
        CollapseDrainRetry { drained: 2 },
        ReactiveCompactRetry,
        MaxOutputTokensEscalate,
        MaxOutputTokensRecovery { attempt },
        StopHookBlocking,
        TokenBudgetContinuation,
        ModelFallback,
        StreamRetry { attempt },
        PauseResume { attempt },
        EmptyRetry { attempt },
        ImageDropRetry,
        ThinkingDropRetry,
        Redirected,
    ];
    for why in ways_round {
        let logged = serde_json::to_value(why).unwrap();
        assert_eq!(logged["reason"], why.name());
        assert_eq!(serde_json::from_value::<Continue>(logged).unwrap(), why);
    }
    assert_eq!(ways_round.len(), super::walk::WAYS_ROUND.len());
}

#[test]
fn an_end_has_the_same_name_everywhere() {
    use Terminal::*;
    let ways_out = [
        Completed,
        MaxTurns,
        MaxBudget,
        LedgerFailed,
        BlockingLimit,
        PromptTooLong,
        MaxOutputTokens,
        AbortedStreaming,
        AbortedTools,
        StopHookPrevented,
        HookStopped,
        ImageError,
        Refusal,
        ToolDeferred,
        RapidRefill,
        ModelError(ModelErrorKind::ModelNotFound),
        StoreFailed,
    ];
    for terminal in ways_out {
        let logged = serde_json::to_value(terminal).unwrap();
        assert_eq!(logged["reason"], terminal.name());
        assert_eq!(serde_json::from_value::<Terminal>(logged).unwrap(), terminal);
        let needs_nothing = terminal == Completed;
        assert_eq!(terminal.next_step().is_empty(), needs_nothing, "{terminal:?} says what to do");
    }
    let kind = serde_json::to_value(ModelError(ModelErrorKind::ModelNotFound)).unwrap();
    assert_eq!(kind["kind"], ModelErrorKind::ModelNotFound.name());
    assert_eq!(ways_out.len(), super::walk::WAYS_OUT.len());
}
