//! Each way round and each way out as a ladder: a test lists what happens and compares one line.
//! `run` is the only code that knows how a turn is driven.

use super::*;
use crate::ids::{CallId, ModelId};
use crate::message::Image;
use serde_json::json;

pub(super) const DEFAULT: Limits = Limits {
    max_iterations: None,
    may_escalate: true,
    has_fallback: false,
    max_resumes: 3,
    max_stop_blocks: 8,
    max_nudges: 3,
    max_cut_calls: 3,
    max_stream_retries: 3,
    max_pauses: 10,
    max_empty_retries: 1,
};
const FALLBACK: Limits = Limits { has_fallback: true, ..DEFAULT };

pub(super) struct Played {
    pub(super) state: State,
    pub(super) facts: Vec<Fact>,
    steps: Vec<Step>,
}

/// Plays the outcomes. Preparing is passed over in silence unless the list says how it went.
pub(super) fn run(view: View, limits: Limits, outcomes: Vec<Outcome>) -> Played {
    let mut played = Played { state: State::start(view), facts: Vec::new(), steps: Vec::new() };
    for outcome in outcomes {
        let told = matches!(
            outcome,
            Outcome::PromptRefused(_)
                | Outcome::Prepared(_)
                | Outcome::Received { .. }
                | Outcome::Interrupted
                | Outcome::StoreFailed
        );
        if next(&played.state) == Step::Prepare && !told {
            let view = played.state.view.clone();
            played.step(Outcome::Prepared(Ok(view)), &limits);
        }
        played.step(outcome, &limits);
    }
    played
}

impl Played {
    fn step(&mut self, outcome: Outcome, limits: &Limits) {
        let step = next(&self.state);
        assert!(fits(step, &outcome), "the test's list is wrong: {step:?} cannot give {outcome:?}");
        self.steps.push(step);
        let Advance { state, facts } = advance(self.state.clone(), outcome, limits);
        self.state = state;
        self.facts.extend(facts);
    }

    fn reasons(&self) -> String {
        let mut line: Vec<(String, String, usize)> = Vec::new();
        for fact in &self.facts {
            let (name, number) = match fact {
                Fact::Went(why) => (why.name().to_owned(), number(*why)),
                Fact::Ended(Terminal::ModelError(kind)) => {
                    (format!("model_error {}", kind.name()), None)
                }
                Fact::Ended(terminal) => (terminal.name().to_owned(), None),
                _ => continue,
            };
            match (line.last_mut(), number) {
                (Some((last, _, times)), None) if *last == name => *times += 1,
                (Some((last, ..)), Some(n)) if *last == name => line.push((name, n.to_string(), 1)),
                (_, Some(n)) => line.push((name.clone(), format!("{name} {n}"), 1)),
                (_, None) => line.push((name.clone(), name, 1)),
            }
        }
        let mut words: Vec<String> =
            line.into_iter().map(|(_, text, times)| counted(text, times)).collect();
        if !matches!(self.state.phase, Phase::Done(_)) {
            words.push("…".into());
        }
        words.join(" > ")
    }
}

fn counted(text: String, times: usize) -> String {
    if times == 1 { text } else { format!("{text} x{times}") }
}

fn number(why: Continue) -> Option<u32> {
    match why {
        Continue::CollapseDrainRetry { drained } => Some(drained),
        Continue::MaxOutputTokensRecovery { attempt }
        | Continue::StreamRetry { attempt }
        | Continue::PauseResume { attempt }
        | Continue::EmptyRetry { attempt } => Some(u32::from(attempt)),
        _ => None,
    }
}

fn fits(step: Step, outcome: &Outcome) -> bool {
    match outcome {
        Outcome::PromptRefused(_) | Outcome::Prepared(_) | Outcome::Received { .. } => {
            step == Step::Prepare
        }
        Outcome::Reshaped { then, .. } => fits(step, then),
        Outcome::Sampled { .. } => matches!(step, Step::Sample { .. }),
        Outcome::Collapsed(_) => step == Step::Collapse,
        Outcome::Compacted(_) => step == Step::Compact,
        Outcome::ToolsSettled { .. } => step == Step::SettleTools,
        Outcome::StopHooks(_) => step == Step::StopHooks,
        Outcome::Interrupted | Outcome::StoreFailed => !matches!(step, Step::Finish(_)),
    }
}

