//! Compacts the context window, cheapest stage first.
//!
//! What is decided is written to the log before it is used, once, and never decided again: a request changes under its
//! successor only where a stage says so.

use crate::context::Halt;
use crate::run::Turn;
use ostler_core::context::{
    Elision, Gauge, Pressure, Saved, StageName, Trigger, ViewChange, WindowBounds, apply_all,
    budget, extract, stages,
};
use ostler_core::event::Notice;
use ostler_core::ids::CallId;
use ostler_core::ledger::Usage;
use ostler_core::model::{ModelError, ModelErrorKind};
use ostler_core::output_bound::bound;
use ostler_core::session::Entry;
use ostler_core::tool::ToolOutput;
use ostler_core::turn::{Outcome, PrepareError, State};
use ostler_core::view::View;

/// A provider that names a smaller one means something else.
const SMALLEST_WINDOW: u64 = 1_000;

/// What the stages without a model would make of a view.
struct Relief {
    view: View,
    done: Vec<(StageName, Vec<ViewChange>, Saved)>,
    tokens: u64,
}

impl Turn {
    /// Makes room where it is needed. `view` is what the log says, also if that ends with an error.
    pub(crate) async fn make_room(&mut self, state: &State, view: &mut View) -> Result<(), Halt> {
        let fallback = state.recovery.fell_back;
        self.shorten_results(view, fallback)?;
        let pressure = self.pressure(view, fallback);
        if !self.agent.settings.context.auto {
            return self.blocked(&pressure);
        }
        if !pressure.is_high() || self.compactions.is_done(state.iteration) {
            return Ok(());
        }
        let relief = self.relief(view, &pressure, fallback);
        if relief.tokens <= pressure.target {
            return self.record_relief(view, relief).await;
        }
        if self.compactions.is_rapid(state.iteration) {
            return Err(Halt::Prepare(PrepareError::RapidRefill));
        }
        if self.compactions.may_try(state.iteration) {
            self.compactions.now = state.iteration;
            if self.compact(view, Trigger::Auto, None, fallback).await? {
                self.compactions.succeeded(state.iteration);
                return Ok(());
            }
        }
        // A little is better than nothing; the provider decides whether it fits.
        if relief.tokens < pressure.threshold {
            self.record_relief(view, relief).await?;
        }
        Ok(())
    }

    /// Without us making room, a request that leaves none for the answer is not sent.
    fn blocked(&mut self, pressure: &Pressure) -> Result<(), Halt> {
        let WindowBounds { reserved, .. } = self.agent.settings.context.bounds;
        let most = pressure.window.saturating_sub(reserved + 3_000).max(pressure.threshold);
        if pressure.tokens < most {
            return Ok(());
        }
        let (tokens, window) = (pressure.tokens, pressure.window);
        let text = format!("the next request has about {tokens} of {window} tokens");
        self.tally.failed(ModelError::new(ModelErrorKind::ContextOverflow, text));
        Err(Halt::Prepare(PrepareError::BlockingLimit))
    }

    /// The provider said that it is too long: what can be left out without a model is.
    pub(crate) async fn drain(&mut self, state: &State) -> Outcome {
        if !self.agent.settings.context.auto {
            return Outcome::Collapsed(None);
        }
        let fallback = state.recovery.fell_back;
        self.learn_overflow(&state.view);
        // What it named may be smaller than what was known when the results came.
        let mut view = state.view.clone();
        if let Err(halt) = self.shorten_results(&mut view, fallback) {
            return halt.outcome(view);
        }
        let shortened = u32::from(view.weight() < state.view.weight());
        let pressure = self.pressure(&view, fallback);
        let relief = self.relief(&view, &pressure, fallback);
        let drained = relief.done.iter().map(|(_, changes, _)| changes.len()).sum::<usize>();
        let drained = u32::try_from(drained).unwrap_or(u32::MAX);
        let helps = drained > 0 && relief.tokens <= pressure.threshold;
        if pressure.is_high() && helps {
            return match self.record_relief(&mut view, relief).await {
                Ok(()) => Outcome::Collapsed(Some((view, shortened + drained))),
                Err(halt) => halt.outcome(view),
            };
        }
        Outcome::Collapsed((shortened > 0).then_some((view, shortened)))
    }

    /// As before, and a summary is the only way left. One per iteration, whoever asked for it.
    pub(crate) async fn compact_for_provider(&mut self, state: &State) -> Outcome {
        let auto = self.agent.settings.context.auto;
        if !auto || self.compactions.is_done(state.iteration) {
            return Outcome::Compacted(None);
        }
        if self.compactions.is_rapid(state.iteration) {
            return Outcome::Prepared(Err(PrepareError::RapidRefill));
        }
        self.learn_overflow(&state.view);
        self.compactions.now = state.iteration;
        let fallback = state.recovery.fell_back;
        let mut view = state.view.clone();
        match self.compact(&mut view, Trigger::Overflow, None, fallback).await {
            Ok(true) => {
                self.compactions.succeeded(state.iteration);
                Outcome::Compacted(Some(view))
            }
            Ok(false) => Outcome::Compacted(None),
            Err(halt) => halt.outcome(view),
        }
    }

