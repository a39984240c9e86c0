//! The loop ends whatever the world does, proved by walking every outcome from every control state.
//!
//! With a bound on iterations no path may meet a state twice. Without one the only way back is an iteration whose
//! answer was kept and whose calls were all complete: with those edges cut, the graph must have no cycle either.
//! What arrives from outside leads round as well, so the walk counts it: an item redirects the turn once at most and
//! enters it once at most, and nothing but a new item can do so again.
//! The walk takes `advance` as an argument, so that planted faults show that it would notice.

use super::*;
use crate::pairing;
use proptest::prelude::*;
use std::collections::{BTreeSet, HashMap};
use std::hash::{BuildHasherDefault, Hasher};
use world::*;

#[path = "world_tests.rs"]
mod world;

/// Names of all variants; one that is missing here does not compile, one that is never reached fails the walk.
macro_rules! variants {
    ($name:ident, $all:ident, $reason:ident: $($variant:ident),+ $(,)?) => {
        pub(super) const $all: &[&str] = &[$(stringify!($variant)),+];
        fn $name(reason: $reason) -> &'static str {
            match reason { $($reason::$variant { .. } => stringify!($variant)),+ }
        }
    };
}

variants!(way_round, WAYS_ROUND, Continue:
    NextTurn, CollapseDrainRetry, ReactiveCompactRetry, MaxOutputTokensEscalate, MaxOutputTokensRecovery,
    StopHookBlocking, TokenBudgetContinuation, ModelFallback, StreamRetry, PauseResume, EmptyRetry,
    ImageDropRetry, ThinkingDropRetry, Redirected,
);
variants!(way_out, WAYS_OUT, Terminal:
    Completed, MaxTurns, MaxBudget, LedgerFailed, BlockingLimit, PromptTooLong, MaxOutputTokens, AbortedStreaming,
    AbortedTools, StopHookPrevented, HookStopped, ImageError, Refusal, ToolDeferred, RapidRefill, ModelError, StoreFailed,
);

#[derive(Clone, Copy, PartialEq)]
enum Colour {
    OnPath,
    Finished,
}

#[derive(Debug)]
struct Stats {
    states: usize,
    edges: usize,
    reasons: BTreeSet<&'static str>,
}

/// Nobody attacks this table, so a few multiplications do.
#[derive(Default)]
struct Fold(u64);

impl Hasher for Fold {
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0.rotate_left(5) ^ u64::from(*byte)).wrapping_mul(0x517c_c1b7_2722_0a95);
        }
    }
    fn finish(&self) -> u64 {
        self.0
    }
}

type Advancer<'a> = &'a dyn Fn(State, Outcome, &Limits) -> Advance;

struct Walk<'a> {
    advance: Advancer<'a>,
    limits: Limits,
    world: &'a World,
    seen: HashMap<Place, Colour, BuildHasherDefault<Fold>>,
    path: Vec<Place>,
    /// Where the edges lead that need not be free of cycles.
    beyond: Vec<Place>,
    edges: usize,
    reasons: BTreeSet<&'static str>,
}

/// A control state, and how often arrivals may still interfere.
type Place = (Control, u8);

/// One item that redirects and enters; more of them only repeat what it does.
const ARRIVALS: u8 = 2;

/// Visits everything reachable. An error says which path comes back to itself, or which edge breaks a rule.
fn walk(limits: Limits, advance: Advancer<'_>) -> Result<Stats, String> {
    let mut walk = Walk {
        advance,
        limits,
        world: &World::new(),
        seen: HashMap::default(),
        path: Vec::new(),
        beyond: Vec::new(),
        edges: 0,
        reasons: BTreeSet::new(),
    };
    walk.beyond.push((Control::of(&State::start(plain()), &limits), ARRIVALS));
    while let Some(root) = walk.beyond.pop() {
        if !walk.seen.contains_key(&root) {
            walk.visit(root)?;
        }
    }
    Ok(Stats { states: walk.seen.len(), edges: walk.edges, reasons: walk.reasons })
}

