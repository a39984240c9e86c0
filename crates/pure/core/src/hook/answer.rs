//! What a hook said, read strictly: by its exit code, its JSON, or its text.

use super::event::{EventName, HookEvent};
use super::outcome::{HookOutcome, Stand};
use super::output::{self, Json};
use serde_json::{Map, Value};

/// What came back from a hook that ran to its end.
#[derive(Clone, Debug)]
pub struct HookAnswer<'a> {
    /// Exit 2: no, for the reason on standard error.
    pub refused: bool,
    /// An empty answer is not a verdict: a blocking webhook has to state its decision.
    pub must_decide: bool,
    pub output: &'a str,
    pub errors: &'a str,
}

/// Characters of any text that a hook writes.
const MOST: usize = 10_000;

/// Cut to what a hook may write.
pub fn cut(text: &str) -> String {
    let text = text.trim();
    match text.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

/// The outcome of one hook.
///
/// # Errors
/// In words, if what it wrote cannot be understood.
pub fn answered(
    event: &HookEvent,
    hook: &str,
    said: &HookAnswer<'_>,
) -> Result<HookOutcome, String> {
    let output = output::trimmed(said.output);
    if said.refused {
        let why = if said.errors.trim().is_empty() { output } else { said.errors };
        let why = if why.trim().is_empty() { "it gave no reason" } else { why };
        return Ok(objection(event.name(), hook, cut(why)));
    }
    match Json::whole(output) {
        Ok(found @ Json::Object(_)) => of_object(event, hook, said, found),
        Ok(_) => of_text(event, hook, said, "a single object was expected"),
        Err(error) => of_text(event, hook, said, &error),
    }
}

/// All it printed is one JSON object.
fn of_object(
    event: &HookEvent,
    hook: &str,
    said: &HookAnswer<'_>,
    found: Json,
) -> Result<HookOutcome, String> {
    let denied = found.deny();
    let read = found.into_value().and_then(|value| {
        let fields = value.as_object().cloned().unwrap_or_default();
        let read = AnswerReading { event, hook, out: HookOutcome::default() }.all(&fields)?;
        let exact = said.must_decide
            || output::must_be_exact(event.name())
            || output::has_mark(said.output);
        let silent = fields.is_empty() && !said.must_decide;
        if exact && !silent && !output::says_something(&fields) {
            return Err("its answer contains no verdict: none of its fields is known".to_owned());
        }
        Ok(read)
    });
    match (read, denied) {
        (Ok(outcome), _) if outcome.stand >= Stand::Block => Ok(outcome),
        (read, Some(why)) => {
            let objection = objection(event.name(), hook, cut(&why));
            Ok(super::merge([read.unwrap_or_default(), objection]))
        }
        (Ok(_), None) if said.output.contains(char::REPLACEMENT_CHARACTER) => {
            Err("its output is not UTF-8".into())
        }
        (read, None) => read,
    }
}

/// It printed something else: text, or JSON among other things.
fn of_text(
    event: &HookEvent,
    hook: &str,
    said: &HookAnswer<'_>,
    error: &str,
) -> Result<HookOutcome, String> {
    let text = output::trimmed(said.output);
    let exact = said.must_decide || output::must_be_exact(event.name());
    if output::has_brackets(text) {
        match output::deny_in_text(text) {
            Ok(Some(why)) => return Ok(objection(event.name(), hook, cut(&why))),
            Err(why) if exact => return Err(why),
            _ if exact || output::resembles_verdict(text) => {
                return Err(format!("its output is not exactly one JSON object ({error})"));
            }
            _ => {}
        }
    }
    if said.must_decide {
        return Err("it answered without a verdict".into());
    }
    let mut out = HookOutcome::default();
    if event.name().plain_text_counts() && !text.is_empty() {
        out.context.push(cut(text));
    }
    Ok(out)
}

/// What a denial means for this event: a block if something can still be stopped, otherwise a message to the model or
/// the person.
fn objection(event: EventName, hook: &str, why: String) -> HookOutcome {
    if event.can_block() || event.tells_model() {
        return HookOutcome::of(Stand::Block, hook, why);
    }
    HookOutcome::notice(format!("the hook {hook}: {why}"))
}

struct AnswerReading<'a> {
    event: &'a HookEvent,
    hook: &'a str,
    out: HookOutcome,
}

