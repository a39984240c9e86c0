//! What is known and chosen about the window.

use ostler_core::context::{Gauge, Pressure, WindowBounds, weight};
use ostler_core::ids::ModelId;
use ostler_core::model::Request;
use ostler_core::ports::{BeforeCompact, Carried, Reminder};
use ostler_core::turn::{Outcome, PrepareError};
use ostler_core::view::View;
use std::sync::{Arc, Mutex, PoisonError};

/// So many summaries in a row, each needed again within so many iterations, and the turn ends.
const RAPID: u32 = 3;

/// What a caller decides about the window.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContextSettings {
    /// Compact automatically: before the provider has to reject a request, and when it does.
    pub auto: bool,
    /// Summarize when somebody asks for it.
    pub on_request: bool,
    /// A summary is used although it takes more room than what it replaces, as where sizes are only made up.
    pub even_without_gain: bool,
    /// Instead of the window that is known of the model.
    pub window: Option<u64>,
    /// The window is not taken for larger than this.
    pub window_at_most: Option<u64>,
    pub bounds: WindowBounds,
    /// Tokens of a summary.
    pub summary: u64,
    /// The model that summarizes; the turn's own if none is named.
    pub summary_model: Option<ModelId>,
    /// Output tokens that a turn is meant to use: a model that stops long before is asked to continue.
    pub task_budget: Option<u64>,
}

impl Default for ContextSettings {
    fn default() -> Self {
        ContextSettings {
            auto: true,
            on_request: true,
            even_without_gain: false,
            window: None,
            window_at_most: None,
            bounds: WindowBounds::default(),
            summary: 2_000,
            summary_model: None,
            task_budget: None,
        }
    }
}

/// The guards and providers of context that take part.
#[derive(Default)]
pub struct Context {
    pub carried: Vec<Arc<dyn Carried>>,
    pub before_compact: Option<Arc<dyn BeforeCompact>>,
    pub reminders: Vec<Arc<dyn Reminder>>,
    pub(crate) measured: Mutex<Measured>,
}

/// What was learned about sizes.
#[derive(Default)]
pub(crate) struct Measured {
    gauge: Option<Gauge>,
    /// A window that the provider named.
    window: Option<u64>,
}

/// What a turn remembers of its summaries.
#[derive(Default)]
pub(crate) struct Compactions {
    pub(crate) now: u32,
    /// The iteration of the newest try, and of the newest that came about.
    tried: Option<u32>,
    last: Option<u32>,
    rapid: u32,
    told: bool,
}

impl Compactions {
    /// That it is of no use is said once in a turn.
    pub(crate) fn is_news(&mut self) -> bool {
        !std::mem::replace(&mut self.told, true)
    }

    /// One came about in this iteration.
    pub(crate) fn is_done(&self, iteration: u32) -> bool {
        self.last == Some(iteration)
    }

    /// One try in an iteration; after one that brought nothing, a pause.
    pub(crate) fn may_try(&self, iteration: u32) -> bool {
        let failed = self.tried != self.last;
        self.tried != Some(iteration) && !(failed && is_soon(self.tried, iteration))
    }

    pub(crate) fn tried(&mut self) {
        self.tried = Some(self.now);
    }

    pub(crate) fn succeeded(&mut self, iteration: u32) {
        self.rapid = if is_soon(self.last, iteration) { self.rapid + 1 } else { 1 };
        self.last = Some(iteration);
    }

    pub(crate) fn is_rapid(&self, iteration: u32) -> bool {
        self.rapid >= RAPID && is_soon(self.last, iteration)
    }
}

fn is_soon(before: Option<u32>, iteration: u32) -> bool {
    before.is_some_and(|before| iteration.saturating_sub(before) <= RAPID)
}

/// Why a step stops that was to make room.
pub(crate) enum Halt {
    Interrupted,
    Store,
    Prepare(PrepareError),
}

impl Halt {
    /// `view` is what the log has made of the conversation until then.
    pub(crate) fn outcome(self, view: View) -> Outcome {
        let then = Box::new(match self {
            Halt::Interrupted => Outcome::Interrupted,
            Halt::Store => Outcome::StoreFailed,
            Halt::Prepare(error) => Outcome::Prepared(Err(error)),
        });
        Outcome::Reshaped { view, then }
    }
}

impl Context {
    pub(crate) fn learn(&self, gauge: Gauge, window: Option<u64>) {
        let mut measured = self.measured();
        measured.gauge = Some(gauge);
        measured.window = window.or(measured.window);
    }

    /// Another model counts tokens differently.
    pub(crate) fn forget_measures(&self) {
        *self.measured() = Measured::default();
    }

    fn measured(&self) -> std::sync::MutexGuard<'_, Measured> {
        self.measured.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl crate::agent::Agent {
    /// How full the window is with this conversation.
    pub fn pressure(&self, view: &View, model: &ModelId) -> Pressure {
        let gauge = self.gauge(model);
        let settings = &self.settings.context;
        let known = settings.window.unwrap_or_else(|| self.model.info(model).window);
        let said = self.context.measured().window;
        let window = [settings.window_at_most, said].into_iter().flatten().fold(known, u64::min);
        settings.bounds.pressure(window, gauge.overhead(), gauge.tokens(view.weight()))
    }

    /// Made when it is first asked for, and taught by what the log knows.
    pub fn gauge(&self, model: &ModelId) -> Gauge {
        if let Some(gauge) = self.context.measured().gauge {
            return gauge;
        }
        let tools = self.tools.current().specs();
        let request = Request {
            model: model.clone(),
            system: self.system.clone(),
            tools: tools.clone(),
            view: View::default(),
            max_output: 0,
            thinking: self.thinking(),
            retries: 0,
            retries_before_fallback: None,
            raw_events: false,
            source: self.meter.purpose,
            agent: self.meter.path.clone(),
        };
        let fixed = weight::of_prefix(&self.system, &tools);
        let mut gauge = Gauge::new(fixed, Some(self.model.estimate(&request)));
        if let Some((asked, answer, usage)) = self.journal.measured() {
            gauge.reported(asked, answer, &usage);
        }
        self.context.measured().gauge = Some(gauge);
        gauge
    }
}