impl Walk<'_> {
    fn visit(&mut self, at: Place) -> Result<(), String> {
        self.seen.insert(at, Colour::OnPath);
        self.path.push(at);
        let (world, (control, arrivals)) = (self.world, at);
        for (history, outcomes) in world.outcomes(control.phase) {
            let state = control.state(history);
            for outcome in outcomes {
                let Some(left) = arrivals.checked_sub(u8::from(is_arrival(outcome))) else {
                    continue;
                };
                let (to, progress) = self.edge(&state, outcome)?;
                let to = (to, left);
                match self.seen.get(&to) {
                    Some(Colour::Finished) => {}
                    _ if progress => self.beyond.push(to),
                    Some(Colour::OnPath) => return Err(self.cycle(to)),
                    None => self.visit(to)?,
                }
            }
        }
        self.path.pop();
        self.seen.insert(at, Colour::Finished);
        Ok(())
    }

    fn edge(&mut self, before: &State, outcome: &Outcome) -> Result<(Control, bool), String> {
        let after = (self.advance)(before.clone(), outcome.clone(), &self.limits);
        check(before, outcome, &after)
            .map_err(|wrong| format!("{wrong}: {before:?} {outcome:?} {after:?}"))?;
        self.edges += 1;
        for fact in &after.facts {
            match fact {
                Fact::Went(why) => self.reasons.insert(way_round(*why)),
                Fact::Ended(terminal) => self.reasons.insert(way_out(*terminal)),
                _ => false,
            };
        }
        // `check` has made sure that a phase that settles uncut calls follows a kept answer with complete calls only.
        let complete = matches!(before.phase, Phase::SettleTools { cut: false, .. });
        let progress = complete && after.state.last == Some(Continue::NextTurn);
        let endless = self.limits.max_iterations.is_none();
        Ok((Control::of(&after.state, &self.limits), endless && progress))
    }

    fn cycle(&self, to: Place) -> String {
        let from = self.path.iter().position(|at| *at == to).unwrap_or(0);
        let phases: Vec<String> =
            self.path[from..].iter().map(|(at, _)| format!("{:?}", at.phase)).collect();
        format!("cycle: {} and back to {to:?}", phases.join(" > "))
    }
}

/// Only an item that arrived makes this happen.
fn is_arrival(outcome: &Outcome) -> bool {
    matches!(
        outcome,
        Outcome::Received { .. }
            | Outcome::Sampled { end: SampleEnd::Redirected, .. }
            | Outcome::ToolsSettled { end: ToolsEnd::Redirected, .. }
            | Outcome::StopHooks(StopVerdict::Arrived)
    )
}

/// What holds on each edge, whatever happened.
fn check(before: &State, outcome: &Outcome, after: &Advance) -> Result<(), String> {
    let Advance { state, facts } = after;
    let count = |is: fn(&Fact) -> bool| facts.iter().filter(|fact| is(fact)).count();
    let answered = count(|fact| matches!(fact, Fact::Answered(_)));
    let dropped = count(|fact| matches!(fact, Fact::Dropped));
    let went = count(|fact| matches!(fact, Fact::Went(_)));
    let ended = count(|fact| matches!(fact, Fact::Ended(_)));
    let settles = matches!(state.phase, Phase::SettleTools { .. });
    let waits = settles || state.phase == Phase::Done(Terminal::ToolDeferred);
    let reason_is_right = match (state.phase, facts.last()) {
        (Phase::Prepare, Some(Fact::Went(why))) => {
            went == 1 && ended == 0 && state.last == Some(*why)
        }
        (Phase::Done(terminal), Some(Fact::Ended(told))) => {
            went == 0 && ended == 1 && terminal == *told
        }
        (Phase::Prepare, Some(Fact::Admitted { .. })) => {
            matches!(outcome, Outcome::Received { .. }) && went == 0 && ended == 0
        }
        (Phase::Prepare | Phase::Done(_), _) => false,
        _ => went == 0 && ended == 0,
    };
    let rules = [
        (
            waits != state.view.open_calls().is_empty(),
            "calls are open exactly while they are settled or deferred",
        ),
        (reason_is_right, "one reason, told last"),
        (answered + dropped <= 1, "an answer is kept or dropped"),
        (
            dropped == 0 || state.view.items().len() == before.view.items().len(),
            "a dropped answer leaves no trace",
        ),
        (
            answered == usize::from(dropped == 0 && keepable(outcome)),
            "an answer that is not dropped is kept",
        ),
        (
            !matches!(outcome, Outcome::PromptRefused(_))
                || state.view.items().len() == before.view.items().len(),
            "a refused prompt leaves no trace",
        ),
        (!settles || answered == 1, "only the calls of a kept answer are settled"),
        (!settles || cut_is(outcome, state.phase), "what was cut is remembered"),
        (told_in_order(facts, &state.view), "facts tell what the view holds, in order"),
        (
            carries_a_view(outcome) || dropped == 1 || appended(before, state),
            "earlier messages stay as they were",
        ),
    ];
    if let Some((_, rule)) = rules.iter().find(|(holds, _)| !holds) {
        return Err((*rule).to_owned());
    }
    let wrong = match state.phase {
        Phase::Done(_) if !waits => pairing::check(&state.view.messages().collect::<Vec<_>>()),
        _ => Vec::new(),
    };
    if wrong.is_empty() { Ok(()) } else { Err(wrong.join(", ")) }
}