pub(super) fn go() -> View {
    View::from_messages([Message::user("go")])
}

fn play(limits: Limits, outcomes: Vec<Outcome>) -> String {
    run(go(), limits, outcomes).reasons()
}

// Words for what may happen.

pub(super) fn answer(content: Vec<Block>, cut: bool, end: SampleEnd) -> Outcome {
    Outcome::Sampled { message: Some(Message::assistant(&ModelId::new("m"), content)), cut, end }
}
pub(super) fn use_of(id: &str) -> Block {
    Block::ToolUse { id: id.into(), name: "t".into(), input: json!({}), via: None }
}
pub(super) fn say(end: SampleEnd) -> Outcome {
    answer(vec![Block::text("said")], false, end)
}
pub(super) fn done() -> Outcome {
    say(SampleEnd::EndOfTurn)
}
pub(super) fn nothing(end: SampleEnd) -> Outcome {
    Outcome::Sampled { message: None, cut: false, end }
}
pub(super) fn failed(kind: ModelErrorKind) -> Outcome {
    nothing(SampleEnd::Failed(kind))
}
pub(super) fn broken(kind: ModelErrorKind) -> Outcome {
    say(SampleEnd::Broken(kind))
}
pub(super) fn call(id: &str) -> Outcome {
    answer(vec![use_of(id)], false, SampleEnd::EndOfTurn)
}
fn cut_call(id: &str) -> Outcome {
    answer(vec![use_of(id)], true, SampleEnd::EndOfTurn)
}
fn ran(end: ToolsEnd) -> Outcome {
    let result =
        |id: &str| Block::ToolResult { id: CallId::new(id), content: vec![], is_error: false };
    Outcome::ToolsSettled { results: ["a", "b"].map(result).into(), extra: vec![], end }
}
pub(super) fn ok() -> Outcome {
    ran(ToolsEnd::Finished)
}
fn hooks(verdict: StopVerdict) -> Outcome {
    Outcome::StopHooks(verdict)
}
fn pass() -> Outcome {
    hooks(StopVerdict::Pass)
}
pub(super) fn block() -> Outcome {
    hooks(StopVerdict::Block(Message::meta("lint first")))
}
fn nudge() -> Outcome {
    hooks(StopVerdict::SpendMore(Message::meta("go on")))
}
fn times(n: usize, outcomes: impl Fn() -> Vec<Outcome>) -> Vec<Outcome> {
    (0..n).flat_map(|_| outcomes()).collect()
}

#[test]
fn these_are_the_defaults() {
    assert_eq!(Limits::default(), DEFAULT);
}

#[test]
fn an_answer_without_calls_completes() {
    assert_eq!(play(DEFAULT, vec![done(), pass()]), "completed");
}

#[test]
fn calls_lead_to_the_next_iteration() {
    assert_eq!(
        play(DEFAULT, vec![call("a"), ok(), call("b"), ok(), done(), pass()]),
        "next_turn x2 > completed"
    );
}

#[test]
fn output_limit_escalates_once_then_resumes_three_times() {
    let cut = || vec![say(SampleEnd::MaxOutput)];
    let own_limit = Limits { may_escalate: false, ..DEFAULT };
    assert_eq!(
        play(DEFAULT, times(5, cut)),
        "max_output_tokens_escalate > max_output_tokens_recovery 1 > 2 > 3 > max_output_tokens"
    );
    assert_eq!(
        play(own_limit, times(4, cut)),
        "max_output_tokens_recovery 1 > 2 > 3 > max_output_tokens"
    );
}

#[test]
fn a_full_window_never_escalates() {
    let full = || vec![say(SampleEnd::WindowFull)];
    assert_eq!(
        play(DEFAULT, times(4, full)),
        "max_output_tokens_recovery 1 > 2 > 3 > max_output_tokens"
    );
}

