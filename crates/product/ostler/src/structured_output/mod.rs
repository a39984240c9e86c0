//! An answer in a form that the caller chose: the model gives it by calling a tool whose input has that form.
//!
//! The tool checks the input and says what is wrong with it; a hook inside ends the turn when the input is right, asks once
//! for a call that did not come, and gives up after too many wrong ones. Neither knows the engine.

mod json_schema;

use crate::session_options::SessionOptions;
use json_schema::check;
pub use json_schema::check_schema;
use ostler_core::hook::{EventName, HookEvent, HookOutcome, Stand};
use ostler_core::permission::Access;
use ostler_core::ports::{BoxFuture, Hook, Tool, ToolContext};
use ostler_core::tool::{ToolOutput, ToolSpec};
use ostler_core::tool_facts::ToolFacts;
use serde_json::{Value, json};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// The name of the tool.
pub const STRUCTURED_OUTPUT: &str = "StructuredOutput";
/// Wrong inputs in one turn before it ends.
const MOST_WRONG: u32 = 5;
const HOOK: &str = "structured output";
const DESCRIPTION: &str = include_str!("../../../../../prompts/tools/structured-output.md");
const REMINDER: &str = include_str!("../../../../../prompts/structured-output-reminder.md");

/// What became of the structured output of a turn.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum StructuredEnd {
    /// The model has not given one.
    #[default]
    Missing,
    Given(Value),
    /// It gave wrong ones only, too often.
    GivenUp,
}

/// One for each session.
pub struct StructuredOutput {
    schema: Value,
    end: Mutex<StructuredEnd>,
    wrong: AtomicU32,
    reminded: AtomicBool,
}

impl StructuredOutput {
    /// # Errors
    /// In words, if the schema cannot be used.
    pub fn new(schema: Value) -> Result<Arc<Self>, String> {
        check_schema(&schema)?;
        Ok(Arc::new(StructuredOutput {
            schema,
            end: Mutex::default(),
            wrong: AtomicU32::new(0),
            reminded: AtomicBool::new(false),
        }))
    }

    /// Adds the tool and the hook to a session that will be opened.
    pub fn join(self: &Arc<Self>, options: &mut SessionOptions) {
        options.more_tools.push(Arc::new(OutputTool::new(self)));
        options.hooks.inside.push(Arc::new(OutputHook(self.clone())));
        if let Some(tools) = &mut options.tools {
            tools.push(STRUCTURED_OUTPUT.to_owned());
        }
    }

    /// Of the last turn.
    pub fn end(&self) -> StructuredEnd {
        self.end.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn set(&self, end: StructuredEnd) {
        *self.end.lock().unwrap_or_else(PoisonError::into_inner) = end;
    }

    fn begin_turn(&self) {
        self.set(StructuredEnd::Missing);
        self.wrong.store(0, Ordering::Relaxed);
        self.reminded.store(false, Ordering::Relaxed);
    }

    fn take(&self, input: Value) -> ToolOutput {
        match check(&self.schema, &input) {
            Ok(()) => {
                let detail = Some(json!({ "structured_output": input }));
                self.set(StructuredEnd::Given(input));
                let said = ToolOutput::text("Structured output provided successfully");
                ToolOutput { detail, ..said }
            }
            Err(wrong) => {
                self.wrong.fetch_add(1, Ordering::Relaxed);
                ToolOutput::error(format!("Output does not match required schema: {wrong}"))
            }
        }
    }
}

struct OutputTool {
    output: Arc<StructuredOutput>,
    spec: ToolSpec,
}

impl OutputTool {
    fn new(output: &Arc<StructuredOutput>) -> Self {
        let spec = ToolSpec {
            name: STRUCTURED_OUTPUT.to_owned(),
            description: DESCRIPTION.trim().to_owned(),
            input_schema: output.schema.clone(),
            facts: ToolFacts::UNDECLARED,
        };
        OutputTool { output: output.clone(), spec }
    }
}

impl Tool for OutputTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn access(&self, _input: &Value) -> Result<Access, ToolOutput> {
        Ok(Access::nothing())
    }