fn keepable(outcome: &Outcome) -> bool {
    let Outcome::Sampled { message: Some(message), .. } = outcome else { return false };
    message.blocks().iter().any(|block| !block.is_thinking())
}

fn cut_is(outcome: &Outcome, phase: Phase) -> bool {
    let Phase::SettleTools { cut, .. } = phase else { return true };
    matches!(outcome, Outcome::Sampled { message: Some(message), cut: said, .. }
        if *said == cut && message.calls().count() > 0)
}

fn told_in_order(facts: &[Fact], view: &View) -> bool {
    let mut items = view.items().iter();
    facts.iter().all(|fact| match fact {
        Fact::Answered(told) | Fact::Noted(told) | Fact::Admitted { item: told, .. } => {
            items.any(|item| Arc::ptr_eq(item, told))
        }
        _ => true,
    })
}

fn carries_a_view(outcome: &Outcome) -> bool {
    matches!(
        outcome,
        Outcome::Prepared(Ok(_))
            | Outcome::Collapsed(Some(_))
            | Outcome::Compacted(Some(_))
            | Outcome::Reshaped { .. }
    )
}

fn appended(before: &State, after: &State) -> bool {
    let (had, has) = (before.view.items(), after.view.items());
    had.len() <= has.len() && had.iter().zip(has).all(|(had, has)| Arc::ptr_eq(had, has))
}

const SMALL: Limits = Limits {
    max_iterations: Some(2),
    may_escalate: true,
    has_fallback: true,
    max_resumes: 1,
    max_stop_blocks: 1,
    max_nudges: 1,
    max_cut_calls: 1,
    max_stream_retries: 1,
    max_pauses: 1,
    max_empty_retries: 1,
};
const ENDLESS: Limits = Limits { max_iterations: None, ..SMALL };

#[test]
fn no_path_meets_a_state_twice_and_every_reason_is_reached() {
    let stats = walk(SMALL, &advance).unwrap();
    let (states, edges, reasons) = (stats.states, stats.edges, stats.reasons.len());
    println!("control states walked: {states}, edges: {edges}, reasons reached: {reasons}");
    let all: BTreeSet<&str> = WAYS_ROUND.iter().chain(WAYS_OUT).copied().collect();
    assert_eq!(stats.reasons, all);
}

#[test]
fn without_a_bound_on_iterations_only_complete_calls_lead_back() {
    let stats = walk(ENDLESS, &advance).unwrap();
    assert!(stats.reasons.contains("NextTurn") && !stats.reasons.contains("MaxTurns"));
}

/// One fault per field of `Recovery`; a new field does not compile until it is listed.
macro_rules! forgetting {
    ($($field:ident),+ $(,)?) => {{
        let Recovery { $($field: _),+ } = Recovery::default();
        let faults: Vec<(&str, fn(&mut Recovery))> =
            vec![$((stringify!($field), |recovery| recovery.$field = Default::default())),+];
        faults
    }};
}

#[test]
fn each_forgotten_bound_is_found_as_a_cycle() {
    let faults = forgetting!(
        collapsed,
        compacted,
        escalated,
        resumes,
        stop_blocks,
        nudges,
        fell_back,
        cut_calls,
        stream_retries,
        pauses,
        empty_retries,
        images_dropped,
        thinking_dropped,
    );
    for (field, forget) in faults {
        let faulty = |state: State, outcome: Outcome, limits: &Limits| {
            let mut after = advance(state, outcome, limits);
            forget(&mut after.state.recovery);
            after
        };
        let found = walk(ENDLESS, &faulty).expect_err(field);
        assert!(found.starts_with("cycle: "), "{field}: {found}");
        // Cut calls go round by new iterations only, so the bound on those ends them, too.
        if field != "cut_calls" {
            assert!(walk(SMALL, &faulty).is_err(), "{field}");
        }
    }
}