    /// Results that came together and are too much for one message go beside before they are sent at all.
    fn shorten_results(&mut self, view: &mut View, fallback: bool) -> Result<(), Halt> {
        let pressure = self.pressure(view, fallback);
        let per_token = self.gauge(fallback).bytes(1_000) as f64 / 1_000.0;
        let chosen = budget::plan(view, &pressure, per_token);
        if chosen.is_empty() {
            return Ok(());
        }
        let blobs = self.agent.journal.blobs();
        let shorten = |(call, text): (CallId, String)| {
            let output = bound(ToolOutput::text(text), budget::PREVIEW, blobs.as_ref());
            let words = extract::first_text_of(&output.content).to_owned();
            ViewChange::Elide(Elision { call, words })
        };
        let changes: Vec<ViewChange> = chosen.into_iter().map(shorten).collect();
        let before = pressure.tokens;
        let mut shorter = view.clone();
        apply_all(&mut shorter, &changes);
        let after = self.pressure(&shorter, fallback).tokens;
        self.record_changes(StageName::Budget, changes, Saved { before, after })?;
        *view = shorter;
        Ok(())
    }

    /// Tries the stages in their order, each on what the one before left, until it is enough.
    fn relief(&self, view: &View, pressure: &Pressure, fallback: bool) -> Relief {
        let mut relief = Relief { view: view.clone(), done: Vec::new(), tokens: pressure.tokens };
        for stage in stages() {
            let changes = stage.plan(&relief.view, pressure, self.tools.known());
            if changes.is_empty() {
                continue;
            }
            let mut view = relief.view.clone();
            apply_all(&mut view, &changes);
            let after = self.pressure(&view, fallback).tokens;
            if after >= relief.tokens {
                continue;
            }
            relief.done.push((stage.name(), changes, Saved { before: relief.tokens, after }));
            relief.tokens = after;
            relief.view = view;
            if after <= pressure.target {
                break;
            }
        }
        relief
    }

    async fn record_relief(&mut self, view: &mut View, relief: Relief) -> Result<(), Halt> {
        let mut told = Vec::new();
        for (stage, changes, saved) in relief.done {
            let count = changes.len();
            self.record_changes(stage, changes, saved)?;
            told.push((stage, count, saved));
        }
        *view = relief.view;
        self.agent.meter.made_room();
        for (stage, count, Saved { before, after }) in told {
            let count = u64::try_from(count).unwrap_or(u64::MAX);
            let (tokens_before, tokens_after) = (before, after);
            self.notice(Notice::RoomMade { stage, count, tokens_before, tokens_after }).await;
        }
        Ok(())
    }

    fn record_changes(
        &mut self,
        stage: StageName,
        changes: Vec<ViewChange>,
        saved: Saved,
    ) -> Result<(), Halt> {
        let (mut results, mut stories) = (Vec::new(), Vec::new());
        for change in changes {
            match change {
                ViewChange::Elide(elision) => results.push(elision),
                ViewChange::Collapse(story) => stories.push(story),
            }
        }
        if !results.is_empty() {
            self.write(Entry::Elided { stage, results, saved })?;
        }
        if !stories.is_empty() {
            self.write(Entry::Collapsed { stories, saved })?;
        }
        Ok(())
    }

    pub(crate) fn write(&mut self, entry: Entry) -> Result<(), Halt> {
        self.agent.journal.write(entry).map_err(|error| {
            self.tally.store_failed(error.to_string());
            Halt::Store
        })
    }

    pub(crate) fn pressure(&self, view: &View, fallback: bool) -> Pressure {
        self.agent.pressure(view, &self.agent.model_id(fallback))
    }

    pub(crate) fn gauge(&self, fallback: bool) -> Gauge {
        self.agent.gauge(&self.agent.model_id(fallback))
    }

    /// An answer is in the view: what was reported for it is what the next estimate begins with.
    pub(crate) fn learn(&self, state: &State, answer: u64, usage: &Usage) {
        let mut gauge = self.gauge(state.recovery.fell_back);
        gauge.reported(state.view.weight().saturating_sub(answer), answer, usage);
        self.agent.context.learn(gauge, None);
    }

    fn learn_overflow(&self, view: &View) {
        let named = self.tally.provider_limits();
        let named = named.prompt.zip(named.window);
        let named = named.filter(|(has, most)| has > most && *most >= SMALLEST_WINDOW);
        let mut gauge = self.gauge(false);
        let window = self.pressure(view, false).window;
        gauge.overflowed(view.weight(), named.map_or(window + 1, |(has, _)| has));
        self.agent.context.learn(gauge, named.map(|(_, most)| most));
    }
}