#[test]
fn recovery_starts_afresh_with_each_iteration() {
    let cut = || say(SampleEnd::MaxOutput);
    let script = vec![cut(), cut(), cut(), call("a"), ok(), cut(), cut(), cut()];
    assert_eq!(
        play(DEFAULT, script),
        "max_output_tokens_escalate > max_output_tokens_recovery 1 > 2 > next_turn > \
         max_output_tokens_escalate > max_output_tokens_recovery 1 > 2 > …"
    );
}

#[test]
fn cut_calls_are_bounded_until_an_answer_is_complete() {
    let cut = || vec![cut_call("a"), ok()];
    let mixed = || vec![answer(vec![use_of("a"), use_of("b")], true, SampleEnd::EndOfTurn), ok()];
    let whole = || vec![call("b"), ok()];
    assert_eq!(play(DEFAULT, times(4, cut)), "next_turn x3 > max_output_tokens");
    assert_eq!(play(DEFAULT, times(4, mixed)), "next_turn x3 > max_output_tokens");
    let reset = [times(3, cut), whole(), times(3, cut)].concat();
    assert_eq!(play(DEFAULT, reset), "next_turn x7 > …");
    let not_reset = [times(2, cut), mixed(), cut()].concat();
    assert_eq!(play(DEFAULT, not_reset), "next_turn x3 > max_output_tokens");
    let text_between = [times(3, cut), vec![done(), block()], cut()].concat();
    assert_eq!(
        play(DEFAULT, text_between),
        "next_turn x3 > stop_hook_blocking > max_output_tokens"
    );
}

#[test]
fn a_call_cut_by_the_output_limit_escalates_first() {
    let cut = || answer(vec![use_of("a")], true, SampleEnd::MaxOutput);
    assert_eq!(
        play(DEFAULT, vec![cut(), cut(), ok()]),
        "max_output_tokens_escalate > next_turn > …"
    );
}

#[test]
fn a_broken_stream_is_retried_then_the_model_changes_then_it_ends() {
    use ModelErrorKind::{Overloaded, Protocol};
    assert_eq!(
        play(DEFAULT, times(4, || vec![broken(Protocol)])),
        "stream_retry 1 > 2 > 3 > model_error protocol"
    );
    assert_eq!(
        play(FALLBACK, times(4, || vec![broken(Protocol)])),
        "stream_retry 1 > 2 > 3 > model_error protocol"
    );
    assert_eq!(
        play(FALLBACK, times(8, || vec![broken(Overloaded)])),
        "stream_retry 1 > 2 > 3 > model_fallback > stream_retry 1 > 2 > 3 > model_error overloaded"
    );
}

#[test]
fn each_kind_of_failure_has_its_way() {
    use ModelErrorKind::*;
    let table = [
        (ContextOverflow, "…", "…"),
        (RateLimited, "model_error rate_limited", "model_error rate_limited"),
        (Overloaded, "model_error overloaded", "model_fallback > …"),
        (Unavailable, "model_error unavailable", "model_fallback > …"),
        (Auth, "model_error auth", "model_error auth"),
        (ModelNotFound, "model_error model_not_found", "model_fallback > …"),
        (BadRequest, "model_error bad_request", "model_error bad_request"),
        (BadImage, "image_error", "image_error"),
        (BadThinking, "model_error bad_thinking", "model_error bad_thinking"),
        (Protocol, "model_error protocol", "model_error protocol"),
    ];
    for (kind, alone, with_fallback) in table {
        assert_eq!(play(DEFAULT, vec![failed(kind)]), alone, "{kind:?}");
        assert_eq!(play(FALLBACK, vec![failed(kind)]), with_fallback, "{kind:?}");
    }
}

#[test]
fn the_model_changes_once_and_for_the_whole_turn() {
    let over = || failed(ModelErrorKind::Overloaded);
    let played = run(go(), FALLBACK, vec![over(), call("a"), ok(), over()]);
    assert_eq!(played.reasons(), "model_fallback > next_turn > model_error overloaded");
    let asked = |step: &Step| match step {
        Step::Sample { fallback, .. } => Some(*fallback),
        _ => None,
    };
    assert_eq!(played.steps.iter().filter_map(asked).collect::<Vec<_>>(), [false, true, true]);
}