impl AnswerReading<'_> {
    fn all(mut self, fields: &Map<String, Value>) -> Result<HookOutcome, String> {
        let name = self.event.name();
        let reason = text(fields, "reason")?;
        if let Some(message) = text(fields, "systemMessage")? {
            self.out.notices.push(message);
        }
        match text(fields, "decision")?.as_deref() {
            None | Some("approve") => {}
            Some("block") => {
                let why = reason.unwrap_or_else(|| "it gave no reason".into());
                self.add(objection(name, self.hook, why));
            }
            Some(other) => return Err(format!("its decision \"{other}\" is not known")),
        }
        if let Some(special) = object(fields, "hookSpecificOutput")? {
            self.special(special)?;
        }
        let goes_on = match fields.get("continue") {
            None | Some(Value::Null) => true,
            Some(Value::Bool(goes_on)) => *goes_on,
            Some(_) => return Err("its \"continue\" is neither true nor false".into()),
        };
        if !goes_on {
            let why = text(fields, "stopReason")?.unwrap_or_else(|| "it ended the turn".into());
            self.add(match name.can_prevent() {
                true => HookOutcome::of(Stand::Prevent, self.hook, why),
                false => HookOutcome::notice(format!("the hook {}: {why}", self.hook)),
            });
        }
        Ok(self.out)
    }

    fn add(&mut self, part: HookOutcome) {
        self.out = super::merge([std::mem::take(&mut self.out), part]);
    }

    fn special(&mut self, fields: &Map<String, Value>) -> Result<(), String> {
        let name = self.event.name();
        if let Some(meant) = text(fields, "hookEventName")?
            && meant != name.name()
        {
            return Err(format!("it answers the event {meant}, not {}", name.name()));
        }
        if let Some(context) = text(fields, "additionalContext")?
            && !context.is_empty()
        {
            self.out.context.push(context);
        }
        match name {
            EventName::PreToolUse => self.before_call(fields),
            EventName::PermissionRequest => self.in_question(fields),
            EventName::PostToolUse => {
                let new = fields.get("updatedToolOutput").or(fields.get("updatedMCPToolOutput"));
                let new = new.filter(|new| !new.is_null());
                self.out.result = new.map(|new| (self.hook.to_owned(), new.clone()));
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn before_call(&mut self, fields: &Map<String, Value>) -> Result<(), String> {
        let why = text(fields, "permissionDecisionReason")?;
        let why = why.unwrap_or_else(|| "it gave no reason".into());
        match text(fields, "permissionDecision")?.as_deref() {
            // An allow changes nothing: the rules decide.
            None | Some("allow") => {}
            Some("ask") => self.add(HookOutcome::of(Stand::Ask, self.hook, why)),
            Some("defer") => self.add(HookOutcome::of(Stand::Defer, self.hook, why)),
            Some("deny") => self.add(HookOutcome::of(Stand::Block, self.hook, why)),
            Some(other) => {
                return Err(format!("its permissionDecision \"{other}\" is not available"));
            }
        }
        match fields.get("updatedInput") {
            None | Some(Value::Null) => {}
            Some(after @ Value::Object(_)) => {
                let before = self.event.tool_input().unwrap_or(&Value::Null);
                self.out.changes = HookOutcome::changes_of(before, after);
                if !self.out.changes.is_empty() {
                    self.out.changed_by = vec![self.hook.to_owned()];
                }
            }
            Some(_) => return Err("its updatedInput is not an object".into()),
        }
        Ok(())
    }

    fn in_question(&mut self, fields: &Map<String, Value>) -> Result<(), String> {
        let Some(decision) = object(fields, "decision")? else { return Ok(()) };
        let message = text(decision, "message")?;
        let rewrites = decision.get("updatedInput").is_some_and(|input| !input.is_null());
        match text(decision, "behavior")?.as_deref() {
            // What would run differs from what was judged, so a person has to look at it.
            Some("allow") if rewrites => {
                let what = format!(
                    "the hook {} approves a different input; only PreToolUse can change the input, so the approval is ignored",
                    self.hook
                );
                self.out.notices.push(what);
            }
            Some("allow") => self.out.allowed_by = Some(self.hook.to_owned()),
            Some("deny") => {
                let why = message.unwrap_or_else(|| "it gave no reason".into());
                self.add(HookOutcome::of(Stand::Block, self.hook, why));
            }
            _ => return Err("its decision.behavior is neither allow nor deny".into()),
        }
        Ok(())
    }
}

fn text(fields: &Map<String, Value>, name: &str) -> Result<Option<String>, String> {
    match fields.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(cut(text))),
        Some(_) => Err(format!("its \"{name}\" is not a string")),
    }
}

fn object<'a>(
    fields: &'a Map<String, Value>,
    name: &str,
) -> Result<Option<&'a Map<String, Value>>, String> {
    match fields.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::Object(fields)) => Ok(Some(fields)),
        Some(_) => Err(format!("its \"{name}\" is not an object")),
    }
}

#[cfg(test)]
#[path = "answer_tests.rs"]
mod tests;

#[cfg(test)]
#[path = "noise_tests.rs"]
mod noise;