    fn run(&self, input: Value, _cx: ToolContext) -> BoxFuture<'static, ToolOutput> {
        let output = self.output.take(input);
        Box::pin(std::future::ready(output))
    }
}

struct OutputHook(Arc<StructuredOutput>);

impl Hook for OutputHook {
    fn name(&self) -> &str {
        HOOK
    }

    fn listens(&self, event: EventName, matched: Option<&str>) -> bool {
        match event {
            EventName::UserPromptSubmit | EventName::Stop => true,
            EventName::PostToolUse | EventName::PostToolUseFailure => {
                matched == Some(STRUCTURED_OUTPUT)
            }
            _ => false,
        }
    }

    fn call<'a>(&'a self, event: &'a HookEvent) -> BoxFuture<'a, HookOutcome> {
        let outcome = self.outcome(event);
        Box::pin(std::future::ready(outcome))
    }
}

impl OutputHook {
    fn outcome(&self, event: &HookEvent) -> HookOutcome {
        let output = &self.0;
        match event {
            HookEvent::UserPromptSubmit { .. } => output.begin_turn(),
            HookEvent::PostToolUse { .. } => {
                return HookOutcome::of(Stand::Prevent, HOOK, "the output was accepted");
            }
            HookEvent::PostToolUseFailure { .. }
                if output.wrong.load(Ordering::Relaxed) >= MOST_WRONG =>
            {
                output.set(StructuredEnd::GivenUp);
                let why = format!("{MOST_WRONG} outputs in a row did not match the schema");
                return HookOutcome::of(Stand::Prevent, HOOK, why);
            }
            HookEvent::Stop { .. } if !output.reminded.swap(true, Ordering::Relaxed) => {
                return HookOutcome::of(Stand::Block, HOOK, REMINDER.trim());
            }
            _ => {}
        }
        HookOutcome::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn output() -> Arc<StructuredOutput> {
        let schema =
            json!({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]});
        StructuredOutput::new(schema).unwrap()
    }

    fn failure() -> HookEvent {
        HookEvent::PostToolUseFailure {
            tool_name: STRUCTURED_OUTPUT.into(),
            tool_input: json!({}),
            tool_use_id: "t".into(),
            error: String::new(),
            is_interrupt: false,
            duration_ms: 0,
        }
    }

    fn stop() -> HookEvent {
        HookEvent::Stop {
            stop_hook_active: false,
            last_assistant_message: String::new(),
            background_tasks: Vec::new(),
        }
    }

    #[test]
    fn a_right_output_ends_the_turn_and_a_wrong_one_is_told() {
        let output = output();
        let wrong = output.take(json!({"n": "x"}));
        assert!(wrong.is_error && output.end() == StructuredEnd::Missing);
        let right = output.take(json!({"n": 3}));
        assert!(!right.is_error);
        assert_eq!(output.end(), StructuredEnd::Given(json!({"n": 3})));
    }

    #[test]
    fn too_many_wrong_ones_end_the_turn_and_the_next_turn_begins_anew() {
        let (output, hook) = {
            let output = output();
            (output.clone(), OutputHook(output))
        };
        for n in 1..=MOST_WRONG {
            output.take(json!({}));
            let expected = if n < MOST_WRONG { Stand::Pass } else { Stand::Prevent };
            assert_eq!(hook.outcome(&failure()).stand, expected, "{n}");
        }
        assert_eq!(output.end(), StructuredEnd::GivenUp);
        hook.outcome(&HookEvent::UserPromptSubmit { prompt: "again".into() });
        assert_eq!(output.end(), StructuredEnd::Missing);
        output.take(json!({}));
        assert_eq!(hook.outcome(&failure()).stand, Stand::Pass);
    }

    #[test]
    fn the_model_is_reminded_once() {
        let hook = OutputHook(output());
        assert_eq!(hook.outcome(&stop()).stand, Stand::Block);
        assert_eq!(hook.outcome(&stop()).stand, Stand::Pass);
    }
}
