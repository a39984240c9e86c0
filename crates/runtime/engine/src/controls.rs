//! What can be changed while a session runs. A change counts from the next request and the next call that starts.

use crate::agent::{Agent, ModelChoice};
use ostler_core::event::Control;
use ostler_core::ids::ModelId;
use ostler_core::model::Thinking;
use ostler_core::permission::Mode;
use std::path::PathBuf;
use std::sync::{PoisonError, RwLock};

/// The model, its thinking and the directories that were added. The mode is the gate's.
#[derive(Debug)]
pub struct Controls(RwLock<Chosen>);

#[derive(Clone, Debug)]
struct Chosen {
    choice: ModelChoice,
    thinking: Thinking,
    directories: Vec<PathBuf>,
    /// The model of this turn, instead of the session's.
    for_turn: Option<ModelId>,
}

impl Controls {
    pub fn new(choice: ModelChoice, thinking: Thinking) -> Self {
        Controls(RwLock::new(Chosen { choice, thinking, directories: Vec::new(), for_turn: None }))
    }

    fn chosen(&self) -> Chosen {
        self.0.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Agent {
    pub fn choice(&self) -> ModelChoice {
        let Chosen { choice, for_turn, .. } = self.controls.chosen();
        ModelChoice { primary: for_turn.unwrap_or(choice.primary), ..choice }
    }

    /// A turn begins: what was set for the one before is gone.
    pub fn begin_turn(&self) {
        self.gate.begin_turn();
        let mut chosen = self.controls.0.write().unwrap_or_else(PoisonError::into_inner);
        if chosen.for_turn.take().is_some() {
            self.context.forget_measures();
        }
    }

    /// The model until the next turn begins. Nothing of it is recorded.
    pub fn set_turn_model(&self, model: ModelId) {
        self.controls.0.write().unwrap_or_else(PoisonError::into_inner).for_turn = Some(model);
        self.context.forget_measures();
    }

    pub fn thinking(&self) -> Thinking {
        self.controls.chosen().thinking
    }

    pub(crate) fn model_id(&self, fallback: bool) -> ModelId {
        match self.choice() {
            ModelChoice { fallback: Some(model), .. } if fallback => model,
            choice => choice.primary,
        }
    }

    /// How everything that can be changed is set.
    pub fn control(&self) -> Control {
        let Chosen { choice, thinking, directories: dirs, .. } = self.controls.chosen();
        let (mode, rules) = (self.gate.mode(), self.gate.session_rules());
        Control { mode, model: choice.primary, thinking, rules, dirs }
    }

    pub fn set_mode(&self, mode: Mode) {
        self.gate.set_mode(mode);
    }

    /// What was learned about sizes was learned with the model before.
    pub fn set_model(&self, model: ModelId) {
        let mut chosen = self.controls.0.write().unwrap_or_else(PoisonError::into_inner);
        if chosen.choice.primary != model {
            chosen.choice.primary = model;
            self.context.forget_measures();
            self.tools.relist_later();
        }
    }

    /// The conversation went back to before a turn: what is sent next does not follow what was sent last, on purpose.
    pub fn rewound(&self) {
        self.meter.made_room();
        self.context.forget_measures();
    }

    pub fn set_thinking(&self, thinking: Thinking) {
        self.controls.0.write().unwrap_or_else(PoisonError::into_inner).thinking = thinking;
    }

    /// What is recorded of them; the caller makes them usable.
    pub fn set_directories(&self, directories: Vec<PathBuf>) {
        self.controls.0.write().unwrap_or_else(PoisonError::into_inner).directories = directories;
    }
}