#[test]
fn a_step_tells_the_driver_what_to_ask_for() {
    let (cut, broken) = (|| say(SampleEnd::MaxOutput), || broken(ModelErrorKind::Protocol));
    let played =
        run(go(), DEFAULT, vec![broken(), broken(), cut(), cut(), call("a"), ok(), done()]);
    let asked = |step: &Step| match step {
        Step::Sample { escalated, stream_retry, .. } => Some((*escalated, *stream_retry)),
        _ => None,
    };
    let asked: Vec<_> = played.steps.iter().filter_map(asked).collect();
    assert_eq!(asked, [(false, 0), (false, 1), (false, 2), (true, 2), (true, 2), (false, 0)]);
}

#[test]
fn overflow_collapses_then_compacts_then_ends() {
    let over = || failed(ModelErrorKind::ContextOverflow);
    let collapsed = || Outcome::Collapsed(Some((go(), 3)));
    let compacted = || Outcome::Compacted(Some(go()));
    let no_collapse = || Outcome::Collapsed(None);
    let no_compact = || Outcome::Compacted(None);
    let table = [
        (
            vec![over(), collapsed(), over(), compacted(), over()],
            "collapse_drain_retry 3 > reactive_compact_retry > prompt_too_long",
        ),
        (
            vec![over(), no_collapse(), compacted(), over()],
            "reactive_compact_retry > prompt_too_long",
        ),
        (vec![over(), no_collapse(), no_compact()], "prompt_too_long"),
        (
            vec![over(), collapsed(), over(), no_compact()],
            "collapse_drain_retry 3 > prompt_too_long",
        ),
        (
            vec![over(), collapsed(), call("a"), ok(), over(), collapsed()],
            "collapse_drain_retry 3 > next_turn > collapse_drain_retry 3 > …",
        ),
    ];
    for (outcomes, expected) in table {
        assert_eq!(play(DEFAULT, outcomes), expected);
    }
}

/// Some providers report these faults only after the stream has begun.
#[test]
fn a_fault_of_the_request_is_repaired_at_once_also_when_the_stream_had_begun() {
    let over = || broken(ModelErrorKind::ContextOverflow);
    let (collapsed, compacted) =
        (Outcome::Collapsed(Some((go(), 1))), Outcome::Compacted(Some(go())));
    let played = run(go(), DEFAULT, vec![over(), collapsed, over(), compacted]);
    assert_eq!(played.reasons(), "collapse_drain_retry 1 > reactive_compact_retry > …");
    assert!(!played.facts.iter().any(|fact| matches!(fact, Fact::Answered(_))));
    assert_eq!(played.state.view, go());
    let faults = vec![broken(ModelErrorKind::BadImage), broken(ModelErrorKind::BadThinking)];
    assert_eq!(
        run(rich(), DEFAULT, faults).reasons(),
        "image_drop_retry > thinking_drop_retry > …"
    );
}

pub(super) fn rich() -> View {
    let image = Block::Image(Image { media: "image/png".into(), data: "".into(), blob: None });
    let thinking = Block::Thinking { text: "hm".into(), signature: None };
    View::from_messages([
        Message::User { content: vec![Block::text("go"), image] },
        Message::assistant(&ModelId::new("m"), vec![thinking, Block::text("so")]),
        Message::user("on"),
    ])
}

#[test]
fn images_and_thinking_are_left_out_once_if_there_are_any() {
    use ModelErrorKind::{BadImage, BadThinking};
    let table = [
        (rich(), vec![failed(BadImage), failed(BadImage)], "image_drop_retry > image_error"),
        (
            rich(),
            vec![failed(BadThinking), failed(BadThinking)],
            "thinking_drop_retry > model_error bad_thinking",
        ),
        (
            rich(),
            vec![failed(BadImage), failed(BadThinking)],
            "image_drop_retry > thinking_drop_retry > …",
        ),
        (go(), vec![failed(BadImage)], "image_error"),
        (go(), vec![failed(BadThinking)], "model_error bad_thinking"),
    ];
    for (view, outcomes, expected) in table {
        assert_eq!(run(view, DEFAULT, outcomes).reasons(), expected);
    }
    // Also when the next view brings a new image: once is once.
    let again = vec![failed(BadImage), Outcome::Prepared(Ok(rich())), failed(BadImage)];
    assert_eq!(run(rich(), DEFAULT, again).reasons(), "image_drop_retry > image_error");
}

