//! Mode, model and thinking of a running session. They count from the next step on, and are recorded.

use crate::input::{InputReceipt, InputRefused};
use crate::session::Session;
use ostler_core::event::Event;
use ostler_core::model::Thinking;
use ostler_core::permission::Mode;

impl Session {
    /// As a surface asks for it.
    pub(crate) fn choose_mode(&self, mode: Mode) -> Result<InputReceipt, InputRefused> {
        match mode == Mode::BypassPermissions && !self.may_bypass() {
            true => Err(InputRefused::NoBypass),
            false => self.set_mode(mode),
        }
    }

    pub(crate) fn set_mode(&self, mode: Mode) -> Result<InputReceipt, InputRefused> {
        self.shared().agent.set_mode(mode);
        self.controlled()
    }

    fn may_bypass(&self) -> bool {
        let options = &self.shared().origin.1;
        options.may_bypass || options.mode == Mode::BypassPermissions
    }

    pub(crate) fn set_model(&self, name: &str) -> Result<InputReceipt, InputRefused> {
        let model = ostler_models::resolve_model(name);
        if self.shared().parts.has_budget && self.model_info(&model).price.is_none() {
            return Err(InputRefused::NoPrice(model.to_string()));
        }
        self.shared().agent.set_model(model);
        self.controlled()
    }

    pub(crate) fn set_thinking(&self, thinking: Thinking) -> Result<InputReceipt, InputRefused> {
        self.shared().agent.set_thinking(thinking);
        self.controlled()
    }

    pub(crate) fn controlled(&self) -> Result<InputReceipt, InputRefused> {
        let control = self.control();
        self.shared().events.emit(Event::ControlChanged(control.clone()));
        self.shared().agent.journal.set_control(control).map_err(InputRefused::Store)?;
        Ok(InputReceipt::Done)
    }
}