#[test]
fn a_forgotten_iteration_is_found_as_a_cycle() {
    let faulty = |state: State, outcome: Outcome, limits: &Limits| {
        let mut after = advance(state, outcome, limits);
        after.state.iteration = 1;
        after
    };
    assert!(walk(SMALL, &faulty).expect_err("iteration").starts_with("cycle: "));
}

/// An item that is not gone once it was delivered would be delivered forever.
#[test]
fn an_arrival_that_is_never_used_up_is_found_as_a_cycle() {
    let faulty = |state: State, outcome: Outcome, limits: &Limits| {
        let outcome = match outcome {
            Outcome::Sampled { message: None, end: SampleEnd::Cancelled, cut } => {
                Outcome::Sampled { message: None, end: SampleEnd::Redirected, cut }
            }
            other => other,
        };
        advance(state, outcome, limits)
    };
    assert!(walk(SMALL, &faulty).expect_err("arrivals").starts_with("cycle: "));
}

#[test]
fn each_broken_rule_is_found_on_its_edge() {
    type Fault = (&'static str, fn(&mut Advance));
    let faults: [Fault; 7] = [
        ("one reason, told last", |after| drop(after.facts.pop())),
        ("one reason, told last", |after| {
            let late = (!after.facts.is_empty()).then_some(Fact::Dropped);
            after.facts.extend(late);
        }),
        ("an answer is kept or dropped", |after| {
            let answered =
                after.facts.iter().find(|fact| matches!(fact, Fact::Answered(_))).cloned();
            after.facts.splice(0..0, answered);
        }),
        ("an answer that is not dropped is kept", |after| {
            after.facts.retain(|fact| !matches!(fact, Fact::Answered(_)));
        }),
        ("calls are open exactly while they are settled or deferred", |after| {
            after.state.view.push(said(vec![use_of("z")]));
        }),
        ("a refused prompt leaves no trace", |after| {
            let is_over = after.facts.len() == 1
                && matches!(after.facts.last(), Some(Fact::Ended(Terminal::AbortedStreaming)));
            if is_over {
                after.state.view.push(Message::meta(prompt_texts::INTERRUPTED_ANSWER));
            }
        }),
        ("earlier messages stay as they were", |after| {
            after.state.view = View::from_messages(after.state.view.messages().cloned());
            after.facts.retain(|fact| !matches!(fact, Fact::Noted(_)));
        }),
    ];
    for (rule, spoil) in faults {
        let faulty = |state: State, outcome: Outcome, limits: &Limits| {
            let mut after = advance(state, outcome, limits);
            spoil(&mut after);
            after
        };
        let found = walk(SMALL, &faulty).expect_err(rule);
        assert!(found.starts_with(rule), "{rule}: {found}");
    }
}

fn any_history() -> impl Strategy<Value = View> {
    let block = prop_oneof!["[a-z]{1,4}".prop_map(Block::text), Just(thought()), Just(image())];
    let content = proptest::collection::vec(block, 1..4);
    let message = (any::<bool>(), content).prop_map(|(answer, mut content)| match answer {
        true => said(content),
        false => {
            content.retain(|block| !block.is_thinking());
            Message::User { content }
        }
    });
    let messages = proptest::collection::vec(message, 0..6);
    messages.prop_map(|rest| View::from_messages([Message::user("go")].into_iter().chain(rest)))
}

proptest! {
    /// What makes the walk a proof: a long history leads to the same control state as the short one it stands for.
    #[test]
    fn control_never_depends_on_what_a_message_says(
        view in any_history(),
        nth in any::<prop::sample::Index>(),
    ) {
        let outcomes = samples();
        let outcome = nth.get(&outcomes);
        let stands_for = match refused(outcome) {
            Some(ModelErrorKind::BadImage) if !view.clone().drop_images() => plain(),
            Some(ModelErrorKind::BadThinking) if !view.clone().drop_thinking() => plain(),
            _ => rich(),
        };
        let lead_to = |view: View| {
            let state = State { phase: Phase::Sample, ..State::start(view) };
            Control::of(&advance(state, outcome.clone(), &SMALL).state, &SMALL)
        };
        prop_assert_eq!(lead_to(view), lead_to(stands_for));
    }
}