#[test]
fn pauses_and_empty_answers_are_bounded() {
    assert_eq!(
        play(DEFAULT, times(11, || vec![say(SampleEnd::Paused)])),
        "pause_resume 1 > 2 > 3 > 4 > 5 > 6 > 7 > 8 > 9 > 10 > model_error protocol"
    );
    let empty = || nothing(SampleEnd::Empty);
    assert_eq!(play(DEFAULT, vec![empty(), empty(), pass()]), "empty_retry 1 > completed");
}

#[test]
fn hooks_may_block_eight_times_and_nudge_three_times() {
    let prevent = hooks(StopVerdict::Prevent);
    assert_eq!(
        play(DEFAULT, times(9, || vec![done(), block()])),
        "stop_hook_blocking x8 > stop_hook_prevented"
    );
    assert_eq!(
        play(DEFAULT, times(4, || vec![done(), nudge()])),
        "token_budget_continuation x3 > completed"
    );
    assert_eq!(play(DEFAULT, vec![done(), prevent]), "stop_hook_prevented");
}

#[test]
fn iterations_are_counted_after_the_tools_ran() {
    let two = Limits { max_iterations: Some(2), ..DEFAULT };
    let tools = || vec![call("a"), ok()];
    assert_eq!(play(two, times(2, tools)), "next_turn > max_turns");
    assert_eq!(play(two, [tools(), vec![done(), pass()]].concat()), "next_turn > completed");
    let played = run(go(), two, times(2, tools));
    let results = played.state.view.messages().flat_map(Message::blocks);
    assert_eq!(results.filter(|block| matches!(block, Block::ToolResult { .. })).count(), 2);
}

#[test]
fn ways_out_before_and_after_the_model() {
    let prepared = |error| vec![Outcome::Prepared(Err(error))];
    let tools = |end| vec![call("a"), ran(end)];
    let table = [
        (prepared(PrepareError::BlockingLimit), "blocking_limit"),
        (prepared(PrepareError::BudgetSpent), "max_budget"),
        (prepared(PrepareError::BudgetUnknown), "ledger_failed"),
        (prepared(PrepareError::RapidRefill), "rapid_refill_breaker"),
        (vec![say(SampleEnd::Refused)], "refusal"),
        (vec![answer(vec![use_of("a")], false, SampleEnd::Refused)], "refusal"),
        (vec![say(SampleEnd::Cancelled)], "aborted_streaming"),
        (vec![nothing(SampleEnd::Cancelled)], "aborted_streaming"),
        (tools(ToolsEnd::Cancelled), "aborted_tools"),
        (tools(ToolsEnd::HookStopped), "hook_stopped"),
        (tools(ToolsEnd::BudgetSpent), "max_budget"),
        (tools(ToolsEnd::Deferred), "tool_deferred"),
    ];
    for (outcomes, expected) in table {
        assert_eq!(play(DEFAULT, outcomes), expected);
    }
}

/// The ways into each phase; the last step of each list decides the phase.
fn ways_in() -> Vec<Vec<Outcome>> {
    let over = || failed(ModelErrorKind::ContextOverflow);
    vec![
        vec![],
        vec![Outcome::Prepared(Ok(go()))],
        vec![over()],
        vec![over(), Outcome::Collapsed(None)],
        vec![call("a")],
        vec![done()],
    ]
}

#[test]
fn interrupt_and_store_failure_end_the_turn_from_every_phase() {
    for (last, expected) in
        [(Outcome::Interrupted, "aborted_streaming"), (Outcome::StoreFailed, "store_failed")]
    {
        for way in ways_in() {
            let outcomes = [way, vec![last.clone()]].concat();
            let played = run(go(), DEFAULT, outcomes);
            assert_eq!(played.reasons(), expected, "{:?}", played.steps);
            assert!(played.state.view.open_calls().is_empty());
        }
    }
}
